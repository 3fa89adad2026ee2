"""Cycles of a graph given as arrays: found where there are any, named, and explained by the caller.

This is what histories without timestamps use as well: they bring their own edges.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from sim.columns.edges import Edges
from sim.columns.history import Array
from sim.columns.models import DEFAULT

BUDGET: Final = 200_000
"""Edges looked at in one component while searching for its shortest cycles."""


class Link(NamedTuple):
    """One edge of a cycle, as in `Edges`; REALTIME ones are made by the search (`why` -1)."""

    source: int
    target: int
    kind: int
    why: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle and its type, prefix and suffix included; it begins with its smallest node."""

    type: str
    links: tuple[Link, ...]

    @property
    def txns(self) -> tuple[int, ...]:
        """The nodes on it, in its order."""
        return tuple(link.source for link in self.links)


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found: the shortest cycle of each type in each tangle, and what it left open.

    `components` is the number of strongly connected components larger than one; without any, there
    is no cycle at all. `largest` is the size of the largest.
    """

    cycles: tuple[Cycle, ...]
    components: int
    largest: int
    notes: tuple[str, ...] = ()


def find_cycles(
    n: int,
    edges: Edges,
    begin: Array | None = None,
    end: Array | None = None,
    *,
    rank: Array | None = None,
    ddl: Array | None = None,
    model: str = DEFAULT,
    budget: int = BUDGET,
) -> Search:
    """The cycles among nodes 0 to n - 1 that break a model.

    `begin` and `end` are given for real time: a node comes after each that ended before it began;
    a begin of -1 and an end of the largest int64 take a node out of that. `rank` is a guess at the
    order (any is right; a good one makes it fast), `ddl` marks the nodes that are DDLs.
    """
    raise NotImplementedError
