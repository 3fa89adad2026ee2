"""Where everything of a space-time picture is drawn: lanes side by side, time downwards.

Steps are rows in their order, so the picture is not to scale: between two rows more room means more
time. Instants between steps, such as a schema's activation by a node's own clock, lie between the
rows in proportion. All lengths are pixels.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log2
from typing import Final, NamedTuple

from ddlsim.cli.picture.cut import Shown
from ddlsim.escape import natural

AXIS: Final = 104
"""The room for times and the numbers of steps, left of the lanes."""
CLIENT: Final = 88
NODE: Final = 108
HEAD: Final = 34
ROW: Final = 34
"""A step with its words: two lines."""
RELAY: Final = 14
"""A step that only receives and sends."""
INSTANT: Final = 18
"""An instant that has a name: Tm, Tu, Tu + CSmax."""
MOST_GAP: Final = 40
SLICE: Final = 620
"""No page of a print has more of a picture."""
Place = tuple[int, float]
"""An instant in microseconds, and an order within it: the position of an event."""


class Lane(NamedTuple):
    """A machine, from `left` to `right`; its line is at `x`.

    `kind` is `node`, `client`, or `process` of a key-value store.
    """

    name: str
    kind: str
    left: int
    right: int
    x: int

    @property
    def is_node(self) -> bool:
        """Whether it is a node."""
        return self.kind == "node"

    @property
    def width(self) -> int:
        """From the left to the right."""
        return self.right - self.left


class Row(NamedTuple):
    """A step at its height; `number` counts the steps with words, None for others."""

    shown: Shown
    number: int | None
    top: float
    bottom: float

    @property
    def y(self) -> float:
        """The middle."""
        return (self.top + self.bottom) / 2


class Named(NamedTuple):
    """An instant that has a name: a short one beside the lanes, and one in words."""

    place: Place
    name: str
    text: str


class Mark(NamedTuple):
    """A named instant at its height."""

    named: Named
    y: float


class Layout(NamedTuple):
    """The rows and named instants at their heights, and the lanes."""

    lanes: Sequence[Lane]
    rows: Sequence[Row]
    marks: Sequence[Mark]
    width: int
    height: float
    places: Sequence[Place]
    heights: Sequence[float]

    def y(self, place: Place) -> float:
        """The height of an instant: in proportion between the two nearest rows."""
        at = bisect_right(self.places, place)
        if at == 0:
            return self.heights[0]
        if at == len(self.places):
            return self.heights[-1]
        if self.places[at - 1] == place:
            return self.heights[at - 1]
        (since_us, _), (until_us, _) = self.places[at - 1], self.places[at]
        low, high = self.heights[at - 1], self.heights[at]
        part = (place[0] - since_us) / (until_us - since_us) if until_us > since_us else 0.5
        return round(low + (high - low) * part, 1)

    def slices(self) -> Iterator[tuple[float, float]]:
        """Pieces of the height for the pages of a print, cut between rows."""
        top = float(HEAD)
        for row in self.rows:
            if row.bottom - top > SLICE:
                yield top, row.top
                top = row.top
        yield top, self.height

    def lane(self, name: str) -> Lane | None:
        """A lane by its name; None where the picture has none."""
        return next((lane for lane in self.lanes if lane.name == name), None)


def layout(
    shown: Sequence[Shown], nodes: Iterable[str], clients: Iterable[str], named: Iterable[Named]
) -> Layout:
    """The lanes of all steps, and the rows and named instants below each other."""
    places: list[Place] = []
    heights: list[float] = []
    rows: list[Row] = []
    marks: list[Mark] = []
    y, before_us, number = float(HEAD), 0, 0
    items: list[Shown | Named] = [*shown, *named]
    for item in sorted(items, key=_place):
        place = _place(item)
        if places and place[0] > before_us:  # time passes: from the end of the last row on
            places.append((before_us, float("inf")))
            heights.append(y)
            y += gap(place[0] - before_us)
        height = INSTANT if isinstance(item, Named) else RELAY if item.relays else ROW
        if isinstance(item, Named):
            marks.append(Mark(item, y + height / 2))
        else:
            number += not item.relays
            rows.append(Row(item, None if item.relays else number, y, y + height))
        places.append(place)
        heights.append(y + height / 2)
        y, before_us = y + height, place[0]
    kinds = dict.fromkeys(nodes, "node") | dict.fromkeys(clients, "client")
    lanes = list(_lanes(shown, kinds))
    places.append((before_us, float("inf")))
    heights.append(y)
    width = lanes[-1].right if lanes else AXIS
    return Layout(lanes, rows, marks, width, y + 12, places, heights)


def gap(passed_us: int) -> float:
    """The room for time that passes between two rows: it grows with the logarithm."""
    return 0 if passed_us <= 0 else round(min(MOST_GAP, 6 + 5 * log2(1 + passed_us / 1000)), 1)


def _place(item: Shown | Named) -> Place:
    if isinstance(item, Named):
        return item.place
    return (item.step.at_us, item.step.first)


def _lanes(shown: Sequence[Shown], kinds: Mapping[str, str]) -> Iterator[Lane]:
    """Clients in the order of their first steps, then the nodes by their names, then processes."""
    names = dict.fromkeys(one.step.lane for one in shown)
    clients = [name for name in names if kinds.get(name) == "client"]
    nodes = sorted((name for name in names if kinds.get(name) == "node"), key=natural)
    left = AXIS
    for name in [*clients, *nodes, *(name for name in names if name not in kinds)]:
        kind = kinds.get(name, "process")
        right = left + (NODE if kind == "node" else CLIENT)
        yield Lane(name, kind, left, right, left + (26 if kind == "node" else 14))
        left = right
