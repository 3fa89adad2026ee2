"""What a cycle of links is called: its type, and the names that it has besides."""

from collections.abc import Callable, Sequence

from ddlsim.graph.edges import DATA, DDL, NAMES, PREDICATE_EDGE, PROCESS, REALTIME, RW, WR
from ddlsim.graph.names import cycle_name
from ddlsim.graph.search import Link


def type_of(links: Sequence[Link]) -> str:
    """The type of a cycle, prefix and suffix included."""
    kinds = [link.kind for link in links]
    level = 2 if any(kind & REALTIME for kind in kinds) else 0
    return cycle_name(
        [NAMES.get(kind & DATA, "") for kind in kinds],
        level or int(any(kind & PROCESS for kind in kinds)),
        predicate=any(kind & RW and kind & PREDICATE_EDGE for kind in kinds),
        schema=any(kind & DDL for kind in kinds),
    )


def other_names(links: Sequence[Link], key_of: Callable[[Link], int]) -> tuple[str, ...]:
    """What else a cycle is called; `key_of` tells which key a data edge is about."""
    kinds = [link.kind & (RW | WR) for link in links]
    if any(link.kind & (DDL | PROCESS | REALTIME) for link in links):
        return ()
    if sorted(kinds) == [WR, RW] and key_of(links[0]) != key_of(links[1]):
        return ("fractured-read",)
    if kinds in ([RW, WR, RW, WR], [WR, RW, WR, RW]):
        first, second = (key_of(link) for link in links if link.kind & RW)
        return ("long-fork",) if first != second else ()
    return ()


def turned(links: Sequence[Link]) -> tuple[Link, ...]:
    """A cycle from its smallest node on."""
    at = min(range(len(links)), key=lambda one: links[one].source)
    return (*links[at:], *links[:at])
