"""Compares the closed form with the runs of `tune`, cell by cell."""

from typing import Final

import numpy as np

from ddlsim.analysis.formula.comparison import CLOCK_MS, Line, brackets
from ddlsim.analysis.formula.wait_model import Ends, Grid
from ddlsim.analysis.tune.cells import OPERATIONS, STATEMENTS, Setting, breaking, load_ms
from ddlsim.analysis.tune.goals import RATE, Goal
from ddlsim.analysis.tune.request import Request
from ddlsim.analysis.tune.runs import Figures
from ddlsim.units import US_PER_MS

MEAN: Final = Goal("schema_wait_mean", 0.0)
TAIL: Final = Goal("schema_wait_p99", 0.0)


def lines(request: Request, setting: Setting, figures: Figures) -> list[Line]:
    """Figures of first look-ups under a setting, by runs and by formula with the measured mu."""
    world, grid = request.world, Grid()
    model = world.wait(grid, setting.h, figures.writes_per_ms)
    model = model.or_later(world.wait(grid, setting.h, 0.0))  # leases may fall on ticks
    slack = request.slack(setting.dd, setting.cs_max)

    share, mean, tail = brackets(model, slack)
    return [
        Line(cell_of(setting), "share that waits", *figures.waiting(resampled=True), share),
        _line(setting, "first look-up: mean wait, ms", figures, MEAN, mean),
        _line(setting, "first look-up: p99 wait, ms", figures, TAIL, tail),
    ]


def _line(setting: Setting, name: str, figures: Figures, goal: Goal, ends: Ends) -> Line:
    """A figure with its interval by resampling, which is the narrower one."""
    low, high = figures.resampled_interval(goal)
    share, _, most = figures.waiting(resampled=True)
    if not share and goal is MEAN:  # no look-up waited; the bound of the share times H
        high = most * setting.h
    return Line(cell_of(setting), name, figures.point(goal), low, high, ends)


def cell_of(setting: Setting) -> dict[str, int]:
    """A setting, by the names of its columns."""
    return {"dd_ms": setting.dd, "h_ms": setting.h, "cs_max_ms": setting.cs_max}


# --- aborts --------------------------------------------------------------------------------------


def run_rate(request: Request, setting: Setting, figures: Figures) -> float:
    """Statements per ms on the table in a cell of statements."""
    updates = figures.column("schema_updates").mean()
    return float(updates / load_ms(request.load, setting.dd))


def abort_rate(request: Request, setting: Setting, figures: Figures) -> tuple[float, float, float]:
    """The abort rate at the operator's rate of DDL, and its interval, from runs with faster DDL.

    In those runs statements are evenly spaced, so the share of transactions that meet one is the
    rate times the span in which one aborts them; the operator's come at any time [6.3].
    """
    goal = Goal(RATE, 0.0)
    ends = np.array([figures.point(goal), *figures.interval(goal)])
    doomed_ms = ends / run_rate(request, setting, figures)
    point, low, high = -np.expm1(-request.ddl_rate / 1_000 * doomed_ms)
    return float(point), float(low), float(high)


def abort_line(request: Request, setting: Setting, figures: Figures, calm: Figures) -> Line:
    """Section 6.3, option 3, at the operator's rate of DDL; spans from runs without any DDL.

    The lower end takes an operation's check at its arrival, the upper one leaves the transaction
    exposed for one gap between operations more: it is over with the next operation at the latest.
    """
    using, tail = (_mean_span(calm, name) for name in ("using_us", "tail_us"))
    q = breaking(request.load) / STATEMENTS
    gap = max(request.load.tx_length / OPERATIONS, CLOCK_MS)
    doomed = np.array([max(using + q * tail - 2 * CLOCK_MS, 0.0), using + q * tail + gap])
    low, high = -np.expm1(-request.ddl_rate / 1_000 * doomed)
    found = abort_rate(request, setting, figures)
    return Line(cell_of(setting), RATE, *found, Ends(float(low), float(high)))


def _mean_span(figures: Figures, name: str) -> float:
    """The mean span of all seeds in ms."""
    total = sum(row[name]["total_us"] for row in figures.rows)
    count = sum(count for row in figures.rows for _, count in dict(row[name]["counts"]).items())
    return float(total / max(count, 1)) / US_PER_MS
