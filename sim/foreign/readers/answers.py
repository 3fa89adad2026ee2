"""Whether answers fit what was asked for: the same functions, keys and written values.

An answer that does not is damaged, or another transaction's. Ordinary operations are compared as
columns; only what differs there is looked at one by one.
"""

from typing import Any, Final

import numpy as np

from ddlsim.foreign.readers.brief import hashable
from ddlsim.foreign.readers.entries import Table
from ddlsim.foreign.readers.operations import NIL, ONE, READ, ranges
from ddlsim.graph.history import Array

_READS: Final = frozenset({":r", "r"})


def differing(table: Table, first: Array, last: Array) -> list[tuple[int, str]]:
    """The transactions, by place, whose completion tells another thing than was asked, and what.

    `first` and `last` are the entries of invocations and completions, -1 where there is none. A
    completion that tells nothing is no matter of this. What was asked for has no value of a read:
    Jepsen writes nil there, other recorders an empty list, or what was answered.
    """
    places = np.flatnonzero(first >= 0)
    places = places[~_alike(table, first[places], last[places])]
    found, said = [], table.notation
    for place in places.tolist():
        one = table.value(int(first[place]))
        other = table.value(int(last[place])) if last[place] >= 0 else None
        if one is None and other is None:
            continue
        if other is not None and _shape(one) != _shape(other):
            what = f"asked for {said(one)[:120]}, and the answer is {said(other)[:120]}"
        elif (early := _read_early(one, other)) is not None:
            what = (
                f"asked for {said(early)[:120]}: the value of a read stands there before its answer"
            )
        else:
            continue
        found.append((place, what))
    return found


def _alike(table: Table, asked: Array, told: Array) -> Array:
    """Which pairs of entries tell the same columns but for what was read, which asks for nil."""
    told_of = table.operations
    count = told_of.count[asked]
    alike: Array = (told >= 0) & (count >= 0)
    alike &= told_of.count[np.maximum(told, 0)] == count
    some = np.flatnonzero(alike)
    one, other = (ranges(told_of.first[at[some]], count[some]) for at in (asked, told))
    reads = told_of.function[one] == READ
    same = told_of.function[one] == told_of.function[other]
    same &= told_of.key[one] == told_of.key[other]
    equal = reads & (told_of.form[one] == NIL)
    single = np.flatnonzero((told_of.form[one] == ONE) & (told_of.form[other] == ONE))
    values = (told_of.number[told_of.begin[at[single]]] for at in (one, other))
    equal[single] = np.equal(*values)
    same &= equal
    whose = np.repeat(some, count[some])
    alike[whose[~same]] = False
    return alike


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
