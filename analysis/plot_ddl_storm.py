"""Experiment 10: what gets done in a storm of schema changes.

Committed transactions a second, and how many attempts it takes, against the interval between two
statements.
"""

import sys
from typing import Any, Final

from analysis.cells import Cell, Cells, Estimate
from analysis.drawing import canvas, legend, line, note
from analysis.figure import figure, main

X: Final = "ddl_every_ms"


def _goodput(cell: Cell) -> Estimate:
    return cell.ratio(lambda row: row["committed"], lambda row: row["simulated_us"] / 1e6)


def _attempts(cell: Cell) -> Estimate:
    return cell.ratio(lambda row: row["attempts"], lambda row: row["committed"])


def rate(cell: Cell) -> float:
    """Statements a second, as planned."""
    return 1_000 / float(cell.value(X))


@figure("ddl_storm", "goodput and attempts against the rate of schema changes", needs=(X,))
def draw(cells: Cells) -> Any:
    """Goodput left, attempts per commit right; a line for each design."""
    drawn, axes = canvas(1, 2, height_in=3.4)
    panels = (
        ("Committed transactions per second", "1/s", _goodput),
        ("Attempts per committed transaction", "", _attempts),
    )
    for panel, (title, unit, of) in zip(axes[0], panels, strict=True):
        for number, (label, series) in enumerate(cells.series(X)):
            middle, *ends = series.each(of)
            line(panel, [rate(cell) for cell in series.cells], middle, ends, label, number)
        panel.set_title(title)
        panel.set_ylabel(unit)
        panel.set_xlabel("schema changes per second")
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
    legend(axes[0][1])
    note(drawn, cells.note)
    return drawn


if __name__ == "__main__":
    sys.exit(main("ddl_storm"))
