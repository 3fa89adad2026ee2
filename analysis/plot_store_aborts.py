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
    spans = []
    for scenario in cells.values("scenario"):
        spans += _by_formula(panel, cells.where(scenario=scenario), rates)
    logarithmic(panel.xaxis)
    logarithmic(panel.yaxis)
    panel.margins(x=0.14)
    panel.set(xlabel="schema changes per second", ylabel="schema aborts of all attempts (%)")
    question = "How often does a schema change abort a transaction, by what a design conflicts on?"
    legend_above(drawn, panel, 3, question)
    said = " and ".join(f"{span:.0f} ms" for span in spans)
    lengths = f"; cv - rv is {said}" if said else ""
    note(drawn, f"λ of the store and of one table{lengths}\n{cells.note}")
    return drawn


def _by_formula(panel: Any, cells: Cells, rates: Rates) -> list[float]:
    """The two closed forms of a scenario, and the mean cv - rv in ms that they have.

    None where its runs made no change, or committed nothing.
    """
    met = [cell for cell in cells.cells if rates.changes(cell) > 0 and rates.span(cell) > 0]
    if not met:
        return []
    lams = [rates.changes(cell) for cell in met]
    along = np.geomspace(min(lams), max(lams), 60)
    span = float(np.mean([rates.span(cell) for cell in met]))
    shares = {"any change": 1.0, "of its table": rates.of_table(met[0]) / rates.changes(met[0])}
    for said, share in shares.items():
        by_formula = 100 * forms.changed_within(share * along, span)
        form(panel, MS_PER_S * along, by_formula, "formula 6.3: 1 - exp(-λ (cv - rv))")
        panel.annotate(said, (MS_PER_S * along[-1], by_formula[-1]), xytext=(4, 0), va="center",
                       textcoords="offset points", fontsize=8, annotation_clip=False)  # fmt: skip
    return [span]


if __name__ == "__main__":
    sys.exit(main("store_aborts"))
