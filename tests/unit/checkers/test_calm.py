"""From when on a run is calm, so that I9 judges what never comes."""

import pytest

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.progress.calm import Calm
from ddlsim.history.world_events import (
    ClockSet,
    FaultBegan,
    FaultHealed,
    LeaderElected,
    TrafficDelayed,
)
from tests.support.history import Story
from tests.support.quiet_runs import (
    COMPLETE,
    NODE,
    PLACE,
    quiet,
)

SETTLED = 2000 + PLACE + COMPLETE + 50


def calm_from(story: Story) -> float | None:
    found = Calm(Case(story.history())).from_us
    return None if found is None else found / 1000


@pytest.mark.parametrize(
    ("timeout_ms", "behind_ms"), [(1000, SETTLED), (9000, 9000 + NODE["election_spread_ms"] + 4)]
)
def test_a_run_is_calm_behind_one_round_of_an_election_at_least(
    timeout_ms: int, behind_ms: int
) -> None:
    """The leader may have died of the last fault, and the run end before there is another one."""
    story = quiet(100, election_timeout_ms=timeout_ms)
    story.add(10, FaultHealed, "pause", "n2", ("n2",))
    assert calm_from(story) == 10 + behind_ms


@pytest.mark.parametrize(
    ("changes", "calm"),
    [
        ({}, True),
        ({"heartbeat_idle_ms": 98}, False),
        ({"heartbeat_idle_ms": 97}, True),
        ({"heartbeat_ms": 98}, False),
        ({"election_timeout_ms": 52}, False),
    ],
)
def test_elections_wait_for_longer_than_heartbeats_and_their_answers(
    changes: dict[str, int], *, calm: bool
) -> None:
    assert calm_from(quiet(100, **changes)) == (0 if calm else None)
    assert calm_from(quiet(100, cluster={"voters": 1}, **changes)) == 0


@pytest.mark.parametrize("changes", [{"lease_duration_ms": 129}, {"lease_grant_ms": 11}])
def test_leases_last_for_longer_than_it_takes_to_replace_one(changes: dict[str, int]) -> None:
    assert Calm(Case(quiet(100).history())).leases_last
    assert not Calm(Case(quiet(100, **changes).history())).leases_last


def test_a_run_is_calm_once_the_last_disturbance_has_settled() -> None:
    story = quiet(9000)
    story.add(0, ClockSet, "n1", 0, 0)
    story.add(100, FaultBegan, "clog", "n1", ("n1",))
    story.add(200, FaultHealed, "clog", "n1", ("n1",))
    assert calm_from(story) == 200 + SETTLED
    story.add(150, TrafficDelayed, "clog", ("n1",), 70_000)
    assert calm_from(story) == 270 + SETTLED
    story.settings[""]["slow_apply_us"] = 70_000
    assert calm_from(story) == 270 + SETTLED
    story.settings[""]["slow_apply_us"] = 80_000
    assert calm_from(story) == 280 + SETTLED
    del story.settings[""]["slow_apply_us"]
    story.add(290, LeaderElected, "n1", "meta", 2)
    assert calm_from(story) == 290 + SETTLED
    story.add(270 + 20 * 204, LeaderElected, "n1", "meta", 3)
    assert calm_from(story) == 270 + 20 * 204 + SETTLED
    story.add(271 + 20 * 204, LeaderElected, "n1", "meta", 4)
    assert calm_from(story) == 270 + 20 * 204 + SETTLED


def test_a_leader_that_hands_over_by_a_script_disturbs_a_run() -> None:
    assert calm_from(quiet(9000, cluster={"handed_over_us": 40_000})) == 40 + SETTLED


def test_a_loss_or_a_script_is_never_calm() -> None:
    assert calm_from(quiet(100, cluster={"calm": 0})) is None
