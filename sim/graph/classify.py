"""What a cycle of links is called: its type, and the names that it has besides."""

from collections.abc import Callable, Sequence

from ddlsim.graph.edges import DATA, DDL, NAMES, PREDICATE_EDGE, PROCESS, REALTIME, RW, WR, WW, Link
from ddlsim.graph.names import cycle_name


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


def other_names(
    links: Sequence[Link],
    key_of: Callable[[Link], object],
    has_read: Callable[[Link], bool] | None = None,
) -> tuple[str, ...]:
    """What else a cycle is called; `key_of` returns the key that a data edge is about.

    `has_read` says whether the source of an edge had read that key: with it two edges on one key
    that both transactions had read are a lost update.
    """
    kinds = [link.kind & (RW | WR) for link in links]
    if any(link.kind & (DDL | PROCESS | REALTIME) for link in links):
        return ()
    if len(links) == 2 and has_read is not None and _is_update(links):
        same = key_of(links[0]) == key_of(links[1])
        return ("lost-update",) if same and all(map(has_read, links)) else ()
    if sorted(kinds) == [WR, RW] and key_of(links[0]) != key_of(links[1]):
        return ("fractured-read",)
    if kinds in ([RW, WR, RW, WR], [WR, RW, WR, RW]):
        first, second = (key_of(link) for link in links if link.kind & RW)
        return ("long-fork",) if first != second else ()
    return ()


def _is_update(links: Sequence[Link]) -> bool:
    """Whether a cycle consists of an anti-dependency and a write, or another anti-dependency."""
    kinds = sorted(link.kind & DATA for link in links)
    return kinds in ([WW, RW], [RW, RW])
