"""The joints of the layer: every choice in which the designs of the thread differ.

A `LayerDesign` is a frozen record like `ddlsim.protocol.strategy.Strategy`: a header, functions and
flows, and a few numbers that these read. Nothing in the layer asks which design runs. What all of
them have in common is in `process`, `execution` and `schema_change`: a DDL statement is a
transaction of the store that reads the head and the log, appends one update and, in the same
transaction, writes whatever else the design's readers look at.

    a transaction        admit -> read_schema -> operations -> fence -> commit -> (after_failure)
    a DDL statement      plan -> for each step: pause_before -> exclude -> change, publish, commit
                              -> settle
    all the time         background

`ddlsim.layer.rules` has the rules; a file of `ddlsim.strategies` puts them together.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol, TypeVar

from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.transaction import TxOptions
from ddlsim.layer.schema import Cached, Schema, Update, Used
from ddlsim.layer.store import Store, StoreTransaction
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ddl import Statement
from ddlsim.model.design import DesignHeader
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.settings import Setting
from ddlsim.protocol.messages import ClientOperation
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.units import FOREVER_MS, Micros, Timestamp

T = TypeVar("T")
DEFAULTS: Final = TxOptions()
NUMBERS: Final = {
    name: one.of(name)
    for name, one in {
        "copies": Setting("keys that have the schema, or its version, each", most=10_000),
        "copy_servers": Setting(
            "storage servers of these copies that hold no rows, if there are so many; 1: where the "
            "schema is",
            most=5,
        ),
        "schema_replicas": Setting(
            "storage servers that hold the schema's shard; 0: as many as hold others",
            least=0,
            most=5,
        ),
        "lease_ms": Setting("term of a process's lease on the schema that it uses"),
        "renew_percent": Setting(
            "share of its term after which a lease in the store is renewed", most=100
        ),
        "drift_percent": Setting(
            "drift of a clock that leases by clocks allow for", least=0, most=99
        ),
        "poll_ms": Setting(
            "pause between explicit reads of the schema or the mode, and before what others still "
            "hold is looked at again"
        ),
        "lock_timeout_ms": Setting("how long a lock is waited for"),
        "push_ms": Setting("how long a mode may take to reach all processes", least=0),
        "distance_ms": Setting(
            "distance from an update to its activation, in versions of so long", least=0
        ),
        "cutoff_percent": Setting(
            "share of the window from then on in which writes under the old schema may commit",
            least=0,
            most=1_000,
        ),
        "chunk_rows": Setting("rows of one transaction of a backfill", most=FOREVER_MS),
    }.items()
}
"""The numbers of a design by name: what they mean and their bounds."""
Wait = Coroutine[None, None, T]
"""The result of a coroutine function: awaited, a `T`."""


class OwnIndex(NamedTuple):
    """The index that the first update of a statement has created or changed."""

    table_id: int
    index_id: int


Building = Callable[[Snapshot, OwnIndex | None], Built | NoOp | Refused]
"""Builds a statement, or a step of it, on the newest schema; further steps know their index by id.

Its name may be another index's by then.
"""


class Step(NamedTuple):
    """One schema update of a statement, and the work on rows and entries that belongs to it.

    Entries of new indexes are written, and those of dropped ones erased, `inside` of the update's
    transaction, or in transactions that come `after` it: behind the design's wait, or `early`.
    """

    building: Building
    inside: bool = False
    after: bool = False
    early: bool = False


class LayerPart(Protocol):
    """What a rule may use of a process.

    `cache` is the schema that the process keeps, `log` all updates that it has ever read, of which
    the `first` are the initial schema. `mode` is
    the mode that it has switched to, `newest_tag` the newest metadata version that it has seen.
    `transactions` are its open ones by name, `leases` those that it has in the store: by the number
    of the schema, the version at which it ends; `lease_again` asks for them before their time.
    `queued` are the objects at which its statement may stand in the queue for locks, with the
    statement's command.
    """

    node: Node
    design: "LayerDesign"
    store: Store
    settings: FdbSettings
    cache: Cached | None
    log: Schema
    first: int
    mode: str
    newest_tag: int | None
    transactions: dict[str, LayerTx]
    leases: dict[int, int]
    lease_again: Callable[[], None]
    queued: dict[int, str]

    def schema(self, number: int) -> Schema:
        """The schema of a number that it has read."""

    def learn(self, updates: tuple[Update, ...]) -> None:
        """Take in updates that it has read; those that it has are ignored."""

    def confirm(self, number: int, read_ms: int) -> None:
        """A read that began at this instant found the update of this number to be the newest."""

    def confirmed_ms(self, number: int) -> int | None:
        """When the last read began that did so, by its own clock; None: none since it started."""

    def known_since_ms(self, number: int) -> int:
        """When it has read the update of this number, by its own clock."""

    @property
    def distance(self) -> int:
        """The design's distance in versions."""

    def now_ms(self) -> int:
        """Its own clock, in whole milliseconds."""

    async def rest(self, purpose: str) -> None:
        """Rest a little after an error of the store."""

    def spread(self, purpose: str, bound: int) -> int:
        """A number below the bound, drawn anew at each call."""


Admit = Callable[[LayerPart, LayerTx, ClientOperation], Wait[Reason | None]]
"""Whether an operation may use what the process has; may wait until it may."""
ReadSchema = Callable[[LayerPart, LayerTx], Wait[Used | Reason]]
"""How a transaction gets its schema, at its first operation."""
Fence = Callable[[LayerPart, LayerTx], Wait[Reason | None]]
"""What is added to a transaction's conflict sets before it commits, or why it may not."""
AfterFailure = Callable[[LayerPart, LayerTx, Reason], None]
"""What a process does with its cache when a transaction has failed."""
NewerRow = Callable[[int, int], int | Reason]
"""The version to decode a row with that is newer (its format, the version used), or a refusal."""
Token = Callable[[LayerPart, LayerTx, Timestamp | None], Timestamp]
"""The token of an answer; the last argument is the token of the request."""
Plan = Callable[[Statement], tuple[Step, ...] | Refused]
"""The steps of a statement."""
PauseBefore = Callable[["LayerPart", StoreTransaction, Schema], Wait[Micros]]
"""How long to wait before a further update is made on a schema; reads in its transaction."""
Exclude = Callable[["LayerPart", StoreTransaction, str, tuple[int, ...]], Wait[Micros | Reason]]
"""How long to wait until these objects may be changed by an update of this name, or why they may
not; once they may, 0."""
Activation = Callable[[int, int, int], int]
"""Since when an update is in force: (read version, commit version, distance)."""
Publish = Callable[[LayerPart, StoreTransaction, "Publication"], None]
"""What the transaction of an update writes, besides its entry in the log."""
Flow = Callable[[LayerPart], Wait[None]]
"""A task of a process, or a wait before or behind a statement."""
Settle = Callable[[LayerPart, Update, Step], Wait[None]]
"""What a statement waits for once a step has been committed."""
OwnChange = Callable[[LayerPart, Schema], None]
"""What a process does with its cache when it has built an update, before that is committed."""
WritesEntries = Callable[[LayerPart, StoreTransaction], StoreTransaction]
"""The transaction that writes the entries of the rows that one has read."""


async def no_locks(
    _layer: LayerPart, _transaction: StoreTransaction, _command: str, _objects: tuple[int, ...]
) -> Micros | Reason:
    """No locks on tables: an update waits for none."""
    return Micros(0)


class Publication(NamedTuple):
    """An update in its transaction: `make` gives it once the commit version is known."""

    before: Schema
    number: int
    objects: tuple[int, ...]
    read_version: int
    make: Callable[[int], Update]


@dataclass(frozen=True, kw_only=True)
class LayerDesign:
    """A design on the FoundationDB plane.

    What its numbers mean is in `NUMBERS`.
    """

    header: DesignHeader
    # transactions
    options: TxOptions = DEFAULTS
    admit: Admit
    read_schema: ReadSchema
    fence: Fence
    after_failure: AfterFailure
    newer_row: NewerRow
    token: Token
    # DDL
    plan: Plan
    pause_before: PauseBefore
    activation: Activation
    publish: Publish
    own_change: OwnChange
    settle: Settle
    writes_entries: WritesEntries
    before_statement: Flow
    after_statement: Flow
    exclude: Exclude = no_locks
    # processes
    background: tuple[Flow, ...] = ()
    # numbers
    copies: int = 100
    copy_servers: int = 1
    schema_replicas: int = 0
    lease_ms: int = 1000
    renew_percent: int = 50
    drift_percent: int = 10
    poll_ms: int = 500
    lock_timeout_ms: int = 300
    push_ms: int = 3000
    distance_ms: int = 1000
    cutoff_percent: int = 100
    chunk_rows: int = 100

    @property
    def name(self) -> str:
        """The design's name."""
        return self.header.name

    def with_rules(self, rules: Mapping[str, object]) -> "LayerDesign":
        """The design with other rules or numbers in some fields, by the names of the fields."""
        return replace(self, **rules)  # type: ignore[arg-type]  # known by name only
