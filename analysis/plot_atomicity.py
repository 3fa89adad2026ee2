"""Experiment 4: where the Atomicity Property breaks, over two swept parameters.

A map of the share of runs with a violation of I1 for each design: two axes of the sweep span it,
say the slowest delays and the skew. The map of a design that waits for safe time must be empty.
"""

import sys
from typing import Any

import numpy as np

from analysis.cells import Cells, CellsError, said
from analysis.drawing import canvas, note
from analysis.figure import figure, main


@figure("atomicity", "violations of the Atomicity Property over two parameters")
def draw(cells: Cells) -> Any:
    """One panel per design, darker where more runs are broken; each field says its share."""
    axes_of = cells.varying("design", "scenario")
    if len(axes_of) != 2:
        raise CellsError(
            "the figure 'atomicity' needs a sweep over exactly two parameters, and this one "
            f"has {', '.join(axes_of) or 'none'}"
        )
    x, y = axes_of
    designs = cells.values("design")
    columns = min(3, len(designs))
    drawn, panels = canvas(-(-len(designs) // columns), columns, height_in=2.7)
    for panel in panels.flat[len(designs) :]:
        panel.set_visible(False)
    for panel, design in zip(panels.flat, designs, strict=False):
        _map(panel, cells.where(design=design), x, y)
        panel.set_title(design)
    note(drawn, cells.note)
    return drawn


def _map(panel: Any, cells: Cells, x: str, y: str) -> None:
    columns, rows = cells.values(x), cells.values(y)
    shares = np.full((len(rows), len(columns)), np.nan)
    for cell in cells.cells:
        share = cell.violating("I1").value
        shares[rows.index(cell.value(y)), columns.index(cell.value(x))] = share
    panel.pcolormesh(shares, cmap="Greys", vmin=0, vmax=1, edgecolors="#dddddd", linewidth=0.5)
    for row, column in np.ndindex(*shares.shape):
        broken = float(shares[row, column])
        if broken > 0:
            colour = "white" if broken > 0.5 else "black"
            panel.text(
                column + 0.5,
                row + 0.5,
                f"{broken:.0%}",
                ha="center",
                va="center",
                color=colour,
                fontsize=6,
            )
    panel.set_xticks(np.arange(len(columns)) + 0.5, [f"{value:g}" for value in columns])
    panel.set_yticks(np.arange(len(rows)) + 0.5, [f"{value:g}" for value in rows])
    panel.set_xlabel(said(x))
    panel.set_ylabel(said(y))
    panel.grid(visible=False)
    panel.tick_params(length=0)


if __name__ == "__main__":
    sys.exit(main("atomicity"))
