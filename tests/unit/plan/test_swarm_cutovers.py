"""Worlds with transactions across the switches of indexes: whose they are, and what they show."""

from typing import Any

import pytest

from ddlsim.plan import swarm
from ddlsim.plan.aims import cutovers
from ddlsim.plan.aims import watches as swarm_watches
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import OFF
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.verify.campaign import Job, Runner
from tests.support.drawn_worlds import data_of, drawn_of, under

pytestmark = pytest.mark.slow

COUNTED = ("c10_two_cutoffs", "c9_future_cv")
MANY = range(60)


def drawn(design: str, seed: int) -> swarm.Drawn:
    return drawn_of(seed, design)


def watches(name: str) -> bool:
    """Whether the worlds of a design are about watches, too."""
    return any(one.__name__ in swarm_watches.TASKS for one in LAYER_DESIGNS.get(name).background)


@pytest.mark.parametrize(
    "name", [name for name in LAYER_DESIGNS if name not in COUNTED and not watches(name)]
)
def test_worlds_of_other_designs_stay_what_they_were(name: str) -> None:
    one = drawn(name, 3)
    assert one.text == drawn("c1_schema", 3).text
    assert "cutovers" not in one.knobs


def test_about_so_many_worlds_have_them_and_all_can_be_planned() -> None:
    worlds = [drawn("c10_two_cutoffs", seed) for seed in MANY]
    count = sum(one.knobs["cutovers"] != OFF for one in worlds)
    assert 0.75 * cutovers.CUTOVERS < count / len(MANY) < 1.3 * cutovers.CUTOVERS
    lengths = {one.knobs.get("length of writers") for one in worlds} - {None}
    assert lengths == {*cutovers.LENGTHS}
    for seed in MANY[:20]:
        assert plan(swarm.scenario(under("c9_future_cv"), seed), seed).store is not None


def test_a_load_lasts_for_the_states_of_an_index() -> None:
    for seed in MANY:
        one = drawn("c9_future_cv", seed)
        if one.knobs["cutovers"] != OFF:
            world = data_of(seed, "c9_future_cv")
            window_ms = world["fdb"]["window_ms"]
            assert world["run"]["load_ms"] >= cutovers.LOAD * window_ms
            assert world["protocol"]["tx_timeout_ms"] >= 14 * window_ms
            assert world["strategy"]["distance_ms"] > window_ms
            assert "migration" not in world


def test_their_windows_leave_time_to_send_lost_messages_again() -> None:
    worlds = [data_of(seed, "c9_future_cv") for seed in range(150)]
    lossy = [world["fdb"] for world in worlds if "loss" in world["network"]]
    assert len(lossy) > 20
    assert all(store["window_ms"] >= 4 * store["request_ms"] for store in lossy)


def test_in_some_others_switches_follow_each_other_within_a_window() -> None:
    worlds = {seed: drawn("c10_two_cutoffs", seed).knobs for seed in MANY}
    others = [knobs for knobs in worlds.values() if knobs["cutovers"] == OFF]
    near = [seed for seed, knobs in worlds.items() if knobs["switches near"] != OFF]
    assert 0.5 * cutovers.NEAR < len(near) / len(others) < 1.6 * cutovers.NEAR
    for seed in near:
        world = data_of(seed, "c10_two_cutoffs")
        window_ms = world["fdb"]["window_ms"]
        assert worlds[seed]["cutovers"] == OFF
        assert world["strategy"]["distance_ms"] <= window_ms
        assert window_ms in cutovers.WINDOWS_MS
        assert plan(swarm.scenario(under("c9_future_cv"), seed), seed).store is not None


def broken(seed: int, **strategy: Any) -> set[str]:
    """The invariants that a drawn world breaks, claimed or not."""
    settings = {f"strategy.{key}": value for key, value in strategy.items()}
    row = Runner(Job("", "", settings, swarm=True, all_claims=True, models=False)).row(seed)
    assert row.crash is None
    return {one.invariant for one in row.violations}


def test_without_read_conflicts_two_cutoffs_leave_entries_behind() -> None:
    """C10-T2: cv - rv is longer than a window; with read conflicts nothing of the kind commits."""
    assert "I7" in broken(5, name="c10_two_cutoffs", options="CAUSAL_WRITE_RISKY")
    assert "I7" not in broken(5, name="c10_two_cutoffs")


def test_a_second_cutoff_too_early_leaves_entries_behind() -> None:
    """C10-T1: in three states, for in four what crosses one switch is harmless.

    In them a blind delete may still cross (seed 9), whatever the cutoffs.
    """
    few = {"name": "c10_two_cutoffs", "plan": "three_states"}
    for seed in (5, 12):
        assert "I7" in broken(seed, **few, cutoff_percent=0)
        assert "I7" not in broken(seed, **few)


def test_one_switch_alone_is_crossed() -> None:
    """C9-T1; a second cutoff a window later is the remedy."""
    assert "I7" in broken(5, name="c9_future_cv")
    assert "I7" not in broken(5, name="c10_two_cutoffs")
