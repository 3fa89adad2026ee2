"""Schema aborts on a key-value store against the rate of schema changes.

Closed form 6.3 over the measured span from the read version to the commit version: of all changes
of the store, or of the metadata version, and of those of one table.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, form, legend_above, line, logarithmic, note
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula import store_forms as forms
from ddlsim.analysis.formula.store_rates import Rates
from ddlsim.analysis.sweep.cells import Cells

X: Final = "ddl_clients"
MS_PER_S: Final = 1_000


def draw(cells: Cells) -> Any:
    """One log-log panel: a line for each design, and the two closed forms."""
    rates = Rates(cells)
    drawn, axes = canvas(1, 1, height_in=4.0)
    panel = axes[0][0]
    for number, (label, series) in enumerate(cells.series(X)):
        x = [MS_PER_S * rates.changes(cell) for cell in series.cells]
        middle, *ends = series.each(lambda cell: cell.schema_aborts.percent)
        line(panel, x, middle, ends, label, number)
    first = cells.cells[0]
    lams = [rates.changes(cell) for cell in cells.cells]
    along = np.geomspace(min(lams), max(lams), 60)
    span = float(np.mean([rates.span(cell) for cell in cells.cells]))
    shares = {"any change": 1.0, "of its table": rates.of_table(first) / rates.changes(first)}
    for said, share in shares.items():
        by_formula = 100 * forms.changed_within(share * along, span)
        entry = "formula 6.3: 1 - exp(-λ (cv - rv))" if share == 1.0 else None
        form(panel, MS_PER_S * along, by_formula, entry)
        panel.annotate(said, (MS_PER_S * along[-1], by_formula[-1]), xytext=(4, 0), va="center",
                       textcoords="offset points", fontsize=8, annotation_clip=False)  # fmt: skip
    logarithmic(panel.xaxis)
    logarithmic(panel.yaxis)
    panel.margins(x=0.14)
    panel.set(xlabel="schema changes per second", ylabel="schema aborts of all attempts (%)")
    question = "How often does a schema change abort a transaction, by what a design conflicts on?"
    legend_above(drawn, panel, 3, question)
    note(drawn, f"λ of the store and of one table; cv - rv is {span:.0f} ms\n{cells.note}")
    return drawn


if __name__ == "__main__":
    sys.exit(main("store_aborts"))
