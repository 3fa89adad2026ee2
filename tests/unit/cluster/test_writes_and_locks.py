"""Models of writes on their way, and of locks that end before what they protect has."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ddlsim.cluster.models.transaction.operations import Last, ModelledExecutor
from ddlsim.cluster.models.transaction.participant import ModelledParticipant
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.partition.partition import Intent
from ddlsim.units import Timestamp

PLACE: PartitionId = (1, 0)
TX = TxId(Timestamp(5), 0, "T")
NOW = Timestamp(9)


def intent(op: str) -> Intent:
    return Intent(TX, op, NOW, 1, None, PLACE)


@pytest.mark.parametrize(
    ("pending", "lease_start", "ended", "differs"),
    [
        ("second", 3, False, False),
        (None, 3, False, True),
        ("first", 3, False, True),
        (None, 4, False, False),
        (None, 3, True, False),
    ],
)
def test_a_second_write_of_a_key_that_is_dropped_with_the_first_is_seen(
    pending: str | None, lease_start: int, ended: bool, differs: bool
) -> None:
    """The first is replicated; the second is pending, unless its lease or transaction is over."""
    found: list[str] = []
    executor: Any = SimpleNamespace(
        _last={(TX, PLACE, (1,)): Last("second", Timestamp(3), ("T", 1, None))},
        _on_its_way={(TX, "second"): None},
        divergence=SimpleNamespace(found=found.append),
    )
    local: Any = SimpleNamespace(
        place=PLACE,
        pending={} if pending is None else {(1,): intent(pending)},
        lease=SimpleNamespace(start_ts=Timestamp(lease_start)),
        machine=SimpleNamespace(ended={TX: None} if ended else {}),
    )
    first: Any = SimpleNamespace(tx=TX, key=(1,), op="first")
    ModelledExecutor._compare_pending(executor, local, first)
    assert bool(found) is differs


@pytest.mark.parametrize(("writes", "locked"), [(True, True), (True, False), (False, True)])
def test_locks_that_end_while_intents_stay_are_seen(writes: bool, locked: bool) -> None:
    found: list[str] = []
    machine = SimpleNamespace(ended={}, ops_of=lambda _: ("o",) if writes else ())
    local = SimpleNamespace(pending={}, machine=machine)
    participant: Any = ModelledParticipant.__new__(ModelledParticipant)
    participant.replicas = SimpleNamespace(members={PLACE: local})
    participant.locks = SimpleNamespace(
        holds_at=lambda *_: locked, release_all=lambda _: None, holds_any=lambda _: False
    )
    participant._active, participant._executed = {}, {}
    participant._divergence = cast("Any", SimpleNamespace(found=found.append))
    participant.release(TX)
    assert bool(found) is (writes and locked)
