"""The joints of the protocol: every choice that the IEPs make, one named function each.

A `Strategy` is a frozen record. Its header says what the design is and claims; each other field
holds a function whose default *is* the document's formula. Another design is `replace(IEP, …)` with
a few fields, a mutant the same with exactly one; nothing in the protocol ever asks which strategy
it runs. What differs per node or in time (DD, CSmax, H) is no field: it is a setting of the node.

*Number* functions give a timestamp or a duration; *judgement* functions give `None` to proceed or
the `Reason` to abort for; both are pure. *Flow* functions are coroutines over the same ports as the
protocol itself; two of them mostly need not wait, and may give their result at once.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sim.model.ddl import ObjectChange, SimpleChange
from sim.model.design import DesignHeader
from sim.model.reasons import Reason
from sim.protocol import flows
from sim.protocol.compatibility import is_forward_compatible
from sim.units import MIN_TIMESTAMP, Timestamp, plus_ms, round_up

if TYPE_CHECKING:
    from sim.model.hlc import HybridClock

Steps = tuple[ObjectChange, ...]
"""The changes of one object between two of its versions, in order."""
Flow = Callable[..., Coroutine[Any, Any, Any]]
AtOnceOrFlow = Callable[..., Any]
"""Gives its result at once where nothing has to be waited for, else a coroutine that does."""

LAGGARD_US = 500_000
"""How far behind a promoting placement driver lets a primary's meta storage fall."""
UNBOUNDED_MS = 10**10
"""More milliseconds than any run has."""

# --- numbers: when an update activates, how long a reader waits, when a DDL is acknowledged -------


def at_message_plus_delay(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm + DD, with the DD that the message carries [98.past.2]."""
    return plus_ms(message_ts, delay_duration_ms)


def at_message(message_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """Tu = Tm: the update activates with its message (IEP-98, Using safe time) [98.safe.2]."""
    del delay_duration_ms
    return message_ts


def operation_less_delay(
    op_ts: Timestamp, delay_duration_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """Wait for safeTime >= Top - DD [98.past.3]."""
    del max_clock_skew_ms
    return plus_ms(op_ts, -delay_duration_ms)


def at_operation(op_ts: Timestamp, delay_duration_ms: int, max_clock_skew_ms: int) -> Timestamp:
    """Wait for safeTime >= Top [98.safe.1]."""
    del delay_duration_ms, max_clock_skew_ms
    return op_ts


def operation_plus_skew(
    op_ts: Timestamp, delay_duration_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """Wait for safeTime >= Top + CSmax: what the text's proof says, not its rule."""
    del delay_duration_ms
    return plus_ms(op_ts, max_clock_skew_ms)


def never_waits(op_ts: Timestamp, delay_duration_ms: int, max_clock_skew_ms: int) -> Timestamp:
    """Do not wait: use what the node happens to know."""
    del op_ts, delay_duration_ms, max_clock_skew_ms
    return MIN_TIMESTAMP


def looked_up_at_operation(op_ts: Timestamp, delay_duration_ms: int) -> Timestamp:
    """The subtraction affects only the wait: the look-up is at Top itself [98.past.3]."""
    del delay_duration_ms
    return op_ts


def activation_plus_skew_rounded(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu + CSmax, up to the next whole physical tick [98.flow.4].

    Physical clocks are within CSmax of each other in whole ticks; a logical part is worth nothing
    on another node, so it counts as one tick more.
    """
    return round_up(plus_ms(activation_ts, max_clock_skew_ms))


def activation_plus_skew(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge when Now >= Tu + CSmax, as the text has it to the letter [98.flow.4]."""
    return plus_ms(activation_ts, max_clock_skew_ms)


def at_once(activation_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """Acknowledge without waiting."""
    del activation_ts, max_clock_skew_ms
    return MIN_TIMESTAMP


def at_enlistment(now: Timestamp, begin_ts: Timestamp, created_ts: Timestamp) -> Timestamp:
    """baseTs = tableEnlistTs: the coordinator's now at the table's first use [110.flow.2].

    So a table that was created after the transaction began can be used [110.req.2], and an ALTER
    between begin and first use does no harm [110.req.3].
    """
    del begin_ts, created_ts
    return now


def largest_delay(own_ms: int, cluster_ms: int) -> int:
    """A message carries the largest DD of any reader, so that none's is larger [98.x.4]."""
    return max(own_ms, cluster_ms)


def own_delay(own_ms: int, cluster_ms: int) -> int:
    """A message carries the DD of the node that built it."""
    del cluster_ms
    return own_ms


def agreed_delay(cluster_ms: int) -> int:
    """No reader subtracts more than the DD that the cluster was built with [98.x.4].

    Every message carries at least that much, so a node whose DD is raised while the cluster runs
    goes on waiting as before.
    """
    return cluster_ms


def whatever_delay(cluster_ms: int) -> int:
    """A reader subtracts its own DD, however large it is."""
    del cluster_ms
    return UNBOUNDED_MS


def tick_with_new_timestamp(clock: "HybridClock") -> Timestamp:
    """An idle safe-time command ticks the clock: no later update can tie with it [98.x.2]."""
    return clock.now()


def tick_with_current_time(clock: "HybridClock") -> Timestamp:
    """An idle safe-time command shows the clock without ticking it: ties are possible."""
    return clock.current()


def tick_of_its_term(tick_term: int, log_term: int) -> bool:
    """A safe-time command counts only in the term of the leader that made it [98.x.6]."""
    return tick_term == log_term


def any_tick(tick_term: int, log_term: int) -> bool:
    """A safe-time command counts whoever made it, and whenever."""
    del tick_term, log_term
    return True


def merge_last_stamp(clock: "HybridClock", last_stamp: Timestamp) -> None:
    """A new leader's clock goes beyond every stamp in its log [98.x.1]."""
    clock.update(last_stamp)


def keep_own_clock(clock: "HybridClock", last_stamp: Timestamp) -> None:
    """A new leader trusts its own clock."""
    del clock, last_stamp


def after_the_last_activation(planned_ts: Timestamp, last_ts: Timestamp) -> Timestamp:
    """Versions activate in the order of the log, also where DD has become smaller meanwhile."""
    return max(planned_ts, Timestamp(last_ts + 1))


def as_planned(planned_ts: Timestamp, last_ts: Timestamp) -> Timestamp:
    """A version activates at Tm + DD, whatever the one before it does."""
    del last_ts
    return planned_ts


def expired_everywhere(expiration_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """From when on a lease has expired on every clock: CSmax after it has on one."""
    return plus_ms(expiration_ts, max_clock_skew_ms)


def expired_here(expiration_ts: Timestamp, max_clock_skew_ms: int) -> Timestamp:
    """From when on a lease has expired on the driver's own clock."""
    del max_clock_skew_ms
    return expiration_ts


def keep_the_laggard(behind_us: int) -> bool:
    """A primary whose meta storage lags stays primary, and its transactions wait [98.risk.2]."""
    del behind_us
    return True


def promote_another(behind_us: int) -> bool:
    """A primary whose meta storage lags by half a second or more loses its lease [98.risk.2]."""
    return behind_us < LAGGARD_US


def same_token(command_start: Timestamp, lease_start: Timestamp) -> bool:
    """What was sent under a lease that is over leaves nothing in the data (IGNITE-21572)."""
    return command_start == lease_start


def any_token(command_start: Timestamp, lease_start: Timestamp) -> bool:
    """Whatever was sent is applied."""
    del command_start, lease_start
    return True


def beyond_the_log(clock: "HybridClock", last_stamp: Timestamp) -> Timestamp:
    """A partition's stamps rise also where its leader changes (IGNITE-20709)."""
    return clock.beyond(last_stamp)


def own_time(clock: "HybridClock", last_stamp: Timestamp) -> Timestamp:
    """A partition's leader stamps by its own clock, whatever its predecessors did."""
    del last_stamp
    return clock.now()


def while_the_lease_lasts(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """The locks were held until commit_ts: the lease under which they were taken lasted."""
    return None if commit_ts < expiration_ts else Reason.PRIMARY_EXPIRED


def whatever_the_lease(commit_ts: Timestamp, expiration_ts: Timestamp) -> Reason | None:
    """Commit without asking whether the locks still stand."""
    del commit_ts, expiration_ts
    return None


def same_decision(decided_ts: Timestamp, now: Timestamp) -> Timestamp:
    """A finish that is sent again says the same commit_ts."""
    del now
    return decided_ts


def new_decision(decided_ts: Timestamp, now: Timestamp) -> Timestamp:
    """A finish that is sent again says a commit_ts of now."""
    del decided_ts
    return now


def recovery_aborts(now: Timestamp) -> Timestamp | None:
    """Who finds a transaction without its coordinator only ever aborts it."""
    del now
    return None


def recovery_commits(now: Timestamp) -> Timestamp | None:
    """Who finds a transaction without its coordinator takes it for committed."""
    return now


def single_writes(action: str, implicit: bool) -> bool:  # noqa: FBT001 - it comes with the request
    """An implicit write of one key commits in one phase."""
    return implicit and action in {"put", "delete"}


def never_in_one_phase(action: str, implicit: bool) -> bool:  # noqa: FBT001 - as above
    """Every transaction commits in two phases."""
    del action, implicit
    return False


def safely_in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads what replicas surely know, and no older than its session."""
    past = plus_ms(now, -(lag_ms + max_clock_skew_ms))
    return past if session_ts is None else max(past, session_ts)


def in_the_past(
    session_ts: Timestamp | None, now: Timestamp, lag_ms: int, max_clock_skew_ms: int
) -> Timestamp:
    """A read-only transaction reads in the past, whatever its session has seen (IGNITE-20668)."""
    del session_ts
    return plus_ms(now, -(lag_ms + max_clock_skew_ms))


def as_written(row_version: int, initial_version: int) -> int:
    """A row is decoded with the version that it was written under [110.flow.5]."""
    del initial_version
    return row_version


def as_enlisted(initial_version: int, current_version: int) -> int:
    """The primary takes I as the coordinator sends it, never its own version [110.flow.3]."""
    del current_version
    return initial_version


def under_initial(initial_version: int, current_version: int) -> int:
    """An operation runs under the transaction's initial schema [110.flow.5]."""
    del current_version
    return initial_version


# --- judgements: None to proceed, or the reason to abort for --------------------------------------


def must_equal_enlisted(client_version: int, enlist_version: int) -> bool:
    """Whether the client's row is encoded with tableEnlistSV; if not it re-encodes [110.flow.2]."""
    return client_version == enlist_version


def must_be_same_schema(initial: int, current: int, steps: Steps) -> Reason | None:
    """No reads or writes after a DDL: the schema at opTs must be I [110.valid.2] [110.border]."""
    del steps
    return None if initial == current else Reason.SCHEMA_CHANGED


def must_exist(current: int) -> Reason | None:
    """A missing table fails the operation at opTs, not at commit [110.table.exists]."""
    return None if current else Reason.TABLE_DROPPED


def each_step_forward_compatible(steps: Steps) -> Reason | None:
    """Every step from I to C is forward-compatible, in order [110.valid.1, 110.compat.steps]."""
    for step in steps:
        if not is_forward_compatible(step):
            return Reason.SCHEMA_INCOMPATIBLE
    return None


def allow_every_conversion(change: SimpleChange) -> str | None:
    """A DDL may change a type to whatever the old values can be converted to."""
    del change
    return None


def judge_every_commit(*, wrote: bool, queried: bool) -> bool:
    """Every transaction is validated at commit [110.valid.1]."""
    del wrote, queried
    return True


def not_newer_than_initial(row_version: int, initial: int) -> Reason | None:
    """Every change is backward-incompatible: a row from a newer schema aborts [110.back]."""
    return None if row_version <= initial else Reason.NEWER_ROW_VERSION


@dataclass(frozen=True, slots=True)
class CheckPoints:
    """When an operation's schema is checked at the primary.

    `exists_on_arrival`: on arrival only whether the table exists. `only_with_rows`: after the locks
    only if the operation found or writes a row. `deleted_rows`: whether the version of a row that
    was deleted counts as that of a row.
    """

    on_arrival: bool
    after_locks: bool
    exists_on_arrival: bool = False
    only_with_rows: bool = False
    deleted_rows: bool = True


ARRIVAL_AND_AFTER_LOCKS = CheckPoints(on_arrival=True, after_locks=True)
"""On arrival [110.valid.2], and again once the locks are granted [110.x.1]."""
ARRIVAL_ONLY = CheckPoints(on_arrival=True, after_locks=False)
"""On arrival only, as the text has it."""


@dataclass(frozen=True, slots=True)
class Publication:
    """When a node publishes its schema safe time for a command [98.x.3].

    Once the catalog listeners ran, or before that; or only once every other listener ran as well.
    """

    after_catalog_listeners: bool
    after_other_listeners: bool = False


AFTER_LISTENERS = Publication(after_catalog_listeners=True)
ON_APPLICATION = Publication(after_catalog_listeners=False)
AFTER_ALL_LISTENERS = Publication(after_catalog_listeners=True, after_other_listeners=True)


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """A design on the Ignite plane; the defaults are `iep`: the text and the clauses it needs."""

    header: DesignHeader
    # IEP-98: numbers
    activation_ts: Callable[[Timestamp, int], Timestamp] = at_message_plus_delay
    completeness_ts: Callable[[Timestamp, int, int], Timestamp] = operation_less_delay
    lookup_ts: Callable[[Timestamp, int], Timestamp] = looked_up_at_operation
    acknowledge_ts: Callable[[Timestamp, int], Timestamp] = activation_plus_skew_rounded
    acknowledge_known_ts: Callable[[Timestamp, int], Timestamp] = activation_plus_skew_rounded
    message_delay: Callable[[int, int], int] = largest_delay
    reader_delay_bound: Callable[[int], int] = agreed_delay
    tick_ts: Callable[["HybridClock"], Timestamp] = tick_with_new_timestamp
    publish_safe_time: Publication = AFTER_LISTENERS
    tick_counts: Callable[[int, int], bool] = tick_of_its_term
    take_over_clock: Callable[["HybridClock", Timestamp], None] = merge_last_stamp
    activation_in_order: Callable[[Timestamp, Timestamp], Timestamp] = after_the_last_activation
    # placement
    lease_outdated_ts: Callable[[Timestamp, int], Timestamp] = expired_everywhere
    keeps_lease: Callable[[int], bool] = keep_the_laggard
    accepts_token: Callable[[Timestamp, Timestamp], bool] = same_token
    # transactions
    partition_stamp: Callable[["HybridClock", Timestamp], Timestamp] = beyond_the_log
    commit_lease: Callable[[Timestamp, Timestamp], Reason | None] = while_the_lease_lasts
    repeated_commit_ts: Callable[[Timestamp, Timestamp], Timestamp] = same_decision
    recovery_outcome: Callable[[Timestamp], Timestamp | None] = recovery_aborts
    in_one_phase: Callable[[str, bool], bool] = single_writes
    read_ts: Callable[[Timestamp | None, Timestamp, int, int], Timestamp] = safely_in_the_past
    # IEP-110: numbers
    base_ts: Callable[[Timestamp, Timestamp, Timestamp], Timestamp] = at_enlistment
    decode_version: Callable[[int, int], int] = as_written
    primary_initial: Callable[[int, int], int] = as_enlisted
    run_version: Callable[[int, int], int] = under_initial
    # IEP-110: judgements
    check_client_version: Callable[[int, int], bool] = must_equal_enlisted
    check_operation: Callable[[int, int, Steps], Reason | None] = must_be_same_schema
    check_operation_when: CheckPoints = ARRIVAL_AND_AFTER_LOCKS
    check_exists: Callable[[int], Reason | None] = must_exist
    check_commit: Callable[[Steps], Reason | None] = each_step_forward_compatible
    check_tuple: Callable[[int, int], Reason | None] = not_newer_than_initial
    judges_commit: Callable[..., bool] = judge_every_commit
    refuses_change: Callable[[SimpleChange], str | None] = allow_every_conversion
    # flows
    resolve_schema: AtOnceOrFlow = field(default=flows.wait_then_look_up)
    install: Flow = field(default=flows.replicate_wait_acknowledge)
    enlist: AtOnceOrFlow = field(default=flows.enlist_once)
    on_activated: Flow = field(default=flows.mark_at_activation)
    before_commit_ts: Flow = field(default=flows.await_outstanding_operations)
    commit_schema: Flow = field(default=flows.schema_at_commit_ts)
    validate_one_phase: AtOnceOrFlow = field(default=flows.schema_at_the_stamp)
    validate_at_finish: Flow | None = None

    @property
    def name(self) -> str:
        """The design's name."""
        return self.header.name
