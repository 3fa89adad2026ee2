"""Experiment 9: rows without an entry after an index was made, against the distance of two cutoffs.

Closed form of C10 for transactions that write and commit after a uniform time: those that began
before the switch and commit behind the second cutoff. The resolvers refuse what is older than their
window, if it has a read conflict.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, form, legend_above, note, points
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import store_forms as forms
from ddlsim.analysis.formula.store_rates import Rates
from ddlsim.analysis.sweep.cells import Cell, Cells
from ddlsim.workload.base import bounds

X: Final = "cutoff_percent"
RESOLVED: Final = ("DEFAULTS", "with a read conflict")
FREE: Final = ("CAUSAL_WRITE_RISKY", "without read conflicts")
"""Options of transactions, and what they are called."""
DRAWS: Final = 400


def draw(cells: Cells) -> Any:
    """One panel: points are runs, a dashed line for each kind of transaction."""
    rates = Rates(cells)
    drawn, axes = canvas(1, 1, height_in=3.6)
    panel = axes[0][0]
    for number, (label, series) in enumerate(cells.series(X)):
        x = [float(cell.value(X)) / 100 for cell in series.cells]
        free = FREE[0] in label
        said = label.replace(*RESOLVED).replace(*FREE)
        missing = series.each(lambda cell: cell.violating("I7").percent)
        points(panel, x, *missing, said, number)
        _by_formula(panel, series.cells[0], max(x), rates, free=free)
    panel.axvline(1.0, color="#777777", linewidth=0.9)
    panel.annotate("the window W", (1.0, 40), xytext=(4, -2), va="top", fontsize=8,
                   textcoords="offset points")  # fmt: skip
    panel.set(
        xlabel="(Vw - Vr) / W: from the switch of reads to the end of writes",
        ylabel="runs with a row that lacks its entry (%)",
        ylim=(-4, 104),
    )
    question = "How far apart must the two cutoffs be?"
    legend_above(drawn, panel, 3, question)
    note(drawn, cells.note)
    return drawn


def _by_formula(panel: Any, cell: Cell, most: float, rates: Rates, *, free: bool) -> None:
    """The closed form up to a cutoff, where the scenario says how long transactions rest."""
    rest_ms = _rest_ms(rates.world(cell).scenario.table.workload)
    if rest_ms is not None:
        along = np.linspace(0, most, 120)
        missing = [100 * _share(cell, one, rates, rest_ms, free=free) for one in along]
        form(panel, along, missing, "formula C10")


def _share(
    cell: Cell, cutoff: float, rates: Rates, rest_ms: tuple[float, float], *, free: bool
) -> float:
    """The probability that at least one row of a run lacks its entry."""
    window_ms = rates.setting(cell, "window_ms")
    low, high = rest_ms
    spans = low + (np.arange(DRAWS) + 0.5) / DRAWS * (high - low)
    limit = np.inf if free else window_ms
    late = forms.orphans(rates.begun(cell), spans, cutoff * window_ms, limit)
    return float(-np.expm1(-np.mean(late)))


def _rest_ms(workload: Any) -> tuple[float, float] | None:
    """How long the transactions of the first workload rest before they commit, if it says so."""
    rest_ms = workload[0].get("rest_ms") if workload else None
    if rest_ms is None:
        return None
    low, high = bounds(tuple(rest_ms) if isinstance(rest_ms, list) else rest_ms)
    return float(low), float(high)


if __name__ == "__main__":
    sys.exit(main("cutover"))
