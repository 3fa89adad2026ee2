"""Experiment 3: schema aborts against lambda L, schema changes per transaction.

L is measured: the mean time from enlistment to commit of committed transactions. All transactions
of a cell must be equally long: otherwise the shorter ones commit more often and L is too small.
Closed form 6.3, for a share of incompatible changes of 1, 1/2 and 1/4.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, form, legend_above, line, logarithmic, note
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.by_formula import Forms, remark, worlds
from ddlsim.analysis.stats import histogram
from ddlsim.analysis.sweep.cells import Cell, Cells, CellsError
from ddlsim.units import US_PER_MS

X: Final = "gap_ms"
SHARES: Final = {1.0: "1", 0.5: "1/2", 0.25: "1/4"}
"""Shares q of changes that are incompatible, of which the closed form is drawn."""


def length_ms(cell: Cell) -> float:
    """The mean time from enlistment to commit; nan where nothing committed."""
    using, tail = cell.durations("using_us"), cell.durations("tail_us")
    count = sum(histogram.size(one) for one in using)
    total = sum(one.total_us for one in (*using, *tail))
    return total / count / US_PER_MS if count else float("nan")


def changes_per_ms(cell: Cell, world: Forms | None) -> float:
    """The measured rate of schema changes during the load.

    Raises `CellsError` as `load_ms` does.
    """
    lasts_ms = load_ms(cell, world)
    changes = sum(row["schema_updates"] for row in cell.rows)
    return float(changes / max(lasts_ms, 1 / US_PER_MS))


def load_ms(cell: Cell, world: Forms | None) -> float:
    """How long the load of all runs of a cell lasted; the whole runs if the load has no end.

    What is done in it, over the whole runs, would be too low a rate: nothing begins in the drain.
    Raises `CellsError` where the scenario cannot be read again: it says how long the load lasts.
    """
    if world is None:
        raise CellsError(
            "the figure needs the scenario of the sweep, which cannot be read from here; draw it "
            "in the folder from which the sweep was run, or run the sweep again"
        )
    lasts_ms = world.scenario.table.run.load_ms
    if lasts_ms is not None:
        return float(lasts_ms * len(cell.rows))
    return float(sum(row["simulated_us"] for row in cell.rows) / US_PER_MS)


def load_of(cell: Cell, world: Forms | None) -> float:
    """Lambda L of a run with one table: schema changes per length of a transaction."""
    return changes_per_ms(cell, world) * length_ms(cell)


def draw(cells: Cells) -> Any:
    """One log-log panel: a line for each design, and the closed form."""
    drawn, axes = canvas(1, 1, height_in=4.2)
    panel = axes[0][0]
    known = worlds(cells)
    every: list[float] = []
    for number, (label, series) in enumerate(cells.series(X)):
        found = sorted(
            ((load_of(cell, known.get(cell.number)), cell.number, cell) for cell in series.cells),
            key=lambda each: each[:2],
        )
        shown = [(load, cell) for load, _, cell in found if load > 0]
        x = [load for load, _ in shown]
        ordered = Cells([cell for _, cell in shown], cells.provenance)
        every += x
        middle, *ends = ordered.each(lambda cell: cell.schema_aborts.percent)
        line(panel, x, middle, ends, label, number)
    if every:
        along = np.geomspace(min(every), max(every), 60)
        for share, name in SHARES.items():
            said = None if share < 1 else "formula 6.3: 1 - exp(-qλL)"
            by_formula = 100 * forms.abort_options_1_2(along, share, 1.0)
            form(panel, along, by_formula, said)
            panel.annotate(
                f"q = {name}", (along[0], by_formula[0]), xytext=(-8, 0), ha="right", va="center",
                textcoords="offset points", fontsize=8,
            )  # fmt: skip
        logarithmic(panel.xaxis)
        logarithmic(panel.yaxis)
    panel.set(
        xlabel="λL: schema changes of the table per length of a transaction",
        ylabel="schema aborts of all attempts (%)",
    )
    panel.margins(x=0.1)
    question = "How often does a schema change abort a transaction, by the transaction's length?"
    legend_above(drawn, panel, 1, question)
    note(drawn, remark(cells, known))
    return drawn


if __name__ == "__main__":
    sys.exit(main("abort_rate"))
