"""The designs one below the other, where a scatter of them would be one heap.

A line per design: what it costs reads and writes, what it costs schema changes, how many attempts a
schema change aborts, how many aborts nothing asked for (I11, the quirk too), and in how many runs a
safety property was broken, whether the design claims it or not. A filled point's runs broke some.
What is tried again inside is no attempt of a client, and yet an abort that may be without need.
"""

import sys
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.ticker import MaxNLocator

from ddlsim.analysis.figures.drawing import canvas, legend_above, make_room, note, point
from ddlsim.analysis.figures.figure import figure, main
from ddlsim.analysis.sweep.cells import SAFETY, SAFETY_SAID, Cell, Cells, CellsError, Estimate

CELLS_MOST: Final = 24
EDGE: Final = 0.05
"""How much of an axis lies before nothing and after all, so that points there are seen whole."""
BESIDE: Final = 0.36
"""How far below a design's line its second point stands."""
NEEDLESS: Final = "without need, inner retries included"
NOWHERE: Final = (np.nan, np.nan, np.nan)


@figure("designs", "designs one below the other: latencies, aborts with and without need, safety")
def draw(cells: Cells) -> Any:
    """Four columns of points with intervals over the same lines."""
    if len(cells.cells) > CELLS_MOST:
        raise CellsError(
            f"the figure 'designs' shows up to {CELLS_MOST} cells, and this sweep has "
            f"{len(cells.cells)}; sweep over strategies alone"
        )
    height_in = max(2.4, 1.4 + 0.31 * len(cells.cells))
    drawn, axes = canvas(1, 4, height_in=height_in, sharey=True)
    dml, ddl, aborts, unsafe = axes[0]
    others = cells.varying("design", "scenario")
    point(aborts, NOWHERE, NOWHERE, "schema aborts of attempts", 0, hollow=True)
    point(aborts, NOWHERE, NOWHERE, NEEDLESS, 1, hollow=True)
    for line, cell in enumerate(cells.cells):
        broken = cell.violating(*SAFETY)
        hollow = not broken.value
        _on_line(dml, cell.quantile_ms("dml_latency_us", 0.99), line, hollow=hollow)
        _on_line(ddl, cell.mean_ms("ddl_latency_us"), line, hollow=hollow)
        _on_line(aborts, _percent(cell.schema_aborts), line, hollow=hollow)
        needless = _percent(cell.ratio(_needless, lambda row: row["attempts"]))
        point(aborts, needless, (line + BESIDE,) * 3, None, 1, hollow=True)
        _on_line(unsafe, _percent(broken), line, hollow=hollow)
    labels = [", ".join([cell.design, *_values(cell, others)]) for cell in cells.cells]
    dml.set_yticks(range(len(labels)), labels)
    make_room(drawn, labels)
    dml.invert_yaxis()
    for axis, title, unit in (
        (dml, "DML, p99", "ms"),
        (ddl, "DDL, mean", "ms"),
        (aborts, "Schema aborts", "% of attempts"),
        (unsafe, "Safety broken", "% of runs"),
    ):
        axis.set_title(title)
        axis.set_xlabel(unit)
        right = 100 if axis is unsafe else axis.get_xlim()[1]
        axis.set_xlim(-EDGE * right, (1 + EDGE) * right)
        axis.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    legend_above(drawn, aborts, 2, "What does a design cost, and what does it break?")
    note(drawn, f"filled: safety was broken in some runs; {SAFETY_SAID}\n{cells.note}")
    return drawn


def _on_line(axes: Any, x: Any, line: int, *, hollow: bool) -> None:
    point(axes, x, (line,) * 3, None, 0, hollow=hollow)


def _percent(share: Estimate) -> tuple[float, float, float]:
    return 100 * share.value, 100 * share.low, 100 * share.high


def _needless(row: Mapping[str, Any]) -> float:
    """The schema aborts of a run that its judge found to be without need, of whatever kind."""
    return float(sum(dict(row["needless_aborts"]).values()))


def _values(cell: Cell, names: list[str]) -> list[str]:
    return [str(cell.value(name)) for name in names]


if __name__ == "__main__":
    sys.exit(main("designs"))
