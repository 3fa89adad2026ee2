"""Experiment 7: reads of the schema against the number of clients.

Left, requests for the hottest key, with the capacity of its server as a line; right, what a read
takes while its server gets busy. Closed forms 6.6: X, and X / N of each of N copies, up to the
capacity; C / P of processes that read every P; Lambda C of those that read after a change; and the
bracket of M/D/1 and M/M/1.
"""

import sys
from collections.abc import Mapping
from functools import partial
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
from ddlsim.analysis.formula import store_forms as forms
from ddlsim.analysis.formula.design_forms import VERSION, copies_of, in_each
from ddlsim.analysis.formula.store_rates import Rates
from ddlsim.analysis.plot_abort_rate import load_ms
from ddlsim.analysis.sweep.cells import Cell, Cells, CellsError, Estimate
from ddlsim.units import US_PER_MS

X: Final = "clients"
MS_PER_S: Final = 1_000
QUEUED: Final = "formula 6.6: M/D/1, M/M/1"
OPEN: Final = 0.85
"""The utilisation up to which clients that wait for their answers arrive as if they did not."""


def draw(cells: Cells) -> Any:
    """Requests per second left, the time that a read takes right."""
    if any(row["schema_reads"] is None for cell in cells.cells for row in cell.rows):
        raise CellsError("the figure needs counted reads; write `prices = true` into the sweep")
    rates = Rates(cells)
    drawn, axes = canvas(1, 2, height_in=3.8, width_ratios=(3, 2))
    load, wait = axes[0]
    x = [float(one) for one in cells.values(X)]
    for number, (label, series) in enumerate(cells.series(X)):
        first = series.cells[0]
        copies, service_ms = _copies(first, rates), _service_ms(first, rates)
        own = [float(cell.value(X)) for cell in series.cells]
        middle, *ends = series.each(partial(requests, rates=rates))
        line(load, own, middle, ends, f"{label}, each key" if copies > 1 else label, number)
        form(load, own, _by_formula(series, rates), "formula 6.6")
        if _rule(first, rates) in VERSION:
            _queue(wait, label, series, rates, number)
            cycle = _cycle(first, rates)
            if service_ms and np.isfinite(cycle):
                for panel in axes[0]:
                    full = float(forms.most_clients(cycle, service_ms))
                    panel.axvline(full, color="#777777", linewidth=0.9)
    for service_ms in sorted({_service_ms(cell, rates) for cell in cells.cells} - {0.0}):
        capacity = MS_PER_S / service_ms
        load.axhline(capacity, color="#777777", linewidth=0.9)
        load.annotate(f"capacity {capacity:g} per second", (x[0], capacity), xytext=(0, 3),
                      textcoords="offset points", fontsize=8)  # fmt: skip
    load.set(
        xscale="log",
        xlabel="clients",
        ylabel="requests for the hottest key (/s)",
    )
    wait.set(xlabel="clients", ylabel="time to read the schema's version (ms)", xscale="log")
    logarithmic(load.yaxis, subs=(1.0, 3.0))
    for panel in axes[0]:
        panel.set_xticks(x, [f"{one:g}" for one in x])
        panel.minorticks_off()
    if wait.has_data():
        bracket(load, [], [], [], QUEUED)
    legend_above(drawn, load, 3, "How much is the schema read, and when is its server busy?")
    note(drawn, f"of copies: each one's share of what their server gets\n{cells.note}")
    return drawn


def requests(cell: Cell, rates: Rates) -> Estimate:
    """Reads of each copy per second of the load, by the clock per second of the run.

    What transactions or changes ask for ends with the load, what the clock asks for does not.
    """
    seconds = load_ms(cell, rates.world(cell)) / MS_PER_S / max(len(cell.rows), 1)
    by_clock = _by_clock(rates.world(cell).design.rules)
    found = cell.ratio(
        lambda row: row["schema_reads"],
        lambda row: row["simulated_us"] / US_PER_MS / MS_PER_S if by_clock else seconds,
    )
    return Estimate(*(one / _copies(cell, rates) for one in found))


def _by_clock(rules: Mapping[str, str]) -> bool:
    return rules["background"] == "poll_the_head" or _by_distance(rules)


def _by_distance(rules: Mapping[str, str]) -> bool:
    return "distance_ms" in rules and rules["read_schema"].startswith("in_force")


def _rule(cell: Cell, rates: Rates) -> str:
    return rates.world(cell).design.rules["read_schema"]


def _service_ms(cell: Cell, rates: Rates) -> float:
    """What a read takes in its server; 0 where nothing limits it."""
    return rates.setting(cell, "storage_read_us") / US_PER_MS


def _copies(cell: Cell, rates: Rates) -> int:
    return copies_of(rates.world(cell).design.rules)


def _by_formula(series: Cells, rates: Rates) -> list[float]:
    """Requests per second of a design, by 6.6."""
    first = series.cells[0]
    rules = rates.world(first).design.rules
    processes = len(rates.world(first).scenario.nodes)
    changes = rates.changes(first)
    own = in_each(rules)
    if own:
        cycle = _cycle(first, rates)
        free = [float(cell.value(X)) / cycle for cell in series.cells]
        service_ms = _service_ms(first, rates)
        busy = 1 / service_ms / own if service_ms else np.inf
        copies = _copies(first, rates)
        return [MS_PER_S * own * float(forms.reads_in_each(min(one, busy), copies)) for one in free]
    if rules["background"] == "poll_the_head":
        each = float(forms.reads_every(processes, float(rules["poll_ms"])))
    elif _by_distance(rules):
        each = float(forms.reads_every(processes, float(rules["distance_ms"])))
        each *= _loaded(first, rates)
    else:
        each = 2 * float(forms.reads_per_change(processes, changes))
    return [MS_PER_S * each] * len(series.cells)


def _loaded(cell: Cell, rates: Rates) -> float:
    """The share of the time in which there is load: else nothing asks for a schema."""
    whole_ms = sum(row["simulated_us"] for row in cell.rows) / US_PER_MS
    return float(min(load_ms(cell, rates.world(cell)) / whole_ms, 1)) if whole_ms else 1.0


def _cycle(cell: Cell, rates: Rates) -> float:
    """From one transaction of a client to its next, in ms; of few clients, which wait for none.

    Infinite where none began.
    """
    begun = rates.begun(cell)
    return float(cell.value(X)) / begun if begun else np.inf


def _queue(panel: Any, label: str, series: Cells, rates: Rates, number: int) -> None:
    """What a read takes, by runs and by formula, as far as the server is not full."""
    service_ms = _service_ms(series.cells[0], rates)
    x = [float(cell.value(X)) for cell in series.cells]
    middle, *ends = series.each(lambda cell: cell.mean_ms("first_wait_us"))
    line(panel, x, middle, ends, label, number)
    way_ms = 2 * float(np.mean(rates.world(series.cells[0]).delays))
    open_ones = [
        (clients, forms.queued(rates.begun(cell), service_ms))
        for clients, cell in zip(x, series.cells, strict=True)
        if forms.busy(rates.begun(cell), service_ms) < OPEN
    ]
    least = [way_ms + float(ends[0]) for _, ends in open_ones]
    most = [way_ms + float(ends[1]) for _, ends in open_ones]
    bracket(panel, [clients for clients, _ in open_ones], least, most, QUEUED)
    panel.set_ylim(0, max(1.2 * max(middle[np.isfinite(middle)], default=0.0), panel.get_ylim()[1]))


if __name__ == "__main__":
    sys.exit(main("schema_load"))
