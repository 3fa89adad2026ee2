"""The record of a transaction: its id, enlisted tables, participants and state.

IEP-110 keeps, for each table of each transaction, the timestamp at which the table was enlisted and
the schema version that held then: tableEnlistSV, the *initial schema* I that every operation and
the commit are judged against [110.flow.2-6].
"""

from dataclasses import dataclass, field
from enum import Enum

from ddlsim.model.ops import WHOLE
from ddlsim.model.ports import Future
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.model.schema import Table
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease
from ddlsim.units import MIN_TIMESTAMP, Timestamp


class Enlistment(Record, frozen=True):
    """A table or view in a transaction, under its initial schema I.

    `table` is what holds the rows: the object itself, or the table that a view reads, whose own
    enlistment is in `by_id` as well. `views` are (view id, version) pairs between name and table.
    """

    object_id: int
    name: str
    enlist_ts: Timestamp
    version: int
    table: Table
    views: tuple[tuple[int, int], ...] = ()


class State(Enum):
    """The state of a transaction at its coordinator."""

    ACTIVE = "active"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTED = "aborted"


ACTIVE, COMMITTING, COMMITTED, ABORTED = State
"""As names of the module: looking a member up in its class takes five times as long."""


@dataclass(slots=True, eq=False)
class Transaction:
    """A transaction at its coordinator.

    By the table that holds the rows: `asked` counts the requests to primaries that were not refused
    for its schema: each may run, or has run; `ran` has those on which one did.
    """

    id: TxId
    began_us: int
    read_ts: Timestamp | None = None
    state: State = ACTIVE
    reason: Reason | None = None
    by_name: dict[str, Enlistment] = field(default_factory=dict)
    by_id: dict[int, Enlistment] = field(default_factory=dict)
    participants: dict[PartitionId, Lease] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    ran: dict[int, None] = field(default_factory=dict)
    shown: dict[int, None] = field(default_factory=dict)
    commit_place: PartitionId | None = None
    commit_ts: Timestamp | None = None
    bound_ts: Timestamp | None = None
    outstanding: int = 0
    unreplicated: dict[str, PartitionId] = field(default_factory=dict)
    early: dict[str, Reason | None] = field(default_factory=dict)
    last_op_ts: Timestamp = MIN_TIMESTAMP
    wrote: bool = False
    queried: bool = False
    idle: Future[None] | None = None

    def touched(self, place: PartitionId, lease: Lease) -> None:
        """A partition now takes part, under this lease; the first one is the commit partition."""
        if self.commit_place is None:
            self.commit_place = place
        assert lease.place == place, f"{lease} is not of {place}"
        self.participants[place] = lease

    def asks(self, table_id: int) -> None:
        """Count a request to a primary: unless it is refused, its operation may have run."""
        self.asked[table_id] = self.asked.get(table_id, 0) + 1

    def is_refused(self, table_id: int) -> None:
        """Count out a request that was refused for the table's schema, and ran nowhere."""
        assert self.asked[table_id] > 0, f"{self.id.label}: more refused than requested"
        self.asked[table_id] -= 1

    def does(self, action: str, *, metadata: bool) -> None:
        """Note the kind of an operation: a write, or a query."""
        if action in {"put", "delete", "insert", "replace", "update"}:
            self.wrote = True
        elif action in WHOLE or metadata:
            self.queried = True

    def operation_ended(self) -> None:
        """Count an outstanding operation as ended."""
        assert self.outstanding > 0, f"{self.id.label}: more operations ended than began"
        self.outstanding -= 1
        if not self.outstanding:
            self._wake()

    def answered_early(self, op: str, place: PartitionId) -> None:
        """Note a write that was answered before it is replicated; `Replicated` may precede this."""
        assert op not in self.unreplicated, f"{op} was answered twice"
        if op in self.early:
            self._note(self.early.pop(op))
        else:
            self.unreplicated[op] = place

    def replicated(self, op: str, reason: Reason | None) -> None:
        """Note that a write is replicated, or for a reason never will be."""
        if op in self.unreplicated:
            del self.unreplicated[op]
            self._note(reason)
            self._wake()
        else:
            self.early[op] = reason

    def _note(self, reason: Reason | None) -> None:
        if reason is not None and self.reason is None:
            self.reason = reason

    def _wake(self) -> None:
        if self.idle is not None:
            idle, self.idle = self.idle, None
            idle.set(None)
