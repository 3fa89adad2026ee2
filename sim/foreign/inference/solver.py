"""Orders that are open, tried: which of two comes first, until all fit or none does.

Each choice adds edges one way or the other. What one way would close into a forbidden cycle is
forced the other way; what is left open is tried, both ways, until a number of steps is used up.
(Constraints of this kind are the polygraphs of Papadimitriou, "The Serializability of Concurrent
Database Updates", JACM 1979.) The graph is kept as its closure, a number with a bit for each node.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

MOST_NODES: Final = 256
MOST_CHOICES: Final = 4_000
MOST_STEPS: Final = 20_000

Pair = tuple[int, int]


class Option(NamedTuple):
    """One way: dependencies and anti-dependencies that it adds."""

    plain: tuple[Pair, ...]
    anti: tuple[Pair, ...] = ()


class Choice(NamedTuple):
    """Either way; `about` is whatever the caller knows it by."""

    one: Option
    other: Option
    about: tuple[int, ...] = ()


class Forced(NamedTuple):
    """A choice that went one way (0 or 1), since the other way closes this cycle of nodes."""

    choice: Choice
    way: int
    cycle: tuple[int, ...]


class Answer(NamedTuple):
    """Whether some way of all choices works; None where the steps did not suffice.

    Of no: what was forced, in its order; `clash` is the choice neither way of which is left, with
    a cycle for each, or None where many orders were tried.
    """

    valid: bool | None
    forced: tuple[Forced, ...] = ()
    clash: tuple[Choice, tuple[int, ...], tuple[int, ...]] | None = None
    tried: int = 0


class _ClosedError(Exception):
    """An edge closes a cycle that is forbidden."""


class _Spent(Exception):  # noqa: N818 - no error: the steps are used up
    """The steps are used up."""


class Graph:
    """Dependencies and anti-dependencies; no forbidden cycle may be closed.

    With `apart` a cycle is allowed if two anti-dependencies follow each other on it: then an
    anti-dependency counts only behind a dependency, together with that.
    """

    def __init__(self, nodes: int, *, apart: bool) -> None:
        self.apart = apart
        self.reach = [0] * nodes
        self.reached = [0] * nodes
        self.plain_in = [0] * nodes
        self.anti_out = [0] * nodes

    def copy(self) -> "Graph":
        """Another one that may go on differently."""
        twin = Graph(0, apart=self.apart)
        twin.reach, twin.reached = self.reach[:], self.reached[:]
        twin.plain_in, twin.anti_out = self.plain_in[:], self.anti_out[:]
        return twin

    def add(self, option: Option) -> None:
        """Both kinds of edges; `_ClosedError` where they close a forbidden cycle."""
        for source, target in option.plain:
            self._plain(source, target)
        for source, target in option.anti:
            self._anti(source, target)

    def _plain(self, source: int, target: int) -> None:
        if self.plain_in[target] >> source & 1:
            return
        self.plain_in[target] |= 1 << source
        self._step(source, target)
        if self.apart:
            for after in _bits(self.anti_out[target]):
                self._step(source, after)

    def _anti(self, source: int, target: int) -> None:
        if self.anti_out[source] >> target & 1:
            return
        self.anti_out[source] |= 1 << target
        if not self.apart:
            self._step(source, target)
            return
        for before in _bits(self.plain_in[source]):
            self._step(before, target)

    def _step(self, source: int, target: int) -> None:
        if source == target or self.reach[target] >> source & 1:
            raise _ClosedError
        if self.reach[source] >> target & 1:
            return
        below = self.reach[target] | 1 << target
        above = self.reached[source] | 1 << source
        for node in _bits(above):
            self.reach[node] |= below
        for node in _bits(below):
            self.reached[node] |= above

    def closes(self, option: Option) -> bool:
        """Whether a single edge of an option closes a forbidden cycle."""
        reach = self.reach
        for source, target in option.plain:
            if source == target or reach[target] >> source & 1:
                return True
            if self.apart and any(
                after == source or reach[after] >> source & 1
                for after in _bits(self.anti_out[target])
            ):
                return True
        for source, target in option.anti:
            before = self.plain_in[source] if self.apart else 1 << source
            if before & (reach[target] | 1 << target):
                return True
        return False


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


class _Search:
    def __init__(self) -> None:
        self.steps = 0
        self.tried = 0
        self.forced: list[Forced] = []
        self.clash: tuple[Choice, tuple[int, ...], tuple[int, ...]] | None = None

    def spend(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _Spent

    def settled(self, graph: Graph, choices: Sequence[Choice], depth: int = 0) -> bool:
        """Whether a way for all choices is found."""
        left = self._forced(graph, choices, depth)
        if left is None:
            return False
        if not left:
            return True
        first, rest = left[0], left[1:]
        for option in (first.one, first.other):
            self.spend()
            self.tried += 1
            twin = graph.copy()
            try:
                twin.add(option)
            except _ClosedError:
                continue
            if self.settled(twin, rest, depth + 1):
                return True
        return False

    def _forced(self, graph: Graph, choices: Sequence[Choice], depth: int) -> list[Choice] | None:
        """The choices that stay open once all that is forced is added; None if none fits."""
        left, before = list(choices), -1
        while before != len(left):
            before, open_ = len(left), []
            for choice in left:
                closed = graph.closes(choice.one), graph.closes(choice.other)
                if not any(closed):
                    open_.append(choice)
                    continue
                self.spend()
                if not self._take(graph, choice, closed, depth):
                    return None
            left = open_
        return left

    def _take(self, graph: Graph, choice: Choice, closed: tuple[bool, bool], depth: int) -> bool:
        way = 1 if closed[0] else 0
        options = (choice.one, choice.other)
        if all(closed):
            if not depth:
                cycles = [cycle_of(graph, option) for option in options]
                self.clash = (choice, cycles[0], cycles[1])
            return False
        if not depth:
            self.forced.append(Forced(choice, way, cycle_of(graph, options[1 - way])))
        twin = graph.copy() if not depth else graph
        try:
            graph.add(options[way])
        except _ClosedError:
            if not depth:
                self.clash = (choice, cycle_of(twin, options[0]), cycle_of(twin, options[1]))
            return False
        return True


def solve(
    nodes: int, plain: Iterable[Pair], anti: Iterable[Pair], choices: Sequence[Choice],
    *, apart: bool,
) -> Answer:  # fmt: skip
    """Whether the choices can be made so that no forbidden cycle closes."""
    if nodes > MOST_NODES or len(choices) > MOST_CHOICES:
        return Answer(None)
    graph = Graph(nodes, apart=apart)
    try:
        graph.add(Option(tuple(plain), tuple(anti)))
    except _ClosedError:
        return Answer(valid=False)
    search = _Search()
    try:
        found = search.settled(graph, choices)
    except _Spent:
        return Answer(None, tried=search.tried)
    if found:
        return Answer(valid=True, tried=search.tried)
    return Answer(valid=False, forced=tuple(search.forced), clash=search.clash, tried=search.tried)


def cycle_of(graph: Graph, option: Option) -> tuple[int, ...]:
    """The nodes of a short cycle that a single edge of an option closes; empty if there is none."""
    kinds = [*((pair, False) for pair in option.plain), *((pair, True) for pair in option.anti)]
    found = [_way(graph, target, source, anti=anti) for (source, target), anti in kinds]
    return min((one for one in found if one), key=len, default=())


def _way(graph: Graph, start: int, goal: int, *, anti: bool) -> tuple[int, ...]:
    """The shortest way from a node to another one, over nodes; an edge of a kind leads back."""
    first = (start, anti)
    came: dict[tuple[int, bool], tuple[int, bool] | None] = {first: None}
    plain_out = [0] * len(graph.reach)
    for node, before in enumerate(graph.plain_in):
        for other in _bits(before):
            plain_out[other] |= 1 << node
    queue = deque([first])
    while queue:
        state = queue.popleft()
        node, after_anti = state
        if node == goal and not (anti and after_anti and graph.apart and state != first):
            return _back(came, state)
        steps = [(after, False) for after in _bits(plain_out[node])]
        if not (graph.apart and after_anti):
            steps += [(after, True) for after in _bits(graph.anti_out[node])]
        for step in steps:
            if step not in came:
                came[step] = state
                queue.append(step)
    return ()


def _back(
    came: dict[tuple[int, bool], tuple[int, bool] | None], state: tuple[int, bool] | None
) -> tuple[int, ...]:
    found = []
    while state is not None:
        found.append(state[0])
        state = came[state]
    return tuple(reversed(found))
