"""Designs that refuse and wait more than their rules ask: safe, and dearer than they need be."""

from typing import Final

from ddlsim.model.ports import Future
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import Mutant, mutant
from ddlsim.protocol.design.time_rules import at_operation
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.transaction.locks import LockTable, Resource
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp, plus_ms, round_up

A_LONG_TIME_MS: Final = 60_000
"""Longer than a lease lasts."""


class PossessiveLocks(LockTable):
    """Locks that only the oldest transaction of the node is given, whoever holds them."""

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """Refuse whoever is younger than anybody that holds or awaits any lock here."""
        if any(other < tx for other in self.involved()):
            return False
        return super().acquire(tx, resource, mode)


def lasts_for_long(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """Commit only under leases that last for a minute more."""
    lasts = plus_ms(commit_ts, A_LONG_TIME_MS) < expiration_ts
    return None if lasts else Reason.PRIMARY_EXPIRED


def after_two_delays(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm + 2 DD."""
    return plus_ms(message_ts, 2 * delay_duration_ms)


def activation_plus_twice_skew(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu + 2 CSmax."""
    return round_up(plus_ms(activation_ts, 2 * max_clock_skew_ms))


def twice_as_far_in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """Read at twice the distance at which replicas surely know everything."""
    past = plus_ms(now, -2 * (lag_ms + max_clock_skew_ms))
    return past if session_ts is None else max(past, session_ts)


def refusing(reason: Reason) -> type[Replica]:
    """A primary that answers every write with a reason that nothing has given."""

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
}
"""A mutant for each reason: a primary says so of every write."""

for name, why in REFUSALS.items():
    mutant(
        Mutant(
            name=name,
            summary=f"a primary answers every write with {why.name}, for no cause",
            breaks="110.req.0",
            caught_by="precision",
            parts={"replica": refusing(why)},
        )
    )
mutant(
    Mutant(
        name="refuses_free_locks",
        summary="a lock that nobody holds is refused to all but the oldest transaction",
        breaks="110.req.0",
        caught_by="precision",
        parts={"locks": PossessiveLocks},
    )
)
mutant(
    Mutant(
        name="doubts_leases",
        summary="a transaction commits only under leases that last for a minute more",
        breaks="110.req.0",
        caught_by="precision",
        fields={"commit_lease": lasts_for_long},
    )
)
mutant(
    Mutant(
        name="activates_after_two_delays",
        summary="an update activates at Tm + 2 DD",
        breaks="98.past.2",
        caught_by="precision",
        fields={"activation_ts": after_two_delays},
    )
)
mutant(
    Mutant(
        name="acknowledges_after_twice_skew",
        summary="a DDL is acknowledged at Tu + 2 CSmax",
        breaks="98.flow.4",
        caught_by="precision",
        fields={"acknowledge_ts": activation_plus_twice_skew},
    )
)
mutant(
    Mutant(
        name="waits_without_delay",
        summary="a reader waits for safeTime >= Top although updates activate DD later",
        breaks="98.past.3",
        caught_by="precision",
        fields={"completeness_ts": at_operation},
    )
)
mutant(
    Mutant(
        name="reads_twice_as_far_back",
        summary="a read-only transaction reads twice as far in the past as replicas need",
        breaks="98.own",
        caught_by="precision",
        fields={"read_ts": twice_as_far_in_the_past},
    )
)
