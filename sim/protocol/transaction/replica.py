"""The primary replica: tokens, schema checks, locks, reads and writes of what it is primary of.

An operation comes with the transaction's initial schema version I. The primary takes *its own*
timestamp op_ts, resolves the schema at op_ts, and lets the operation run only if that is I: no
reads or writes after a DDL [110.valid.2] [110.border]. It does so on arrival and, since a lock may
take long to come, again once the locks are granted, with a timestamp taken then [110.x.1]. A table
that does not exist at op_ts fails the operation now and not at commit [110.table.exists].

That coordinator and primary take different timestamps means that an activation can lie between
them: one needless, retriable abort [110.quirk]. Judging at the coordinator's timestamp instead
would avoid it and break serializability.

An operation also comes with the start of the lease under which its transaction first came here.
The locks that the transaction holds were granted under that lease and are lost with it, so the
primary serves an operation only while that very lease is its own. A coordinator may have learned of
the lease first: then the operation waits until the log has brought it here, too.

    arrive -> lease .. -> schema at op_ts -> locks .. -> schema at a new op_ts -> ended? lease? ->
    others' intents .. -> values in unique indexes .. -> execute
    (.. may wait; where it did so behind the locks, the checks are made again from there)

* `LocalReplica.lease`: `ReplicaManager.see_lease`. It is compared on arrival and again at the end:
  locks that were waited for may have been lost with the lease meanwhile.
* `locks`: `LockWaits` takes them, `Participant.release` and the end of a lease drop them. Without
  the second check a change could activate during the wait, and the operation run after a DDL.
* `LocalReplica.pending`: `Executor`, intents that are not replicated yet. A transaction reads its
  own.
* an intent without a lock was left by an earlier primary: before anything is written over it or
  read beside it, the outcome of its transaction is looked up.
* op_ts is taken at the check, not at arrival: what was judged and what is recorded are one. It is
  taken anew where a write of the same transaction on the same key has a later one by then.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

from msgspec.structs import replace

from ddlsim.model.ops import READS, WHOLE
from ddlsim.model.ports import Future, Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import SchemaObject, Table
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError, SchemaSync
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager
from ddlsim.protocol.replica_messages import LeaseAccepted, LeaseFenced, LeaseGrant
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.conditional import execute, repeated_answer
from ddlsim.protocol.transaction.execution import Executor, is_overtaken, meets_a_row, serves
from ddlsim.protocol.transaction.index_entries import is_gone
from ddlsim.protocol.transaction.lock_waits import LockWaits, locks_of
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.row_constraints import RowConstraints
from ddlsim.units import Timestamp

Checked = tuple[int, Reason | None]
"""The version at op_ts, and why the operation must not run, if so."""


class Replica:
    """What one node does for the partitions that it holds."""

    participant_class: ClassVar[type[Participant]] = Participant
    """The class that commits, aborts and recovers transactions there."""
    executor_class: ClassVar[type[Executor]] = Executor
    """The class that reads and writes rows there."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        sync: SchemaSync,
        locks: LockTable,
        replicas: ReplicaManager,
        leases: Leases,
        nodes: tuple[str, ...],
        *,
        metastorage_leader: Callable[[], str | None],
        constraints_class: type[RowConstraints] = RowConstraints,
        waits_class: type[LockWaits] = LockWaits,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.locks = locks
        self.replicas = replicas
        self.leases = leases
        self._metastorage_leader = metastorage_leader
        self.executor = self.executor_class(node, strategy, sync, replicas)
        self.participant = self.participant_class(node, strategy, locks, replicas, leases, nodes)
        self.executor.on_refused = self.participant.record_loss
        self.constraints = constraints_class(node, self.executor, locks)
        probe = self.participant.probe_coordinator
        self.waits = waits_class(node, locks, self._has_ended, probe)
        self._awaiting_lease: dict[PartitionId, list[Future[None]]] = {}
        leases.watch(self._lease_changed)
        node.on(Operate, self.operate)
        node.on(LeaseGrant, self._on_grant)

    @property
    def partitions(self) -> dict[PartitionId, Partition]:
        """The replicas that this node holds."""
        return {place: local.machine for place, local in self.replicas.members.items()}

    @property
    def has_open_work(self) -> bool:
        """Whether a transaction still has locks here, or intents where this node is primary."""
        return self.locks.any_held or any(
            local.machine.open_transactions or local.pending
            for place, local in self.replicas.members.items()
            if self._leads(place)
        )

    def left_open(self) -> Iterator[tuple[str, str]]:
        """(transaction, `intents` or `locks`) of every transaction that left some here."""
        for place, local in self.replicas.members.items():
            if self._leads(place):
                for tx in local.machine.open_transactions:
                    yield tx.label, "intents"
        for tx in self.locks.involved():
            yield tx.label, "locks"

    def is_primary(self, place: PartitionId) -> bool:
        """Whether this node is primary of a partition, by its own clock."""
        return self.leases.held(place)

    def _leads(self, place: PartitionId) -> bool:
        lease = self.leases.of(place)
        return lease is not None and lease.holder == self.node.name

    def group_of(self, place: PartitionId) -> Group | None:
        """This node's member of a partition's group."""
        local = self.replicas.at(place)
        return None if local is None else local.group

    # --- leases -----------------------------------------------------------------------------------

    async def _on_grant(self, _sender: str, request: LeaseGrant) -> LeaseAccepted:
        """Become ready to be primary: catch up and fence earlier primaries."""
        node = self.node
        node.clock.update(request.sent_ts)
        accepted = await self.replicas.become_primary(request.place, request.start_ts)
        return LeaseAccepted(node.clock.now(), accepted)

    def _lease_changed(self, before: Lease | None, lease: Lease) -> None:
        """Drop the locks of a lease that is over; under a new one resume what was left."""
        assert before is None or before.place == lease.place, f"{before} is not of {lease.place}"
        me, place = self.node.name, lease.place
        local = self.replicas.members.get(place)
        if local is not None:
            self.replicas.see_lease(local, lease)
        if before is not None and before.start_ts != lease.start_ts:
            if before.holder != lease.holder and lease.holder == me:
                self.node.probe("failover")
            if before.holder == me:
                self.locks.release_place(*place)
                if local is not None:
                    local.pending.clear()
                    local.at_once.clear()
            if lease.holder == me:
                self.participant.resume(place)
        if lease.holder == me and local is not None:
            self._report_fenced(local, lease)
        for arrived in self._awaiting_lease.pop(place, ()):
            arrived.set(None)
        self.participant.probe_idle()

    async def _lease_arrives(self, place: PartitionId, start_ts: Timestamp) -> None:
        """Wait until the lease that an operation names, or a later one, is known here."""
        while not self.leases.knows(place, start_ts):
            self.node.probe("lease-awaited")
            arrived: Future[None] = self.node.future()
            self._awaiting_lease.setdefault(place, []).append(arrived)
            await arrived

    def _report_fenced(self, local: LocalReplica, lease: Lease) -> None:
        """Report a lease under which its group takes no write, each time that it is prolonged."""
        leader = self._metastorage_leader()
        if local.machine.lease_start > lease.start_ts and leader is not None:
            self.node.probe("lease-fenced")
            report = LeaseFenced(self.node.clock.now(), lease.place, lease.start_ts)
            self.node.send(leader, report)

    # --- one operation ----------------------------------------------------------------------------

    def _has_ended(self, request: Operate) -> bool:
        local = self.replicas.members[request.table_id, request.partition]
        return request.tx in local.machine.ended

    async def operate(self, sender: str, request: Operate) -> Operated | None:
        """Check, lock, check again, execute; None: a one-phase write whose first message will be.

        All messages of a one-phase write end alike.
        """
        answered = await self._operated(sender, request)
        if request.one_phase and answered is not None:
            return self._ended_alike(request, answered)
        if answered is not None and answered.reason is Reason.SCHEMA_CHANGED:
            ran = self.participant.has_run(request.tx, request.op, request.lease_start)
            return replace(answered, ran=ran)
        return answered

    def _ended_alike(self, request: Operate, answered: Operated) -> Operated | None:
        """The answer to one message of a one-phase write, which agrees with those to the others.

        A copy is not refused for what has happened since the first message was executed. The first
        refusal counts for all: its coordinator may have aborted the transaction for it.
        """
        tx, local = request.tx, self.replicas.members.get((request.table_id, request.partition))
        assert answered.commit_ts is None or answered.reason is None, answered
        if answered.commit_ts is not None:
            self.participant.release(tx)
        if answered.reason is None or answered.ended or local is None:
            return answered
        if tx in local.machine.ended:
            commit_ts = local.machine.ended[tx]
            if commit_ts is None:
                return answered
            self.node.clock.update(commit_ts)
            sent_ts = max(answered.sent_ts, commit_ts)
            return Operated(sent_ts, answered.op_ts, None, (), commit_ts=commit_ts)
        if self.participant.executes(tx, request.op, request.lease_start):
            return self.executor.repeated_answer(request, local, answered.op_ts)
        self._record_refusal(request, answered.reason)
        return answered

    def _record_refusal(self, request: Operate, reason: Reason) -> None:
        place = (request.table_id, request.partition)
        self.participant.record_refusal(request.tx, place, request.op, request.lease_start, reason)

    async def _operated(self, sender: str, request: Operate) -> Operated | None:
        clock, when, tx = self.node.clock, self.strategy.check_operation_when, request.tx
        place = (request.table_id, request.partition)
        clock.update(request.sent_ts)
        await self._lease_arrives(place, request.lease_start)
        op_ts = clock.now()
        local = self.replicas.members.get(place) or self.replicas.at(place)
        if local is None or not serves(local, request, op_ts):
            if request.one_phase and request.sent_ts <= self.leases.born_ts:
                return None  # an earlier life may have executed a first copy; it is sent again
            self.node.probe("primary-expired")
            return Operated(clock.now(), op_ts, Reason.PRIMARY_EXPIRED)
        answered = self._answer_to_a_copy(request, local, op_ts) if request.one_phase else None
        if answered is not None:
            return answered
        current = request.initial
        if when.on_arrival:
            current, reason = await self._checked(request, op_ts, "arrival")
            if reason is not None:
                return Operated(clock.now(), op_ts, reason)
        waiting = self.node.pause_at("after-arrival-check", tx.label)
        if waiting is not None:
            await waiting
        if tx in local.machine.ended:
            return Operated(clock.now(), op_ts, Reason.TX_FINISHED)
        self.participant.record_activity(tx, request.commit_place, place)
        reason = await self.waits.locked(request, locks_of(request))
        if reason is None:
            answered = await self._with_locks(sender, request, local, current, op_ts)
        else:
            answered = Operated(clock.now(), op_ts, reason)
        if not self.participant.is_active(tx):  # it has ended meanwhile: its locks were released
            self.locks.release_all(tx)
        return answered

    def _answer_to_a_copy(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp
    ) -> Operated | None:
        """The answer to a copy of a one-phase write whose end is stored here; None if none is.

        It waits for nothing: a copy that waited for locks as long as the first message might come
        too late each time, while what the write has locked holds up those that it waits for.
        """
        tx, clock = request.tx, self.node.clock
        commit_ts = local.machine.ended.get(tx)
        if commit_ts is not None:  # by a leader whose clock, and its answer, are not here yet
            sent_ts = clock.beyond(commit_ts)
            return Operated(sent_ts, op_ts, None, (), commit_ts=commit_ts)
        refusal = self.participant.refusal_of(tx, request.op, request.lease_start)
        return None if refusal is None else Operated(clock.now(), op_ts, refusal, ended=True)

    async def _with_locks(
        self, sender: str, request: Operate, local: LocalReplica, current: int, op_ts: Timestamp
    ) -> Operated | None:
        """Check again, resolve intents of other transactions, then execute.

        `current` is the table's version at `op_ts`; both are newer after each check.
        """
        clock, when = self.node.clock, self.strategy.check_operation_when
        while True:
            reason: Reason | None = None
            if when.rows_first and request.action in READS:
                reason = self.executor.newer_row(request, local)
            checks = when.after_locks and (not when.only_with_rows or meets_a_row(request, local))
            if reason is None and checks:
                op_ts = clock.now()
                current, reason = await self._checked(request, op_ts, "after-locks")
            reason = reason or self._over(request, local)
            if reason is not None:
                return Operated(clock.now(), op_ts, reason)
            ready = await self._unblocked(request, local, current)
            if isinstance(ready, Table) and not self._is_overtaken(request, local, op_ts):
                return await self._execute(sender, request, local, ready, op_ts)
            op_ts = clock.now()
            if isinstance(ready, Reason):
                return Operated(clock.now(), op_ts, ready)

    def _is_overtaken(self, request: Operate, local: LocalReplica, op_ts: Timestamp) -> bool:
        """Whether it must take a new op_ts and be checked again."""
        return is_overtaken(request, local, op_ts, self.node.clock.current())

    async def _unblocked(
        self, request: Operate, local: LocalReplica, current: int
    ) -> Table | Reason | None:
        """The table to execute under; None after a wait: check again; or the reason to refuse."""
        intent, by_value = self._foreign(request, local), False
        if intent is None:
            table = self._run_table(request, current)
            if table is None:  # only under a design that does not wait for complete metadata
                return Reason.SCHEMA_CHANGED
            wanted = self.constraints.locks_wanted(request, local, table)
            if wanted:
                return await self.waits.locked(request, wanted)
            intent, by_value = self.constraints.blocking_intent(request, local, table), True
            if intent is None:
                return table
        resolved = await self._resolved(request, local, *intent, by_value=by_value)
        return None if resolved else Reason.LOCK_CONFLICT

    async def _checked(self, request: Operate, op_ts: Timestamp, purpose: str) -> Checked:
        """The table's version at op_ts, and why the operation must not run, if so [110.valid.2].

        The views that lead to the table are judged like the table, and before it.
        """
        current, reason = 0, None
        for object_id, initial in (*request.views, (request.table_id, request.initial)):
            label = request.tx.label
            try:
                found = await self.sync.object_at(op_ts, label, request.op, purpose, object_id)
            except MetadataLateError:
                return 0, Reason.METADATA_LATE
            current, reason = self._judged(object_id, initial, op_ts, found, purpose)
            if reason is not None:
                break
        return current, reason

    def _judged(
        self,
        object_id: int,
        initial: int,
        op_ts: Timestamp,
        found: SchemaObject | None,
        purpose: str,
    ) -> Checked:
        """The version found, and the design's reason against it, if any."""
        assert found is None or found.id == object_id, f"{found} is not object {object_id}"
        current = 0 if found is None else found.version
        if current == initial:
            return current, None
        strategy = self.strategy
        reason = strategy.check_exists(current)
        if purpose == "arrival" and strategy.check_operation_when.exists_on_arrival:
            return current, reason
        if reason is None and current != strategy.primary_initial(initial, current):
            steps = self.sync.catalog.steps(object_id, initial, op_ts)
            reason = strategy.check_operation(initial, current, steps)
        return current, reason

    # --- execution --------------------------------------------------------------------------------

    def _over(self, request: Operate, local: LocalReplica) -> Reason | None:
        """The reason if its transaction is over, or its lease by now: op_ts may precede a wait.

        Nor does it go on where the log has refused a write of it: it would not find that.
        """
        if request.tx in local.machine.ended:
            return Reason.TX_FINISHED
        lost = self.participant.has_lost(request.tx, local.place, request.lease_start)
        if lost or not serves(local, request, self.node.clock.current()):
            self.node.probe("primary-expired")
            return Reason.PRIMARY_EXPIRED
        return None

    def _run_table(self, request: Operate, current: int) -> Table | None:
        """The table at the version that the design's `run_version` gives; None if unknown here."""
        initial = self.strategy.primary_initial(request.initial, current)
        run_version = self.strategy.run_version(initial, current)
        table = self.sync.catalog.definition(request.table_id, run_version)
        assert table is None or isinstance(table, Table), f"{request.table_id} is {table}"
        return table

    async def _execute(
        self, sender: str, request: Operate, local: LocalReplica, table: Table, op_ts: Timestamp
    ) -> Operated | None:
        """Run the operation under a version of its table.

        None for a copy of a one-phase write that is on its way: the first message is answered.
        """
        tx = request.tx
        assert local.lease is not None, f"{self.node.name} is not primary of {local.place}"
        assert tx not in local.machine.ended, f"{tx.label} has ended at {local.place}"
        if request.action == "find":
            now = self.sync.catalog.at(self.node.clock.current())
            if is_gone(now.by_id(request.table_id), request.lookups[0].index_id):
                self.node.probe("index-gone")
                return Operated(self.node.clock.now(), op_ts, Reason.SCHEMA_CHANGED)
        if request.action in READS:
            self.participant.record_read(tx, request.op, request.lease_start)
            return self.executor.read(request, local, op_ts, table)
        if request.action == "lookup":
            return self.constraints.look_up(request, local, op_ts, table)
        if request.one_phase:
            answered = await self._write_and_commit(sender, request, local, table, op_ts)
        else:
            answered = self._written(sender, request, local, table, op_ts)
        if answered is not None and answered.reason is None and answered.done:
            lookups = self.constraints.needed_elsewhere(request, local, table)
            if lookups:
                return replace(answered, lookups=lookups)
        return answered

    async def _write_and_commit(
        self, sender: str, request: Operate, local: LocalReplica, table: Table, op_ts: Timestamp
    ) -> Operated | None:
        """Write in one phase, once: copies of the message wait for the end of the first."""
        tx, op, lease_start = request.tx, request.op, request.lease_start
        refusal = self.participant.refusal_of(tx, op, lease_start)
        if refusal is not None:  # the answer may have been lost
            return Operated(self.node.clock.now(), op_ts, refusal, ended=True)
        if not self.participant.is_new(tx, op, lease_start):
            return self.executor.repeated_answer(request, local, op_ts)
        answered = self.constraints.refusal(request, local, op_ts, table)
        if answered is None:
            answered = await self.executor.write_and_commit(sender, request, local, op_ts, table)
        if answered.reason is None:
            return answered
        self._record_refusal(request, answered.reason)
        return replace(answered, ended=True)

    def _written(
        self, sender: str, request: Operate, local: LocalReplica, table: Table, op_ts: Timestamp
    ) -> Operated | None:
        """Write, unless a constraint forbids the row; a copy of the message changes nothing.

        A copy of a refused write is refused: its answer may come first, and no report would follow.
        """
        executor, tx, op = self.executor, request.tx, request.op
        refusal = self.participant.refusal_of(tx, op, request.lease_start)
        if refusal is not None:
            return Operated(self.node.clock.now(), op_ts, refusal)
        if not self.participant.is_new(tx, op, request.lease_start):
            return repeated_answer(executor, request, local, op_ts)
        answered = execute(executor, self.constraints, sender, request, local, op_ts, table)
        if answered.reason is not None:
            self._record_refusal(request, answered.reason)
        return answered

    def _foreign(self, request: Operate, local: LocalReplica) -> tuple[TxId, PartitionId] | None:
        """(transaction, commit partition) of an intent without a lock that blocks the operation."""
        intents, tx = local.machine.intents, request.tx
        if not intents:
            return None
        if request.action not in WHOLE:  # the key of a lookup lies in another partition
            intent = intents.get(request.key)
            if intent is None or intent.tx == tx:
                return None
            return intent.tx, intent.commit_place
        for intent in intents.values():
            if intent.tx != tx and not self.locks.holds_at(intent.tx, local.place):
                return intent.tx, intent.commit_place
        return None

    async def _resolved(
        self,
        request: Operate,
        local: LocalReplica,
        other: TxId,
        commit_place: PartitionId,
        *,
        by_value: bool,
    ) -> bool:
        """Clean up the other transaction's intents here if it has ended; False: it has not."""
        assert other != request.tx, f"{other.label} would wait for itself"
        began = self.node.watch.now_us
        self.node.probe("intent-resolved")
        outcome = await self.participant.resolved(other, commit_place)
        if outcome is None:
            self.waits.refused(request, began, by_value=by_value)
            return False
        await self.participant.clean_here(other, outcome.commit_ts, (local.place,))
        return True
