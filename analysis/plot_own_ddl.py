"""Experiment 5: how often a client does not see its own DDL, against the real skew.

The guarantee holds as long as no two clocks differ by more than what the acknowledgement waits
after Tu (CSmax, 98.flow.4) and what a message to the next node takes; beyond that it is lost
(closed form 6.5 for one pair of clocks: a step).
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import form, legend_above, note, panels, points, within
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.by_formula import Forms, remark, worlds
from ddlsim.analysis.sweep.cells import Cell, Cells, Estimate
from ddlsim.units import physical_ms, timestamp

X: Final = "skew_ms"
APART: Final = 0.018
"""How far points of the same skew are drawn apart, as a share of the axis."""
EARLY: Final = "acknowledged-too-early"
FAR: Final = timestamp(10**9)


def draw(cells: Cells) -> Any:
    """A panel for each design: points are runs, the dashed step is the closed form."""
    designs = cells.values("design")
    drawn, axes = panels(len(designs), height_in=3.8, sharey=True)
    every = cells.series(X, "design")
    skews = [float(skew) for skew in cells.values(X)]
    known = worlds(cells)
    for panel, design in zip(axes, designs, strict=True):
        mine = cells.where(design=design)
        for slack, way in _bounds(mine, known):
            along = np.linspace(min(skews), max(skews), 2_000)
            step = 100 * forms.own_ddl_missed_at(along, slack, way)
            form(panel, along, step, "formula 6.5: missed beyond the wait after Tu and the way")
            at = (slack + way, 50)
            panel.annotate(f"wait {slack:g} ms\nway {way:g} ms", at, xytext=(6, 0), va="center",
                           textcoords="offset points", fontsize=8)  # fmt: skip
        for number, (label, series) in enumerate(every):
            shift = APART * (max(skews) - min(skews)) * (number - (len(every) - 1) / 2)
            own = series.where(design=design)
            x = [cell.value(X) + shift for cell in own.cells]
            points(panel, x, *own.each(_missed), label, number)
        for cs_max in sorted({world.cs_max for world in known.values()}):
            panel.axvline(cs_max, color="#777777", linewidth=0.9)
            panel.annotate(
                f"CSmax {cs_max:g} ms", (cs_max, 113), xytext=(3, 0), va="top", fontsize=8,
                textcoords="offset points", annotation_clip=False,
            )  # fmt: skip
        panel.set(
            title=within(panel, design),
            xlabel=within(panel, "real difference of the two clocks (ms)"),
            ylim=(-4, 114),
            yticks=range(0, 101, 20),
        )
        if panel.get_subplotspec().is_first_col():
            panel.set_ylabel("runs with a missed own DDL (%)")
    legend_above(drawn, axes, 3, "Does a client see its acknowledged DDL on every node?")
    note(drawn, remark(cells, known))
    return drawn


def _missed(cell: Cell) -> Estimate:
    """Runs with an operation that missed what was acknowledged, not an early answer alone."""
    return cell.violating("I4", besides=(EARLY,)).percent


def _bounds(cells: Cells, known: dict[int, Forms]) -> list[tuple[float, float]]:
    """What an acknowledgement waits after Tu, and the way to the next node: two client messages."""
    found = set()
    for cell in cells.cells:
        world = known.get(cell.number)
        if world is not None:
            acknowledged = world.strategy.acknowledge_ts(FAR, world.cs_max)
            slack = float(physical_ms(acknowledged) - physical_ms(FAR))
            found.add((slack, round(2 * float(np.median(world.client_delays)), 3)))
    return sorted(found)


if __name__ == "__main__":
    sys.exit(main("own_ddl"))
