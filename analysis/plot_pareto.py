"""Experiment 2: what each design costs DML and DDL, and whether it is safe.

One point per design: right is slower for reads and writes, up is slower for schema changes. In a
hollow point's runs no safety property was broken, in a filled one's some was, whether the design
claims it or not. The names beside the abort rates are the legend of both.
"""

import sys
from typing import Any, Final

from analysis.cells import Cells, CellsError
from analysis.drawing import canvas, logarithmic, note, point
from analysis.figure import figure, main

CELLS_MOST: Final = 24
WIDE: Final = 30
"""From which ratio of its ends on an axis has fewer numbers."""
SAFETY: Final = ("I1", "I2", "I3", "I7", "I8")


@figure("pareto", "designs by DML latency, DDL latency, aborts and safety")
def draw(cells: Cells) -> Any:
    """A scatter with intervals both ways, and the abort rates beside it."""
    if len(cells.cells) > CELLS_MOST:
        raise CellsError(
            f"the figure 'pareto' shows up to {CELLS_MOST} cells, and this sweep has "
            f"{len(cells.cells)}; sweep over strategies alone"
        )
    height_in = max(3.6, 0.8 + 0.27 * len(cells.cells))
    drawn, axes = canvas(1, 2, height_in=height_in, width_ratios=(5, 4))
    costs, aborts = axes[0]
    labels: list[str] = []
    for number, cell in enumerate(cells.cells):
        others = (cell.value(key) for key in cells.varying("design", "scenario"))
        label = ", ".join([cell.design, *map(str, others)])
        labels.append(label)
        broken = cell.violating(*SAFETY)
        point(
            costs,
            cell.quantile_ms("dml_latency_us", 0.99),
            cell.quantile_ms("ddl_latency_us", 0.99),
            label,
            number,
            hollow=not broken.value,
        )
        rate = cell.schema_aborts
        point(
            aborts,
            tuple(100 * one for one in rate),
            (float(number), float(number), float(number)),
            label,
            number,
            hollow=not broken.value,
        )
    costs.set_xlabel("DML latency, 99th percentile (ms)")
    costs.set_ylabel("DDL latency, 99th percentile (ms)")
    costs.set_title("What a design costs")
    for axis in (costs.xaxis, costs.yaxis):
        low, high = axis.get_data_interval()
        logarithmic(axis, subs=(1.0, 3.0) if high > WIDE * low else (1.0, 2.0, 5.0))
    aborts.set_title("Schema aborts of all attempts")
    aborts.set_xlabel("%")
    aborts.set_xlim(left=0)
    aborts.set_yticks(range(len(labels)), labels)
    aborts.invert_yaxis()
    note(drawn, f"filled: atomicity, one version per transaction or data broken\n{cells.note}")
    return drawn


if __name__ == "__main__":
    sys.exit(main("pareto"))
