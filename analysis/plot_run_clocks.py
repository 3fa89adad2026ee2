"""One run: what each node's clock was off by, and the envelope that CSmax allows."""

import sys
from typing import Any

from ddlsim.analysis.figures import run_events
from ddlsim.analysis.figures.drawing import COLOURS, LINES, canvas, legend_above, note
from ddlsim.analysis.figures.figure import figure, main
from ddlsim.history.history import History


@figure("run_clocks", "offsets of the clocks of a run, with the CSmax envelope", of="history")
def draw(history: History) -> Any:
    """A line per node; the envelope is CSmax wide and lies as the clocks would want it."""
    drawn, axes = canvas(1, 1, height_in=3.4)
    panel = axes[0][0]
    offsets = run_events.clock_offsets(history)
    bound = run_events.setting(history, "max_clock_skew_ms")
    everything = [one for _, values in offsets.values() for one in values]
    if bound is not None and everything:
        middle = (min(everything) + max(everything)) / 2
        panel.axhspan(middle - bound / 2, middle + bound / 2, color="#000000", alpha=0.06)
        panel.annotate(f" CSmax {bound:g} ms", (0, middle + bound / 2), va="bottom", fontsize=7)
    for number, (node, (times, values)) in enumerate(offsets.items()):
        panel.plot(
            times,
            values,
            label=node,
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINES[number % len(LINES)],
        )
    panel.set_xlabel("simulated time (ms)")
    panel.set_ylabel("offset from true time (ms)")
    legend_above(drawn, panel, 6, f"{history.header.scenario}, seed {history.header.seed}: clocks")
    note(drawn, "grey: a band CSmax wide; clocks that leave it break the assumption")
    return drawn


if __name__ == "__main__":
    sys.exit(main("run_clocks"))
