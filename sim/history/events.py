"""The events of a history: of clients, and of the protocol inside the nodes.

*Client events* are what a user of the database can observe: `Invoked`, then `Ok`, `Failed` or
`Unknown` (Jepsen's invoke, ok, fail and info), and the rows as the client encoded them. *Internal
events* are what only the simulator sees: versions, timestamps, decisions. Checkers of client events
apply to every design alike; checkers of internal events to designs that have the notion.

`at_us` is the simulated instant in microseconds. Object ids, versions and timestamps are those of
the protocol. Every event is one JSON object whose `event` field is the class name.
"""

from typing import Any

import msgspec

from ddlsim.history.event import Cells, Event
from ddlsim.history.index_events import IndexEvent
from ddlsim.history.world_events import WorldEvent
from ddlsim.model.ddl import ObjectChange, Statement

# --- of clients ----------------------------------------------------------------------------------


class Invoked(Event, frozen=True):
    """A client sent an operation; `kind` is its tag, `op` its id, unique in the run.

    `tx` names the transaction (None: implicit). `session` is true where the client carries a causal
    token from its earlier answers.
    """

    client: str
    op: str
    tx: str | None
    node: str
    kind: str
    table: str | None = None
    key: Any = None
    sql: str | None = None
    session: bool = False


class Named(Event, frozen=True):
    """The columns that an operation names; recorded only where it names any.

    `columns` are those that a read asks for, `values` what a write gives, by column name.
    """

    client: str
    op: str
    columns: tuple[str, ...] = ()
    values: dict[str, Any] | None = None


class ReadTimeChosen(Event, frozen=True):
    """A client chose the timestamp of the read-only transaction that its operation `op` begins."""

    client: str
    op: str
    read_ts: int


class Encoded(Event, frozen=True):
    """A client encoded a row under the schema version it has cached (again after a mismatch)."""

    client: str
    op: str
    object_id: int
    version: int
    row: Cells


class Ok(Event, frozen=True):
    """The operation succeeded; `value` is its result: a row or rows by column name, whether an
    insert, a replace or an update wrote, or None.
    """

    client: str
    op: str
    value: Any = None


class Failed(Event, frozen=True):
    """The operation certainly failed; if it is of a transaction, that is aborted too."""

    client: str
    op: str
    reason: str


class Unknown(Event, frozen=True):
    """The client does not know whether the operation took effect."""

    client: str
    op: str
    reason: str


# --- internal: schema -----------------------------------------------------------------------------


class UpdateLogged(Event, frozen=True):
    """A schema update took effect in the meta storage log; recorded once for the cluster.

    `op` is the client operation that asked for it (None: the initial schema). `message_ts` is Tm,
    `activation_ts` Tu, `built_on` the catalog version that it was built on (None: not recorded).
    """

    node: str
    op: str | None
    index: int
    catalog_version: int
    message_ts: int
    activation_ts: int
    delay_duration_ms: int
    objects: tuple[ObjectChange, ...]
    built_on: int | None = None


class UpdateApplied(Event, frozen=True):
    """A node's catalog has applied a schema update: from now on the node sees it [98.def.2]."""

    node: str
    catalog_version: int
    message_ts: int
    activation_ts: int


class SafeTimeAdvanced(Event, frozen=True):
    """A node published a new schema safe time."""

    node: str
    safe_ts: int


class DdlDecided(Event, frozen=True):
    """A DDL statement has its outcome; its node starts to wait for `acknowledge_ts`.

    `outcome` is `installed`, `noop` or `refused`; the last two rest on `catalog_version`.
    `asked_ts` is the node's timestamp for which its metadata was complete.
    """

    node: str
    op: str
    outcome: str
    catalog_version: int
    activation_ts: int
    acknowledge_ts: int
    statement: Statement | None = None
    asked_ts: int = 0


class SchemaResolved(Event, frozen=True):
    """A node looked up an object's schema at the reference timestamp `ts` (Top).

    `purpose` is `enlist`, `arrival`, `after-locks`, `commit` or `metadata`. `object_id` and
    `version` are 0 where no such object exists at `ts`. `waited_us` is the completeness wait.
    """

    node: str
    tx: str
    op: str | None
    purpose: str
    name: str | None
    object_id: int
    ts: int
    version: int
    waited_us: int


# --- internal: transactions -----------------------------------------------------------------------


class TxBegan(Event, frozen=True):
    """A coordinator began a transaction; a read-only one reads at `read_ts`."""

    tx: str
    node: str
    begin_ts: int
    implicit: bool = False
    read_ts: int | None = None


class Enlisted(Event, frozen=True):
    """A table (or view) joined a transaction under its initial schema I.

    A design may enlist one again; what counts then is said in `checkers/case/enlistments.py`.
    """

    tx: str
    node: str
    object_id: int
    name: str
    enlist_ts: int
    version: int


class RowRead(msgspec.Struct, frozen=True, gc=False):
    """One key as a read found it.

    `writer` is the transaction whose version was read (None: the key was never written; a deleted
    row has its deleter as writer and no `row`). `row_version` is the schema version that the row
    was written under, `decoded_version` the one that its bytes were decoded with; `row` is the row
    after its upgrade to the reader's schema.
    """

    key: Any
    writer: str | None
    row_version: int
    decoded_version: int
    row: Cells | None


class ReadExecuted(Event, frozen=True):
    """A primary read one key (`predicate` false) or every key of its partition (true)."""

    node: str
    tx: str
    op: str
    object_id: int
    partition: int
    op_ts: int
    version: int
    predicate: bool
    rows: tuple[RowRead, ...]


class WriteExecuted(Event, frozen=True):
    """A primary wrote a write intent; `row` None is a delete; `version` is the row's schema."""

    node: str
    tx: str
    op: str
    object_id: int
    partition: int
    key: Any
    op_ts: int
    version: int
    row: Cells | None


class MetadataRead(Event, frozen=True):
    """A transaction saw a table's columns by name, as `SELECT *` shows them."""

    node: str
    tx: str
    op: str
    object_id: int
    version: int
    columns: tuple[str, ...]


class TxCommitted(Event, frozen=True):
    """The commit point: the transaction state is stored.

    `tables` holds, for each enlisted object, (object id, initial version I, version at commit_ts,
    0 where it no longer exists). Where SQL is a layer on a store, its process may die before it
    knows: then the event comes when storage is read back, as late as that. Judges go by commit_ts.
    """

    node: str
    tx: str
    commit_ts: int
    tables: tuple[tuple[int, int, int], ...]


class TxAborted(Event, frozen=True):
    """A transaction is aborted, for this reason."""

    node: str
    tx: str
    reason: str


class LockWaited(Event, frozen=True):
    """A transaction waited for a lock on a key, or was refused one.

    `key` is None for a lock of a whole partition, or of values in a unique index.
    A lock `granted` at once is not recorded. A wait for an intent of a transaction whose outcome
    cannot be learned counts as refused.
    """

    node: str
    tx: str
    op: str
    object_id: int
    key: Any
    waited_us: int
    granted: bool


class RowFinal(Event, frozen=True):
    """The content of storage for a key at the end of the run."""

    node: str
    object_id: int
    partition: int
    key: Any
    writer: str
    commit_ts: int
    version: int
    row: Cells | None


AnyEvent = (
    Invoked
    | Named
    | ReadTimeChosen
    | Encoded
    | Ok
    | Failed
    | Unknown
    | UpdateLogged
    | UpdateApplied
    | SafeTimeAdvanced
    | DdlDecided
    | SchemaResolved
    | TxBegan
    | Enlisted
    | ReadExecuted
    | WriteExecuted
    | MetadataRead
    | TxCommitted
    | TxAborted
    | LockWaited
    | RowFinal
    | IndexEvent
    | WorldEvent
)
"""Every kind of event, as the codec reads them back."""
