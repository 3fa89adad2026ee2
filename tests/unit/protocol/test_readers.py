"""Read-only reads at a replica: what they wait for, whose intents they resolve, what they see."""

from typing import Any

import pytest

from ddlsim.history.events import ReadExecuted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import CleanUp, FullWrite, Outcome, SafeTimeSync
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.replica_messages import Fate, TxState, TxStateRequest
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import OLD, PLACE, YOUNG
from tests.support.protocol import ADD, FIRST_LEASE
from tests.support.trio import Trio, intent

READER = TxId(timestamp(100), 0, "reader")


def at_once(tx: TxId, key: int, value: int) -> FullWrite:
    """A row that is written and committed in one step."""
    return FullWrite(tx, "w", Timestamp(10), key, 1, (key, value), FIRST_LEASE, 1)


def row(key: int, value: int) -> tuple[Any, ...]:
    return (key, ((1, key), (2, value)))


def committed(trio: Trio, tx: TxId, key: int, value: int) -> Timestamp:
    """Commit a row; its commit timestamp."""
    commit_ts = trio.ran("n1", at_once(tx, key, value))
    assert isinstance(commit_ts, int)
    return Timestamp(commit_ts)


# --- the past -------------------------------------------------------------------------------------


def test_a_read_sees_what_was_committed_by_then_and_nothing_later() -> None:
    """At the timestamp itself, too; before, and after the next one."""
    trio = Trio()
    first = committed(trio, OLD, 1, 5)
    trio.later(20)
    second = committed(trio, YOUNG, 1, 6)
    trio.ran("n1", SafeTimeSync())
    for read_ts, rows in (
        (Timestamp(first - 1), ()),
        (first, (row(1, 5),)),
        (Timestamp(second - 1), (row(1, 5),)),
        (second, (row(1, 6),)),
    ):
        answer = trio.read(READER, read_ts)
        trio.later(0)
        assert answer.value.rows == rows


def test_what_was_deleted_by_then_is_not_there_and_yet_observed() -> None:
    """The history names the transaction that deleted it."""
    trio = Trio()
    first = committed(trio, OLD, 1, 5)
    gone = FullWrite(YOUNG, "w", Timestamp(10), 1, 1, None, FIRST_LEASE, 1)
    deleted = trio.ran("n1", gone)
    for read_ts, writer in ((first, "tx1"), (deleted, "tx2")):
        answer = trio.read(READER, Timestamp(read_ts))
        trio.later(0)
        assert bool(answer.value.rows) == (writer == "tx1")
        assert trio.of(ReadExecuted)[-1].rows[0].writer == writer


def test_a_scan_sees_every_row_of_its_time() -> None:
    """Rows that came later are not there at all."""
    trio = Trio()
    committed(trio, OLD, 1, 5)
    second = committed(trio, YOUNG, 2, 6)
    committed(trio, TxId(Timestamp(3), 0, "tx3"), 3, 7)
    answer = trio.read(READER, second, None)
    trio.later(0)
    assert answer.value.rows == (row(1, 5), row(2, 6))
    [read] = trio.of(ReadExecuted)
    assert (read.predicate, read.op_ts) == (True, second)


def test_the_schema_is_that_of_the_past_too() -> None:
    """SCHEMA_CHANGED for another enlisted version, and for what is no table then."""
    trio = Trio()
    trio.alter(ADD, timestamp(50))
    trio.later(100)
    trio.ran("n1", SafeTimeSync())
    for at_ms, reason in ((49, None), (50, Reason.SCHEMA_CHANGED)):
        answer = trio.read(READER, timestamp(at_ms))
        trio.later(0)
        assert answer.value.reason is reason


def test_read_without_replica_is_refused() -> None:
    """With PRIMARY_MISSING; not before the node's metadata is complete: it may hold one by then."""
    trio = Trio(replicas=1)
    trio["n2"].sync.safe_time = timestamp(0)
    waiting = trio.read(READER, timestamp(1_000), to="n2")
    trio.later(10)
    assert not waiting.done
    trio["n2"].sync.advance_safe_time(timestamp(1_000))
    trio.later(0)
    assert waiting.value.reason is Reason.PRIMARY_MISSING


# --- waiting --------------------------------------------------------------------------------------


def test_replica_answers_once_safe_time_reaches_read_ts() -> None:
    """When its safe time has come there; a read at an earlier time does not wait."""
    trio = Trio()
    committed(trio, OLD, 1, 5)
    trio.later(10)
    far = timestamp(round(trio.loop.now_us / 1000) + 20)
    waiting = trio.read(READER, far, to="n2")
    trio.later(30)
    assert not waiting.done
    assert trio["n2"].node.probes["read-only-wait"] == 1
    trio.ran("n1", SafeTimeSync())
    assert waiting.value.rows == (row(1, 5),)


def test_many_readers_wait_each_for_its_own_time() -> None:
    """In whatever order they came."""
    trio = Trio()
    now_ms = round(trio.loop.now_us / 1000)
    waiting = {ms: trio.read(READER, timestamp(now_ms + ms), key=1, to="n3") for ms in (60, 20, 40)}
    for at_ms, done in ((25, {20}), (45, {20, 40}), (65, {20, 40, 60})):
        trio.later(now_ms + at_ms - trio.loop.now_us / 1000)
        trio.ran("n1", SafeTimeSync(), within_ms=5)
        assert {ms for ms, each in waiting.items() if each.done} == done


def test_an_idle_partition_lets_its_readers_go_on() -> None:
    """Its leader stamps something now and then."""
    trio = Trio(partition_idle_ms=100)
    waiting = trio.read(READER, timestamp(50), to="n2")
    trio.later(250)
    assert waiting.done
    assert trio["n1"].node.probes["partition-tick"]


def test_primary_moves_its_clock_beyond_read_ts() -> None:
    """It answers at once, and moves its clock beyond."""
    trio = Trio()
    answer = trio.read(READER, timestamp(700))
    trio.later(0)
    assert answer.done
    assert committed(trio, OLD, 1, 5) > timestamp(700)


def test_a_primary_that_is_not_the_leader_keeps_that_promise_too() -> None:
    """The leader that stamps for it merges its clock."""
    trio = Trio()
    trio.led_by("n2")
    answer = trio.read(READER, timestamp(700))
    trio.later(20)
    assert answer.done
    assert committed(trio, OLD, 1, 5) > timestamp(700)


@pytest.mark.parametrize("leader", ["n1", "n2"])
def test_reader_at_primary_waits_for_stamped_writes(leader: str) -> None:
    """A one-phase write under way may get a commit timestamp before read_ts."""
    trio = Trio()
    if leader != "n1":
        trio.led_by(leader)
    trio.cut = {"n3"}
    write = trio.send(OLD, "put", 1, (1, 5), one_phase=True)
    trio.later(1.5 if leader == "n1" else 4.5)  # stamped, and not applied here
    answer = trio.read(READER, timestamp(500))
    trio.later(100)
    assert write.value.commit_ts <= timestamp(500)
    assert answer.value.rows == (row(1, 5),)


def test_a_lone_replica_with_a_slow_disk_waits_for_it() -> None:
    """What it has stamped and not stored yet is not committed yet, and will be."""
    lone = Trio(replicas=1)
    lone.later(5)
    lone["n1"].node.disk_delay_us = 30_000
    write = lone.send(OLD, "put", 1, (1, 5), one_phase=True)
    lone.later(10)
    answer = lone.read(READER, timestamp(500))
    lone.later(100)
    assert write.value.commit_ts <= timestamp(500)
    assert answer.value.rows == (row(1, 5),)


# --- intents in the way ---------------------------------------------------------------------------


class Asked(Trio):
    """Transaction OLD has an intent under key 1 over a committed row; its coordinator answers."""

    def __init__(self, state: str) -> None:
        super().__init__()
        self.before = committed(self, YOUNG, 1, 4)
        self.ran("n1", intent(OLD, value=5))
        self.ran("n1", SafeTimeSync())
        self.requests: list[TxStateRequest] = []
        self.state = state
        self["n1"].node.handlers[TxStateRequest] = self._answer

    def _answer(self, sender: str, request: TxStateRequest) -> TxState:
        del sender
        self.requests.append(request)
        return TxState(Timestamp(0), Fate(self.state))

    def seen(self, read_ts: Timestamp, to: str = "n2") -> Any:
        answer = self.read(READER, read_ts, to=to)
        self.later(60)
        return answer.value.rows


def now(trio: Trio) -> Timestamp:
    return trio.local("n2").machine.safe_ts


@pytest.mark.parametrize("state", ["pending", "aborted"])
def test_an_intent_that_is_not_committed_by_then_is_not_seen(state: str) -> None:
    """Its coordinator answers, and will commit later than read_ts."""
    trio = Asked(state)
    read_ts = now(trio)
    assert trio.seen(read_ts) == (row(1, 4),)
    assert trio.requests[0].read_ts == read_ts


@pytest.mark.parametrize(("later_ms", "value"), [(0, 5), (1, 4)])
def test_an_intent_that_was_committed_by_then_is_seen_before_its_cleanup_comes(
    later_ms: int, value: int
) -> None:
    """The coordinator has dropped it; the commit partition has its outcome."""
    trio = Asked("unknown")
    commit_ts = timestamp(round(trio.loop.now_us / 1000) - 5)
    trio.ran("n1", SafeTimeSync())
    trio.local("n1").machine.outcomes[OLD] = Outcome(commit_ts, (PLACE,))
    read_ts = Timestamp(commit_ts - later_ms)
    assert trio.seen(read_ts) == (row(1, value),)


def test_an_intent_whose_cleanup_came_meanwhile_is_read_as_what_it_has_become() -> None:
    """Not twice, and not from before."""
    trio = Asked("deciding")
    read_ts = now(trio)
    answer = trio.read(READER, read_ts, to="n2")
    trio.later(2)
    trio.ran("n1", CleanUp(OLD, Timestamp(read_ts - 1)), within_ms=5)
    trio.state = "unknown"
    trio.later(50)
    assert answer.value.rows == (row(1, 5),)


def test_reader_recovers_unknown_transaction() -> None:
    """It aborts, and the row from before is read."""
    trio = Asked("unknown")
    assert trio.seen(now(trio)) == (row(1, 4),)
    assert trio.local("n1").machine.ended[OLD] is None
    assert trio["n1"].node.probes["coordinator-recovery"] == 1
