"""What `ddlsim tune` found: the wait against DD, and what each setting costs DML and DDL."""

import sys
from typing import Any, Final

from matplotlib.ticker import FuncFormatter

from analysis.drawing import bracket, canvas, heading, key_above, note, point
from analysis.figure import figure, main


@figure("tune", "the wait against DD and the Pareto front, as tune found them", of="tune")
def draw(found: dict[str, Any]) -> Any:
    """The wait with its closed form and the recommendation; beside it the front and its knee."""
    drawn, axes = canvas(1, 2, height_in=4.2)
    _waits(axes[0][0], found)
    _front(axes[0][1], found)
    heading(drawn, "How much DD is enough, and what does it cost?")
    runs, asked = found["runs"], found["asked"]
    note(
        drawn,
        f"{runs['all']:,} runs of {asked['strategy']}, seeds {runs['seeds'][0]} to "
        f"{runs['seeds'][1]}; bars: 95 % over seeds",
    )
    return drawn


def _waits(panel: Any, found: dict[str, Any]) -> None:
    """The wait against DD: points are runs with their intervals, the hatched band the formula."""
    curve, best, now = found["curve"], found["recommended"], found["present"]
    tail = curve["p99_wait"]
    label = f"formula, first look-up, H {curve['h_ms']:g} ms"
    bracket(panel, curve["dd_ms"], tail["unordered"], tail["ordered"], label)
    looks = [each for each in found["front"] if each["h_ms"] == curve["h_ms"]]
    for at, each in enumerate(looks):
        wait = (each["wait_p99"], each["wait_p99_low"], each["wait_p99_high"] or each["wait_p99"])
        name = None if at else "runs, whole operation"
        point(panel, (each["dd_ms"],) * 3, wait, name, 0, hollow=True)
    for dd, said, style in ((best["dd_ms"], "recommended", "-"), (now["dd_ms"], "now", ":")):
        panel.axvline(dd, color="#555555", linewidth=1, linestyle=style, label=f"{said}: {dd:g} ms")
    panel.axvspan(*best["dd_interval_ms"], color="#000000", alpha=0.08, linewidth=0,
                  label="interval of the least DD")  # fmt: skip
    panel.set_xlabel("DD (ms)")
    panel.set_ylabel("schema wait, 99th percentile (ms)")
    panel.set_ylim(bottom=0)
    key_above(panel)


KINDS: Final = (
    (lambda each: not each["on_front"], "another beats it", 5, True),
    (lambda each: each["on_front"] and not each["knee"], "no other beats it", 1, False),
    (lambda each: each["knee"], "the knee", 2, False),
)


def _front(panel: Any, found: dict[str, Any]) -> None:
    """The trade-off; each point is named by its DD."""
    for of, label, number, hollow in KINDS:
        name: str | None = label
        for each in filter(of, found["front"]):
            ddl, wait = each["ddl_latency_p99"], each["wait_p99"]
            up = (wait, each["wait_p99_low"], each["wait_p99_high"] or wait)
            point(panel, (ddl,) * 3, up, name, number, hollow=hollow)
            name = None
    best = found["recommended"]
    for each in found["front"]:
        is_best = all(each[key] == best[key] for key in ("dd_ms", "h_ms", "cs_max_ms"))
        said = f"DD {each['dd_ms']:g}" + ", recommended" * is_best
        at = (each["ddl_latency_p99"], each["wait_p99"])
        panel.annotate(said, at, xytext=(5, 6), textcoords="offset points", fontsize=7,
                       rotation=40, fontweight="bold" if is_best else "normal")  # fmt: skip
    panel.set_yscale("symlog", linthresh=1)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_ylim(bottom=-0.2)
    panel.margins(x=0.16)
    panel.set_xlabel("DDL latency, 99th percentile (ms)")
    panel.set_ylabel("schema wait, 99th percentile (ms)")
    key_above(panel)


if __name__ == "__main__":
    sys.exit(main("tune"))
