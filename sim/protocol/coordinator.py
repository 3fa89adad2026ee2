"""The transaction coordinator: enlist, route, validate, commit or abort.

The node that a client talks to coordinates its transactions. For the first operation on a table it
takes base_ts, resolves the table's version there (tableEnlistSV, the initial schema I) and keeps it
for the transaction [110.flow.2, 110.flow.4]. A client whose row is encoded with another version
gets tableEnlistSV back, encodes anew and tries again; the transaction lives on. The operation then
goes with I to the primary, which judges it at its own timestamp [110.flow.3, 110.flow.5].

At commit the coordinator takes commit_ts, resolves every enlisted table there, and commits only if
I is forward-compatible with it [110.flow.6, 110.valid.1]. What commits strictly before Tu belongs
to the old schema, what commits from Tu on to the new one, on whichever nodes it ran [98.one].

Any failure ends the transaction: its intents are dropped, its locks released, and the client gets
a code that tells whether to retry [110.flow.7].
"""

from collections.abc import Awaitable, Coroutine
from types import CoroutineType
from typing import Any

from sim.history.events import Cells, MetadataRead, TxAborted, TxBegan, TxCommitted
from sim.model.ops import Key
from sim.model.ports import NO_REPLY, Node
from sim.model.reasons import Reason
from sim.model.schema import Table
from sim.protocol.application import AppliedUpdate
from sim.protocol.catalog import Catalog
from sim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientOperation,
    ClientRollback,
    Finish,
    Mismatch,
    Operate,
    Refusal,
    TxId,
)
from sim.protocol.placement import Placement, partition_of
from sim.protocol.replica import Replica
from sim.protocol.rows import has_columns
from sim.protocol.schema_sync import SchemaSync
from sim.protocol.strategy import Strategy
from sim.protocol.transaction import (
    ABORTED,
    ACTIVE,
    COMMITTED,
    COMMITTING,
    Enlistment,
    Transaction,
)
from sim.units import Timestamp

IMPLICIT_ATTEMPTS = 10
"""How often an implicit transaction is tried inside before the client hears of the failure."""
Reply = Answer | Mismatch | Refusal


class Coordinator:
    """The transactions that clients of one node have open."""

    def __init__(
        self,
        node: Node,
        ordinal: int,
        strategy: Strategy,
        sync: SchemaSync,
        replica: Replica,
        *,
        placement: Placement,
        default_partitions: int,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self._ordinal = ordinal
        self._catalog: Catalog = sync.catalog
        self._replica = replica
        self._placement = placement
        self._default_partitions = default_partitions
        self._transactions: dict[str, Transaction] = {}
        self._aborted: dict[str, Reason] = {}
        self._refreshing: dict[str, tuple[Transaction, int]] = {}
        node.on(ClientBegin, self.begin)
        node.on(ClientOperation, self.operate)
        node.on(ClientCommit, self.commit)
        node.on(ClientRollback, self.roll_back)

    # --- what clients ask -------------------------------------------------------------------------

    def begin(self, sender: str, request: ClientBegin) -> Answer:
        """Begin an explicit transaction."""
        del sender
        self._merge(request.session_ts)
        self._begin(request.tx, implicit=False)
        return Answer(self.node.clock.now())

    def operate(self, sender: str, request: ClientOperation) -> Reply | Coroutine[Any, Any, Reply]:
        """One operation, in a transaction of its own or in the client's."""
        del sender
        self._merge(request.session_ts)
        if request.implicit:
            return self._operate_implicitly(request)
        tx = self._begin(request.tx, implicit=False) if request.begins else self._active(request.tx)
        if type(tx) is Reason:
            return self._refusal(tx)
        assert type(tx) is Transaction, tx
        return self._operate(tx, request)

    async def commit(self, sender: str, request: ClientCommit) -> Answer | Refusal:
        """Commit the client's transaction."""
        del sender
        self._merge(request.session_ts)
        tx = self._active(request.tx)
        if type(tx) is Reason:
            return self._refusal(tx)
        assert type(tx) is Transaction, tx
        reason = await self._commit(tx)
        return Answer(self.node.clock.now()) if reason is None else self._refusal(reason)

    def roll_back(self, sender: str, request: ClientRollback) -> Answer | Refusal:
        """Roll the client's transaction back."""
        del sender
        self._merge(request.session_ts)
        refreshing = self._refreshing.pop(request.tx, None)
        tx = self._active(request.tx if refreshing is None else refreshing[0].id.label)
        if type(tx) is Reason:
            return self._refusal(tx)
        assert type(tx) is Transaction, tx
        self._abort(tx, Reason.ROLLED_BACK)
        return Answer(self.node.clock.now())

    def _active(self, label: str) -> Transaction | Reason:
        """The client's open transaction, or why it has none."""
        tx = self._transactions.get(label)
        if tx is not None and tx.state is ACTIVE:
            return tx
        return self._aborted.get(label, Reason.TX_FINISHED)

    def _partitions(self, table: Table) -> int:
        """How many partitions a table has; a zone's count never changes [110.zone]."""
        zone = self._catalog.latest().zone(table.zone)
        return self._default_partitions if zone is None else zone.partitions

    def _merge(self, session_ts: Timestamp | None) -> None:
        if session_ts is not None:
            self.node.clock.update(session_ts)

    def _refusal(self, reason: Reason) -> Refusal:
        return Refusal(self.node.clock.now(), reason)

    def _begin(self, label: str, *, implicit: bool) -> Transaction:
        node = self.node
        assert label not in self._transactions, f"{label} began twice"
        begin_ts = node.clock.now()
        tx = Transaction(TxId(begin_ts, self._ordinal, label))
        self._transactions[label] = tx
        if node.recording:
            node.record(TxBegan(node.elapsed_us(), label, node.name, begin_ts, implicit))
        return tx

    async def _operate_implicitly(self, request: ClientOperation) -> Reply:
        """Begin, operate, commit; what is retriable is retried here and not by the client.

        A client that has to encode anew finds its transaction where it was [110.flow.2].
        """
        refreshed, first = self._refreshing.pop(request.tx, (None, 0))
        reply: Reply | None = None
        for attempt in range(first, IMPLICIT_ATTEMPTS):
            label = f"{request.tx}r{attempt}" if attempt else request.tx
            tx = refreshed or self._begin(label, implicit=True)
            refreshed = None
            reply = await self._operate(tx, request)
            if type(reply) is Mismatch:
                self._refreshing[request.tx] = (tx, attempt)
                return reply
            if type(reply) is Answer:
                reason = await self._commit(tx)
                if reason is None:
                    return Answer(self.node.clock.now(), reply.rows, reply.columns, label)
                reply = self._refusal(reason)
            assert isinstance(reply, Refusal), reply
            if not reply.reason.retriable:
                return reply
            self.node.probe("implicit-retry")
        assert reply is not None, f"{request.tx} was not tried at all"
        return reply

    # --- one operation ----------------------------------------------------------------------------

    async def _operate(self, tx: Transaction, request: ClientOperation) -> Reply:
        """Enlist the table, run the operation under its version; a refusal ends the transaction."""
        tx.outstanding += 1
        enlistment = self.strategy.enlist(self, tx, request.table, request.op)
        if type(enlistment) is CoroutineType:
            enlistment = await enlistment
        reply = self._judge_request(tx, request, enlistment)
        if reply is None:
            if request.action == "scan":
                reply = await self._scan(tx, request, enlistment)
            else:
                partition = partition_of(request.key, self._partitions(enlistment.table))
                answer = await self._ask_primary(tx, request, enlistment, partition)
                reply = self._answered(tx, request, enlistment, answer)
        tx.operation_ended()
        if type(reply) is Refusal:
            if tx.state is ACTIVE:
                self._abort(tx, reply.reason)
            elif tx.state is COMMITTING and tx.reason is None:
                tx.reason = reply.reason  # the commit waits for this operation, and finds it
        return reply

    def _judge_request(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment | Reason
    ) -> Reply | None:
        """None to go on; else a refusal, or the schema that the client must encode with."""
        if type(enlistment) is Reason:
            return self._refusal(enlistment)
        assert type(enlistment) is Enlistment, enlistment
        table = enlistment.table
        current = self.strategy.check_client_version(request.client_version, table.version)
        if not current or request.table_id != table.id:
            self.node.probe("client-version-refreshed")
            return Mismatch(self.node.clock.now(), table)
        if tx.state is ABORTED or tx.state is COMMITTED:
            return self._refusal(tx.reason or Reason.TX_FINISHED)
        if request.columns and not has_columns(table, request.columns):
            return self._refusal(Reason.COLUMN_NOT_FOUND)
        return None

    def _answered(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment, answer: Any
    ) -> Answer | Refusal:
        """What the primary of a key says, as the client is told it."""
        if answer is NO_REPLY:
            return self._refusal(Reason.NODE_UNREACHABLE)
        clock = self.node.clock
        clock.update(answer.sent_ts)
        if answer.reason is not None:
            return self._refusal(answer.reason)
        columns = None
        if request.metadata:
            columns = self._shown_columns(tx, request.op, enlistment.table)
        return Answer(clock.now(), answer.rows, columns, tx.id.label)

    async def _scan(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment
    ) -> Reply:
        """Send the operation to the primaries of all partitions at once, gather the answers."""
        node, table = self.node, enlistment.table
        pending = [
            self._ask_primary(tx, request, enlistment, partition)
            for partition in range(self._partitions(table))
        ]
        rows: list[tuple[Key, Cells]] = []
        reason: Reason | None = None
        for answer in pending:
            reply: Any = await answer
            if reply is NO_REPLY:
                reason = Reason.NODE_UNREACHABLE
                continue
            node.clock.update(reply.sent_ts)
            reason = reason or reply.reason
            rows += reply.rows
        if reason is not None:
            return self._refusal(reason)
        columns = self._shown_columns(tx, request.op, table) if request.metadata else None
        return Answer(node.clock.now(), tuple(rows), columns, tx.id.label)

    def _ask_primary(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment, partition: int
    ) -> Awaitable[Any]:
        node, table = self.node, enlistment.table
        primary = self._placement.primary(table.id, partition)
        tx.touched(primary)
        message = Operate(
            node.clock.now(),
            tx.id,
            request.op,
            request.action,
            table.id,
            partition,
            enlistment.version if not enlistment.views else table.version,
            request.key,
            request.row,
            enlistment.views,
        )
        timeout_us = node.settings.operation_timeout_us
        return node.request(primary, message, timeout_us, request.label + partition)

    def _shown_columns(self, tx: Transaction, op: str, table: Table) -> tuple[str, ...]:
        """The columns that `SELECT *` shows: those of the enlisted version."""
        node = self.node
        tx.shown[table.id] = None
        columns = tuple(column.name for column in table.columns)
        if node.recording:
            node.record(
                MetadataRead(
                    node.elapsed_us(), node.name, tx.id.label, op, table.id, table.version, columns
                )
            )
        return columns

    # --- the end of a transaction -----------------------------------------------------------------

    async def _commit(self, tx: Transaction) -> Reason | None:
        """Fix commit_ts, validate, store the outcome; None, or the reason why it is aborted."""
        node, strategy = self.node, self.strategy
        if tx.state is not ACTIVE:  # rolled back since its operation
            return tx.reason or Reason.TX_FINISHED
        tx.state = COMMITTING
        await strategy.before_commit_ts(self, tx)
        waiting = node.pause_at("before-commit-ts", tx.id.label)
        if waiting is not None:
            await waiting
        if tx.reason is not None:
            return self._abort(tx, tx.reason)
        commit_ts = node.clock.now()
        if tx.bound_ts is not None and commit_ts >= tx.bound_ts:
            return self._abort(tx, Reason.ROLLBACK_ONLY)
        reason, tables = await strategy.commit_schema(self, tx, commit_ts)
        if reason is not None:
            return self._abort(tx, reason)
        self._probe_border(tables)
        waiting = node.pause_at("after-commit-check", tx.id.label)
        if waiting is not None:
            await waiting
        tx.state = COMMITTED  # from here on nobody else may join it
        await self._finish(tx, commit_ts, tables)
        del self._transactions[tx.id.label]
        return None

    def _probe_border(self, tables: tuple[tuple[int, int, int], ...]) -> None:
        for _, initial, current in tables:
            if initial != current:
                self.node.probe("transborder-commit")
                return

    async def _finish(
        self, tx: Transaction, commit_ts: Timestamp, tables: tuple[tuple[int, int, int], ...]
    ) -> None:
        """Tell the commit partition until it answers; the outcome and commit_ts never change."""
        node = self.node
        if tx.commit_partition is None:
            if node.recording:
                node.record(
                    TxCommitted(node.elapsed_us(), node.name, tx.id.label, commit_ts, tables)
                )
            return
        participants = tuple(tx.participants)
        while True:
            request = Finish(node.clock.now(), tx.id, commit_ts, participants, tables)
            reply: Any = await node.request(tx.commit_partition, request, node.settings.resend_us)
            if reply is not NO_REPLY:
                node.clock.update(reply.sent_ts)
                return
            node.probe("finish-resent")

    def _abort(self, tx: Transaction, reason: Reason) -> Reason:
        """End the transaction without a trace in the data; gives the reason back."""
        node = self.node
        assert tx.state in {ACTIVE, COMMITTING}, tx.state
        tx.state = ABORTED
        tx.reason = reason
        del self._transactions[tx.id.label]
        self._aborted[tx.id.label] = reason
        if node.recording:
            node.record(TxAborted(node.elapsed_us(), node.name, tx.id.label, reason.name))
        node.probe(f"abort-{reason.name.lower().replace('_', '-')}")
        if tx.participants:
            node.spawn(self._replica.clean_up_at(list(tx.participants), tx.id, None))
        return reason

    # --- rollback-only marks [110.valid.3] --------------------------------------------------------

    def watch(self, applied: AppliedUpdate) -> None:
        """A schema update became known on this node."""
        self.node.spawn(self.strategy.on_activated(self, applied))

    def mark_incompatible(self, applied: AppliedUpdate) -> list[Transaction]:
        """Bound the commit_ts of open transactions for which the update is incompatible."""
        marked: list[Transaction] = []
        for tx in self._transactions.values():
            for change in applied.update.objects:
                enlisted = tx.by_id.get(change.object_id)
                if enlisted is None or enlisted.version >= change.version:
                    continue
                if self.strategy.check_commit((change,)) is not None:
                    bound = applied.activation_ts
                    tx.bound_ts = bound if tx.bound_ts is None else min(bound, tx.bound_ts)
                    marked.append(tx)
        return marked

    def roll_back_marked(self, marked: list[Transaction]) -> None:
        """Roll back what is still active of the marked transactions: it can only fail."""
        for tx in marked:
            if tx.state is ACTIVE:
                self.node.probe("marked-rollback")
                self._abort(tx, Reason.ROLLBACK_ONLY)
