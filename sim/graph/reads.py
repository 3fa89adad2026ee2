"""Reads that no order of transactions explains, found one by one over the columns.

internal: a transaction does not find its own last write, or finds two versions of a key that it did
not write between. G1a: a version of an aborted transaction. G1b: one that its writer replaced
itself. garbage-read: one that was not written. dirty-update: a committed version upon an aborted
one. future-read: one that the reader itself installs only later. missed-own-write: another one than
the reader's last write. incompatible-order: a transaction's writes of a key stand in another order
than it made them. fractured-read: a part of what another transaction wrote was seen, and a part
not. Only what committed transactions read counts.
"""

from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.edges import WW, Edges
from ddlsim.graph.fractured import Seen, Written, fractures
from ddlsim.graph.history import (
    ABORTED,
    COMMITTED,
    LIST_READ,
    PRECEDES,
    PREDICATE,
    Array,
    ColumnHistory,
    is_write,
)
from ddlsim.graph.nearby import Lookup
from ddlsim.graph.versions import Versions

SHORT: Final = 12
"""Operations up to which neighbours are compared one distance at a time, without sorting."""


class Finding(NamedTuple):
    """An anomaly of one operation: its transaction, the other one (-1: none), the operation."""

    type: str
    tx: int
    other: int
    op: int


class Pairs(NamedTuple):
    """Operations of one transaction on one key that follow each other there."""

    earlier: Array
    later: Array


def pairs_of(history: ColumnHistory) -> Pairs:
    """Every two successive operations of a transaction on the same key that name a version.

    A predicate does not: which deletion a scan saw, or none, is what the history's maker took it
    for. What its own transaction wrote before is certain: `_missed`.
    """
    named = (history.kind != PRECEDES) & (history.kind != PREDICATE) & (history.version >= 0)
    if not named.all():
        ops = np.flatnonzero(named)
        found = _pairs(history.tx[ops], history.key[ops])
        return Pairs(ops[found.earlier], ops[found.later])
    return _pairs(history.tx, history.key)


def _pairs(tx: Array, key: Array) -> Pairs:
    longest = int(np.bincount(tx).max()) if len(tx) else 0
    if longest > SHORT:
        order = np.argsort(tx.astype(np.int64) * (int(key.max()) + 1) + key, kind="stable")
        same = (tx[order[1:]] == tx[order[:-1]]) & (key[order[1:]] == key[order[:-1]])
        return Pairs(order[:-1][same], order[1:][same])
    earlier: list[Array] = []
    later: list[Array] = []
    for apart in range(1, longest):
        found = np.flatnonzero((key[apart:] == key[:-apart]) & (tx[apart:] == tx[:-apart]))
        earlier.append(found)
        later.append(found + apart)
    if not any(len(one) for one in earlier):
        none = np.zeros(0, np.int64)
        return Pairs(none, none)
    first, second = np.concatenate(earlier), np.concatenate(later)
    order = np.lexsort((first, second))
    first, second = first[order], second[order]
    nearest = np.append(second[1:] != second[:-1], True)
    return Pairs(first[nearest], second[nearest])


def dirty(history: ColumnHistory, versions: Versions, pairs: Pairs) -> list[Finding]:
    """Every finding, those of one type together, each type by operation."""
    found = _internal(history, versions, pairs)
    reads = ~versions.write & (versions.slot >= 0)
    if versions.node is not None:
        reads &= (history.status == COMMITTED)[history.tx]
        reads &= history.kind != PRECEDES
        found += _of_aborted(history, versions, reads)
        found += _upon_aborted(history, versions)
    found += _intermediate(history, versions, pairs, reads)
    found += _out_of_order(history, versions, pairs)
    if bool((versions.writer < 0).sum() > len(versions.base) - 1):
        ops = np.flatnonzero(reads & (history.version > 0) & (history.kind != PRECEDES))
        ops = ops[versions.writer[versions.slot[ops]] < 0]
        found += [Finding("garbage-read", int(history.tx[op]), -1, int(op)) for op in ops]
    found += _too_early(history, versions, reads)
    return found + _missed(history, versions, found)


def _too_early(history: ColumnHistory, versions: Versions, reads: Array) -> list[Finding]:
    """Reads of versions that their own transaction installs only later."""
    ops = np.flatnonzero(reads & (history.version > 0) & (history.kind != PRECEDES))
    by = versions.installed_by[versions.slot[ops]]
    early = (by > ops) & (history.tx[np.maximum(by, 0)] == history.tx[ops])
    return [Finding("future-read", int(history.tx[op]), -1, int(op)) for op in ops[early]]


def _missed(history: ColumnHistory, versions: Versions, found: list[Finding]) -> list[Finding]:
    """Reads of another version than the last own write: of transactions with an `internal` one, and
    of those that wrote a key and took it for absent, too.
    """
    missed: list[Finding] = []
    suspected = {one.tx for one in found if one.type == "internal"}
    for tx in sorted(suspected.union(_took_own_for_absent(history, versions))):
        own: dict[int, int] = {}
        low, high = np.searchsorted(history.tx, [tx, tx + 1]).tolist()
        for op in range(low, high):
            key, version = int(history.key[op]), int(history.version[op])
            if history.kind[op] == PRECEDES or version < 0:
                continue
            if versions.write[op]:
                own[key] = version
            elif own.get(key, version) != version:
                missed.append(Finding("missed-own-write", tx, -1, op))
    return missed


def _took_own_for_absent(history: ColumnHistory, versions: Versions) -> list[int]:
    """Committed transactions of which a predicate names a key that they write."""
    scans = np.flatnonzero(history.kind == PREDICATE)
    scans = scans[(history.status == COMMITTED)[history.tx[scans]]]
    if not len(scans):
        return []
    writes = np.flatnonzero(versions.write)
    writes = writes[np.isin(history.tx[writes], history.tx[scans])]
    theirs, ours = (
        history.tx[ops].astype(np.int64) * history.keys + history.key[ops]
        for ops in (writes, scans)
    )
    found: list[int] = np.unique(history.tx[scans[np.isin(ours, theirs)]]).tolist()
    return found


def suspects(history: ColumnHistory, versions: Versions, back: list[Edges]) -> Array | None:
    """Which transactions may have a fractured read, by the edges that go back; None for all.

    From a writer over what was seen of it to the reader, over what was missed to the next writers
    and on to the first: a cycle, which holds an edge that goes back. If that is no write, it is one
    of the reader; unless the graph lacks that edge, as of what is read of an aborted transaction.
    """
    if any(bool((block.kind & WW).any()) for block in back):
        return None
    lacking = history.strict_only
    if np.count_nonzero(versions.node_writer < 0) >= len(versions.base):  # not the initial alone
        lacking = lacking | ((versions.node_writer[versions.slot] < 0) & (history.version > 0))
    found = np.zeros(history.transactions, np.bool_)
    found[history.tx[np.flatnonzero(lacking)]] = True
    for block in back:
        found[block.source] = found[block.target] = True
    return found


def fractured_reads(
    history: ColumnHistory, node: Array | None, readers: Array | None = None
) -> list[Finding] | None:
    """Transactions that saw one write of another and not its write of another key.

    Each with the read of the other key; None if there is too much to compare. `readers` marks the
    transactions whose reads are compared, None all. A predicate reads the version that it took for
    absent (Adya: of each row one); after a write of its own to that key this is not certain.
    """
    chosen = np.arange(history.operations) if readers is None else _of_keys_of(history, readers)
    chosen = chosen[(history.kind[chosen] != PRECEDES) & (history.version[chosen] >= 0)]
    reading = history.status == COMMITTED
    reading = reading if readers is None else reading & readers
    predicate = history.kind[chosen] == PREDICATE
    ops = chosen[~predicate]
    ops = ops[np.lexsort((ops, history.key[ops], history.tx[ops]))]
    write = is_write(history.kind[ops])
    written = _written(history, ops[write], node)
    tx, key = history.tx[ops], history.key[ops]
    first = np.append(True, (tx[1:] != tx[:-1]) | (key[1:] != key[:-1]))[: len(ops)]
    reads = ops[first & ~write & reading[tx]]
    scans = chosen[predicate]
    scans = scans[reading[history.tx[scans]]]
    if len(scans):
        reads = np.concatenate([reads, _scanned(history, scans, ops[write], written)])
    places, listed = history.version[reads].astype(np.int64), history.kind[reads] == LIST_READ
    found = fractures(written, Seen(history.tx[reads], history.key[reads], places, listed))
    if found is None:
        return None
    found_reads = {
        Finding("fractured-read", one.reader, one.writer, int(reads[one.row])) for one in found
    }
    return sorted(found_reads, key=lambda one: (one.op, one.other))


def _of_keys_of(history: ColumnHistory, readers: Array) -> Array:
    """All operations on the keys that some transactions' operations are on."""
    theirs = Lookup(history.tx).at(np.flatnonzero(readers), readers)
    wanted = np.zeros(history.keys, np.bool_)
    wanted[history.key[theirs]] = True
    return Lookup(history.key).at(np.flatnonzero(wanted), wanted)


def _written(history: ColumnHistory, wrote: Array, node: Array | None) -> Written:
    """What nodes wrote, a row for each of their keys; `wrote` is sorted by transaction and key."""
    if node is not None:
        wrote = wrote[node[history.tx[wrote]]]
    wrote = wrote[np.lexsort((history.version[wrote], history.key[wrote], history.tx[wrote]))]
    tx, key = history.tx[wrote], history.key[wrote]
    first = np.append(True, (tx[1:] != tx[:-1]) | (key[1:] != key[:-1]))[: len(wrote)]
    last = np.append(first[1:], True)[: len(wrote)]
    place = history.version[wrote].astype(np.int64) - 1
    return Written(tx[first], key[first], place[first], place[last])


def _scanned(history: ColumnHistory, scans: Array, own: Array, written: Written) -> Array:
    """The predicate reads of keys that anyone wrote, and their own transaction not before.

    `own` has all writes, sorted by transaction, key and operation.
    """
    wanted = np.zeros(history.keys, np.bool_)
    wanted[written.key] = True
    scans = scans[wanted[history.key[scans]]]
    packed = history.tx[own].astype(np.int64) * history.keys + history.key[own]
    mine = history.tx[scans].astype(np.int64) * history.keys + history.key[scans]
    at = np.searchsorted(packed, mine)
    after = np.append(packed, -1)[at] == mine
    after &= np.append(own, -1)[at] < scans
    found: Array = scans[~after]
    return found


def _internal(history: ColumnHistory, versions: Versions, pairs: Pairs) -> list[Finding]:
    """A read after an own operation on the key must show the version of that operation."""
    if not len(pairs.later):
        return []
    reads = ~versions.write[pairs.later]
    reads &= (history.status == COMMITTED)[history.tx[pairs.later]]
    wrong = reads & (history.version[pairs.later] != history.version[pairs.earlier])
    return [
        Finding("internal", int(history.tx[op]), -1, int(op)) for op in np.sort(pairs.later[wrong])
    ]


def _of_aborted(history: ColumnHistory, versions: Versions, reads: Array) -> list[Finding]:
    assert versions.node is not None
    aborted = np.append(history.status == ABORTED, False)
    ops = np.flatnonzero(reads)
    writer = versions.writer[versions.slot[ops]]
    bad = aborted[writer]
    return [
        Finding("G1a", int(history.tx[op]), int(of), int(op))
        for op, of in zip(ops[bad], writer[bad], strict=True)
    ]


def _upon_aborted(history: ColumnHistory, versions: Versions) -> list[Finding]:
    """A version of a node whose predecessor in the order is one of an aborted transaction."""
    aborted = np.append(history.status == ABORTED, False)
    before = np.flatnonzero(aborted[versions.writer[:-1]])
    last = np.zeros(versions.slots + 1, np.bool_)
    last[versions.base[1:]] = True
    before = before[~last[before + 1] & (versions.node_writer[before + 1] >= 0)]
    return [
        Finding(
            "dirty-update",
            int(versions.writer[at + 1]),
            int(versions.writer[at]),
            int(versions.installed_by[at + 1]),
        )
        for at in before
    ]


def _intermediate(
    history: ColumnHistory, versions: Versions, pairs: Pairs, reads: Array
) -> list[Finding]:
    """Versions that their own transaction replaced, as read by others."""
    both = versions.write[pairs.earlier] & versions.write[pairs.later]
    replaced = versions.slot[pairs.earlier[both]]
    if not len(replaced) or bool((versions.write[pairs.later] & ~both).any()):
        replaced = _replaced(history, versions, pairs)
    replaced = np.concatenate([replaced, _followed_without_place(history, versions)])
    replaced = replaced[replaced >= 0]
    if not len(replaced):
        return []
    is_replaced = np.zeros(versions.slots, np.bool_)
    is_replaced[replaced] = True
    ops = np.flatnonzero(reads & (history.kind != PRECEDES))
    ops = ops[is_replaced[versions.slot[ops]]]
    writer = versions.writer[versions.slot[ops]]
    other = (writer != history.tx[ops]) & (history.status[writer] != ABORTED)
    return [
        Finding("G1b", int(history.tx[op]), int(of), int(op))
        for op, of in zip(ops[other], writer[other], strict=True)
    ]


def _replaced(history: ColumnHistory, versions: Versions, pairs: Pairs) -> Array:
    """The slots of writes that a later write of the same transaction on the key replaced."""
    slots: Array = versions.slot[_rewritten(history, versions, pairs).earlier]
    return slots


def _followed_without_place(history: ColumnHistory, versions: Versions) -> Array:
    """The slots of writes with a later one of their transaction on the key whose place is unknown.

    Wherever that one stands, the transaction did not leave what it wrote before (Adya's G1b).
    """
    unplaced = np.flatnonzero(versions.write & (history.version < 0))
    if not len(unplaced):
        return unplaced
    of = np.zeros(history.transactions, np.bool_)
    of[history.tx[unplaced]] = True
    again = _successive(history, np.flatnonzero(versions.write & of[history.tx]))
    slots: Array = versions.slot[again.earlier]
    return slots


def _rewritten(history: ColumnHistory, versions: Versions, pairs: Pairs) -> Pairs:
    """Every two successive writes of a transaction on a key, whatever it read between them."""
    touched = np.unique(np.concatenate([pairs.earlier, pairs.later]))
    return _successive(history, touched[versions.write[touched]])


def _successive(history: ColumnHistory, writes: Array) -> Pairs:
    """Every two of these operations, given in their order, that follow each other on a key."""
    packed = history.tx[writes].astype(np.int64) * max(history.keys, 1) + history.key[writes]
    order = np.argsort(packed, kind="stable")
    again = packed[order[1:]] == packed[order[:-1]]
    return Pairs(writes[order[:-1][again]], writes[order[1:][again]])


def _out_of_order(history: ColumnHistory, versions: Versions, pairs: Pairs) -> list[Finding]:
    """Writes whose version is before that of an earlier write of their transaction on the key.

    Of a version order Adya asks that it has a transaction's writes in their order.
    """
    later = versions.write[pairs.later]
    if not later.any():
        return []
    both = versions.write[pairs.earlier] & later
    again = Pairs(pairs.earlier[both], pairs.later[both])
    if bool((later & ~both).any()):
        again = _rewritten(history, versions, pairs)
    wrong = versions.slot[again.later] < versions.slot[again.earlier]
    wrong &= history.status[history.tx[again.later]] != ABORTED
    return [
        Finding("incompatible-order", int(history.tx[op]), -1, int(op))
        for op in np.sort(again.later[wrong])
    ]


def lost_updates(
    history: ColumnHistory, versions: Versions, pairs: Pairs, inside: Array
) -> list[Finding]:
    """Two committed transactions that read one version of a key and both wrote the key.

    Both writes come after that version, so the two lie on a cycle: `inside` marks the transactions
    that may.
    """
    update = ~versions.write[pairs.earlier] & versions.write[pairs.later]
    update &= versions.slot[pairs.earlier] >= 0
    update &= versions.slot[pairs.later] > versions.slot[pairs.earlier]
    update &= inside[history.tx[pairs.earlier]]
    if versions.node is not None:
        update &= (history.status == COMMITTED)[history.tx[pairs.earlier]]
    ops = pairs.earlier[update]
    order = np.lexsort((ops, versions.slot[ops]))
    ops = ops[order]
    slot, tx = versions.slot[ops], history.tx[ops]
    again = np.flatnonzero((slot[1:] == slot[:-1]) & (tx[1:] != tx[:-1]))
    return [Finding("lost-update", int(tx[at]), int(tx[at + 1]), int(ops[at + 1])) for at in again]
