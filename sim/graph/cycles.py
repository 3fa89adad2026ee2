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
from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.certificate import Order, back_in_time, in_real_time, unsettled
from ddlsim.graph.chains import Chains, Times
from ddlsim.graph.classify import other_names, type_of
from ddlsim.graph.component import Component, Marked, by_part, only_of
from ddlsim.graph.edges import DATA, DDL, PROCESS, RW, WR, WW, Edges, Link, joined
from ddlsim.graph.history import FOREVER, Array
from ddlsim.graph.models import DEFAULT, Model, model_of
from ddlsim.graph.names import SUFFIXES
from ddlsim.graph.nearby import ALONE, CROWD, Surroundings
from ddlsim.graph.reach import on_ways_back
from ddlsim.graph.residue import Span, in_stretches, pack
from ddlsim.graph.tangle import Tangle, links_of
from ddlsim.graph.ways import lightest_of_each, steps_of

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
    only = back = None
    if span is None:
        back = [np.flatnonzero(order.backward(block)) for block in blocks]
        if not any(map(len, back)):
            return Search((), ())
        against = back if _far(order, blocks, back) else None
        only = only_of(blocks, back)
    else:
        against = unsettled(order, blocks, *span)
    if against is not None and not any(map(len, against)):
        return Search((), (), certificate="order")
    marked = Marked(span, order, ddl)
    found = _at_once(n, blocks, against, None if wanted.level else only, marked, wanted)
    if found is not None:
        return found
    parts, blocks = in_stretches(order, blocks, span, apart=_apart(wanted), only=only, back=back)
    return _searched(n, blocks, marked, parts, wanted, budget)


def _at_once(
    n: int,
    blocks: list[Edges],
    against: list[Array] | None,
    only: Link | None,
    of: Marked,
    model: Model,
) -> Search | None:
    """What the nodes near few edges that go back tell: a cycle, or that there is none; else None.

    That no way leads back to `only` is shown in little time where its ends lead to few nodes, as
    they do without the order of processes. Where a cycle may be near, only what costs least of it
    is tried before.
    """
    around = Surroundings(n, blocks)
    few = against is not None and n > LARGE and sum(map(len, against)) <= FEW

    def parted(crowd: int) -> bool:
        return only is not None and around.no_way_back(only, of.order, crowd, apart=_apart(model))

    if parted(ALONE if few else CROWD):
        return Search((), ())
    if not few or against is None:
        return None
    found = _near_few(n, blocks, against, around, of, model)
    return Search((), ()) if found is None and parted(CROWD) else found


def _far(order: Order, blocks: list[Edges], back: list[Array]) -> bool:
    """Whether edges that go back lead over more than a small part of the order.

    Within a small one the components cost less than a search in the whole graph, and miss nothing.
    """
    stretch = sum(
        int((order.place[block.source[at]] - order.place[block.target[at]]).sum(dtype=np.int64))
        for block, at in zip(blocks, back, strict=True)
    )
    return stretch > SHORT * len(order.place)


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
    if len(block) and block.kind.strides == (0,):  # all of one kind
        return block if block.kind[0] & kinds else joined([])
    chosen = (block.kind & kinds) != 0
    return block if chosen.all() else block.take(chosen)


def _apart(model: Model) -> bool:
    """Whether cycles with anti-dependencies in a row are allowed by a model, others not."""
    return "G-single" in model.forbids and "G2-item" not in model.forbids


# --- all components -------------------------------------------------------------------------------


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


def _near_few(
    n: int,
    blocks: list[Edges],
    against: list[Array],
    around: Surroundings,
    of: Marked,
    model: Model,
) -> Search | None:
    """The search where every cycle holds one of few edges: near these alone.

    Edges against real time close a cycle at once; of others the two ends have to meet. None if that
    shows no cycle.
    """
    after = np.concatenate([one.target[at] for one, at in zip(blocks, against, strict=True)])
    before = np.concatenate([one.source[at] for one, at in zip(blocks, against, strict=True)])
    meet = 0
    if of.span is None:  # a cycle leaves the order's stretch between the ends at no place
        place, meet = of.order.place, MEET
        around = around.between(of.order, int(place[after].min()), int(place[before].max()))
    nodes = around.near(after, before, NEAR, meet)
    part = of.component(nodes, around.among(nodes))
    cycles = _lightest(_on_lightest(part, model), model, 0).cycles
    note = (
        f"what lies within some steps of the edges that go back, {len(nodes)} transactions, was "
        "searched: there may be longer cycles, or other types"
    )
    return Search(tuple(cycles), (np.arange(n),), (note,)) if cycles else None


def _on_lightest(part: Component, model: Model) -> Component:
    """What of a part is needed to find its lightest cycles through edges that go back.

    Through one edge, and without real time, only nodes on ways as light as the lightest: a few of
    a thousand. Else all nodes on cycles.
    """
    only, through = part.only_back(), 0
    if only is not None:
        through = only.kind & DATA
    if only is None or not through:
        return part.on_cycles(apart=_apart(model))
    part = part.within(on_ways_back(part.place, [part.edges], apart=False)[0])
    only = part.only_back()
    if only is None:
        return part
    kinds = PROCESS | (through * 2 - 1)  # those of THROUGH up to its own
    steps = steps_of(part.edges.take((part.edges.kind & kinds) != 0), part.place)
    apart = _apart(model) and through == RW
    _, nodes = lightest_of_each(len(part.nodes), only, steps, [only], apart=apart)
    return part.within(np.asarray(sorted(nodes), np.int64))


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
    spent, size, looked = 0, NEAR, 0
    around = Surroundings(len(part.nodes), [part.edges])
    widening = (np.flatnonzero(on | back) for on, back in around.rounds(*_seeds(part)))
    nodes, found = np.zeros(0, np.int64), Found([], partly=True, spent=0)
    while size <= WIDEST * budget:
        while len(nodes) < size and (wider := next(widening, None)) is not None:
            nodes = wider
        if len(nodes) > looked:
            near = part.within(nodes, around.among(nodes))
            found = _lightest(_on_lightest(near, model), model, 0)
            looked = len(nodes)
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
    back = np.flatnonzero(stretch > 0)
    kinds = edges.kind[back]
    steps = [back[(kinds & kind) != 0] for kind in (WW, WR, RW, PROCESS)]
    if part.span is not None:
        begin, end = part.span
        steps.append(np.flatnonzero(end[edges.target] < begin[edges.source]))
        order = Order(place)
        low, high = back_in_time(order, begin, end)
        nearest = np.argsort(high - low, kind="stable")[:FEW]
        after.append(order.at[low[nearest]])
        before.append(order.at[high[nearest]])
    for chosen in steps:
        shortest = chosen[np.argsort(np.abs(stretch[chosen]), kind="stable")[:FEW]]
        after.append(edges.target[shortest])
        before.append(edges.source[shortest])
    return np.concatenate(after), np.concatenate(before)


class Started(NamedTuple):
    """A tangle, the edges through which cycles are sought in it, and how many were found.

    `affordable` is for how many of them the budget is, `steps` how many the whole tangle has.
    """

    tangle: Tangle
    links: list[Link]
    found: int
    affordable: int
    steps: int


def _lightest(part: Component, model: Model, budget: int) -> Found:
    """The lightest cycle of each type, in as many searches as the budget allows.

    Without any budget only few of them, through edges that go back in the order of places or time.
    """
    times = None if part.span is None else Times(*(one.tolist() for one in part.span))
    chains = None if times is None else Chains(times, FOREVER)
    time_back = part.span is not None and not in_real_time(Order(part.place), *part.span)
    best: dict[str, tuple[int, Cycle]] = {}
    left = spent = kinds = 0
    only = None
    if budget and not (part.edges.kind & DDL).any():
        part = part.unwound()
        only = part.only_back()
    back = part.place[part.edges.source] > part.place[part.edges.target]
    for through in _through(model):
        kinds |= through
        asked = (part.edges.kind & (kinds | PROCESS)) != 0
        if not (time_back or (asked & back).any()):
            continue
        inside = part.edges.take(asked)
        apart = _apart(model) and through == RW
        if only is None:
            started = _started(part.place.tolist(), inside, through, (times, chains), budget)
        else:
            if len(inside) < len(part.edges):
                kept = np.zeros(len(part.nodes), np.bool_)
                kept[on_ways_back(part.place, [inside], apart=False)[0]] = True
                inside = inside.take(kept[inside.source] & kept[inside.target])
            started = _started_alone(part.place, inside, through, only, budget, apart=apart)
        left += max(0, started.found - started.affordable)
        spent += started.steps * min(started.found, started.affordable)
        for link in started.links:
            way = started.tangle.lightest(started.tangle.step(link), apart=apart)
            if way is not None:
                type_ = type_of(way.links)
                cycle = Cycle(type_, tuple(_numbered(way.links, part.nodes)))
                known = best.get(type_)
                if known is None or (way.weight, cycle.txns) < (known[0], known[1].txns):
                    best[type_] = way.weight, cycle
    return Found([best[type_][1] for type_ in sorted(best)], left > 0, spent)


def _started(
    place: list[int],
    inside: Edges,
    through: int,
    time: tuple[Times | None, Chains | None],
    budget: int,
) -> Started:
    """All edges of a kind that lie on cycles, as many as the budget is for."""
    times, chains = time
    links = sorted(links_of(inside))
    tangle = Tangle(links, chains)
    starts = list(_on_cycles(tangle, [link for link in links if link.kind & through]))
    starts.sort(key=lambda link: _way_back(link, place, times))
    if not budget:
        starts = [link for link in starts if _way_back(link, place, times) < FORWARD]
    steps = len(tangle.steps)
    affordable = max(LEAST, budget // max(steps, 1))
    return Started(tangle, starts[:affordable], len(starts), affordable, steps)


def _started_alone(
    place: Array, inside: Edges, through: int, only: Link, budget: int, *, apart: bool
) -> Started:
    """Of these, where one edge goes back, those whose cycles are the lightest of their types.

    All nodes lie on cycles through it. In the tangle are those on the lightest cycles alone: what
    is chosen there is what is chosen among all.
    """
    source, target = inside.source, inside.target
    steps = len(np.unique(pack(source, target)))
    affordable = max(LEAST, budget // max(steps, 1))
    asked = np.flatnonzero((inside.kind & through) != 0)
    columns = (inside.why, inside.kind, target, source)
    order = asked[np.lexsort([column[asked] for column in columns])]
    back = place[source[order]].astype(np.int64) - place[target[order]]
    order = order[np.argsort(np.where(back > 0, back, FORWARD - back), kind="stable")]
    starts = list(links_of(inside.take(order[:affordable])))
    forward = steps_of(inside, place)
    links, nodes = lightest_of_each(len(place), only, forward, starts, apart=apart)
    marked = np.zeros(len(place), np.bool_)
    marked[list(nodes)] = True
    few = sorted(links_of(inside.take(marked[source] & marked[target])))
    return Started(Tangle(few, None), links, len(order), affordable, steps)


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
