"""Experiment 6: what a learner that lags costs, against how long it lags.

For as long as DD allows nobody notices; beyond that every operation at its primary waits until it
is back, even without any DDL (IEP-98, Risks).
"""

import sys
from typing import Any, Final

from analysis.cells import Cell, Cells, Estimate
from analysis.drawing import canvas, legend, line, note
from analysis.figure import figure, main

X: Final = "outage_ms"


def _longest(cell: Cell) -> Estimate:
    return cell.quantile_ms("operation_wait_us", 1.0)


def _waiting(cell: Cell) -> Estimate:
    return Estimate(*(100 * one for one in cell.share_above("operation_wait_us")))


@figure("freeze", "operations frozen by a learner that lags", needs=(X,))
def draw(cells: Cells) -> Any:
    """The share of operations that wait, and the longest wait."""
    drawn, axes = canvas(1, 2, height_in=3.4)
    panels = (
        ("Operations that wait for a schema", "%", _waiting),
        ("Longest wait of an operation", "ms", _longest),
    )
    for panel, (title, unit, of) in zip(axes[0], panels, strict=True):
        for number, (label, series) in enumerate(cells.series(X)):
            middle, *ends = series.each(of)
            line(panel, [cell.value(X) for cell in series.cells], middle, ends, label, number)
        panel.set_title(title)
        panel.set_ylabel(unit)
        panel.set_xlabel("how long the learner lags (ms)")
        panel.set_ylim(bottom=0)
    legend(axes[0][1])
    note(drawn, cells.note)
    return drawn


if __name__ == "__main__":
    sys.exit(main("freeze"))
