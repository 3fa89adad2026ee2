"""List-append histories: the longest read of a list shows the order of its versions.

Every element was appended once, so a list that is read shows which transactions wrote it, in which
order. All reads of a key must be beginnings of the longest one; elements that no read shows come
after it. (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
Observations", VLDB 2020.)

A transaction of which one append was read has happened, if it is indeterminate: all of it has. In
which order appends stand that no read shows is open. An order of all that the graph without cycles
allows puts them in place too; only snapshot isolation, where two that wrote a key may not overlap,
can forbid each of their orders (`open_orders`).
"""

from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np

from ddlsim.foreign.inference.inference import MOST_PAIRS, Writes, crossed
from ddlsim.foreign.inference.solver import Choice, Option
from ddlsim.foreign.readers.by_key import ByKey
from ddlsim.foreign.readers.operations import APPEND, LISTED, READ, ranges
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.edges import RW, WR, WW, Edges, edges, joined
from ddlsim.graph.fractured import NOWHERE
from ddlsim.graph.history import COMMITTED, NONE, Array

CHUNK: Final = 100_000
"""Elements compared together: what the processor's caches hold."""


class Groups(ByKey):
    """The operations of a list history by transaction and key, with lengths and places."""

    def __init__(self, lists: "Lists") -> None:
        history = lists.history
        of = history.by_key
        self.ops, self.new, self.number = of.ops, of.new, of.number
        self.read: Array = history.kind[self.ops] == READ
        length = np.zeros(len(self.ops), np.int64)
        length[lists.read] = lists.length
        self.length: Array = length[self.ops]
        place = np.full(len(self.ops), NOWHERE)
        shown = np.flatnonzero(lists.slot_write >= 0)[::-1]
        place[lists.slot_write[shown]] = shown - lists.base[lists.slot_key[shown]]
        self.place: Array = place[self.ops]
        """Of appends, where their element stands in the list."""

    def doubtful(self, strange: Array) -> Array:
        """Numbers of the groups in which a read may contradict what was done before it.

        In a group that agrees every operation follows from the one before it: a read shows as much
        as the read before it, or ends in what was appended; an append comes right behind what was
        read or appended. `strange` operations agree with nothing.
        """
        strange = strange[self.ops]
        shown = np.where(self.read, self.length, self.place + 1)
        begins = np.where(self.read, self.length, self.place)
        follows = ~self.new[1:] & (self.spread(self.sums(self.read)) > self.before(self.read))[1:]
        wrong = (begins[1:] != shown[:-1]) | strange[1:] | strange[:-1]
        found: Array = np.unique(self.number[1:][follows & wrong])
        return found


class Lists:
    """The lists of a history: reads, the longest of each key, and the writers of its elements.

    `slot` numbers the elements of the longest reads, key after key; a key's begin at `base`.
    """

    def __init__(self, history: Transactions) -> None:
        self.history = history
        self.read: Array = np.flatnonzero(history.kind == READ)
        listed = history.form[self.read] == LISTED
        self.length: Array = np.where(listed, history.length[self.read], 0)
        self.first: Array = history.first[self.read]
        written = np.flatnonzero(history.kind == APPEND)
        self.element: Array = history.number
        value = np.zeros(len(history.tx), np.int64)
        value[written] = history.number[history.first[written]]
        self.appended: Array = value
        self.writes = Writes(history, value)
        self.shared: Array = np.zeros(len(history.tx), np.bool_)
        """Appends of an element that was appended to its key more than once."""
        self.shared[self.writes.shared] = True
        self._order()
        self._compare()

    def _order(self) -> None:
        key = self.history.key[self.read]
        keys = len(self.history.keys)
        self.size: Array = np.zeros(keys, np.int64)
        np.maximum.at(self.size, key, self.length)
        longest = np.flatnonzero(self.length == self.size[key])[::-1]
        self.longest: Array = np.full(keys, NONE)
        self.longest[key[longest]] = longest
        read = self.longest >= 0
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
        ends = np.cumsum(self.length)
        start = 0
        while start < len(self.read):
            least = ends[start] - self.length[start] + CHUNK
            stop = max(int(np.searchsorted(ends, least, side="right")), start + 1)
            count = self.length[start:stop]
            shown = ranges(self.first[start:stop], count)
            wanted = shown + np.repeat(self.base[key[start:stop]] - self.first[start:stop], count)
            wrong = np.flatnonzero(self.element[shown] != self.slot[wanted])
            own = ends[start:stop] - (ends[start] - self.length[start])
            differs[start + np.searchsorted(own, wrong, side="right")] = True
            start = stop
        self.differs: Array = differs
        self.broken: Array = np.zeros(len(self.history.keys), np.bool_)
        """Keys of which reads contradict each other: no order of their appends is known."""
        self.broken[key[differs]] = True

    def packed(self, append: Array) -> Array:
        """Keys and elements of appends as one number, as `Writes.pack` makes it."""
        return self.writes.pack(self.history.key[append], self.appended[append])

    @cached_property
    def groups(self) -> Groups:
        """The operations by transaction and key."""
        return Groups(self)

    def sure(self, write: Array) -> Array:
        """Of appends (-1: none), which were made, and by one transaction only."""
        if not len(self.shared):
            return write >= 0
        known: Array = (write >= 0) & ~self.shared[np.maximum(write, 0)]
        return known

    def element_name(self, element: int) -> str:
        """An element in the notation of the file."""
        return self.history.notation(self.history.element(element))

    def key_name(self, key: int) -> str:
        """A key in the notation of the file."""
        return self.history.notation(self.history.keys[key])

    def elements(self, read: int) -> list[Any]:
        """The elements of a read, by its place among reads."""
        return self.history.value(int(self.read[read])) or []


def without_uncommitted(lists: Lists) -> Transactions:
    """The same history; its reads without the elements that only others than committed wrote."""
    history = lists.history
    append = np.flatnonzero(history.kind == APPEND)
    committed = append[history.status[history.tx[append]] == COMMITTED]
    read = np.repeat(np.arange(len(lists.read)), lists.length)
    element = lists.element[ranges(lists.first, lists.length)]
    key = history.key[lists.read[read]]
    kept = np.isin(lists.writes.pack(key, element), lists.packed(committed))
    kept |= lists.writes.of(key, element) < 0
    if kept.all():
        return history
    form, first, length = history.form.copy(), history.first.copy(), history.length.copy()
    form[lists.read] = LISTED
    length[lists.read] = np.bincount(read[kept], minlength=len(lists.read))
    first[lists.read] = len(history.number) + np.cumsum(length[lists.read]) - length[lists.read]
    number = np.concatenate([history.number, element[kept]])
    return replace(history, form=form, first=first, length=length, number=number)


def seen(lists: Lists) -> Array:
    """The appends whose element was read, and that appended it alone."""
    found = lists.slot_write[lists.sure(lists.slot_write)]
    if not lists.differs.any():
        return found
    chosen = np.flatnonzero(lists.differs)
    at = ranges(lists.first[chosen], lists.length[chosen])
    key = np.repeat(lists.history.key[lists.read[chosen]], lists.length[chosen])
    also = lists.writes.of(key, lists.element[at])
    return np.concatenate([found, also[lists.sure(also)]])


def open_choices(lists: Lists, node: Array, most: int) -> list[Choice] | None:
    """A choice for every two transactions with appends to one key that no read shows.

    `about` is the key. None if there are more than `most`.
    """
    ops = _unseen(lists, node)
    key, tx = lists.history.key[ops], lists.history.tx[ops]
    both = np.unique(np.stack([key, tx]), axis=1)
    _, count = np.unique(both[0], return_counts=True)
    if int((count * (count - 1) // 2).sum()) > most:
        return None
    found: list[Choice] = []
    for one in np.split(both, np.flatnonzero(np.diff(both[0])) + 1, axis=1):
        for first, second in combinations(one[1].tolist(), 2):
            ways = Option(((first, second),)), Option(((second, first),))
            found.append(Choice(*ways, (int(one[0, 0]),)))
    return found


def _unseen(lists: Lists, node: Array) -> Array:
    """Appends of nodes that no read shows, of keys whose reads agree."""
    history = lists.history
    wanted = (history.kind == APPEND) & node[history.tx] & ~lists.shared
    wanted &= ~lists.broken[history.key]
    wanted[lists.slot_write[lists.slot_write >= 0]] = False
    return np.flatnonzero(wanted)


def in_turn(lists: Lists, node: Array, rank: Array) -> Edges:
    """The same appends one after the other, by the rank of their transactions."""
    ops = _unseen(lists, node)
    key, tx = lists.history.key[ops], lists.history.tx[ops]
    order = np.lexsort((tx, rank[tx], key))
    key, tx, ops = key[order], tx[order], ops[order]
    same = (key[1:] == key[:-1]) & (tx[1:] != tx[:-1])
    return edges(tx[:-1][same], tx[1:][same], WW, ops[1:][same])


class Slots:
    """Edges between the writers and the readers of slots."""

    def __init__(self, lists: Lists, node: Array) -> None:
        self._lists = lists
        self._node = node
        self._history = lists.history
        write = lists.slot_write
        writer = np.where(write >= 0, lists.history.tx[np.maximum(write, 0)], NONE)
        real = lists.sure(write) & ~lists.broken[lists.slot_key]
        real[real] = node[writer[real]]
        self._real = np.flatnonzero(real)
        """Slots that a node wrote, of keys whose order is known."""
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
        """From the writer of what was read last to the reader, from there to the next writer.

        A slot that shows an append again is neither: a read that ends before it has seen that one.
        """
        lists, history = self._lists, self._history
        slots, writer, of = (one[~self._again] for one in (self._real, self._writer, self._key))
        good = np.flatnonzero(~lists.broken[history.key[lists.read]])
        op = lists.read[good]
        key, reader = history.key[op], history.tx[op]
        after = lists.base[key] + lists.length[good]
        place = np.searchsorted(slots, after)
        before = np.maximum(place - 1, 0)
        later = np.minimum(place, max(len(slots) - 1, 0))
        if not len(slots):
            return []
        from_ = (place > 0) & (of[before] == key)
        to = (place < len(slots)) & (of[later] == key)
        return [
            edges(writer[before[from_]], reader[from_], WR, op[from_]),
            edges(reader[to], writer[later[to]], RW, op[to]),
        ]

    def unseen(self) -> Edges:
        """From the last writer, and from readers of all elements, to writers of unread elements."""
        lists, history = self._lists, self._history
        append = _unseen(lists, self._node)
        append = append[lists.longest[history.key[append]] >= 0]
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
        return edges(self._writer[last[has]], self._history.tx[append[has]], WW, append[has])

    def _after_readers(self, append: Array) -> Edges:
        lists, history = self._lists, self._history
        keys = np.zeros(len(history.keys), np.bool_)
        keys[history.key[append]] = True
        key = history.key[lists.read]
        full = (lists.length == lists.size[key]) & keys[key] & ~lists.differs
        readers, writers = _once(history, lists.read[full]), _once(history, append)
        key, after = history.key[readers], history.key[writers]
        first = np.searchsorted(after, key)
        count = np.searchsorted(after, key, side="right") - first
        pairs = np.bincount(key, weights=count, minlength=len(keys))
        many = np.flatnonzero(pairs > MOST_PAIRS)
        count[np.isin(key, many)] = 0
        op = np.repeat(readers, count)
        source, target = history.tx[op], history.tx[writers[ranges(first, count)]]
        apart = source != target
        blocks = [edges(source[apart], target[apart], RW, op[apart])]
        for one in many.tolist():
            ops, others = readers[key == one], writers[after == one]
            some = crossed(history.tx[ops], history.tx[others], history)
            op = ops[some.before]
            blocks.append(edges(history.tx[op], history.tx[others[some.after]], RW, op))
            self.dropped.append(one)
        return joined(blocks)


def _once(history: Transactions, ops: Array) -> Array:
    """The first of some ascending operations in each transaction and key, by key."""
    packed = history.key[ops] * len(history) + history.tx[ops]
    order = np.argsort(packed, kind="stable")
    packed = packed[order]
    found: Array = ops[order[np.append(True, packed[1:] != packed[:-1])[: len(ops)]]]
    return found


def _shown_twice(write: Array) -> Array:
    """Which slots show an append that an earlier slot showed already."""
    if int(np.bincount(write, minlength=1).max()) < 2:
        return np.zeros(len(write), np.bool_)
    _, first = np.unique(write, return_index=True)
    again = np.ones(len(write), np.bool_)
    again[first] = False
    return again
