"""What lies near some nodes of a large graph, in few passes over its edges and without an index.

Of edges whose ends are sorted those at a node are found by halving: reads are sorted by reader. Of
others a few nodes are compared one by one, which takes a tenth of the time that it takes to look up
every end in a mask.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.certificate import Order
from ddlsim.graph.edges import RW, Edges, Link, joined
from ddlsim.graph.history import Array

ONE_BY_ONE: Final = 6
"""So many nodes are compared one by one."""
ALONE: Final = 2
CROWD: Final = 64
"""So many states at once are next to none, and still few: where more lead to is left to others."""
PIECE: Final = 16_384
"""So many are looked up at once: numpy makes numbers of 64 bits of them, which stay in the cache.

All 100,000 at once take half as much time again.
"""
SAMPLE: Final = 64
"""So many ends tell of most blocks that they are not sorted."""
HALVED: Final = 1_000
"""For so many nodes a mask costs less than halving."""
HALF: Final = 0.5
"""Of a stretch of the order that is shorter than such a share, the edges are taken out first."""

State = tuple[int, bool]
"""A node, and whether an anti-dependency led there."""


class Lookup:
    """Where numbers stand in a column, as the nodes at one end of all edges of a block."""

    __slots__ = ("_nodes", "_sorted")

    def __init__(self, nodes: Array) -> None:
        self._nodes = nodes
        self._sorted = _is_sorted(nodes[:SAMPLE]) and _is_sorted(nodes)

    @property
    def sorted(self) -> bool:
        """Whether the rows are sorted by it."""
        return self._sorted

    def rows(self, low: int, high: int) -> slice:
        """Where the rows are that hold numbers from `low` to `high`; all if they are not sorted."""
        if not self._sorted:
            return slice(None)
        ends = np.asarray([low, high + 1], self._nodes.dtype)
        return slice(*np.searchsorted(self._nodes, ends, side="left").tolist())

    def at(self, nodes: Array, marked: Array) -> Array:
        """The rows that hold one of the nodes: in order, and all that `marked` marks."""
        if self._sorted and len(nodes) < HALVED:
            wanted = nodes.astype(self._nodes.dtype)
            low = np.searchsorted(self._nodes, wanted, side="left")
            count = np.searchsorted(self._nodes, wanted, side="right") - low
            ends = np.cumsum(count)
            found: Array = np.arange(int(count.sum())) + np.repeat(low - (ends - count), count)
            return found
        if len(nodes) <= ONE_BY_ONE:
            hit = np.zeros(len(self._nodes), np.bool_)
            for node in nodes.tolist():
                hit |= self._nodes == node
            return np.flatnonzero(hit)
        hit = np.empty(len(self._nodes), np.bool_)
        for at in range(0, len(hit), PIECE):
            part = slice(at, at + PIECE)
            marked.take(self._nodes[part], mode="wrap", out=hit[part])  # checks no bounds
        return np.flatnonzero(hit)


def _is_sorted(nodes: Array) -> bool:
    return bool((nodes[1:] >= nodes[:-1]).all())


class Side(NamedTuple):
    """The nodes that were reached in one direction, and those reached last."""

    marked: Array
    last: Array
    fresh: Array

    @classmethod
    def of(cls, nodes: int, seeds: Array) -> "Side":
        """Some nodes to begin with."""
        marked = np.zeros(nodes + 2, np.bool_)
        marked[seeds] = True
        return cls(marked, np.flatnonzero(marked), marked.copy())

    def add(self, reached: list[Array], within: Array | None) -> "Side":
        """With those nodes too that were reached; missing ends are none, nor what is not within."""
        nodes = np.unique(np.concatenate(reached)) if reached else np.zeros(0, np.int32)
        nodes = nodes[nodes >= 0]  # missing ends are -1, and above all
        nodes = nodes[nodes < len(self.marked) - 2] if within is None else nodes[within[nodes]]
        nodes = nodes[~self.marked[nodes]]
        self.marked[nodes] = True
        fresh = np.zeros(len(self.marked), np.bool_)
        fresh[nodes] = True
        return Side(self.marked, nodes, fresh)


class Surroundings:
    """A graph of nodes 0 to `nodes` - 1 and blocks of edges, which may have missing ends.

    `within` masks the nodes that are reached at all, two missing ends behind them.
    """

    def __init__(self, nodes: int, blocks: list[Edges], within: Array | None = None) -> None:
        self._nodes = nodes
        self._blocks = blocks
        self._within = within
        self._out = [Lookup(block.source) for block in blocks]
        self._into = [Lookup(block.target) for block in blocks]

    def between(self, order: Order, low: int, high: int) -> "Surroundings":
        """The same graph without what lies before one place of an order or behind another."""
        within = (order.padded >= low) & (order.padded <= high)
        within[-2:] = False
        if order.sorted:
            blocks = self._sliced(low, high)
        elif high - low < HALF * self._nodes:
            blocks = self._inside(np.flatnonzero(within), within)
        else:
            blocks = self._blocks
        return Surroundings(self._nodes, blocks, within)

    def _sliced(self, low: int, high: int) -> list[Edges]:
        """Of blocks that are sorted by one end, the edges with that end from `low` to `high`."""
        found: list[Edges] = []
        for block, out, into in zip(self._blocks, self._out, self._into, strict=True):
            rows = out.rows(low, high) if out.sorted else into.rows(low, high)
            found.append(block.take(rows))
        return found

    def near(self, after: Array, before: Array, enough: int, meet: int = 0) -> Array:
        """The nodes within some steps over edges: on from `after`, and back from `before`.

        So many steps that there are about `enough` nodes, or up to `meet` until both ways have a
        node in common.
        """
        on = back = np.zeros(self._nodes + 2, np.bool_)
        for on, back in self.rounds(after, before):
            known = int(np.count_nonzero(on | back))
            if known >= enough and (known >= meet or (on & back).any()):
                break
        return np.flatnonzero(on | back)

    def rounds(self, after: Array, before: Array) -> Iterator[tuple[Array, Array]]:
        """What is reached from `after`, and what leads to `before`, in one step more each time.

        As masks that change from one time to the next; until no node is added.
        """
        on, back = Side.of(self._nodes, after), Side.of(self._nodes, before)
        while len(on.last) or len(back.last):
            yield on.marked, back.marked
            on = self._wider(on, self._out, [block.target for block in self._blocks])
            back = self._wider(back, self._into, [block.source for block in self._blocks])

    def _wider(self, side: Side, near: list[Lookup], far: list[Array]) -> Side:
        """With what edges join to the nodes that were reached last."""
        columns = zip(near, far, strict=True)
        reached = [other[ends.at(side.last, side.fresh)] for ends, other in columns]
        return side.add(reached, self._within)

    def among(self, nodes: Array) -> Edges:
        """The edges between some nodes, which are in order and renumbered; no self-loops."""
        marked = np.zeros(self._nodes + 2, np.bool_)
        marked[nodes] = True
        whole = joined(self._inside(nodes, marked))
        whole = whole.take(whole.source != whole.target)
        numbers = nodes.astype(np.int32)
        source = np.searchsorted(numbers, whole.source).astype(np.int32)
        target = np.searchsorted(numbers, whole.target).astype(np.int32)
        return Edges(source, target, whole.kind, whole.why)

    def _inside(self, nodes: Array, marked: Array) -> list[Edges]:
        """The edges between some nodes, in order, which `marked` marks; by block."""
        found: list[Edges] = []
        for block, out, into in zip(self._blocks, self._out, self._into, strict=True):
            by_target = into.sorted and not out.sorted
            rows = into.at(nodes, marked) if by_target else out.at(nodes, marked)
            other = block.source if by_target else block.target
            found.append(block.take(rows[marked.take(other.take(rows), mode="wrap")]))
        return found

    def no_way_back(self, first: Link, order: Order, crowd: int, *, apart: bool) -> bool:
        """Whether it is shown that no way leads from the target of an edge back to its source.

        The edge is the only one that goes back in the order. `apart` is that of `components_of`: a
        state is a node and whether an anti-dependency led there. From both ends in turns, until one
        side is at its end (True), or both meet or have more than `crowd` new states (False).
        """
        low, high = int(order.place[first.target]), int(order.place[first.source])
        anti = apart and bool(first.kind & RW)
        ends = [(first.source, False)] + [(first.source, True)] * (apart and not anti)
        on, back = {(first.target, anti)}, set(ends)
        last_on, last_back = set(on), set(back)
        while last_on and last_back and on.isdisjoint(back):
            if min(len(last_on), len(last_back)) > crowd:
                return False
            if len(last_on) <= len(last_back):
                last_on = {
                    (other, apart and led)
                    for one, other, led in self._steps(last_on, self._out)
                    if (not (apart and led) or (one, False) in last_on)
                    and order.padded[other] <= high
                }
                last_on -= on
                on |= last_on
            else:
                last_back = {
                    (one, came)
                    for one, other, led in self._steps(last_back, self._into)
                    if (other, apart and led) in last_back and order.padded[one] >= low
                    for came in ((False, True) if apart and not led else (False,))
                }
                last_back -= back
                back |= last_back
        return on.isdisjoint(back)

    def _steps(
        self, states: set[tuple[int, bool]], ends: list[Lookup]
    ) -> list[tuple[int, int, bool]]:
        """The edges at the nodes of some states, and whether each is an anti-dependency."""
        nodes = np.asarray(sorted({node for node, _ in states}))
        marked = np.zeros(self._nodes + 2, np.bool_)
        marked[nodes] = True
        found: list[tuple[int, int, bool]] = []
        for block, one in zip(self._blocks, ends, strict=True):
            rows = one.at(nodes, marked)
            kinds = (block.kind[rows] & RW) != 0
            columns = block.source[rows].tolist(), block.target[rows].tolist(), kinds.tolist()
            found += zip(*columns, strict=True)
        return found
