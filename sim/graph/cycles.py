"""The cycle search: certificate, strongly connected components, and in each the lightest cycles.

An order in which every edge points forward shows that there is no cycle (`certificate`). Otherwise
components larger than one hold all cycles (`residue`). In each of them networkx takes the lightest
way back (`tangle`) for the edges that make an anomaly what it is: for a ww edge over writes alone
(G0), for a wr edge over writes and reads of them (G1c), for an anti-dependency over all. Of each
type the lightest is reported. A component that is too large for that is searched only near those
edges that go back over the shortest stretches of the order, which the notes of the result say. In a
large graph in which few edges go back, and far, that is done before components are sought: if they
close a cycle near them, no more is looked at.

Histories without timestamps use this as well: they bring their own edges.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.certificate import FOREVER, Order, back_in_time, in_real_time, unsettled
from ddlsim.graph.chains import Chains, Times, weight_of
from ddlsim.graph.classify import other_names, type_of
from ddlsim.graph.edges import DATA, DDL, PROCESS, RW, WR, WW, Edges, Link, joined
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.models import DEFAULT, Model, model_of
from ddlsim.graph.names import SUFFIXES
from ddlsim.graph.residue import Span, between, components_of, near, tangles
from ddlsim.graph.tangle import Tangle, links_of

BUDGET: Final = 50_000
"""Steps looked at in one component, over all searches for its lightest cycles; about as many."""
LEAST: Final = 10
"""Searches that are made in any case, for each kind of edge; above this share of the budget a
component is large, and is searched in part."""
MOST_BUDGETS: Final = 6
"""So many budgets are spent on all components, the smallest first."""
LARGE: Final = 5_000
"""Nodes of a graph from which on it is worth while to look near few edges that go back alone."""
FEW: Final = 8
"""So many edges are few; near so many of each kind a large component is searched."""
SHORT: Final = 0.2
"""The share of all nodes that is a small part of the order."""
MEET: Final = 5_000
"""So many nodes are searched at most until the ends of few edges that go back meet."""
NEAR: Final = 50
"""So many nodes are near at first, and `WIDER` times as many where they hold no cycle."""
WIDER: Final = 2
WIDEST: Final = 100
"""The most nodes that are near, for each step of the budget."""
FORWARD: Final = 2**62
"""Longer than the way back of any edge that goes back."""
THROUGH: Final = ((WW, "G0"), (WR, "G1c"), (RW, "G-single"))
"""Kinds of edges, and what a cycle is at least that holds one of them and none of the next ones."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle and its type, prefix and suffix included; it begins with its smallest node.

    Without links it is only known to exist, somewhere among `nodes`. `weakest` is the weakest model
    that it breaks, if that is not a matter of its type.
    """

    type: str
    links: tuple[Link, ...]
    nodes: tuple[int, ...] = ()
    weakest: str = ""

    @property
    def txns(self) -> tuple[int, ...]:
        """The nodes on it, in its order."""
        return tuple(link.source for link in self.links) or self.nodes


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found: the lightest cycle of each type in each component, and what it left.

    `components` has the nodes of each component larger than one; without any there is no cycle.
    `certificate` is what showed that. Where few edges go back and a cycle was found near them, the
    component is all nodes, since where it ends was not looked for.
    """

    cycles: tuple[Cycle, ...]
    components: tuple[Array, ...]
    notes: tuple[str, ...] = ()
    certificate: str = "components"


def find_cycles(
    n: int,
    edges: Edges | list[Edges],
    begin: Array | None = None,
    end: Array | None = None,
    *,
    rank: Array | Order | None = None,
    ddl: Array | None = None,
    model: str = DEFAULT,
    budget: int = BUDGET,
) -> Search:
    """The cycles among nodes 0 to n - 1 that break a model.

    `begin` and `end` are given for real time: a node comes after each that ended before it began;
    a begin of -1 or an end of -1 (or of the largest int64) take a node out of that. `rank` is a
    guess at the order (any is right; a good one makes it fast), `ddl` marks the nodes that are
    DDLs. Edges that the model does not ask for are passed over, and those with missing ends.
    """
    wanted = model_of(model)
    blocks = [_asked(one, wanted) for one in (edges if isinstance(edges, list) else [edges])]
    span = None
    if wanted.level > 1 and begin is not None and end is not None:
        span = Span(begin, np.where(end < 0, FOREVER, end))
        span = Span(begin, np.where((begin >= 0) & (span.end < begin), FOREVER, span.end))
    order = rank if isinstance(rank, Order) else Order(np.arange(n) if rank is None else rank)
    against = _far_back(order, blocks) if span is None else unsettled(order, blocks, *span)
    if against is not None and not any(map(len, against)):
        return Search((), (), certificate="order")
    if against is not None and n > LARGE and sum(map(len, against)) <= FEW:
        found = _near_few(n, blocks, against, Marked(span, order, ddl), wanted)
        if found is not None:
            return found
    parts = tangles(order, blocks, span, apart=_apart(wanted))
    return _searched(n, blocks, Marked(span, order, ddl), parts, wanted, budget)


def _far_back(order: Order, blocks: list[Edges]) -> list[Array] | None:
    """Of each block the edges that go back; None if all are within a small part of the order.

    There the components cost less than a search in the whole graph, and miss nothing.
    """
    found = [np.flatnonzero(order.backward(block)) for block in blocks]
    stretch = sum(
        int((order.place[block.source[at]] - order.place[block.target[at]]).sum(dtype=np.int64))
        for block, at in zip(blocks, found, strict=True)
    )
    return found if stretch > SHORT * len(order.place) else None


class Marked(NamedTuple):
    """Of all nodes: when they began and ended, their order, and which are DDLs."""

    span: Span | None
    order: Order
    ddl: Array | None

    def component(self, nodes: Array, inside: Edges) -> "Component":
        """Some of the nodes, with the edges between them by their own numbers."""
        span = None if self.span is None else self.span.take(nodes)
        marked = inside if self.ddl is None else _marked(inside, self.ddl[nodes])
        return Component(nodes, marked, span, self.order.place[nodes])


def with_other_names(cycles: Iterable[Cycle], key: Array) -> list[Cycle]:
    """The cycles, and once more those that have a name besides; `key` is that of each operation."""
    found: list[Cycle] = []
    for cycle in cycles:
        found.append(cycle)
        names = other_names(cycle.links, lambda link: int(key[link.why]))
        found += [Cycle(name, cycle.links) for name in names]
    return found


def _through(model: Model) -> list[int]:
    """The kinds of edges through which cycles are sought under a model."""
    return [kind for kind, name in THROUGH if name in model.forbids]


def _asked(block: Edges, model: Model) -> Edges:
    """The edges that count under a model."""
    kinds = sum(_through(model)) | (PROCESS if model.level else 0)
    chosen = (block.kind & kinds) != 0
    return block if chosen.all() else block.take(chosen)


def _apart(model: Model) -> bool:
    """Whether cycles with anti-dependencies in a row are allowed by a model, others not."""
    return "G-single" in model.forbids and "G2-item" not in model.forbids


def _marked(block: Edges, ddl: Array) -> Edges:
    """The edges, those with an end among the DDLs marked so."""
    if not ddl.any():
        return block
    touches = ddl[block.source] | ddl[block.target]
    kind = block.kind | np.where(touches, DDL, 0).astype(np.uint16)
    return Edges(block.source, block.target, kind, block.why)


# --- all components -------------------------------------------------------------------------------


class Component(NamedTuple):
    """The nodes of a component, its edges by their source, its nodes' times and places.

    Edges are between the component's own numbers, from 0, `nodes` the numbers in the graph.
    """

    nodes: Array
    edges: Edges
    span: Span | None
    place: Array

    def within(self, chosen: Array) -> "Component":
        """Some of its nodes, and the edges between them."""
        (inside,) = by_part(len(self.nodes), [self.edges], [chosen])
        span = None if self.span is None else self.span.take(chosen)
        return Component(self.nodes[chosen], inside, span, self.place[chosen])

    def on_cycles(self, model: Model) -> "Component":
        """Its nodes that lie on cycles, and the edges between them: to find them costs least."""
        parts = components_of(len(self.nodes), [self.edges], self.span, apart=_apart(model))
        return self.within(np.sort(np.concatenate([*parts, np.zeros(0, np.int64)])))


def _searched(
    n: int,
    blocks: list[Edges],
    of: Marked,
    parts: list[Array],
    model: Model,
    budget: int,
) -> Search:
    found: list[Cycle] = []
    notes: list[str] = []
    parts = sorted(parts, key=lambda nodes: (len(nodes), int(nodes[0])))
    total = MOST_BUDGETS * budget
    for at, (nodes, inside) in enumerate(zip(parts, by_part(n, blocks, parts), strict=True)):
        result = _in_component(of.component(nodes, inside), model, budget)
        found += result.cycles
        if result.partly:
            notes.append(
                f"a component of {len(nodes)} transactions was searched in part, so it may hold "
                "shorter cycles, or other types"
            )
        total -= max(result.spent, LEAST)
        if total < 0 and at + 1 < len(parts):
            more = parts[at + 1 :]
            notes.append(
                f"{len(more)} more components with cycles were not searched; the largest has "
                f"{len(more[-1])} transactions"
            )
            break
    return Search(tuple(found), tuple(parts), tuple(notes))


def by_part(n: int, blocks: list[Edges], parts: list[Array]) -> list[Edges]:
    """The edges inside each of some parts of the nodes, its nodes renumbered from 0.

    Of blocks that may have missing ends and edges from a node to itself, which are left out.
    """
    if not parts:
        return []
    label = np.full(n + 2, NONE, np.int32)
    local = np.zeros(n, np.int32)
    for number, nodes in enumerate(parts):
        label[nodes] = number
        local[nodes] = np.arange(len(nodes))
    kept = joined([block.take(between(block, label)) for block in blocks])
    part = label[kept.source]
    if len(parts) > 1:
        order = np.argsort(part, kind="stable")
        kept, part = kept.take(order), part[order]
    cuts = np.searchsorted(part, np.arange(1, len(parts)))
    source, target = local[kept.source], local[kept.target]
    return [
        Edges(source[one], target[one], kept.kind[one], kept.why[one])
        for one in map(slice, [0, *cuts], [*cuts, len(part)])
    ]


def _near_few(
    n: int, blocks: list[Edges], against: list[Array], of: Marked, model: Model
) -> Search | None:
    """The search where every cycle holds one of few edges: near these alone.

    Edges against real time close a cycle at once; of others the two ends have to meet. None if that
    shows no cycle.
    """
    after = np.concatenate([one.target[at] for one, at in zip(blocks, against, strict=True)])
    before = np.concatenate([one.source[at] for one, at in zip(blocks, against, strict=True)])
    meet = MEET if of.span is None else 0
    nodes = near(n, blocks, after, before, NEAR, meet)
    (inside,) = by_part(n, blocks, [nodes])
    cycles = _lightest(_on_lightest(of.component(nodes, inside), model), model, 0).cycles
    note = (
        f"what lies within some steps of the edges that go back, {len(nodes)} transactions, was "
        "searched: there may be longer cycles, or other types"
    )
    return Search(tuple(cycles), (np.arange(n),), (note,)) if cycles else None


def _on_lightest(part: Component, model: Model) -> Component:
    """What of a part is needed to find its lightest cycles through edges that go back.

    Through one edge, and without real time, only nodes on ways as light as the lightest: a few of
    a thousand, whose way through networkx takes 30 ms. Else all nodes on cycles.
    """
    edges, place = part.edges, part.place
    back = np.flatnonzero(place[edges.source] > place[edges.target])
    kinds = {WW: WW, WR: WW | WR, RW: DATA}.get(int(edges.kind[back[0]]) & DATA) if len(back) else 0
    if len(back) != 1 or part.span is not None or not kinds:
        return part.on_cycles(model)
    (first,) = links_of(edges.take(back))
    ahead = place[edges.source] < place[edges.target]
    on = np.flatnonzero(ahead & ((edges.kind & (kinds | PROCESS)) != 0))
    forward = edges.take(on[np.argsort(place[edges.source[on]], kind="stable")])
    kept = _on_ways(len(place), first, forward, apart=True)
    if not (_apart(model) and first.kind & RW):
        kept |= _on_ways(len(place), first, forward, apart=False)
    return part.within(np.asarray(sorted(kept), np.int64))


def _on_ways(nodes: int, first: Link, forward: Edges, *, apart: bool) -> set[int]:
    """The nodes on the lightest ways from the target of an edge back to its source.

    The other edges go forward and are sorted by the place of their source. With `apart` only ways
    on which no two anti-dependencies follow each other, `first` included: a node is taken twice,
    as in `components_of`.
    """
    weights = {kind: weight_of(kind) for kind in set(forward.kind.tolist())}
    steps: list[tuple[int, int, int]] = []
    for source, target, kind, _ in links_of(forward):
        if apart and kind & RW:
            steps.append((source, target + nodes, weights[kind]))
        else:
            steps.append((source, target, weights[kind]))
            if apart:
                steps.append((source + nodes, target, weights[kind]))
    anti = bool(first.kind & RW)
    ends = [first.source] if anti or not apart else [first.source, first.source + nodes]
    on, back = [inf] * (2 * nodes), [inf] * (2 * nodes)
    on[first.target + nodes if anti and apart else first.target] = 0
    for one, other, weight in steps:
        on[other] = min(on[other], on[one] + weight)
    for end in ends:
        back[end] = 0
    steps.reverse()
    for one, other, weight in steps:
        back[one] = min(back[one], back[other] + weight)
    least = min(on[end] for end in ends)
    if least == inf:
        return set()
    ways = enumerate(zip(on, back, strict=True))
    return {state % nodes for state, (there, here) in ways if there + here <= least}


# --- one component --------------------------------------------------------------------------------


class Found(NamedTuple):
    """The lightest cycle of each type, whether something was left out, and the steps looked at."""

    cycles: list[Cycle]
    partly: bool
    spent: int


def _in_component(part: Component, model: Model, budget: int) -> Found:
    """The lightest cycle of each type, of a large component only near some edges that go back."""
    if LEAST * len(part.edges) <= budget:
        found = _lightest(part, model, budget)
        return (
            found if found.cycles else Found([_unseen(part, model)], partly=True, spent=found.spent)
        )
    spent, size = 0, NEAR
    after, before = _seeds(part)
    while size <= WIDEST * budget:
        nodes = near(len(part.nodes), [part.edges], after, before, size)
        found = _lightest(part.within(nodes).on_cycles(model), model, 0)
        spent += found.spent
        if found.cycles:
            return Found(found.cycles, partly=True, spent=spent)
        if len(nodes) == len(part.nodes):
            break
        size *= WIDER
    return Found([_unseen(part, model)], partly=True, spent=spent)


def _unseen(part: Component, model: Model) -> Cycle:
    """A component has a cycle, if not a short one: where it cannot be shown, it is said to be."""
    weakest = {WW: "G0", WR: "G1c", RW: "G2-item"}[_through(model)[-1]]
    if _apart(model):
        weakest = "G-nonadjacent"
    return Cycle(weakest + SUFFIXES[model.level], (), tuple(part.nodes[:10].tolist()))


def _seeds(part: Component) -> tuple[Array, Array]:
    """Where a large component is searched: what its steps back over the shortest stretches join.

    Every cycle holds a step back in the order of places; an edge against real time closes one. The
    nodes that such steps lead to, and those that they come from.
    """
    after: list[Array] = []
    before: list[Array] = []
    edges, place = part.edges, part.place
    stretch = place[edges.source].astype(np.int64) - place[edges.target]
    steps = [((edges.kind & kind) != 0) & (stretch > 0) for kind in (WW, WR, RW, PROCESS)]
    if part.span is not None:
        begin, end = part.span
        steps.append(end[edges.target] < begin[edges.source])
        order = Order(place)
        low, high = back_in_time(order, begin, end)
        nearest = np.argsort(high - low, kind="stable")[:FEW]
        after.append(order.at[low[nearest]])
        before.append(order.at[high[nearest]])
    for chosen in steps:
        back = np.flatnonzero(chosen)
        back = back[np.argsort(np.abs(stretch[back]), kind="stable")[:FEW]]
        after.append(edges.target[back])
        before.append(edges.source[back])
    return np.concatenate(after), np.concatenate(before)


def _lightest(part: Component, model: Model, budget: int) -> Found:
    """The lightest cycle of each type, in as many searches as the budget allows.

    Without any budget only few of them, through edges that go back in the order of places or time.
    """
    times = None if part.span is None else Times(*(one.tolist() for one in part.span))
    chains = None if times is None else Chains(times, FOREVER)
    time_back = part.span is not None and not in_real_time(Order(part.place), *part.span)
    place = part.place.tolist()
    links = sorted(links_of(part.edges))
    best: dict[str, tuple[int, Cycle]] = {}
    left = spent = kinds = 0
    for through in _through(model):
        kinds |= through
        inside = [link for link in links if link.kind & (kinds | PROCESS)]
        if not (time_back or any(place[one.source] > place[one.target] for one in inside)):
            continue
        tangle = Tangle(inside, chains)
        starts = list(_on_cycles(tangle, [link for link in inside if link.kind & through]))
        starts.sort(key=lambda link: _way_back(link, place, times))
        if not budget:
            starts = [link for link in starts if _way_back(link, place, times) < FORWARD]
        affordable = max(LEAST, budget // max(len(tangle.steps), 1))
        left += max(0, len(starts) - affordable)
        for link in starts[:affordable]:
            spent += len(tangle.steps)
            way = tangle.lightest(tangle.step(link), apart=_apart(model) and through == RW)
            if way is not None:
                type_ = type_of(way.links)
                cycle = Cycle(type_, tuple(_numbered(way.links, part.nodes)))
                known = best.get(type_)
                if known is None or (way.weight, cycle.txns) < (known[0], known[1].txns):
                    best[type_] = way.weight, cycle
    return Found([best[type_][1] for type_ in sorted(best)], left > 0, spent)


def _way_back(link: Link, place: list[int], times: Times | None) -> int:
    """How long the way from an edge's target back to its source may be: 0 if real time leads there.

    Else over how many places an edge goes back; for edges forward `FORWARD` and more.
    """
    if times is not None and times.end[link.target] < times.begin[link.source]:
        return 0
    back = place[link.source] - place[link.target]
    return back if back > 0 else FORWARD - back


def _on_cycles(tangle: Tangle, links: Iterable[Link]) -> Iterator[Link]:
    """Those edges of a tangle that lie on cycles in it."""
    parts = tangle.components()
    for link in links:
        if link.source in parts and parts[link.source] == parts.get(link.target):
            yield link


def _numbered(links: Iterable[Link], nodes: Array) -> Iterator[Link]:
    """Edges of a component with the numbers that its nodes have in the graph."""
    for link in links:
        source, target = int(nodes[link.source]), int(nodes[link.target])
        yield Link(source, target, link.kind, link.why)
