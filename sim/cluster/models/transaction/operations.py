"""The model of operations at a primary: what lets them run, what they see, why they are refused.

From protocol.md, sections 3 and 4: an operation runs under the lease that it names, which is the
present one; with its locks; under the version that holds at its op_ts [110.valid.2], which the
primary takes once it knows the message and that lease, and again behind its locks and whatever else
it waits for [110.x.1]; once for each lease, however often its message comes. It sees its
transaction's own writes, and else the newest committed version of each row, or that of its read_ts;
a row of a newer schema aborts it [110.back].
"""

from typing import Any, ClassVar, Final, NamedTuple

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.schema.catalog import ModelledCatalog
from ddlsim.cluster.models.words import words
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.commands import WriteIntent
from ddlsim.protocol.ids import PartitionId, Tuple, TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.partition.replica_manager import LocalReplica, Submission
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.transaction.execution import Executor, Found
from ddlsim.protocol.transaction.locks import IX, Resource, S, X
from ddlsim.protocol.transaction.replica import Checked, Replica
from ddlsim.units import MIN_TIMESTAMP, Timestamp, show

MADE_UP: Final = Intent(
    TxId(MIN_TIMESTAMP, 0, "made up"), "made up", MIN_TIMESTAMP, 1, None, (0, 0)
)
"""A write that no operation has made."""


class Last(NamedTuple):
    """The last write of a transaction to a key: its operation, its lease, and what it left."""

    op: str
    lease_start: Timestamp
    found: Found


class ModelledExecutor(Executor):
    """An executor that compares what operations see, and that each write is carried out once."""

    divergence: Divergence

    def begin(self, divergence: Divergence) -> None:
        """Compare from now on."""
        self.divergence = divergence
        self.at_once_ts: dict[tuple[TxId, str, Timestamp], Timestamp] = {}
        self._at_once: dict[tuple[PartitionId, Key, Timestamp], Intent] = {}
        self._left: dict[tuple[TxId, str], Timestamp] = {}
        self._last: dict[tuple[TxId, PartitionId, Key], Last] = {}
        self._on_its_way: dict[tuple[TxId, str], None] = {}
        strategy = self.strategy
        self._past_stays = strategy.before_commit_ts.__name__ != "stamp_at_once"
        self._sees_newer = strategy.excuses_tuple is not None
        if strategy.check_tuple.__name__ != "not_newer_than_initial":
            self._sees_newer = True

    def shown(
        self,
        request: Operate | Read,
        tx: TxId,
        op_ts: Timestamp,
        table: Table,
        seen: list[tuple[Key, Found]],
    ) -> Operated:
        answer: Operated = super().shown(request, tx, op_ts, table, seen)
        local = self.replicas.members[request.table_id, request.partition]
        if request.action in ("get", "scan"):
            found = dict(seen)
            if isinstance(request, Operate):
                self._compare_seen(request, local, found)
            elif self._past_stays:  # else a write under way commits below read_ts behind the read
                self._compare_past(request, local, found)
        if isinstance(request, Operate) and not self._sees_newer:
            deleted = self.strategy.check_operation_when.deleted_rows
            newer = any(
                version > request.initial and (deleted or row is not None)
                for _, (_, version, row) in seen
            )
            if newer != (answer.reason is Reason.NEWER_ROW_VERSION):
                self.divergence.found(
                    f"{request.op} under version {request.initial} was answered {answer.reason} "
                    f"with rows of versions {[one[1][1] for one in seen]}"
                )
        return answer

    def _judged_row(
        self, table_id: int, initial: int, version: int, row: Tuple | None
    ) -> Reason | None:
        """A row of a newer schema is judged; a deleted one only where the design says so."""
        reason: Reason | None = super()._judged_row(table_id, initial, version, row)
        judges = row is not None or self.strategy.check_operation_when.deleted_rows
        expected = self.strategy.check_tuple(version, initial) if judges else None
        if reason is not expected and (reason is not None or not self._sees_newer):
            self.divergence.found(f"{row} of version {version} under {initial} gave {reason}")
        return reason

    def _compare_seen(self, request: Operate, local: LocalReplica, found: dict[Key, Found]) -> None:
        """The last own write, replicated or not, before the newest committed version."""
        machine, pending = local.machine, local.pending
        keys = [request.key]
        if request.action == "scan":
            keys = list(dict.fromkeys((*machine.rows, *machine.intents, *pending)))
        expected: dict[Key, Found] = {}
        for key in keys:
            mine = [machine.intents.get(key), pending.get(key)]
            own = [one for one in mine if one is not None and one.tx == request.tx]
            versions = machine.rows.get(key)
            written = self._last_write(request, local, key)
            if written is not None:
                expected[key] = written
            elif own:
                last = own[-1]
                expected[key] = (request.tx.label, last.version, last.row)
            elif versions:
                newest = versions[-1]
                expected[key] = (newest.writer, newest.version, newest.row)
            elif request.action == "get":
                expected[key] = (None, 0, None)
        if found != expected:
            self.divergence.compare(f"what {request.op} sees", found, expected)

    def _last_write(self, request: Operate, local: LocalReplica, key: Key) -> Found | None:
        """What the transaction wrote last under a key and this lease.

        None if nothing, or if that write never came into the log.
        """
        tx = request.tx
        last = self._last.get((tx, local.place, key))
        if last is None or last.lease_start != request.lease_start:
            return None
        is_there = (tx, last.op) in self._on_its_way or last.op in local.machine.ops_of(tx)
        return last.found if is_there else None

    def _compare_past(self, request: Read, local: LocalReplica, found: dict[Key, Found]) -> None:
        """The versions of read_ts; of a row with an intent only the other models speak."""
        machine, read_ts = local.machine, request.read_ts
        for key in machine.rows if request.action == "scan" else (request.key,):
            if key in machine.intents:
                continue
            past = [one for one in machine.rows.get(key, ()) if one.commit_ts <= read_ts]
            shown = found.get(key, (None, 0, None))
            due = (past[-1].writer, past[-1].version, past[-1].row) if past else (None, 0, None)
            if shown != due:
                self.divergence.compare(f"what {request.op} sees of {key!r}", shown, due)

    def leave_intent(
        self,
        coordinator: str,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
    ) -> Operated:
        """Where a clock has gone back, a write may be overtaken by one of its transaction."""
        once = (request.tx, request.op)
        if self._left.get(once) == request.lease_start:
            self.divergence.found(f"{request.op} is carried out twice under one lease")
        self._left[once] = request.lease_start
        before = local.machine.intents.get(request.key)
        answer: Operated = super().leave_intent(coordinator, request, local, op_ts, table)
        if before is not None and before.tx == request.tx and before.op_ts >= op_ts:
            if answer.replicated and local.machine.intents.get(request.key) != before:
                self.divergence.found(
                    f"{request.op} replaces {words(before)}, which has overtaken it"
                )
        elif answer.reason is None:
            found: Found = (request.tx.label, table.version, request.row)
            place = (request.tx, local.place, request.key)
            self._last[place] = Last(request.op, request.lease_start, found)
            if not answer.replicated:
                self._on_its_way[once] = None
            left = local.pending if not answer.replicated else local.machine.intents
            one = left.get(request.key)
            expected = (request.tx, request.op, op_ts, table.version, request.row)
            if one is None or (one.tx, one.op, one.op_ts, one.version, one.row) != expected:
                self.divergence.found(
                    f"{request.op} left {words(one)} and should leave {words(expected)}"
                )
        return answer

    async def write_and_commit(
        self,
        coordinator: str,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
    ) -> Operated:
        self.at_once_ts[request.tx, request.op, request.lease_start] = op_ts
        intent = Intent(
            request.tx, request.op, op_ts, table.version, request.row, request.commit_place
        )
        place = (local.place, request.key, request.lease_start)
        self._at_once[place] = intent
        answer: Operated = await super().write_and_commit(coordinator, request, local, op_ts, table)
        if self._at_once.get(place) is intent:
            del self._at_once[place]
        return answer

    def on_their_way(self, local: LocalReplica) -> list[tuple[Key, Intent]]:
        """Writes in one phase under the present lease that have not come to their end, by key."""
        return [
            (key, intent)
            for (place, key, lease_start), intent in self._at_once.items()
            if place == local.place and local.lease and lease_start == local.lease.start_ts
        ]

    async def _report(
        self,
        coordinator: str,
        local: LocalReplica,
        command: WriteIntent,
        submission: Submission[Reason | None],
    ) -> None:
        await super()._report(coordinator, local, command, submission)
        self._on_its_way.pop((command.tx, command.op), None)
        self._compare_pending(local, command)

    def _compare_pending(self, local: LocalReplica, command: WriteIntent) -> None:
        """What a transaction wrote last under the key is pending still, if it is on its way."""
        tx, key, lease = command.tx, command.key, local.lease
        last = self._last.get((tx, local.place, key))
        if last is None or (tx, last.op) not in self._on_its_way or tx in local.machine.ended:
            return
        if lease is not None and lease.start_ts == last.lease_start:
            pending = local.pending.get(key)
            if pending is None or (pending.tx, pending.op) != (tx, last.op):
                what = f"{last.op} is on its way behind {command.op}"
                self.divergence.found(f"{what}, and {words(pending)} is pending")


class ModelledReplica(Replica):
    """A replica's operations, compared with what lets them run or not."""

    models: ClassVar[Models]

    def begin(self) -> None:
        """Compare from now on."""
        self._divergence = self.models.divergence("operations")
        executor = self.executor
        assert isinstance(executor, ModelledExecutor), executor
        executor.begin(self._divergence)
        when = self.strategy.check_operation_when
        self._begun: dict[tuple[Any, ...], None] = {}
        self._refused: dict[tuple[TxId, str, Timestamp], Reason] = {}
        self._arrived: dict[tuple[PartitionId, Timestamp], Timestamp] = {}
        self._is_hybrid = type(self.node.clock) is HybridClock
        self._same_schema = (
            self.strategy.check_operation.__name__ == "must_be_same_schema" and when.after_locks
        )
        self._last_check: tuple[Operate, Timestamp, int] | None = None

    def _lease_changed(self, before: Lease | None, lease: Lease) -> None:
        """A lease that is over took its locks, and its writes that are not replicated, with it.

        Few are on their way then in a run: a made-up write is put there before, and is gone.
        """
        is_over = before is not None and before.start_ts != lease.start_ts
        if before is None or not is_over or before.holder != self.node.name:
            super()._lease_changed(before, lease)
            return
        local = self.replicas.members.get(lease.place)
        under_way = [] if local is None else [local.pending, local.at_once]
        for writes in under_way:
            writes[MADE_UP.op] = MADE_UP
        super()._lease_changed(before, lease)
        held = [tx.label for tx in self.locks.involved() if self.locks.holds_at(tx, lease.place)]
        if held or any(under_way):
            self._divergence.found(f"{lease.place} has a new lease, and locks or writes of {held}")
        for writes in under_way:
            writes.pop(MADE_UP.op, None)

    async def operate(self, sender: str, request: Operate) -> Operated | None:
        """Compare an answer; what refuses one message of a one-phase write refuses all of them."""
        begun = (request.tx, request.op, request.lease_start)
        sent = (*begun, request.initial, request.views)  # enlisted anew, it is no copy
        is_copy = sent in self._begun
        self._begun[sent] = None
        place = (request.table_id, request.partition)
        waits = not self.leases.knows(place, request.lease_start)
        answer: Operated | None = await super().operate(sender, request)
        if answer is not None and not self._divergence.is_known:
            came_ts = self._arrived[place, request.lease_start] if waits else request.sent_ts
            self._compare_op_ts(request, answer.op_ts, came_ts)
            if answer.reason is None:
                is_copy = is_copy or self._was_executed_for_another(request, answer)
                self._compare_run(request, answer, is_copy=is_copy)
            elif not request.one_phase or begun not in self._refused:
                self._compare_refusal(request, answer)
                self._refused[begun] = answer.reason
            elif answer.reason is not self._refused[begun]:
                self._compare_refusal(request, answer)
        return answer

    def _was_executed_for_another(self, request: Operate, answer: Operated) -> bool:
        """Whether it is a one-phase write that another message of it has carried out."""
        executor = self.executor
        assert isinstance(executor, ModelledExecutor), executor
        begun = (request.tx, request.op, request.lease_start)
        return executor.at_once_ts.get(begun, answer.op_ts) != answer.op_ts

    async def _lease_arrives(self, place: PartitionId, start_ts: Timestamp) -> None:
        if self.leases.knows(place, start_ts):
            return
        await super()._lease_arrives(place, start_ts)
        self._arrived.setdefault((place, start_ts), self.node.clock.current())

    def _compare_op_ts(self, request: Operate, op_ts: Timestamp, came_ts: Timestamp) -> None:
        """Above the message, and not below what the clock showed when the lease came."""
        if self._is_hybrid and op_ts <= request.sent_ts:
            self._divergence.found(
                f"{request.op} has op_ts {show(op_ts)}, sent at {show(request.sent_ts)}"
            )
        elif self._is_hybrid and op_ts < came_ts:
            self._divergence.found(
                f"{request.op} has op_ts {show(op_ts)}; its lease came at {show(came_ts)}"
            )

    async def _checked(self, request: Operate, op_ts: Timestamp, purpose: str) -> Checked:
        checked: Checked = await super()._checked(request, op_ts, purpose)
        if purpose == "after-locks":
            self._last_check = (request, op_ts, self.node.watch.now_us)
        return checked

    async def _execute(
        self, sender: str, request: Operate, local: LocalReplica, table: Table, op_ts: Timestamp
    ) -> Operated | None:
        """It runs in the instant of its last check, behind all that it waited for [110.x.1].

        Apache Ignite 3 checks what finds or writes a row.
        """
        when, check = self.strategy.check_operation_when, self._last_check
        if when.after_locks and (not when.only_with_rows or request.action in ("put", "insert")):
            now = self.node.watch.now_us
            if check is None or check[0] is not request or check[1:] != (op_ts, now):
                self._divergence.found(
                    f"{request.op} runs at {show(op_ts)}, and was checked {words(check)}"
                )
        is_gone = request.action == "find" and self._is_gone(request)
        answer: Operated | None = await super()._execute(sender, request, local, table, op_ts)
        if request.action == "find" and answer is not None:
            was_gone = answer.reason is Reason.SCHEMA_CHANGED
            if is_gone is not was_gone:
                self._divergence.found(
                    f"{request.op} was answered {answer.reason}, and its index is "
                    f"{'gone' if is_gone else 'there'} by now"
                )
        return answer

    def _is_gone(self, request: Operate) -> bool:
        """Whether the index of a query is there no more, by what this node knows of now.

        Its entries are being erased then, whatever the schema of the transaction has
        [110.ours.index.build].
        """
        table_id, now_ts = request.table_id, self.node.clock.current()
        version = self._version(table_id, now_ts)
        table = self.sync.catalog.definition(table_id, version) if version else None
        (wanted,) = request.lookups
        return not isinstance(table, Table) or wanted.index_id not in [
            one.id for one in table.indexes
        ]

    def _written(
        self, sender: str, request: Operate, local: LocalReplica, table: Table, op_ts: Timestamp
    ) -> Operated | None:
        """An insert writes where there is no row, a replace or update where there is one.

        The op_ts of a write lies above those of its transaction's earlier writes of the key.
        """
        known = self.participant.executes(request.tx, request.op, request.lease_start)
        own = local.pending.get(request.key) or local.machine.intents.get(request.key)
        is_second = own is not None and own.tx == request.tx and op_ts <= own.op_ts
        if is_second and self._is_hybrid and not known:
            self._divergence.found(
                f"{request.op} has op_ts {show(op_ts)}, and comes behind {words(own)}"
            )
        decides = request.action in ("insert", "replace", "update") and not known
        is_due = decides and _is_there(request, local) != (request.action == "insert")
        answer: Operated | None = super()._written(sender, request, local, table, op_ts)
        if decides and answer is not None and not self._divergence.is_known:
            found, done = answer.reason is Reason.KEY_EXISTS, answer.done and answer.reason is None
            if is_due and (found or not answer.done):
                self._divergence.found(
                    f"{request.op} is to write, and was answered {words(answer)}"
                )
            elif not is_due and (done or (answer.reason is None and request.strict)):
                self._divergence.found(
                    f"{request.op} is not to write, and was answered {words(answer)}"
                )
        return answer

    def _compare_run(self, request: Operate, answer: Operated, *, is_copy: bool) -> None:
        """A copy may be answered for the one that ran, under an earlier schema."""
        local = self.replicas.members[request.table_id, request.partition]
        if answer.commit_ts is not None:
            if local.machine.ended.get(request.tx) != answer.commit_ts:
                self._divergence.found(f"{request.op} was answered, and has not committed so")
            return
        lease = local.lease
        if is_copy and request.one_phase:  # the one that ran has checked its lease
            if lease is None or lease.start_ts != request.lease_start:
                return  # and its locks ended with it
        elif lease is None or lease.start_ts != request.lease_start:
            self._divergence.found(f"{request.op} ran under the lease {show(request.lease_start)}")
        elif answer.op_ts >= lease.expiration_ts:
            self._divergence.found(f"{request.op} ran at {show(answer.op_ts)}, behind its lease")
        for resource, modes in _locks(request):
            if not self.locks.holds(request.tx, resource) & modes and self._is_open(request):
                self._divergence.found(f"{request.op} ran without its lock on {resource!r}")
        if self._same_schema and not is_copy:
            self._compare_schema(request, answer.op_ts)

    def _compare_schema(self, request: Operate, op_ts: Timestamp) -> None:
        """The table, and the views that lead to it, are at op_ts what they were enlisted as."""
        for object_id, initial in (*request.views, (request.table_id, request.initial)):
            current = self._version(object_id, op_ts)
            if current != initial:
                self._divergence.found(
                    f"{request.op} ran under version {initial} of object {object_id} at "
                    f"{show(op_ts)}, where "
                    f"it is {current}"
                )

    def _is_open(self, request: Operate) -> bool:
        """Whether the transaction has not ended on this node meanwhile."""
        return self.participant.is_active(request.tx)

    def _version(self, object_id: int, ts: Timestamp) -> int:
        catalog = self.sync.catalog
        assert isinstance(catalog, ModelledCatalog), catalog
        return catalog.object_version(object_id, ts)

    def _compare_refusal(self, request: Operate, answer: Operated) -> None:
        place, reason, tx = (request.table_id, request.partition), answer.reason, request.tx
        local = self.replicas.members.get(place)
        if local is None:
            return
        lease, machine = local.lease, local.machine
        serves = (
            lease is not None
            and lease.start_ts == request.lease_start
            and self.node.clock.current() < lease.expiration_ts
            and machine.lease_start <= request.lease_start
        )
        if reason is Reason.PRIMARY_EXPIRED:
            if request.one_phase:
                return  # by the lease as it was when the write was first submitted
            known = self.leases.of(place)
            if serves or known is None or known.start_ts < request.lease_start:
                self._divergence.found(f"{request.op} was refused under a lease that lasts")
        elif reason is Reason.TX_FINISHED:
            if serves and tx not in machine.ended and self.participant.is_active(tx):
                self._divergence.found(f"{request.op} was refused, and {tx.label} is open here")
        elif self._same_schema and reason in (Reason.SCHEMA_CHANGED, Reason.TABLE_DROPPED):
            versions = (*request.views, (request.table_id, request.initial))
            if all(self._version(one, answer.op_ts) == version for one, version in versions):
                self._divergence.found(f"{request.op} was refused, and its schema is the same")


def _is_there(request: Operate, local: LocalReplica) -> bool:
    """Whether the transaction sees a row under the operation's key."""
    for intents in (local.pending, local.machine.intents):
        intent = intents.get(request.key)
        if intent is not None and intent.tx == request.tx:
            return intent.row is not None
    versions = local.machine.rows.get(request.key, [])
    return bool(versions) and versions[-1].row is not None


def _locks(request: Operate) -> tuple[tuple[Resource, int], ...]:
    """What an operation holds in the end, in one of these modes."""
    table_id, partition = request.table_id, request.partition
    row: Resource = (table_id, partition, request.key)
    if request.action == "get":
        return ((row, S | X),)
    if request.action in ("scan", "find"):
        return (((table_id, partition, None), S | X),)
    if request.action == "lookup":
        return tuple(((table_id, partition, key), S | X) for key in request.lookups)
    return (((table_id, partition, None), IX | X), (row, X))
