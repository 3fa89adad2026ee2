"""Places names beside the points of a panel, so that none covers another name, mark or interval.

Points whose marks touch share one list of names. Each list is on the side of its marks where it
covers least; a thin line leads to a distant one.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.sweep.cells import Estimate

SIZE_PT: Final = 8
LISTED_MOST: Final = 12
"""The longest list of names at one place; of a longer one only the number is shown."""
MARK_PX: Final = 13
"""The distance below which marks touch."""
HALF_PX: Final = 7
"""Half the width of a mark with its margin."""
BAR_PX: Final = 4
"""The margin around an interval."""
GAPS_PX: Final = (5, 16, 32, 56)
LED_PX: Final = 20
"""The distance from which a line leads from the mark to its name."""
TAKEN: Final = 10.0
"""The cost of an area of a mark or a name, relative to one of an interval."""
OUTSIDE: Final = 20.0
"""The cost of an area outside of the panel, relative to a covered one."""
POINTS_PER_INCH: Final = 72
LEADER: Final = {"arrowstyle": "-", "linewidth": 0.6, "color": "#777777", "shrinkA": 1}
Box = NDArray[np.float64]
"""Left, low, right and high end in pixels."""


class Spot(NamedTuple):
    """A point with its intervals, in the units of the axes, and its name."""

    x: Estimate
    y: Estimate
    name: str
    bold: bool = False


def name_points(axes: Any, spots: Sequence[Spot]) -> list[Any]:
    """Write the names into a panel whose limits are final; return the texts in order."""
    figure = axes.get_figure()
    figure.draw_without_rendering()  # this computes the place of the panel
    marks = [_mark(axes, spot) for spot in spots]
    taken, bars = [*marks], [bar for spot in spots for bar in _bars(axes, spot)]
    panel = axes.get_window_extent().padded(-HALF_PX).extents
    texts = []
    for group in sorted(_touching(axes, spots), key=len, reverse=True):
        first = spots[group[0]]
        style = {"fontsize": SIZE_PT, "fontweight": "bold" if first.bold else "normal"}
        words = "\n".join(spots[at].name for at in group)
        if len(group) > LISTED_MOST:
            words = f"{len(group)} of {len(spots)}"
        measured = figure.text(0, 0, words, **style)
        size = measured.get_window_extent().size
        measured.remove()
        around = np.array([marks[at] for at in group])
        ends = (*around[:, :2].min(axis=0), *around[:, 2:].max(axis=0))
        box, gap = _best(size, ends, panel, taken, bars)
        xy = (first.x.value, first.y.value)
        away = (box[:2] - axes.transData.transform(xy)) * POINTS_PER_INCH / figure.dpi
        text = axes.annotate(
            words, xy, xytext=away, textcoords="offset points", ha="left", va="bottom", **style,
            arrowprops=LEADER if gap > LED_PX else None,
        )  # fmt: skip
        text.set_in_layout(False)
        taken.append(box)
        texts.append(text)
    return texts


def _touching(axes: Any, spots: Sequence[Spot]) -> list[list[int]]:
    """Groups of the indices of points whose marks touch, directly or through others."""
    at = np.array([axes.transData.transform((spot.x.value, spot.y.value)) for spot in spots])
    groups: list[list[int]] = []
    for place, where in enumerate(at):
        near = [g for g in groups if np.min(np.hypot(*(at[g] - where).T)) < MARK_PX]
        groups = [group for group in groups if group not in near]
        groups.append(sorted([place, *(one for group in near for one in group)]))
    return groups


def _mark(axes: Any, spot: Spot) -> Box:
    at = axes.transData.transform((spot.x.value, spot.y.value))
    return np.concatenate([at - HALF_PX, at + HALF_PX])


def _bars(axes: Any, spot: Spot) -> list[Box]:
    """The intervals as thin boxes, those with an end that is not finite left out."""
    found = []
    for ends in (
        ((spot.x.low, spot.y.value), (spot.x.high, spot.y.value)),
        ((spot.x.value, spot.y.low), (spot.x.value, spot.y.high)),
    ):
        shown = axes.transData.transform(ends)
        if np.isfinite(shown).all():
            found.append(np.concatenate([shown[0] - BAR_PX, shown[1] + BAR_PX]))
    return found


def _best(
    size: Any, around: Any, panel: Any, taken: Sequence[Box], bars: Sequence[Box]
) -> tuple[Box, int]:
    """The box where a text of this size covers least, and its distance from its marks.

    What is `taken` are marks and names: beside the mark of another point a name would be its.
    """
    found = list(_candidates(size, around))
    boxes = np.array([box for _, box in found])
    hidden = TAKEN * sum(_common(boxes, one) for one in taken)
    hidden += sum((_common(boxes, one) for one in bars), start=np.zeros(len(boxes)))
    outside = np.prod(size) - _common(boxes, panel)
    place = int(np.argmin(np.round(hidden + OUTSIDE * outside, 3)))
    return boxes[place], found[place][0]


def _candidates(size: Any, around: Any) -> Iterator[tuple[int, Box]]:
    """Boxes of this size around the marks, the most legible first."""
    left, low, right, high = around
    width, height = size
    for gap, share, side in product(GAPS_PX, (0.5, 0.0, 1.0), ("right", "left", "below", "above")):
        x = left + share * (right - left - width)
        y = low + share * (high - low - height)
        if side == "right":
            x = right + gap
        elif side == "left":
            x = left - gap - width
        elif side == "below":
            y = low - gap - height
        else:
            y = high + gap
        yield gap, np.array([x, y, x + width, y + height])


def _common(boxes: Any, one: Box) -> Any:
    """The area of the intersection of each of the boxes with this one."""
    low, high = np.maximum(boxes[:, :2], one[:2]), np.minimum(boxes[:, 2:], one[2:])
    return np.prod(np.maximum(high - low, 0), axis=1)
