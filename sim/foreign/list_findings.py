"""What the reads of a list-append history show that is no cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sim.columns.history import ABORTED, COMMITTED, Array
from sim.foreign.inference import (
    Finding,
    Inferred,
    by_transaction,
    first_of_key,
    last_writes,
    ranges,
)
from sim.foreign.transactions import APPEND, READ, brief

if TYPE_CHECKING:
    from sim.foreign.lists import Lists

MOST: Final = 1000
"""Findings of one type that are told; more of them tell nothing new."""


def find(lists: Lists, inferred: Inferred) -> None:
    """Add what is found to what was inferred."""
    looks = (_incompatible, _duplicates, _strange, _intermediate, _dirty_update, _lost_update)
    for look in looks:
        inferred.findings += look(lists)[:MOST]
    inferred.findings += _internal(lists)[:MOST]


def _incompatible(lists: Lists) -> list[Finding]:
    """Reads of one list of which neither begins the other."""
    history = lists.history
    found = []
    for read in np.flatnonzero(lists.differs)[:MOST].tolist():
        op = int(lists.read[read])
        key, reader = int(history.key[op]), int(history.tx[op])
        longest = int(lists.longest[key])
        other = int(history.tx[lists.read[longest]])
        here, there = lists.told(read), lists.told(longest)
        at = next(at for at, one in enumerate(here) if at >= len(there) or one != there[at])
        said = (
            f"{history.name(reader)} read key {lists.key_name(key)} as {_around(here, at)}, but "
            f"{history.name(other)} read it as {_around(there, at)}: they disagree at element "
            f"{at + 1}, so no order of the appends explains both"
        )
        found.append(Finding("incompatible-order", tuple(sorted({reader, other})), said, op))
    return found


def _around(told: list[Any], at: int) -> str:
    """A list up to an element, and a bit further; the beginning only counted."""
    low, high = max(0, at - 2), at + 2
    inside = [brief(one) for one in told[low:high]]
    if low:
        inside.insert(0, f"...[{low} elements]")
    if high < len(told):
        inside.append("...")
    return f"[{', '.join(inside)}]"


def _slots_seen(lists: Lists) -> tuple[Array, Array, Array]:
    """Of every element worth a look: its read, its key, the append that made it (or -1).

    Reads that begin the longest one show nothing that it does not show.
    """
    reads = np.concatenate([lists.longest[lists.longest >= 0], np.flatnonzero(lists.differs)])
    reads = np.unique(reads)
    count = lists.length[reads]
    at = ranges(lists.first[reads], count)
    read = np.repeat(reads, count)
    key = lists.history.key[lists.read[read]]
    return read, lists.element[at], lists.writes.of(key, lists.element[at])


def _duplicates(lists: Lists) -> list[Finding]:
    read, element, _ = _slots_seen(lists)
    order = np.lexsort((element, read))
    same = (read[order][1:] == read[order][:-1]) & (element[order][1:] == element[order][:-1])
    found: list[Finding] = []
    told: set[tuple[int, int]] = set()
    for at in order[1:][same].tolist():
        op = int(lists.read[read[at]])
        key, reader = int(lists.history.key[op]), int(lists.history.tx[op])
        if (key, int(element[at])) in told or len(found) >= MOST:
            continue
        told.add((key, int(element[at])))
        said = (
            f"{lists.history.name(reader)} read element {lists.element_name(int(element[at]))} of "
            f"key {lists.key_name(key)} more than once, in {brief(lists.told(int(read[at])))}"
        )
        found.append(Finding("duplicate-elements", (reader,), said, op))
    return found


def _strange(lists: Lists) -> list[Finding]:
    """Elements that nobody appended, that an aborted one did, or that were read too early."""
    history = lists.history
    read, element, write = _slots_seen(lists)
    writer = np.where(write >= 0, history.tx[np.maximum(write, 0)], -1)
    op = lists.read[read]
    aborted = (writer >= 0) & (history.status[np.maximum(writer, 0)] == ABORTED)
    found: list[Finding] = []
    told: set[tuple[str, int, int]] = set()
    for at in np.flatnonzero((writer < 0) | aborted)[: 4 * MOST].tolist():
        type_ = "garbage-read" if writer[at] < 0 else "G1a"
        key = int(history.key[op[at]])
        if (type_, key, int(element[at])) in told:
            continue
        told.add((type_, key, int(element[at])))
        reader, by = int(history.tx[op[at]]), int(writer[at])
        what = f"element {lists.element_name(int(element[at]))} of key {lists.key_name(key)}"
        why = "which nobody appended" if by < 0 else f"which {history.name(by)} appended and failed"
        txns = (reader,) if by < 0 else tuple(sorted((reader, by)))
        said = f"{history.name(reader)} read {what}, {why}"
        found.append(Finding(type_, txns, said, int(op[at])))
    return found


def _intermediate(lists: Lists) -> list[Finding]:
    """Reads that end in an append which its transaction followed by another one."""
    history = lists.history
    full = np.flatnonzero(lists.length > 0)
    op = lists.read[full]
    key = history.key[op]
    element = lists.element[lists.first[full] + lists.length[full] - 1]
    write = lists.writes.of(key, element)
    last = last_writes(history)
    writer = history.tx[np.maximum(write, 0)]
    wrong = (write >= 0) & (writer != history.tx[op]) & ~last[np.maximum(write, 0)]
    found = []
    for at in np.flatnonzero(wrong)[:MOST].tolist():
        reader, by = int(history.tx[op[at]]), int(writer[at])
        said = (
            f"{history.name(reader)} read key {lists.key_name(int(key[at]))} up to element "
            f"{lists.element_name(int(element[at]))}, which {history.name(by)} appended before it "
            "appended more: an intermediate state"
        )
        found.append(Finding("G1b", tuple(sorted((reader, by))), said, int(op[at])))
    return found


def _dirty_update(lists: Lists) -> list[Finding]:
    """An element of an aborted transaction below one of a committed one."""
    history, write = lists.history, lists.slot_write
    status = np.where(write >= 0, history.status[history.tx[np.maximum(write, 0)]], ABORTED + 9)
    same = lists.slot_key[1:] == lists.slot_key[:-1]
    found = []
    for at in np.flatnonzero(same & (status[:-1] == ABORTED) & (status[1:] == COMMITTED)).tolist():
        aborted, other = int(history.tx[write[at]]), int(history.tx[write[at + 1]])
        key = lists.key_name(int(lists.slot_key[at]))
        said = (
            f"{history.name(other)} appended {lists.element_name(int(lists.slot[at + 1]))} to key "
            f"{key} behind {lists.element_name(int(lists.slot[at]))}, which "
            f"{history.name(aborted)} appended and failed"
        )
        found.append(Finding("dirty-update", tuple(sorted((aborted, other))), said))
    return found


def _lost_update(lists: Lists) -> list[Finding]:
    """Two that read the same version of a list and both appended to it."""
    history = lists.history
    first = first_of_key(history)
    reads = np.flatnonzero(first[lists.read])
    op = lists.read[reads]
    key, tx = history.key[op].astype(np.int64), history.tx[op].astype(np.int64)
    keys = len(history.keys)
    writes = np.flatnonzero((history.kind == APPEND) & (history.status[history.tx] == COMMITTED))
    updated = history.tx[writes].astype(np.int64) * keys + history.key[writes]
    updates = np.isin(tx * keys + key, updated)
    reads, op, key, tx = reads[updates], op[updates], key[updates], tx[updates]
    order = np.lexsort((tx, lists.length[reads], key))
    reads, key, tx = reads[order], key[order], tx[order]
    same = (key[1:] == key[:-1]) & (lists.length[reads][1:] == lists.length[reads][:-1])
    found = []
    for at in np.flatnonzero(same)[:MOST].tolist():
        here, there = lists.told(int(reads[at])), lists.told(int(reads[at + 1]))
        if here != there or tx[at] == tx[at + 1]:
            continue
        one, other = int(tx[at]), int(tx[at + 1])
        said = (
            f"{history.name(one)} and {history.name(other)} both read key "
            f"{lists.key_name(int(key[at]))} as {brief(here)}, and both appended to it: one did "
            "not see the other"
        )
        found.append(Finding("lost-update", (one, other), said, int(lists.read[reads[at]])))
    return found


def _internal(lists: Lists) -> list[Finding]:
    """Transactions whose reads contradict what they did before."""
    history = lists.history
    found = []
    for ops in by_transaction(history):
        wrong = _contradiction(history.kind[ops].tolist(), [history.value[at] for at in ops])
        if wrong is None:
            continue
        at, expected = wrong
        op, tx = ops[at], int(history.tx[ops[at]])
        said = (
            f"{history.name(tx)} read key {lists.key_name(int(history.key[op]))} as "
            f"{brief(history.value[op] or [])}, but after what it did before that, {expected}"
        )
        found.append(Finding("internal", (tx,), said, op))
    return found


def _contradiction(kinds: list[int], values: list[Any]) -> tuple[int, str] | None:
    """The first read that contradicts the operations before it on the same key, and why."""
    known: list[Any] | None = None
    own: list[Any] = []
    for at, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        if kind == APPEND:
            own.append(value)
            continue
        told = value or []
        if known is not None:
            if told != known + own:
                return at, f"it had to be {brief(known + own)}"
        elif own and told[-len(own) :] != own:
            return at, f"it had to end in {brief(own)}"
        later = [one for kind, one in zip(kinds[at:], values[at:], strict=True) if kind != READ]
        if any(one in told for one in later):
            return at, "an element that it appended only later could not be there"
        known, own = told, []
    return None
