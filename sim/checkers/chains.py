"""Real time as chains of instants: three steps a node, and not one for each pair.

A node leads to the instant where it ended, an instant to the next one, and that to whoever began
after it. The ends of DDLs have chains of their own, because they count only under an assumption;
and so has each client, because the order of one client's doings is the stronger argument. Printed
cycles show none of this.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from ddlsim.checkers.edges import PROCESS, RT, BeforeInRealTime, Edge
from ddlsim.checkers.graph import Graph

LONGER: Final = 1
ANTI: Final = 10**5
PREDICATE: Final = 10**10
PROCESS_TIME: Final = 10**15
REAL_TIME: Final = 10**20
DDL_TIME: Final = 10**25
STRICT: Final = 10**30
"""What makes an argument weak, in that order; `cycles` looks for the lightest."""
TIME: Final = {PROCESS: PROCESS_TIME, RT: REAL_TIME}

Placed = tuple[int, int]
"""An instant and a node."""


class Chains:
    """The instants of a stretch of rank, numbered after all nodes of the graph.

    `sources`, `targets` and `weights` are the steps along them.
    """

    def __init__(self, graph: Graph, low: int, high: int) -> None:
        self._graph = graph
        self._first = len(graph.nodes)
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.weights: list[int] = []
        self.rank: list[int] = []
        self._kinds: list[str] = []
        inside = range(low, high + 1)
        begins = self._begins(inside)
        begins_of = self._by_client(begins)
        for of_ddls in (False, True):
            ends = self._ends(inside, of_ddls=of_ddls)
            self._chain(ends, begins, RT, of_ddls=of_ddls)
            for client, own in self._by_client(ends).items():
                theirs = begins_of.get(client, ())
                if any(at > own[0][0] for at, _ in theirs):
                    self._chain(own, theirs, PROCESS, of_ddls=of_ddls)

    def _ends(self, inside: range, *, of_ddls: bool) -> list[Placed]:
        nodes = self._graph.nodes
        return sorted(
            (ends_at, number)
            for number in inside
            if (ends_at := nodes[number].ends_at) is not None
            and (nodes[number].tx is None) is of_ddls
        )

    def _begins(self, inside: range) -> list[Placed]:
        nodes = self._graph.nodes
        return [
            (begins_at, number)
            for number in inside
            if (begins_at := nodes[number].begins_at) is not None
        ]

    def _by_client(self, placed: list[Placed]) -> dict[str, list[Placed]]:
        found: dict[str, list[Placed]] = {}
        for one in placed:
            client = self._graph.clients[one[1]]
            if client is not None:
                found.setdefault(client, []).append(one)
        return found

    def _chain(
        self,
        ends: list[Placed],
        begins: Sequence[Placed],
        kind: str,
        *,
        of_ddls: bool,
    ) -> None:
        """One chain through `ends`, (instant, node) in order, to whoever `begins` after them."""
        start = self._first + len(self.rank)
        weight = TIME[kind] + (DDL_TIME if of_ddls else 0) + LONGER
        highest = -1
        for at, (_, number) in enumerate(ends):
            highest = max(highest, number)
            self.rank.append(highest)
            self._kinds.append(kind)
            self._step(number, start + at, weight)
            if at:
                self._step(start + at - 1, start + at, 0)
        instants = [ends_at for ends_at, _ in ends]
        for begins_at, number in begins:
            before = bisect_right(instants, begins_at)
            if before:
                self._step(start + before - 1, number, 0)

    def _step(self, source: int, target: int, weight: int) -> None:
        self.sources.append(source)
        self.targets.append(target)
        self.weights.append(weight)

    def rank_of(self, number: int) -> int:
        """A node's number, or for an instant the highest number before it."""
        return number if number < self._first else self.rank[number - self._first]

    def is_instant(self, number: int) -> bool:
        """Whether a number belongs to a chain and not to the graph."""
        return number >= self._first

    def edge(self, source: int, instant: int, target: int) -> Edge:
        """A way along a chain, by one of its instants, as one edge."""
        ended_at = self._graph.nodes[source].ends_at
        begins_at = self._graph.nodes[target].begins_at
        assert ended_at is not None, source
        assert begins_at is not None, target
        assert ended_at < begins_at, (ended_at, begins_at)
        kind = self._kinds[instant - self._first]
        return Edge(source, target, kind, BeforeInRealTime(ended_at, begins_at))
