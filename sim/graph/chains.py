"""Real time as chains of instants: three steps a node, and not one for each pair of nodes.

A node leads to the instant at which it ended, an instant to the next one, and that to each node
that began after it. The ends of DDLs have a chain of their own, because they count only under an
assumption; and so has each client, because the order of one client's transactions is the stronger
argument. The cycles that are reported show no instants.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from ddlsim.graph.edges import PREDICATE_EDGE, PROCESS, REALTIME, RW, STRICT_ONLY
from ddlsim.graph.history import NONE

LONGER: Final = 1
ANTI: Final = 10**5
PREDICATE: Final = 10**10
PROCESS_TIME: Final = 10**15
REAL_TIME: Final = 10**20
DDL_TIME: Final = 10**25
STRICT: Final = 10**30
"""What makes an argument weak, in that order; the search takes the lightest cycle."""
_OF_MARKS: Final = (
    (RW, ANTI),
    (PROCESS, PROCESS_TIME),
    (REALTIME, REAL_TIME),
    (STRICT_ONLY, STRICT),
)

Placed = tuple[int, int]
"""An instant and a node."""


def weight_of(kind: int) -> int:
    """What an edge of a kind adds to the weight of a cycle; for real time see `Chains`."""
    weight = LONGER + sum(more for mark, more in _OF_MARKS if kind & mark)
    return weight + (PREDICATE if kind & RW and kind & PREDICATE_EDGE else 0)


class Times(NamedTuple):
    """When each node began (-1: after no other node) and ended (`FOREVER`: before no other).

    `ddl` marks the nodes whose ends count as those of DDLs, `client` names the client of each node;
    None where neither matters.
    """

    begin: Sequence[int]
    end: Sequence[int]
    ddl: Sequence[bool] | None = None
    client: Sequence[Hashable] | None = None


class Chains:
    """The instants of real time among some nodes, numbered after the nodes.

    `steps` are (source, target, weight): along the chains, onto them and off them.
    """

    def __init__(self, times: Times, forever: int) -> None:
        self._first = len(times.begin)
        self.steps: list[tuple[int, int, int]] = []
        self._highest: list[int] = []
        self._kinds: list[int] = []
        nodes = range(self._first)
        ends = sorted((at, one) for one, at in enumerate(times.end) if at < forever)
        begins = [(times.begin[one], one) for one in nodes if times.begin[one] != NONE]
        begins_of = _by_client(begins, times.client)
        for of_ddls in (False, True) if times.ddl is not None else (False,):
            chosen = ends
            if times.ddl is not None:
                chosen = [one for one in ends if times.ddl[one[1]] is of_ddls]
            self._chain(chosen, begins, REALTIME, of_ddls=of_ddls)
            for client, own in _by_client(chosen, times.client).items():
                later = begins_of.get(client, ())
                if any(at > own[0][0] for at, _ in later):
                    self._chain(own, later, PROCESS, of_ddls=of_ddls)

    def _chain(
        self, ends: Sequence[Placed], begins: Sequence[Placed], kind: int, *, of_ddls: bool
    ) -> None:
        """One chain through `ends`, in order, to the nodes that begin after them."""
        start = self._first + len(self._highest)
        weight = weight_of(kind) + (DDL_TIME if of_ddls else 0)
        highest = -1
        for at, (_, node) in enumerate(ends):
            highest = max(highest, node)
            self._highest.append(highest)
            self._kinds.append(kind)
            self.steps.append((node, start + at, weight))
            if at:
                self.steps.append((start + at - 1, start + at, 0))
        instants = [ended_at for ended_at, _ in ends]
        for begins_at, node in begins:
            before = bisect_left(instants, begins_at)
            if before:
                self.steps.append((start + before - 1, node, 0))

    def highest(self, number: int) -> int:
        """A node's number; of an instant the highest number of a node that ended by then."""
        return number if number < self._first else self._highest[number - self._first]

    def is_instant(self, number: int) -> bool:
        """Whether a number is that of an instant and not of a node."""
        return number >= self._first

    def kind(self, instant: int) -> int:
        """What a way over an instant is as one edge: REALTIME or PROCESS."""
        return self._kinds[instant - self._first]


def _by_client(
    placed: Sequence[Placed], client: Sequence[Hashable] | None
) -> dict[Hashable, list[Placed]]:
    found: dict[Hashable, list[Placed]] = {}
    for one in placed if client is not None else ():
        assert client is not None
        if client[one[1]] is not None:
            found.setdefault(client[one[1]], []).append(one)
    return found
