"""The closed form beside the runs of `tune`, cell by cell, and where the two disagree."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis import closed_forms as forms
from analysis.tune.asked import Asked
from analysis.tune.cells import OPERATIONS, Setting, load_ms
from analysis.tune.goals import RATE, Goal
from analysis.tune.runs import Figures
from analysis.wait_model import Ends, Grid
from sim.units import US_PER_MS

CLOCK_MS: Final = 1.0
"""Timestamps show whole milliseconds: a wait by formula can be so much off in a run."""
MEAN: Final = Goal("schema_wait_mean", 0.0)
TAIL: Final = Goal("schema_wait_p99", 0.0)


@dataclass(frozen=True)
class Line:
    """One figure of one cell: by runs with its interval, by formula with its bracket."""

    setting: Setting
    figure: str
    simulated: float
    low: float
    high: float
    formula: Ends

    @property
    def agrees(self) -> bool:
        """Whether the interval meets the bracket."""
        return self.formula.holds(self.low, self.high)


def lines(asked: Asked, setting: Setting, figures: Figures) -> list[Line]:
    """What can be said by both of first look-ups under a setting, with the measured mu."""
    model = asked.world.wait(Grid(), setting.h, figures.writes_per_ms)
    slack = asked.slack(setting.dd, setting.cs_max)

    early, late = slack + CLOCK_MS, slack - CLOCK_MS
    share = Ends(model.probability(early).unordered, model.probability(late).ordered)
    mean = Ends(model.mean(early).unordered, model.mean(late).ordered)
    tail = Ends(model.quantile(0.99, early).unordered, model.quantile(0.99, late).ordered)
    waiting = figures.waiting()
    low, high = figures.interval(MEAN)
    if not waiting[0]:  # nobody waited; so much could have gone unseen
        high = waiting[2] * setting.h
    return [
        Line(setting, "share that waits", *waiting, share),
        Line(setting, "mean wait, ms", figures.point(MEAN), low, high, mean),
        Line(setting, "p99 wait, ms", figures.point(TAIL), *figures.interval(TAIL), tail),
    ]


# --- aborts --------------------------------------------------------------------------------------


def run_rate(figures: Figures) -> float:
    """Statements per second on the table in a cell of statements."""
    updates = figures.column("schema_updates").mean()
    return float(updates / load_ms() * 1000)


def abort_rate(asked: Asked, figures: Figures) -> tuple[float, float, float]:
    """The abort rate at the operator's rate of DDL, and its interval, from runs with faster DDL."""
    goal = Goal(RATE, 0.0)
    low, high = figures.interval(goal)
    rates = np.array([figures.point(goal), low, high])
    scaled = forms.at_rate(rates, run_rate(figures), asked.ddl_rate)
    return float(scaled[0]), float(scaled[1]), float(scaled[2])


def abort_line(asked: Asked, setting: Setting, figures: Figures, calm: Figures) -> Line:
    """Section 6.3, option 3, at the rate of the runs; spans from runs without any DDL.

    The lower end takes an operation's check at its arrival, the upper one leaves the transaction
    exposed for one gap between operations more: it is over with the next operation at the latest.
    """
    goal = Goal(RATE, 0.0)
    lam = run_rate(figures) / 1000
    using, tail = (_spans(calm, name) for name in ("using_us", "tail_us"))
    q = asked.load.incompatible

    def exposed(span: tuple[np.ndarray, np.ndarray], rate: float) -> float:
        values, counts = span
        return float((np.exp(-rate * values) * counts).sum() / counts.sum())

    expected = 1 - exposed(using, lam) * exposed(tail, lam * q)
    slack = lam * max(asked.load.tx_length / OPERATIONS, CLOCK_MS)
    ends = Ends(expected * (1 - slack), expected * (1 + slack) + slack * q)
    return Line(setting, RATE, figures.point(goal), *figures.interval(goal), ends)


def _spans(figures: Figures, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The spans of all seeds in ms, and how often each."""
    totals: dict[int, int] = {}
    for row in figures.rows:
        for us, count in dict(row[name]["counts"]).items():
            totals[us] = totals.get(us, 0) + count
    if not totals:
        return np.zeros(1), np.ones(1)
    values = np.array(sorted(totals), dtype=np.float64)
    return values / US_PER_MS, np.array([totals[int(us)] for us in values], dtype=np.float64)
