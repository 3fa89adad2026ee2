"""Experiment 4: where the Atomicity Property breaks, over two swept parameters.

A map of the share of runs with a violation of I1 for each design: two axes of the sweep span it,
say the slowest delays and the skew. The map of a design that waits for safe time must be empty.
Where they are the delay of a link and the offset of a clock, the border of a design that never
waits is drawn too: delay + skew = Tu - Tm, DD of A1 and 0 of A0 (6.5).
"""

import sys
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.patheffects import withStroke
from matplotlib.ticker import PercentFormatter

from ddlsim.analysis.figures.drawing import form, heading, note, panels, within
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula.by_formula import Forms, worlds
from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep.cells import Cells, CellsError, said
from ddlsim.analysis.sweep.need import Need

SHADES: Final = "Greys"
TICKS_MOST: Final = 7
"""How many numbers an axis has at the most."""
DELAY: Final = Need("delay_ms", "network.links[*].latency_ms")
SKEW: Final = Need("skew_ms", "clocks.nodes.*.offset_ms")
HALO: Final = withStroke(linewidth=3, foreground="white")
"""Around the closed form, which crosses black fields."""


def draw(cells: Cells) -> Any:
    """A panel for each design and scenario, darker where more runs are broken.

    A field is as wide as its values.
    """
    axes_of = cells.varying("design", "scenario")
    if len(axes_of) != 2:
        raise CellsError(
            "the figure 'atomicity' needs a sweep over exactly two parameters, and this one "
            f"has {', '.join(axes_of) or 'none'}"
        )
    x, y = axes_of
    if not all(isinstance(value, int | float) for key in axes_of for value in cells.values(key)):
        raise CellsError(f"the figure 'atomicity' draws numbers, and {x} or {y} has others")
    designs = cells.by_design()
    known = worlds(cells) if _are_delay_and_skew(cells, axes_of) else {}
    borders: dict[str, None] = {}
    drawn, axes = panels(len(designs), height_in=2.6, sharey=True)
    for panel, (design, mine) in zip(axes, designs, strict=True):
        _map(panel, mine, x, y)
        borders[_border(panel, mine, known)] = None
        panel.set_title(f"{within(panel, design)}\n{_count(mine)}", fontsize=9)
        panel.set_xlabel(said(x))
        if panel.get_subplotspec().is_first_col():
            panel.set_ylabel(said(y))
    shades = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), SHADES)
    key = drawn.colorbar(shades, ax=axes, shrink=0.6, aspect=30, format=PercentFormatter(1))
    key.solids.set_rasterized(False)  # an SVG without a picture inside
    key.solids.set_edgecolor("face")
    line = "\n" if axes[0].get_subplotspec().get_gridspec().nrows == 1 else " "
    key.set_label(f"runs in which{line}nodes disagreed (I1)")
    heading(drawn, "Where do nodes give different answers about the same instant?")
    sums = " or ".join(filter(None, borders))
    border = f"; dashed: delay + skew = Tu - Tm, {sums} (formula 6.5)" if sums else ""
    note(drawn, f"a dot: a setting that was run; below: at 95 %{border}\n{cells.ran}")
    return drawn


def _are_delay_and_skew(cells: Cells, names: list[str]) -> bool:
    """Whether one axis is the delay of a link and the other the offset of a clock."""
    paths = [cells.paths.get(name, ()) for name in names]
    return all(any(need.is_set_by(p) for ps in paths for p in ps) for need in (DELAY, SKEW))


def _count(cells: Cells) -> str:
    """In how many runs nodes disagreed; of none, what the rate is below."""
    runs = sum(len(cell.rows) for cell in cells.cells)
    finished = [cell for cell in cells.cells if cell.rows]
    broken = sum(round(cell.violating("I1").value * len(cell.rows)) for cell in finished)
    if broken or not runs:
        return f"{broken} of {runs} runs"
    return f"0 of {runs} runs:\nbelow {100 * float(intervals.none_seen(runs)):.2g} %"


def _border(panel: Any, cells: Cells, known: dict[int, Forms]) -> str:
    """Draw delay + skew = Tu - Tm for a design that never waits; what the note says of it."""
    world = known.get(cells.cells[0].number)
    if world is None or world.border is None:
        return ""
    limits = panel.get_xlim(), panel.get_ylim()
    along = np.array(limits[0])
    form(panel, along, world.border - along, None)
    panel.get_lines()[-1].set_path_effects([HALO])
    panel.set_xlim(limits[0])
    panel.set_ylim(limits[1])
    return f"{world.border:g} ms"


def _map(panel: Any, cells: Cells, x: str, y: str) -> None:
    columns, rows = cells.values(x), cells.values(y)
    shares = np.full((len(rows), len(columns)), np.nan)
    for cell in cells.cells:
        share = cell.violating("I1").value
        shares[rows.index(cell.value(y)), columns.index(cell.value(x))] = share
    panel.pcolormesh(
        _edges(columns), _edges(rows), shares, cmap=SHADES, vmin=0, vmax=1, edgecolors="face"
    )
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
