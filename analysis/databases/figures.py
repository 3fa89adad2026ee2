"""The figures of the study: statements around a change of a table, and how long both take."""

from collections.abc import Sequence
from typing import Any, Final

from ddlsim.analysis.databases.grid import NAMES
from ddlsim.analysis.databases.view import SAID, Json
from ddlsim.analysis.figures.drawing import (
    canvas,
    curve,
    legend_above,
    logarithmic,
    note,
    point,
)

WAYS: Final = ("schema-append", "retype")
"""The workloads whose statements are drawn: columns alone, and tables that are written anew."""
BUSY: Final = (
    "Recorded on a machine that did other work too: compare a database with itself alone. A "
    "statement waits for a\nlock for 0.3 s on PostgreSQL, 1 s on MariaDB, 2 s on SQLite, and fails."
)


def strictest(cells: Sequence[Json]) -> dict[str, list[Json]]:
    """The recorded cells of each database at the first of its levels."""
    found: dict[str, list[Json]] = {}
    for name in NAMES:
        mine = [one for one in cells if one["database"] == name and not one["lacks"]]
        found[name] = [one for one in mine if one["level"] == mine[0]["level"]]
    return {name: mine for name, mine in found.items() if mine}


def around(cells: Sequence[Json]) -> Any:
    """Throughput and latency of statements by the time since a change of a table began."""
    shown = strictest(cells)
    drawn, axes = canvas(len(shown), 2, height_in=max(1.9, 3.0 / len(shown)), sharex=True)
    for row, (name, mine) in zip(axes, shown.items(), strict=True):
        many, long = row
        for number, way in enumerate(WAYS):
            for cell in (one for one in mine if one["workload"] == way):
                known = cell["around"]
                curve(many, known["from_ms"], known["per_s"], way, number, drawstyle="steps-post")
                slow = [value or float("nan") for value in known["p99_ms"]]
                curve(long, known["from_ms"], slow, way, number, drawstyle="steps-post")
        for panel in row:
            panel.axvline(0, color="#777777", linewidth=0.9)
        logarithmic(long.yaxis)
        many.set_ylim(bottom=0)
        many.set_title(f"{SAID[name]}, {mine[0]['level']}: statements per second")
        long.set_title("slowest 1 % of those begun then (ms)")
    for panel in axes[-1]:
        panel.set_xlabel("time since a change of a table began (ms)")
    legend_above(drawn, axes[0][0], 2, "What do other clients see of a change?")
    note(drawn, BUSY)
    return drawn


def durations(cells: Sequence[Json]) -> Any:
    """How long changes take, and the longest statement beside each: the median, and the worst."""
    shown = [cell for mine in strictest(cells).values() for cell in mine]
    drawn, axes = canvas(1, 1, height_in=1.6 + 0.26 * len(shown))
    panel = axes[0][0]
    for place, cell in enumerate(reversed(shown)):
        rows = (
            ("change of a table", cell["ddl"]["ms"], 0.14),
            ("longest wait of a statement for it", cell["dml"]["stall_ms"], -0.14),
        )
        for number, (label, spread, shift) in enumerate(rows):
            if spread["n"]:
                middle = max(spread["p50"], 0.05)
                ends = (middle, middle, spread["max"])
                at = (place + shift,) * 3
                point(panel, ends, at, None if place else label, number, hollow=True)
    panel.set_yticks(
        range(len(shown)),
        [f"{SAID[one['database']]}  {one['workload']}" for one in reversed(shown)],
    )
    panel.set_xlabel("milliseconds: the median, and a line to the longest")
    logarithmic(panel.xaxis, subs=(1.0,))
    legend_above(drawn, panel, 2, "How long does a change take, and what waits for it?")
    note(drawn, BUSY)
    return drawn
