"""Experiment 5: how often a client does not see its own DDL, against the real skew.

The guarantee holds as long as no two clocks differ by more than CSmax (and what a message to the
next node takes); beyond that step it is lost.
"""

import sys
from typing import Any, Final

from analysis.cells import Cell, Cells, Estimate
from analysis.drawing import canvas, legend, line, note
from analysis.figure import figure, main

X: Final = "skew_ms"


def _percent(cell: Cell) -> Estimate:
    return Estimate(*(100 * one for one in cell.violating("I4")))


@figure("own_ddl", "clients that do not see their own DDL, against the skew", needs=(X,))
def draw(cells: Cells) -> Any:
    """A line for each acknowledgement rule; the configured bound is a vertical line."""
    drawn, axes = canvas(1, 1, height_in=3.6)
    panel = axes[0][0]
    for number, (label, series) in enumerate(cells.series(X)):
        middle, *ends = series.each(_percent)
        line(panel, [cell.value(X) for cell in series.cells], middle, ends, label, number)
    for bound in _bounds(cells):
        panel.axvline(bound, color="#777777", linewidth=0.9, linestyle=(0, (2, 2)))
        panel.annotate(
            f" CSmax {bound:g} ms",
            (bound, 1.0),
            xycoords=("data", "axes fraction"),
            va="top",
            fontsize=7,
        )
    panel.set_xlabel("real difference of the two clocks (ms)")
    panel.set_ylabel("runs with a missed own DDL (%)")
    panel.set_title("An acknowledged DDL is seen everywhere, up to CSmax of skew")
    panel.set_ylim(bottom=0)
    legend(panel)
    note(drawn, cells.note)
    return drawn


def _bounds(cells: Cells) -> list[float]:
    if all("max_clock_skew_ms" in cell.parameters for cell in cells.cells):
        return [float(value) for value in cells.values("max_clock_skew_ms")]
    return []


if __name__ == "__main__":
    sys.exit(main("own_ddl"))
