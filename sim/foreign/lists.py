"""List-append histories: the longest read of a list tells the order of its versions.

Every element was appended once, so a list that is read tells who wrote before it, and in which
order. All reads of a key must be beginnings of the longest one; elements that no read shows come
after it. (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
Observations", VLDB 2020.)
"""

from typing import Any, Final

import numpy as np

from sim.columns.edges import RW, WR, WW, Edges, edges, joined
from sim.columns.history import ABORTED, COMMITTED, NONE, Array
from sim.foreign import list_findings
from sim.foreign.inference import Inferred, Writes, crossed, ranges
from sim.foreign.transactions import APPEND, READ, Transactions, brief, interned, whole

CHUNK: Final = 4_000_000
_NOBODY: Final = np.empty(0, np.int64)


class Lists:
    """The lists of a history: reads, the longest of each key, and who wrote its elements.

    `slot` numbers the elements of the longest reads, key after key; a key's begin at `base`.
    """

    def __init__(self, history: Transactions) -> None:
        self.history = history
        self.read: Array = np.flatnonzero(history.kind == READ)
        told = [history.value[at] or [] for at in self.read.tolist()]
        self.length: Array = np.fromiter(map(len, told), np.int64, len(told))
        self.first: Array = np.cumsum(self.length) - self.length
        flat = [one for value in told for one in value]
        written = np.flatnonzero(history.kind == APPEND)
        appended = [history.value[at] for at in written.tolist()]
        self.names: Any = None
        numbers, elements = whole(appended), whole(flat)
        if numbers is None or elements is None:
            self.names, both = interned(appended + flat)
            numbers, elements = both[: len(appended)], both[len(appended) :]
        self.element: Array = elements
        value = np.zeros(len(history.tx), np.int64)
        value[written] = numbers
        self.appended: Array = value
        self.writes = Writes(history, value)
        self._order()
        self._compare()

    def _order(self) -> None:
        key = self.history.key[self.read]
        keys = len(self.history.keys)
        by_length = np.lexsort((-np.arange(len(key)), self.length, key))
        last = np.ones(len(key), np.bool_)
        last[:-1] = key[by_length][1:] != key[by_length][:-1]
        self.longest: Array = np.full(keys, NONE)
        self.longest[key[by_length[last]]] = by_length[last]
        self.size: Array = np.zeros(keys, np.int64)
        read = self.longest >= 0
        self.size[read] = self.length[self.longest[read]]
        self.base: Array = np.cumsum(self.size) - self.size
        first = np.zeros(keys, np.int64)
        first[read] = self.first[self.longest[read]]
        self.slot: Array = self.element[ranges(first, self.size)]
        self.slot_key: Array = np.repeat(np.arange(keys), self.size)
        self.slot_write: Array = self.writes.of(self.slot_key, self.slot)

    def _compare(self) -> None:
        """Which reads are no beginning of the longest one of their key."""
        key = self.history.key[self.read]
        differs = np.zeros(len(self.read), np.bool_)
        ends = self.first + self.length
        start = 0
        while start < len(self.read):
            stop = int(np.searchsorted(ends, ends[start] + CHUNK, side="right"))
            stop = max(stop, start + 1)
            part = slice(start, stop)
            count = self.length[part]
            low, high = int(self.first[start]), int(ends[stop - 1])
            wanted = self.slot[ranges(self.base[key[part]], count)]
            wrong = np.flatnonzero(self.element[low:high] != wanted)
            differs[start + np.searchsorted(ends[part] - low, wrong, side="right")] = True
            start = stop
        self.differs: Array = differs

    def element_name(self, element: int) -> str:
        """An element as it was told."""
        return brief(element if self.names is None else self.names[element])

    def key_name(self, key: int) -> str:
        """A key as it was told."""
        return brief(self.history.keys[key])

    def told(self, read: int) -> list[Any]:
        """What a read saw, by its place among reads."""
        return self.history.value[int(self.read[read])] or []


def infer(history: Transactions) -> Inferred:
    """Edges and findings of a list-append history."""
    lists = Lists(history)
    node = history.status == COMMITTED
    seen = _seen(lists)
    node[history.tx[seen]] = True
    node &= history.status != ABORTED
    inferred = Inferred(node)
    if len(lists.writes.twice):
        op = int(lists.writes.twice[0])
        inferred.open.append(
            f"{len(lists.writes.twice)} appends of an element that was appended to its key before, "
            f"the first one {lists.element_name(int(lists.appended[op]))} to key "
            f"{lists.key_name(int(history.key[op]))} by {history.name(int(history.tx[op]))}: "
            "who wrote what was read is not certain"
        )
    slots = _Slots(lists, node)
    inferred.blocks = [slots.ww(), *slots.reads(), slots.unseen()]
    list_findings.find(lists, inferred)
    inferred.leave_out(lists.key_name(key) for key in slots.dropped)
    return inferred


def _seen(lists: Lists) -> Array:
    """The appends whose element was read."""
    found = lists.slot_write[lists.slot_write >= 0]
    if not lists.differs.any():
        return found
    chosen = np.flatnonzero(lists.differs)
    at = ranges(lists.first[chosen], lists.length[chosen])
    key = np.repeat(lists.history.key[lists.read[chosen]], lists.length[chosen])
    also = lists.writes.of(key, lists.element[at])
    return np.concatenate([found, also[also >= 0]])


class _Slots:
    """Edges between the writers and the readers of slots."""

    def __init__(self, lists: Lists, node: Array) -> None:
        self._lists = lists
        self._node = node
        self._history = lists.history
        write = lists.slot_write
        writer = np.where(write >= 0, lists.history.tx[np.maximum(write, 0)], NONE)
        real = (writer >= 0) & node[np.maximum(writer, 0)] if len(node) else writer >= 0
        self._real = np.flatnonzero(real)
        """Slots that a node wrote."""
        self._writer = writer[self._real]
        self._key = lists.slot_key[self._real]
        self._write = write[self._real]
        self._again = _shown_twice(self._write)
        self.dropped: list[int] = []
        """Keys with too many readers and unseen appends to pair them all."""

    def ww(self) -> Edges:
        """From the writer of each element to that of the next one."""
        same = self._key[1:] == self._key[:-1]
        same &= ~self._again[1:] & ~self._again[:-1]
        return edges(self._writer[:-1][same], self._writer[1:][same], WW, self._write[1:][same])

    def reads(self) -> list[Edges]:
        """From the writer of what was read last to the reader, from there to the next writer."""
        lists, history = self._lists, self._history
        good = np.flatnonzero(~lists.differs)
        op = lists.read[good]
        key, reader = history.key[op], history.tx[op]
        after = lists.base[key] + lists.length[good]
        place = np.searchsorted(self._real, after)
        before = np.maximum(place - 1, 0)
        later = np.minimum(place, max(len(self._real) - 1, 0))
        if not len(self._real):
            return []
        from_ = (place > 0) & (self._key[before] == key)
        to = (place < len(self._real)) & (self._key[later] == key)
        return [
            edges(self._writer[before[from_]], reader[from_], WR, op[from_]),
            edges(reader[to], self._writer[later[to]], RW, op[to]),
        ]

    def unseen(self) -> Edges:
        """From the last writer, and from whoever read all, to those whose elements nobody read."""
        lists, history = self._lists, self._history
        append = np.flatnonzero((history.kind == APPEND) & self._node[history.tx])
        append = append[history.status[history.tx[append]] == COMMITTED]
        append = append[~np.isin(append, lists.slot_write)]
        append = append[lists.longest[history.key[append]] >= 0]
        if lists.differs.any():
            broken = np.unique(history.key[lists.read[lists.differs]])
            append = append[~np.isin(history.key[append], broken)]
        if not len(append):
            return joined([])
        key = history.key[append]
        blocks = [self._after_last(append, key)] if len(self._real) else []
        blocks.append(self._after_readers(append))
        return joined(blocks)

    def _after_last(self, append: Array, key: Array) -> Edges:
        place = np.searchsorted(self._key, key, side="right")
        last = np.maximum(place - 1, 0)
        has = (place > 0) & (self._key[last] == key)
        return edges(
            self._writer[last[has]], history_tx(self._history, append[has]), WW, append[has]
        )

    def _after_readers(self, append: Array) -> Edges:
        lists, history = self._lists, self._history
        keys = np.unique(history.key[append])
        full = lists.length == lists.size[history.key[lists.read]]
        full &= np.isin(history.key[lists.read], keys) & ~lists.differs
        readers, writers = self._by_key(lists.read[full]), self._by_key(append)
        blocks = []
        for key, (after, _) in writers.items():
            before, ops = readers.get(key, (_NOBODY, _NOBODY))
            pairs = crossed(before, after, history)
            blocks.append(edges(before[pairs.before], after[pairs.after], RW, ops[pairs.before]))
            if pairs.dropped:
                self.dropped.append(key)
        return joined(blocks)

    def _by_key(self, ops: Array) -> dict[int, tuple[Array, Array]]:
        """Of each key, the transactions of some operations, and the first operation of each."""
        history = self._history
        order = np.lexsort((ops, history.tx[ops], history.key[ops]))
        ops = ops[order]
        key, tx = history.key[ops], history.tx[ops]
        first = np.ones(len(ops), np.bool_)
        first[1:] = (key[1:] != key[:-1]) | (tx[1:] != tx[:-1])
        ops, key, tx = ops[first], key[first], tx[first]
        cuts = np.flatnonzero(np.diff(key)) + 1
        parts = zip(np.split(key, cuts), np.split(tx, cuts), np.split(ops, cuts), strict=True)
        return {int(keys[0]): (txs, of) for keys, txs, of in parts if len(keys)}


def history_tx(history: Transactions, ops: Array) -> Array:
    """The transactions of operations."""
    return history.tx[ops]


def _shown_twice(write: Array) -> Array:
    """Which slots show an append that an earlier slot showed already."""
    _, first = np.unique(write, return_index=True)
    again = np.ones(len(write), np.bool_)
    again[first] = False
    return again
