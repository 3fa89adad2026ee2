"""The model of a coordinator: what a transaction must have sent and been answered, step by step.

From protocol.md, sections 3 and 4, by messages alone:

* An operation goes to a partition as its client asked for it, under the version that the
  transaction used the table with first [110.flow.2, 110.flow.3], under the lease that it used the
  partition with first, and only while the transaction is open. By the rule `coordinator_retry`
  requests do not count if all for the table were refused for its schema [110.quirk].
* A commit is sent to the first partition that it used. It names all of them, and every version;
  every operation was answered without a refusal before, every write replicated, commit_ts is above
  each op_ts [110.x.2] and each report of a write, not below what the clock showed when the client
  asked for the commit, and below the end of each lease. It is sent again as it was, ever later, and
  not without a rest.
* A one-phase write without an answer is sent again until an answer says how it ended; that a lease
  is over does not say it of an earlier copy.
* A state that is requested agrees with what the transaction does before and after.
"""

from collections.abc import Callable
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.exchange import Exchange, Sent
from ddlsim.cluster.models.transaction.constraints import unique_of
from ddlsim.cluster.models.transaction.coordinated import Open, Operation
from ddlsim.cluster.models.words import when
from ddlsim.kernel.deadlines import Asked
from ddlsim.kernel.engine import Loop
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.model.settings import Settings
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import (
    Cleanup,
    ClientCommit,
    ClientOperation,
    Finish,
    Finished,
    Mismatch,
    Operate,
    Operated,
)
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.replica_messages import (
    AreReplicated,
    Fate,
    Read,
    Replicated,
    TxState,
    TxStateRequest,
)
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, US_PER_MS, Timestamp, show

WITHOUT: Final = ("stamp_at_once", "new_decision", "whatever_the_lease")
"""Rules of designs that leave out what the documents demand of a commit."""
WRITES: Final = ("put", "delete", "insert", "replace", "update")


class CoordinatorModel:
    """The open transactions of a node, and what its messages must be."""

    def __init__(
        self,
        exchange: Exchange,
        divergence: Divergence,
        strategy: Strategy,
        leases: Leases,
        settings: Settings,
        loop: Loop,
        clock: HybridClock,
        catalog: Catalog,
        placement: Placement,
        cleaned: dict[TxId, dict[PartitionId, None]],
        is_stored: Callable[[TxId], bool],
        sync: SchemaSync,
    ) -> None:
        """`cleaned` are the partitions where the node has begun to clean up, by transaction.

        `is_stored`: whether a partition of this node has stored an outcome.
        """
        self._exchange = exchange
        self._divergence = divergence
        self._wrong = divergence.found
        self._leases = leases
        self._settings = settings
        self._loop = loop
        self._clock = clock
        self._catalog = catalog
        self._placement = placement
        self._cleaned = cleaned
        self._is_stored = is_stored
        self._sync = sync
        self._refused: dict[str, dict[Reason, None]] = {}
        self._operations: dict[str, Operation] = {}
        self._open: dict[str, Open] = {}
        self._committing: dict[str, Timestamp] = {}  # what the clock showed when it was asked
        self._commit_us: dict[str, int] = {}  # when it was asked, of those that may wait
        self._read_ts: dict[str, Timestamp] = {}
        rules = (strategy.before_commit_ts, strategy.repeated_commit_ts, strategy.commit_lease)
        left_out = [rule.__name__ in WITHOUT for rule in rules]
        self._waits, self._repeats, self._leased = (not one for one in left_out)
        self._in_one_phase = strategy.in_one_phase
        self._judges = strategy.validate_at_finish is None
        self._once = strategy.enlist.__name__ == "enlist_once"
        self._enlists_again = strategy.enlists_again.__name__ == "coordinator_retry"
        self._unlocks = getattr(strategy.judges_commit, "__name__", "") != "judge_every_commit"
        self._listen()

    def _listen(self) -> None:
        exchange = self._exchange
        arrival, request = exchange.on_arrival, exchange.on_request
        arrival.setdefault(ClientOperation, []).append(self._operation)
        arrival.setdefault(ClientCommit, []).append(self._commit)
        arrival.setdefault(Replicated, []).append(self._replicated)
        request.setdefault(Operate, []).append(self._operate)
        request.setdefault(Read, []).append(self._read)
        request.setdefault(Finish, []).append(self._finish)
        request.setdefault(Cleanup, []).append(self._cleanup)
        exchange.on_send.setdefault(AreReplicated, []).append(self._asks_again)
        exchange.on_answer.setdefault(Operate, []).append(self._operated)
        exchange.on_answer.setdefault(Read, []).append(self._was_read)
        exchange.on_answer.setdefault(Finish, []).append(self._finished)
        exchange.on_reply.setdefault(TxStateRequest, []).append(self._state)
        exchange.when_clock_is_set(self._clock_is_set)

    def _commits(self, label: str, commit_ts: Timestamp, what: str) -> None:
        self._wrong(f"{label} commits at {show(commit_ts)}, {what}")

    # --- operations -------------------------------------------------------------------------------

    def _operation(self, request: ClientOperation) -> None:
        before = self._operations.get(request.op)
        found = self._operations[request.op] = Operation(request, self._loop.now_us)
        if before is None:
            return
        if request.implicit:
            found.of = before.of
        if before.mismatch is not None:
            self._compare_encoded(before.request, before.mismatch, request)

    def _compare_encoded(
        self, before: ClientOperation, mismatch: Mismatch, request: ClientOperation
    ) -> None:
        """A client encodes again with the schema that it was sent, and asks for the same."""
        table = mismatch.table
        if (request.client_version, request.table_id) not in ((table.version, table.id), (0, 0)):
            self._wrong(f"{request.op} comes with version {request.client_version} of {table.name}")
        if request.begins or (before.session_ts is not None and request.session_ts is None):
            self._wrong(f"{request.op} comes again as the begin of a transaction, or without token")
        for name in ("tx", "action", "table", "key", "implicit", "metadata", "columns", "read_ts"):
            if getattr(before, name) != getattr(request, name):
                self._wrong(f"{request.op} comes again with another {name}")

    def _operate(self, asked: Asked, sent: Sent) -> None:
        message: Operate = sent.message
        operation = self._operations.get(message.op)
        if operation is None:
            self._wrong(f"{message.op} is sent to a primary, and its client does not wait for it")
            return
        request, tx = operation.request, self._open.get(message.tx.label)
        if tx is None:
            tx = self._open[message.tx.label] = Open(message.tx)
            self._compare_doubtful(operation)
        operation.of[message.tx.label] = tx
        if message.action != "lookup":
            version = tx.versions.get(message.table_id, message.initial)
            operation.table = (message.table_id, version if message.views else message.initial)
        operation.asked[asked] = sent
        if message.one_phase:  # sent again only once the request before was given up
            tx.waiting.clear()
            tx.sent += 1
            tx.is_doubtful = False
        tx.asks(asked, sent)
        tx.one_phase = tx.one_phase or message.one_phase
        tx.wrote = tx.wrote or message.action in WRITES
        is_over = tx.aborted or (self._waits and (tx.committed or tx.finish is not None))
        if tx.id != message.tx or is_over:
            self._wrong(f"{message.op} is sent for {tx.id.label}, which is over")
        is_lookup = message.action == "lookup"
        actions = ("find", "scan") if request.action == "find" else (request.action,)
        as_asked = is_lookup or (message.action in actions and message.row == request.row)
        if not as_asked or (message.key, message.sets, message.strict) != (
            request.key,
            request.sets,
            request.strict,
        ):
            self._wrong(f"{message.op} is sent as another operation than its client's")
        self._compare_lease(tx, sent)
        self._compare_phases(request, message)
        for object_id, version in (*message.views, (message.table_id, message.initial)):
            if tx.versions.setdefault(object_id, version) != version and self._once:
                self._wrong(
                    f"{message.op} is sent under version {version} of object {object_id}, "
                    f"which {tx.id.label} has used under {tx.versions[object_id]}"
                )
        if sent.wait_us != self._settings.operation_timeout_us:
            self._wrong(f"{message.op} waits for {sent.wait_us} us for a primary")

    def _compare_doubtful(self, operation: Operation) -> None:
        """A one-phase write is not given up while a copy of it may have been executed."""
        for label, tx in operation.of.items():
            if tx.is_doubtful:
                self._wrong(f"{label} is given up, and a copy of its write may have committed")

    def _compare_phases(self, request: ClientOperation, message: Operate) -> None:
        """A write that is its whole transaction goes in one phase; not what has to look elsewhere.

        A view is looked up, too, and so are values of a unique index in other partitions.
        """
        table = self._catalog.definition(message.table_id, message.initial)
        if message.action == "lookup" or not isinstance(table, Table):
            return
        elsewhere = self._placement.partitions_of(table.id) > 1 and message.action != "delete"
        due = (
            request.implicit
            and self._in_one_phase(message.action, request.implicit)
            and not message.views
            and not (elsewhere and unique_of(table))
        )
        if message.one_phase is not due:
            self._wrong(f"{message.op} is sent as one-phase {message.one_phase}, and {due} is due")

    def _compare_lease(self, tx: Open, sent: Sent) -> None:
        message: Operate = sent.message
        place = (message.table_id, message.partition)
        known = tx.leases.get(place)
        if known is None or message.one_phase:
            lease = self._leases.of(place)
            if lease is None or lease.start_ts != message.lease_start:
                self._wrong(f"{message.op} names a lease of {place} that is not the present one")
                return
            known = tx.leases[place] = lease
        if (known.holder, known.start_ts) != (sent.to, message.lease_start):
            self._wrong(f"{message.op} is sent to {sent.to} and not under {tx.id.label}'s lease")
        if message.commit_place != next(iter(tx.leases)):
            self._wrong(f"{message.op} names {message.commit_place} as commit partition")

    def _operated(self, asked: Asked, sent: Sent, value: Any) -> None:
        message: Operate = sent.message
        tx, operation = self._open[message.tx.label], self._operations.get(message.op)
        tx.waiting.pop(asked, None)
        tx.heard_us = self._loop.now_us
        if operation is not None:
            operation.asked.pop(asked, None)
        if not isinstance(value, Operated):
            if operation is not None:
                operation.unanswered = True
            tx.has_failed = tx.has_failed or not message.one_phase
            return
        if self._enlists_again and operation is not None and operation.ran_not(tx, message, value):
            return
        if value.reason is not None:
            over = value.reason is Reason.PRIMARY_EXPIRED and not value.ended
            tx.is_doubtful = message.one_phase and over and tx.sent > 1
            tx.has_failed = tx.has_failed or not message.one_phase
            tx.reasons[value.reason] = None
            if operation is not None:
                operation.reasons[value.reason] = None
            return
        if value.commit_ts is not None:
            tx.committed = True
        tx.last_op_ts = max(tx.last_op_ts, value.op_ts)
        if not value.replicated and message.op not in tx.replicated:
            tx.early[message.op] = None
        if operation is not None and message.action != "lookup":
            operation.rows[message.partition] = value.rows
            operation.done = value.done

    def _asks_again(self, to: str, request: AreReplicated) -> None:
        """A primary is asked for the writes that it has not reported, again and again.

        Where its lease is over it will report none of them, and the commit aborts.
        """
        tx = self._open.get(request.tx.label)
        if tx is None:
            return
        tx.heard_us = self._loop.now_us
        for op in request.ops:
            if op in tx.replicated:
                self._wrong(f"{to} is asked for {op}, which it has reported")
        lease, used = self._leases.of(request.place), tx.leases.get(request.place)
        if lease is not None and used is not None and lease.start_ts != used.start_ts:
            self._commit_us.pop(tx.id.label, None)

    def _compare_patience(self, tx: Open) -> None:
        """A commit that waits for writes asks for them every `resend_ms`.

        It waits for them once all operations are answered, where its design waits for these, and
        until there is a reason to abort. What a pause holds back is done when that ends.
        """
        label, now_us = tx.id.label, self._loop.now_us
        asked_us = self._commit_us.get(label)
        lost = any(reason is not None for reason in tx.replicated.values())
        over = tx.waiting or tx.failed or tx.aborted or tx.finish or lost
        if asked_us is None or over or not (tx.early and self._waits):
            return
        since_us = max(tx.heard_us, asked_us, self._divergence.resumed_us())
        late = now_us - since_us > self._settings.resend_us
        if late and not any(one.request.tx == label for one in self._operations.values()):
            self._wrong(f"{label} waits for {[*tx.early]} and has not asked since {since_us}")

    def _replicated(self, report: Replicated) -> None:
        tx = self._open.get(report.tx.label)
        if tx is not None:
            self._compare_patience(tx)
            tx.heard_us = self._loop.now_us
            tx.reported(report, merges=type(self._clock) is HybridClock)

    def _read(self, asked: Asked, sent: Sent) -> None:
        message: Read = sent.message
        operation = self._operations.get(message.op)
        if operation is not None:
            operation.asked[asked] = sent
            operation.table = (message.table_id, message.version)
            if operation.reader != message.tx:  # what an earlier attempt was refused for is over
                operation.reader = message.tx
                operation.reasons.clear()
            self._compare_read_ts(operation.request, message)
        if sent.message.read_ts > sent.message.sent_ts:
            self._wrong(
                f"{sent.message.op} is to read at {show(sent.message.read_ts)}, in the future"
            )
        if sent.wait_us != self._settings.read_resend_ms * US_PER_MS:
            self._wrong(f"{sent.message.op} waits for {sent.wait_us} us for a replica")

    def _compare_read_ts(self, request: ClientOperation, message: Read) -> None:
        """One timestamp for all reads of a transaction; its client's, where that chose one."""
        known = self._read_ts.setdefault(message.tx.label, message.read_ts)
        chosen = request.read_ts
        if known != message.read_ts or chosen not in (None, message.read_ts):
            due = when(chosen or known)
            self._wrong(f"{message.op} reads at {when(message.read_ts)}, not {due}")

    def _was_read(self, asked: Asked, sent: Sent, value: Any) -> None:
        operation = self._operations.get(sent.message.op)
        if operation is None:
            return
        operation.asked.pop(asked, None)
        if isinstance(value, Operated):
            if value.reason is not None:
                operation.reasons[value.reason] = None
            operation.rows[sent.message.partition] = value.rows

    # --- the commit -------------------------------------------------------------------------------

    def _commit(self, request: ClientCommit) -> None:
        self._commit_us.setdefault(request.tx, self._loop.now_us)
        monotone = type(self._clock) is HybridClock  # a design may have others
        self._committing[request.tx] = self._clock.current() if monotone else MIN_TIMESTAMP

    def _clock_is_set(self) -> None:
        """A clock that was set back shows less than before, and a commit may be stamped with it."""
        shown = self._clock.current()
        for label, ts in self._committing.items():
            self._committing[label] = min(ts, shown)

    def _finish(self, _asked: Asked, sent: Sent) -> None:
        message: Finish = sent.message
        label = message.tx.label
        tx = self._open.get(label)
        if tx is None or not tx.leases:
            self._wrong(f"the outcome of {label} is sent, which has used no partition")
            return
        before, tx.finish = tx.finish, sent
        lease = self._leases.of(message.place)
        if lease is None or lease.holder != sent.to:
            self._wrong(f"the outcome of {label} is sent to {sent.to}, not the primary")
        answered, tx.is_answered = tx.is_answered, False
        if before is not None:
            self._compare_again(before, sent, answered=answered)
            return
        if tx.aborted or tx.committed:
            self._wrong(f"the outcome of {label} is sent, which is over")
        if tx.failed and self._waits and not tx.one_phase:
            self._wrong(f"{label} commits, and an operation of it has failed")
        places = tuple(tx.leases)
        if message.place != places[0] or set(message.participants) != set(places):
            self._wrong(f"{label} commits in {message.participants} and has used {places}")
        if self._judges and self._waits and self._once:
            tables = {object_id: version for object_id, version, _ in message.tables}
            if any(tables.get(one) != version for one, version in tx.versions.items()):
                self._wrong(f"{label} commits by {tables} and has used {tx.versions}")
        if sent.wait_us != self._settings.resend_us:
            self._wrong(f"the outcome of {label} waits for {sent.wait_us} us first")
        self._compare_commit_ts(tx, message)

    def _compare_commit_ts(self, tx: Open, message: Finish) -> None:
        label, commit_ts = tx.id.label, message.commit_ts
        if commit_ts is None:
            self._wrong(f"an abort of {label} is sent")
            return
        lost = [op for op, reason in tx.replicated.items() if reason is not None]
        if self._waits and (tx.early or lost):
            self._wrong(f"{label} commits, and {[*tx.early, *lost]} is not replicated")
        now = self._loop.now_us
        waits = any(now < sent.at_us + sent.wait_us for sent in tx.waiting.values())
        if self._waits and (waits or commit_ts <= tx.last_op_ts):
            self._commits(label, commit_ts, f"and its last op_ts is {show(tx.last_op_ts)}")
        if self._waits and commit_ts <= tx.reported_ts:
            self._commits(label, commit_ts, f"and reported a write at {show(tx.reported_ts)}")
        if commit_ts < self._committing.get(label, MIN_TIMESTAMP):
            self._commits(label, commit_ts, "when the clock had shown more before")
        if commit_ts <= tx.pending_ts:
            self._commits(label, commit_ts, f"and was pending at {show(tx.pending_ts)}")
        for place, token in tx.leases.items():
            lease = self._leases.of(place)
            lasts = lease if lease is not None and lease.start_ts == token.start_ts else token
            if self._leased and commit_ts >= lasts.expiration_ts:
                self._commits(label, commit_ts, f"when its lease of {place} is over")

    def _compare_again(self, before: Sent, sent: Sent, *, answered: bool) -> None:
        """A request that is sent again: as it was, and waited for twice as long.

        Without an answer in its time it is sent again at once, or after a pause.
        """
        old, new, label = before.message, sent.message, sent.message.tx.label
        over_us = max(before.at_us + before.wait_us, self._divergence.resumed_us())
        retry_us = self._settings.retry_us
        if not answered and retry_us and sent.at_us == over_us + retry_us:
            self._wrong(f"{label} is sent again after a rest; no answer came in time")
        if self._repeats and old.commit_ts != new.commit_ts:
            self._wrong(f"{label} is sent again with another commit_ts")
        if (old.participants, old.tables) != (new.participants, new.tables):
            self._wrong(f"{label} is sent again with other participants or versions")
        if sent.at_us - before.at_us < min(before.wait_us, self._settings.retry_us):
            self._wrong(f"the outcome of {label} is sent again without a rest")
        longest_us = max(self._settings.operation_timeout_us, self._settings.resend_us)
        if sent.wait_us != min(2 * before.wait_us, longest_us):
            self._wrong(f"the outcome of {label} waits {sent.wait_us} us behind {before.wait_us}")

    def _finished(self, _asked: Asked, sent: Sent, value: Any) -> None:
        tx = self._open[sent.message.tx.label]
        tx.is_answered = True
        if isinstance(value, Finished):
            tx.is_decided = True
            tx.committed = value.commit_ts is not None
            tx.has_failed = not tx.committed

    def _cleanup(self, _asked: Asked, sent: Sent) -> None:
        """A coordinator's own clean-up, where its node is not the commit partition's primary too.

        That one sends what is stored; it may be long before an answer brings it to the coordinator.
        """
        message: Cleanup = sent.message
        tx = self._open.get(message.tx.label)
        if tx is None or tx.id != message.tx:
            return
        if not tx.is_decided and self._is_stored(tx.id):
            return
        if message.commit_ts is None and not tx.committed:
            if tx.finish is None or tx.is_decided:
                tx.aborted = True
            elif self._judges:
                self._wrong(f"{tx.id.label} is cleaned up, and its outcome is not known")

    # --- states -----------------------------------------------------------------------------------

    def _state(self, request: TxStateRequest, value: TxState) -> None:
        tx, label, fate = self._open.get(request.tx.label), request.tx.label, value.state
        if tx is None or tx.id != request.tx:
            if fate in (Fate.PENDING, Fate.DECIDING):
                return  # it has begun, and used no partition
            if fate is Fate.ABORTED:
                self._wrong(f"{label} was never here, and its state is {fate}")
            return
        if tx.aborted and not tx.committed and fate in (Fate.PENDING, Fate.DECIDING):
            self._wrong(f"{label} has aborted, and its state is {fate}")
        self._compare_state(tx, label, request.read_ts, fate)

    def _compare_state(self, tx: Open, label: str, read_ts: Timestamp | None, fate: Fate) -> None:
        """The state of a transaction that has begun here, for a reader at a timestamp or anyone."""
        if tx.committed and fate is not Fate.UNKNOWN:
            due = self._fate(tx, read_ts)
            if due is not None and fate is not due:
                self._wrong(f"{label} has committed, and its state at {when(read_ts)} is {fate}")
        elif fate is Fate.ABORTED and (tx.finish and not tx.failed):
            self._wrong(f"{label} waits for its outcome, and its state is {fate}")
        elif fate is Fate.PENDING and read_ts is not None:
            finish_ts = self._finish_ts(tx)
            if finish_ts is not None and finish_ts <= read_ts:
                self._commits(label, finish_ts, f"and its state at {show(read_ts)} is {fate}")
            tx.pending_ts = max(tx.pending_ts, read_ts)
        elif fate is Fate.UNKNOWN and not (tx.aborted or tx.failed or tx.committed):
            self._wrong(f"{label} is open, and its state is {fate}")

    def _fate(self, tx: Open, read_ts: Timestamp | None) -> Fate | None:
        """What one that has committed is for a reader: pending if it had not by its timestamp."""
        finish_ts = self._finish_ts(tx)
        if tx.one_phase or finish_ts is None:
            return None
        return Fate.PENDING if read_ts is not None and finish_ts > read_ts else Fate.DECIDING

    def _finish_ts(self, tx: Open) -> Timestamp | None:
        """The commit_ts that was sent to the commit partition; None before that or of an abort."""
        return None if tx.finish is None else tx.finish.message.commit_ts
