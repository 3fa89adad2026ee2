"""Experiment 1: aborts, DML latency, the schema wait and DDL latency against DD.

With a larger DD look-ups wait less and DDL statements take longer. The knee of the wait is where DD
covers propagation, the idle interval H and the skew. Closed forms: the wait
between unordered and ordered links with the measured rate of metadata writes (6.1), DDL latency
(6.2).
"""

import math
import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import (
    bracket,
    canvas,
    form,
    legend_above,
    line,
    logarithmic,
    note,
)
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.formula.by_formula import Forms, remark, wait_of, worlds
from ddlsim.analysis.sweep.cells import Cell, Cells, Estimate, said

X: Final = "delay_duration_ms"
TAIL: Final = 0.99
FAR: Final = 20
"""Latencies so many times apart are drawn on a logarithmic axis."""


def _wait(cell: Cell) -> Estimate:
    return cell.quantile_ms("first_wait_us", TAIL)


def _dml(cell: Cell) -> Estimate:
    return cell.quantile_ms("dml_latency_us", TAIL)


def _ddl(cell: Cell) -> Estimate:
    return cell.mean_ms("ddl_latency_us")


def _aborts(cell: Cell) -> Estimate:
    return cell.schema_aborts.percent


PANELS: Final = (
    ("Schema aborts of all attempts", "%", _aborts),
    ("DML latency, 99th percentile", "ms", _dml),
    ("Wait of a first look-up, 99th percentile", "ms", _wait),
    ("DDL latency, mean", "ms", _ddl),
)


def draw(cells: Cells) -> Any:
    """Four panels over one DD axis; a line for everything else that was swept."""
    drawn, axes = canvas(2, 2, height_in=2.5, sharex=True)
    known = worlds(cells)
    for panel, (title, unit, of) in zip(axes.flat, PANELS, strict=True):
        drawn_to: list[float] = []
        for number, (label, series) in enumerate(cells.series(X)):
            middle, *ends = series.each(of)
            drawn_to += [float(end) for end in (*middle, *ends[1]) if math.isfinite(end)]
            line(panel, [cell.value(X) for cell in series.cells], middle, ends, label, number)
            if of is _wait:
                _wait_by_formula(panel, series, known)
            elif of is _ddl:
                _ddl_by_formula(panel, series, known)
        panel.set(title=title, ylabel=unit)
        if of is _dml and drawn_to and max(drawn_to) > FAR * min(drawn_to):
            logarithmic(panel.yaxis)
        else:
            panel.set_ylim(bottom=0)
    for panel in axes[1]:
        panel.set_xlabel(said(X))
    legend_above(drawn, axes[1][0], 4, "What does DD buy, and what does it cost?")
    note(drawn, remark(cells, known))
    return drawn


def _wait_by_formula(panel: Any, series: Cells, known: dict[int, Forms]) -> None:
    found = [wait_of(cell, known.get(cell.number)) for cell in series.cells]
    ends = [model.quantile(TAIL, slack) for model, slack in filter(None, found)]
    if len(ends) == len(found):
        low, high = [each.unordered for each in ends], [each.ordered for each in ends]
        x = [cell.value(X) for cell in series.cells]
        bracket(panel, x, low, high, "by formula")


def _ddl_by_formula(panel: Any, series: Cells, known: dict[int, Forms]) -> None:
    found = [_statements(known.get(cell.number)) for cell in series.cells]
    means = [float(np.mean(one)) for one in found if one is not None]
    if len(means) == len(found):
        form(panel, [cell.value(X) for cell in series.cells], means, None)


def _statements(world: Forms | None) -> Any:
    """A sample of 6.2, which has no part for those that use what a statement changes."""
    return None if world is None or world.waits_for_users else world.ddl_latency()


if __name__ == "__main__":
    sys.exit(main("delay"))
