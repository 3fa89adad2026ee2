"""Parts of a graph: some of its nodes, renumbered, with their edges, times and places."""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from ddlsim.graph.certificate import Order
from ddlsim.graph.edges import DDL, Edges, Link, joined
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.residue import Span, between, components_of, renumbered
from ddlsim.graph.tangle import links_of


class Component(NamedTuple):
    """The nodes of a component, its edges by their source, its nodes' times and places.

    Edges are between the component's own numbers, from 0, `nodes` the numbers in the graph.
    """

    nodes: Array
    edges: Edges
    span: Span | None
    place: Array

    def only_back(self) -> Link | None:
        """The only edge that goes back in the order of places; None where real time counts too."""
        if self.span is not None:
            return None
        edges = self.edges
        return only_of(
            [edges], [np.flatnonzero(self.place[edges.source] > self.place[edges.target])]
        )

    def unwound(self) -> "Component":
        """The same with other places, where then the edge that goes back farthest is the only one.

        So where without that edge there is no cycle: nodes stand in a topological order of the
        other edges, as near to their own places as these allow. Else it is returned as it is.
        """
        edges, place = self.edges, self.place
        stretch = place[edges.source].astype(np.int64) - place[edges.target]
        if self.span is not None or np.count_nonzero(stretch > 0) < 2:
            return self
        others = np.delete(np.arange(len(edges)), int(np.argmax(stretch)))
        source, target = edges.source[others], edges.target[others]
        found = topological(source.tolist(), target.tolist(), place.tolist())
        return self if found is None else self._replace(place=np.asarray(found))

    def within(self, chosen: Array, inside: Edges | None = None) -> "Component":
        """Some of its nodes, in order, and the edges between them; `inside` are those, if known."""
        if inside is None:
            (inside,) = by_part(len(self.nodes), [self.edges], [chosen])
        span = None if self.span is None else self.span.take(chosen)
        return Component(self.nodes[chosen], inside, span, self.place[chosen])

    def on_cycles(self, *, apart: bool) -> "Component":
        """Its nodes that lie on cycles, and the edges between them: to find them costs least."""
        parts = components_of(len(self.nodes), [self.edges], self.span, apart=apart)
        return self.within(np.sort(np.concatenate([*parts, np.zeros(0, np.int64)])))


class Marked(NamedTuple):
    """Of all nodes: when they began and ended, their order, and which are DDLs."""

    span: Span | None
    order: Order
    ddl: Array | None

    def component(self, nodes: Array, inside: Edges) -> Component:
        """Some of the nodes, with the edges between them by their own numbers."""
        span = None if self.span is None else self.span.take(nodes)
        marked = inside if self.ddl is None else _marked(inside, self.ddl[nodes])
        return Component(nodes, marked, span, self.order.place[nodes])


def _marked(block: Edges, ddl: Array) -> Edges:
    """The edges, those with an end among the DDLs marked so."""
    if not ddl.any():
        return block
    touches = ddl[block.source] | ddl[block.target]
    kind = block.kind | np.where(touches, DDL, 0).astype(np.uint16)
    return Edges(block.source, block.target, kind, block.why)


def by_part(n: int, blocks: list[Edges], parts: list[Array]) -> list[Edges]:
    """The edges inside each of some parts of the nodes, its nodes renumbered from 0.

    Of blocks that may have missing ends and edges from a node to itself, which are left out.
    """
    if len(parts) < 2:
        whole = [joined([renumbered(block, n, nodes) for block in blocks]) for nodes in parts]
        return [one.take(one.source != one.target) for one in whole]
    label = np.full(n + 2, NONE, np.int32)
    local = np.zeros(n, np.int32)
    for number, nodes in enumerate(parts):
        label[nodes] = number
        local[nodes] = np.arange(len(nodes))
    kept = joined([block.take(between(block, label)) for block in blocks])
    part = label[kept.source]
    order = np.argsort(part, kind="stable")
    kept, part = kept.take(order), part[order]
    cuts = np.searchsorted(part, np.arange(1, len(parts)))
    source, target = local[kept.source], local[kept.target]
    return [
        Edges(source[one], target[one], kept.kind[one], kept.why[one])
        for one in map(slice, [0, *cuts], [*cuts, len(part)])
    ]


def topological(source: list[int], target: list[int], place: list[int]) -> list[int] | None:
    """Of each node its place in an order in which all edges go forward; None if they have a cycle.

    Of the nodes that may come next that of the least `place` does (Kahn 1962).
    """
    open_, onward = [0] * len(place), [list[int]() for _ in place]
    for one, other in zip(source, target, strict=True):
        onward[one].append(other)
        open_[other] += 1
    ready = [(place[node], node) for node, count in enumerate(open_) if not count]
    heapify(ready)
    found, count = [0] * len(place), 0
    while ready:
        _, node = heappop(ready)
        found[node] = count
        count += 1
        for other in onward[node]:
            open_[other] -= 1
            if not open_[other]:
                heappush(ready, (place[other], other))
    return found if count == len(place) else None


def only_of(blocks: list[Edges], chosen: list[Array]) -> Link | None:
    """The only edge that is chosen of all blocks; None if there are several, or none."""
    if sum(map(len, chosen)) != 1:
        return None
    taken = [block.take(at) for block, at in zip(blocks, chosen, strict=True)]
    [only] = links_of(joined(taken))
    return only
