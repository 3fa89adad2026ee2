"""The interval of DD leaves out every DD that misses a goal with its whole interval."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ddlsim.analysis.sweep.rows import Cell
from ddlsim.analysis.tune.advise import Advice, Advisor
from ddlsim.analysis.tune.judge import Judge
from ddlsim.analysis.tune.runs import Figures, Runs
from tests.unit.analysis.test_tune_judge import figures, request_of

NEEDED_MS = 300
LOOKS = 40
"""The number of waits of each length between 1 and `NEEDED_MS`, in each of two seeds."""
STEP_MS, LIMIT_MS, TAIL = 5, 1, 0.01


class Played(Runs):
    """Runs in which a look-up that needs `need` ms waits `need - DD`; needs are 1..`NEEDED_MS`."""

    def __init__(self, looks: int) -> None:
        self.seeds, self.count, self.rows = range(2), 0, []
        self.looks = looks
        self.tried: list[int] = []

    def run(self, cells: Sequence[Cell]) -> list[Figures]:
        self.tried += [int(cell.parameters["dd_ms"]) for cell in cells]
        self.count += 2 * len(cells)
        return [self._figures(int(cell.parameters["dd_ms"])) for cell in cells]

    def _figures(self, dd: int) -> Figures:
        waits: dict[int, int] = {}
        for need in range(1, NEEDED_MS + 1):
            wait_us = max(need - dd, 0) * 1_000
            waits[wait_us] = waits.get(wait_us, 0) + self.looks
        return figures([waits, waits], commands=10**9)


def missed(dd: int, looks: int) -> bool:
    """Whether p99 <= 1 ms is refuted at 95 %, by the share of waits above 1 ms."""
    from scipy import stats  # takes long, and is needed here alone

    above = max(NEEDED_MS - LIMIT_MS - dd, 0) * looks * 2
    share = stats.binomtest(above, NEEDED_MS * looks * 2).proportion_ci(0.95, "exact")
    return bool(share.low > TAIL)


def advised(monkeypatch: pytest.MonkeyPatch, looks: int) -> tuple[Advice, list[int]]:
    monkeypatch.setattr(Advisor, "_over_sample", lambda self, h: None)
    runs = Played(looks)
    request = replace(request_of("dml_wait_p99<=1ms"), texts={"delays.csv": "delay_ms\n5.0\n"})
    return Advisor(request, runs)._search(50), runs.tried


def test_a_dd_that_surely_misses_a_goal_bounds_the_interval_from_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    advice, tried = advised(monkeypatch, LOOKS)
    expected = max(dd for dd in tried if missed(dd, LOOKS))
    assert advice.excluded == expected == advice.needed - STEP_MS
    floor = int(advice.over_seeds[0] // STEP_MS * STEP_MS)
    assert floor <= expected, "resampled seeds alone would leave it in the interval"
    assert advice.interval[0] == expected + STEP_MS


def test_a_dd_that_may_meet_its_goal_stays_in_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    advice, tried = advised(monkeypatch, 1)
    near = advice.needed - STEP_MS
    assert near in tried
    assert not missed(near, 1)
    assert advice.excluded == max((dd for dd in tried if missed(dd, 1)), default=None)
    assert advice.interval[0] == near


@pytest.mark.parametrize("fault", ["no bound", "every miss excludes"])
def test_faults_of_the_bound_are_seen(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    def sure_of(self: Advisor, setting: Any) -> bool:
        if fault == "no bound":
            return False
        found = self._figures([setting])[0]
        return any(not Judge(self.request).of(g, setting, found).met for g in self.request.waits)

    monkeypatch.setattr(Advisor, "_misses", sure_of)
    looks = LOOKS if fault == "no bound" else 1
    advice, tried = advised(monkeypatch, looks)
    assert advice.excluded != max((dd for dd in tried if missed(dd, looks)), default=None)
