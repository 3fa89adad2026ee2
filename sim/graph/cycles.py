"""Cycles of a graph given as arrays: found where there are any, the shortest of each type named.

This is what histories without timestamps use as well: they bring their own edges. Components larger
than one hold the cycles; in each of them the shortest way back is sought for the edges that make an
anomaly what it is (a ww edge for G0, an anti-dependency for G-single), those first whose way back
is probably short. In small components for all of them; in a large one until a budget is used up,
which is told.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ddlsim.graph.certificate import FOREVER, Order, unsettled
from ddlsim.graph.classify import other_names, turned, type_of
from ddlsim.graph.edges import DATA, DDL, PROCESS, RW, WR, WW, Edges, compact, joined
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.models import DEFAULT, Model, model_of
from ddlsim.graph.residue import Span, near, tangles, within
from ddlsim.graph.search import LEVELS, RULES, Component, Link, Rule, Spent

BUDGET: Final = 50_000
"""Edges looked at in one component, over all searches for its shortest cycles."""
EACH: Final = 1_000
"""Of these, for one search in a component that is too large to be searched in full."""
MOST_BUDGETS: Final = 3
"""So many budgets, or one look at each edge, are spent on all components; the smallest first."""
UNLIMITED: Final = 2**62
LARGE: Final = 5_000
"""Nodes of a graph from which on it is worth while to look near few edges that go back alone."""
FEW: Final = 8
"""So many edges are few."""
WHATEVER: Final = Rule("any", DATA, DATA)


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
    """What a search found: the shortest cycle of each type in each component, and what it left.

    `components` has the nodes of each component larger than one; without any there is no cycle.
    `certificate` tells what showed that. Where few edges go back, and each of them against real
    time, the component is all nodes, since where it ends was not looked for.
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
    blocks = [_asked(one, wanted) for one in _listed(edges)]
    span = None
    if wanted.level > 1 and begin is not None and end is not None:
        span = Span(begin, np.where(end < 0, FOREVER, end))
        span = Span(begin, np.where((begin >= 0) & (span.end < begin), FOREVER, span.end))
    order = rank if isinstance(rank, Order) else Order(np.arange(n) if rank is None else rank)
    against = None if span is None else unsettled(order, blocks, *span)
    if against is not None and not any(map(len, against)):
        return Search((), (), certificate="order")
    if span is not None and against is not None and n > LARGE and sum(map(len, against)) <= FEW:
        nodes = near(n, blocks, against)
        blocks = [_marked(one, ddl) for one in within(n, blocks, nodes)]
        return _searched_near(n, blocks, span, order, nodes, wanted)
    blocks = [_marked(compact(one, n), ddl) for one in blocks]
    parts = tangles(order, blocks, span, apart=_apart(wanted))
    return _searched(n, blocks, span, order, parts, wanted, budget)


def with_other_names(cycles: Iterable[Cycle], key: Array) -> list[Cycle]:
    """The cycles, and once more those that have a name besides; `key` is that of each operation."""
    found: list[Cycle] = []
    for cycle in cycles:
        found.append(cycle)
        names = other_names(cycle.links, lambda link: int(key[link.why]))
        found += [Cycle(name, cycle.links) for name in names]
    return found


def _listed(edges: Edges | list[Edges]) -> list[Edges]:
    return edges if isinstance(edges, list) else [edges]


def _asked(block: Edges, model: Model) -> Edges:
    """The edges that count under a model."""
    kinds = PROCESS if model.level else 0
    for rule in rules_of(model):
        kinds |= rule.through | rule.steps
    chosen = (block.kind & kinds) != 0
    return block if chosen.all() else block.take(chosen)


def rules_of(model: Model) -> list[Rule]:
    """What is sought under a model, the strongest anomaly first."""
    names = {"G2" if name.startswith("G2") else name for name in model.forbids}
    return [rule for rule in RULES if rule.name in names]


def _apart(model: Model) -> bool:
    """Whether cycles with anti-dependencies in a row are allowed by a model, others not."""
    return "G-single" in model.forbids and "G2-item" not in model.forbids


def _marked(block: Edges, ddl: Array | None) -> Edges:
    if ddl is None or not ddl.any():
        return block
    touches = ddl[block.source] | ddl[block.target]
    kind = block.kind | np.where(touches, DDL, 0).astype(np.uint16)
    return Edges(block.source, block.target, kind, block.why)


def _searched(
    n: int,
    blocks: list[Edges],
    span: Span | None,
    order: Order,
    parts: list[Array],
    model: Model,
    budget: int,
) -> Search:
    found: list[Cycle] = []
    notes: list[str] = []
    parts = sorted(parts, key=lambda nodes: (len(nodes), int(nodes[0])))
    total = max(MOST_BUDGETS * budget, sum(map(len, blocks)))
    for at, (nodes, inside) in enumerate(zip(parts, _by_part(n, blocks, parts), strict=True)):
        part = Component(
            len(nodes), inside, None if span is None else span.take(nodes), order.place[nodes]
        )
        cycles, left = _Part(part, model, budget).cycles()
        found += [_global(cycle, nodes) for cycle in cycles]
        if left:
            notes.append(
                f"a component of {len(nodes)} transactions was searched in part: {left} searches "
                "were left out or cut short, so it may hold shorter cycles, or other types"
            )
        total -= part.spent + len(inside)
        if total < 0 and at + 1 < len(parts):
            more = parts[at + 1 :]
            notes.append(
                f"{len(more)} more components with cycles were not searched; the largest has "
                f"{len(more[-1])} transactions"
            )
            break
    return Search(tuple(found), tuple(parts), tuple(notes))


def _searched_near(
    n: int, blocks: list[Edges], span: Span, order: Order, nodes: Array, model: Model
) -> Search:
    """The search where every cycle holds one of few edges: among the nodes near them."""
    (inside,) = _by_part(n, blocks, [nodes])
    part = Component(len(nodes), inside, span.take(nodes), order.place[nodes])
    cycles, _ = _Part(part, model, UNLIMITED, back_only=True).cycles()
    note = (
        f"what lies within some steps of the edges that go back, {len(nodes)} transactions, was "
        "searched: there may be longer cycles, or other types"
    )
    found = tuple(_global(cycle, nodes) for cycle in cycles)
    return Search(found, (np.arange(n),), (note,))


def _by_part(n: int, blocks: list[Edges], parts: list[Array]) -> list[Edges]:
    """The edges inside each component, its nodes renumbered from 0."""
    if not parts:
        return []
    label = np.full(n, NONE, np.int64)
    local = np.zeros(n, np.int32)
    for number, nodes in enumerate(parts):
        label[nodes] = number
        local[nodes] = np.arange(len(nodes))
    inside = [label[block.source] for block in blocks]
    chosen = [
        (of >= 0) & (of == label[block.target]) for of, block in zip(inside, blocks, strict=True)
    ]
    kept = joined([block.take(one) for block, one in zip(blocks, chosen, strict=True)])
    part = label[kept.source]
    order = np.argsort(part, kind="stable")
    kept, part = kept.take(order), part[order]
    cuts = np.searchsorted(part, np.arange(1, len(parts)))
    source, target = local[kept.source], local[kept.target]
    return [
        Edges(source[one], target[one], kept.kind[one], kept.why[one])
        for one in map(slice, [0, *cuts], [*cuts, len(part)])
    ]


def _global(cycle: Cycle, nodes: Array) -> Cycle:
    links = tuple(
        Link(int(nodes[one.source]), int(nodes[one.target]), one.kind, one.why)
        for one in cycle.links
    )
    return Cycle(cycle.type, links, tuple(int(nodes[one]) for one in cycle.nodes))


class _Part:
    """The search in one component."""

    def __init__(
        self, part: Component, model: Model, budget: int, *, back_only: bool = False
    ) -> None:
        self._part = part
        self._model = model
        self._best: dict[str, Cycle] = {}
        self._told = np.zeros(len(part.edges), np.bool_)
        self._small = 2 * len(part.edges) ** 2 <= budget
        self._budget = budget
        self._left = 0
        self._back_only = back_only
        """Whether every cycle holds an edge against real time: then it is sought from there."""

    def cycles(self) -> tuple[list[Cycle], int]:
        """The shortest cycle of each type, and how many edges were not searched to the end."""
        rounds = [
            (rule, level)
            for level in range(self._model.level + 1)
            for rule in rules_of(self._model)
            if self._part.may_close(rule, level)
        ]
        for rule, level in rounds:
            self._round(rule, level, self._budget // len(rounds))
        if not self._best:
            self._fall_back()
        return [self._best[name] for name in sorted(self._best)], self._left

    def _round(self, rule: Rule, level: int, allowance: int) -> None:
        part = self._part
        starts, count = part.starts(rule, level)
        if self._back_only:
            starts, count = starts[part.closed_by_time[starts]], 0
        self._left += max(count - len(starts), 0)
        starts = starts[~self._told[starts]]
        for at, edge in enumerate(starts.tolist()):
            each = allowance if self._small else min(EACH, allowance)
            part.left = UNLIMITED if self._small else each
            try:
                links = part.cycle(edge, rule, level)
            except Spent:
                self._left += 1
                links = None
            if links is not None:
                self._keep(edge, links)
            if not self._small:
                allowance -= each - max(part.left, 0)
                if allowance <= 0:
                    self._left += len(starts) - at - 1
                    return

    def _keep(self, edge: int, links: tuple[Link, ...]) -> None:
        self._told[edge] = True
        cycle = Cycle(type_of(links), turned(links))
        best = self._best.get(cycle.type)
        if best is None or (len(links), cycle.txns) < (len(best.links), best.txns):
            self._best[cycle.type] = cycle

    def _fall_back(self) -> None:
        """A component has a cycle, if not a short one; where it cannot be shown, it is told."""
        part, level = self._part, self._model.level
        part.left = 100 * self._budget
        starts = np.flatnonzero((part.edges.kind & (WW | WR | RW)) != 0)
        if not _apart(self._model):
            try:
                links = part.cycle(int(starts[0]), WHATEVER, level)
            except Spent:
                links = None
            if links is not None:
                self._keep(int(starts[0]), links)
                return
        weakest = "G-nonadjacent" if _apart(self._model) else "G2-item"
        suffix = ("", "-process", "-realtime")[level if LEVELS[level] else 0]
        nodes = tuple(range(min(part.nodes, 10)))
        self._best[weakest] = Cycle(weakest + suffix, (), nodes)
