"""Watches of a storage server beside a run: they fire as their model does; faults are seen."""

from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.store_models.watch_walk import walk_watches
from ddlsim.fdb.storage import Storage
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from tests.support.edits import edited

SEEDS = 20


def differences() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    for seed in range(SEEDS):
        walk_watches(Models(found.append, Loop()), seed)
    return found


def test_watches_fire_as_the_model_has_it() -> None:
    assert differences() == []


FAULTS = {
    "a rollback looks at no watch": (
        "_roll_back", "self._look_at_watches(self._store.roll_back(end))",
        "self._store.roll_back(end)",
    ),
    "a pull looks at no watch": ("_apply", "if self._watches:", "if False:"),
    "a watch of a key with another value waits": (
        "watch", "if store.latest(request.key) != request.value:", "if False:",
    ),
    "every watch of a key that was written fires": (
        "_look_at_watches", "if seen != value and not changed.done:", "if not changed.done:",
    ),
    "one watch of a key fires": (
        "_look_at_watches", "changed.set(True)", "changed.set(True)\n                    break",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_watches_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, before, after = FAULTS[name]
    fault: Any = edited(Storage, method, before, after)
    monkeypatch.setattr(Storage, method, fault)
    assert differences() != []
