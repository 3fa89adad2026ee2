"""The versions of all keys side by side: one slot for each, key after key.

Versions are dense, so nothing has to be sorted: a key's slots begin where those of the key before
it end, and version v is the v-th of them. One scatter notes the writer of each slot; the writers of
the version that was read, and of the next one, are gathers.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ddlsim.graph.history import ABORTED, COMMITTED, Array, ColumnHistory, HistoryError, is_write

SPARE_SLOTS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Versions:
    """Slots of a history's versions.

    Of each operation its `slot` (-1 without one) and whether it is a `write`; of each slot its
    `writer`, `installed_by` which operation (both -1 for the initial version, and for one that
    was not written), and `next_writer`, that of the nearest later version of a transaction that is
    a node, or the number of transactions where there is none. `node` tells which transactions
    count, None where all do.
    """

    base: Array
    slot: Array
    write: Array
    writer: Array
    installed_by: Array
    node_writer: Array
    next_writer: Array
    node: Array | None

    @property
    def slots(self) -> int:
        """How many there are."""
        return len(self.writer)


def versions_of(history: ColumnHistory) -> Versions:
    """Lay out the versions of a history; `HistoryError` if two operations install the same one."""
    write = is_write(history.kind)
    size = _sizes(history, write)
    base = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=base[1:])
    slots = int(base[-1])
    if slots < 2**31:
        base = base.astype(np.int32)
    slot = base[history.key] + history.version
    if history.operations and int(history.version.min()) < 0:
        slot[history.version < 0] = -1
    installs = np.flatnonzero(write & (slot >= 0)).astype(np.int32)
    writer = np.full(slots, -1, np.int32)
    installed_by = np.full(slots, -1, np.int32)
    at = slot[installs]
    installed_by[at] = installs
    _refuse_twice(history, installs, at, installed_by)
    writer[at] = history.tx[installs]
    node = _nodes(history)
    node_writer = writer
    if node is not None:
        node_writer = np.where(np.append(node, False)[writer], writer, -1).astype(np.int32)
    next_writer = _next(base, node_writer, history.transactions)
    return Versions(base, slot, write, writer, installed_by, node_writer, next_writer, node)


def missing(versions: Versions) -> int:
    """How many versions no operation writes that come before a written one of their key."""
    unwritten = np.flatnonzero(versions.writer < 0)
    if len(unwritten) < len(versions.base):  # the initial ones alone
        return 0
    key = np.searchsorted(versions.base, unwritten, side="right") - 1
    written = np.flatnonzero(versions.writer >= 0)
    after = np.append(written, versions.slots)[np.searchsorted(written, unwritten)]
    inside = (after < versions.base[key + 1]) & (unwritten > versions.base[key])
    return int(inside.sum())


def _sizes(history: ColumnHistory, write: Array) -> Array:
    """How many versions each key has, the initial one included."""
    keys = history.keys
    size: Array = np.bincount(history.key[write & (history.version > 0)], minlength=keys) + 1
    if bool((history.version >= size[history.key]).any()):
        size = np.ones(keys, np.int64)
        np.maximum.at(size, history.key, history.version.astype(np.int64) + 1)
    if int(size.sum()) > 8 * history.operations + SPARE_SLOTS:
        at = int(np.argmax(history.version))
        raise HistoryError(
            f"operation {at}: version {history.version[at]} of key {history.key[at]}, but versions "
            "are numbered without gaps"
        )
    return size


def _refuse_twice(history: ColumnHistory, installs: Array, at: Array, by: Array) -> None:
    if np.count_nonzero(by >= 0) < len(installs):
        other = by[at] != installs
        one = int(installs[np.argmax(other)])
        raise HistoryError(
            f"operation {one}: version {history.version[one]} of key {history.key[one]} is also "
            f"installed by operation {by[at][np.argmax(other)]}"
        )


def _nodes(history: ColumnHistory) -> Array | None:
    """The transactions that count as committed; None for all.

    An unknown one whose writes have no place in any order has no edges but into it.
    """
    if not history.transactions or int(history.status.max()) == COMMITTED:
        return None
    node: Array = history.status != ABORTED
    return node


def _next(base: Array, node_writer: Array, none: int) -> Array:
    """The writer of the next version in a key's order that a node wrote.

    The initial version of the next key has no writer, so that a key's last version has none.
    """
    following = np.append(node_writer[1:], np.int32(-1))
    gaps = node_writer < 0
    gaps[base[:-1]] = False
    if not gaps.any():
        following[following < 0] = none
        return following
    real = np.flatnonzero(node_writer >= 0)
    place = np.searchsorted(real, np.arange(len(node_writer)), side="right")
    found = np.append(real, len(node_writer))[place]
    key_end = np.repeat(base[1:], np.diff(base))
    inside = found < key_end
    return np.where(inside, np.append(node_writer, -1)[found], none).astype(np.int32)
