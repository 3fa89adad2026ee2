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

X: Final = "cutoff_percent"
SAID: Final = {"DEFAULTS": "with a read conflict", "CAUSAL_WRITE_RISKY": "without read conflicts"}
DRAWS: Final = 400


def draw(cells: Cells) -> Any:
    """One panel: points are runs, a dashed line for each kind of transaction."""
    rates = Rates(cells)
    drawn, axes = canvas(1, 1, height_in=3.6)
    panel = axes[0][0]
    for number, (label, series) in enumerate(cells.series(X)):
        x = [float(cell.value(X)) / 100 for cell in series.cells]
        said = next((said for name, said in SAID.items() if name in label), label)
        missing = series.each(lambda cell: cell.violating("I7").percent)
        points(panel, x, *missing, said, number)
        free = "CAUSAL_WRITE_RISKY" in label
        along = np.linspace(0, max(x), 120)
        form(panel, along, [100 * _share(series.cells[0], one, rates, free=free) for one in along],
             "formula C10" if not number else None)  # fmt: skip
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


def _share(cell: Cell, cutoff: float, rates: Rates, *, free: bool) -> float:
    """The probability that at least one row of a run lacks its entry."""
    scenario = rates.world(cell).scenario
    window_ms = rates.setting(cell, "window_ms")
    low, high = _rest_ms(scenario.table.workload)
    spans = low + (np.arange(DRAWS) + 0.5) / DRAWS * (high - low)
    limit = np.inf if free else window_ms
    late = forms.orphans(rates.begun(cell), spans, cutoff * window_ms, limit)
    return float(-np.expm1(-np.mean(late)))


def _rest_ms(workload: Any) -> tuple[float, float]:
    """How long the transactions of the first workload rest before they commit."""
    low, high = workload[0]["rest_ms"]
    return float(low), float(high)


if __name__ == "__main__":
    sys.exit(main("cutover"))
