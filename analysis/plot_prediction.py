"""What `ddlsim tune --from` predicts for a database under DDL, beside what was measured.

Of each quantity: the closed form, the runs of each design, and the measurement, side by side.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures.drawing import canvas, legend_above, note, points
from ddlsim.analysis.figures.figure import main

PANELS: Final = (
    ("Times (ms)", ("ddl_wait_mean", "ddl_latency_p50", "ddl_latency_p95", "stall_mean",
                    "stall_p95")),
    ("Statements", ("stalled_per_ddl",)),
    ("Shares", ("abort_share", "lock_abort_share", "ddl_timeout_share")),
)  # fmt: skip
APART: Final = 0.17
"""The distance of the points of one quantity."""


def draw(found: dict[str, Any]) -> Any:
    """A panel for each unit."""
    quantities = {one["name"]: one for one in found["quantities"]}
    designs = [one["strategy"] for one in found["quantities"][0]["simulated"]]
    drawn, axes = canvas(1, len(PANELS), height_in=3.6, width_ratios=(5, 2, 3))
    for panel, (title, names) in zip(axes[0], PANELS, strict=True):
        _panel(panel, [quantities[name] for name in names], designs)
        panel.set_title(title)
    about = found["loaded"] or found["calm"]
    server = about["server"].split("-")[0]
    legend_above(drawn, axes[0][0], 4, f"{server}: how long does DDL wait, and what stalls?")
    note(drawn, (
        f"{about['clients']} clients, {about['tables']} tables, {about['statements_of_ddl']} "
        "statements of DDL; bars: 95 %"
    ))  # fmt: skip
    return drawn


def _panel(panel: Any, quantities: list[dict[str, Any]], designs: list[str]) -> None:
    series: dict[str, list[tuple[int, dict[str, float | None]]]]
    series = {name: [] for name in ("predicted", *designs, "measured")}
    for at, one in enumerate(quantities):
        series["predicted"].append((at, one["predicted"]))
        for run in one["simulated"]:
            series[run["strategy"]].append((at, run))
        if one["measured"] is not None:
            series["measured"].append((at, one["measured"]))
    for number, (label, found) in enumerate(series.items()):
        if not found:
            continue
        x = [at + APART * (number - (len(series) - 1) / 2) for at, _ in found]
        columns = [[each[key] for _, each in found] for key in ("value", "low", "high")]
        middle, low, high = np.array(columns, dtype=np.float64)
        high = np.where(np.isnan(high), np.inf, high)  # null: nothing bounds it
        points(panel, x, middle, low, high, label, number)
    panel.set_xticks(range(len(quantities)), [one["name"].replace("_", "\n") for one in quantities])
    panel.set_ylim(bottom=0)
    panel.grid(visible=False, axis="x")


if __name__ == "__main__":
    sys.exit(main("prediction"))
