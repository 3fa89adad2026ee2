"""A strongly connected part of the graph in networkx, where the cycles to report are chosen.

Through a step of it the lightest way back is taken, by Dijkstra's algorithm. Weight is what makes
an argument weak (`chains`): first whether it needs the strict graph, the real time of a DDL, real
time at all, the order of one client's transactions, a predicate; then the number of
anti-dependencies, then its length. So each cycle is the strongest anomaly that the step lies on.
Where several anti-dependencies are needed, a cycle with no two in a row is taken if there is one as
strong.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ddlsim.graph.chains import PREDICATE, Chains, weight_of
from ddlsim.graph.edges import NAMES, RW, Edges, Link
from ddlsim.graph.history import NONE
from ddlsim.graph.names import adjacent


class Step(NamedTuple):
    """One step of a tangle: over an edge, or onto, along or off a chain of instants (None)."""

    source: int
    target: int
    weight: int
    link: Link | None

    @property
    def anti(self) -> bool:
        """Whether it is an anti-dependency."""
        return self.link is not None and bool(self.link.kind & RW)


class Way(NamedTuple):
    """A cycle without its name: its edges, from the smallest node on, and its weight."""

    links: tuple[Link, ...]
    weight: int


class Tangle:
    """The lightest step between each two nodes of a component; of equal ones the first stays.

    Where that is an anti-dependency, the lightest step that is none is kept beside it.
    """

    def __init__(self, links: Iterable[Link], chains: Chains | None) -> None:
        import networkx as nx

        self._nx = nx
        self._chains = chains
        self._weights: dict[int, int] = {}
        found: dict[tuple[int, int], Step] = {}
        plain: dict[tuple[int, int], Step] = {}
        self._led: set[int] = set()
        for link in links:
            step = self.step(link)
            if step.anti:
                self._led.add(step.target)
            for kept in (found,) if step.anti else (found, plain):
                known = kept.get((step.source, step.target))
                if known is None or step.weight < known.weight:
                    kept[step.source, step.target] = step
        for source, target, weight in () if chains is None else chains.steps:
            found.setdefault((source, target), Step(source, target, weight, None))
        self.steps = {ends: found[ends] for ends in sorted(found)}
        self._plain = {ends: plain[ends] for ends in sorted(plain) if found[ends].anti}
        self._whole: Any = nx.DiGraph()
        self._whole.add_weighted_edges_from(step[:3] for step in self.steps.values())
        self._apart: Any = None

    def step(self, link: Link) -> Step:
        """The step over an edge."""
        weight = self._weights.get(link.kind)
        if weight is None:
            weight = self._weights[link.kind] = weight_of(link.kind)
        return Step(link.source, link.target, weight, link)

    def components(self) -> dict[int, int]:
        """The number of the component of each node that lies on a cycle."""
        parts = self._nx.strongly_connected_components(self._whole)
        return {node: at for at, part in enumerate(parts) if len(part) > 1 for node in part}

    def lightest(self, first: Step, *, apart: bool = False) -> Way | None:
        """The lightest cycle through a step; None if there is none.

        With `apart` only one with no two anti-dependencies in a row will do; else such a one is
        preferred to others that are as strong up to the number of their anti-dependencies.
        """
        if apart:
            return self._without_adjacent(first)
        try:
            nodes = self._nx.dijkstra_path(self._whole, first.target, first.source)
        except (self._nx.NetworkXNoPath, self._nx.NodeNotFound):
            return None
        way = self._closed(first, [self.steps[ends] for ends in pairwise(nodes)])
        kinds = [link.kind & RW for link in way.links]
        if sum(map(bool, kinds)) < 2 or not adjacent([NAMES.get(kind, "") for kind in kinds]):
            return way
        other = self._without_adjacent(first)
        if other is not None and other.weight // PREDICATE <= way.weight // PREDICATE:
            return other
        return way

    def _without_adjacent(self, first: Step) -> Way | None:
        """The lightest cycle with no two anti-dependencies in a row; it visits no node twice.

        A state is a node and whether an anti-dependency led there.
        """
        if first.anti and first.target not in self._led:
            self._led.add(first.target)
            self._apart = None
        if self._apart is None:
            self._apart = self._nx.DiGraph()
            for step in (*self.steps.values(), *self._plain.values()):
                both = not step.anti and step.source in self._led
                for came in (False, True) if both else (False,):
                    ends = (step.source, came), (step.target, step.anti)
                    self._apart.add_edge(*ends, weight=step.weight)
        found: list[Way] = []
        for came in (False,) if first.anti else (False, True):
            ends = (first.target, first.anti), (first.source, came)
            try:
                states = self._nx.dijkstra_path(self._apart, *ends)
            except (self._nx.NetworkXNoPath, self._nx.NodeNotFound):
                continue
            nodes = [node for node, _ in states]
            if len(set(nodes)) == len(nodes):
                found.append(self._closed(first, [self._to(*ends) for ends in pairwise(states)]))
        return min(found, key=lambda one: one.weight, default=None)

    def _to(self, here: tuple[int, bool], there: tuple[int, bool]) -> Step:
        """The step between two states."""
        ends = here[0], there[0]
        step = self.steps[ends]
        return step if step.anti is there[1] else self._plain[ends]

    def _closed(self, first: Step, back: Sequence[Step]) -> Way:
        """A step and the way back from its target as edges, the chains contracted."""
        steps = [first, *back]
        chains, count = self._chains, len(steps)
        start = min(range(count), key=lambda at: (self._is_instant(steps[at]), steps[at].source))
        links: list[Link] = []
        source = steps[start].source
        for at in range(start, start + count):
            step = steps[at % count]
            if step.link is not None:
                links.append(step.link)
            elif chains is not None and chains.is_instant(step.target):
                continue
            elif chains is not None:
                links.append(Link(source, step.target, chains.kind(step.source), NONE))
            source = step.target
        return Way(tuple(links), sum(step.weight for step in steps))

    def _is_instant(self, step: Step) -> bool:
        return self._chains is not None and self._chains.is_instant(step.source)


def links_of(edges: Edges) -> Iterable[Link]:
    """Edges one by one."""
    columns = (edges.source, edges.target, edges.kind, edges.why)
    return map(Link._make, zip(*(column.tolist() for column in columns), strict=True))
