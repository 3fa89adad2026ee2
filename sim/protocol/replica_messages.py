"""What nodes say to each other of partitions: replication, leases, the ends of transactions."""

from enum import Enum

from ddlsim.model.ops import Key
from ddlsim.model.ports import Request
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.protocol.commands import Command
from ddlsim.protocol.ids import PartitionId, TxId
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
    """Tell again what has become of these writes: `Replicated` may be lost."""

    sent_ts: Timestamp
    tx: TxId
    ops: tuple[str, ...]
    place: PartitionId


class Read(Request[Operated], frozen=True):
    """Read one key (`get`) or a partition (`scan`) as of `read_ts`, on any replica."""

    sent_ts: Timestamp
    tx: TxId
    op: str
    action: str
    table_id: int
    partition: int
    version: int
    key: Key
    read_ts: Timestamp


class TxStateRequest(Request["TxState"], frozen=True):
    """What has become of a transaction? Asked of its coordinator; `read_ts` is merged there."""

    sent_ts: Timestamp
    tx: TxId
    read_ts: Timestamp | None = None


class Fate(Enum):
    """What a coordinator says of a transaction.

    It is *pending*, and if it commits at all, commits later than the timestamp that was asked for;
    or *deciding*, its commit_ts fixed and no later than that, its outcome not known yet; or
    *aborted*, or has left nothing; or *unknown* here. What has committed is unknown to its
    coordinator: the commit partition tells.
    """

    PENDING = "pending"
    DECIDING = "deciding"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class TxState(Record, frozen=True):
    """What has become of a transaction, as its coordinator knows it."""

    sent_ts: Timestamp
    state: Fate


class RecoverTx(Request[Finished | NotPrimary], frozen=True):
    """The transaction's coordinator seems gone: abort it unless its outcome is stored."""

    sent_ts: Timestamp
    tx: TxId
    place: PartitionId


class PartitionRaft(Record, frozen=True):
    """A message of the Raft group of a partition."""

    place: PartitionId
    message: RaftMessage


class PartitionSubmit(Request["PartitionSubmitted"], frozen=True):
    """Ask the leader of a partition's group to run a command; `number` is the sender's for it."""

    sent_ts: Timestamp
    place: PartitionId
    command: Command[object]
    number: int = 0


class PartitionSubmitted(Record, frozen=True):
    """What the command came to, at which stamp; `done` false: not here, or not yet, ask again."""

    sent_ts: Timestamp
    done: bool
    result: object = None
    leader: str | None = None
    stamp: Timestamp = MIN_TIMESTAMP


class LeaseGrant(Request["LeaseAccepted"], frozen=True):
    """Make ready to be primary of a partition under a lease that begins at `start_ts`."""

    sent_ts: Timestamp
    place: PartitionId
    start_ts: Timestamp


class LeaseAccepted(Record, frozen=True):
    """Whether the replica knows everything that was committed before, and is ready."""

    sent_ts: Timestamp
    accepted: bool
