"""The true skew of the clocks and the true delay of updates, as the history tells them."""

from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.checkers.assumptions import (
    Clocks,
    delay_beyond_bound,
    elections_too_quick,
    skew_beyond_bound,
)
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.history.events import SafeTimeAdvanced
from ddlsim.history.world_events import FaultBegan, LeaderElected, NodeCrashed, NodeRestarted
from ddlsim.strategies.base import STRATEGIES
from tests.support.history import Story, add_column, ts


def skew_us(story: Story, end_ms: int = 100) -> int:
    history = story.history()
    history.end_us = end_ms * 1000
    return Clocks(Case(history)).largest_skew().us


def clocks(**nodes: float) -> Story:
    story = Story(settings={"": {"max_clock_skew_ms": 10}, "n1": {}, "n2": {}})
    for node, offset_ms in nodes.items():
        story.clock(node, offset_ms)
    return story


def test_the_largest_difference_of_any_two_clocks() -> None:
    assert skew_us(clocks(n1=-3, n2=4, n3=5)) == 8_000


def test_a_node_without_a_clock_event_shows_true_time() -> None:
    assert skew_us(clocks(n2=4)) == 4_000
    assert skew_us(clocks()) == 0


def test_a_step_ends_the_piece_before_it() -> None:
    story = clocks(n1=0, n2=6)
    story.clock("n2", -2, at=50)
    assert skew_us(story) == 8_000
    story.clock("n2", -9, at=60)
    assert skew_us(story) == 9_000


def test_what_a_clock_has_shown_counts_until_true_time_has_caught_up() -> None:
    """A bound over time: n1 shows 12 ms less than n2 had shown, and n2 10 less than itself had."""
    story = clocks(n1=0, n2=8)
    story.clock("n2", 0, at=50)
    story.clock("n1", -4, at=50)
    assert skew_us(story) == 12_000
    story = clocks(n2=8)
    story.clock("n2", -2, at=50)
    assert skew_us(story) == 10_000
    told = skew_beyond_bound(Case(corrected_twice(53).history()))
    assert told == (
        "at 53 ms the clock of n1 showed 11 ms less than that of n2 had shown at 50 ms, more than "
        "CSmax = 10 ms"
    )
    assert skew_beyond_bound(Case(corrected_twice(54).history())) is None


def corrected_twice(second_at: float) -> Story:
    """n2 is 8 ahead and set back at 50; n1 is set back by 6 later. Never are they 10 apart."""
    story = clocks(n1=0, n2=8)
    story.clock("n2", 0, at=50)
    story.clock("n1", -6, at=second_at)
    return story


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["n1", "n2", "n3"]),
            st.integers(-9, 9),
            st.integers(0, 99),
            st.sampled_from([0, -200_000, 100_000]),
        ),
        max_size=6,
    )
)
def test_largest_skew_is_the_maximum_over_all_pairs_of_instants(
    steps: list[tuple[str, int, int, int]],
) -> None:
    """The oracle looks at each clock every 50 us, and takes any later look from any earlier."""
    story = Story(settings={"": {"max_clock_skew_ms": 10}, "n1": {}, "n2": {}, "n3": {}})
    in_order = sorted(steps, key=itemgetter(2))
    for node, offset_ms, at, ppm in in_order:
        story.clock(node, offset_ms, at=at, drift_ppm=ppm)
    furthest, largest = -(10**9), 0
    for now_us in range(0, 100_001, 50):
        looks = [_look(in_order, node, now_us) for node in ("n1", "n2", "n3")]
        furthest = max(furthest, *looks)
        largest = max(largest, furthest - min(looks))
    assert largest <= skew_us(story) <= largest + 50 * 1.4


def _look(steps: list[tuple[str, int, int, int]], node: str, now_us: int) -> int:
    """What a clock shows, by the last step that it had taken."""
    shown = now_us
    for name, offset_ms, at, ppm in steps:
        if name == node and at * 1000 <= now_us:
            shown = now_us + offset_ms * 1000 + ppm * (now_us - at * 1000) // 1_000_000
    return shown


def test_two_steps_at_one_instant_are_one() -> None:
    """Both clocks jump together: they were never apart."""
    story = clocks()
    story.clock("n1", 20, at=50)
    story.clock("n2", 20, at=50)
    assert skew_us(story) == 0


def test_a_drift_counts_up_to_its_end() -> None:
    story = clocks(n1=0)
    story.clock("n2", 1, at=0, drift_ppm=100_000)
    assert skew_us(story, end_ms=100) == 11_000
    story.clock("n2", 0, at=50)
    assert skew_us(story, end_ms=100) == 6_000


@pytest.mark.parametrize(("offset_ms", "broken"), [(10, False), (10.001, True), (-10.001, True)])
def test_the_bound_is_within_the_assumption(offset_ms: float, broken: bool) -> None:
    told = skew_beyond_bound(Case(clocks(n1=0, n2=offset_ms).history()))
    assert (told is not None) == broken


def test_the_smallest_bound_that_is_configured_anywhere_counts() -> None:
    story = Story(settings={"": {"max_clock_skew_ms": 10}, "n1": {"max_clock_skew_ms": 3}})
    story.clock("n2", 5)
    assert skew_beyond_bound(Case(story.history()))


def test_without_a_bound_nothing_is_beyond_it() -> None:
    story = Story(settings={})
    story.clock("n2", 5_000)
    assert skew_beyond_bound(Case(story.history())) is None


def applied(at_ms: float, *, offset_ms: float = 0) -> str | None:
    story = clocks(n2=offset_ms)
    t = story.table()
    story.applied("n3", 0, 1, 0)
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=5)
    story.applied("n3", at_ms, 2, 20)
    return delay_beyond_bound(Case(story.history()))


@pytest.mark.parametrize(
    ("at_ms", "offset_ms", "late"),
    [(19.9, 0, False), (20, 0, True), (14.9, 5, False), (15, 5, True), (16, -5, False)],
)
def test_an_update_is_late_when_a_clock_already_shows_its_activation(
    at_ms: float, offset_ms: float, late: bool
) -> None:
    """A hybrid clock may tick past Tu within its millisecond."""
    assert (applied(at_ms, offset_ms=offset_ms) is not None) == late


@pytest.mark.parametrize(
    ("fault", "group", "node", "at", "broken"),
    [
        ("re_election", "meta", "n2", 25, True),
        ("re_election", "meta", "n2", 30, False),  # an election timeout later
        ("re_election", "meta", "n1", 25, False),  # the same leader again
        ("re_election", "1/0", "n2", 25, False),
        ("pause", "meta", "n2", 25, False),
    ],
)
def test_a_rival_that_is_made_to_stand_is_elected_too_quickly(
    fault: str, group: str, node: str, at: float, *, broken: bool
) -> None:
    story = Story(settings={"": {"election_timeout_ms": 10}, "n1": {}, "n2": {}})
    story.add(5, LeaderElected, "n1", "meta", 1)
    story.add(20, FaultBegan, fault, None)
    story.add(at, LeaderElected, node, group, 2)
    assert (elections_too_quick(Case(story.history())) is not None) is broken


@pytest.mark.parametrize(("apart_ms", "status"), [(40, "violation"), (60, "out_of_assumption")])
def test_a_restarted_nodes_safe_time_rests_on_ordered_stamps_under_ignite3(
    apart_ms: int, status: str
) -> None:
    """It is the last stamp of its log: lower where clocks differ by more than an election takes."""
    settings = {"max_clock_skew_ms": 100, "election_timeout_ms": 50}
    story = Story(settings={"": settings, "n1": {}, "n2": {}})
    story.design = STRATEGIES.get("ignite3").header
    story.clock("n2", apart_ms)
    story.add(20, SafeTimeAdvanced, "n1", ts(19))
    story.add(21, NodeCrashed, "n1")
    story.add(30, NodeRestarted, "n1", 2)
    story.add(30, SafeTimeAdvanced, "n1", ts(18))
    found = judge(story.history()).violations
    assert [one.status for one in found if one.kind == "safe-time-went-back"] == [status]
