"""The shortest closed way through an edge, inside one component, under a rule for its edges.

Breadth first from the edge's target back to its source, over (node, whether there were
anti-dependencies enough, whether the last step was one). Real time needs no edges here: from a node
one comes to all that began after it ended, which is a tail of the nodes sorted by begin; a tail is
walked once. Ties go to data before real time, and to the smaller node.
"""

from bisect import bisect_right
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.certificate import Order, in_real_time
from ddlsim.graph.edges import PROCESS, REALTIME, RW, WR, WW, Edges
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.residue import Span


class Link(NamedTuple):
    """One edge of a cycle, as in `Edges`; REALTIME ones are made by the search (`why` -1)."""

    source: int
    target: int
    kind: int
    why: int


class Rule(NamedTuple):
    """Which cycles are sought: through an edge of a kind, over steps of some kinds.

    `more`: they hold another anti-dependency; `apart`: no two of them follow each other.
    """

    name: str
    through: int
    steps: int
    more: bool = False
    apart: bool = False


RULES: Final = (
    Rule("G0", WW, WW),
    Rule("G1c", WR, WW | WR),
    Rule("G-single", RW, WW | WR),
    Rule("G-nonadjacent", RW, WW | WR | RW, more=True, apart=True),
    Rule("G2", RW, WW | WR | RW, more=True),
)
"""From the strongest anomaly to the weakest."""
LEVELS: Final = (0, PROCESS, PROCESS | REALTIME)
"""What may be stepped over beside data, by the order that a model asks for."""


FEW: Final = 64
"""Edges of a component in which the order of searches does not matter."""
MOST: Final = 1_000
"""Edges from which a large component is searched, at each rule."""


class Spent(Exception):  # noqa: N818 - no error: the budget's end
    """The budget of a component is used up."""


class Component:
    """One component: its edges by their source, and its nodes by when they began."""

    def __init__(self, nodes: int, block: Edges, span: Span | None, place: Array) -> None:
        packed = block.source.astype(np.int64) * nodes + block.target
        order = np.lexsort((block.kind, packed))
        self.edges = block.take(order)
        self.nodes = nodes
        self.first = np.searchsorted(self.edges.source, np.arange(nodes + 1))
        self.left = 0
        self.spent = 0
        self.span = span
        self._place = place
        self._by_begin: list[int] = []
        self._begins: list[int] = []
        if span is not None:
            begun = np.flatnonzero(span.begin != NONE)
            begun = begun[np.argsort(span.begin[begun], kind="stable")]
            self._by_begin = begun.tolist()
            self._begins = span.begin[begun].tolist()

    def before_in_time(self, source: Array, target: Array) -> Array:
        """Which sources ended before their targets began."""
        if self.span is None:
            return np.zeros(len(source), np.bool_)
        begin, end = self.span.begin[target], self.span.end[source]
        found: Array = (begin != NONE) & (end < begin)
        return found

    def may_close(self, rule: Rule, level: int) -> bool:
        """Whether there is an edge to begin with, and not every step goes forward in the order."""
        kind = self.edges.kind
        if not bool(((kind & rule.through) != 0).any()) or (level and not self._adds(level)):
            return False
        steps = rule.through | rule.steps | (LEVELS[level] & PROCESS)
        if bool(((kind[self._back] & steps) != 0).any()):
            return True
        return bool(LEVELS[level] & REALTIME) and self._time_goes_back

    def _adds(self, level: int) -> bool:
        """Whether a level has steps that the one below it has not."""
        if LEVELS[level] & REALTIME:
            return self.span is not None
        return bool((self.edges.kind & PROCESS).any())

    @cached_property
    def _back(self) -> Array:
        """The edges that go back in the order of places; few, if that is a good one."""
        return np.flatnonzero(self._place[self.edges.source] > self._place[self.edges.target])

    @cached_property
    def _time_goes_back(self) -> bool:
        assert self.span is not None
        return not in_real_time(Order(self._place), self.span.begin, self.span.end)

    @cached_property
    def _stretch(self) -> Array:
        """How many places lie between the ends of each edge."""
        source, target = self._place[self.edges.source], self._place[self.edges.target]
        found: Array = np.abs(source.astype(np.int64) - target)
        return found

    @cached_property
    def _closed_by_data(self) -> Array:
        """The edges with one the other way; of such two, one goes back in the order of places."""
        packed = self.edges.source.astype(np.int64) * self.nodes + self.edges.target
        back = self._back
        wanted = self.edges.target[back].astype(np.int64) * self.nodes + self.edges.source[back]
        at = np.minimum(np.searchsorted(packed, wanted), len(packed) - 1)
        there = packed[at] == wanted
        closed = np.zeros(len(packed), np.bool_)
        closed[back[there]] = True
        closed[at[there]] = True
        return closed

    @cached_property
    def closed_by_time(self) -> Array:
        """The edges whose target had ended before their source began."""
        return self.before_in_time(self.edges.target, self.edges.source)

    def starts(self, rule: Rule, level: int) -> tuple[Array, int]:
        """Edges that a rule begins with, short ways back first; how many there are in all."""
        starts = np.flatnonzero((self.edges.kind & rule.through) != 0)
        if len(self.edges) < FEW:
            return starts, len(starts)
        closes = self._closed_by_data[starts]
        if LEVELS[level] & REALTIME:
            closes = closes | self.closed_by_time[starts]
        first, rest = self._nearest(starts[closes]), self._nearest(starts[~closes])
        return np.concatenate([first, rest]), len(starts)

    def _nearest(self, starts: Array) -> Array:
        """Those over the shortest stretches, at most `MOST`."""
        if len(starts) > MOST:
            starts = np.sort(starts[np.argpartition(self._stretch[starts], MOST)[:MOST]])
        found: Array = starts[np.argsort(self._stretch[starts], kind="stable")]
        return found

    def link(self, edge: int) -> Link:
        """One of the edges, by its number."""
        one = self.edges
        return Link(
            int(one.source[edge]), int(one.target[edge]), int(one.kind[edge]), int(one.why[edge])
        )

    def cycle(self, edge: int, rule: Rule, level: int) -> tuple[Link, ...] | None:
        """The shortest cycle through an edge that the rule allows; None if there is none.

        Raises `Spent` when the budget ends before that is known.
        """
        return _Walk(self, self.link(edge), rule, level).found()

    def spend(self, steps: int) -> None:
        """Take so many steps off the budget."""
        self.left -= steps
        self.spent += steps
        if self.left < 0:
            raise Spent

    def later(self, node: int, until: int) -> tuple[int, list[int]]:
        """Where those start, by begin, that began after a node ended; and they, up to a place."""
        assert self.span is not None
        at = bisect_right(self._begins, int(self.span.end[node]))
        return at, self._by_begin[at:until]


State = tuple[int, bool, bool]


class _Walk:
    """One search."""

    def __init__(self, part: Component, start: Link, rule: Rule, level: int) -> None:
        self._part = part
        self._start = start
        self._rule = rule
        self._kinds = rule.steps | (LEVELS[level] & PROCESS)
        self._in_time = bool(LEVELS[level] & REALTIME) and part.span is not None
        first = (start.target, not rule.more, rule.apart)
        self._came: dict[State, tuple[State, int] | None] = {first: None}
        self._end = first
        self._tail = {False: len(part._by_begin), True: len(part._by_begin)}
        self._front = [first]
        self._next: list[State] = []

    def found(self) -> tuple[Link, ...] | None:
        """The cycle, if there is one."""
        while self._front:
            for state in self._front:
                if self._expand(state):
                    return self._closed()
            if self._in_time:
                for state in self._front:
                    if self._expand_in_time(state):
                        return self._closed()
            self._front, self._next = self._next, []
        return None

    def _expand(self, state: State) -> bool:
        """Take the steps over edges; whether one of them closed the cycle."""
        node, enough, after_anti = state
        part = self._part
        low, high = int(part.first[node]), int(part.first[node + 1])
        part.spend(high - low + 1)
        targets = part.edges.target[low:high].tolist()
        kinds = part.edges.kind[low:high].tolist()
        for at, (target, kind) in enumerate(zip(targets, kinds, strict=True)):
            if not kind & self._kinds:
                continue
            anti = bool(kind & RW)
            if anti and after_anti and self._rule.apart:
                continue
            reached = (target, enough or anti, anti and self._rule.apart)
            if self._step(state, reached, low + at):
                return True
        return False

    def _expand_in_time(self, state: State) -> bool:
        node, enough, _ = state
        goal = self._start.source
        if enough and self._part.before_in_time(np.asarray([node]), np.asarray([goal]))[0]:
            return self._step(state, (goal, enough, False), NONE)
        at, later = self._part.later(node, self._tail[enough])
        self._tail[enough] = min(at, self._tail[enough])
        self._part.spend(len(later))
        return any(self._step(state, (other, enough, False), NONE) for other in later)

    def _step(self, state: State, reached: State, edge: int) -> bool:
        if reached in self._came:
            return False
        self._came[reached] = (state, edge)
        if reached[0] == self._start.source:
            self._end = reached
            return reached[1] and not reached[2]
        self._next.append(reached)
        return False

    def _closed(self) -> tuple[Link, ...] | None:
        """The way back as a cycle; None where it meets itself: then a shorter one tells more."""
        links: list[Link] = []
        here, came = self._end, self._came[self._end]
        while came is not None:
            state, edge = came
            in_time = Link(state[0], here[0], REALTIME, NONE)
            links.append(in_time if edge == NONE else self._part.link(edge))
            here, came = state, self._came[state]
        links.append(self._start)
        links.reverse()
        if len({link.source for link in links}) < len(links):
            return None
        return tuple(links)
