"""The designs one below the other, for sweeps whose points a scatter would not separate.

A row per design: the latency of reads and writes and of schema changes, the share of attempts that
a schema change aborted, the share of needless aborts (I11, the quirk included), and the share of
runs in which a safety property was broken, claimed or not. A filled point: some run broke one.
An inner retry is not an attempt of a client, but its abort may be needless too.
"""

import sys
from collections.abc import Mapping
from typing import Any, Final

from matplotlib.ticker import MaxNLocator

from ddlsim.analysis.figures.drawing import canvas, legend_above, make_room, note, point
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.sweep.cells import NO_ESTIMATE, SAFETY, SAFETY_SAID, Cells

CELLS_MOST: Final = 24
EDGE: Final = 0.05
"""The margin at both ends of an axis, as a share of it, so that points there are whole."""
BESIDE: Final = 0.36
"""How far below a design's row its second point is drawn."""
ROOM: Final = 0.5
"""The distance between the first row and the top, of that between two rows."""
NEEDLESS: Final = "needless aborts, inner retries included"


def draw(cells: Cells) -> Any:
    """Four columns of points with intervals, a row for each design."""
    cells.at_most(CELLS_MOST, "designs")
    height_in = max(2.4, 1.4 + 0.31 * len(cells.cells))
    drawn, axes = canvas(1, 4, height_in=height_in, sharey=True)
    dml, ddl, aborts, unsafe = axes[0]
    others = cells.varying("design")
    point(aborts, NO_ESTIMATE, NO_ESTIMATE, "schema aborts of attempts", 0, hollow=True)
    point(aborts, NO_ESTIMATE, NO_ESTIMATE, NEEDLESS, 1, hollow=True)
    for line, cell in enumerate(cells.cells):
        broken = cell.violating(*SAFETY)
        hollow = not broken.value
        _on_line(dml, cell.quantile_ms("dml_latency_us", 0.99), line, hollow=hollow)
        _on_line(ddl, cell.mean_ms("ddl_latency_us"), line, hollow=hollow)
        _on_line(aborts, cell.schema_aborts.percent, line, hollow=hollow)
        needless = cell.share(_needless, lambda row: row["attempts"]).percent
        point(aborts, needless, (line + BESIDE,) * 3, None, 1, hollow=True)
        _on_line(unsafe, broken.percent, line, hollow=hollow)
    labels = [cell.label(others) for cell in cells.cells]
    dml.set_yticks(range(len(labels)), make_room(drawn, labels))
    dml.set_ylim(len(labels) - 1 + 2 * BESIDE, -ROOM)  # the first row is on top
    for axis, title, unit in (
        (dml, "DML, p99", "ms"),
        (ddl, "DDL, mean", "ms"),
        (aborts, "Schema aborts", "% of attempts"),
        (unsafe, "Safety broken", "% of runs"),
    ):
        axis.set(title=title, xlabel=unit)
        right = 100 if axis is unsafe else axis.get_xlim()[1]
        axis.set_xlim(-EDGE * right, (1 + EDGE) * right)
        axis.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    legend_above(drawn, aborts, 2, "What does a design cost, and what does it break?")
    note(drawn, f"filled: safety was broken in some runs\n{SAFETY_SAID}\n{cells.note}")
    return drawn


def _on_line(axes: Any, x: Any, line: int, *, hollow: bool) -> None:
    point(axes, x, (line,) * 3, None, 0, hollow=hollow)


def _needless(row: Mapping[str, Any]) -> float:
    """The needless schema aborts of a run, of every kind."""
    return float(sum(dict(row["needless_aborts"]).values()))


if __name__ == "__main__":
    sys.exit(main("designs"))
