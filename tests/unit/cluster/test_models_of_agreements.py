"""The model of statements in which every node has a part sees faults planted in either side."""

from typing import Any

import pytest

from ddlsim.cluster.models.design.agreements import walk_barriers
from ddlsim.cluster.models.divergence import Models
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.barriers import Barriers
from ddlsim.protocol.design import agreed_installs, border_rules
from tests.support.edits import edited, plant
from tests.support.kept_worlds import part_in, stop_at_differences

NODES: dict[str, tuple[str, str, str, str, int]] = {
    "is asked once whether it is unused": (
        "b16_mdl", "_on_prepare", "while request.once_unused", "if request.once_unused", 3,
    ),
    "leaves transactions open": (
        "a3_barrier", "_on_prepare", "self._users.abort_users(request.object_ids)", "pass", 3,
    ),
    "stays open": (
        "a3_barrier", "_on_prepare", "self._is_up.setdefault(request.op, True)", "True", 3,
    ),
    "opens before it has the update": (
        "a3_barrier", "_on_switch", "await self._catalog_reaches(request.version)", "pass", 3,
    ),
    "stays closed": ("a3_barrier", "_on_switch", "if self.is_open:", "if False:", 3),
}  # fmt: skip
"""By what a node does wrong: a design, a method, what is replaced in it, and a kept world."""
STATEMENTS: dict[str, tuple[str, Any, str, str, str, int]] = {
    "asks for the version before": (
        "a8_all_acks", agreed_installs, "install_and_hear_from_all", "op, done.version",
        "op, done.version - 1", 3,
    ),
    "asks no node": (
        "a8_all_acks", agreed_installs, "install_and_hear_from_all", "if done is not None:",
        "if False:", 3,
    ),
    "does not ask whether tables are unused": (
        "b16_mdl", border_rules, "install_once_unused", ", once_unused=True", "", 3,
    ),
    "asks for no table": (
        "b16_mdl", border_rules, "install_once_unused", "op, objects,", "op, (),", 3,
    ),
    "tells no node": (
        "a4_ack_gate", agreed_installs, "install_once_known_everywhere",
        "if not isinstance(built, NoOp | Refused):", "if False:", 3,
    ),
    "closes no node": (
        "a3_barrier", agreed_installs, "_install", "closes=True", "closes=False", 3,
    ),
}  # fmt: skip
"""By what a statement does wrong: a design, a module, a function, the edit, and a kept world."""


@pytest.mark.parametrize("fault", NODES)
def test_a_node_that_has_not_done_its_part_and_agrees_is_seen(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, name, before, after, seed = NODES[fault]
    stop_at_differences(monkeypatch)
    plant(monkeypatch, Barriers, name, before, after)
    assert part_in(seed, strategy) == "barriers"


@pytest.mark.parametrize("fault", STATEMENTS)
def test_a_statement_without_the_part_of_some_node_is_seen(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, module, name, before, after, seed = STATEMENTS[fault]
    stop_at_differences(monkeypatch)
    found = edited(module, name, before, after)
    monkeypatch.setattr(getattr(module, name), "__code__", found.__code__)
    assert part_in(seed, strategy) == "rules"


@pytest.mark.parametrize("strategy", ["a3_barrier", "a4_ack_gate", "a8_all_acks", "b16_mdl"])
def test_statements_of_a_right_design_are_as_the_model_has_them(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at_differences(monkeypatch)
    assert part_in(3, strategy) is None


CLOSED = {
    "forgets what is over": (
        "_on_switch", "self._is_up[request.op] = False", "self._is_up.pop(request.op, None)",
    ),
    "opens for every statement": (
        "_on_switch", "self._is_up[request.op] = False", "self._is_up.clear()",
    ),
    "closes for what is over": (
        "_on_prepare", "self._is_up.setdefault(request.op, True)",
        "not self._is_up.update({request.op: True})",
    ),
}  # fmt: skip
"""By what a node that closes does wrong: a method, and what is replaced in it."""


def walked() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    for seed in range(3):
        walk_barriers(Models(found.append, Loop()), seed)
    return found


def test_a_node_closes_and_opens_as_it_is_asked_to_in_any_order() -> None:
    assert walked() == []


@pytest.mark.parametrize("fault", CLOSED)
def test_a_node_that_closes_or_opens_wrongly_is_seen(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, Barriers, *CLOSED[fault])
    assert walked() != []
