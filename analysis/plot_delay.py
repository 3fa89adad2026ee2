"""Experiment 1: aborts, DML latency, the schema wait and DDL latency against DD.

A larger DD lets look-ups find their schema complete, and makes every DDL wait longer. The knee of
the wait lies where DD covers propagation, the idle interval H and the skew.
"""

import sys
from typing import Any, Final

from analysis.cells import Cell, Cells, Estimate, said
from analysis.drawing import canvas, legend, line, note
from analysis.figure import figure, main

X: Final = "delay_duration_ms"


def _p99_wait(cell: Cell) -> Estimate:
    return cell.quantile_ms("operation_wait_us", 0.99)


def _dml(cell: Cell) -> Estimate:
    return cell.quantile_ms("dml_latency_us", 0.99)


def _ddl(cell: Cell) -> Estimate:
    return cell.quantile_ms("ddl_latency_us", 0.5)


def _aborts(cell: Cell) -> Estimate:
    return Estimate(*(100 * one for one in cell.schema_aborts))


PANELS: Final = (
    ("Schema aborts of all attempts", "%", _aborts),
    ("DML latency, 99th percentile", "ms", _dml),
    ("Schema wait of an operation, 99th percentile", "ms", _p99_wait),
    ("DDL latency, median", "ms", _ddl),
)


@figure("delay", "aborts, waits and latencies against DD", needs=(X,))
def draw(cells: Cells) -> Any:
    """Four panels over one DD axis; a line for everything else that was swept."""
    drawn, axes = canvas(2, 2, height_in=2.7, sharex=True)
    for place, (title, unit, of) in enumerate(PANELS):
        panel = axes[place // 2][place % 2]
        for number, (label, series) in enumerate(cells.series(X)):
            middle, *ends = series.each(of)
            line(panel, [cell.value(X) for cell in series.cells], middle, ends, label, number)
        panel.set_title(title)
        panel.set_ylabel(unit)
        panel.set_ylim(bottom=0)
        if place >= 2:
            panel.set_xlabel(said(X))
    if len(cells.series(X)) > 1:
        legend(axes[0][1])
    note(drawn, cells.note)
    return drawn


if __name__ == "__main__":
    sys.exit(main("delay"))
