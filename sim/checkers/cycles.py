"""Cycles of the serialization graph: a certificate for most, a search for the rest.

Nodes are numbered by rank, so an edge that goes up in number can only lie on a cycle together with
one that goes down. The *certificate*: no edge goes down, neither on data nor in real time; then
there is no cycle. Otherwise the stretches of rank that the downward edges span, merged where they
meet, hold every cycle; only they are looked at. What has no way in or no way out there is peeled
off, and networkx finds the strongly connected rest.

Real time is a chain of instants: a node leads to the instant where it ended, an instant to the next
one and to whoever began after it, which makes it three edges a node and not one for each pair. The
ends of DDLs have a chain of their own, because they count only under an assumption. Printed cycles
show none of this.

Through each downward edge the lightest way back is taken, and weight is what makes an argument
weak: first whether it needs the real time of a DDL, then real time at all, then a predicate, then
the number of anti-dependencies, then its length. So each cycle is classified as the strongest
anomaly that it is: G0 before G1c before G-single before G2-item before G2.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import networkx as nx

from sim.checkers.edges import RT, RW, WR, BeforeInRealTime, Edge
from sim.checkers.graph import Graph

LONGER: Final = 1
ANTI: Final = 10**5
PREDICATE: Final = 10**10
REAL_TIME: Final = 10**15
DDL_REAL_TIME: Final = 10**20
STRICT: Final = 10**25
SEARCH_BUDGET: Final = 3_000_000
"""Edges looked at in one component, over all searches; a larger tangle is searched in part."""


class Cycle(NamedTuple):
    """A cycle of edges between nodes; `needs_ddl_time` where it rests on a DDL's real time.

    Of cycles through the same nodes in the same order the one of least `weight` is told.
    """

    edges: tuple[Edge, ...]
    weight: int
    needs_ddl_time: bool
    strict_only: bool

    def kind(self) -> str:
        """The strongest anomaly that it is."""
        anti = sum(edge.kind == RW for edge in self.edges)
        if anti > 1:
            name = "G2" if any(edge.is_predicate for edge in self.edges) else "G2-item"
        elif anti:
            name = "G-single"
        else:
            name = "G1c" if any(edge.kind == WR for edge in self.edges) else "G0"
        return f"{name}-realtime" if any(edge.kind == RT for edge in self.edges) else name


class Search(NamedTuple):
    """The cycles found, and how many downward edges within cycles were left unexamined."""

    cycles: tuple[Cycle, ...]
    unexamined: int


class Link(NamedTuple):
    """A step of the search graph: an edge of the serialization graph, or of a chain."""

    source: int
    target: int
    weight: int
    edge: Edge | None


def find(graph: Graph, *, strict: bool) -> Search:
    """Every downward edge's strongest cycle: of the relaxed graph, or those the strict one adds."""
    edges = [edge for edge in graph.edges if strict or not edge.strict_only]
    stretches = _stretches(graph, edges)
    if not stretches:
        return Search((), 0)
    cycles: dict[tuple[int, ...], Cycle] = {}
    unexamined = 0
    for stretch, inside in zip(stretches, _by_stretch(stretches, edges), strict=True):
        chains = _Chains(graph, *stretch)
        links = [Link(e.source, e.target, _weight(e), e) for e in inside] + chains.links
        for component in _components(_peeled(links)):
            found, left = _search(component, chains, strict=strict)
            unexamined += left
            for cycle in found:
                key = tuple(edge.source for edge in cycle.edges)
                if key not in cycles or cycle.weight < cycles[key].weight:
                    cycles[key] = cycle
    return Search(tuple(cycles.values()), unexamined)


# --- the certificate -----------------------------------------------------------------------------


def _stretches(graph: Graph, edges: list[Edge]) -> list[tuple[int, int]]:
    """The merged stretches of rank that hold every cycle; none where the certificate holds."""
    down = [(edge.target, edge.source) for edge in edges if edge.source > edge.target]
    merged: list[tuple[int, int]] = []
    for low, high in sorted(down + graph.back_in_time()):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _by_stretch(stretches: list[tuple[int, int]], edges: list[Edge]) -> list[list[Edge]]:
    lows = [low for low, _ in stretches]
    inside: list[list[Edge]] = [[] for _ in stretches]
    for edge in edges:
        at = bisect_right(lows, min(edge.source, edge.target)) - 1
        if at >= 0 and max(edge.source, edge.target) <= stretches[at][1]:
            inside[at].append(edge)
    return inside


def _weight(edge: Edge) -> int:
    weight = LONGER + (ANTI if edge.kind == RW else 0) + (REAL_TIME if edge.kind == RT else 0)
    return weight + (PREDICATE if edge.is_predicate else 0) + (STRICT if edge.strict_only else 0)


# --- real time -----------------------------------------------------------------------------------


class _Chains:
    """The instants at which the nodes of a stretch ended, as links; those of DDLs apart."""

    def __init__(self, graph: Graph, low: int, high: int) -> None:
        self._graph = graph
        self._first = len(graph.nodes)
        self.links: list[Link] = []
        self.rank: list[int] = []
        """The highest number of a node that ended up to each instant."""
        inside = range(low, high + 1)
        for of_ddls in (False, True):
            ends = [
                (ends_at, number)
                for number in inside
                if (ends_at := graph.nodes[number].ends_at) is not None
                and (graph.nodes[number].update is not None) is of_ddls
            ]
            self._chain(sorted(ends), inside, DDL_REAL_TIME if of_ddls else REAL_TIME)

    def _chain(self, ends: list[tuple[int, int]], inside: range, weight: int) -> None:
        start = self._first + len(self.rank)
        highest = -1
        for at, (_, number) in enumerate(ends):
            highest = max(highest, number)
            self.rank.append(highest)
            self.links.append(Link(number, start + at, weight + LONGER, None))
            if at:
                self.links.append(Link(start + at - 1, start + at, 0, None))
        instants = [ends_at for ends_at, _ in ends]
        for number in inside:
            begins_at = self._graph.nodes[number].begins_at
            before = 0 if begins_at is None else bisect_right(instants, begins_at)
            if before:
                self.links.append(Link(start + before - 1, number, 0, None))

    def rank_of(self, number: int) -> int:
        """A node's number, or for an instant the highest number before it."""
        return number if number < self._first else self.rank[number - self._first]

    def is_instant(self, number: int) -> bool:
        """Whether a number belongs to a chain and not to the graph."""
        return number >= self._first

    def edge(self, source: int, target: int) -> Edge:
        """A way along a chain as one edge."""
        ended_at = self._graph.nodes[source].ends_at
        begins_at = self._graph.nodes[target].begins_at
        assert ended_at is not None, source
        assert begins_at is not None, target
        assert ended_at < begins_at, (ended_at, begins_at)
        return Edge(source, target, RT, BeforeInRealTime(ended_at, begins_at))

    def is_ddl(self, number: int) -> bool:
        """Whether a node of the graph is a DDL."""
        return self._graph.nodes[number].update is not None


# --- the residue ---------------------------------------------------------------------------------


def _peeled(links: list[Link]) -> list[Link]:
    """The links left when whatever has no way in, or no way out, is taken off until nothing is."""
    for forwards in (True, False):
        waiting: dict[int, int] = {}
        after: dict[int, list[int]] = {}
        for link in links:
            source, target = (link.source, link.target)[:: 1 if forwards else -1]
            waiting[target] = waiting.get(target, 0) + 1
            waiting.setdefault(source, 0)
            after.setdefault(source, []).append(target)
        free = [number for number, count in waiting.items() if not count]
        gone: set[int] = set()
        while free:
            number = free.pop()
            gone.add(number)
            for target in after.get(number, ()):
                waiting[target] -= 1
                if not waiting[target]:
                    free.append(target)
        links = [link for link in links if link.source not in gone and link.target not in gone]
    return links


def _components(links: list[Link]) -> Iterator[Any]:
    """The strongly connected parts, each as a graph with the lightest link between two nodes."""
    whole: Any = nx.DiGraph()
    for link in links:
        known = whole.get_edge_data(link.source, link.target)
        if known is None or link.weight < known["weight"]:
            whole.add_edge(link.source, link.target, weight=link.weight, edge=link.edge)
    parts = [sorted(part) for part in nx.strongly_connected_components(whole) if len(part) > 1]
    for part in sorted(parts):
        component: Any = nx.DiGraph()
        members = set(part)
        for source in part:
            for target in sorted(whole.successors(source)):
                if target in members:
                    component.add_edge(source, target, **whole[source][target])
        yield component


def _search(component: Any, chains: _Chains, *, strict: bool) -> tuple[list[Cycle], int]:
    """The lightest cycle through each downward edge, or through each one that is strict only."""
    starts = [
        (source, target)
        for source, target, data in component.edges(data=True)
        if (
            data["edge"] is not None and data["edge"].strict_only
            if strict
            else chains.rank_of(source) > chains.rank_of(target)
        )
    ]
    affordable = max(10, SEARCH_BUDGET // component.number_of_edges())
    found: list[Cycle] = []
    for source, target in starts[:affordable]:
        way: list[int] = nx.dijkstra_path(component, target, source)
        found.append(_cycle([source, *way], component, chains))
    return found, max(0, len(starts) - affordable)


def _cycle(way: list[int], component: Any, chains: _Chains) -> Cycle:
    """A closed way as edges of the serialization graph, the chains contracted."""
    way = way[:-1]
    first = min(range(len(way)), key=lambda at: (chains.is_instant(way[at]), way[at]))
    way = way[first:] + way[:first]
    edges: list[Edge] = []
    source, weight = way[0], 0
    for here, there in zip(way, way[1:] + way[:1], strict=True):
        edge: Edge | None = component[here][there]["edge"]
        weight += component[here][there]["weight"]
        if edge is not None:
            edges.append(edge)
        elif not chains.is_instant(there):
            edges.append(chains.edge(source, there))
        if not chains.is_instant(there):
            source = there
    needs_ddl_time = any(edge.kind == RT and chains.is_ddl(edge.source) for edge in edges)
    return Cycle(tuple(edges), weight, needs_ddl_time, any(edge.strict_only for edge in edges))
