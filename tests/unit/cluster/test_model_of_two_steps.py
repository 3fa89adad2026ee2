"""The model of mandatory columns in two steps: it agrees with the design, and sees faults in it."""

import pytest

from ddlsim.cluster.models.design.two_steps import compare_steps
from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.run import run
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.plan.plan import plan
from ddlsim.protocol.design import mandatory_columns
from ddlsim.scenario.load import load
from ddlsim.strategies.base import STRATEGIES
from tests.support.edits import edited

SCENARIOS = ("strategies/B12-T1-control",)


def parts() -> set[str]:
    planned = [plan(load(name), 0, models=True) for name in SCENARIOS]
    return {one.part for each in planned for one in run(each).of(PartDiverged)}


def test_the_design_does_what_its_model_does() -> None:
    assert parts() == set()


FAULTS = {
    "reads before the columns are pending everywhere": (
        "await node.clock_passes(strategy.acknowledge_ts(done.activation_ts, skew_ms))",
        "await node.clock_passes(done.activation_ts)",
    ),
    "reads as of now": (
        "pended, done.activation_ts)", "pended, node.clock.now())",
    ),
    "confirms whatever there is": (
        "partial(_ended, pended, why)", "partial(_ended, pended, None)",
    ),
    "does not read": (
        "why = await _why_not_empty(change, op, pended, done.activation_ts)", "why = None",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_step_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = mandatory_columns.install_pending_first
    fault = edited(mandatory_columns, rule.__name__, *FAULTS[name])
    monkeypatch.setattr(rule, "__code__", fault.__code__)
    assert "rules" in parts()


BETWEEN = {
    "confirms the columns that are left": (
        "_ended", "why is None and len(left) == len(ids)", "why is None",
    ),
    "keeps one of them": ("_ended", "not in ids)", "not in ids or column.name == 'b')"),
    "cancels what was renamed": (
        "_ended", "column.id in ids]\n    if not left", "column.name in 'ab']\n    if not left",
    ),
}  # fmt: skip
"""Faults that another statement between the steps shows."""


def beside() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    steps = Models(found.append, Loop()).divergence("steps", "n1")
    compare_steps(steps, STRATEGIES.get("b12_two_step"))
    return found


def test_the_design_ends_the_columns_that_are_left_as_its_model_does() -> None:
    assert beside() == []


@pytest.mark.parametrize("name", BETWEEN)
def test_a_fault_in_what_is_left_of_the_columns_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, before, after = BETWEEN[name]
    fault = edited(mandatory_columns, function, before, after)
    monkeypatch.setattr(mandatory_columns, function, fault)
    assert beside() != []
