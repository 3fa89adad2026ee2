"""Staleness against the interval between two reads of the schema, without a check and with leases.

Closed form 6.5: a commit is as stale as the interval, the read and the transaction take together,
at most; the share of stale commits is that of a change within the age.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, form, legend_above, line, note, points
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import store_forms as forms
from ddlsim.analysis.formula.store_rates import Rates
from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep.cells import NO_ESTIMATE, Cell, Cells, Estimate
from ddlsim.units import US_PER_MS

X: Final = "poll_ms"


def draw(cells: Cells) -> Any:
    """The share of stale commits left, how stale they are at most right."""
    rates = Rates(cells)
    drawn, axes = canvas(1, 2, height_in=3.4)
    shares, ages = axes[0]
    longest = max(rates.span(cell) for cell in cells.cells)
    for number, (label, series) in enumerate(cells.series(X)):
        x = [float(cell.value(X)) for cell in series.cells]
        middle, *ends = series.each(lambda cell: cell.share_above("stale_us").percent)
        line(shares, x, middle, ends, label, number)
        by_formula = [
            100 * _share(cell, poll, rates) for cell, poll in zip(series.cells, x, strict=True)
        ]
        form(shares, x, by_formula, "formula 6.5")
        points(ages, x, *series.each(stalest), label, number)
    along = np.array(sorted(float(one) for one in cells.values(X)))
    reads = 2 * max(rates.read(cell) for cell in cells.cells)
    form(ages, along, forms.stalest(along, reads, longest), None)
    ages.annotate("P, the reads and a transaction", (along[-1], along[-1] + reads + longest),
                  xytext=(-30, 0), ha="right", textcoords="offset points", fontsize=8)  # fmt: skip
    shares.set(xlabel="interval between reads P (ms)", ylabel="commits under a stale schema (%)")
    ages.set(xlabel="interval between reads P (ms)", ylabel="stalest commit of a run (ms)")
    for panel in axes[0]:
        panel.set_ylim(bottom=0)
    legend_above(drawn, shares, 3, "How stale is a schema that is read again every so often?")
    note(drawn, cells.note)
    return drawn


def _share(cell: Cell, poll: float, rates: Rates) -> float:
    """The share of stale commits; a process reads again P after it had the last answer."""
    read_ms = rates.read(cell)
    since = read_ms + rates.span(cell)
    return float(forms.changed_since_poll(rates.of_table(cell), poll + read_ms, since))


def stalest(cell: Cell) -> Estimate:
    """The mean over runs of each one's stalest commit."""
    most = np.array([one.max_us for one in cell.durations("stale_us")], dtype=np.float64)
    if not len(most):
        return NO_ESTIMATE
    low, high = intervals.mean_interval(most / US_PER_MS)
    return Estimate(float(most.mean() / US_PER_MS), float(low), float(high))


if __name__ == "__main__":
    sys.exit(main("staleness"))
