"""Whether answers fit what was asked for: the same functions, keys and written values.

An answer that does not is damaged, or another transaction's. Ordinary EDN is compared as text, with
what was read taken out; only what differs there is read and looked at.
"""

import re
from typing import Any, Final

import numpy as np

from sim.columns.history import Array
from sim.foreign.brief import brief, hashable
from sim.foreign.edn import values_of
from sim.foreign.entries import Entries

_READ: Final = re.compile(rb"(\[:r [^\s\[\]]++ )(?:\[[^\]\[]*+\]|[^\s\[\]]++)(?=\])")
_READS: Final = frozenset({":r", "r"})


def read(values: list[Any]) -> list[Any]:
    """Operations of which some stayed bytes, all read."""
    raw = [at for at, value in enumerate(values) if isinstance(value, bytes)]
    for at, value in zip(raw, values_of([values[at] for at in raw]), strict=True):
        values[at] = value
    return values


def differing(entries: Entries, first: Array, last: Array) -> list[tuple[int, str]]:
    """The transactions, by place, whose completion tells another thing than was asked, and what.

    `first` and `last` are the entries of invocations and completions, -1 where there is none. A
    completion that tells nothing is no matter of this.
    """
    pairs = np.flatnonzero((first >= 0) & (last >= 0)).tolist()
    asked = [entries.values[at] for at in first[pairs].tolist()]
    told = [entries.values[at] for at in last[pairs].tolist()]
    raw = [
        at
        for at, (one, other) in enumerate(zip(asked, told, strict=True))
        if isinstance(one, bytes) and isinstance(other, bytes)
    ]
    same = set(_alike([asked[at] for at in raw], [told[at] for at in raw], raw))
    left = [at for at in range(len(pairs)) if at not in same and told[at] is not None]
    ones, others = read([asked[at] for at in left]), read([told[at] for at in left])
    found = []
    for at, one, other in zip(left, ones, others, strict=True):
        if _shape(one) != _shape(other):
            found.append((pairs[at], f"asked for {_few(one)}, and the answer is {_few(other)}"))
    return found


def _alike(asked: list[bytes], told: list[bytes], places: list[int]) -> list[int]:
    """The places at which the texts are the same but for what was read."""
    if not asked:
        return []
    without = [_READ.sub(rb"\1nil", b"\n".join(texts)).split(b"\n") for texts in (asked, told)]
    if len(without[0]) != len(asked) or len(without[1]) != len(told):
        return []
    both = zip(places, *without, strict=True)
    return [place for place, one, other in both if one == other]


def _shape(value: Any) -> Any:
    """What of operations an answer may not change."""
    if not isinstance(value, list):
        return ("nothing", hashable(value))
    return [_part(one) for one in value]


def _part(one: Any) -> Any:
    if not isinstance(one, list) or len(one) != 3 or not isinstance(one[0], str):
        return hashable(one)
    name = one[0].removeprefix(":")
    key = hashable(one[1])
    return (name, key) if one[0] in _READS else (name, key, hashable(one[2]))


def _few(value: Any) -> str:
    return brief(value)[:120]
