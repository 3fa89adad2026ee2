"""A resolver's window beside a run: versions to come that have gone by when they are told."""

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.store_models.walks import walk_store
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from tests.support.edits import edited


def parts(seed: int) -> set[str]:
    found: list[PartDiverged] = []
    walk_store(Models(found.append, Loop()), seed)
    return {one.part for one in found}


def test_a_version_that_has_gone_by_takes_no_later_write_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not any(map(parts, range(3)))
    fault = edited(ConflictWindow, "_let_come", "if at > self._points.get(key, -1):", "if True:")
    monkeypatch.setattr(ConflictWindow, "_let_come", fault)
    assert [parts(seed) for seed in range(3)] == [{"conflicts"}] * 3
