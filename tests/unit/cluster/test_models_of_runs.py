"""Which runs are compared with models."""

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.model.hlc import HybridClock
from ddlsim.plan import swarm
from ddlsim.shrink import failing
from ddlsim.shrink.shrink import Budget
from ddlsim.verify.campaign import Job, Runner
from tests.unit.cluster.test_models import OVERRIDES, SEEDS, differences, drawn, never_merge, ran


def test_a_run_without_models_is_the_same_and_sees_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ran(1).fingerprint() == run(replace(drawn(1), models=False)).fingerprint()
    monkeypatch.setattr(HybridClock, "update", never_merge(None))
    seed = next(seed for seed in SEEDS if differences(run(drawn(seed))))
    assert differences(run(replace(drawn(seed), models=False))) == []


def test_runs_of_a_seed_and_of_its_shrinking_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HybridClock, "update", never_merge(None))
    seed = next(seed for seed in SEEDS if differences(run(drawn(seed))))
    row = Runner(Job("", "", OVERRIDES, swarm=True)).row(seed)
    assert "clock-diverged" in {one.kind for one in row.violations}
    world = swarm.scenario(swarm.source_of(None, OVERRIDES), seed)
    assert failing.begun(world, seed, Budget()).failure.models
