"""What the reads of a list-append history show that is no cycle."""

from typing import Any, Final

import numpy as np

from ddlsim.foreign.inference.inference import (
    MOST_FOUND,
    Finding,
    Found,
    last_writes,
    most_of_each,
    operations_of,
)
from ddlsim.foreign.inference.lists import Lists
from ddlsim.foreign.readers.brief import Notation, hashable
from ddlsim.foreign.readers.operations import APPEND, READ, ranges
from ddlsim.graph.fractured import NOWHERE, Seen, Written, fractures
from ddlsim.graph.history import ABORTED, COMMITTED, Array

WITHIN: Final = frozenset({"internal", "missed-own-write", "future-read"})
"""What a transaction shows by itself."""


def find(lists: Lists, found: Found) -> None:
    """Add every kind of finding."""
    looks = (_incompatible, _out_of_order, _duplicates, _strange, _intermediate, _dirty_update,
             _lost_update, _internal, _too_early)  # fmt: skip
    for look in looks:
        found.findings += most_of_each(look(lists))


def find_uncommitted(lists: Lists, found: Found) -> None:
    """What breaks read-uncommitted, whether or not the writer committed."""
    found.findings += _duplicates(lists)
    found.findings += most_of_each(one for one in _strange(lists) if one.type == "garbage-read")


def find_incompatible(lists: Lists, found: Found) -> None:
    """Reads of one list that contradict each other, or the order of a transaction's appends."""
    found.findings += _incompatible(lists)
    found.findings += _out_of_order(lists)


def _incompatible(lists: Lists) -> list[Finding]:
    """Reads of one list of which neither begins the other.

    Where they agree without the elements of others than committed transactions, those were read
    before they were undone: read-uncommitted allows that.
    """
    history = lists.history
    found = []
    wrote = _committed(lists) if lists.differs.any() else set()
    for read in np.flatnonzero(lists.differs)[:MOST_FOUND].tolist():
        op = int(lists.read[read])
        key, reader = int(history.key[op]), int(history.tx[op])
        longest = int(lists.longest[key])
        other = int(history.tx[lists.read[longest]])
        here, there = lists.elements(read), lists.elements(longest)
        known = [hashable(one) for one in there]
        differs = (at for at, one in enumerate(here) if [hashable(one)] != known[at : at + 1])
        at = next(differs)
        shown = [_around(each, at, history.notation) for each in (here, there)]
        said = (
            f"{history.name(reader)} read key {lists.key_name(key)} as {shown[0]}, but "
            f"{history.name(other)} read it as {shown[1]}: they disagree at element "
            f"{at + 1}, so no order of the appends explains both"
        )
        told = (map(hashable, each) for each in (here, there))
        kept = [[one for one in each if (key, one) in wrote] for each in told]
        agree = all(one == other for one, other in zip(*kept, strict=False))
        txns = tuple(sorted({reader, other}))
        weakest = "read-committed" if agree else ""
        found.append(Finding("incompatible-order", txns, said, op, weakest))
    return found


def _committed(lists: Lists) -> set[tuple[int, Any]]:
    """Keys and elements that committed transactions appended, of keys whose reads disagree."""
    history = lists.history
    append = (history.kind == APPEND) & (history.status[history.tx] == COMMITTED)
    ops = np.flatnonzero(append & lists.broken[history.key])
    return {(int(history.key[op]), hashable(history.value(op))) for op in ops.tolist()}


def _around(elements: list[Any], at: int, write: Notation) -> str:
    """A list up to an element, and a bit further; the beginning only counted."""
    low, high = max(0, at - 2), at + 2
    inside = [write(one) for one in elements[low:high]]
    if low:
        inside.insert(0, f"...[{low} elements]")
    if high < len(elements):
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
    read, element, write = _slots_seen(lists)
    chosen = lists.sure(write)
    if not len(write) or int(np.bincount(write[chosen], minlength=1).max()) < 2:
        return []
    read, element = read[chosen], element[chosen]
    order = np.lexsort((element, read))
    same = (read[order][1:] == read[order][:-1]) & (element[order][1:] == element[order][:-1])
    found: list[Finding] = []
    reported: set[tuple[int, int]] = set()
    for at in order[1:][same].tolist():
        op = int(lists.read[read[at]])
        key, reader = int(lists.history.key[op]), int(lists.history.tx[op])
        if (key, int(element[at])) in reported or len(found) >= MOST_FOUND:
            continue
        reported.add((key, int(element[at])))
        said = (
            f"{lists.history.name(reader)} read element {lists.element_name(int(element[at]))} of "
            f"key {lists.key_name(key)} more than once, in {lists.history.value_text(op)}"
        )
        found.append(Finding("duplicate-elements", (reader,), said, op))
    return found


def _strange(lists: Lists) -> list[Finding]:
    """Elements never appended, or appended by an aborted transaction."""
    history = lists.history
    read, element, write = _slots_seen(lists)
    writer = np.where(write >= 0, history.tx[np.maximum(write, 0)], -1)
    op = lists.read[read]
    aborted = lists.sure(write)
    aborted[aborted] = history.status[writer[aborted]] == ABORTED
    found: list[Finding] = []
    reported: set[tuple[str, int, int]] = set()
    garbage, undone = (np.flatnonzero(one)[: 4 * MOST_FOUND] for one in (writer < 0, aborted))
    for at in np.sort(np.concatenate([garbage, undone])).tolist():
        type_ = "garbage-read" if writer[at] < 0 else "G1a"
        key = int(history.key[op[at]])
        if (type_, key, int(element[at])) in reported:
            continue
        reported.add((type_, key, int(element[at])))
        reader, by = int(history.tx[op[at]]), int(writer[at])
        what = f"element {lists.element_name(int(element[at]))} of key {lists.key_name(key)}"
        why = (
            "which no transaction appended"
            if by < 0
            else f"which {history.name(by)} appended and failed"
        )
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
    differs = lists.differs[full]
    write = lists.slot_write[np.where(differs, 0, lists.base[key] + lists.length[full] - 1)]
    write[differs] = lists.writes.of(key[differs], element[differs])
    last = last_writes(history)
    writer = history.tx[np.maximum(write, 0)]
    wrong = lists.sure(write) & (writer != history.tx[op]) & ~last[np.maximum(write, 0)]
    found = []
    for at in np.flatnonzero(wrong)[:MOST_FOUND].tolist():
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
    status = np.full(len(write), ABORTED + 9)
    sure = lists.sure(write)
    status[sure] = history.status[history.tx[write[sure]]]
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
    history, groups = lists.history, lists.groups
    updates = groups.new & groups.read & (groups.spread(groups.sums(~groups.read)) > 0)
    op = groups.ops[updates]
    op = np.sort(op[history.status[history.tx[op]] == COMMITTED])
    reads = np.searchsorted(lists.read, op)
    key, tx = history.key[op], history.tx[op]
    order = np.argsort(lists.base[key] + key + lists.length[reads], kind="stable")
    reads, key, tx = reads[order], key[order], tx[order]
    same = (key[1:] == key[:-1]) & (lists.length[reads][1:] == lists.length[reads][:-1])
    found = []
    for at in np.flatnonzero(same)[:MOST_FOUND].tolist():
        here, there = lists.elements(int(reads[at])), lists.elements(int(reads[at + 1]))
        if tx[at] == tx[at + 1] or not _is_same(here, there):
            continue
        one, other = int(tx[at]), int(tx[at + 1])
        shown = int(lists.read[reads[at]])
        said = (
            f"{history.name(one)} and {history.name(other)} both read key "
            f"{history.key_text(shown)} as {history.value_text(shown)}, and both appended to "
            "it: one did not see the other"
        )
        found.append(Finding("lost-update", (one, other), said, shown))
    return found


def _internal(lists: Lists) -> list[Finding]:
    """Transactions whose reads contradict what they did before."""
    history = lists.history
    found = []
    strange = lists.shared.copy()
    strange[lists.read[lists.broken[history.key[lists.read]]]] = True
    for ops in operations_of(lists.groups, lists.groups.doubtful(strange)):
        wrong = _contradictions(
            history.kind[ops].tolist(), [history.value(at) for at in ops], history.notation
        )
        for type_, (at, expected) in wrong.items():
            op, tx = ops[at], int(history.tx[ops[at]])
            said = (
                f"{history.name(tx)} read key {lists.key_name(int(history.key[op]))} as "
                f"{history.value_text(op)}, but after what it did before that, {expected}"
            )
            found.append(Finding(type_, (tx,), said, op))
    return found


def _contradictions(
    kinds: list[int], values: list[Any], write: Notation
) -> dict[str, tuple[int, str]]:
    """The first read that contradicts the operations before it on the same key, and why, by type.

    `internal` is any; `missed-own-write` one that does not end in what the transaction appended.
    """
    known: list[Any] | None = None
    since: list[Any] = []
    own: list[Any] = []
    found: dict[str, tuple[int, str]] = {}
    for at, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        if kind == APPEND:
            since.append(value)
            own.append(value)
            continue
        elements = value or []
        if own and not _is_same(elements[-len(own) :], own):
            found.setdefault("missed-own-write", (at, f"it had to end in {write(own)}"))
        if known is None and since and not _is_same(elements[-len(since) :], since):
            found.setdefault("internal", (at, f"it had to end in {write(since)}"))
        if known is not None and not _is_same(elements, known + since):
            found.setdefault("internal", (at, f"it had to be {write(known + since)}"))
        known, since = elements, []
    return found


def _is_same(one: list[Any], other: list[Any]) -> bool:
    """Whether two lists are one, 1 and true being two."""
    return one == other and [*map(hashable, one)] == [*map(hashable, other)]


def _too_early(lists: Lists) -> list[Finding]:
    """Transactions that read what they appended only later."""
    history = lists.history
    if not len(history.tx):
        return []
    groups = lists.groups
    later = ~groups.read & (groups.before(groups.read) > 0) & ~lists.shared[groups.ops]
    longer = groups.most(np.where(groups.read, groups.length, 0)) > groups.place
    later &= longer | lists.broken[history.key[groups.ops]]
    found = []
    for at in np.flatnonzero(later).tolist():
        append, first = int(groups.ops[at]), at
        while not groups.new[first]:
            first -= 1
        for op in groups.ops[first:at].tolist():
            elements = map(hashable, history.value(op) or []) if history.kind[op] == READ else ()
            if hashable(history.value(append)) in elements:
                tx = int(history.tx[op])
                said = (
                    f"{history.name(tx)} read key {lists.key_name(int(history.key[op]))} as "
                    f"{history.value_text(op)}, with element {history.value_text(append)}, "
                    "which it appended only later"
                )
                found.append(Finding("future-read", (tx,), said, op))
                break
    return found


def _out_of_order(lists: Lists) -> list[Finding]:
    """Elements that stand in a list in another order than their transaction appended them."""
    history = lists.history
    if not len(history.tx):
        return []
    groups = lists.groups
    known = ~groups.read & ~lists.shared[groups.ops] & ~lists.broken[history.key[groups.ops]]
    known &= history.status[history.tx[groups.ops]] != ABORTED
    rows = np.flatnonzero(known)
    number, place, ops = groups.number[rows], groups.place[rows], groups.ops[rows]
    wrong = (number[1:] == number[:-1]) & (place[1:] < place[:-1])
    found = []
    for at in np.flatnonzero(wrong)[:MOST_FOUND].tolist():
        one, other = int(ops[at]), int(ops[at + 1])
        key, tx = int(history.key[one]), int(history.tx[one])
        read = int(lists.longest[key])
        reader = int(history.tx[lists.read[read]])
        said = (
            f"{history.name(tx)} appended {history.value_text(one)} to key {lists.key_name(key)} "
            f"and then {history.value_text(other)}, but {history.name(reader)} read it as "
            f"{history.value_text(int(lists.read[read]))}"
        )
        weakest = "" if history.status[tx] == COMMITTED else "read-committed"
        txns = tuple(sorted({reader, tx}))
        found.append(Finding("incompatible-order", txns, said, other, weakest))
    return found


def fractured(lists: Lists, found: Found) -> list[Finding] | None:
    """Reads of a part of what a transaction appended; None if there is too much to compare.

    A transaction that contradicts itself is left out: what it saw of others is not certain.
    """
    node = found.node
    history = lists.history
    if not len(history.tx):
        return []
    groups = lists.groups
    ops, key = groups.ops, history.key[groups.ops]
    known = ~lists.broken[key]
    wrote = np.flatnonzero(known & ~groups.read & ~lists.shared[ops] & node[history.tx[ops]])
    number, at = np.unique(groups.number[wrote], return_index=True)
    first = np.full(int(groups.number[-1]) + 1, NOWHERE)
    last = np.zeros(len(first), np.int64)
    np.minimum.at(first, groups.number[wrote], groups.place[wrote])
    np.maximum.at(last, groups.number[wrote], groups.place[wrote])
    some = ops[wrote[at]]
    written = Written(history.tx[some], history.key[some], first[number], last[number])
    strange = [tx for one in found.findings if one.type in WITHIN for tx in one.txns]
    reads = known & groups.read & (groups.before(groups.read) == 0)
    rows = np.flatnonzero(reads & ~np.isin(history.tx[ops], strange))
    count = groups.length[rows] - groups.before(~groups.read)[rows]
    listed = np.ones(len(rows), np.bool_)
    parts = fractures(written, Seen(history.tx[ops[rows]], key[rows], count, listed))
    if parts is None:
        return None
    findings = []
    for one in parts[:MOST_FOUND]:
        name, writer = history.name(one.reader), history.name(one.writer)
        said = (
            f"{name} saw what {writer} appended to key {lists.key_name(one.seen)}, and not what "
            f"{writer} appended to key {lists.key_name(one.missed)}: a part of {writer}"
        )
        findings.append(Finding("fractured-read", tuple(sorted((one.reader, one.writer))), said))
    return findings
