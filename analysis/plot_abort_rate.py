"""Experiment 3: schema aborts against lambda L, DDL per transaction.

`rate` is the DDL statements a second on the table, `length_ms` how long a transaction lasts: what
counts is their product. A sweep names its axes so.
"""

import sys
from typing import Any, Final

import numpy as np

from analysis import closed_forms as forms
from analysis.cells import Cell, Cells, Estimate
from analysis.drawing import canvas, form, legend, line, note
from analysis.figure import figure, main

MS_PER_S: Final = 1_000


def load_of(cell: Cell) -> float:
    """Lambda L: schema changes of the table per length of a transaction, as they happened."""
    changes = sum(row["schema_updates"] or 0 for row in cell.rows)
    simulated_s = sum(row["simulated_us"] for row in cell.rows) / 1e6
    length_s = float(cell.value("length_ms")) / MS_PER_S
    return float(changes / simulated_s * length_s) if simulated_s else 0.0


def _percent(cell: Cell) -> Estimate:
    return Estimate(*(100 * one for one in cell.schema_aborts))


@figure("abort_rate", "schema aborts against DDL per transaction", needs=("length_ms",))
def draw(cells: Cells) -> Any:
    """Log-log, a line for each design; the closed form with q = 1 and 0.5 beside them."""
    drawn, axes = canvas(1, 1, height_in=4.0)
    panel = axes[0][0]
    longest = []
    for number, (label, series) in enumerate(cells.series("length_ms")):
        ordered = Cells(sorted(series.cells, key=load_of), cells.provenance)
        x = [load_of(cell) for cell in ordered.cells]
        longest += x
        middle, *ends = ordered.each(_percent)
        line(panel, x, middle, ends, label, number)
    positive = [x for x in longest if x > 0]
    if positive:
        along = np.geomspace(min(positive), max(positive), 60)
        form(panel, along, 100 * forms.abort_options_1_2(along, 1.0, 1.0), "1 - exp(-λL)", 0)
        form(panel, along, 100 * forms.abort_options_1_2(along, 0.5, 1.0), "1 - exp(-λL/2)", 1)
        panel.set_xscale("log")
    panel.set_xlabel("λL: schema changes of the table per length of a transaction")
    panel.set_ylabel("schema aborts of all attempts (%)")
    panel.set_title("The longer a transaction, the more often a schema change meets it")
    legend(panel)
    note(drawn, cells.note)
    return drawn


if __name__ == "__main__":
    sys.exit(main("abort_rate"))
