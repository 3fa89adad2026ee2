"""The joints of the protocol: every choice that the IEPs make, one named function each.

A `Strategy` is a frozen record. Its header says what the design is and claims; each other field
holds a function whose default *is* the document's formula. Another design is `replace(IEP, …)` with
a few fields, a mutant the same with exactly one; nothing in the protocol ever asks which strategy
it runs. What differs per node or in time (DD, CSmax, H) is no field: it is a setting of the node.

*Number* functions give a timestamp or a duration; *judgement* functions give `None` to proceed or
the `Reason` to abort for; both are pure. *Flow* functions are coroutines over the same ports as the
protocol itself.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sim.model.ddl import ObjectChange, SimpleChange
from sim.model.design import DesignHeader
from sim.model.reasons import Reason
from sim.protocol import flows
from sim.protocol.catalog import Snapshot
from sim.protocol.compatibility import is_forward_compatible
from sim.protocol.failure_rules import (
    after_the_last_activation,
    as_far_as_the_log,
    beyond_the_log,
    expired_everywhere,
    keep_the_laggard,
    merge_last_stamp,
    new_stamp,
    recovery_aborts,
    safely_in_the_past,
    same_decision,
    same_token,
    single_writes,
    tick_of_its_term,
    up_to_ten_times,
    while_the_lease_lasts,
)
from sim.protocol.renaming import Answer, incompatible
from sim.protocol.time_rules import (
    activation_plus_skew_rounded,
    agreed_delay,
    at_message_plus_delay,
    hybrid_clock,
    largest_delay,
    looked_up_at_operation,
    operation_less_delay,
    tick_with_new_timestamp,
)
from sim.units import Timestamp

if TYPE_CHECKING:
    from sim.model.ddl import Statement
    from sim.model.hlc import HybridClock
    from sim.protocol.schema_sync import SchemaSync

    ResolveSchema = Callable[[SchemaSync, Timestamp], Coroutine[Any, Any, Snapshot]]

Steps = tuple[ObjectChange, ...]
"""The changes of one object between two of its versions, in order."""
Flow = Callable[..., Coroutine[Any, Any, Any]]


# --- numbers: when an update activates, how long a reader waits, when a DDL is acknowledged -------


def at_enlistment(now: Timestamp, begin_ts: Timestamp, created_ts: Timestamp) -> Timestamp:
    """baseTs = tableEnlistTs: the coordinator's now at the table's first use [110.flow.2].

    So a table that was created after the transaction began can be used [110.req.2], and an ALTER
    between begin and first use does no harm [110.req.3].
    """
    del begin_ts, created_ts
    return now


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
    was deleted counts as that of a row. `rows_first`: whether the rows that a read finds are judged
    before the schema at op_ts is.
    """

    on_arrival: bool
    after_locks: bool
    exists_on_arrival: bool = False
    only_with_rows: bool = False
    deleted_rows: bool = True
    rows_first: bool = False


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
    clock: Callable[..., "HybridClock"] = hybrid_clock
    tick_ts: Callable[["HybridClock"], Timestamp] = tick_with_new_timestamp
    publish_safe_time: Publication = AFTER_LISTENERS
    tick_counts: Callable[[int, int], bool] = tick_of_its_term
    stamp_again: Callable[[Timestamp | None, Timestamp], Timestamp] = new_stamp
    restored_safe_ts: Callable[[Timestamp], Timestamp] = as_far_as_the_log
    take_over_clock: Callable[["HybridClock", Timestamp], None] = merge_last_stamp
    activation_in_order: Callable[[Timestamp, Timestamp], Timestamp] = after_the_last_activation
    # placement
    lease_outdated_ts: Callable[[Timestamp, int], Timestamp] = expired_everywhere
    keeps_lease: Callable[[int, int], bool] = keep_the_laggard
    accepts_token: Callable[[Timestamp, Timestamp], bool] = same_token
    # transactions
    partition_stamp: Callable[["HybridClock", Timestamp], Timestamp] = beyond_the_log
    commit_lease: Callable[[Timestamp, Timestamp], Reason | None] = while_the_lease_lasts
    repeated_commit_ts: Callable[[Timestamp, Timestamp], Timestamp] = same_decision
    recovery_outcome: Callable[[Timestamp], Timestamp | None] = recovery_aborts
    in_one_phase: Callable[[str, bool], bool] = single_writes
    retries_implicit: Callable[[int], bool] = up_to_ten_times
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
    excuses_tuple: Callable[[Steps, Any], bool] | None = None
    judges_commit: Callable[..., bool] = judge_every_commit
    refuses_change: Callable[[SimpleChange], str | None] = allow_every_conversion
    rename: Callable[["Statement", Snapshot, int], Answer] = incompatible
    alias_ms: int = 0
    # flows
    resolve_schema: "ResolveSchema" = field(default=flows.wait_then_look_up)
    before_statement: Flow = field(default=flows.metadata_is_complete)
    install: Flow = field(default=flows.replicate_wait_acknowledge)
    enlist: Flow = field(default=flows.enlist_once)
    on_activated: Flow = field(default=flows.mark_at_activation)
    before_commit_ts: Flow = field(default=flows.await_outstanding_operations)
    commit_schema: Flow = field(default=flows.schema_at_commit_ts)
    validate_one_phase: Callable[..., Any] = field(default=flows.schema_at_the_stamp)
    leader_is_late: Flow = field(default=flows.write_in_two_phases)
    validate_at_finish: Flow | None = None
    before_answer: Flow = field(default=flows.answer_at_once)

    @property
    def name(self) -> str:
        """The design's name."""
        return self.header.name
