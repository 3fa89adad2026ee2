"""Experiment 8: commits under a stale schema, against how old a kept schema is.

The schema is read again every `poll_ms`, so its age at a read version is uniform up to that. Closed
form 6.5: the share whose schema has changed since; of C15 it is the gap between the read of the
schema and the read version. What reads the schema's version with each read version has only the
time from that to the commit, in which a conflict finds a change (C16) or does not (C12 at the
start).
"""

import sys
from typing import Any, Final

from ddlsim.analysis.figures.drawing import (
    canvas,
    form,
    legend_above,
    logarithmic,
    note,
    points,
    within,
)
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import store_forms as forms
from ddlsim.analysis.formula.store_rates import Rates
from ddlsim.analysis.sweep.cells import Cell, Cells

X: Final = "poll_ms"
READS: Final = "read_only"
LINEAR: Final = 0.5
"""Below this percentage the axis is linear, so that 0 has a place."""
SAID: Final = {0: "write", 1: "only read"}
TICKS: Final = (0, 0.5, 1, 2, 5, 10, 20, 50, 100)
CURRENT: Final = ("metadata_version", "metadata_version_at_snapshot")
"""Rules of `read_schema` whose schema is that of the read version."""


def draw(cells: Cells) -> Any:
    """A panel for transactions that write and one for those that only read."""
    rates = Rates(cells)
    kinds = cells.values(READS)
    drawn, axes = canvas(1, len(kinds), height_in=3.6, sharey=True)
    for panel, kind in zip(axes[0], kinds, strict=True):
        for scenario in cells.values("scenario"):
            _curve(panel, cells.where(scenario=scenario), rates)
        for number, (label, series) in enumerate(cells.series(X, READS)):
            mine = series.where(**{READS: kind})
            x = [_exponent(cell, rates) for cell in mine.cells]
            points(panel, x, *mine.each(lambda cell: cell.share_above("stale_us").percent),
                   label, number)  # fmt: skip
        panel.set(
            title=SAID.get(kind, f"{100 * kind:g} % only read"),
            xlabel=within(panel, "λ times the mean age of the schema"),
        )
        logarithmic(panel.xaxis)
        panel.set_yscale("symlog", linthresh=LINEAR)
        panel.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        panel.set_ylim(-0.1, 100)
    axes[0][0].set_ylabel("commits under a stale schema (%)")
    legend_above(drawn, axes[0][0], 3, "How many commits are under a schema that was replaced?")
    note(drawn, f"λ: changes of a table; of c12 and c16 the age is cv - rv\n{cells.note}")
    return drawn


def _curve(panel: Any, cells: Cells, rates: Rates) -> None:
    """The closed form of what keeps a schema, in one scenario."""
    kept = [cell for cell in cells.cells if not _is_current(cell, rates)]
    curve = sorted((_exponent(cell, rates), _by_formula(cell, rates)) for cell in kept)
    form(panel, [x for x, _ in curve], [y for _, y in curve],
         "formula 6.5: kept, and read again every P")  # fmt: skip


def _is_current(cell: Cell, rates: Rates) -> bool:
    return rates.world(cell).design.rules.get("read_schema") in CURRENT


def _exponent(cell: Cell, rates: Rates) -> float:
    """Lambda times the mean age, of the table that a transaction uses."""
    if _is_current(cell, rates):
        return rates.of_table(cell) * rates.span(cell)
    read_ms = rates.read(cell)
    return rates.of_table(cell) * ((float(cell.value(X)) + read_ms) / 2 + read_ms)


def _by_formula(cell: Cell, rates: Rates) -> float:
    """The share in percent; a process reads again P after it had the last answer."""
    read_ms = rates.read(cell)
    every = float(cell.value(X)) + read_ms
    return 100 * float(forms.changed_since_poll(rates.of_table(cell), every, read_ms))


if __name__ == "__main__":
    sys.exit(main("stale_gap"))
