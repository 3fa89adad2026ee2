"""Price against safety: the table of `ddlsim compare`, a point for each design and a panel a plane.

Right is slower for reads and writes, up is slower for schema changes. A filled point breaks
safety, claimed or not. The line joins the safe designs that no other safe one beats in both.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ddlsim.analysis.compare.records import UNTESTED
from ddlsim.analysis.figures.drawing import canvas, heading, key_of, logarithmic, note, point
from ddlsim.analysis.figures.figure import main
from ddlsim.analysis.figures.labels import Spot, name_points
from ddlsim.analysis.sweep.cells import Estimate
from ddlsim.escape import counted

PLANES: Final = {"ignite": "Ignite plane", "fdb": "FoundationDB plane"}
ADDED: Final = "dml_added_p99"
DDL: Final = "ddl_p50"
LINEAR_MS: Final = 10
"""Below this the x axis is linear, so that 0 has a place."""
TICKS_MS: Final = (0, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
WIDE: Final = 30
SAFE: Final = ("safe", "holes", "weaker")
"""Verdicts of designs that keep safety."""
Design = Mapping[str, Any]


def draw(found: Mapping[str, Any]) -> Any:
    """A scatter with names for each plane."""
    planes = [one for one in PLANES if any(each["plane"] == one for each in found["designs"])]
    drawn, axes = canvas(len(planes), 1, height_in=4.6)
    placed = []
    for (panel,), plane in zip(axes, planes, strict=True):
        designs = [
            one for one in found["designs"]
            if one["plane"] == plane and _has_point(one)
        ]  # fmt: skip
        spots = [Spot(_of(one, ADDED), _of(one, DDL), one["design"]) for one in designs]
        for one, spot in zip(designs, spots, strict=True):
            point(panel, spot.x, spot.y, None, 0, hollow=_safe(one))
        front = _front([spot for one, spot in zip(designs, spots, strict=True) if _safe(one)])
        panel.plot([each.x.value for each in front], [each.y.value for each in front],
                   color="#009e73", linewidth=1.0, zorder=1, drawstyle="steps-post")  # fmt: skip
        panel.set_xscale("symlog", linthresh=LINEAR_MS)
        ticks = [tick for tick in TICKS_MS if tick <= 2 * _most(spots)]
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        low, high = panel.yaxis.get_data_interval()
        logarithmic(panel.yaxis, subs=(1.0, 3.0) if high > WIDE * low else (1.0, 2.0, 5.0))
        panel.margins(x=0.22, y=0.14)
        panel.set(ylabel="DDL latency, median (ms)")
        panel.set_title(PLANES[plane], loc="right")
        placed.append((panel, spots))
    axes[-1][0].set_xlabel("what the schema adds to DML, 99th percentile (ms)")
    heading(drawn, "What does each design cost, and is it safe?")
    key_of(axes[0][0], (("safety kept", True), ("safety broken", False)))
    said = f"{counted(found['runs'], 'run')}, seeds {found['seeds'][0]} to {found['seeds'][1]}"
    said += "; bars: 95 % over seeds; line: safe designs that no safe one beats"
    note(drawn, "\n".join((said, *_missing(found["designs"]))))
    for panel, spots in placed:
        name_points(panel, spots)
    return drawn


def _missing(designs: Sequence[Design]) -> list[str]:
    """The designs without a number, or that no change has met: they have no point."""
    untested = [one["design"] for one in designs if one["verdict"] == UNTESTED]
    names = [
        one["design"] for one in designs if not _has_point(one) and one["design"] not in untested
    ]
    groups = (("without a decided statement", names), ("met by no change", untested))
    said = "; ".join(f"{what}: {', '.join(which)}" for what, which in groups if which)
    return [said] if said else []


def _has_point(one: Design) -> bool:
    return one["verdict"] != UNTESTED and _there(one, ADDED) and _there(one, DDL)


def _safe(one: Design) -> bool:
    return one["verdict"] in SAFE


def _there(one: Design, key: str) -> bool:
    return one[key]["value"] is not None


def _of(one: Design, key: str) -> Estimate:
    value = one[key]
    low = np.nan if value["low"] is None else value["low"]
    high = np.inf if value["high"] is None else value["high"]  # null: nothing bounds it
    return Estimate(value["value"], low, high)


def _most(spots: Sequence[Spot]) -> float:
    """The largest value or bounded end; 0 of no spots."""
    ends = [end for spot in spots for end in (spot.x.value, spot.x.high)]
    return max(filter(np.isfinite, ends), default=0.0)


def _front(spots: Sequence[Spot]) -> list[Spot]:
    """The spots that none beats both ways, from left to right."""
    front: list[Spot] = []
    for spot in sorted(spots, key=lambda one: (one.x.value, one.y.value)):
        if not front or spot.y.value < front[-1].y.value:
            front.append(spot)
    return front


if __name__ == "__main__":
    sys.exit(main("price_safety"))
