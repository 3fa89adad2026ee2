"""How a coordinator ends its transactions: fix commit_ts, validate, store the outcome, or abort.

commit_ts is taken once no operation is outstanding and every write is replicated, so that it is
larger than every op_ts [110.x.2] and nothing that was committed can be lost. Every lease under
which the transaction took locks must last beyond it (`lease_check`), and the schema is judged at it
(`commit_check`) [110.valid.1].

The decision is final once the commit partition has stored it. Until then the coordinator resends
the same decision with the same commit_ts, each time to the present primary. If other nodes took the
coordinator for dead, the commit partition may hold an abort; then the transaction is aborted.
"""

from ddlsim.history.events import TxAborted, TxCommitted
from ddlsim.model.ports import Future, Timer
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import Finish, Finished, NotPrimary
from ddlsim.protocol.replica_messages import (
    AreReplicated,
    Fate,
    Replicated,
    TxState,
    TxStateRequest,
)
from ddlsim.protocol.strategy import CoordinatorPart, Tables
from ddlsim.protocol.transaction.lease_check import leases_outlast_commit
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction_record import ABORTED, ACTIVE, COMMITTED, COMMITTING, Transaction
from ddlsim.protocol.waiting import resend_delay, was_refused
from ddlsim.units import US_PER_MS, Micros, Timestamp


class TransactionCompletion:
    """Commits and aborts the transactions of one coordinator."""

    def __init__(
        self, coordinator: CoordinatorPart, participant: Participant, leases: Leases
    ) -> None:
        self._coordinator = coordinator
        self._participant = participant
        self._leases = leases
        self._unlocked: dict[str, None] = {}
        self._timer: Timer | None = None
        self.node = coordinator.node
        self.strategy = coordinator.strategy
        self.node.on(Replicated, self._on_replicated)
        self.node.on(TxStateRequest, self._on_state_request)

    # --- committing -------------------------------------------------------------------------------

    async def commit(self, tx: Transaction) -> Reason | None:
        """Commit; None once the client may be answered, or the reason of the abort."""
        reason = await self._decided(tx)
        if reason is None:
            await self.strategy.before_answer(self._coordinator, tx)
        return reason

    async def _decided(self, tx: Transaction) -> Reason | None:
        """Fix commit_ts, validate, store the outcome."""
        node, strategy = self.node, self.strategy
        if tx.state is not ACTIVE:  # rolled back since its operation
            return tx.reason or Reason.TX_FINISHED
        if tx.read_ts is not None:
            self._end_read_only(tx, tx.read_ts)
            return None
        aborted = await self._fix_commit_ts(tx)
        if aborted is not None:
            return self.abort(tx, aborted)
        commit_ts = tx.commit_ts
        assert commit_ts is not None, f"{tx.id.label} has no commit_ts"
        if not strategy.judges_commit(wrote=tx.wrote, queried=tx.queried):
            return await self._unlock(tx, commit_ts)
        reason, tables = await strategy.commit_schema(self._coordinator, tx, commit_ts)
        reason = reason or await leases_outlast_commit(
            self._coordinator, self._leases, tx, commit_ts
        )
        if reason is not None:
            return self.abort(tx, reason)
        self._probe_border(tables)
        waiting = node.pause_at("after-commit-check", tx.id.label)
        if waiting is not None:
            await waiting
        tx.state = COMMITTED  # from here on no operation may join it
        return await self._finish(tx, commit_ts, tables)

    async def _fix_commit_ts(self, tx: Transaction) -> Reason | None:
        """Stamp `tx` with commit_ts once its writes are replicated; or return why it must abort."""
        node = self.node
        tx.state = COMMITTING
        await self.strategy.before_commit_ts(self._coordinator, tx)
        waiting = node.pause_at("before-commit-ts", tx.id.label)
        if waiting is not None:
            await waiting
        if tx.reason is not None:
            return tx.reason
        assert tx.commit_ts is None, f"{tx.id.label} has a commit_ts"
        tx.commit_ts = commit_ts = node.clock.now()
        waiting = node.pause_at("after-commit-ts", tx.id.label)
        if waiting is not None:
            await waiting
        late = tx.bound_ts is not None and commit_ts >= tx.bound_ts
        return Reason.ROLLBACK_ONLY if late else None

    def _probe_border(self, tables: Tables) -> None:
        for _, initial, current in tables:
            if initial != current:
                self.node.probe("transborder-commit")
                return

    async def _finish(self, tx: Transaction, commit_ts: Timestamp, tables: Tables) -> Reason | None:
        """Send the outcome to the commit partition until it answers; what it has stored counts."""
        node, place = self.node, tx.commit_place
        if place is None:
            self._record_commit(tx, commit_ts, tables)
            self.committed(tx)
            return None
        participants = tuple(tx.participants)
        validate = self.strategy.validate_at_finish is not None
        tries = 0
        while True:
            if tries:
                commit_ts = self.strategy.repeated_commit_ts(commit_ts, node.clock.now())
            request = Finish(
                node.clock.now(), tx.id, commit_ts, place, participants, tables, validate
            )
            sent_us = node.watch.now_us
            wait_us = resend_delay(node.settings, tries)
            reply = await node.request(self._holder(place), request, wait_us)
            if isinstance(reply, Finished):
                break
            node.probe("finish-resent")
            tries += 1
            if isinstance(reply, NotPrimary):
                node.clock.update(reply.sent_ts)
            if was_refused(node, sent_us, wait_us):
                await node.sleep(node.settings.retry_us)
        node.clock.update(reply.sent_ts)
        if reply.commit_ts is None:
            tx.state = COMMITTING
            return self.abort(tx, reply.reason or Reason.TX_RECOVERED)
        self._probe_border(reply.tables)
        self.committed(tx)
        return None

    def _holder(self, place: PartitionId) -> str:
        lease = self._leases.of(place)
        assert lease is not None, f"{place} takes part and never had a primary"
        return lease.holder

    def committed(self, tx: Transaction) -> None:
        """Mark `tx` committed and drop it from the open transactions."""
        assert tx.state in (ACTIVE, COMMITTING, COMMITTED), f"{tx.id.label} is {tx.state.value}"
        tx.state = COMMITTED
        self._coordinator.transactions.pop(tx.id.label, None)

    async def _unlock(self, tx: Transaction, commit_ts: Timestamp) -> Reason | None:
        """Commit what wrote nothing: no outcome is stored, the locks are released."""
        reason = await leases_outlast_commit(self._coordinator, self._leases, tx, commit_ts)
        if reason is not None:
            return self.abort(tx, reason)
        self.node.probe("unlocked-without-check")
        tables = tuple((e.object_id, e.version, e.version) for e in tx.by_id.values())
        self._record_commit(tx, commit_ts, tables)
        self._unlocked[tx.id.label] = None
        self.committed(tx)
        if tx.participants:
            places = list(tx.participants)
            self.node.spawn(self._participant.clean_up_at(places, tx.id, commit_ts))
        return None

    def _end_read_only(self, tx: Transaction, read_ts: Timestamp) -> None:
        assert not tx.participants, f"{tx.id.label} is read-only and has primaries"
        tables = tuple((e.object_id, e.version, e.version) for e in tx.by_id.values())
        self._record_commit(tx, read_ts, tables)
        self.committed(tx)

    def _record_commit(self, tx: Transaction, commit_ts: Timestamp, tables: Tables) -> None:
        node = self.node
        if node.recording:
            node.record(TxCommitted(node.watch.now_us, node.name, tx.id.label, commit_ts, tables))

    # --- aborting ---------------------------------------------------------------------------------

    def abort(self, tx: Transaction, reason: Reason) -> Reason:
        """Abort the transaction, clean up its intents and locks; returns the reason.

        No outcome is stored: a node that finds none may store an abort.
        """
        node, coordinator = self.node, self._coordinator
        assert tx.state in (ACTIVE, COMMITTING), tx.state
        tx.state = ABORTED
        tx.reason = reason
        assert coordinator.transactions[tx.id.label] is tx, f"{tx.id.label} stands for another"
        del coordinator.transactions[tx.id.label]
        coordinator.aborted[tx.id.label] = reason
        if node.recording:
            node.record(TxAborted(node.watch.now_us, node.name, tx.id.label, reason.name))
        node.probe(f"abort-{reason.name.lower().replace('_', '-')}")
        if tx.participants:
            node.spawn(self._participant.clean_up_at(list(tx.participants), tx.id, None))
        return reason

    # --- the time limit ---------------------------------------------------------------------------

    def watch_time(self, tx: Transaction) -> None:
        """Abort a transaction that takes `tx_timeout_ms`. One timer, for the oldest open one."""
        assert tx.state is ACTIVE, f"{tx.id.label} is {tx.state.value}"
        if self._timer is None:
            due_us = tx.began_us + self.node.settings.tx_timeout_ms * US_PER_MS
            delay_us = Micros(max(due_us - self.node.watch.now_us, 0))
            self._timer = self.node.call_later(delay_us, self._time_is_up)

    def _time_is_up(self) -> None:
        """Abort the transactions whose time is over; arm the timer for the next one."""
        self._timer = None
        now, limit_us = self.node.watch.now_us, self.node.settings.tx_timeout_ms * US_PER_MS
        for tx in list(self._coordinator.transactions.values()):
            if tx.state is not ACTIVE:  # it is about to end
                continue
            if now - tx.began_us < limit_us:
                self.watch_time(tx)  # the next in the order in which they began
                return
            self.node.probe("transaction-timed-out")
            self.abort(tx, Reason.TX_TIMED_OUT)

    # --- messages of other nodes ------------------------------------------------------------------

    def _find(self, label: str) -> Transaction | None:
        return self._coordinator.transactions.get(label)

    def _on_replicated(self, _sender: str, report: Replicated) -> None:
        """A write that was answered before is replicated, or never will be."""
        self.node.clock.update(report.sent_ts)
        tx = self._find(report.tx.label)
        if tx is not None:
            tx.replicated(report.op, report.reason)

    async def writes_are_replicated(self, tx: Transaction) -> None:
        """Wait until every write is committed in its group's log; asks again every `resend_ms`."""
        node = self.node
        while tx.unreplicated and tx.reason is None:
            idle: Future[None] = node.future()
            tx.idle = idle
            node.probe("replication-awaited")
            timer = node.call_later(node.settings.resend_us, self._ask_again, tx, idle)
            await idle
            timer.cancel()

    def _ask_again(self, tx: Transaction, idle: Future[None]) -> None:
        """Ask the primaries of writes not reported yet; one whose lease is over will not report."""
        for place in dict.fromkeys(tx.unreplicated.values()):
            ops = tuple(op for op, at in tx.unreplicated.items() if at == place)
            request = AreReplicated(self.node.clock.now(), tx.id, ops, place)
            self.node.send(tx.participants[place].holder, request)
            lease = self._leases.of(place)
            if lease is not None and lease.start_ts != tx.participants[place].start_ts:
                tx.reason = tx.reason or Reason.PRIMARY_EXPIRED
        if tx.idle is idle:
            tx.idle = None
            idle.set(None)  # look again

    def _on_state_request(self, _sender: str, request: TxStateRequest) -> TxState:
        """The state of a transaction; a pending one will commit later than `read_ts`."""
        clock = self.node.clock
        clock.update(request.sent_ts)
        tx, label = self._find(request.tx.label), request.tx.label
        if tx is None or tx.id != request.tx:
            known = label in self._coordinator.aborted or label in self._unlocked
            return TxState(clock.now(), Fate.ABORTED if known else Fate.UNKNOWN)
        read_ts, commit_ts = request.read_ts, tx.commit_ts
        if commit_ts is None:
            if read_ts is not None:
                clock.update(read_ts)
            return TxState(clock.now(), Fate.PENDING)
        later = read_ts is not None and commit_ts > read_ts
        return TxState(clock.now(), Fate.PENDING if later else Fate.DECIDING)
