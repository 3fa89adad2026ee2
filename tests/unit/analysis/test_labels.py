"""Names in a panel hide nothing, wherever the points are."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from ddlsim.analysis.figures.drawing import canvas, styled
from ddlsim.analysis.figures.labels import MARK_PX, Spot, name_points
from ddlsim.analysis.sweep.cells import Estimate


def at(value: float, reach: float = 0.0) -> Estimate:
    return Estimate(value, value - reach, value + reach)


def named(spots: list[Spot]) -> tuple[Any, list[Any]]:
    """A panel as wide as the unit square, with its names."""
    with styled():
        _, axes = canvas(1, 1, height_in=4.0)
        panel = axes[0][0]
        panel.set_xlim(-0.2, 1.2)
        panel.set_ylim(-0.2, 1.2)
        return panel, name_points(panel, spots)


def box_of(text: Any) -> Bbox:
    """Where a name stands, without the line that leads to it."""
    text.get_window_extent()  # puts it where it belongs
    return Text.get_window_extent(text)


def hidden(one: Bbox, other: Bbox) -> float:
    common = Bbox.intersection(one, other)
    return 0.0 if common is None else float(common.width * common.height)


@pytest.mark.parametrize("seed", range(4))
def test_name_points_covers_no_mark_and_no_name(seed: int) -> None:
    """Of twelve points anywhere, half of them with intervals."""
    dice = np.random.default_rng(seed)
    spots = [
        Spot(at(x, 0.05 * (n % 2)), at(y), f"design_{n}")
        for n, (x, y) in enumerate(dice.random((12, 2)))
    ]
    panel, texts = named(spots)
    boxes = [box_of(text) for text in texts]
    for one, other in combinations(boxes, 2):
        assert hidden(one, other) == 0
    for spot in spots:
        x, y = panel.transData.transform((spot.x.value, spot.y.value))
        mark = Bbox.from_extents(x - 4, y - 4, x + 4, y + 4)
        assert not any(hidden(box, mark) for box in boxes)
    inside = panel.get_window_extent()
    assert all(inside.contains(*box.min) and inside.contains(*box.max) for box in boxes)


def test_name_points_lists_touching_points_together() -> None:
    """A chain of marks each of which touches the next is one heap."""
    panel, _ = named([])
    step = 0.9 * MARK_PX / panel.get_window_extent().width * 1.4
    chain = [Spot(at(0.3 + n * step), at(0.5), f"c{n}") for n in (0, 2, 1)]
    far = Spot(at(0.3), at(0.9), "far")
    _, texts = named([*chain, far])
    assert [text.get_text() for text in texts] == ["c0\nc2\nc1", "far"]


def test_a_name_rather_crosses_an_interval_than_another_mark() -> None:
    """Beside that mark it would be read as its name."""
    tall = Spot(at(0.0), Estimate(-0.1, -0.1, 1.2), "DD 285\nDD 335\nrecommended", bold=True)
    spots = [tall, Spot(at(0.15), at(-0.1), "DD 420")]
    panel, texts = named(spots)
    boxes = [box_of(text) for text in texts]
    for spot in spots:
        x, y = panel.transData.transform((spot.x.value, spot.y.value))
        mark = Bbox([[x - 7, y - 7], [x + 7, y + 7]])
        assert all(hidden(box, mark) == 0 for box in boxes)
