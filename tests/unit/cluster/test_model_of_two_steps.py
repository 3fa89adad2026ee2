"""The model of mandatory columns in two steps: it agrees with the design, and sees faults in it."""

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.world_events import PartDiverged
from ddlsim.plan.plan import plan
from ddlsim.protocol.design import mandatory_columns
from ddlsim.scenario.load import load
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
