"""Which versions of a register real time puts after each other, without looking at all pairs.

A version is in force at some instant of each transaction that reads or writes it. If its first such
transaction ended before the last one of another version began, it is the older one, in every order
that keeps to real time: two values cannot be in force in turns. Only neighbours are returned: pairs
with a third version between them follow from the others.
"""

from bisect import bisect_right
from typing import Final

import numpy as np

from ddlsim.graph.history import NONE, Array

MOST_NEXT: Final = 16
FOREVER: Final = int(np.iinfo(np.int64).max)


def pairs_in_time(key: Array, first_end: Array, last_begin: Array) -> tuple[Array, Array]:
    """Older and newer versions, of the same key each.

    `first_end` is when the first transaction that touched a version ended (the largest int64 where
    none is known to have), `last_begin` when the last one began (-1 where none is known to have).
    """
    order = np.lexsort((last_begin, key))
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    older: list[int] = []
    newer: list[int] = []
    for group in np.split(order, cuts):
        if len(group) > 1:
            _of_key(group.tolist(), first_end[group].tolist(), last_begin[group].tolist(),
                    older, newer)  # fmt: skip
    return np.asarray(older, np.int64), np.asarray(newer, np.int64)


def _of_key(
    versions: list[int], ends: list[int], begins: list[int], older: list[int], newer: list[int]
) -> None:
    """The pairs of one key; versions come by `begins`."""
    count = len(versions)
    least: list[list[tuple[int, int]]] = [[(FOREVER, NONE)] * 3] * (count + 1)
    for at in range(count - 1, -1, -1):
        below = least[at + 1]
        one = (ends[at], at)
        least[at] = below if one >= below[2] else sorted([*below, one])[:3]
    for at, end in enumerate(ends):
        low = count if end == FOREVER else bisect_right(begins, end)
        early = least[low]
        for other in range(low, min(count, low + MOST_NEXT)):
            if begins[other] > early[2][0]:
                break
            until = next(when for when, owner in early if owner not in {at, other})
            if other != at and begins[other] <= until:
                older.append(versions[at])
                newer.append(versions[other])
