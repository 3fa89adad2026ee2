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
    """The transactions, by place, whose completion does not fit the invocation, and why.

    `first` and `last` are the entries of invocations and completions, -1 where there is none. A
    completion without a value fits. An invocation has no value of a read: Jepsen writes nil there,
    other recorders an empty list, or the answer.
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
            what = f"invoked with {said(one)[:120]}, but completed with {said(other)[:120]}"
        elif (early := _read_early(one, other)) is not None:
            what = f"invoked with {said(early)[:120]}: a read has a value before its completion"
        else:
            continue
        found.append((place, what))
    return found


def _alike(table: Table, asked: Array, answered: Array) -> Array:
    """Which pairs of entries have the same columns, except values of reads, which are nil first."""
    columns = table.operations
    count = columns.count[asked]
    alike: Array = (answered >= 0) & (count >= 0)
    alike &= columns.count[np.maximum(answered, 0)] == count
    some = np.flatnonzero(alike)
    one, other = (ranges(columns.first[at[some]], count[some]) for at in (asked, answered))
    reads = columns.function[one] == READ
    same = columns.function[one] == columns.function[other]
    same &= columns.key[one] == columns.key[other]
    equal = reads & (columns.form[one] == NIL)
    single = np.flatnonzero((columns.form[one] == ONE) & (columns.form[other] == ONE))
    values = (columns.number[columns.begin[at[single]]] for at in (one, other))
    equal[single] = np.equal(*values)
    same &= equal
    pair = np.repeat(some, count[some])
    alike[pair[~same]] = False
    return alike


def _read_early(asked: Any, answer: Any) -> Any:
    """An operation that has the value of a read before there is an answer; None if none has."""
    if not isinstance(asked, list):
        return None
    for at, one in enumerate(asked):
        if not isinstance(one, list) or len(one) != 3 or not _is_read(one[0]):
            continue
        answered = answer[at][2] if isinstance(answer, list) else None
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
