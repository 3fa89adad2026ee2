"""Executes an operation that passed its checks: reads and decodes rows, or leaves write intents.

Rows are decoded with the version that they were written under and upgraded to the version that the
operation runs under [110.flow.5] [110.fwd.2]. A row written under a newer schema than I aborts the
reader [110.back].
"""

from collections.abc import Callable

from ddlsim.history.event import Cells
from ddlsim.history.events import ReadExecuted, RowRead, WriteExecuted
from ddlsim.model.ops import READS, WHOLE, Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.commands import FullWrite, WriteIntent
from ddlsim.protocol.ids import PartitionId, Tuple, TxId
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager, Submission
from ddlsim.protocol.replica_messages import AreReplicated, Read, Replicated
from ddlsim.protocol.replication.state_machine import BusyType
from ddlsim.protocol.schema.rows import decode, upgrade
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.index_entries import EntryWriter
from ddlsim.units import MAX_TIMESTAMP, Timestamp

ReadRow = tuple[Key, Cells]
Found = tuple[str | None, int, Tuple | None]
"""(writer, schema version, row) of what a read sees under a key; writer None: never written."""
NOTHING: Found = (None, 0, None)


class Executor:
    """Reads and writes of one node's replicas."""

    def __init__(
        self, node: Node, strategy: Strategy, sync: SchemaSync, replicas: ReplicaManager
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.replicas = replicas
        self.entries = EntryWriter(node, strategy, sync.catalog)
        self._under_way: dict[tuple[TxId, str, Timestamp], None] = {}
        """Writes in one phase, each with the start of its lease, which may be over by now."""
        self.on_refused: Callable[[TxId, PartitionId, Timestamp], None] | None = None
        """Called with transaction, partition and lease start where the log refuses a write."""
        node.on(AreReplicated, self._report_again)

    # --- reading ----------------------------------------------------------------------------------

    def read(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated:
        """Read one key, or every key of the partition, decoded and upgraded to the run version."""
        assert local.place == (request.table_id, request.partition), f"{request} at {local.place}"
        tx, machine, pending = request.tx, local.machine, local.pending
        if not machine.intents and not pending and request.action == "get":
            newest = machine.newest(request.key)
            one: Found = NOTHING
            if newest is not None:
                one = (newest.writer, newest.version, newest.row)
            return self.shown(request, tx, op_ts, table, [(request.key, one)])
        seen = self.seen(request, local)
        if request.action == "find":
            self.entries.record_found(request, table, self.node.clock.now(), seen)
        return self.shown(request, tx, op_ts, table, seen)

    def newer_row(self, request: Operate, local: LocalReplica) -> Reason | None:
        """The reason to abort a read because of a row of a newer schema [110.back], or None."""
        for _, (_, version, row) in self.seen(request, local):
            reason = self._judged_row(request.table_id, request.initial, version, row)
            if reason is not None:
                self.node.probe("newer-row-met")
                return reason
        return None

    def seen(self, request: Operate, local: LocalReplica) -> list[tuple[Key, Found]]:
        """What a read sees: the transaction's own intents, and the newest committed versions."""
        tx, machine, pending = request.tx, local.machine, local.pending
        scan = request.action != "get"
        keys = [request.key]
        if request.action == "find":
            keys = self.entries.found(request, local)
        elif scan:
            keys = list(machine.rows)
            keys += [key for key in machine.intents if key not in machine.rows]
            keys += [
                key for key in pending if key not in machine.rows and key not in machine.intents
            ]
        seen: list[tuple[Key, Found]] = []
        for key in keys:
            intent = pending.get(key) if pending else None
            if intent is None or intent.tx != tx:
                intent = machine.intents.get(key)
            if intent is not None and intent.tx == tx:
                seen.append((key, (tx.label, intent.version, intent.row)))
                continue
            newest = machine.newest(key)
            if newest is not None:
                seen.append((key, (newest.writer, newest.version, newest.row)))
            elif not scan:
                seen.append((key, NOTHING))
        return seen

    def _judged_row(
        self, table_id: int, initial: int, version: int, row: Tuple | None
    ) -> Reason | None:
        """The design's judgement of a row of this version under schema I."""
        if row is None and not self.strategy.check_operation_when.deleted_rows:
            return None
        reason = self.strategy.check_tuple(version, initial)
        if reason is None or self._excused(table_id, initial, version, row):
            return None
        return reason

    def shown(
        self,
        request: Operate | Read,
        tx: TxId,
        op_ts: Timestamp,
        table: Table,
        seen: list[tuple[Key, Found]],
    ) -> Operated:
        """Decode the rows that were seen, upgrade them, and record the read."""
        node = self.node
        initial = request.initial if isinstance(request, Operate) else table.version
        reads: list[RowRead] = []
        found: list[ReadRow] = []
        for key, (writer, version, row) in seen:
            reason = self._judged_row(request.table_id, initial, version, row)
            if reason is not None:
                node.probe("newer-row-met")
                return Operated(node.clock.now(), op_ts, reason)
            cells, decoded = None, version
            if row is not None:
                if version != table.version and not self._knows(request.table_id, version):
                    return Operated(node.clock.now(), op_ts, Reason.NEWER_ROW_VERSION)
                decoded = self.strategy.decode_version(version, initial)
                if decoded == table.version:
                    cells = decode(table, row)
                else:
                    source = self._table(request.table_id, decoded)
                    cells = upgrade(decode(source, row), source, table)
                found.append((key, cells))
            if node.recording:
                reads.append(RowRead(key, writer, version, decoded, cells))
        if node.recording:
            node.record(
                ReadExecuted(
                    node.watch.now_us,
                    node.name,
                    tx.label,
                    request.op,
                    request.table_id,
                    request.partition,
                    op_ts,
                    table.version,
                    request.action == "scan",
                    tuple(reads),
                )
            )
        return Operated(node.clock.now(), op_ts, None, tuple(found))

    def _excused(self, table_id: int, initial: int, version: int, row: Tuple | None) -> bool:
        """Whether the design reads this row although its schema is newer than I."""
        excuses = self.strategy.excuses_tuple
        if excuses is None or not self._knows(table_id, version):
            return False
        changes = self.sync.catalog.steps(table_id, initial, MAX_TIMESTAMP)
        steps = tuple(step for step in changes if step.version <= version)
        cells = None if row is None else decode(self._table(table_id, version), row)
        if not excuses(steps, cells):
            return False
        self.node.probe("newer-row-excused")
        return True

    def _knows(self, table_id: int, version: int) -> bool:
        return self.sync.catalog.definition(table_id, version) is not None

    def _table(self, table_id: int, version: int) -> Table:
        found = self.sync.catalog.definition(table_id, version)
        assert isinstance(found, Table), f"table {table_id} has no version {version} here"
        return found

    # --- writing ----------------------------------------------------------------------------------

    def write(
        self,
        coordinator: str,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
    ) -> Operated:
        """Record the write and leave its intent."""
        assert local.place == (request.table_id, request.partition), f"{request} at {local.place}"
        assert request.action not in READS, f"{request} writes nothing"
        self._record(request, local, op_ts, table)
        return self.leave_intent(coordinator, request, local, op_ts, table)

    def leave_intent(
        self,
        coordinator: str,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
    ) -> Operated:
        """Submit the intent to the group; `Replicated` follows where that takes time."""
        node, tx, key = self.node, request.tx, request.key
        command = WriteIntent(
            tx,
            request.op,
            op_ts,
            key,
            table.version,
            request.row,
            request.lease_start,
            request.commit_place,
            0 if local.group.is_alone else self.sync.catalog.at(op_ts).version,
            self.entries.changes(request, local, table),
        )
        submitted = self.replicas.submit(local, command)
        if isinstance(submitted, Submission):
            local.pending[key] = Intent(
                tx, request.op, op_ts, table.version, request.row, request.commit_place
            )
            node.spawn(self._report(coordinator, local, command, submitted))
            return Operated(node.clock.now(), op_ts, None, (), replicated=False)
        return Operated(node.clock.now(), op_ts, submitted.result)

    def repeated_answer(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp
    ) -> Operated | None:
        """The answer to a copy of a write's message: the first answer may have been lost.

        None while a one-phase write is on its way: then the first message will be answered. An
        intent that it has left under an earlier lease does not count: it may commit in one phase
        yet, with an earlier commit_ts than a coordinator would take that was given the intent.
        """
        tx, op = request.tx, request.op
        stored = op in local.machine.ops_of(tx)
        if request.one_phase and (tx, op, request.lease_start) in self._under_way:
            return None
        if request.one_phase and not stored:
            pending = local.pending.get(request.key)
            if pending is None or pending.tx != tx:
                return None
        sent_ts = stored_ts(self.node, local) if stored else self.node.clock.now()
        return Operated(sent_ts, op_ts, None, (), replicated=stored)

    async def _report(
        self,
        coordinator: str,
        local: LocalReplica,
        command: WriteIntent,
        submission: Submission[Reason | None],
    ) -> None:
        """Send `Replicated` once the write is committed in the log, or never will be."""
        reason = await self.replicas.result_of(submission)
        if reason is not None and self.on_refused is not None:
            self.on_refused(command.tx, local.place, command.lease_start)
        pending = local.pending.get(command.key)
        if pending is not None and pending.tx == command.tx and pending.op == command.op:
            del local.pending[command.key]
        node = self.node
        node.send(coordinator, Replicated(node.clock.now(), command.tx, command.op, reason))

    def _report_again(self, sender: str, request: AreReplicated) -> None:
        """Send `Replicated` again for those of these writes that are applied, or never will be."""
        node = self.node
        node.clock.update(request.sent_ts)
        local = self.replicas.at(request.place)
        if local is None:
            return
        waiting = [intent.op for intent in local.pending.values() if intent.tx == request.tx]
        tx, machine = request.tx, local.machine
        stored = machine.ops_of(tx)
        is_aborted = tx in machine.ended and machine.ended[tx] is None
        for op in request.ops:
            if op not in waiting and (op in stored or is_aborted):
                reason = Reason.TX_FINISHED if is_aborted else None
                node.send(sender, Replicated(stored_ts(node, local), tx, op, reason))

    async def write_and_commit(
        self,
        coordinator: str,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
    ) -> Operated:
        """The one-phase path: the leader's stamp is commit_ts.

        A leader whose metadata is not complete for its stamp cannot wait, since stamps rise; the
        rule `leader_is_late` then decides.
        """
        assert request.one_phase, f"{request.tx.label} commits in two phases"
        self._record(request, local, op_ts, table)
        write = OnePhaseWrite(self, coordinator, request, local, op_ts, table)
        key, tx = request.key, request.tx
        mine = Intent(tx, request.op, op_ts, table.version, request.row, local.place)
        local.at_once[key] = mine
        self._under_way[tx, request.op, request.lease_start] = None
        answered = await write.commit() or await self.strategy.leader_is_late(write)
        self._under_way.pop((tx, request.op, request.lease_start), None)
        if local.at_once.get(key) is mine:
            del local.at_once[key]
        return answered

    def _record(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> None:
        node = self.node
        if node.recording:
            cells = None if request.row is None else decode(table, request.row)
            node.record(
                WriteExecuted(
                    node.watch.now_us,
                    node.name,
                    request.tx.label,
                    request.op,
                    request.table_id,
                    request.partition,
                    request.key,
                    op_ts,
                    table.version,
                    cells,
                )
            )
            self.entries.record(request, local, table)


class OnePhaseWrite:
    """A write that is its whole transaction, at its primary."""

    def __init__(
        self,
        executor: Executor,
        coordinator: str,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
    ) -> None:
        self.node = executor.node
        self.op_ts = op_ts
        self.began_us = self.node.watch.now_us
        self._executor = executor
        self._coordinator = coordinator
        self._request = request
        self._hosted = local
        self._table = table
        self._command = FullWrite(
            request.tx,
            request.op,
            op_ts,
            request.key,
            table.version,
            request.row,
            request.lease_start,
            0 if local.group.is_alone else executor.sync.catalog.at(op_ts).version,
            ((request.table_id, request.initial, request.initial),),
            MAX_TIMESTAMP if local.lease is None else local.lease.expiration_ts,
            executor.entries.changes(request, local, table),
        )

    async def commit(self) -> Operated | None:
        """Stamp it and run it through the log; None where the leader lacks the metadata."""
        node = self.node
        result = await self._executor.replicas.run(self._hosted, self._command)
        if isinstance(result, BusyType):
            return None
        if isinstance(result, Reason):
            return Operated(node.clock.now(), self.op_ts, result)
        node.probe("one-phase-commit")
        return Operated(node.clock.now(), self.op_ts, None, (), commit_ts=result)

    def leave_intent(self) -> Operated:
        """Make it a write intent; it has been recorded already.

        While its leader was asked its transaction or lease may have ended, and its locks with them:
        another transaction may have written its row here.
        """
        node, request, local = self.node, self._request, self._hosted
        ended = local.machine.ended
        if request.tx in ended:
            commit_ts = ended[request.tx]
            reason = Reason.TX_FINISHED if commit_ts is None else None
            return Operated(node.clock.now(), self.op_ts, reason, (), commit_ts=commit_ts)
        if not serves(local, request, self.op_ts):
            node.probe("primary-expired")
            return Operated(node.clock.now(), self.op_ts, Reason.PRIMARY_EXPIRED)
        return self._executor.leave_intent(
            self._coordinator, self._request, self._hosted, self.op_ts, self._table
        )


def stored_ts(node: Node, local: LocalReplica) -> Timestamp:
    """A new timestamp above the stamps of all that is stored: for news of a write that is.

    Its leader's answer may be lost, and the log brings a stamp without moving the clock here. The
    commit must be stamped above it: else a replica that is complete up to commit_ts may lack it.
    """
    return node.clock.beyond(local.machine.safe_ts)


def serves(local: LocalReplica, request: Operate, op_ts: Timestamp) -> bool:
    """Whether the replica is primary at op_ts by the lease that an operation names."""
    lease = local.lease
    return (
        lease is not None and lease.start_ts == request.lease_start and op_ts < lease.expiration_ts
    )


def is_overtaken(request: Operate, local: LocalReplica, op_ts: Timestamp, now: Timestamp) -> bool:
    """Whether its transaction has written the key of a write at a later op_ts than the write's own.

    Its client has sent both at once, and this one waited behind its check. Of two intents the one
    with the later op_ts stays, so that a copy that the log brings late replaces nothing: the write
    needs a new op_ts. Where the clock has gone back it would not be a later one.
    """
    if request.action in READS or request.action == "lookup":
        return False
    key = request.key
    known = local.pending.get(key) or local.machine.intents.get(key)
    return known is not None and known.tx == request.tx and op_ts <= known.op_ts <= now


def meets_a_row(request: Operate, local: LocalReplica) -> bool:
    """Whether an operation that has its locks finds a row, or leaves one.

    A delete leaves none: where there is nothing to delete, it meets no row.
    """
    machine, tx = local.machine, request.tx
    if request.action in {"put", "insert", "lookup"}:
        return True
    for known in (local.pending, machine.intents):
        for key, intent in known.items():
            mine = intent.tx == tx and intent.row is not None
            if mine and (request.action in WHOLE or key == request.key):
                return True
    for key in machine.rows if request.action in WHOLE else (request.key,):
        newest = machine.newest(key)
        if newest is not None and newest.row is not None:
            return True
    return False
