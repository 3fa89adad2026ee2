"""Experiment 6: what a learner that lags costs, against how long it lags.

An outage that DD covers delays nothing; in a longer one all operations on the node wait until the
outage ends, even without any DDL (IEP-98, Risks). Closed form 6.7: the node is frozen for
max(0, X + PD - DD + a), where a, up to H, is the age of the last command at the outage's start.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, form, legend_above, line, note
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.by_formula import Forms, remark, worlds
from ddlsim.analysis.stats.intervals import mean_interval
from ddlsim.analysis.sweep.cells import NO_ESTIMATE, Cell, Cells, Estimate
from ddlsim.units import US_PER_MS

X: Final = "outage_ms"


def _longest(cell: Cell) -> Estimate:
    """The longest wait of a first look-up in a run, its mean over the runs."""
    each = np.array([one.max_us for one in cell.durations("first_wait_us")]) / US_PER_MS
    if not len(each):
        return NO_ESTIMATE
    low, high = mean_interval(each)
    return Estimate(float(each.mean()), max(float(low), 0.0), float(high))


def _waiting(cell: Cell) -> Estimate:
    return cell.share_above("operation_wait_us").percent


def draw(cells: Cells) -> Any:
    """The share of operations that wait, and the longest wait beside the closed form."""
    drawn, axes = canvas(1, 2, height_in=3.5)
    known = worlds(cells)
    panels = (
        ("Operations that wait for a schema", "%", _waiting),
        ("Longest wait in a run, mean", "ms", _longest),
    )
    for panel, (title, unit, of) in zip(axes[0], panels, strict=True):
        for number, (label, series) in enumerate(cells.series(X)):
            middle, *ends = series.each(of)
            line(panel, [cell.value(X) for cell in series.cells], middle, ends, label, number)
            if of is _longest:
                _by_formula(panel, series, known)
        panel.set(title=title, xlabel="how long the learner lags (ms)", ylabel=unit)
        panel.set_ylim(bottom=0)
    legend_above(drawn, axes[0][1], 4, "What does a learner that lags cost, without any DDL?")
    note(drawn, remark(cells, known))
    return drawn


def _by_formula(panel: Any, series: Cells, known: dict[int, Forms]) -> None:
    """Dashed: 6.7 with the cell's DD and H, and the median delay for PD."""
    world = known.get(series.cells[0].number)
    if world is None or not world.simple or world.slack is None:
        return
    outages = [float(cell.value(X)) for cell in series.cells]
    along = np.linspace(min(outages), max(outages), 100)
    pd = float(np.median(world.delays))
    frozen = forms.mean_frozen(along, pd, world.slack, world.h)
    form(panel, along, frozen, "formula 6.7: X + PD - DD + a, mean over a")


if __name__ == "__main__":
    sys.exit(main("freeze"))
