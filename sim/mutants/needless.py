"""Designs that refuse and wait more than their rules demand: safe, and slower than need be."""

from typing import Final

from ddlsim.model.ports import Future
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import mutant, mutates
from ddlsim.protocol.design import closing
from ddlsim.protocol.design.time_rules import at_operation
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.transaction.locks import LockTable, Resource
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp, plus_ms, round_up

A_LONG_TIME_MS: Final = 60_000
"""Longer than a lease lasts."""


@mutates("locks", "refuses_free_locks", "110.req.0", "precision")
class PossessiveLocks(LockTable):
    """A free lock is refused to all but the oldest transaction."""

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """Refuse a transaction younger than any that holds or awaits a lock here."""
        if any(other < tx for other in self.involved()):
            return False
        return super().acquire(tx, resource, mode)


@mutates("commit_lease", "doubts_leases", "110.req.0", "precision")
def lasts_for_long(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """A transaction commits only under leases that last for a minute more."""
    lasts = plus_ms(commit_ts, A_LONG_TIME_MS) < expiration_ts
    return None if lasts else Reason.PRIMARY_EXPIRED


@mutates("activation_ts", "activates_after_two_delays", "98.past.2", "precision")
def after_two_delays(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """An update activates at Tm + 2 DD."""
    return plus_ms(message_ts, 2 * delay_duration_ms)


@mutates("acknowledge_ts", "acknowledges_after_twice_skew", "98.flow.4", "precision")
def activation_plus_twice_skew(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """A DDL is acknowledged at Tu + 2 CSmax."""
    return round_up(plus_ms(activation_ts, 2 * max_clock_skew_ms))


@mutates("read_ts", "reads_twice_as_far_back", "98.own", "precision")
def twice_as_far_in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads twice as far in the past as replicas need."""
    past = plus_ms(now, -2 * (lag_ms + max_clock_skew_ms))
    return past if session_ts is None else max(past, session_ts)


def refusing(reason: Reason) -> type[Replica]:
    """A primary that refuses every write for a reason that does not apply."""

    class RefusingReplica(Replica):
        async def operate(self, sender: str, request: Operate) -> Operated | None:
            if request.action not in {"put", "delete"}:
                return await super().operate(sender, request)
            now = self.node.clock.now()
            return Operated(now, now, reason)

    return RefusingReplica


REFUSALS: Final = {
    "expires_at_every_write": Reason.PRIMARY_EXPIRED,
    "misses_primaries": Reason.PRIMARY_MISSING,
    "reaches_nobody": Reason.NODE_UNREACHABLE,
    "times_out_at_once": Reason.TX_TIMED_OUT,
    "recovers_nothing": Reason.TX_RECOVERED,
    "calls_metadata_late": Reason.METADATA_LATE,
    "takes_all_for_readers": Reason.READ_ONLY,
    "rolls_back_unasked": Reason.ROLLED_BACK,
    "takes_all_for_finished": Reason.TX_FINISHED,
    "conflicts_with_nobody": Reason.LOCK_CONFLICT,
    "finds_no_column": Reason.COLUMN_NOT_FOUND,
    "fits_no_row": Reason.BAD_ROW,
    "takes_keys_for_taken": Reason.KEY_EXISTS,
    "takes_values_for_taken": Reason.UNIQUE_VIOLATED,
    "fails_every_check": Reason.CHECK_VIOLATED,
}
"""A mutant for each reason: a primary refuses every write for it."""

for name, why in REFUSALS.items():
    mutant(
        name,
        "110.req.0",
        "precision",
        summary=f"a primary answers every write with {why.name}, for no cause",
        replica=refusing(why),
    )
# fmt: off
mutant("waits_without_delay", "98.past.3", "precision", completeness_ts=at_operation,
       summary="a reader waits for safeTime >= Top although updates activate DD later")
mutant("refuses_shown_columns", "110.valid.1", "precision", also=("110.req.0",),
       commit_schema=closing.schema_at_commit_ts_exact_if_shown,
       summary="a commit is refused across a compatible change of a table whose columns were shown")
