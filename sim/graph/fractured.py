"""Fractured reads: a transaction saw one write of another, and not that one's write of another key.

No graph is needed: what a transaction saw of two keys is held against all transactions that wrote
both. (Bailis et al., "Scalable Atomic Visibility with RAMP Transactions", SIGMOD 2014.)
"""

from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.history import Array

MOST: Final = 20_000_000
"""Pairs of keys, over all transactions, above which nothing is compared."""
NOWHERE: Final = 2**40
"""The place of a write that no read shows: after all others."""


class Written(NamedTuple):
    """What transactions wrote: a row for each and a key, with the first and the last place there.

    Places count the versions of a key, or the elements of a list, from 0.
    """

    tx: Array
    key: Array
    first: Array
    last: Array


class Seen(NamedTuple):
    """What transactions read of others: a row for each and a key, and how many places they saw.

    `listed`: the read returned a list, so that all writers below its count were seen; of a register
    the last of them alone.
    """

    tx: Array
    key: Array
    places: Array
    listed: Array


class Fracture(NamedTuple):
    """A reader of another transaction's write at one key that missed its write at the other key.

    `row` is that of the read at the other key, in `Seen`.
    """

    reader: int
    writer: int
    seen: int
    missed: int
    row: int


def fractures(written: Written, seen: Seen) -> list[Fracture] | None:
    """Every one, at most one for each transaction and two keys; None if there is too much."""
    theirs, ours = _pairs(written.tx, written.key), _pairs(seen.tx, seen.key)
    if theirs is None or ours is None:
        return None
    if not len(theirs[0]) or not len(ours[0]):
        return []
    keys = 1 + max(int(written.key.max()), int(seen.key.max()))
    missed, shown = theirs
    group = written.key[missed].astype(np.int64) * keys + written.key[shown]
    groups, number = np.unique(group, return_inverse=True)
    one, other = ours
    wanted = seen.key[one].astype(np.int64) * keys + seen.key[other]
    at = np.minimum(np.searchsorted(groups, wanted), len(groups) - 1)
    both = groups[at] == wanted
    one, other, at = one[both], other[both], at[both]
    row = np.full(len(one), -1)
    some = np.flatnonzero(seen.listed[other])
    if len(some):
        least = _Least(number, written.last[missed], written.first[shown], len(groups))
        row[some] = least.beyond(at[some], seen.places[one[some]], seen.places[other[some]])
    some = np.flatnonzero(~seen.listed[other])
    if len(some):
        lasts = written.last[missed], written.last[shown]
        places = seen.places[one[some]], seen.places[other[some]]
        row[some] = _exactly(number, *lasts, at[some], *places)
    found = np.flatnonzero(row >= 0)
    found = found[seen.tx[one[found]] != written.tx[missed[row[found]]]]
    return [
        Fracture(int(seen.tx[one[each]]), int(written.tx[missed[row[each]]]),
                 int(seen.key[other[each]]), int(seen.key[one[each]]), int(one[each]))
        for each in found.tolist()
    ]  # fmt: skip


def _pairs(tx: Array, key: Array) -> tuple[Array, Array] | None:
    """Every two rows of one transaction, either way round."""
    order = np.lexsort((key, tx))
    _, first, count = np.unique(tx[order], return_index=True, return_counts=True)
    if int((count * count).sum()) > MOST:
        return None
    many = count > 1
    first, count = first[many], count[many]
    size = np.repeat(count, count)
    one = np.repeat(_ranges(first, count), size)
    other = _ranges(np.repeat(first, count), size)
    apart = one != other
    return order[one[apart]], order[other[apart]]


def _ranges(first: Array, count: Array) -> Array:
    ends = np.cumsum(count)
    found: Array = np.arange(int(count.sum())) + np.repeat(first - (ends - count), count)
    return found


class _Least:
    """Of the transactions that wrote at a place of one key or later, the earliest at the other."""

    def __init__(self, group: Array, missed: Array, shown: Array, groups: int) -> None:
        self._order = np.lexsort((missed, group))
        self._group, self._missed = group[self._order], missed[self._order]
        shown = shown[self._order]
        low = np.empty(len(shown), np.int64)
        best = np.empty(len(shown), np.int64)
        # From the end on, a group's places are all below those of the groups after it.
        apart = self._group.astype(np.int64) * (NOWHERE + 1)
        back = (apart + shown)[::-1]
        least = np.minimum.accumulate(back)
        new = np.append(True, least[1:] != least[:-1])
        best[::-1] = np.maximum.accumulate(np.where(new, np.arange(len(back)), 0))
        low[::-1] = least
        self._shown = low - apart
        self._best = len(back) - 1 - best
        self._ends = np.searchsorted(self._group, np.arange(groups), side="right")

    def beyond(self, group: Array, missed: Array, shown: Array) -> Array:
        """Rows of writers at `missed` or later, and before `shown` at the other; -1 for none."""
        place = _lower(self._group, self._missed, group, missed)
        inside = place < self._ends[group]
        at = np.minimum(place, len(self._group) - 1)
        found = inside & (self._shown[at] < shown)
        return np.where(found, self._order[self._best[at]], -1)


def _lower(groups: Array, places: Array, group: Array, place: Array) -> Array:
    """Where a place would stand among those of its group; both sorted by group, then place."""
    known, rank = np.unique(np.concatenate([places, place]), return_inverse=True)
    size = len(known) + 1
    found: Array = np.searchsorted(
        groups.astype(np.int64) * size + rank[: len(places)],
        group.astype(np.int64) * size + rank[len(places) :],
    )
    return found


def _exactly(
    groups: Array, missed: Array, shown: Array, group: Array, missing: Array, saw: Array
) -> Array:
    """Rows of writers of just what was seen, and at the other key of what was not; -1 for none."""
    order = np.lexsort((shown, groups))
    place = _lower(groups[order], shown[order], group, saw - 1)
    at = order[np.minimum(place, len(order) - 1)]
    found = (groups[at] == group) & (shown[at] == saw - 1) & (missed[at] >= missing)
    return np.where(found, at, -1)
