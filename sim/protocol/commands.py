"""What goes through the log of a partition's group.

Each command is stamped by the group's leader: its `safe_ts` is larger than every earlier one in the
log, so that a replica that has applied it is complete up to there.
`lease_start` fences: what was sent under a lease that is over is refused where it is applied.
A member stores a command only once its catalog has `catalog_version`, since it could not decode the
row otherwise.
"""

from typing import Generic, TypeVar

from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.protocol.ids import EntryChange, PartitionId, Tuple, TxId
from ddlsim.protocol.replication.state_machine import BusyType
from ddlsim.units import MAX_TIMESTAMP, Timestamp

R_co = TypeVar("R_co", covariant=True)


class Command(Record, Generic[R_co], frozen=True):
    """A command; `R_co` is the type of its result where it is applied."""


class WriteIntent(Command[Reason | None], frozen=True):
    """Leave a write intent; `entries` is what it does to indexes once it is committed."""

    tx: TxId
    op: str
    op_ts: Timestamp
    key: Key
    version: int
    row: Tuple | None
    lease_start: Timestamp
    commit_place: PartitionId
    catalog_version: int
    entries: tuple[EntryChange, ...] = ()


class FullWrite(Command[Timestamp | Reason | BusyType], frozen=True):
    """Write and commit in one step, at the leader's stamp: the one-phase path.

    `tables` go into the history: (object id, version I, version at the stamp). `expires_ts` is the
    end, as last seen by the primary, of the lease under which it holds the locks: with a later
    stamp the write is not carried out, whichever leader appends it.
    """

    tx: TxId
    op: str
    op_ts: Timestamp
    key: Key
    version: int
    row: Tuple | None
    lease_start: Timestamp
    catalog_version: int
    tables: tuple[tuple[int, int, int], ...] = ()
    expires_ts: Timestamp = MAX_TIMESTAMP
    entries: tuple[EntryChange, ...] = ()


class FillIndex(Command[None], frozen=True):
    """A step of a backfill: the rows from place `begin` on, `limit` of them, get their entries.

    Places count the rows in the order in which they came. It changes nothing where the backfill is
    elsewhere. `version` is the table's with the index; it activated at `since_ts`.
    """

    index_id: int
    version: int
    since_ts: Timestamp
    begin: int
    limit: int
    catalog_version: int


class EraseIndex(Command[None], frozen=True):
    """Remove an index that was dropped; it gets no entries any more."""

    index_id: int


class Outcome(Record, frozen=True):
    """How a transaction ended whose commit partition this is; `commit_ts` None: aborted.

    `participants` are the other partitions that need it; `reason` is set if the commit partition
    itself aborted it.
    """

    commit_ts: Timestamp | None
    participants: tuple[PartitionId, ...]
    reason: Reason | None = None


class FinishTx(Command[Outcome], frozen=True):
    """Store a transaction's outcome at its commit partition, unless one is stored already.

    `commit_ts` None is an abort; `by_recovery`: of a transaction whose coordinator did not answer;
    `reason`: one that the commit partition has found.
    """

    tx: TxId
    commit_ts: Timestamp | None
    participants: tuple[PartitionId, ...]
    tables: tuple[tuple[int, int, int], ...] = ()
    by_recovery: bool = False
    reason: Reason | None = None


class CleanUp(Command[None], frozen=True):
    """The transaction has ended: turn its intents into committed versions, or drop them."""

    tx: TxId
    commit_ts: Timestamp | None


class Cleaned(Command[None], frozen=True):
    """Every participant of a finished transaction has cleaned up."""

    tx: TxId


class PrimaryChange(Command[None], frozen=True):
    """A node is to be primary from `lease_start` on: writes with earlier tokens are refused."""

    lease_start: Timestamp
    holder: str


class SafeTimeSync(Command[None], frozen=True):
    """An idle command: it only carries its stamp."""


class StampedCommand(Record, frozen=True):
    """A command as it stands in the log, under its leader's stamp."""

    safe_ts: Timestamp
    command: Command[object]
