"""What the model of a coordinator keeps: its open transactions, and its clients' operations."""

from typing import Any

from ddlsim.cluster.models.exchange import Sent
from ddlsim.kernel.deadlines import Asked
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import ClientOperation, Mismatch
from ddlsim.units import MIN_TIMESTAMP


class Open:
    """A transaction, as its messages show it."""

    def __init__(self, tx: TxId) -> None:
        self.id = tx
        self.leases: dict[PartitionId, Lease] = {}
        self.versions: dict[int, int] = {}
        self.waiting: dict[Asked, Sent] = {}
        self.early: dict[str, None] = {}
        self.replicated: dict[str, Reason | None] = {}
        self.last_op_ts = MIN_TIMESTAMP
        self.failed = False
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
