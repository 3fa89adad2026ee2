"""Faults that a person would make, planted where the parts had no model: each is seen.

A write in one phase is judged before the metadata is complete for its stamp; a lease that is over
leaves its locks; a lease that was prolonged meanwhile refuses a commit; a write in one phase is
given up while a copy of it may be executed; a report of a write takes a later one of its
transaction away; what has committed in one phase is recovered as aborted; a write in one phase is
not judged at its stamp; a write counts as executed under a lease that is over; leaders take what
is applied for all of their log; the answer that comes last counts as that of the last operation.
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.partition.partition import ModelledPartition
from ddlsim.cluster.models.transaction.operations import Last, ModelledExecutor
from ddlsim.cluster.models.transaction.participant import ModelledParticipant
from ddlsim.kernel.engine import Loop
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import CleanUp, Outcome, StampedCommand, WriteIntent
from ddlsim.protocol.design import closing
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Finished, Operated
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.replica_messages import Fate, TxState, TxStateRequest
from ddlsim.protocol.transaction import commit, commit_check
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.lease_check import lease_over_at
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.participant import Active, Participant
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.protocol.transaction.routing import Router
from ddlsim.units import Timestamp, plus_ms
from tests.support.kept_worlds import Planted, assert_seen

pytestmark = pytest.mark.slow


def at_any_safe_time(_method: Any) -> Callable[..., Any]:
    def planted(sync: Any, command: Any, stamp: Any) -> Any:
        tables = []
        for object_id, initial, _ in command.tables:
            found = sync.catalog.at(stamp).by_id(object_id)
            tables.append((object_id, initial, 0 if found is None else found.version))
        return commit_check.validate(sync, tuple(tables), stamp), tuple(tables)

    return planted


def keeps_its_own(method: Any) -> Callable[..., None]:
    def planted(self: Any, before: Any, lease: Any) -> None:
        again = before is not None and before.holder == lease.holder == self.node.name
        method(self, None if again else before, lease)

    return planted


def known_on_arrival(method: Any) -> Callable[..., Any]:
    def planted(self: Any, local: Any, command: Any, stamp: Timestamp) -> Any:
        if stamp < plus_ms(command.op_ts, self.node.settings.delay_duration_ms):
            return command
        return method(self, local, command, stamp)

    return planted


def above_what_is_applied(method: Any) -> Callable[..., Any]:
    def planted(self: Any, local: Any, command: Any) -> Any:
        stamp, self._stamp = self._stamp, lambda clock, _: stamp(clock, local.machine.safe_ts)
        attempt = method(self, local, command)
        self._stamp = stamp
        return attempt

    return planted


def merges_what_is_applied(method: Any) -> Callable[..., None]:
    def planted(self: Any, term: int) -> None:
        last_stamp, self.group.last_stamp = self.group.last_stamp, self.application._message_ts
        method(self, term)
        self.group.last_stamp = max(last_stamp, self.group.last_stamp)

    return planted


def at_once(_method: Any) -> Callable[..., Any]:
    async def planted(coordinator: Any, leases: Any, tx: Any, commit_ts: Any) -> Any:
        return lease_over_at(coordinator, leases, tx, commit_ts)

    return planted


def gives_up(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, *given: Any, again: bool = False, **named: Any) -> Any:
        answer = await method(self, *given, again=again, **named)
        if again and type(answer) is Operated and answer.reason is Reason.PRIMARY_EXPIRED:
            return replace(answer, ended=True)
        return answer

    return planted


def notes_the_last_answer(method: Any) -> Callable[..., Any]:
    def planted(self: Any, tx: Any, request: Any, enlistment: Any, answer: Any) -> Any:
        reply = method(self, tx, request, enlistment, answer)
        if isinstance(answer, Operated) and answer.reason is None:
            tx.last_op_ts = answer.op_ts
        return reply

    return planted


PLANTED: dict[str, Planted] = {
    "judges at any safe time": (
        closing,
        "schema_at_the_stamp",
        at_any_safe_time,
        123,
        "rules",
    ),
    "judges on arrival": (ReplicaManager, "_validated", known_on_arrival, 3, "replicas"),
    "stamps above what is applied": (
        ReplicaManager,
        "_propose",
        above_what_is_applied,
        1,
        "replicas",
    ),
    "merges what is applied": (MetaStorage, "_elected", merges_what_is_applied, 3, "submissions"),
    "keeps its own locks": (Replica, "_lease_changed", keeps_its_own, 65, "operations"),
    "takes leases as they are": (commit, "leases_outlast_commit", at_once, 6, "coordinator"),
    "gives up": (Router, "ask_primary", gives_up, 60, "coordinator"),
    "notes the last answer": (Coordinator, "_answered", notes_the_last_answer, 6, "coordinator"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_seen(PLANTED[name], monkeypatch)


@pytest.mark.parametrize(
    ("shown", "under_way", "found"),
    [(70, True, 1), (71, True, 0), (70, False, 0)],
    ids=["the write before", "the last write", "a last write that was refused"],
)
def test_an_operation_sees_the_last_write_of_its_transaction(
    shown: int, under_way: bool, found: int
) -> None:
    tx, place, start = TxId(Timestamp(10), 0, "T"), (1, 0), Timestamp(5)
    seen: list[object] = []
    last = Last("T.2", start, ("T", 1, (7, 71)))
    executor = cast("Any", SimpleNamespace())
    executor.divergence = SimpleNamespace(compare=lambda *given: seen.append(given))
    executor._last = {(tx, place, 7): last}
    executor._on_its_way = {(tx, "T.2"): None} if under_way else {}
    executor._last_write = partial(ModelledExecutor._last_write, executor)
    before = Intent(tx, "T.1", Timestamp(11), 1, (7, 70), place)
    machine = SimpleNamespace(rows={}, intents={7: before}, ops_of=lambda _tx: {"T.1": None})
    local = cast("Any", SimpleNamespace(place=place, machine=machine, pending={}))
    request = cast("Any", SimpleNamespace(tx=tx, lease_start=start, action="get", key=7, op="T.3"))
    ModelledExecutor._compare_seen(executor, request, local, {7: ("T", 1, (7, shown))})
    assert len(seen) == found


def test_a_write_is_executed_once_under_each_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    def under_any(self: Participant, tx: TxId, op: str, _lease_start: Timestamp) -> bool:
        active = self._active.get(tx)
        is_new = active is None or op not in active.ops
        if active is not None:
            active.ops[op] = Timestamp(1)
        return is_new

    tx, first, second = TxId(Timestamp(10), 0, "T"), Timestamp(1), Timestamp(2)
    for fault, found in ((None, []), (under_any, ["whether T.w is new under the lease of 0+2 is"])):
        if fault is not None:
            monkeypatch.setattr(Participant, "is_new", fault)
        seen: list[str] = []
        part: Any = object.__new__(ModelledParticipant)
        part._active, part._executed, part._wrong = {}, {}, seen.append
        part.locks = LockTable(Loop().future)
        part.replicas = SimpleNamespace(members={})
        assert part.is_new(tx, "T.w", first)
        part._active[tx] = Active((1, 0))
        for lease_start in (first, first, second, second):
            part.is_new(tx, "T.w", lease_start)
        part.release(tx)
        part._active[tx] = Active((1, 0))
        part.is_new(tx, "T.w", second)
        assert [one.rpartition(" ")[0] for one in seen] == found


@pytest.mark.parametrize(("answered", "stored", "found"), [(20, 0, 0), (None, 1, 1), (None, 0, 1)])
def test_what_committed_in_one_phase_is_not_answered_as_aborted(
    answered: int | None, stored: int, found: int
) -> None:
    """Whether or not its partition has stored that it was."""
    tx, place, now = TxId(Timestamp(10), 0, "T"), (1, 0), Timestamp(30)
    commit_ts = None if answered is None else Timestamp(answered)
    outcomes = {tx: Outcome(commit_ts, ())} if stored else {}
    machine = SimpleNamespace(ended={tx: Timestamp(20)}, outcomes=outcomes)
    seen: list[str] = []
    members = {place: SimpleNamespace(machine=machine)}
    part = cast("Any", SimpleNamespace(replicas=SimpleNamespace(members=members)))
    part._wrong, part.node = seen.append, SimpleNamespace(clock=HybridClock(lambda: 0))
    ModelledParticipant._compare_outcome(part, tx, place, Finished(now, commit_ts), None)
    assert bool(seen) == found
    if commit_ts is not None:  # what then gets its locks would be stamped before it
        ModelledParticipant._compare_outcome(part, tx, place, Finished(commit_ts, commit_ts), None)
        assert seen == ["T commits behind 0+20, when it is answered"]


@pytest.mark.parametrize(
    ("fate", "read_ts", "sent_ts", "found"),
    [
        (Fate.PENDING, 20, 20, 1),
        (Fate.PENDING, 20, 21, 0),
        (Fate.PENDING, None, 5, 0),
        (Fate.DECIDING, 20, 19, 0),
    ],
)
def test_what_is_pending_for_a_reader_commits_later(
    fate: Fate, read_ts: int | None, sent_ts: int, found: int
) -> None:
    tx = TxId(Timestamp(10), 0, "T")
    seen: list[str] = []
    part = cast("Any", SimpleNamespace(node=SimpleNamespace(clock=HybridClock(lambda: 0))))
    part._wrong = seen.append
    asked_ts = None if read_ts is None else Timestamp(read_ts)
    request = TxStateRequest(Timestamp(1), tx, asked_ts)
    ModelledParticipant._state_answered(part, request, TxState(Timestamp(sent_ts), fate))
    assert len(seen) == found


@pytest.mark.parametrize("left", [0, 1])
def test_every_intent_that_an_earlier_primary_left_is_taken_over(
    left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two is forgotten, or none."""
    txs = [TxId(Timestamp(10 + number), 0, f"T{number}") for number in range(2)]
    place = (1, 0)
    intents = {tx: Intent(tx, "o", Timestamp(20), 1, (1,), place) for tx in txs}
    seen: list[str] = []
    part = cast("Any", object.__new__(ModelledParticipant))
    part._active, part._wrong = {}, seen.append

    def adopt(self: Any, _local: Any) -> None:
        self._active = {tx: SimpleNamespace(seen_us=0, commit_place=place) for tx in txs[left:]}

    monkeypatch.setattr(Participant, "_adopt_intents", adopt)
    local = cast("Any", SimpleNamespace(place=place, machine=SimpleNamespace(intents=intents)))
    part._adopt_intents(local)
    assert seen == ["an intent of T0 in (1, 0) is not taken over"] * left


@pytest.mark.parametrize(
    ("commit_ts", "commits_above", "found"),
    [(20, True, 1), (21, True, 0), (None, True, 0), (20, False, 0)],
)
def test_a_transaction_commits_above_the_stamps_of_its_writes(
    commit_ts: int | None, commits_above: bool, found: int
) -> None:
    """The first stamp of each write counts: copies come into the log later."""
    tx, seen = TxId(Timestamp(10), 0, "T"), list[str]()
    ended = {} if commit_ts is None else {tx: Timestamp(commit_ts)}
    part = cast("Any", SimpleNamespace(ended={}, _stamps={}, is_coordinated=True))
    part._divergence = SimpleNamespace(found=seen.append)
    part._commits_above = commits_above
    write = WriteIntent(tx, "T.w", Timestamp(11), 7, 1, (7,), Timestamp(5), (1, 0), 1)
    for stamp in (20, 30):
        stamped = StampedCommand(Timestamp(stamp), write)
        ModelledPartition._compare_stamps(part, stamped, None)
    part.ended = ended
    end = StampedCommand(Timestamp(40), CleanUp(tx, ended.get(tx)))
    ModelledPartition._compare_stamps(part, end, None)
    assert len(seen) == found
