"""What the model of a coordinator keeps: its open transactions, and its clients' operations."""

from typing import Any

from ddlsim.cluster.models.exchange import Sent
from ddlsim.kernel.deadlines import Asked
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import ClientOperation, Mismatch, Operate, Operated
from ddlsim.protocol.replica_messages import Replicated
from ddlsim.units import MIN_TIMESTAMP


class Open:
    """A transaction, as its messages show it."""

    def __init__(self, tx: TxId) -> None:
        self.id = tx
        self.leases: dict[PartitionId, Lease] = {}
        self.versions: dict[int, int] = {}
        self.requests: dict[int, int] = {}  # by table: those that were not refused for its schema
        self.refused: dict[int, None] = {}  # tables of which some were, and others were not
        self.waiting: dict[Asked, Sent] = {}
        self.early: dict[str, None] = {}
        self.replicated: dict[str, Reason | None] = {}
        self.last_op_ts = MIN_TIMESTAMP
        self.ran_op_ts = MIN_TIMESTAMP  # the same without look-ups of unique values
        self.reported_ts = MIN_TIMESTAMP
        self.has_failed = False
        self.reasons: dict[Reason, None] = {}
        self.one_phase = False
        self.sent = 0
        self.is_doubtful = False
        self.finish: Sent | None = None
        self.is_decided = False
        self.is_answered = False  # the request for its outcome that was sent last
        self.committed = False
        self.aborted = False
        self.wrote = False
        self.pending_ts = MIN_TIMESTAMP
        self.heard_us = 0  # when it last had an answer or a report, or asked for one

    @property
    def failed(self) -> bool:
        """Whether it cannot commit any more: an operation was refused, and not for nothing."""
        return self.has_failed or bool(self.refused)

    def asks(self, asked: Asked, sent: Sent) -> None:
        """Note a request to a primary, which waits for its answer."""
        self.waiting[asked] = sent
        table_id = sent.message.table_id
        self.requests[table_id] = self.requests.get(table_id, 0) + 1

    def is_refused(self, message: Operate) -> bool:
        """Whether nothing is left that ran, or may, on the table of a request that was refused."""
        table_id = message.table_id
        self.requests[table_id] -= 1
        if self.requests[table_id]:
            self.refused[table_id] = None
            return False
        self.refused.pop(table_id, None)
        for object_id in (table_id, *(view for view, _ in message.views)):
            self.versions.pop(object_id, None)
        return True

    def reported(self, report: Replicated, *, merges: bool) -> None:
        """A write is replicated, or never will be; an abort does not take the first report back.

        The commit has waited for the first report of a write that was answered early, and its clock
        `merges` the report's timestamp.
        """
        self.replicated.setdefault(report.op, report.reason)
        if report.reason is not None:
            self.reasons[report.reason] = None
        if report.op in self.early:
            del self.early[report.op]
            if merges:
                self.reported_ts = max(self.reported_ts, report.sent_ts)


class Operation:
    """A client's operation, and what was answered to it."""

    def __init__(self, request: ClientOperation, at_us: int) -> None:
        self.request = request
        self.at_us = at_us
        self.of: dict[str, Open] = {}
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.reasons: dict[Reason, None] = {}
        self.asked: dict[Asked, Sent] = {}
        self.unanswered = False
        self.mismatch: Mismatch | None = None
        self.reader: TxId | None = None
        self.table: tuple[int, int] | None = None
        self.done = True

    def ran_not(self, tx: Open, message: Operate, value: Operated) -> bool:
        """Whether a request of it was refused so that the table may be enlisted again [110.quirk].

        It may be once that holds of every request of the transaction for the table.
        """
        changed = value.reason is Reason.SCHEMA_CHANGED and not value.ran
        if not changed or self.request.implicit:
            return False
        if tx.is_refused(message):
            self.reasons.pop(Reason.SCHEMA_CHANGED, None)
        else:
            tx.reasons[Reason.SCHEMA_CHANGED] = self.reasons[Reason.SCHEMA_CHANGED] = None
        return True
