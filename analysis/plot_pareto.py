"""Experiment 2: what each design costs DML and DDL, and whether it is safe.

One point per design: right is slower for reads and writes, up is slower for schema changes. In a
hollow point's runs no safety property was broken, in a filled one's some was, whether the design
claims it or not. A line leads from each point to the design's name beside its abort rate.
"""

import sys
from typing import Any, Final

from matplotlib.patches import ConnectionPatch

from analysis.cells import Cells, CellsError
from analysis.drawing import COLOURS, canvas, heading, key_of, logarithmic, note, point
from analysis.figure import figure, main

CELLS_MOST: Final = 24
WIDE: Final = 30
"""From which ratio of its ends on an axis has fewer numbers."""
GAP: Final = 0.02
"""How far from its name a line ends, as a share of the panel of aborts."""
SAFETY: Final = ("I1", "I2", "I3", "I7", "I8")


@figure("pareto", "designs by DML latency, DDL latency, aborts and safety")
def draw(cells: Cells) -> Any:
    """A scatter with intervals both ways; its points are named by lines to the abort rates."""
    if len(cells.cells) > CELLS_MOST:
        raise CellsError(
            f"the figure 'pareto' shows up to {CELLS_MOST} cells, and this sweep has "
            f"{len(cells.cells)}; sweep over strategies alone"
        )
    ordered = sorted(cells.cells, key=lambda cell: -cell.mean_ms("ddl_latency_us").value)
    height_in = max(3.8, 1.2 + 0.3 * len(ordered))
    drawn, axes = canvas(1, 2, height_in=height_in, width_ratios=(5, 3))
    costs, aborts = axes[0]
    others = cells.varying("design", "scenario")
    labels: list[str] = []
    places: list[tuple[float, float]] = []
    for number, cell in enumerate(ordered):
        labels.append(", ".join([cell.design, *(str(cell.value(key)) for key in others)]))
        hollow = not cell.violating(*SAFETY).value
        dml, ddl = cell.quantile_ms("dml_latency_us", 0.99), cell.mean_ms("ddl_latency_us")
        point(costs, dml, ddl, None, number, hollow=hollow)
        places.append((dml.value, ddl.value))
        rate = tuple(100 * one for one in cell.schema_aborts)
        point(aborts, rate, (float(number),) * 3, None, number, hollow=hollow)
    costs.set_xlabel("DML latency, 99th percentile (ms)")
    costs.set_ylabel("DDL latency, mean (ms)")
    for axis in (costs.xaxis, costs.yaxis):
        low, high = axis.get_data_interval()
        logarithmic(axis, subs=(1.0, 3.0) if high > WIDE * low else (1.0, 2.0, 5.0))
    aborts.set_xlabel("schema aborts (%)")
    aborts.set_xlim(left=0)
    aborts.set_yticks(range(len(labels)), labels)
    aborts.invert_yaxis()
    heading(drawn, "What does a design cost, and is it safe?")
    key_of(costs, (("safe in all runs", True), ("safety broken", False)))
    note(drawn, f"safety: {', '.join(SAFETY)}; aborts: share of all attempts\n{cells.note}")
    _name(drawn, costs, aborts, places)
    return drawn


def _name(drawn: Any, costs: Any, aborts: Any, places: list[tuple[float, float]]) -> None:
    """Lead a line from each point to its name, in the colour of its mark."""
    drawn.draw_without_rendering()  # only then is it known where the names stand
    to_axes = aborts.transAxes.inverted()
    for number, (place, text) in enumerate(zip(places, aborts.get_yticklabels(), strict=True)):
        box = text.get_window_extent()
        left = to_axes.transform((box.x0, (box.y0 + box.y1) / 2))
        line = ConnectionPatch(
            place,
            (left[0] - GAP, left[1]),
            costs.transData,
            aborts.transAxes,
            color=COLOURS[number % len(COLOURS)],
            linewidth=0.6,
            alpha=0.7,
            zorder=0.6,
        )
        line.set_in_layout(False)
        drawn.add_artist(line)


if __name__ == "__main__":
    sys.exit(main("pareto"))
