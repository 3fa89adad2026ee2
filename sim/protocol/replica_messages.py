"""Messages between nodes about partitions: replication, leases, the ends of transactions."""

from enum import Enum

from ddlsim.model.ops import Key
from ddlsim.model.ports import Request
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.protocol.commands import Command
from ddlsim.protocol.ids import IndexKey, PartitionId, TxId
from ddlsim.protocol.messages import Finished, NotPrimary, Operated
from ddlsim.protocol.raft import RaftMessage
from ddlsim.units import MIN_TIMESTAMP, Timestamp


class Replicated(Record, frozen=True):
    """A write that was answered before is replicated now, or never will be, for the reason."""

    sent_ts: Timestamp
    tx: TxId
    op: str
    reason: Reason | None


class AreReplicated(Record, frozen=True):
    """Request `Replicated` of these writes again: it may be lost."""

    sent_ts: Timestamp
    tx: TxId
    ops: tuple[str, ...]
    place: PartitionId


class Read(Request[Operated], frozen=True):
    """Read one key (`get`), a partition (`scan`) or by an index (`find`: the one of `lookups`).

    All as of `read_ts`, on any replica.
    """

    sent_ts: Timestamp
    tx: TxId
    op: str
    action: str
    table_id: int
    partition: int
    version: int
    key: Key
    read_ts: Timestamp
    lookups: tuple[IndexKey, ...] = ()


class LeaseFenced(Record, frozen=True):
    """A primary's group refuses what is sent under its lease: a later one was accepted there."""

    sent_ts: Timestamp
    place: PartitionId
    start_ts: Timestamp


class TxStateRequest(Request["TxState"], frozen=True):
    """Request a transaction's state from its coordinator, whose clock merges `read_ts`."""

    sent_ts: Timestamp
    tx: TxId
    read_ts: Timestamp | None = None


class Fate(Enum):
    """The state of a transaction at its coordinator.

    *pending*: if it commits at all, its commit_ts is above the request's `read_ts`;
    *deciding*: its commit_ts is fixed and no later than that, its outcome not stored yet;
    *aborted*: or it has written nothing;
    *unknown*: not open here, so that its commit partition has to be asked: it may have committed.
    """

    PENDING = "pending"
    DECIDING = "deciding"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class TxState(Record, frozen=True):
    """A coordinator's answer to `TxStateRequest`."""

    sent_ts: Timestamp
    state: Fate


class RecoverTx(Request[Finished | NotPrimary], frozen=True):
    """Abort a transaction whose coordinator does not answer, unless its outcome is stored."""

    sent_ts: Timestamp
    tx: TxId
    place: PartitionId


class PartitionRaft(Record, frozen=True):
    """A message of the Raft group of a partition."""

    place: PartitionId
    message: RaftMessage


class PartitionSubmit(Request["PartitionSubmitted"], frozen=True):
    """Submit a command to the leader of a partition's group under the sender's `number`.

    It is the submission's alone, also across restarts of the sender: a copy has the same, and what
    is sent again too, but for what the leader was too busy to take.
    """

    sent_ts: Timestamp
    place: PartitionId
    command: Command[object]
    number: int = 0


class PartitionSubmitted(Record, frozen=True):
    """The command's result and stamp; `done` false: not leader, or not ready: submit it again."""

    sent_ts: Timestamp
    done: bool
    result: object = None
    leader: str | None = None
    stamp: Timestamp = MIN_TIMESTAMP


class LeaseGrant(Request["LeaseAccepted"], frozen=True):
    """Become ready to be primary of a partition under a lease that begins at `start_ts`."""

    sent_ts: Timestamp
    place: PartitionId
    start_ts: Timestamp


class LeaseAccepted(Record, frozen=True):
    """Whether the replica has applied everything committed before, and is ready."""

    sent_ts: Timestamp
    accepted: bool
