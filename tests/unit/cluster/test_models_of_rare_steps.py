"""The models see faults that few drawn worlds show, each in a world that does; and no fault there.

A term that is over is started late; a lock is held and none awaited; a partition has no lease yet;
a clock is set forward while something waits for it; a replica has no others to wait for; an
operation comes before its lease; intents are taken over; a view is read through another one; a
deleted row is of a newer schema; a commit waits for its writes; all is confirmed, and a timer was
set; the catalog changes at the leader; an outcome is lost; a
transaction is about to end.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.transaction.operations import ModelledReplica
from ddlsim.cluster.models.transaction.participant import ModelledParticipant
from ddlsim.cluster.run import run
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.replica_messages import Fate, TxState
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.transaction import commit, enlistment, participant
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.execution import Executor
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Micros, Timestamp
from tests.support.kept_worlds import Planted, assert_seen, differences, plan_of

pytestmark = pytest.mark.slow


def ends_no_term(method: Any) -> Callable[..., None]:
    def planted(self: Any, term: int) -> None:
        before = self._stopped_term
        method(self, term)
        self._stopped_term = before

    return planted


def awaited_alone(_method: Any) -> Any:
    return property(lambda self: bool(self._waiting))


def without_a_lease(method: Any) -> Callable[..., bool]:
    return lambda self, place: place not in self._leases or bool(method(self, place))


def calls_nothing(_method: Any) -> Callable[..., Any]:
    return lambda _self, _callback: lambda: None


def waits_for_others(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, local: Any, request: Any) -> None:
        if self._replica.is_primary(local.place) or not local.is_alone:
            await method(self, local, request)
        else:
            await self.replicas.safe_time_reaches(local, request.read_ts)

    return planted


def stamped_when_sent(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, sender: str, request: Any) -> Any:
        answer = await method(self, sender, request)
        return None if answer is None else replace(answer, op_ts=request.sent_ts)

    return planted


def uses_all(method: Any) -> Callable[..., None]:
    def planted(self: Any, local: Any) -> None:
        method(self, local)
        for tx, active in list(self._active.items()):
            self.record_activity(tx, active.commit_place, local.place)

    return planted


def first_view(_made: Any) -> Callable[..., Enlistment]:
    return lambda *given: Enlistment(*given[:5], *(views[:1] for views in given[5:]))


def asks_nothing(_method: Any) -> Callable[..., None]:
    return lambda _self, _tx, _idle: None


def waits_for_the_report(_method: Any) -> Callable[..., None]:
    def planted(self: Any, op: str, place: Any) -> None:
        self.unreplicated[op] = place

    return planted


def leaves_a_timer(method: Any) -> Callable[..., None]:
    def planted(self: Any, sender: str, message: Any) -> None:
        before = self._resend
        method(self, sender, message)
        if before is not None and self._resend is None:
            self.node.call_later(Micros(self.node.settings.resend_us // 2), self._resent)

    return planted


def without_the_driver(method: Any) -> Callable[..., None]:
    def planted(self: Any, watcher: Any) -> None:
        if watcher.__name__ != "look_soon":
            method(self, watcher)

    return planted


def always(_function: Any) -> Callable[..., bool]:
    return lambda *_given: True


PLANTED: dict[str, Planted] = {
    "ends no term": (SafeTimeTicker, "stop", ends_no_term, 3, "idle commands"),
    "sees no lock that is held": (LockTable, "any_held", awaited_alone, 9, "locks"),
    "is primary without a lease": (Leases, "held", without_a_lease, 3, "leases"),
    "keeps a timer": (PhysicalClock, "on_change", calls_nothing, 22, "clock"),
    "waits for others": (Readers, "_complete", waits_for_others, 22, "readers"),
    "stamps when sent": (Replica, "_operated", stamped_when_sent, 3, "operations"),
    "takes all for used": (Participant, "_adopt_intents", uses_all, 9, "participant"),
    "asks for no writes": (TransactionCompletion, "_ask_again", asks_nothing, 11, "coordinator"),
    "waits for a report": (Transaction, "answered_early", waits_for_the_report, 12, "coordinator"),
    "leaves a timer": (Group, "receive", leaves_a_timer, 20, "group"),
    "looks later": (MetaStorage, "on_activation", without_the_driver, 5, "placement driver"),
    "always rests": (commit, "was_refused", always, 11, "coordinator"),
    "enlists one view": (enlistment, "Enlistment", first_view, 16, "rules"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_seen(PLANTED[name], monkeypatch)


@pytest.mark.parametrize(("op_ts", "found"), [(100, 1), (101, 1), (149, 1), (150, 0), (151, 0)])
def test_an_operation_that_comes_before_its_lease_is_stamped_behind_it(
    op_ts: int, found: int
) -> None:
    seen: list[str] = []
    replica = SimpleNamespace(_is_hybrid=True, _divergence=SimpleNamespace(found=seen.append))
    request = cast("Any", SimpleNamespace(op="op", sent_ts=Timestamp(100)))
    compare = ModelledReplica._compare_op_ts
    compare(cast("Any", replica), request, Timestamp(op_ts), Timestamp(150))
    assert len(seen) == found


@pytest.mark.parametrize("known", [(1, 0), None])
def test_an_intent_is_taken_over_with_the_place_of_its_end(known: Any) -> None:
    """Its transaction's outcome is in the commit partition, and not where the intent is."""
    tx, seen = TxId(Timestamp(5), 0, "T"), list[str]()
    intent = Intent(tx, "op", Timestamp(6), 1, None, (2, 0))
    intents = {(7,): intent}
    local = cast("Any", SimpleNamespace(place=(1, 0), machine=SimpleNamespace(intents=intents)))
    taken = cast("Any", object.__new__(ModelledParticipant))
    taken._active, taken._seen_us, taken.leases = {}, {}, SimpleNamespace(held=lambda _place: True)
    taken.node = SimpleNamespace(watch=SimpleNamespace(now_us=0))
    taken._divergence = SimpleNamespace(found=seen.append)
    if known is not None:
        record = taken.record_activity
        taken.record_activity = lambda tx, _place, here: record(tx, known, here)
    taken._adopt_intents(local)
    assert len(seen) == (known is not None)


@pytest.mark.parametrize(("probes", "found"), [(1, 1), (39, 1), (40, 0)])
def test_what_is_about_to_end_is_looked_for_again(
    probes: int, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx, seen = TxId(Timestamp(5), 0, "T"), list[str]()
    asking = cast("Any", object.__new__(ModelledParticipant))

    async def deciding(_to: str, _request: Any, _wait_us: Micros) -> TxState:
        (look,) = asking._looks[tx]
        look.asked += 1
        return TxState(Timestamp(7), Fate.DECIDING)

    async def rest(_wait_us: Micros) -> None:
        return

    settings = SimpleNamespace(orphan_answer_ms=1, retry_us=1)
    clock = SimpleNamespace(now=lambda: Timestamp(6), update=lambda _ts: None)
    asking.node = SimpleNamespace(settings=settings, clock=clock, request=deciding, sleep=rest)
    asking._looks, asking._left, asking._nodes = {}, None, ("n1",)
    asking._divergence = SimpleNamespace(found=seen.append)
    monkeypatch.setattr(participant, "PROBES", probes)
    with pytest.raises(StopIteration):
        asking.resolved(tx, (1, 0)).send(None)
    assert len(seen) == found


DELETED = 58


@pytest.mark.parametrize("faulty", [False, True])
def test_a_deleted_row_of_a_newer_schema_refuses_no_read_where_the_design_leaves_it(
    faulty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(self: Any, _table_id: int, initial: int, version: int, _row: Any) -> Any:
        return self.strategy.check_tuple(version, initial)

    if faulty:
        monkeypatch.setattr(Executor, "_judged_row", judged)
    found = differences(run(plan_of(DELETED, "ignite3")))
    assert [one.part for one in found] == ["operations"] * faulty
