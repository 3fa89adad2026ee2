"""One run: how long each operation took, with the faults and the activations behind it."""

import sys
from typing import Any, Final

from ddlsim.analysis.figures import run_events
from ddlsim.analysis.figures.drawing import canvas, colour_of, legend_above, logarithmic, note
from ddlsim.analysis.figures.figure import main
from ddlsim.escape import counted
from ddlsim.history.events import Invoked
from ddlsim.history.history import History

OTHERS: Final = "data operations"
LANES: Final = {
    "begin": "begin, commit, rollback",
    "commit": "begin, commit, rollback",
    "rollback": "begin, commit, rollback",
    "ddl": "DDL",
}
"""What the kinds of operations are called that are no data operations."""
MARKS: Final = {OTHERS: "o", "begin, commit, rollback": "s", "DDL": "D"}
"""The groups of operations in their order, and the mark of each."""
LEAST_MS: Final = 0.01
"""What a shorter latency is drawn as: the axis is logarithmic."""


def draw(history: History) -> Any:
    """A scatter on a logarithmic axis; crosses failed or have an unknown outcome."""
    drawn, axes = canvas(1, 1, height_in=4.0)
    panel = axes[0][0]
    bands(panel, history)
    done = list(run_events.operations(history))
    for number, (label, marker) in enumerate(MARKS.items()):
        mine = [one for one in done if LANES.get(one.kind, OTHERS) == label]
        well = [one for one in mine if one.ending == "ok"]
        ill = [one for one in mine if one.ending != "ok"]
        _scatter(panel, well, f"{label} ({len(well):,})", number, marker)
        if ill:
            _scatter(panel, ill, f"{label}, failed or unknown ({len(ill):,})", number, "x")
    logarithmic(panel.yaxis, subs=(1.0,))
    panel.set(xlabel="simulated time of the request (ms)", ylabel="latency (ms)")
    legend_above(drawn, panel, 3, run_events.title(history, "latency"))
    asked = sum(1 for _ in history.of(Invoked))
    never = f"; {counted(asked - len(done), 'operation')} never ended" if asked > len(done) else ""
    note(drawn, f"grey: a fault is under way; vertical lines: a schema change activates{never}")
    return drawn


def _scatter(panel: Any, done: list[run_events.Done], label: str, number: int, marker: str) -> None:
    panel.plot(
        [one.at_ms for one in done],
        [max(one.took_ms, LEAST_MS) for one in done],
        color=colour_of(number),
        linestyle="none",
        markersize=3,
        marker=marker,
        label=label,
    )


def bands(panel: Any, history: History) -> None:
    """Draw faults as grey bands, activations as thin lines."""
    for span in run_events.faults(history):
        panel.axvspan(span.from_ms, span.until_ms, color="#000000", alpha=0.07, linewidth=0)
    for at_ms, _ in run_events.activations(history):
        panel.axvline(at_ms, color="#777777", linewidth=0.7, linestyle=(0, (2, 2)))


if __name__ == "__main__":
    sys.exit(main("run_latency"))
