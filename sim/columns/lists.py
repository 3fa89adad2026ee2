"""The order of a key's versions as lists show it: every read of a list tells all that came before.

Who appends values and reads whole lists needs no timestamps: of each key the longest list read is
the order, the version of a read is its length, that of an append the place of its value. Reads that
are no prefix of it make the order incompatible, a value that stands twice in a list is a duplicate.
An append that no list shows comes after all that are shown if its transaction is committed and it
is the only one of its kind; else its place is not known (-1).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ddlsim.columns.history import NONE, Array


class Lists(NamedTuple):
    """List reads, flattened: of each its operation's key, and where its elements begin and end.

    `element` holds numbers of values; the same number means the same value. `offset` has one more
    entry than there are reads.
    """

    key: Array
    offset: Array
    element: Array


class Appends(NamedTuple):
    """Appends: the key, the number of the value, and whether the transaction is committed."""

    key: Array
    element: Array
    committed: Array


@dataclass(frozen=True, slots=True)
class Recovered:
    """Versions of reads and appends, and what is wrong with the lists.

    `duplicates` are reads in which a value stands twice, `incompatible` pairs of reads of which
    neither is a prefix of the other, `garbage` reads with a value that nobody appended, `again`
    appends whose value was appended to that key before.
    """

    read_version: Array
    append_version: Array
    duplicates: Array
    incompatible: Array
    garbage: Array
    again: Array


def recover(lists: Lists, appends: Appends) -> Recovered:
    """The order of versions that the longest lists tell."""
    length = np.diff(lists.offset)
    keys = 1 + max(int(lists.key.max(initial=-1)), int(appends.key.max(initial=-1)))
    longest = _longest(lists.key, length, keys)
    size = np.append(length, 0)[longest]
    base = np.append(0, np.cumsum(size))
    owner = np.repeat(np.arange(keys), size)
    place = np.arange(int(base[-1])) - base[:-1][owner]
    order = lists.element[lists.offset[:-1][longest[owner]] + place]
    of = np.repeat(np.arange(len(length)), length)
    at = np.arange(len(of)) - lists.offset[:-1][of] + int(lists.offset[0])
    differs = lists.element[lists.offset[0] : lists.offset[-1]] != order[base[lists.key[of]] + at]
    odd = np.unique(of[differs])
    incompatible = np.stack([odd, longest[lists.key[odd]]], axis=1)
    packed = _packed(owner, order, lists, appends)
    wanted = _packed(appends.key, appends.element, lists, appends)
    again = _again(wanted)
    shown = _found(packed, wanted)
    version = np.where(shown >= 0, np.append(place, NONE)[shown] + 1, NONE)
    version[again] = NONE
    _unseen(version, appends, size, again)
    garbage = np.isin(_packed(lists.key[of], _elements(lists), lists, appends), wanted, invert=True)
    return Recovered(
        length, version, _duplicates(lists, of), incompatible, np.unique(of[garbage]), again
    )


def _found(among: Array, wanted: Array) -> Array:
    """Where each wanted number stands first; -1 where it does not."""
    order = np.argsort(among, kind="stable")
    padded = np.append(among[order], np.iinfo(np.int64).max)
    at = np.searchsorted(padded[:-1], wanted)
    found: Array = np.where(padded[at] == wanted, np.append(order, NONE)[at], NONE)
    return found


def _elements(lists: Lists) -> Array:
    found: Array = lists.element[lists.offset[0] : lists.offset[-1]]
    return found


def _longest(key: Array, length: Array, keys: int) -> Array:
    """The first of the longest reads of each key; -1 where there is none."""
    order = np.lexsort((-np.arange(len(key)), length, key))
    found = np.full(keys, NONE, np.int64)
    found[key[order]] = order
    return found


def _packed(key: Array, element: Array, lists: Lists, appends: Appends) -> Array:
    values = 1 + max(int(lists.element.max(initial=0)), int(appends.element.max(initial=0)))
    found: Array = key.astype(np.int64) * values + element
    return found


def _again(wanted: Array) -> Array:
    """Which appends repeat an earlier one."""
    order = np.argsort(wanted, kind="stable")
    same = wanted[order[1:]] == wanted[order[:-1]]
    found: Array = np.sort(order[1:][same])
    return found


def _duplicates(lists: Lists, of: Array) -> Array:
    """The reads in which a value stands more than once."""
    values = 1 + int(lists.element.max(initial=0))
    packed = np.sort(of * np.int64(values) + _elements(lists))
    found: Array = np.unique(packed[1:][packed[1:] == packed[:-1]] // values)
    return found


def _unseen(version: Array, appends: Appends, size: Array, again: Array) -> None:
    """The one committed append of a key that no list shows comes after those shown."""
    hidden = (version == NONE) & appends.committed
    hidden[again] = False
    ops = np.flatnonzero(hidden)
    alone = np.bincount(appends.key[ops], minlength=len(size))[appends.key[ops]] == 1
    version[ops[alone]] = size[appends.key[ops[alone]]] + 1
