"""Whether answers fit what was asked for: the same functions, keys and written values.

An answer that does not is damaged, or another transaction's. Ordinary EDN is compared as text, with
what was read taken out; only what differs there is read and looked at.
"""

import re
from typing import Any, Final

import numpy as np
import orjson

from ddlsim.columns.history import Array
from ddlsim.foreign.readers.brief import hashable
from ddlsim.foreign.readers.edn import values_of
from ddlsim.foreign.readers.entries import Entries

_READ: Final = re.compile(rb"(?<=\[:r )([^\s\[\]]++) (?:\[[^\]\[]*+\]|[^\s\[\]]++)\]")
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
    completion that tells nothing is no matter of this. What was asked for has no value of a read:
    Jepsen writes nil there, other recorders an empty list, or what was answered.
    """
    places = np.flatnonzero(first >= 0).tolist()
    asked = [entries.values[at] for at in first[places].tolist()]
    told: list[Any] = [entries.values[at] if at >= 0 else None for at in last[places].tolist()]
    raw = [
        at
        for at, (one, other) in enumerate(zip(asked, told, strict=True))
        if isinstance(one, bytes) and isinstance(other, bytes)
    ]
    same = set(_alike([asked[at] for at in raw], [told[at] for at in raw], raw))
    same.update(
        at
        for at, (one, other) in enumerate(zip(asked, told, strict=True))
        if isinstance(one, list) and isinstance(other, list) and _plainly_alike(one, other)
    )
    both = enumerate(zip(asked, told, strict=True))
    left = [at for at, pair in both if at not in same and pair != (None, None)]
    ones, others = read([asked[at] for at in left]), read([told[at] for at in left])
    found, said = [], entries.notation
    for at, one, other in zip(left, ones, others, strict=True):
        if other is not None and _shape(one) != _shape(other):
            what = f"asked for {said(one)[:120]}, and the answer is {said(other)[:120]}"
        elif (early := _read_early(one, other)) is not None:
            what = (
                f"asked for {said(early)[:120]}: the value of a read stands there before its answer"
            )
        else:
            continue
        found.append((places[at], what))
    return found


def _alike(asked: list[bytes], told: list[bytes], places: list[int]) -> list[int]:
    """The places at which the texts are the same but for what was read, which asks for nil."""
    if not asked:
        return []
    parts = _READ.split(b"\n".join(told))
    parts[1::2] = [b"%b nil]" % key for key in parts[1::2]]
    without = b"".join(parts).split(b"\n")
    if len(without) != len(told):
        return []
    both = zip(places, asked, told, without, strict=True)
    return [place for place, one, other, bare in both if one in (bare, other)]


def _plainly_alike(asked: list[Any], told: list[Any]) -> bool:
    """Whether ordinary operations are the same but for what was read; false where that is not sure.

    Texts are compared, in which 1, 1.0, true and "1" differ.
    """
    try:
        bare = [[name, key, None if name in _READS else value] for name, key, value in told]
        return orjson.dumps(asked) == orjson.dumps(bare)
    except (TypeError, ValueError):
        return False


def _read_early(asked: Any, told: Any) -> Any:
    """An operation that has the value of a read before there is an answer; None if none has."""
    if not isinstance(asked, list):
        return None
    for at, one in enumerate(asked):
        if not isinstance(one, list) or len(one) != 3 or not _is_read(one[0]):
            continue
        answered = told[at][2] if isinstance(told, list) else None
        if one[2] not in (None, []) and hashable(one[2]) != hashable(answered):
            return one
    return None


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
    return (name, key) if _is_read(one[0]) else (name, key, hashable(one[2]))


def _is_read(function: Any) -> bool:
    return isinstance(function, str) and function in _READS
