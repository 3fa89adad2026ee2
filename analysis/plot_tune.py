"""What `ddlsim tune` found: the wait against DD, and what each setting costs DML and DDL."""

import sys
from typing import Any

from analysis.drawing import bracket, canvas, legend, note, point
from analysis.figure import figure, main


@figure("tune", "the wait against DD and the Pareto front, as tune found them", of="tune")
def draw(found: dict[str, Any]) -> Any:
    """The wait with its closed form and the recommendation; beside it the front and its knee."""
    drawn, axes = canvas(1, 2, height_in=3.6)
    _waits(axes[0][0], found)
    _front(axes[0][1], found)
    runs, asked = found["runs"], found["asked"]
    note(
        drawn,
        f"{runs['all']:,} runs of {asked['strategy']}, seeds {runs['seeds'][0]} to "
        f"{runs['seeds'][1]}; bars: 95 % over seeds",
    )
    return drawn


def _waits(panel: Any, found: dict[str, Any]) -> None:
    curve, best, now = found["curve"], found["recommended"], found["present"]
    tail = curve["p99_wait"]
    label = f"formula, first look-up, H {curve['h_ms']:g} ms"
    bracket(panel, curve["dd_ms"], tail["unordered"], tail["ordered"], label, 1)
    looks = [each for each in found["front"] if each["h_ms"] == curve["h_ms"]]
    for at, each in enumerate(looks):
        wait = (each["wait_p99"], each["wait_p99_low"], each["wait_p99_high"] or each["wait_p99"])
        dd = (each["dd_ms"],) * 3
        point(
            panel,
            dd,
            wait,
            "simulated, operation" if not at else None,
            0,
            hollow=True,
        )
    for dd, said, style in ((best["dd_ms"], "recommended", "-"), (now["dd_ms"], "now", ":")):
        panel.axvline(dd, color="#555555", linewidth=1, linestyle=style, label=f"{said} {dd:g} ms")
    panel.axvspan(*best["dd_interval_ms"], color="#000000", alpha=0.08, linewidth=0)
    panel.set_xlabel("DD (ms)")
    panel.set_ylabel("ms")
    panel.set_title("Schema wait, 99th percentile")
    panel.set_ylim(0, 1.45 * panel.get_ylim()[1])
    legend(panel)


def _front(panel: Any, found: dict[str, Any]) -> None:
    for of, label, number, hollow in (
        (lambda each: not each["on_front"], "beaten by another", 5, True),
        (lambda each: each["on_front"] and not each["knee"], "on the front", 1, False),
        (lambda each: each["knee"], "knee", 2, False),
    ):
        first = True
        for each in filter(of, found["front"]):
            ddl, wait = each["ddl_latency_p99"], each["wait_p99"]
            up = (wait, each["wait_p99_low"], each["wait_p99_high"] or wait)
            point(panel, (ddl,) * 3, up, label if first else None, number, hollow=hollow)
            first = False
    best = found["recommended"]
    chosen = [
        each
        for each in found["front"]
        if all(each[key] == best[key] for key in ("dd_ms", "h_ms", "cs_max_ms"))
    ]
    for each in chosen:
        at = (each["ddl_latency_p99"], each["wait_p99"])
        apart = {"xytext": (14, 9), "textcoords": "offset points", "fontsize": 8}
        panel.annotate("recommended", at, **apart)
    panel.set_yscale("symlog", linthresh=1)
    panel.set_ylim(bottom=-0.2)
    panel.set_xlabel("DDL latency, 99th percentile (ms)")
    panel.set_ylabel("wait, 99th percentile (ms)")
    panel.set_title("Every setting that was run")
    legend(panel)


if __name__ == "__main__":
    sys.exit(main("tune"))
