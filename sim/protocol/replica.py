"""The primary replica: schema checks, locks, reads and writes of the partitions it serves.

An operation comes with the transaction's initial schema version I. The primary takes *its own*
timestamp op_ts, resolves the schema at op_ts, and lets the operation run only if that is I: no
reads or writes after a DDL [110.valid.2] [110.border]. It does so on arrival and, since a lock may
take long to come, again once the locks are granted, with a timestamp taken then [110.x.1]. A table
that does not exist at op_ts fails the operation now and not at commit [110.table.exists].

That coordinator and primary take different timestamps means that an activation can lie between
them: one needless, retriable abort [110.quirk]. Judging at the coordinator's timestamp instead
would avoid it and break serializability.

A row written under a newer schema than I aborts the reader [110.back]. Rows are decoded with the
version they were written under and upgraded to I [110.flow.5] [110.fwd.2].

A lock that is refused (wait-die) is tried again a few times before the operation gives up.
"""

from collections.abc import Iterator
from typing import Any

from sim.history.events import (
    Cells,
    LockWaited,
    ReadExecuted,
    RowRead,
    TxCommitted,
    WriteExecuted,
)
from sim.model.ops import Key
from sim.model.ports import NO_REPLY, Future, Node
from sim.model.reasons import Reason
from sim.model.schema import Table
from sim.protocol.locks import IX, LockTable, Resource, S, X
from sim.protocol.messages import (
    Cleaned,
    Cleanup,
    Finish,
    Finished,
    Operate,
    Operated,
    TxId,
)
from sim.protocol.rows import decode, upgrade
from sim.protocol.schema_sync import SchemaSync
from sim.protocol.storage import Partition
from sim.protocol.strategy import Strategy
from sim.units import US_PER_MS, Micros, Timestamp

LOCK_RETRY_US = Micros(5 * US_PER_MS)
"""How long a refused lock request rests before it is tried again."""

ReadRow = tuple[Key, Cells]


def locks_of(request: Operate) -> tuple[tuple[Resource, int], ...]:
    """What an operation locks, in order: the row, and the partition where that says more."""
    row: Resource = (request.table_id, request.partition, request.key)
    if request.action == "get":
        return ((row, S),)
    partition: Resource = (request.table_id, request.partition, None)
    if request.action == "scan":
        return ((partition, S),)
    return ((partition, IX), (row, X))


class Replica:
    """The partitions that one node is primary of."""

    def __init__(self, node: Node, strategy: Strategy, sync: SchemaSync, locks: LockTable) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.locks = locks
        self.partitions: dict[tuple[int, int], Partition] = {}
        self._written: dict[TxId, dict[tuple[int, int, Key], tuple[str, ...]]] = {}
        self._ended: dict[TxId, Timestamp | None] = {}
        self._outcomes: dict[TxId, Timestamp] = {}
        node.on(Operate, self.operate)
        node.on(Finish, self.finish)
        node.on(Cleanup, self.clean_up)

    @property
    def has_open_work(self) -> bool:
        """Whether some transaction still has intents or locks here."""
        return bool(self._written) or self.locks.any_held

    def left_open(self) -> Iterator[tuple[str, str]]:
        """Every transaction that still has something here, and what."""
        for tx in self._written:
            yield tx.label, "intents"
        for tx in self.locks.involved():
            yield tx.label, "locks"

    # --- one operation ----------------------------------------------------------------------------

    async def operate(self, sender: str, request: Operate) -> Operated:
        """Check, lock, check again, execute."""
        del sender
        clock, when = self.node.clock, self.strategy.check_operation_when
        clock.update(request.sent_ts)
        op_ts = clock.now()
        current = request.initial
        if when.on_arrival:
            current, reason = await self._checked(request, op_ts, "arrival")
            if reason is not None:
                return Operated(clock.now(), op_ts, reason)
        waiting = self.node.pause_at("after-arrival-check", request.tx.label)
        if waiting is not None:
            await waiting
        reason = await self._locked(request)
        if reason is not None:
            return Operated(clock.now(), op_ts, reason)
        if when.after_locks:
            op_ts = clock.now()
            current, reason = await self._checked(request, op_ts, "after-locks")
            if reason is not None:
                return Operated(clock.now(), op_ts, reason)
        if request.tx in self._ended:
            return Operated(clock.now(), op_ts, Reason.TX_FINISHED)
        initial = self.strategy.primary_initial(request.initial, current)
        run_version = self.strategy.run_version(initial, current)
        return self._execute(request, op_ts, run_version)

    async def _checked(
        self, request: Operate, op_ts: Timestamp, purpose: str
    ) -> tuple[int, Reason | None]:
        """The table's version at op_ts, and why the operation must not run, if so [110.valid.2]."""
        strategy, sync = self.strategy, self.sync
        judged: tuple[tuple[int, int], ...] = ((request.table_id, request.initial),)
        if request.views:
            judged = (*request.views, *judged)
        current = 0
        for object_id, initial in judged:
            found = await sync.object_at(op_ts, request.tx.label, request.op, purpose, object_id)
            current = 0 if found is None else found.version
            if current == initial:
                continue
            reason = strategy.check_exists(current)
            if reason is None and current != strategy.primary_initial(initial, current):
                steps = sync.catalog.steps(object_id, initial, op_ts)
                reason = strategy.check_operation(initial, current, steps)
            if reason is not None:
                return current, reason
        return current, None

    # --- locks ------------------------------------------------------------------------------------

    async def _locked(self, request: Operate) -> Reason | None:
        """Get the operation's locks, or the reason why not."""
        tx = request.tx
        for resource, mode in locks_of(request):
            if tx in self._ended:
                return Reason.TX_FINISHED
            answer = self.locks.acquire(tx, resource, mode)
            if answer is not True:
                reason = await self._wait_for(request, resource, mode, answer=answer)
                if reason is not None:
                    return reason
        return None

    async def _wait_for(
        self, request: Operate, resource: Resource, mode: int, *, answer: bool | Future[bool]
    ) -> Reason | None:
        """Wait for a lock that was not free; where it was refused, rest and ask again."""
        tx, node = request.tx, self.node
        retries = node.settings.lock_retries
        began = node.elapsed_us()
        while True:
            if not isinstance(answer, bool):
                node.probe("lock-wait")
                answer = await answer
                if not answer:
                    return Reason.TX_FINISHED
            granted = bool(answer)
            if granted or not retries:
                break
            retries -= 1
            node.probe("lock-retry")
            await node.sleep(LOCK_RETRY_US)
            if tx in self._ended:
                return Reason.TX_FINISHED
            answer = self.locks.acquire(tx, resource, mode)
        waited = node.elapsed_us() - began
        if waited and node.recording:
            key = resource[2]
            node.record(
                LockWaited(
                    began + waited,
                    node.name,
                    tx.label,
                    request.op,
                    resource[0],
                    key,
                    waited,
                    granted,
                )
            )
        if granted:
            return None
        node.probe("wait-die-abort")
        return Reason.LOCK_CONFLICT

    # --- reads and writes -------------------------------------------------------------------------

    def partition(self, table_id: int, partition: int) -> Partition:
        """The rows of a partition, empty at first."""
        place = (table_id, partition)
        found = self.partitions.get(place)
        if found is None:
            found = self.partitions[place] = Partition()
        return found

    def _execute(self, request: Operate, op_ts: Timestamp, run_version: int) -> Operated:
        table = self.sync.catalog.definition(request.table_id, run_version)
        if table is None:
            # only a node that did not wait for its metadata can be asked for what it does not know
            return Operated(self.node.clock.now(), op_ts, Reason.SCHEMA_CHANGED)
        assert isinstance(table, Table), f"{request.table_id} is no table but {table}"
        if request.action in {"get", "scan"}:
            return self._read(request, op_ts, table)
        self._write(request, op_ts, table)
        return Operated(self.node.clock.now(), op_ts, None)

    def _read(self, request: Operate, op_ts: Timestamp, table: Table) -> Operated:
        """Read one key, or every key of the partition, decoded and upgraded to the run version."""
        node, tx = self.node, request.tx
        scan = request.action == "scan"
        place = (request.table_id, request.partition, None if scan else request.key)
        assert self.locks.holds(tx, place), f"{tx.label} reads without a lock"
        rows = self.partition(request.table_id, request.partition)
        reads: list[RowRead] = []
        found: list[ReadRow] = []
        for key in rows.keys(tx) if scan else (request.key,):
            writer, version, row = rows.read(tx, key)
            reason = self.strategy.check_tuple(version, request.initial)
            if reason is not None:
                node.probe("newer-row-met")
                return Operated(node.clock.now(), op_ts, reason)
            cells, decoded = None, version
            if row is not None:
                if self.sync.catalog.definition(request.table_id, version) is None:
                    return Operated(node.clock.now(), op_ts, Reason.NEWER_ROW_VERSION)
                decoded = self.strategy.decode_version(version, request.initial)
                source = self._table(request.table_id, decoded)
                cells = upgrade(decode(source, row), source, table)
                found.append((key, cells))
            if node.recording:
                reads.append(RowRead(key, writer, version, decoded, cells))
        if node.recording:
            node.record(
                ReadExecuted(
                    node.elapsed_us(),
                    node.name,
                    tx.label,
                    request.op,
                    request.table_id,
                    request.partition,
                    op_ts,
                    table.version,
                    scan,
                    tuple(reads),
                )
            )
        return Operated(node.clock.now(), op_ts, None, tuple(found))

    def _table(self, table_id: int, version: int) -> Table:
        found = self.sync.catalog.definition(table_id, version)
        assert isinstance(found, Table), f"table {table_id} has no version {version} here"
        return found

    def _write(self, request: Operate, op_ts: Timestamp, table: Table) -> None:
        node, tx, key = self.node, request.tx, request.key
        place = (request.table_id, request.partition, key)
        assert self.locks.holds(tx, place) & X, f"{tx.label} writes {key!r} without a lock"
        written = self._written.get(tx)
        if written is None:
            written = self._written[tx] = {}
        earlier = written.get(place, ())
        if request.op in earlier:  # a copy of the message: it must not undo a later write
            return
        written[place] = (*earlier, request.op)
        rows = self.partition(request.table_id, request.partition)
        rows.write(tx, key, table.version, request.row)
        if node.recording:
            cells = None if request.row is None else decode(table, request.row)
            node.record(
                WriteExecuted(
                    node.elapsed_us(),
                    node.name,
                    tx.label,
                    request.op,
                    request.table_id,
                    request.partition,
                    key,
                    op_ts,
                    table.version,
                    cells,
                )
            )

    # --- the end of a transaction -----------------------------------------------------------------

    def finish(self, sender: str, request: Finish) -> Finished:
        """Store the outcome, the commit point; clean up here and, in the background, elsewhere.

        A finish that is sent again finds the outcome stored and changes nothing.
        """
        del sender
        node, tx = self.node, request.tx
        node.clock.update(request.sent_ts)
        if tx not in self._outcomes:
            self._outcomes[tx] = request.commit_ts
            if node.recording:
                node.record(
                    TxCommitted(
                        node.elapsed_us(), node.name, tx.label, request.commit_ts, request.tables
                    )
                )
            self.end(tx, request.commit_ts)
            others = list(request.participants)
            if node.name in others:
                others.remove(node.name)
            if others:
                node.spawn(self.clean_up_at(others, tx, request.commit_ts))
        assert self._outcomes[tx] == request.commit_ts, f"{tx.label} has two commit timestamps"
        return Finished(node.clock.now())

    async def clean_up_at(
        self, participants: list[str], tx: TxId, commit_ts: Timestamp | None
    ) -> None:
        """Tell the participants the outcome until each has confirmed it."""
        node = self.node
        for name in participants:
            while True:
                request = Cleanup(node.clock.now(), tx, commit_ts)
                reply: Any = await node.request(name, request, node.settings.resend_us)
                if reply is not NO_REPLY:
                    node.clock.update(reply.sent_ts)
                    break
                node.probe("cleanup-resent")

    def clean_up(self, sender: str, request: Cleanup) -> Cleaned:
        """Another node's word that a transaction has ended."""
        del sender
        self.node.clock.update(request.sent_ts)
        self.end(request.tx, request.commit_ts)
        return Cleaned(self.node.clock.now())

    def end(self, tx: TxId, commit_ts: Timestamp | None) -> None:
        """Turn intents into committed versions, or drop them; then release the locks."""
        if tx in self._ended:
            assert self._ended[tx] == commit_ts, f"{tx.label} ends in two ways"
            return
        self._ended[tx] = commit_ts
        for table_id, partition, key in self._written.pop(tx, ()):
            self.partitions[table_id, partition].finish(tx, key, commit_ts)
        self.locks.release_all(tx)
