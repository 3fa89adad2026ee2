"""The lightest ways back through the only edge of a graph that goes back in its order.

All other edges go forward, so that one pass over them in the order of places finds the least weight
from the target of that edge to each node, and one the other way round that from each node to its
source. Together they tell, without a search, how light the lightest cycle through each edge is,
what kind it is of, and which nodes lie on it. `tangle` then chooses among few nodes.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.chains import ANTI, PREDICATE, PROCESS_TIME, REAL_TIME, STRICT, weight_of
from ddlsim.graph.edges import RW, Edges, Link
from ddlsim.graph.history import Array

FAR: Final = STRICT * 10**10
"""More than any way weighs."""

Shape = tuple[bool, ...]
"""What tells the types of cycles apart that hold an edge of one kind: whether a process's order is
needed, whether there are several anti-dependencies, whether two of them are in a row, and then
whether a predicate is among them."""


class Steps(NamedTuple):
    """Edges that go forward, in the order of their sources' places, and what each weighs."""

    source: list[int]
    target: list[int]
    weight: list[int]
    anti: list[bool]

    def reversed(self) -> Iterator[tuple[int, int, int, bool]]:
        """The same one by one, the last one first."""
        return zip(
            reversed(self.source),
            reversed(self.target),
            reversed(self.weight),
            reversed(self.anti),
            strict=True,
        )


class Ways:
    """The least weight from an edge's target to each node (`on`), and from each to its source.

    With `apart` only of ways on which no two anti-dependencies follow each other, `first` included.
    Of each node there is then, apart from others, the weight of ways that come by an
    anti-dependency, and of those that go on from there after one (`after`).
    """

    def __init__(self, nodes: int, first: Link, steps: Steps, *, apart: bool) -> None:
        self._first = first
        self._apart = apart
        self._steps = steps
        self._on, self._on_after = [FAR] * nodes, [FAR] * nodes
        self._back, self._back_after = [FAR] * nodes, [FAR] * nodes
        anti = apart and bool(first.kind & RW)
        (self._on_after if anti else self._on)[first.target] = 0
        self._back[first.source] = 0
        if not anti:
            self._back_after[first.source] = 0
        if apart:
            self._spread_apart()
        else:
            self._spread()

    def _spread(self) -> None:
        on, back = self._on, self._back
        for one, other, weight, _ in zip(*self._steps, strict=True):
            if (there := on[one] + weight) < on[other]:
                on[other] = there
        for one, other, weight, _ in self._steps.reversed():
            if (there := back[other] + weight) < back[one]:
                back[one] = there

    def _spread_apart(self) -> None:
        on, after = self._on, self._on_after
        for one, other, weight, anti in zip(*self._steps, strict=True):
            if anti:
                if (there := on[one] + weight) < after[other]:
                    after[other] = there
            elif (there := min(on[one], after[one]) + weight) < on[other]:
                on[other] = there
        back, after = self._back, self._back_after
        for one, other, weight, anti in self._steps.reversed():
            if anti:
                if (there := after[other] + weight) < back[one]:
                    back[one] = there
            else:
                if (there := back[other] + weight) < back[one]:
                    back[one] = there
                if there < after[one]:  # noqa: PLR1730 - a call of min takes twice as long
                    after[one] = there

    def weight(self, link: Link) -> int:
        """That of the lightest cycle through an edge; `FAR` or more if there is none."""
        anti = self._apart and bool(link.kind & RW)
        way = self._on[link.source]
        if self._apart and not anti:
            way = min(way, self._on_after[link.source])
        if link != self._first:
            way += (self._back_after if anti else self._back)[link.target]
            way += weight_of(self._first.kind)
        return way + weight_of(link.kind)

    def nodes_through(self, links: Sequence[Link]) -> set[int]:
        """The nodes on the lightest cycles through some edges, and few others.

        On from their targets, and back from their sources, over edges that a lightest way takes.
        """
        nodes = len(self._on)
        ahead, behind = bytearray(nodes), bytearray(nodes)
        for link in links:
            behind[link.source] = 1
            ahead[self._first.target if link == self._first else link.target] = 1
        on, on_after, back, back_after = self._on, self._on_after, self._back, self._back_after
        for one, other, weight, anti in zip(*self._steps, strict=True):
            if ahead[one]:
                there = weight + (back_after if self._apart and anti else back)[other]
                if there < FAR and there in (back[one], back_after[one]):
                    ahead[other] = 1
        for one, other, weight, anti in self._steps.reversed():
            if behind[other]:
                there = weight + on[one]
                if self._apart and not anti:
                    there = min(there, weight + on_after[one])
                if there < FAR and there in (on[other], on_after[other]):
                    behind[one] = 1
        found = np.flatnonzero(np.frombuffer(ahead, np.bool_) | np.frombuffer(behind, np.bool_))
        return {self._first.source, self._first.target, *found.tolist()} if links else set()


def steps_of(edges: Edges, place: Array) -> Steps:
    """The edges that go forward, in the order of places."""
    on = np.flatnonzero(place[edges.source] < place[edges.target])
    on = on[np.argsort(place[edges.source[on]], kind="stable")]
    kinds = edges.kind[on].tolist()
    weights = {kind: weight_of(kind) for kind in set(kinds)}
    source, target = edges.source[on].tolist(), edges.target[on].tolist()
    heavy = [weights[kind] for kind in kinds]
    return Steps(source, target, heavy, [bool(kind & RW) for kind in kinds])


def lightest_of_each(
    nodes: int, first: Link, steps: Steps, starts: Sequence[Link], *, apart: bool
) -> tuple[list[Link], set[int]]:
    """Those of some edges whose lightest cycles are the lightest of their types; the nodes there.

    `starts` are of one kind; what is chosen for each is what `Tangle.lightest` chooses, `apart` as
    there: of the strength of the cycle that has none in a row depends whether that is taken.
    """
    plain = None if apart else Ways(nodes, first, steps, apart=False)
    other: Ways | None = None
    weights = [0 if plain is None else plain.weight(link) for link in starts]
    if apart or any(_several(weight) for weight in weights):
        other = Ways(nodes, first, steps, apart=True)
    found = [
        _chosen(weight, None if other is None else other.weight(link), apart=apart)
        for link, weight in zip(starts, weights, strict=True)
    ]
    least: dict[Shape, int] = {}
    for weight, shape in found:
        if weight < FAR:
            least[shape] = min(weight, least.get(shape, weight))
    kept = [
        link
        for link, (weight, shape) in zip(starts, found, strict=True)
        if weight < FAR and least[shape] == weight
    ]
    inside = [ways.nodes_through(kept) for ways in (plain, other) if ways is not None]
    return kept, set().union(*inside)


def _several(weight: int) -> bool:
    """Whether a way holds several anti-dependencies."""
    return weight < FAR and weight // ANTI % (PREDICATE // ANTI) > 1


def _chosen(plain: int, other: int | None, *, apart: bool) -> tuple[int, Shape]:
    """The weight and the shape of the cycle that is taken, by those of the lightest ones.

    `other` is the weight of the lightest one with no two anti-dependencies in a row.
    """
    if other is not None and apart:
        return other, (_of_process(other), _several(other), False, False)
    if not _several(plain) or other is None:
        return plain, (_of_process(plain), False, False, False)
    if other // PREDICATE <= plain // PREDICATE:
        return other, (_of_process(other), True, False, False)
    predicate = plain // PREDICATE % (PROCESS_TIME // PREDICATE) > 0
    return plain, (_of_process(plain), True, True, predicate)


def _of_process(weight: int) -> bool:
    """Whether a way needs the order of a process."""
    return weight // PROCESS_TIME % (REAL_TIME // PROCESS_TIME) > 0
