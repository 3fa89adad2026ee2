"""One run: how far each node's schema safe time lagged behind the newest that any node had."""

import sys
from typing import Any

from analysis import run_events
from analysis.drawing import COLOURS, LINES, canvas, legend_above, note
from analysis.figure import figure, main
from analysis.plot_run_latency import bands
from sim.history.history import History


@figure("run_lag", "lag of schema safe time on every node of a run", of="history")
def draw(history: History) -> Any:
    """A line per node; above DD look-ups of the present have to wait."""
    drawn, axes = canvas(1, 1, height_in=3.4)
    panel = axes[0][0]
    bands(panel, history)
    delay = run_events.setting(history, "delay_duration_ms")
    if delay is not None:
        panel.axhline(delay, color="#777777", linewidth=0.9)
        panel.annotate(f" DD {delay:g} ms", (0, delay), va="bottom", fontsize=7)
    for number, (node, (times, behind)) in enumerate(run_events.lags(history).items()):
        panel.plot(
            times,
            behind,
            label=node,
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINES[number % len(LINES)],
            linewidth=1,
        )
    panel.set_xlabel("simulated time (ms)")
    panel.set_ylabel("behind the newest safe time (ms)")
    panel.set_title(f"{history.header.scenario}, seed {history.header.seed}: safe time")
    panel.set_ylim(bottom=0)
    legend_above(drawn, panel, 6)
    note(drawn, "grey: a fault is under way; vertical lines: a schema change activates")
    return drawn


if __name__ == "__main__":
    sys.exit(main("run_lag"))
