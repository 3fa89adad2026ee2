"""LockWaits: which locks, in which order, how long, and probes of blockers."""

from collections.abc import Coroutine
from typing import Any

from msgspec.structs import replace

from ddlsim.history.events import LockWaited
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import IndexKey, TxId
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.lock_waits import LockWaits, locks_of
from ddlsim.protocol.transaction.locks import IX, LockTable, S, X
from ddlsim.units import Micros, Timestamp
from tests.support.engine import scheduled
from tests.support.primary import LAST, OLD, YOUNG
from tests.support.protocol import FakeNode, Loop, Wire, run_until, without_wait

ROW, PARTITION = (1, 0, 7), (1, 0, None)


def operate(who: TxId, action: str = "put") -> Operate:
    return Operate(Timestamp(0), who, "op", action, 1, 0, 1, None if action == "scan" else 7, None)


def locked(waits: LockWaits, request: Operate) -> Coroutine[None, None, Reason | None]:
    """Take the locks of an operation."""
    return waits.locked(request, locks_of(request))


class Waits:
    """One node's locks; `ended` are transactions that are over, `suspects` whom it asked for."""

    def __init__(self, **changes: Any) -> None:
        self.loop = Loop()
        self.node = FakeNode("a", Wire(self.loop), orphan_check_ms=100, **changes)
        self.locks = LockTable(self.node.future)
        self.ended: set[TxId] = set()
        self.suspects: list[TxId] = []
        self.waits = LockWaits(
            self.node, self.locks, lambda asked: asked.tx in self.ended, self.suspects.append
        )

    def ask(self, who: TxId, action: str = "put") -> list[Any]:
        """Ask for an operation's locks; the outcome is put into the list."""
        outcome: list[Any] = []

        async def wait() -> None:
            outcome.append(await locked(self.waits, operate(who, action)))

        self.node.spawn(wait())
        run_until(self.loop, self.loop.now_us / 1000)
        return outcome

    def until(self, at_ms: float) -> None:
        run_until(self.loop, at_ms)


def test_what_each_operation_locks() -> None:
    """A scan the whole partition, a write that and its row, a read only the row."""
    assert locks_of(operate(OLD, "get")) == ((ROW, S),)
    assert locks_of(operate(OLD, "scan")) == ((PARTITION, S),)
    for action in ("put", "delete"):
        assert locks_of(operate(OLD, action)) == ((PARTITION, IX), (ROW, X))


def test_a_lookup_locks_its_values_in_its_partition() -> None:
    """Shared: another lookup may have them too; two values of one row are two locks."""
    keys = (IndexKey(8, (1,)), IndexKey(9, ("x", 2)))
    asked = replace(operate(OLD, "lookup"), lookups=keys)
    assert locks_of(asked) == tuple(((1, 0, key), S) for key in keys)


def test_a_refused_lock_on_values_is_recorded_without_a_key() -> None:
    waits = Waits(lock_retries=0)
    asked = replace(operate(YOUNG, "lookup"), lookups=(IndexKey(8, (1,)),))
    assert waits.locks.acquire(OLD, locks_of(asked)[0][0], X) is True
    assert without_wait(locked(waits.waits, asked)) is Reason.LOCK_CONFLICT
    [event] = waits.node.events
    assert (event.object_id, event.key, event.granted) == (1, None, False)


def test_locked_takes_free_locks_without_a_wait() -> None:
    """Within the step that asks for them, so nothing is recorded."""
    waits = Waits()
    assert without_wait(locked(waits.waits, operate(OLD))) is None
    assert waits.locks.holds(OLD, ROW) == X
    assert waits.node.events == []


def test_an_older_one_waits_until_the_lock_is_free() -> None:
    """And it is written down for how long."""
    waits = Waits()
    waits.ask(YOUNG)
    outcome = waits.ask(OLD)
    waits.until(30)
    assert outcome == []
    waits.locks.release_all(YOUNG)
    waits.until(31)
    assert outcome == [None]
    [waited] = waits.node.of(LockWaited)
    assert (waited.tx, waited.waited_us, waited.granted) == ("tx1", 30_000, True)


def test_younger_transaction_is_refused_and_retries() -> None:
    """`lock_retries` times; then it gives up, and probes the blockers."""
    waits = Waits(lock_retries=2)
    waits.ask(OLD)
    outcome = waits.ask(YOUNG)
    waits.until(2 * 5_000 / 1000 - 1)
    assert outcome == []
    waits.until(2 * 5_000 / 1000)
    assert outcome == [Reason.LOCK_CONFLICT]
    assert waits.node.probes["lock-retry"] == 2
    assert waits.suspects == [OLD]
    [waited] = waits.node.of(LockWaited)
    assert not waited.granted


def test_blocking_intent_is_recorded_as_refusal() -> None:
    """Of the row; for a scan of the partition, or a value, without a key. No lock is there."""
    waits = Waits()
    waits.until(8)
    for action in ("put", "scan"):
        waits.waits.refused(operate(YOUNG, action), Micros(5_000), by_value=False)
    waits.waits.refused(operate(YOUNG), Micros(5_000), by_value=True)
    found = [(one.key, one.waited_us, one.granted) for one in waits.node.of(LockWaited)]
    assert found == [(7, 3_000, False), (None, 3_000, False), (None, 3_000, False)]


def test_a_lock_that_is_free_by_the_next_try_is_got() -> None:
    """Nobody is suspected."""
    waits = Waits()
    waits.ask(OLD)
    outcome = waits.ask(YOUNG)
    waits.locks.release_all(OLD)
    waits.until(20)
    assert outcome == [None]
    assert waits.suspects == []


def test_lock_wait_probes_blockers_periodically() -> None:
    """Also blockers that come later; no probe once the wait is over."""
    waits = Waits()
    waits.ask(YOUNG)
    waits.ask(OLD)
    waits.until(99)
    assert waits.suspects == []
    waits.until(310)
    assert waits.suspects == [YOUNG] * 3
    waits.locks.release_all(YOUNG)
    waits.until(1_000)
    assert waits.suspects == [YOUNG] * 3
    assert scheduled(waits.loop) == 0  # no timer is left


def test_locked_returns_tx_finished_after_the_end() -> None:
    """And gets nothing; its wait leaves no timer behind."""
    waits = Waits()
    waits.ask(LAST)
    outcome = waits.ask(YOUNG)
    waits.ended.add(YOUNG)
    waits.locks.release_all(YOUNG)
    waits.until(50)
    assert outcome == [Reason.TX_FINISHED]
    waits.until(1_000)
    assert waits.suspects == []


def test_locked_does_not_retry_after_the_end() -> None:
    """Else it would hold a lock for ever."""
    waits = Waits()
    waits.ask(OLD)
    outcome = waits.ask(YOUNG)
    waits.ended.add(YOUNG)
    waits.locks.release_all(OLD)
    waits.until(50)
    assert outcome == [Reason.TX_FINISHED]
    assert not waits.locks.holds(YOUNG, ROW)


def test_locked_stops_between_two_locks_after_the_end() -> None:
    """The first had to be waited for."""
    waits = Waits()
    waits.ask(YOUNG, "scan")
    outcome = waits.ask(OLD)
    waits.locks.release_all(YOUNG)
    waits.ended.add(OLD)
    waits.until(10)
    assert outcome == [Reason.TX_FINISHED]
    assert not waits.locks.holds(OLD, ROW)
