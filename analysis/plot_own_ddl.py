"""Experiment 5: how often a client does not see its own DDL, against the real skew.

The guarantee holds as long as no two clocks differ by more than CSmax and what a message to the
next node takes; beyond that step it is lost (closed form 6.5 for one pair of clocks).
"""

import sys
from typing import Any, Final

import numpy as np

from analysis import closed_forms as forms
from analysis.by_formula import World, worlds
from analysis.cells import Cell, Cells, Estimate, Need
from analysis.drawing import canvas, form, legend_above, note, whiskers
from analysis.figure import figure, main

X: Final = "skew_ms"
APART: Final = 0.006
"""How far points of the same skew are drawn apart, as a share of the axis."""


def _percent(cell: Cell) -> Estimate:
    return Estimate(*(100 * one for one in cell.violating("I4")))


@figure(
    "own_ddl",
    "clients that do not see their own DDL, against the skew",
    needs=(Need(X, "clocks.nodes.*.offset_ms"),),
)
def draw(cells: Cells) -> Any:
    """A line for each acknowledgement rule; the configured bound is a vertical line."""
    drawn, axes = canvas(1, 1, height_in=3.6)
    panel = axes[0][0]
    skews = [float(skew) for skew in cells.values(X)]
    apart = APART * (max(skews) - min(skews))
    every = cells.series(X)
    for number, (label, series) in enumerate(every):
        middle, *ends = series.each(_percent)
        shift = apart * (number - (len(every) - 1) / 2)
        x = [cell.value(X) + shift for cell in series.cells]
        whiskers(panel, x, middle, ends, label, number)
    for cs_max, way in _bounds(worlds(cells)):
        along = np.linspace(min(skews), max(skews), 2_000)
        step = forms.own_ddl_missed_at(along, cs_max, way)
        form(panel, along, 100 * step, "6.5: CSmax and the way of two messages", 0)
        panel.annotate(f" CSmax {cs_max:g} ms", (cs_max, 0.5), xycoords=("data", "axes fraction"),
                       ha="right", fontsize=8)  # fmt: skip
    panel.set_xlabel("real difference of the two clocks (ms)")
    panel.set_ylabel("runs with a missed own DDL (%)")
    panel.set_title("An acknowledged DDL is seen everywhere, up to CSmax of skew")
    panel.set_ylim(-3, 103)
    legend_above(drawn, panel, 2)
    note(drawn, cells.note)
    return drawn


def _bounds(known: dict[int, World]) -> list[tuple[float, float]]:
    """Each CSmax, with the way from the acknowledgement to the next node: two client messages."""
    found = {(w.cs_max, round(2 * float(np.median(w.client_delays)), 3)) for w in known.values()}
    return sorted((float(cs_max), way) for cs_max, way in found)


if __name__ == "__main__":
    sys.exit(main("own_ddl"))
