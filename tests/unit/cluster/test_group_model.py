"""The model of a group sees a proposal that gets the result of another leader's entry."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.replication.group import ModelledGroup
from ddlsim.cluster.models.replication.member import ModelledMember
from ddlsim.history.world_events import PartDiverged
from ddlsim.protocol.raft import AppendEntries, Entry
from ddlsim.protocol.replication.group import Group
from ddlsim.units import timestamp
from tests.support.replicas import Replicas, Said


def whatever_stands_there(method: Callable[[Group], None]) -> Callable[[Group], None]:
    def planted(self: Any) -> None:
        waiting = self._waiting.pop(self.member.committed[0][0], None)
        method(self)
        if waiting is not None:
            waiting.set(self._last_result[1])

    return planted


@pytest.mark.parametrize("faulty", [False, True])
def test_a_proposal_gets_no_result_of_another_entry(
    faulty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if faulty:
        monkeypatch.setattr(Group, "_apply_next", whatever_stands_there(Group._apply_next))
    found: list[PartDiverged] = []

    def modelled(node: Any, name: str, machine: Any, **named: Any) -> Any:
        of_cluster = {"models": Models(found.append, node.loop)}
        member = type("Member", (ModelledMember,), of_cluster)
        group: Any = type("Group", (ModelledGroup,), of_cluster)
        return group(node, name, machine, member_class=member, **named)

    group_class: Any = modelled
    trio = Replicas(group_class=group_class)
    trio.cut = {"a"}
    trio.say("a", "lost")
    kept = Entry(2, Said(timestamp(9), "kept"))
    trio["a"].receive("b", AppendEntries(2, 0, 0, (kept,), 1))
    assert ["another result" in one.what for one in found] == [True] * faulty
