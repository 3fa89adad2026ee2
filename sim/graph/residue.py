"""What may lie on a cycle: the strongly connected components larger than one, and nothing else.

Where the order of the certificate fails, each edge that goes back spans a stretch of places, and
every cycle lies within one of the stretches, merged where they overlap; only what is inside is
looked at, and of that, where it is small and real time does not count, only what lies on a way from
the target of such an edge to the source of one. Under clock skew real time goes back nearly
everywhere, and the stretches are everything: then scipy's strong components take the whole graph,
which is linear as well.

Real time is a chain of instants: a transaction leads to the next instant after its end at which
another began, an instant to the next one, and to those that began then. That is at most three edges
a transaction.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from ddlsim.graph.certificate import Order, back_in_time
from ddlsim.graph.edges import RW, Edges, Link, compact
from ddlsim.graph.history import FOREVER, NONE, Array
from ddlsim.graph.reach import on_ways_back

FEW: Final = 50_000
"""With fewer nodes and edges, components are found without scipy."""
WORTH_CUTTING: Final = 0.5
"""The share of nodes within stretches above which nothing is cut away."""


class Span(NamedTuple):
    """When each node began (-1: after none) and ended (`FOREVER`: before none)."""

    begin: Array
    end: Array

    def take(self, nodes: Array) -> "Span":
        """That of some nodes."""
        return Span(self.begin[nodes], self.end[nodes])


class Chain(NamedTuple):
    """Real time as edges: from ends to instants, from instants to begins after them; how many."""

    ended: Array
    ended_at: Array
    begun_at: Array
    begun: Array
    instants: int


def chain_of(span: Span) -> Chain:
    """The chain of instants; instants are numbered from 0."""
    enders = np.flatnonzero(span.end < FOREVER)
    beginners = np.flatnonzero(span.begin != NONE)
    by_end = enders[np.argsort(span.end[enders], kind="stable")]
    begin = span.begin[beginners]
    if len(begin) and bool((begin[1:] < begin[:-1]).any()):
        beginners = beginners[np.argsort(begin, kind="stable")]
        begin = span.begin[beginners]
    ended_before = np.searchsorted(span.end[by_end], begin, side="left")
    later = ended_before > 0
    beginners, ended_before = beginners[later], ended_before[later]
    used = np.zeros(len(by_end) + 1, np.bool_)
    used[ended_before] = True
    number = np.cumsum(used)
    instants = int(number[-1])
    ended_at = number[:-1]
    in_use = ended_at < instants
    return Chain(by_end[in_use], ended_at[in_use], number[ended_before] - 1, beginners, instants)


def pack(source: Array, target: Array) -> Array:
    """Edges as single numbers that sort by source, then by target."""
    packed = source.astype(np.int64)
    packed <<= 32
    packed |= target
    return packed


def labels_of(nodes: int, packed: Array) -> Array:
    """The strongly connected component of each node; `packed` edges may be sorted in place.

    A small graph is searched here, in less time than scipy takes to be imported.
    """
    if nodes + len(packed) >= FEW:
        try:
            return _by_scipy(nodes, packed)
        except ModuleNotFoundError:  # scipy is an extra; the search below is slower
            pass
    packed.sort()
    indptr = np.searchsorted(packed, np.arange(nodes + 1, dtype=np.int64) << 32)
    return _labels_of_few(indptr.tolist(), packed.astype(np.int32).tolist())


def _by_scipy(nodes: int, packed: Array) -> Array:
    """The same by scipy, which makes one edge of those that stand twice.

    With them its search need not end. Its rows take a third of the time of a sort of all edges.
    """
    from scipy.sparse import csr_array  # type: ignore[import-untyped]  # scipy ships no types
    from scipy.sparse.csgraph import (  # type: ignore[import-untyped]  # scipy ships no types
        connected_components,
    )

    ends = (packed >> 32).astype(np.int32), packed.astype(np.int32)  # the lower half is the target
    graph = csr_array((np.ones(len(packed), np.bool_), ends), shape=(nodes, nodes))
    found: Any = connected_components(graph, directed=True, connection="strong")
    labels: Array = found[1]
    return labels


def _labels_of_few(indptr: list[int], indices: list[int]) -> Array:
    """The same by Tarjan (1972); the path is a list, so that it may be as long as the graph."""
    nodes = len(indptr) - 1
    number, low, label, ahead = [0] * nodes, [0] * nodes, [-1] * nodes, indptr[:-1]
    open_: list[int] = []
    met = 0
    for root in range(nodes):
        path = [] if number[root] else [root]
        while path:
            node = path[-1]
            if not number[node]:
                met += 1
                number[node] = low[node] = met
                open_.append(node)
            if ahead[node] < indptr[node + 1]:
                other = indices[ahead[node]]
                ahead[node] += 1
                if not number[other]:
                    path.append(other)
                elif label[other] < 0:
                    low[node] = min(low[node], number[other])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            while low[node] == number[node] and label[node] < 0:
                label[open_.pop()] = node
    return np.array(label, np.int32)


def components_of(
    nodes: int, blocks: list[Edges], span: Span | None, *, apart: bool = False
) -> list[Array]:
    """The components with more than one of the nodes, each sorted, by their smallest node.

    With `apart`, only those with a cycle on which no two anti-dependencies follow each other: a
    node is taken twice there, as reached by an anti-dependency and as reached otherwise.
    """
    total = (2 if apart else 1) * nodes
    packed: list[Array] = []
    for block in blocks:
        packed += _twice(block, nodes) if apart else [pack(block.source, block.target)]
    if span is not None:
        chain = chain_of(span)
        steps = np.arange(total, total + max(chain.instants - 1, 0), dtype=np.int64)
        packed += [
            pack(chain.ended, chain.ended_at + total),
            pack(steps, steps + 1),
            pack(chain.begun_at + total, chain.begun),
        ]
        packed += [pack(chain.ended + nodes, chain.ended_at + total)] if apart else []
        total += chain.instants
        del chain, steps
    whole = np.concatenate([*packed, np.zeros(0, np.int64)])
    packed.clear()
    labels = labels_of(total, whole)
    if apart:
        labels = _merged(labels, nodes)
    return _grouped(labels[: (2 if apart else 1) * nodes], nodes)


def _twice(block: Edges, nodes: int) -> list[Array]:
    """The edges between the two copies of each node, the second one `nodes` higher."""
    anti = (block.kind & RW) != 0
    plain = ~anti
    return [
        pack(block.source[plain], block.target[plain]),
        pack(block.source[plain].astype(np.int64) + nodes, block.target[plain]),
        pack(block.source[anti], block.target[anti].astype(np.int64) + nodes),
    ]


def _merged(labels: Array, nodes: int) -> Array:
    """Labels of parts, those that share a node made one: each node is then in one part."""
    one, other = labels[:nodes], labels[nodes : 2 * nodes]
    shared = np.concatenate([pack(one, other), pack(other, one)])
    found: Array = labels_of(int(labels.max(initial=-1)) + 1, shared)[labels]
    return found


def _grouped(labels: Array, nodes: int) -> list[Array]:
    """Nodes of equal label, where there are several."""
    size = np.bincount(labels)
    members = np.flatnonzero(size[labels] > 1)
    if not len(members):
        return []
    packed = np.sort(pack(labels[members], members % nodes))
    packed = packed[np.append(True, packed[1:] != packed[:-1])]
    cuts = np.flatnonzero(np.diff(packed >> 32)) + 1
    groups = np.split(packed & 0xFFFFFFFF, cuts)
    return sorted((group for group in groups if len(group) > 1), key=lambda group: int(group[0]))


def stretches_of(
    order: Order, blocks: list[Edges], span: Span | None, back: list[Array] | None = None
) -> Array | None:
    """For each place the number of its stretch, -1 outside of all; None where there is none.

    `back` are the rows of each block that go back, where they are known.
    """
    n = len(order.place)
    opened = np.zeros(n + 1, np.int32)
    if back is None:
        back = [np.flatnonzero(order.backward(block)) for block in blocks]
    for block, rows in zip(blocks, back, strict=True):
        if len(rows):
            _span(opened, order.place[block.target[rows]], order.place[block.source[rows]])
    if span is not None:
        low, high = back_in_time(order, span.begin, span.end)
        _span(opened, low, high)
    if not opened.any():
        return None
    joined = np.cumsum(opened, dtype=np.int32)[:-1] > 0
    within = joined | np.append(False, joined[:-1])
    number = np.cumsum(np.append(True, ~joined[:-1]), dtype=np.int32)
    return np.where(within, number, NONE)


def _span(opened: Array, low: Array, high: Array) -> None:
    np.add.at(opened, low.astype(np.intp), np.int32(1))  # other integers take 30 times as long
    np.add.at(opened, high.astype(np.intp), np.int32(-1))


def tangles(
    order: Order, blocks: list[Edges], span: Span | None, *, apart: bool = False
) -> list[Array]:
    """All components that may hold a cycle, by the shortest way; blocks may have missing ends."""
    return in_stretches(order, blocks, span, apart=apart)[0]


def in_stretches(
    order: Order,
    blocks: list[Edges],
    span: Span | None,
    *,
    apart: bool = False,
    only: Link | None = None,
    back: list[Array] | None = None,
) -> tuple[list[Array], list[Edges]]:
    """The same, and the edges among which those inside the components are.

    `only` is the only edge that goes back, where that is known and real time does not count; `back`
    are the rows of each block that go back, where they are known.
    """
    n = len(order.place)
    nodes, inner = (None, blocks) if only is None else _only_stretch(order, blocks, only)
    if nodes is None:
        stretch = stretches_of(order, blocks, span, back)
        if stretch is None:
            return [], []
        places = np.flatnonzero(stretch != NONE)
        if len(places) > WORTH_CUTTING * n:
            whole = [compact(block, n) for block in blocks]
            return components_of(n, whole, span, apart=apart), blocks
        nodes = np.sort(order.at[places])
        label = np.append(stretch[order.place], np.asarray([NONE, NONE], stretch.dtype))
        inner = [block.take(between(block, label)) for block in blocks]
    cut = [renumbered(block, n, nodes) for block in inner]
    if span is None and sum(map(len, cut)) < FEW:
        kept, one = on_ways_back(order.place[nodes], cut, apart=apart)
        if one:
            return ([nodes[kept]] if len(kept) else []), inner
        cut = [renumbered(block, len(nodes), kept) for block in cut]
        nodes = nodes[kept]
    parts = components_of(len(nodes), cut, None if span is None else span.take(nodes), apart=apart)
    return [nodes[part] for part in parts], inner


def _only_stretch(
    order: Order, blocks: list[Edges], only: Link
) -> tuple[Array | None, list[Edges]]:
    """The nodes and the edges within the stretch of the only edge that goes back.

    Where nodes are numbered in their order two comparisons tell what lies within, in a tenth of the
    time that labels take; None elsewhere, and where it is not worth while.
    """
    low, high = only.target, only.source
    if not order.sorted or high - low + 1 > WORTH_CUTTING * len(order.place):
        return None, blocks
    inner: list[Edges] = []
    for block in blocks:
        rows = np.flatnonzero((block.source >= low) & (block.target <= high))
        inner.append(block.take(rows[block.source.take(rows) != block.target.take(rows)]))
    return np.arange(low, high + 1), inner


def between(block: Edges, label: Array) -> Array:
    """Which edges lie between two nodes of one label, and of none that is NONE; no self-loops.

    Labels end with NONE twice: those of missing ends.
    """
    out = np.flatnonzero((label != NONE).take(block.source))
    source, target = block.source.take(out), block.target.take(out)
    found: Array = out[(label.take(source) == label.take(target)) & (source != target)]
    return found


def renumbered(block: Edges, nodes: int, chosen: Array) -> Edges:
    """The edges between some of the nodes, their ends renumbered; blocks may have missing ends."""
    if len(chosen) and int(chosen[-1]) - int(chosen[0]) + 1 == len(chosen):
        first, last = int(chosen[0]), int(chosen[-1])
        within = (block.source >= first) & (block.target >= first)
        within &= (block.source <= last) & (block.target <= last)
        inside = block if within.all() else block.take(within)
        return Edges(inside.source - first, inside.target - first, inside.kind, inside.why)
    local = np.full(nodes + 2, NONE, np.int32)
    local[chosen] = np.arange(len(chosen), dtype=np.int32)
    source, target = local.take(block.source), local.take(block.target)
    kept = np.flatnonzero((source >= 0) & (target >= 0))
    return Edges(source[kept], target[kept], block.kind[kept], block.why[kept])
