"""What a partition holds: versions of rows, intents, outcomes, and all of it as a snapshot."""

from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.protocol.ids import (
    Place,
    Tuple,
    TxId,
)
from ddlsim.units import Timestamp


class RowVersion(Record, frozen=True):
    """One version of a row; `row` None is a deletion."""

    writer: str
    commit_ts: Timestamp
    version: int
    row: Tuple | None


class Intent(Record, frozen=True):
    """A row that a transaction wrote and has not committed."""

    tx: TxId
    op: str
    op_ts: Timestamp
    version: int
    row: Tuple | None
    commit_place: Place


class Outcome(Record, frozen=True):
    """How a transaction ended whose commit partition this is; `commit_ts` None: aborted.

    `participants` are the other partitions that have to hear of it; `reason` is why the commit
    partition itself aborted it, if it did.
    """

    commit_ts: Timestamp | None
    participants: tuple[Place, ...]
    reason: Reason | None = None


class PartitionState(Record, frozen=True):
    """A snapshot: everything that the commands up to `index` have made."""

    index: int
    term: int
    safe_ts: Timestamp
    lease_start: Timestamp
    rows: dict[Key, tuple[RowVersion, ...]]
    intents: dict[Key, Intent]
    ended: dict[TxId, Timestamp | None]
    outcomes: dict[TxId, Outcome]
    uncleaned: tuple[TxId, ...]
    catalog_version: int
    ops: dict[TxId, tuple[str, ...]]
