"""The joints of the protocol: every choice that the IEPs make, one named function each.

A `Strategy` is a frozen record. Its header says what the design is and claims; each other field
holds a function, and `ddlsim.strategies.iep` fills all of them with the documents' own formulas.
Another design is `replace(IEP, …)` with a few fields, a mutant the same with exactly one; nothing
in the protocol ever asks which strategy it runs. What differs per node or in time (DD, CSmax, H) is
no field: it is a setting of the node.

*Number* functions give a timestamp or a duration; *judgement* functions give `None` to proceed or
the `Reason` to abort for; both are pure. *Flow* functions are coroutines over the same ports as the
protocol itself. What a flow may use of the node's parts are the protocols below, `…Part`: this
module imports none of the parts, so they can all import it.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol, TypeVar

from ddlsim.history.event import Cells
from ddlsim.model.ddl import ObjectChange, SimpleChange, Statement
from ddlsim.model.design import DesignHeader
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import SchemaObject, Table
from ddlsim.model.settings import Setting
from ddlsim.protocol.barriers import Barriers
from ddlsim.protocol.commands import FullWrite
from ddlsim.protocol.messages import Finish, Operated
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.schema.indexes import Entry
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Micros, Timestamp

T = TypeVar("T")
Wait = Coroutine[None, None, T]
"""The result of a coroutine function: awaited, a `T`."""
Steps = tuple[ObjectChange, ...]
"""The changes of one object between two of its versions, in order."""
Tables = tuple[tuple[int, int, int], ...]
"""(object id, version I, version at commit_ts) of every enlisted object; version 0: dropped."""
Verdict = tuple[Reason | None, Tables]
"""Why a transaction must not commit, if so, and what was compared."""
NUMBERS: Final = {
    "alias_ms": Setting(
        "how long the old name of what is renamed stays, where it does (`rename=alias`)", least=0
    ).of("alias_ms")
}
"""The numbers of a strategy by name: what they mean and their bounds."""


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


@dataclass(frozen=True, slots=True)
class Publication:
    """When a node publishes its schema safe time for a command [98.x.3].

    Once the catalog listeners ran, or before that; or only once every other listener ran as well.
    """

    after_catalog_listeners: bool
    after_other_listeners: bool = False


# --- what a rule may use of the parts -------------------------------------------------------------


class SchemaSyncPart(Protocol):
    """One node's schema safe time and look-ups in its catalog."""

    node: Node
    strategy: "Strategy"
    catalog: Catalog
    safe_time: Timestamp
    barriers: Barriers | None

    def needed_for(self, op_ts: Timestamp) -> tuple[Timestamp, Timestamp]:
        """The safe time that a look-up at `op_ts` waits for, and the timestamp it looks up at."""

    async def safe_time_reaches(self, ts: Timestamp) -> None:
        """Wait until the schema safe time is at least `ts`."""

    async def safe_time_reaches_in_time(self, ts: Timestamp, wait_us: Micros) -> None:
        """The same; raises `MetadataLateError` after `wait_us`."""

    async def object_at(
        self, ts: Timestamp, tx: str, op: str | None, purpose: str, object_id: int
    ) -> SchemaObject | None:
        """The object at `ts`, once the metadata is complete; may raise `MetadataLateError`."""

    async def named_at(
        self, ts: Timestamp, tx: str, op: str | None, name: str
    ) -> SchemaObject | None:
        """The table or view of this name at `ts`; may raise `MetadataLateError`."""

    def record_resolved(
        self,
        tx: str,
        op: str | None,
        purpose: str,
        name: str | None,
        object_id: int,
        ts: Timestamp,
        version: int,
        began_us: Micros,
    ) -> None:
        """Write a look-up into the history."""


class CompletionPart(Protocol):
    """Commits and aborts the transactions of one coordinator."""

    async def writes_are_replicated(self, tx: Transaction) -> None:
        """Wait until every write of the transaction is in its group's log for good."""

    def abort(self, tx: Transaction, reason: Reason) -> Reason:
        """Abort the transaction, clean up its intents and locks; returns the reason."""


class MarksPart(Protocol):
    """A coordinator's rollback-only marks [110.valid.3]."""

    def enlisted(self, tx: Transaction, enlistment: Enlistment) -> None:
        """A transaction has enlisted an object under this version."""

    def forgotten(self, tx: Transaction) -> None:
        """Some object is enlisted no more: only what is left bounds the commit_ts."""

    def mark_incompatible(self, applied: AppliedUpdate) -> list[Transaction]:
        """Bound the commit_ts of open transactions that would not pass the commit check at Tu."""

    def roll_back_marked(self, marked: list[Transaction]) -> None:
        """Roll back what is still active of the marked transactions."""


class CoordinatorPart(Protocol):
    """The open transactions of one node's clients."""

    node: Node
    strategy: "Strategy"
    transactions: dict[str, Transaction]
    aborted: dict[str, Reason]

    @property
    def sync(self) -> SchemaSyncPart:
        """The schemas that this node has applied."""

    @property
    def completion(self) -> CompletionPart:
        """The ends of its transactions."""

    @property
    def marks(self) -> MarksPart:
        """The marks on its open transactions."""


class LogPart(Protocol):
    """The meta storage."""

    async def catalog_reaches(self, version: int) -> None:
        """Wait until this node's catalog has applied a version."""


class RowCounterPart(Protocol):
    """Counts the rows of tables."""

    async def rows_at(self, table_id: int, read_ts: Timestamp, label: str) -> int | Reason:
        """The number of rows at a timestamp, or why the read failed."""


class Asked(NamedTuple):
    """A statement, and the timestamp at which it came."""

    statement: Statement | None
    asked_ts: Timestamp


class SchemaChangePart(Protocol):
    """One node's side of DDL."""

    node: Node
    strategy: "Strategy"
    catalog: Catalog
    barriers: Barriers | None

    @property
    def sync(self) -> SchemaSyncPart:
        """The schemas that this node has applied."""

    @property
    def metastorage(self) -> LogPart:
        """The log of schema updates."""

    @property
    def row_counter(self) -> RowCounterPart | None:
        """Counts the rows of tables."""

    async def knows_enough(self) -> None:
        """Wait until the present statement may be answered from this node's catalog [98.x.8]."""

    async def submit(
        self, command_id: str, expected_version: int, built: Built
    ) -> tuple[bool, int]:
        """Send an update through the log: whether it took effect, and the version after it."""

    def goes_on(self) -> Asked:
        """Let the next statement begin before this one may be acknowledged."""

    async def acknowledge(
        self,
        op: str,
        outcome: str,
        version: int,
        activation_ts: Timestamp,
        due: Timestamp,
        of: Asked | None = None,
    ) -> None:
        """Let the next statement begin, and wait until this one may be acknowledged."""

    def installed(self) -> Decision:
        """The decision on a statement that is in effect."""

    def known(self, built: NoOp | Refused) -> Decision:
        """The decision on a statement with nothing to do, or a refused one."""

    def conflict(self) -> Decision:
        """The decision on a statement that lost the compare-and-set at every attempt."""


class OnePhasePart(Protocol):
    """A one-phase write at its primary, whose metadata is not complete for the stamp."""

    node: Node
    op_ts: Timestamp
    began_us: Micros

    async def commit(self) -> Operated | None:
        """Stamp it again and run it through the log; None where the metadata is still late."""

    def leave_intent(self) -> Operated:
        """Make it a write intent; the coordinator then commits in two phases."""


class DrainPart(Protocol):
    """What waits for the transactions of all nodes."""

    node: Node

    async def older_have_ended(self, before_ts: Timestamp) -> None:
        """Wait until no node that answers has an open transaction that began before a timestamp."""


# --- the flows ------------------------------------------------------------------------------------


class JudgesCommit(Protocol):
    """Whether a transaction is validated at commit: by whether it wrote, or ran a query."""

    def __call__(self, *, wrote: bool, queried: bool) -> bool: ...


BeforeStatement = Callable[[SchemaChangePart, Timestamp], Wait[None]]
"""Wait until a statement that came at this timestamp may be answered from the catalog."""
Install = Callable[[SchemaChangePart, str, Statement], Wait[Decision]]
"""Install and acknowledge the statement of an operation."""
ResolveSchema = Callable[[SchemaSyncPart, Timestamp], Wait[Snapshot]]
"""The schema at a timestamp, once the metadata is complete; may raise `MetadataLateError`."""
Enlist = Callable[[CoordinatorPart, Transaction, str, str], Wait[Enlistment | Reason]]
"""What the name of a table means to an operation of a transaction: (…, name, operation)."""
OnActivated = Callable[[CoordinatorPart, AppliedUpdate], Wait[None]]
"""Handle the open transactions that an applied update concerns."""
BeforeCommitTs = Callable[[CoordinatorPart, Transaction], Wait[None]]
"""Wait until commit_ts may be fixed."""
CommitSchema = Callable[[CoordinatorPart, Transaction, Timestamp], Wait[Verdict]]
"""Judge a transaction's initial schemas at its commit_ts, at the coordinator."""
ValidateOnePhase = Callable[[SchemaSyncPart, FullWrite, Timestamp], Verdict | None]
"""The same for a one-phase write at its stamp; None where the metadata is not complete.

It must not wait: nothing may come between the stamp and the log.
"""
LeaderIsLate = Callable[[OnePhasePart], Wait[Operated]]
"""The answer to a one-phase write that could not be judged at its stamp."""
IndexEntries = Callable[[Table, Cells | None, Cells | None], list[Entry]]
"""What a write that turns one row into another does to the entries of its table's indexes."""
OfIndex = Callable[[SimpleChange], int | None]
"""The index that a change concerns in some way, by id; None for all other changes."""
Drain = Callable[[DrainPart, Timestamp], Wait[None]]
"""Wait before the next state of an index for those that began before this one was active."""
ValidateAtFinish = Callable[[SchemaSyncPart, Finish], Wait[Verdict]]
"""Judge a transaction at the primary of its commit partition."""
BeforeAnswer = Callable[[CoordinatorPart, Transaction], Wait[None]]
"""Wait until the client may be answered that its transaction has committed."""


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """A design on the Ignite plane."""

    header: DesignHeader
    # IEP-98: numbers
    activation_ts: Callable[[Timestamp, int], Timestamp]
    completeness_ts: Callable[[Timestamp, int, int], Timestamp]
    lookup_ts: Callable[[Timestamp, int], Timestamp]
    acknowledge_ts: Callable[[Timestamp, int], Timestamp]
    acknowledge_known_ts: Callable[[Timestamp, int], Timestamp]
    message_delay: Callable[[int, int], int]
    reader_delay_bound: Callable[[int], int]
    clock: Callable[[Callable[[], int], Timestamp, Callable[[int], None]], HybridClock]
    takes_part_ts: Callable[[Timestamp], Timestamp]
    tick_ts: Callable[[HybridClock], Timestamp]
    publish_safe_time: Publication
    tick_counts: Callable[[int, int], bool]
    stamp_again: Callable[[Timestamp | None, Timestamp], Timestamp]
    restored_safe_ts: Callable[[Timestamp], Timestamp]
    take_over_clock: Callable[[HybridClock, Timestamp], None]
    activation_in_order: Callable[[Timestamp, Timestamp], Timestamp]
    # placement
    lease_outdated_ts: Callable[[Timestamp, int], Timestamp]
    keeps_lease: Callable[[int, int], bool]
    accepts_token: Callable[[Timestamp, Timestamp], bool]
    # transactions
    partition_stamp: Callable[[HybridClock, Timestamp], Timestamp]
    commit_lease: Callable[[Timestamp, Timestamp], Reason | None]
    repeated_commit_ts: Callable[[Timestamp, Timestamp], Timestamp]
    recovery_outcome: Callable[[Timestamp], Timestamp | None]
    in_one_phase: Callable[[str, bool], bool]
    retries_implicit: Callable[[int], bool]
    read_ts: Callable[[Timestamp | None, Timestamp, int, int], Timestamp]
    # IEP-110: numbers
    base_ts: Callable[[Timestamp, Timestamp, Timestamp], Timestamp]
    decode_version: Callable[[int, int], int]
    primary_initial: Callable[[int, int], int]
    run_version: Callable[[int, int], int]
    # IEP-110: judgements
    check_client_version: Callable[[int, int], bool]
    enlists_again: Callable[[int], bool]
    check_operation: Callable[[int, int, Steps], Reason | None]
    check_operation_when: CheckPoints
    check_exists: Callable[[int], Reason | None]
    check_commit: Callable[[Steps], Reason | None]
    check_tuple: Callable[[int, int], Reason | None]
    excuses_tuple: Callable[[Steps, Cells | None], bool] | None = None
    judges_commit: JudgesCommit
    refuses_change: Callable[[SimpleChange], str | None]
    rename: Callable[[Statement, Snapshot, int], Built | NoOp | Refused]
    alias_ms: int = 0
    # indexes: None where transactions keep no entries, and an index is usable at once
    index_entries: IndexEntries | None = None
    drain: Drain | None = None
    fills_index: OfIndex | None = None
    erases_index: OfIndex | None = None
    # flows
    resolve_schema: ResolveSchema
    before_statement: BeforeStatement
    install: Install
    enlist: Enlist
    on_activated: OnActivated
    before_commit_ts: BeforeCommitTs
    commit_schema: CommitSchema
    validate_one_phase: ValidateOnePhase
    leader_is_late: LeaderIsLate
    validate_at_finish: ValidateAtFinish | None = None
    before_answer: BeforeAnswer

    @property
    def name(self) -> str:
        """The design's name."""
        return self.header.name

    def with_rules(self, rules: Mapping[str, object]) -> "Strategy":
        """The design with other rules in some fields, by the names of the fields.

        Where the names are known when the code is written, use `replace`, which is type-checked.
        """
        return replace(self, **rules)  # type: ignore[arg-type]  # known by name only
