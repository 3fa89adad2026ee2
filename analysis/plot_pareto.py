"""Experiment 2: what each design costs DML and DDL, and whether it is safe.

One point per design: right is slower for reads and writes, up is slower for schema changes. A
filled point: some run broke a safety property, claimed or not. Designs whose points touch share one
list of names; the abort rates beside the scatter have a row for each. Where names are long, points
have the numbers of their rows.
"""

import sys
from typing import Any, Final

from ddlsim.analysis.figures.drawing import (
    canvas,
    heading,
    key_of,
    logarithmic,
    make_room,
    note,
    point,
)
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.figures.labels import Spot, name_points
from ddlsim.analysis.sweep.cells import SAFETY, SAFETY_SAID, Cells

CELLS_MOST: Final = 24
NAMED_MOST: Final = 34
"""The longest name that is written beside a point; of longer ones its number is."""
WIDE: Final = 30
"""The ratio of its ends from which an axis has fewer numbers."""


def draw(cells: Cells) -> Any:
    """A scatter with intervals both ways and names; beside it the abort rates."""
    cells.at_most(CELLS_MOST, "pareto")
    ordered = sorted(cells.cells, key=lambda cell: -cell.mean_ms("ddl_latency_us").value)
    height_in = max(3.8, 1.4 + 0.28 * len(ordered))
    drawn, axes = canvas(1, 2, height_in=height_in, width_ratios=(5, 2))
    costs, aborts = axes[0]
    others = cells.varying("design")
    spots: list[Spot] = []
    for number, cell in enumerate(ordered):
        hollow = not cell.violating(*SAFETY).value
        dml, ddl = cell.quantile_ms("dml_latency_us", 0.99), cell.mean_ms("ddl_latency_us")
        point(costs, dml, ddl, None, 0, hollow=hollow)
        spots.append(Spot(dml, ddl, cell.label(others)))
        point(aborts, cell.schema_aborts.percent, (float(number),) * 3, None, 0, hollow=hollow)
    costs.set(xlabel="DML latency, 99th percentile (ms)", ylabel="DDL latency, mean (ms)")
    for axis in (costs.xaxis, costs.yaxis):
        low, high = axis.get_data_interval()
        logarithmic(axis, subs=(1.0, 3.0) if high > WIDE * low else (1.0, 2.0, 5.0))
    costs.margins(x=0.2, y=0.12)
    names = [spot.name for spot in spots]
    if max(map(len, names)) > NAMED_MOST:
        spots = [spot._replace(name=f"[{at}]") for at, spot in enumerate(spots, 1)]
        names = [f"{name} [{at}]" for at, name in enumerate(names, 1)]
    aborts.set_xlabel("schema aborts (%)")
    aborts.set_xlim(left=0)
    aborts.set_yticks(range(len(names)), make_room(drawn, names))
    aborts.invert_yaxis()
    heading(drawn, "What does a design cost, and is it safe?")
    key_of(costs, (("safe in all runs", True), ("safety broken in some", False)))
    note(drawn, f"{SAFETY_SAID}; aborts: share of all attempts\n{cells.note}")
    name_points(costs, spots)
    return drawn


if __name__ == "__main__":
    sys.exit(main("pareto"))
