"""Cycles of a native history's serialization graph, found by the search of `ddlsim.graph`.

Nodes are numbered by rank, so an edge that goes up in number can only lie on a cycle together with
one that goes down, and every cycle holds such a step, over an edge or in real time. The lightest
cycle through each of them is reported, and of the strict graph those through the edges that only it
has. Everything else (order, components, weights, choice, names) is that of all histories.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ddlsim.checkers.graph.edges import (
    BeforeInRealTime,
    Edge,
    InstalledThenUsed,
    Node,
    UsedThenReplaced,
    item_of,
)
from ddlsim.checkers.graph.graph import Graph
from ddlsim.graph.certificate import Order
from ddlsim.graph.chains import Chains, Times
from ddlsim.graph.classify import other_names, type_of
from ddlsim.graph.component import by_part
from ddlsim.graph.edges import DDL, PREDICATE_EDGE, PROCESS, REALTIME, STRICT_ONLY, Link
from ddlsim.graph.history import FOREVER, NONE, Array
from ddlsim.graph.residue import Span, tangles
from ddlsim.graph.tangle import Step, Tangle, Way, links_of

SEARCH_BUDGET: Final = 3_000_000
"""Edges looked at in one component, over all searches; a larger one is searched in part."""
LEAST: Final = 10
"""Searches that are made in any case."""


class Cycle(NamedTuple):
    """A cycle of edges between nodes; `needs_ddl_time` where it rests on a DDL's real time.

    Of cycles through the same nodes in the same order the one of least `weight` is reported. `name`
    is the strongest anomaly that it is.
    """

    edges: tuple[Edge, ...]
    weight: int
    needs_ddl_time: bool
    strict_only: bool
    name: str


class Search(NamedTuple):
    """The cycles found, and how many steps back within components were left unexamined."""

    cycles: tuple[Cycle, ...]
    unexamined: int


def find(graph: Graph, *, strict: bool) -> Search:
    """Every downward step's strongest cycle: of the relaxed graph, or those the strict one adds."""
    count = len(graph.nodes)
    edges, span = graph.columns(strict=strict), _span(graph)
    parts = tangles(Order(np.arange(count)), [edges], span)
    cycles: dict[tuple[int, ...], Cycle] = {}
    unexamined = 0
    for nodes, inside in zip(parts, by_part(count, [edges], parts), strict=True):
        chains = Chains(_times(graph, span, nodes), FOREVER)
        tangle = Tangle(links_of(inside), chains)
        starts = [step for step in tangle.steps.values() if _is_start(step, chains, strict=strict)]
        affordable = max(LEAST, SEARCH_BUDGET // len(tangle.steps))
        unexamined += max(0, len(starts) - affordable)
        for step in starts[:affordable]:
            way = tangle.lightest(step)
            if way is not None:
                cycle = _cycle(graph, nodes, way)
                key = tuple(edge.source for edge in cycle.edges)
                if key not in cycles or cycle.weight < cycles[key].weight:
                    cycles[key] = cycle
    return Search(tuple(cycles.values()), unexamined)


def _span(graph: Graph) -> Span:
    begins = [NONE if node.begins_at is None else node.begins_at for node in graph.nodes]
    ends = [FOREVER if node.ends_at is None else node.ends_at for node in graph.nodes]
    return Span(np.array(begins, np.int64), np.array(ends, np.int64))


def _times(graph: Graph, span: Span, nodes: Array) -> Times:
    """When the nodes of a component began and ended, and for which clients."""
    begin, end = (column.tolist() for column in span.take(nodes))
    numbers = nodes.tolist()
    ddl = [graph.nodes[number].tx is None for number in numbers]
    return Times(begin, end, ddl, [graph.clients[number] for number in numbers])


def _is_start(step: Step, chains: Chains, *, strict: bool) -> bool:
    if strict:
        return step.link is not None and bool(step.link.kind & STRICT_ONLY)
    return chains.highest(step.source) > chains.highest(step.target)


def _cycle(graph: Graph, numbers: Array, way: Way) -> Cycle:
    """A cycle of a component as edges of the whole graph."""
    nodes = graph.nodes
    edges = tuple(_edge(graph, numbers, link) for link in way.links)
    return Cycle(
        edges,
        way.weight,
        any(e.kind & (REALTIME | PROCESS) and nodes[e.source].tx is None for e in edges),
        any(edge.strict_only for edge in edges),
        name_of_cycle(nodes, edges),
    )


def _edge(graph: Graph, numbers: Array, link: Link) -> Edge:
    if link.why != NONE:
        return graph.edges[link.why]
    source, target = int(numbers[link.source]), int(numbers[link.target])
    ended_at, begins_at = graph.nodes[source].ends_at, graph.nodes[target].begins_at
    assert ended_at is not None, source
    assert begins_at is not None, target
    assert ended_at < begins_at, (ended_at, begins_at)
    return Edge(source, target, link.kind, BeforeInRealTime(ended_at, begins_at))


def without_detours(graph: Graph, cycle: Cycle) -> Cycle:
    """A cycle less the transactions that stand between two changes of the table that they used.

    The change that installed a version comes before the one that ended it, however late a
    transaction used it: the rest is a cycle without that transaction. Where a change activated
    before an earlier one all stays as it is.
    """
    nodes, edges = graph.nodes, cycle.edges
    for at in range(len(edges)):
        turned = edges[at - 1 :] + edges[: at - 1]
        way = _way_past(graph, turned)
        if way:
            edges = (*way, *turned[2:])
            strict_only = any(edge.strict_only for edge in edges)
            name = name_of_cycle(nodes, edges)
            shorter = cycle._replace(edges=edges, strict_only=strict_only, name=name)
            return without_detours(graph, shorter)
    return cycle


def _way_past(graph: Graph, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """The changes that lead past the target of the first edge; none where it is no detour."""
    first, last = edges[0].reason, edges[1].reason
    if not isinstance(first, InstalledThenUsed) or not isinstance(last, UsedThenReplaced):
        return ()
    if first.use[:2] != last.use[:2]:
        return ()
    way = graph.replaced(last.use, last.step.version)
    passed = {edge.source for edge in edges[2:]}
    if any(edge.source in passed for edge in way):
        return ()
    in_order = all(graph.nodes[edge.source].ts < graph.nodes[edge.target].ts for edge in way)
    return way if in_order else ()


def name_of_cycle(nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """The strongest name that a cycle deserves; one of its own goes before the general one."""
    links = [
        Link(edge.source, edge.target, edge.marks | _ddl(nodes, edge), at)
        for at, edge in enumerate(edges)
    ]

    def item(link: Link) -> object:
        return item_of(edges[link.why])

    def has_read(link: Link) -> bool:
        return nodes[link.source].has_read(item_of(edges[link.why]))

    for name in other_names(links, item, has_read):
        if name != "fractured-read" or not any(link.kind & PREDICATE_EDGE for link in links):
            return name
    return type_of(links)


def _ddl(nodes: Sequence[Node], edge: Edge) -> int:
    """The mark of edges with an end that is a DDL."""
    return 0 if nodes[edge.source].update is nodes[edge.target].update is None else DDL
