"""One run: each node's clock less its schema safe time, and where that is more than DD.

A look-up at Top waits until safe time has reached Top - DD (98.past.3), so a look-up of the present
waits exactly where the lag is above DD: the shaded stretches.
"""

import sys
from typing import Any, Final

import numpy as np

from ddlsim.analysis.figures import run_events
from ddlsim.analysis.figures.drawing import canvas, colour_of, curve, legend_above, note
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.plot_run_latency import bands
from ddlsim.analysis.sweep.cells import CellsError
from ddlsim.history.history import History

DD: Final = "delay_duration_ms"
PAPER: Final = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5}
"""The background of a label, so that no curve crosses it."""


def draw(history: History) -> Any:
    """A line per node, shaded where it is above the node's DD."""
    found = run_events.lags(history)
    if not found:
        raise CellsError(
            "the figure 'run_lag' needs a run with schema safe time; this one has none"
        )
    drawn, axes = canvas(1, 1, height_in=3.4)
    panel = axes[0][0]
    bands(panel, history)
    end_ms = history.end_us / 1_000
    courses = run_events.setting_over_time(history, DD)
    limits = {node: course for nodes, course in courses.items() for node in nodes}
    for number, (node, (times, lag)) in enumerate(found.items()):
        curve(panel, times, lag, node, number, linewidth=1)
        for since, until, limit in _spans(limits.get(node, ()), end_ms):
            span, colour = (since, until), colour_of(number)
            _shade(panel, np.asarray(times), np.asarray(lag), span, limit, colour)
    for nodes, course in courses.items():
        whose = "" if len(courses) == 1 else f" of {', '.join(nodes)}"
        for since, until, limit in _spans(course, end_ms):
            panel.plot([since, until], [limit, limit], color="#777777", linewidth=0.9)
            panel.annotate(
                f"DD {limit:g} ms{whose} ", (until, limit), xytext=(0, 2), ha="right", va="bottom",
                textcoords="offset points", fontsize=7, bbox=PAPER,
            )  # fmt: skip
    panel.set(xlabel="simulated time (ms)", ylabel="clock less safe time (ms)")
    if min((min(lag) for _, lag in found.values()), default=0.0) >= 0:
        panel.set_ylim(bottom=0)
    legend_above(drawn, panel, 6, run_events.title(history, "lag of safe time"))
    note(
        drawn,
        "shaded: a look-up of the present waits; grey: a fault is under way; "
        "vertical lines: a schema change activates",
    )
    return drawn


def _spans(course: run_events.Course, end_ms: float) -> list[tuple[float, float, int]]:
    """From when to when each value was in force, and the value."""
    ends = [since for since, _ in course[1:]] + [end_ms]
    return [(since, until, value) for (since, value), until in zip(course, ends, strict=True)]


def _shade(
    panel: Any, times: Any, lag: Any, span: tuple[float, float], limit: int, colour: str
) -> None:
    """Fill what of the curve is above the limit, within the span."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (limit - lag[:-1]) / np.diff(lag)
    crosses = (share > 0) & (share < 1)
    places = np.flatnonzero(crosses) + 1
    crossings = times[:-1][crosses] + share[crosses] * np.diff(times)[crosses]
    times, lag = np.insert(times, places, crossings), np.insert(lag, places, limit)
    inside = (times >= span[0]) & (times <= span[1])
    above = np.maximum(lag[inside], limit)
    panel.fill_between(times[inside], limit, above, color=colour, alpha=0.25, linewidth=0)


if __name__ == "__main__":
    sys.exit(main("run_lag"))
