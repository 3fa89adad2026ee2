"""What `ddlsim tune` found: the wait against DD, and what each setting costs DML and DDL."""

import sys
from typing import Any, Final

from matplotlib.ticker import FuncFormatter

from ddlsim.analysis.figures.drawing import (
    ARROW,
    bracket,
    canvas,
    heading,
    key_above,
    note,
    point,
    unbounded,
)
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.figures.labels import Spot, name_points
from ddlsim.analysis.sweep.cells import Estimate
from ddlsim.analysis.tune.judge import FORMULA
from ddlsim.escape import counted

SETTING: Final = ("dd_ms", "h_ms", "cs_max_ms")
BELOW: Final = 0.04
"""How much of an axis lies below zero, so that marks there are seen whole."""


def draw(found: dict[str, Any]) -> Any:
    """The wait with its closed form and the recommendation; beside it the front and its knee."""
    drawn, axes = canvas(1, 2, height_in=4.2)
    _waits(axes[0][0], found)
    _front(axes[0][1], found)
    heading(drawn, "How much DD is enough, and what does it cost?")
    runs, asked = found["runs"], found["asked"]
    note(
        drawn,
        f"{counted(runs['all'], 'run')} of {asked['strategy']}, seeds {runs['seeds'][0]} to "
        f"{runs['seeds'][1]}; {_bars(found)}; a wait of 0: less than 1 % of operations wait",
    )
    return drawn


def _bars(found: dict[str, Any]) -> str:
    """What the bars are: not all of their upper ends need be of the runs."""
    by_formula = any(each["wait_p99_high_by"] == FORMULA for each in found["front"])
    upper = ", upper ends by formula where it is lower" if by_formula else ""
    return f"bars: 95 % over seeds{upper}"


def _known(each: dict[str, Any]) -> bool:
    """Whether the runs observed both what a setting costs and what it gains."""
    return each["wait_p99"] is not None and each["ddl_latency_p99"] is not None


def _waits(panel: Any, found: dict[str, Any]) -> None:
    """The wait against DD: points are runs with their intervals, the hatched band the formula."""
    curve, best, now = found["curve"], found["recommended"], found["present"]
    tail = curve["p99_wait"]
    label = f"formula, first look-up, H {curve['h_ms']:g} ms"
    bracket(panel, curve["dd_ms"], tail["unordered"], tail["ordered"], label)
    looks = [each for each in found["front"] if each["h_ms"] == curve["h_ms"]]
    looks = [each for each in looks if each["wait_p99"] is not None]
    name: str | None = "runs, whole operation"
    for each in looks:
        point(panel, (each["dd_ms"],) * 3, _wait(panel, each, each["dd_ms"]), name, 0, hollow=True)
        name = None
    for dd, said, style in ((best["dd_ms"], "recommended", "-"), (now["dd_ms"], "now", ":")):
        panel.axvline(dd, color="#555555", linewidth=1, linestyle=style, label=f"{said}: {dd:g} ms")
    panel.axvspan(*best["dd_interval_ms"], color="#000000", alpha=0.08, linewidth=0,
                  label="interval of the least DD")  # fmt: skip
    panel.set_xlabel("DD (ms)")
    panel.set_ylabel("DML wait, 99th percentile (ms)")
    panel.set_ylim(bottom=-BELOW * panel.get_ylim()[1])
    key_above(panel)


KINDS: Final = (
    (lambda each: not each["on_front"], "dominated by another setting", 0, True),
    (lambda each: each["on_front"] and not each["knee"], "on the Pareto front", 1, False),
    (lambda each: each["knee"], "its knee", 2, False),
)


def _front(panel: Any, found: dict[str, Any]) -> None:
    """The trade-off; each point is named by its setting."""
    front = list(filter(_known, found["front"]))
    for of, label, number, hollow in KINDS:
        name: str | None = label
        for each in filter(of, front):
            ddl = each["ddl_latency_p99"]
            point(panel, (ddl,) * 3, _wait(panel, each, ddl), name, number, hollow=hollow)
            name = None
    panel.set_yscale("symlog", linthresh=1)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_ylim(bottom=-0.5, top=4 * panel.get_ylim()[1])
    panel.margins(x=0.16)
    panel.set_xlabel("DDL latency, 99th percentile (ms)")
    panel.set_ylabel("DML wait, 99th percentile (ms)")
    key_above(panel)
    name_points(panel, [_spot(each, found) for each in front])


def _wait(panel: Any, each: dict[str, Any], x: float) -> Estimate:
    """The wait with its interval; an upper end that nothing bounds is an arrow."""
    wait, low, high = (each[f"wait_p99{end}"] for end in ("", "_low", "_high"))
    if high is None:
        unbounded(panel, x, wait, (0, ARROW))
    return Estimate(wait, low, wait if high is None else high)


def _spot(each: dict[str, Any], found: dict[str, Any]) -> Spot:
    """A setting as it is called beside its point: its DD, and what else is not as recommended."""
    best, now = found["recommended"], found["present"]
    words = [f"DD {each['dd_ms']:g}"]
    words += [f"H {each['h_ms']:g}"] * (each["h_ms"] != best["h_ms"])
    words += [f"CSmax {each['cs_max_ms']:g}"] * (each["cs_max_ms"] != best["cs_max_ms"])
    is_best, is_now = (all(each[key] == one[key] for key in SETTING) for one in (best, now))
    name = "\n".join([*words, *["recommended"] * is_best, *["now"] * is_now])
    ddl, wait = each["ddl_latency_p99"], each["wait_p99"]
    ends = Estimate(wait, each["wait_p99_low"], each["wait_p99_high"] or wait)
    return Spot(Estimate(ddl, ddl, ddl), ends, name, bold=is_best)


if __name__ == "__main__":
    sys.exit(main("tune"))
