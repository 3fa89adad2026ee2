"""The field's names for cycles: Adya's G0 to G2, Elle's finer ones, and what they show besides.

`-process` and `-realtime` tell which order a cycle needs beside the data's, `schema-` that a DDL is
on it. Two cycles have names of their own as well: a fractured read (part of what a transaction
wrote was seen, part not) and a long fork (two readers saw two writes in opposite orders).
"""

from collections.abc import Callable, Sequence

from ddlsim.columns.edges import (
    DDL,
    PREDICATE_EDGE,
    PROCESS,
    REALTIME,
    RW,
    WR,
)
from ddlsim.columns.search import Link


def type_of(links: Sequence[Link]) -> str:
    """The type of a cycle, prefix and suffix included."""
    kinds = [link.kind for link in links]
    prefix = "schema-" if any(kind & DDL for kind in kinds) else ""
    suffix = ""
    if any(kind & REALTIME for kind in kinds):
        suffix = "-realtime"
    elif any(kind & PROCESS for kind in kinds):
        suffix = "-process"
    return f"{prefix}{_base(kinds)}{suffix}"


def _base(kinds: list[int]) -> str:
    anti = [bool(kind & RW) for kind in kinds]
    if sum(anti) > 1:
        if not any(here and before for here, before in zip(anti, [anti[-1], *anti], strict=False)):
            return "G-nonadjacent"
        predicate = any(kind & RW and kind & PREDICATE_EDGE for kind in kinds)
        return "G2-predicate" if predicate else "G2-item"
    if any(anti):
        return "G-single"
    return "G1c" if any(kind & WR for kind in kinds) else "G0"


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
