"""Experiment 10: goodput and restarts under a storm of schema changes.

The sweep varies the number of `ddl_clients`; the x axis is the measured rate of schema changes.
Closed form 6.4: a transaction takes e^(lambda L) attempts if it detects a change only at its end.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, form, legend_above, line, logarithmic, note
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.by_formula import Forms, remark, worlds
from ddlsim.analysis.plot_abort_rate import changes_per_ms, length_ms, load_ms
from ddlsim.analysis.sweep.cells import Cell, Cells, Estimate

X: Final = "ddl_clients"
MS_PER_S: Final = 1_000


def goodput(cell: Cell, world: Forms | None) -> Estimate:
    """Committed transactions per second of the load."""
    seconds = load_ms(cell, world) / MS_PER_S / max(len(cell.rows), 1)
    return cell.ratio(lambda row: row["committed"], lambda _: seconds)


def _attempts(cell: Cell, world: Forms | None) -> Estimate:
    del world
    return cell.ratio(lambda row: row["attempts"], lambda row: row["committed"])


Figure = Callable[[Cell, Forms | None], Estimate]


def _in_its_world(of: Figure, known: Mapping[int, Forms], cell: Cell) -> Estimate:
    return of(cell, known.get(cell.number))


PANELS: Final = (
    ("Goodput", "committed transactions per second", goodput),
    ("Restarts", "attempts per committed transaction", _attempts),
)


def draw(cells: Cells) -> Any:
    """Goodput left, attempts per commit right; a line for each design."""
    drawn, axes = canvas(1, 2, height_in=3.6)
    known = worlds(cells)
    rates = {c.number: MS_PER_S * changes_per_ms(c, known.get(c.number)) for c in cells.cells}
    for panel, (title, unit, of) in zip(axes[0], PANELS, strict=True):
        for number, (label, series) in enumerate(cells.series(X)):
            middle, *ends = series.each(partial(_in_its_world, of, known))
            line(panel, [rates[cell.number] for cell in series.cells], middle, ends, label, number)
        panel.set(title=title, xlabel="schema changes per second", ylabel=unit)
        logarithmic(panel.xaxis)
    axes[0][0].set_ylim(bottom=0)
    logarithmic(axes[0][1].yaxis)
    _by_formula(axes[0][1], cells.series(X)[0][1], rates)
    legend_above(drawn, axes[0][1], 3, "What is left of the goodput under many schema changes?")
    note(drawn, remark(cells, known))
    return drawn


def _by_formula(panel: Any, series: Cells, rates: dict[int, float]) -> None:
    """With the length of the first cell's transactions, which hardly any change has aborted."""
    found = [rates[cell.number] for cell in series.cells if rates[cell.number] > 0]
    length = length_ms(series.cells[0])
    if found and length > 0:
        along = np.geomspace(min(found), max(found), 60)
        form(panel, along, forms.attempts(along / MS_PER_S, length), "formula 6.4: exp(λL)")


if __name__ == "__main__":
    sys.exit(main("ddl_storm"))
