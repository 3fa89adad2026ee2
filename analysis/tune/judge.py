"""Assesses a goal under a setting: its figure, whether it is surely met, the seeds needed.

The interval is that of the runs (`Figures.interval`). Its upper end never comes from resampled
zeros: where no observation is above the limit, it is what so many observations exclude; where they
exclude nothing, or the closed form's upper end is lower, it is the closed form's, and marked so.
The closed form is taken at its worst: ordered links, a millisecond of the clock, and for an
operation all of its look-ups.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from typing import Final

import numpy as np

from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.formula.wait_model import Grid, Wait
from ddlsim.analysis.stats import intervals
from ddlsim.analysis.tune import agreement, tail_estimate
from ddlsim.analysis.tune.cells import Setting
from ddlsim.analysis.tune.goals import RATE, Goal
from ddlsim.analysis.tune.request import LOOK_UPS, Request
from ddlsim.analysis.tune.runs import Figures

RUNS, FORMULA = "runs", "formula"
SEEDS_MOST: Final = 100_000
"""The largest number of seeds that is recommended."""


@dataclass(frozen=True)
class Assessment:
    """The assessment of a goal under a setting; `high` is infinite where nothing bounds it.

    `high_by` is the source of the upper end, `seeds` about the number of seeds that would decide
    the goal, if more would; `above_most` is the upper end of the share of observations above the
    limit.
    """

    goal: Goal
    point: float
    low: float
    high: float
    high_by: str
    seeds: int | None
    above_most: float | None

    @property
    def met(self) -> bool:
        """Whether the point is within the limit."""
        return self.point <= self.goal.limit

    @property
    def sure(self) -> bool:
        """Whether the whole interval is within the limit."""
        return self.high <= self.goal.limit

    @property
    def hopeless(self) -> bool:
        """Whether the whole interval is above the limit."""
        return self.low > self.goal.limit


class Judge:
    """Assesses figures; keeps the closed form of each H."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._models: dict[int, Wait] = {}

    @cached_property
    def _grid(self) -> Grid:
        return Grid(step=0.5)

    def of(self, goal: Goal, setting: Setting, figures: Figures) -> Assessment:
        """Assess a goal, from the runs of the cell that measures it."""
        point, low, high = self._measured(goal, setting, figures)
        by = RUNS
        formula = self.at_most(goal, setting)
        if point <= formula < high:  # a formula below the observed figure is contradicted
            high, by = formula, FORMULA
        seeds = None
        if point <= goal.limit < high:
            seeds = self._seeds(goal, figures, point, high)
        above = None
        if goal.share is not None:
            taken = intervals.effective_share(figures.above(goal), figures.units(goal))
            above = float(taken[1])
        return Assessment(goal, point, low, high, by, seeds, above)

    def _measured(
        self, goal: Goal, setting: Setting, figures: Figures
    ) -> tuple[float, float, float]:
        if goal.metric == RATE:
            return agreement.abort_rate(self.request, setting, figures)
        return (figures.point(goal), *figures.interval(goal))

    def at_most(self, goal: Goal, setting: Setting) -> float:
        """The upper bound of a wait by the closed form; infinite where it has none."""
        if goal.of not in {"dml_wait", "schema_wait"}:
            return inf
        looks = LOOK_UPS if goal.of == "dml_wait" else 1
        model = self._model(setting.h)
        slack = self.request.slack(setting.dd, setting.cs_max) - CLOCK_MS
        if goal.share is None:
            return looks * model.mean(slack).ordered
        return tail_estimate.bound_by_formula(model, goal.share, slack, looks)

    def _model(self, h: int) -> Wait:
        if h not in self._models:
            world, grid = self.request.world, self._grid
            busy = world.wait(grid, h, self.request.mu)
            self._models[h] = busy.or_later(world.wait(grid, h, 0.0))
        return self._models[h]

    def _seeds(self, goal: Goal, figures: Figures, point: float, high: float) -> int | None:
        """The number of seeds with which the interval would be within the limit."""
        now = len(figures.rows)
        if goal.share is not None:
            units = figures.units(goal) / now
            above, limit = figures.above(goal), 1 - goal.share
        elif goal.metric == RATE and not point:
            units, above = figures.units(goal) / now, 0.0
            limit = goal.limit / max(high, 1e-300) * float(intervals.none_seen(units * now))
        else:  # an interval of a mean shrinks with the root of the seeds
            if np.isinf(high) or point >= goal.limit:
                return None
            return ceil(now * ((high - point) / (goal.limit - point)) ** 2)
        count = now
        while count <= SEEDS_MOST:
            if intervals.effective_share(above, units * count)[1] <= limit:
                return count
            count = ceil(count * 1.1) if count > 9 else count + 1
        return None
