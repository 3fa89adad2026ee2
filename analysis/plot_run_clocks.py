"""One run: the offset of each node's clock, and a band as wide as CSmax."""

import sys
from typing import Any

from ddlsim.analysis.figures import run_events
from ddlsim.analysis.figures.drawing import canvas, curve, legend_above, note
from ddlsim.analysis.figures.figure import main
from ddlsim.history.history import History


def draw(history: History) -> Any:
    """A line per node; the band is CSmax wide, around the middle of all offsets."""
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
        curve(panel, times, values, node, number)
    panel.set(xlabel="simulated time (ms)", ylabel="offset from true time (ms)")
    legend_above(drawn, panel, 6, run_events.title(history, "clocks"))
    note(drawn, "grey: a band CSmax wide; clocks that leave it break the assumption")
    return drawn


if __name__ == "__main__":
    sys.exit(main("run_clocks"))
