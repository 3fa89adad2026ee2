"""Majorities of groups of any size: the protocol agrees with the model, faults are seen."""

from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.replication.majorities import compare_majorities
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.raft.replication import Replication
from ddlsim.protocol.replication.group import Group
from tests.support.edits import edited


def differences() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    compare_majorities(Models(found.append, Loop()).divergence("majorities", "n1"))
    return found


FAULTS: dict[str, tuple[Any, str, str, str]] = {
    "half of them, heard": (
        Group, "_majority_heard_us", "(len(heard) - 1) // 2", "len(heard) // 2",
    ),
    "half of them, stored": (
        Replication, "_advance_commit", "stored[-self._quorum]", "stored[len(stored) // 2]",
    ),
    "half of them": (
        Replication, "__init__", "len(voters) // 2 + 1", "(len(voters) + 1) // 2",
    ),
}  # fmt: skip


def test_a_group_of_any_size_does_what_a_majority_of_it_does() -> None:
    assert differences() == []


@pytest.mark.parametrize("name", FAULTS)
def test_another_number_than_a_majority_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, before, after = FAULTS[name]
    monkeypatch.setattr(owner, method, edited(owner, method, before, after))
    assert differences() != []
