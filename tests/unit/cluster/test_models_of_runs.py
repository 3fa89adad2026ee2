"""Which runs are compared with models."""

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.model.hlc import HybridClock
from ddlsim.plan import swarm
from ddlsim.shrink import failing
from ddlsim.shrink.shrink import Budget
from ddlsim.verify.campaign import Job, Runner
from tests.support.kept_worlds import SEEDS, differences, plan_of
from tests.unit.cluster.test_models import never_merge

OVERRIDES = {"strategy.name": "iep_closed"}
SMALL = 11  # of the first worlds the smallest


def test_a_run_without_models_is_the_same_and_sees_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(plan_of(1)).fingerprint() == run(replace(plan_of(1), models=False)).fingerprint()
    monkeypatch.setattr(HybridClock, "update", never_merge(None))
    seed = next(seed for seed in SEEDS if differences(run(plan_of(seed))))
    assert differences(run(replace(plan_of(seed), models=False))) == []


def test_runs_of_a_seed_and_of_its_shrinking_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HybridClock, "update", never_merge(None))
    runner = Runner(Job("", "", OVERRIDES, swarm=True))
    row = next(row for row in map(runner.row, (SMALL, *range(20))) if row.failed)
    assert "clock-diverged" in {one.kind for one in row.violations}
    world = swarm.scenario(swarm.source_of(None, OVERRIDES), row.seed)
    assert failing.begun(world, row.seed, Budget()).failure.models
