"""The field's names for anomalies, one table for all judges (Adya; Cerone; Berenson; Elle's forms).

`G0` writes only; `G1c` writes and reads of them; `G-single` one anti-dependency; `G-nonadjacent`
several, no two of them in a row, which snapshot isolation forbids; `G2-item` any number, on rows;
`G2-predicate` one of them on a key that a scan did not find. Three have names of their own:
`lost-update`, two transactions that read one version, and both wrote the next; `long-fork`, two
that see two writes in opposite orders; `fractured-read`, one that saw a part of what another wrote.

`-process` and `-realtime` say that the order of one client's transactions, or real time, is needed
for the cycle to close; `schema-` that a DDL lies on it.
"""

from collections.abc import Sequence
from typing import Final

SCHEMA: Final = "schema-"
SUFFIXES: Final = ("", "-process", "-realtime")
"""What a type of anomaly ends in, by the order that its cycle needs."""


def cycle_name(kinds: Sequence[str], level: int, *, predicate: bool, schema: bool) -> str:
    """The type of a cycle by its edges in order: `ww`, `wr`, `rw`, or anything for other orders.

    `level` is the order that it needs: 0 the data's alone, 1 that of a process, 2 real time.
    `predicate`: one of the rw rests on a key that a scan did not find; `schema`: a DDL is on it.
    """
    return f"{SCHEMA if schema else ''}{_base(kinds, predicate=predicate)}{SUFFIXES[level]}"


def _base(kinds: Sequence[str], *, predicate: bool) -> str:
    anti = kinds.count("rw")
    if not anti:
        return "G1c" if "wr" in kinds else "G0"
    if anti == 1:
        return "G-single"
    if not adjacent(kinds):
        return "G-nonadjacent"
    return "G2-predicate" if predicate else "G2-item"


def adjacent(kinds: Sequence[str]) -> bool:
    """Whether two anti-dependencies follow each other around a cycle."""
    return any(kind == "rw" == kinds[at - 1] for at, kind in enumerate(kinds))


def split(type_: str) -> tuple[str, int]:
    """A type without its prefix and suffix, and the order that it needs, as in `cycle_name`."""
    base = type_.removeprefix(SCHEMA)
    for level in (2, 1):
        if base.endswith(SUFFIXES[level]):
            return base.removesuffix(SUFFIXES[level]), level
    return base, 0
