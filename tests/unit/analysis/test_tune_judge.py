"""How surely a goal is met: bounds where few or no events were seen, and seeds that would tell."""

from math import inf, isnan
from typing import Any

import numpy as np
import pytest

from ddlsim.analysis.stats import histogram, intervals
from ddlsim.analysis.sweep.rows import Cell
from ddlsim.analysis.tune.cells import Load, Setting
from ddlsim.analysis.tune.document import without_nan
from ddlsim.analysis.tune.goals import read_goal, read_goals
from ddlsim.analysis.tune.judge import FORMULA, RUNS, Judge
from ddlsim.analysis.tune.request import Request
from ddlsim.analysis.tune.runs import Figures
from ddlsim.analysis.tune.words import number, with_interval
from ddlsim.analysis.tune.world import world_of
from ddlsim.scenario.measured import parse

SETTING = Setting(100, 50, 5)
DDL = read_goal("ddl_latency_p99<=1s")
EMPTY: dict[str, Any] = {"counts": [], "total_us": 0, "max_us": 0}
CELL = Cell(number=0, name="c", text="", overrides={}, strategy="iep", mutant=None, parameters={})


def request_of(*goals: str, delay: float = 5.0) -> Request:
    delays = parse(f"delay_ms\n{delay}\n", "d.csv", "delay")
    return Request(
        world=world_of(delays, None, 3, None),
        texts={},
        goals=read_goals(list(goals)),
        strategy="iep",
        present=Setting(500, 50, 5),
        ddl_rate=1 / 60,
        load=Load(0.4, 50),
        margin=0.5,
        step=5,
        seeds=range(2),
    )


def figures(waits: list[dict[int, int]], *, commands: int, **more: int) -> Figures:
    """A row for each seed: how often each wait in us was seen, among so many commands."""

    def row(own: dict[int, int]) -> dict[str, Any]:
        total_us = sum(us * n for us, n in own.items())
        each = histogram.of(us for us, n in own.items() for _ in range(n))
        cell = {"counts": list(each.counts.items()), "total_us": total_us, "max_us": max(own)}
        waited = ("operation_wait_us", "first_wait_us", "dml_latency_us", "ddl_latency_us")
        return {
            "fingerprint": "f",
            "outcome": "ok",
            "meta_commands": commands,
            **dict.fromkeys(waited, cell),
            **more,
        }

    return Figures(CELL, [row(own) for own in waits])


def test_effective_share_is_clopper_and_pearsons() -> None:
    from scipy import stats  # takes long, and is needed here alone

    for k, n in ((3, 40), (39, 40), (40, 40)):
        exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        low, high = intervals.effective_share(k / n, n)
        assert (float(low), float(high)) == pytest.approx((exact.low, exact.high))
    assert intervals.effective_share(0.0, 299)[1] == pytest.approx(3 / 299, rel=0.01), "rule of 3"


def test_interval_of_clustered_waits_covers_the_truth() -> None:
    """What comes in clusters of 20 rests on the clusters: the quantile is held 95 % of the time."""
    dice = np.random.default_rng(1)
    held = narrow = 0
    truth = float(np.quantile(dice.exponential(10, 400_000), 0.95))
    for _ in range(300):
        values = np.round(np.repeat(dice.exponential(10, 400), 20), 2)
        at, counts = np.unique(values, return_counts=True)
        low, high = intervals.effective_quantile(counts, at, 0.95, 400)
        held += low <= truth <= high
        low, high = intervals.effective_quantile(counts, at, 0.95, len(values))
        narrow += low <= truth <= high
    assert held / 300 > 0.93
    assert narrow / 300 < 0.6, "single waits taken as independent are far too sure"


def test_zeros_bound_a_goal_only_with_enough_observations() -> None:
    goal = read_goal("dml_latency_p99<=1ms")
    judge = Judge(request_of())
    few = judge.of(goal, SETTING, figures([{500: 900}] * 2, commands=100))
    assert few.met
    assert few.high == inf, "200 commands: nothing seen above may still be more than 1 %"
    assert not few.sure
    assert few.seeds == 3, "299 commands, 100 a seed"
    many = judge.of(goal, SETTING, figures([{500: 900}] * 3, commands=100))
    assert (many.high, many.sure, many.seeds) == (0.5, True, None)
    assert many.above_most == pytest.approx(1 - 0.05 ** (1 / 300))
    one = judge.of(goal, SETTING, figures([{500: 9_000}], commands=9_000))
    assert one.high == inf, "a single seed says nothing of seeds"


def test_what_takes_longer_than_a_limit_does_not_meet_it_by_the_width_of_a_bucket() -> None:
    """1,001 ms is in a bucket that begins at 999.424 ms."""
    goal = read_goal("ddl_latency_p99<=1s")
    found = Judge(request_of()).of(goal, SETTING, figures([{1_001_000: 900}] * 9, commands=9))
    assert (found.point, found.low, found.high) == (1_001, 1_001, 1_001)
    assert found.hopeless
    mixed = figures([{1_001_000: 899, 1_200_000: 1}] * 9, commands=9)
    assert not Judge(request_of()).of(goal, SETTING, mixed).met


def test_the_closed_form_bounds_a_tail_that_the_runs_cannot() -> None:
    goal = read_goal("dml_wait_p999<=1ms")
    nothing = figures([{0: 900}] * 2, commands=100)
    judge = Judge(request_of())
    # a delay of 5 ms: the need is H 50 and three ways at most, so DD 100 leaves no wait at all
    found = judge.of(goal, SETTING, nothing)
    assert (found.high, found.high_by, found.sure) == (0.0, FORMULA, True)
    near = judge.of(goal, Setting(60, 50, 5), nothing)
    assert near.high_by == FORMULA
    assert near.high == pytest.approx(4 * (50 + 15 - 60 + 1), abs=4.1), "of four look-ups each"
    assert not near.sure
    waited = figures([{0: 800, 30_000: 100}] * 9, commands=100)
    contradicted = judge.of(goal, SETTING, waited)
    assert contradicted.high_by == RUNS, "a formula below what was seen bounds nothing"
    assert contradicted.hopeless


def test_interval_of_an_unseen_rate_has_an_upper_end() -> None:
    request = request_of("schema_abort_rate<=1e-4")
    assert request.aborts is not None
    more = {"schema_aborts": 0, "attempts": 200, "schema_updates": 15}
    found = Judge(request).of(request.aborts, SETTING, figures([{0: 9}] * 2, commands=9, **more))
    every_ms = 15 * 1_000 / 15 + (600 + SETTING.dd) / 15
    most_ms = float(intervals.none_seen(30)) * every_ms  # of 30 statements
    assert (found.point, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - np.exp(-most_ms / 60_000), rel=0.01)
    assert not found.sure
    assert found.seeds is not None
    assert found.seeds == pytest.approx(2 * found.high / 1e-4, rel=0.15)


@pytest.mark.filterwarnings("error")
def test_a_figure_of_which_nothing_was_observed_is_unknown() -> None:
    nothing = Figures(CELL, [{**row, "ddl_latency_us": EMPTY} for row in figures(
        [{0: 9}] * 2, commands=9).rows])  # fmt: skip
    found = Judge(request_of()).of(DDL, SETTING, nothing)
    assert isnan(found.point)
    assert not found.met
    told = without_nan({"front": [{"simulated": found.point, "low": found.low, "high": 3.0}]})
    assert told == {"front": [{"simulated": None, "low": None, "high": 3.0}]}
    assert with_interval(None, None, None) == number(None) == "unknown"


def test_with_interval_never_shows_an_interval_of_zeros() -> None:
    assert with_interval(0, 0, 0, "runs", 0.0026) == "0 (< 0.26 % above)"
    assert with_interval(0, 0, 0) == "0 (none seen above)"
    assert with_interval(0, 0, 0, "formula", 0.02) == "0 (no more by formula)"
    assert with_interval(0, 0, None) == "0 (0 to unknown)"
    assert with_interval(1.5, 0, 7.39, "formula") == "1.5 (0 to 7.39 by formula)"
