"""What a transaction is: its id, the tables it has enlisted, who takes part, and its state.

IEP-110 keeps, for each table of each transaction, the timestamp at which the table was enlisted and
the schema version that held then: tableEnlistSV, the *initial schema* I that every operation and
the commit are judged against [110.flow.2-6].
"""

from enum import Enum
from typing import Any

from sim.model.ports import Future
from sim.model.reasons import Reason
from sim.model.records import Record
from sim.model.schema import Table
from sim.protocol.messages import TxId
from sim.units import Timestamp


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
    """Where a transaction is in its life."""

    ACTIVE = "active"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTED = "aborted"


ACTIVE, COMMITTING, COMMITTED, ABORTED = State
"""As names of the module: looking a member up in its class takes five times as long."""


class Transaction:
    """A transaction at its coordinator."""

    __slots__ = (
        "bound_ts",
        "by_id",
        "by_name",
        "commit_partition",
        "id",
        "idle",
        "outstanding",
        "participants",
        "reason",
        "shown",
        "state",
    )

    def __init__(self, tx_id: TxId) -> None:
        self.id = tx_id
        self.state = ACTIVE
        self.reason: Reason | None = None
        self.by_name: dict[str, Enlistment] = {}
        self.by_id: dict[int, Enlistment] = {}
        self.participants: dict[str, None] = {}
        self.shown: dict[int, None] = {}
        self.commit_partition: str | None = None
        self.bound_ts: Timestamp | None = None
        self.outstanding = 0
        self.idle: Future[Any] | None = None

    def touched(self, node: str) -> None:
        """A node now takes part; the first one holds the commit partition."""
        if self.commit_partition is None:
            self.commit_partition = node
        self.participants[node] = None

    def operation_ended(self) -> None:
        """One outstanding operation less."""
        assert self.outstanding > 0, f"{self.id.label}: more operations ended than began"
        self.outstanding -= 1
        if not self.outstanding and self.idle is not None:
            idle, self.idle = self.idle, None
            idle.set(None)
