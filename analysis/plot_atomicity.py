"""Experiment 4: where the Atomicity Property breaks, over two swept parameters.

A map of the share of runs with a violation of I1 for each design: two axes of the sweep span it,
say the slowest delays and the skew. The map of a design that waits for safe time must be empty.
"""

import sys
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import PercentFormatter

from analysis.cells import Cells, CellsError, said
from analysis.drawing import canvas, heading, note
from analysis.figure import figure, main

SHADES: Final = "Greys"
TICKS_MOST: Final = 7
"""How many numbers an axis has at the most."""


@figure("atomicity", "violations of the Atomicity Property over two parameters")
def draw(cells: Cells) -> Any:
    """One panel per design, darker where more runs are broken; a field is as wide as its values."""
    axes_of = cells.varying("design", "scenario")
    if len(axes_of) != 2:
        raise CellsError(
            "the figure 'atomicity' needs a sweep over exactly two parameters, and this one "
            f"has {', '.join(axes_of) or 'none'}"
        )
    x, y = axes_of
    if not all(isinstance(value, int | float) for key in axes_of for value in cells.values(key)):
        raise CellsError(f"the figure 'atomicity' draws numbers, and {x} or {y} has others")
    designs = cells.values("design")
    columns = min(3, len(designs))
    drawn, panels = canvas(-(-len(designs) // columns), columns, height_in=2.6, sharey=True)
    for panel in panels.flat[len(designs) :]:
        panel.set_visible(False)
    for place, (panel, design) in enumerate(zip(panels.flat, designs, strict=False)):
        _map(panel, cells.where(design=design), x, y)
        panel.set_title(design)
        panel.set_xlabel(said(x))
        if not place % columns:
            panel.set_ylabel(said(y))
    shades = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), SHADES)
    key = drawn.colorbar(shades, ax=panels, shrink=0.6, aspect=30, format=PercentFormatter(1))
    key.solids.set_rasterized(False)  # an SVG without a picture inside
    key.set_label("runs in which nodes disagreed (I1)")
    heading(drawn, "Where do nodes give different answers about the same instant?")
    note(drawn, f"a dot: a setting that was run\n{cells.note}")
    return drawn


def _map(panel: Any, cells: Cells, x: str, y: str) -> None:
    columns, rows = cells.values(x), cells.values(y)
    shares = np.full((len(rows), len(columns)), np.nan)
    for cell in cells.cells:
        share = cell.violating("I1").value
        shares[rows.index(cell.value(y)), columns.index(cell.value(x))] = share
    panel.pcolormesh(_edges(columns), _edges(rows), shares, cmap=SHADES, vmin=0, vmax=1)
    for row, column in np.ndindex(*shares.shape):
        dark = shares[row, column] > 0.5
        panel.plot(columns[column], rows[row], ".", color="white" if dark else "black", ms=2.5)
    panel.set_xticks(_apart(columns))
    panel.set_yticks(_apart(rows))
    panel.grid(visible=False)


def _edges(values: list[float]) -> Any:
    """The borders of fields around uneven values: half-way, and as far beyond the ends."""
    at = np.asarray(values, dtype=np.float64)
    if len(at) == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middles = (at[1:] + at[:-1]) / 2
    return np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])


def _apart(values: list[float]) -> list[float]:
    """The values that have a number on the axis: none where it would run into another."""
    least = (values[-1] - values[0]) / TICKS_MOST
    kept = values[:1]
    for value in values[1:]:
        if value - kept[-1] >= least:
            kept.append(value)
    return kept


if __name__ == "__main__":
    sys.exit(main("atomicity"))
