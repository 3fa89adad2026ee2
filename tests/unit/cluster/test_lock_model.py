"""The model of a lock table: what the end of a lease takes away."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.parts import modelled
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.transaction.locks import LockTable, X
from ddlsim.units import Timestamp


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
