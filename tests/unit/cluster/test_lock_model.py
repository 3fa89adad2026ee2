"""The models of a lock table and of waits for locks: what the end of a lease takes away."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.parts import modelled
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.transaction.lock_waits import LockWaits
from ddlsim.protocol.transaction.locks import IX, LockTable, X
from ddlsim.units import Timestamp
from tests.support.edits import edited
from tests.support.primary import OLD, YOUNG
from tests.support.protocol import FakeNode, Wire, run_until
from tests.unit.protocol.test_lock_waits import PARTITION, operate


def release_tables(method: Any) -> Callable[..., None]:
    def planted(self: Any, _table_id: int, partition: int) -> None:
        for other in {place[0] for place in self._holders}:
            method(self, other, partition)

    return planted


@pytest.mark.parametrize("faulty", [False, True])
def test_the_end_of_a_lease_takes_the_locks_of_its_partition(
    faulty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if faulty:
        fault = release_tables(LockTable.release_place)
        monkeypatch.setattr(LockTable, "release_place", fault)
    recorded: list[PartDiverged] = []
    loop = Loop()
    locks = modelled(Models(recorded.append, loop)).locks(loop.future)
    older, younger = (TxId(Timestamp(begin), 0, f"T{begin}") for begin in (1, 2))
    assert locks.acquire(younger, (1, 0, "a"), X) is True
    assert locks.acquire(younger, (2, 0, "a"), X) is True
    waits = locks.acquire(older, (1, 0, "a"), X)
    locks.release_place(1, 0)
    assert not isinstance(waits, bool)
    assert waits.value is False
    assert len(recorded) == faulty


def ends_at_once(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, *asked: Any, **answer: Any) -> Reason:
        await method(self, *asked, **answer)
        return Reason.TX_FINISHED

    return planted


@pytest.mark.parametrize("taken", [True, False])
def test_a_wait_that_ends_with_its_lease_may_be_followed_by_a_copy_that_gets_the_lock(
    taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one instant; without an end of the lease, the operation is not to be refused."""
    if not taken:
        monkeypatch.setattr(LockWaits, "_wait_for", ends_at_once(LockWaits._wait_for))
    recorded: list[PartDiverged] = []
    loop, row = Loop(), (1, 0, 7)
    parts = modelled(Models(recorded.append, loop))
    node = FakeNode("a", Wire(loop), orphan_check_ms=100)
    locks = parts.locks(node.future)
    waits = parts.lock_waits(cast("Any", node), locks, lambda _: False, lambda _: None)
    came: list[object] = []

    async def ask() -> None:
        came.append(await waits.locked(operate(OLD), ((PARTITION, IX), (row, X))))

    assert locks.acquire(YOUNG, row, X) is True
    node.spawn(ask())
    run_until(loop, 5)
    if taken:
        locks.release_place(1, 0)
    else:
        locks.release_all(YOUNG)
    assert locks.acquire(OLD, row, X) is True
    run_until(loop, 6)
    assert came == [Reason.TX_FINISHED]
    assert len(recorded) == (not taken)


@pytest.mark.parametrize("checks", [True, False])
def test_what_was_refused_a_lock_and_has_ended_does_not_ask_again(
    checks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not checks:
        fault = edited(LockWaits, "_wait_for", "if self._has_ended(request):", "if False:")
        monkeypatch.setattr(LockWaits, "_wait_for", fault)
    recorded: list[PartDiverged] = []
    loop, row, ended = Loop(), (1, 0, 7), [False]
    parts = modelled(Models(recorded.append, loop))
    node = FakeNode("a", Wire(loop), orphan_check_ms=10_000)
    locks = parts.locks(node.future)
    waits = parts.lock_waits(cast("Any", node), locks, lambda _: ended[0], lambda _: None)

    async def ask() -> None:
        await waits.locked(operate(YOUNG), ((PARTITION, IX), (row, X)))

    assert locks.acquire(OLD, row, X) is True
    node.spawn(ask())
    run_until(loop, 0)
    ended[0] = True
    run_until(loop, 1000)
    assert len(recorded) == (not checks)
