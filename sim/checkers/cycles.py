"""Cycles of the serialization graph: a certificate for most, a search for the rest.

Nodes are numbered by rank, so an edge that goes up in number can only lie on a cycle together with
one that goes down. The *certificate*: no edge goes down, neither on data nor in real time; then
there is no cycle. Otherwise the stretches of rank that the downward edges span, merged where they
meet, hold every cycle; only they are looked at, with real time as chains of instants (`chains`),
and of them only what is strongly connected (`tangles`).

Through each downward edge the lightest way back is taken, and weight is what makes an argument
weak: first whether it needs the real time of a DDL, then real time at all, then the order of one
client's doings, then a predicate, then the number of anti-dependencies, then its length. So each
cycle is classified as the strongest anomaly that it is (`names`). Where several anti-dependencies
are needed, a cycle with no two in a row is taken if there is one.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ddlsim.checkers.chains import ANTI, LONGER, PREDICATE, STRICT, TIME, Chains
from ddlsim.checkers.edges import PROCESS, RT, RW, Edge
from ddlsim.checkers.graph import Graph
from ddlsim.checkers.names import is_adjacent, kind_of_cycle
from ddlsim.checkers.tangles import tangles

SEARCH_BUDGET: Final = 3_000_000
"""Edges looked at in one component, over all searches; a larger tangle is searched in part."""


class Cycle(NamedTuple):
    """A cycle of edges between nodes; `needs_ddl_time` where it rests on a DDL's real time.

    Of cycles through the same nodes in the same order the one of least `weight` is told. `name` is
    the strongest anomaly that it is.
    """

    edges: tuple[Edge, ...]
    weight: int
    needs_ddl_time: bool
    strict_only: bool
    name: str


class Search(NamedTuple):
    """The cycles found, and how many downward edges within cycles were left unexamined."""

    cycles: tuple[Cycle, ...]
    unexamined: int


def find(graph: Graph, *, strict: bool) -> Search:
    """Every downward edge's strongest cycle: of the relaxed graph, or those the strict one adds."""
    edges = [edge for edge in graph.edges if strict or not edge.strict_only]
    stretches = _stretches(graph, edges)
    if not stretches:
        return Search((), 0)
    cycles: dict[tuple[int, ...], Cycle] = {}
    unexamined = 0
    for stretch, inside in zip(stretches, _by_stretch(stretches, edges), strict=True):
        chains = Chains(graph, *stretch)
        sources = [edge.source for edge in inside] + chains.sources
        targets = [edge.target for edge in inside] + chains.targets
        for places in tangles(sources, targets):
            tangle = _Tangle(graph, chains)
            for at in places:
                if at < len(inside):
                    tangle.add(sources[at], targets[at], _weight(inside[at]), inside[at])
                else:
                    weight = chains.weights[at - len(inside)]
                    tangle.add(sources[at], targets[at], weight, None)
            found, left = tangle.search(strict=strict)
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
    weight = LONGER + (ANTI if edge.kind == RW else TIME.get(edge.kind, 0))
    return weight + (PREDICATE if edge.is_predicate else 0) + (STRICT if edge.strict_only else 0)


# --- the search ----------------------------------------------------------------------------------


class _Tangle:
    """A strongly connected part, with the lightest step between each two of its nodes."""

    def __init__(self, graph: Graph, chains: Chains) -> None:
        import networkx as nx

        self._graph = graph
        self._chains = chains
        self._nx = nx
        self._steps: dict[tuple[int, int], tuple[int, Edge | None]] = {}
        self._apart: Any = None

    def add(self, source: int, target: int, weight: int, edge: Edge | None) -> None:
        """One more step; of several between two nodes the first lightest stays."""
        known = self._steps.get((source, target))
        if known is None or weight < known[0]:
            self._steps[source, target] = (weight, edge)

    def search(self, *, strict: bool) -> tuple[list[Cycle], int]:
        """The lightest cycle through each downward step, or through each that is strict only."""
        whole: Any = self._nx.DiGraph()
        for source, target in sorted(self._steps):
            whole.add_edge(source, target, weight=self._steps[source, target][0])
        starts = [step for step in sorted(self._steps) if self._is_start(*step, strict=strict)]
        affordable = max(10, SEARCH_BUDGET // len(self._steps))
        found: list[Cycle] = []
        for source, target in starts[:affordable]:
            way: list[int] = self._nx.dijkstra_path(whole, target, source)
            cycle = self._cycle([source, *way])
            if sum(edge.kind == RW for edge in cycle.edges) > 1 and is_adjacent(cycle.edges):
                cycle = self._without_adjacent(source, target, cycle)
            found.append(cycle)
        return found, max(0, len(starts) - affordable)

    def _is_start(self, source: int, target: int, *, strict: bool) -> bool:
        if strict:
            edge = self._steps[source, target][1]
            return edge is not None and edge.strict_only
        return self._chains.rank_of(source) > self._chains.rank_of(target)

    def _without_adjacent(self, source: int, target: int, cycle: Cycle) -> Cycle:
        """The lightest cycle with no two anti-dependencies in a row, if it is no weaker else.

        A state is a node and whether an anti-dependency led there.
        """
        if self._apart is None:
            self._apart = self._nx.DiGraph()
            for (here, there), (weight, edge) in sorted(self._steps.items()):
                anti = edge is not None and edge.kind == RW
                for came in (False,) if anti else (False, True):
                    self._apart.add_edge((here, came), (there, anti), weight=weight)
        first = self._steps[source, target][1]
        anti = first is not None and first.kind == RW
        found: list[Cycle] = []
        for came in (False,) if anti else (False, True):
            try:
                way = self._nx.dijkstra_path(self._apart, (target, anti), (source, came))
            except (self._nx.NetworkXNoPath, self._nx.NodeNotFound):
                continue
            nodes = [number for number, _ in way]
            if len(set(nodes)) == len(nodes):
                found.append(self._cycle([source, *nodes]))
        best = min(found, key=lambda one: one.weight, default=cycle)
        return best if best.weight // PREDICATE <= cycle.weight // PREDICATE else cycle

    def _cycle(self, way: Sequence[int]) -> Cycle:
        """A closed way as edges of the serialization graph, the chains contracted."""
        chains = self._chains
        way = way[:-1]
        first = min(range(len(way)), key=lambda at: (chains.is_instant(way[at]), way[at]))
        way = [*way[first:], *way[:first]]
        edges: list[Edge] = []
        source, weight = way[0], 0
        for here, there in zip(way, [*way[1:], way[0]], strict=True):
            cost, edge = self._steps[here, there]
            weight += cost
            if edge is not None:
                edges.append(edge)
            elif not chains.is_instant(there):
                edges.append(chains.edge(source, here, there))
            if not chains.is_instant(there):
                source = there
        nodes = self._graph.nodes
        return Cycle(
            tuple(edges),
            weight,
            any(e.kind in (RT, PROCESS) and nodes[e.source].tx is None for e in edges),
            any(edge.strict_only for edge in edges),
            kind_of_cycle(edges, nodes),
        )
