"""The model of a coordinator's answers to clients; behind that of what it sends, `coordinator`.

* An operation was executed in the partition of its key, a scan in all of its table.
* A client is answered that its transaction has committed once an outcome says so, and refused once
  one says that it has not, or none was requested. Rows are those of the replicas, columns those of
  the version in use. An operation that got no answer took its time.
* A transaction that has not committed is cleaned up in every partition that it used, at once.
* The largest op_ts of its operations is noted by the time that its outcome is sent.
* An answer is stamped behind what its client's session has seen, and behind the answers of the
  replicas that it rests on.
"""

import zlib
from collections.abc import Mapping
from typing import Any

from ddlsim.cluster.models.exchange import Sent
from ddlsim.cluster.models.transaction.coordinated import Open, Operation
from ddlsim.cluster.models.transaction.coordinator import CoordinatorModel
from ddlsim.cluster.models.words import words
from ddlsim.kernel.deadlines import Asked
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientOperation,
    ClientRollback,
    Finish,
    Mismatch,
    Operate,
    Operated,
    Refusal,
)
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import MIN_TIMESTAMP, Timestamp, show


class AnswersModel(CoordinatorModel):
    """What the clients of a coordinator must be answered, and what it must have noted by then."""

    def __init__(self, transactions: Mapping[str, Transaction], *parts: Any) -> None:
        """`transactions` are the coordinator's own open ones; the rest as `CoordinatorModel`."""
        self._transactions = transactions
        super().__init__(*parts)

    def _listen(self) -> None:
        self._heard_ts: dict[str, Timestamp] = {}
        self._ended_with_nothing: set[str] = set()
        """Committed before any of their operations was sent: what runs later is in no commit
        (F-25)."""
        super()._listen()
        reply = self._exchange.on_reply
        reply.setdefault(ClientOperation, []).append(self._answer)
        reply.setdefault(ClientCommit, []).append(self._answer_commit)
        reply.setdefault(ClientRollback, []).append(self._answer_rollback)
        reply.setdefault(ClientBegin, []).append(self._compare_token)

    # --- answers -----------------------------------------------------------------------

    def _compare_token(
        self, request: ClientOperation | ClientCommit | ClientBegin | ClientRollback, value: Any
    ) -> None:
        """What follows on a node's answer is behind what its client's session has seen."""
        if request.session_ts is not None and value.token_ts <= request.session_ts:
            self._wrong(f"{request.op} was answered at {show(value.token_ts)}, before its session")

    def _operated(self, asked: Asked, sent: Sent, value: Any) -> None:
        message: Operate = sent.message
        if message.action != "lookup":  # that one is behind the answer's timestamp
            self._hear(message.op, value)
            if isinstance(value, Operated) and value.reason is None:
                tx = self._open[message.tx.label]
                tx.ran_op_ts = max(tx.ran_op_ts, value.op_ts)
        super()._operated(asked, sent, value)

    def _was_read(self, asked: Asked, sent: Sent, value: Any) -> None:
        self._hear(sent.message.op, value)
        super()._was_read(asked, sent, value)

    def _finished(self, asked: Asked, sent: Sent, value: Any) -> None:
        self._hear(sent.message.tx.label, value)
        super()._finished(asked, sent, value)

    def _compare_commit_ts(self, tx: Open, message: Finish) -> None:
        """Closing rules of designs ask when the last operation ran (findings F-1 and F-2)."""
        super()._compare_commit_ts(tx, message)
        noted = self._transactions.get(tx.id.label)
        if self._waits and noted is not None and noted.last_op_ts < tx.ran_op_ts:
            self._wrong(
                f"{tx.id.label} commits, its last op_ts is {show(tx.ran_op_ts)}, and "
                f"{show(noted.last_op_ts)} "
                "was noted"
            )

    def _compare_heard(self, op: str, heard_ts: Timestamp, value: Any) -> None:
        if value.token_ts <= heard_ts and type(self._clock) is HybridClock:
            self._wrong(
                f"{op} was answered at {show(value.token_ts)}, and had heard of {show(heard_ts)}"
            )

    def _hear(self, what: str, value: Any) -> None:
        """Keep the largest timestamp that an answer to an operation or a commit has brought."""
        sent_ts = getattr(value, "sent_ts", MIN_TIMESTAMP)
        self._heard_ts[what] = max(self._heard_ts.get(what, MIN_TIMESTAMP), sent_ts)

    def _answer(self, request: ClientOperation, value: Any) -> None:
        self._compare_token(request, value)
        self._compare_heard(request.op, self._heard_ts.pop(request.op, MIN_TIMESTAMP), value)
        operation = self._operations.get(request.op)
        if operation is not None and isinstance(value, Mismatch):
            operation.mismatch = value
            if value.table.version == request.client_version and value.table.id == request.table_id:
                self._wrong(f"{request.op} is sent the schema that it was encoded with")
        if operation is None or isinstance(value, Mismatch):
            return
        del self._operations[request.op]
        if request.tx in self._open:
            self._open[request.tx].heard_us = self._loop.now_us
        self._compare_doubtful(operation)
        if isinstance(value, Answer):
            self._compare_answer(operation, value)
            if not request.implicit:
                return
        elif isinstance(value, Refusal):
            self._compare_refusal(operation, value)
        for label, tx in operation.of.items():
            is_over = tx.committed or label in self._ended_with_nothing
            if label not in self._committing and not is_over:
                self._owe_cleanup(tx)

    def _compare_answer(self, operation: Operation, value: Answer) -> None:
        op = operation.request.op
        label, now = value.tx or operation.request.tx, self._loop.now_us
        for sent in operation.asked.values():
            in_time = now < sent.at_us + sent.wait_us and sent.message.tx.label == label
            if in_time and isinstance(sent.message, Operate):
                self._wrong(f"{op} was answered before {sent.to} had answered")
        tx = self._open.get(label)
        if operation.request.implicit and tx is not None:
            if tx.leases and not (tx.committed or self._is_unlocked(tx)):
                self._wrong(f"{op} was answered, and its transaction {label} has not committed")
        elif operation.reasons or operation.unanswered:
            self._wrong(f"{op} was answered, and a partition had refused it or was silent")
        if operation.request.implicit and len(operation.of) > 1:
            return  # the rows of an earlier attempt do not count
        if value.done != operation.done:
            self._wrong(f"{op} was answered as done {value.done}, and {operation.done} is true")
        self._compare_columns(operation, value)
        self._compare_partitions(operation)
        rows = [row for number in sorted(operation.rows) for row in operation.rows[number]]
        if operation.request.action in ("get", "scan") and list(value.rows) != rows:
            self._wrong(
                f"{op} was answered with {words(value.rows)}, and the replicas had {words(rows)}"
            )

    def _compare_partitions(self, operation: Operation) -> None:
        """A scan was executed in every partition of its table, the rest in that of the key."""
        request = operation.request
        if operation.table is None:
            self._wrong(f"{request.op} was answered, and no replica was requested for it")
            return
        number = self._placement.partitions_of(operation.table[0])
        numbers, key = list(range(number)), request.key
        if request.action not in ("scan", "find"):
            code = key if type(key) is int else zlib.crc32(repr(key).encode())
            numbers = [code % number]
        if sorted(operation.rows) != numbers:
            self._wrong(f"{request.op} was executed in partitions {[*operation.rows]}")

    def _compare_columns(self, operation: Operation, value: Answer) -> None:
        """`SELECT *` shows the columns of the version in use; one that is named is of it."""
        request = operation.request
        if operation.table is None or not (request.metadata or request.columns):
            return
        table = self._catalog.definition(*operation.table)
        names = () if table is None else tuple(one.name for one in getattr(table, "columns", ()))
        shown = names if request.metadata else None
        if value.columns != shown or any(name not in names for name in request.columns):
            self._wrong(f"{request.op} was answered with {value.columns} of columns {names}")

    def _compare_refusal(self, operation: Operation, value: Refusal) -> None:
        op, now, reason = operation.request.op, self._loop.now_us, value.reason
        if reason is not Reason.TX_FINISHED:  # else only this operation came too late
            self._commit_us.pop(operation.request.tx, None)
        early = now - operation.at_us < self._settings.operation_timeout_us
        before = self._refused.setdefault(operation.request.tx, {})
        if reason in before:
            return  # the transaction is over for this reason
        before[reason] = None
        over = any(now >= sent.at_us + sent.wait_us for sent in operation.asked.values())
        silent = over or operation.unanswered
        if reason is Reason.NODE_UNREACHABLE and early and not silent:
            self._wrong(f"{op} was refused as unreachable, and nothing was silent")
        if reason is Reason.PRIMARY_MISSING and early and reason not in operation.reasons:
            self._wrong(f"{op} was refused after {now - operation.at_us} us without a primary")

    def _answer_commit(self, request: ClientCommit, value: Any) -> None:
        self._compare_token(request, value)
        self._compare_heard(request.op, self._heard_ts.pop(request.tx, MIN_TIMESTAMP), value)
        asked_ts = self._committing.pop(request.tx, MIN_TIMESTAMP)
        self._commit_us.pop(request.tx, None)
        tx = self._open.get(request.tx)
        if tx is None:
            if isinstance(value, Answer) and not self._waits:
                self._ended_with_nothing.add(request.tx)
            return
        if isinstance(value, Answer):
            if (tx.failed and self._waits) or not (tx.committed or self._is_unlocked(tx)):
                self._wrong(f"{request.tx} was answered as committed, and no outcome says so")
            elif not tx.committed:
                self._owe_cleanup(tx)
            return
        if tx.committed or (tx.finish is not None and not tx.is_decided):
            self._wrong(f"{request.tx} was refused, and no outcome says so")
        elif value.reason is Reason.PRIMARY_EXPIRED and not self._may_have_expired(tx, asked_ts):
            self._wrong(f"{request.tx} was refused, and no lease of it is over")
        else:
            self._owe_cleanup(tx)

    def _may_have_expired(self, tx: Open, asked_ts: Timestamp) -> bool:
        """Whether a primary said so, or a lease of the transaction has moved or is over.

        That one is over is known only once every lease that was stamped before commit_ts is here,
        which is no smaller than what the clock showed when the client asked for the commit.
        """
        is_known = self._sync.safe_time >= asked_ts
        now_ts = self._clock.current()
        known = [(token, self._leases.of(place)) for place, token in tx.leases.items()]
        return Reason.PRIMARY_EXPIRED in tx.reasons or any(
            lease is None
            or lease.start_ts != token.start_ts
            or (is_known and lease.expiration_ts <= now_ts)
            for token, lease in known
        )

    def _is_unlocked(self, tx: Open) -> bool:
        """Whether a design commits it without an outcome: it has written nothing."""
        return self._unlocks and not (tx.wrote or tx.finish or tx.aborted)

    def _answer_rollback(self, request: ClientRollback, value: Any) -> None:
        tx = self._open.get(request.tx)
        if isinstance(value, Answer) and tx is not None and not (tx.committed or tx.finish):
            self._owe_cleanup(tx)

    def _owe_cleanup(self, tx: Open) -> None:
        """An aborted transaction is cleaned up in every partition that it has used."""
        used = list(tx.leases)

        def compare() -> None:
            cleaned = self._cleaned.get(tx.id, {})
            left = [place for place in used if place not in cleaned]
            if left:
                self._wrong(f"{tx.id.label} is over, and {left} is not cleaned up")

        if used:
            self._exchange.owe(compare)
