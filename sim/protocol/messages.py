"""Every request and reply of the protocol but Raft's own.

`sent_ts` is the sender's hybrid timestamp: the receiver's clock merges it, so that what happens
after a message is also later on the reference timeline. Clients send none unless their
session carries a causal token. Raft's appends carry none either.
"""

from typing import Final

from ddlsim.history.event import Cells
from ddlsim.model.ddl import ObjectChange, Statement
from ddlsim.model.ops import Key
from ddlsim.model.ports import Request
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.model.schema import Table, Value
from ddlsim.protocol.ids import IndexKey, PartitionId, Tuple, TxId
from ddlsim.units import MIN_TIMESTAMP, Timestamp

ENCODINGS_BITS: Final = 8
"""Bits of a client's label that count encodings of its operation."""

# --- client to coordinator ------------------------------------------------------------------------


class ClientBegin(Request["Answer"], frozen=True):
    """Begin an explicit transaction; of a read-only one the client may choose the `read_ts`."""

    op: str
    tx: str
    session_ts: Timestamp | None = None
    read_only: bool = False
    read_ts: Timestamp | None = None


class ClientOperation(Request["Answer | Mismatch | Refusal"], frozen=True):
    """Read or write rows of a table: `action` is the operation's tag.

    `client_version` is clientSV [110.flow.1], of the table with the id `table_id`: a name may mean
    another table by now. Both are 0 where the client has cached no schema of the table.
    `begins` begins transaction `tx` with its first operation; `implicit` is a transaction of its
    own. `metadata` requests the columns too, as `SELECT *` does; `columns` are those that a SELECT
    names. `label` tells the operation's messages apart from others of their kind, on every hop; its
    lowest `ENCODINGS_BITS` count the encodings before this one. An update `sets` the columns at
    these positions of `row`; a `strict` insert fails where there is a row. `read_ts` is the
    timestamp that the client chose for the read-only transaction that it begins.
    Where processes encode rows, and not clients, there is no `row` but the `values` by column name;
    None and `spread` where they are filled in. `index` is the one that a find asks.
    """

    op: str
    tx: str
    action: str
    table: str
    key: Key
    row: Tuple | None
    client_version: int
    table_id: int = 0
    label: int = 0
    begins: bool = False
    implicit: bool = False
    metadata: bool = False
    columns: tuple[str, ...] = ()
    session_ts: Timestamp | None = None
    read_only: bool = False
    sets: tuple[int, ...] = ()
    strict: bool = False
    read_ts: Timestamp | None = None
    values: dict[str, Value] | None = None
    spread: int = 0
    index: str = ""

    @property
    def encoded_before(self) -> int:
        """How many times the client has sent this operation in another encoding [110.flow.2]."""
        return self.label & ((1 << ENCODINGS_BITS) - 1)


class ClientCommit(Request["Answer | Refusal"], frozen=True):
    """Commit a transaction."""

    op: str
    tx: str
    session_ts: Timestamp | None = None


class ClientRollback(Request["Answer | Refusal"], frozen=True):
    """Roll a transaction back."""

    op: str
    tx: str
    session_ts: Timestamp | None = None


class ClientDdl(Request["Answer | Refusal"], frozen=True):
    """Run a DDL statement."""

    op: str
    statement: Statement
    session_ts: Timestamp | None = None


class Answer(Record, frozen=True):
    """Success; `rows` are (key, cells) for reads; `token_ts` is the session's causal token.

    `done` is false where an insert found a row, a replace or an update none. `shown_under` is the
    schema of the request, which the client notes down beside the rows: it shows them under that.
    """

    token_ts: Timestamp
    rows: tuple[tuple[Key, Cells], ...] = ()
    columns: tuple[str, ...] | None = None
    tx: str | None = None
    done: bool = True
    shown_under: Table | None = None


class Mismatch(Record, frozen=True):
    """clientSV is not tableEnlistSV; here is the schema to encode with [110.flow.2]."""

    token_ts: Timestamp
    table: Table


class Refusal(Record, frozen=True):
    """Failure: nothing was done, and the operation's transaction is over [110.flow.7]."""

    token_ts: Timestamp
    reason: Reason
    message: str = ""


# --- coordinator to primary -----------------------------------------------------------------------


class Operate(Request["Operated"], frozen=True):
    """One operation on one partition, under the enlisted version I [110.flow.3].

    The action `lookup` asks whether a row has the values of one of `lookups` [110.ours.unique],
    `find` for the rows that an index has under the values of the only one.
    """

    sent_ts: Timestamp
    tx: TxId
    op: str
    action: str
    table_id: int
    partition: int
    initial: int
    key: Key
    row: Tuple | None
    views: tuple[tuple[int, int], ...] = ()
    lease_start: Timestamp = MIN_TIMESTAMP
    commit_place: PartitionId = (0, 0)
    one_phase: bool = False
    sets: tuple[int, ...] = ()
    strict: bool = False
    lookups: tuple[IndexKey, ...] = ()


class Operated(Record, frozen=True):
    """The primary's answer; with a `reason` the transaction must abort [110.flow.7].

    `replicated` is false while a write is not committed in its group's log: `Replicated` follows.
    `commit_ts` is that of a one-phase write; `ended` says that such a write was refused for good by
    its group, or a copy of it before: no other copy commits. `lookups` are what the written row
    enters into unique indexes, to be looked up in the other partitions. `ran` says of one that is
    refused with SCHEMA_CHANGED that another copy of its message was executed before.
    """

    sent_ts: Timestamp
    op_ts: Timestamp
    reason: Reason | None
    rows: tuple[tuple[Key, Cells], ...] = ()
    replicated: bool = True
    commit_ts: Timestamp | None = None
    done: bool = True
    lookups: tuple[IndexKey, ...] = ()
    ended: bool = False
    ran: bool = False


class Finish(Request["Finished | NotPrimary"], frozen=True):
    """Store the outcome at the commit partition `place`: the commit point.

    `participants` are the partitions with locks or intents; `tables` go into the history.
    """

    sent_ts: Timestamp
    tx: TxId
    commit_ts: Timestamp | None
    place: PartitionId
    participants: tuple[PartitionId, ...]
    tables: tuple[tuple[int, int, int], ...]
    validate: bool = False


class Finished(Record, frozen=True):
    """What is stored: `commit_ts` None is an abort, by recovery or for the `reason`."""

    sent_ts: Timestamp
    commit_ts: Timestamp | None
    reason: Reason | None = None
    tables: tuple[tuple[int, int, int], ...] = ()


class NotPrimary(Record, frozen=True):
    """The receiver of the request is not, or no longer, primary of the partition."""

    sent_ts: Timestamp


class Cleanup(Request["Cleaned"], frozen=True):
    """A transaction's outcome: commit or drop its intents in `places`, release its locks."""

    sent_ts: Timestamp
    tx: TxId
    commit_ts: Timestamp | None
    places: tuple[PartitionId, ...]


class Cleaned(Record, frozen=True):
    """The participant has cleaned up."""

    sent_ts: Timestamp


# --- any node to the meta storage leader ----------------------------------------------------------


class CatalogUpdate(Record, frozen=True):
    """A compare-and-set on the catalog version with the new versions of the objects it touches.

    `command_id` makes it idempotent; `delay_duration_ms` is the DD that it was built with.
    """

    command_id: str
    expected_version: int
    delay_duration_ms: int
    objects: tuple[ObjectChange, ...]

    @property
    def op(self) -> str:
        """The client's operation; `command_id` is this and the number of the attempt."""
        return self.command_id.rpartition("/")[0]


class SafeTimeCommand(Record, frozen=True):
    """An idle safe-time command: it only carries its message_ts [98.safe.3].

    `term` is its leader's; applied in another term it is ignored [98.x.6].
    """

    term: int


class NodeJoined(Record, frozen=True):
    """A restarted node is back: leases of its earlier incarnations are not prolonged."""

    command_id: str
    node: str
    joined_ts: Timestamp

    @property
    def op(self) -> None:
        """None: it belongs to no client's operation."""


class Submit(Request["Submitted | NotLeader"], frozen=True):
    """Submit a command to the meta storage leader."""

    sent_ts: Timestamp
    update: CatalogUpdate | NodeJoined


class Submitted(Record, frozen=True):
    """Whether the compare-and-set took effect, and the catalog version after the command."""

    sent_ts: Timestamp
    accepted: bool
    catalog_version: int


class NotLeader(Record, frozen=True):
    """The receiver of the request does not lead the meta storage; `leader` may, None: unknown."""

    sent_ts: Timestamp
    leader: str | None
