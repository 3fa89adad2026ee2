"""Executions of register transactions in real time, sought from the first transaction on.

A version can be read until the next one is written, and never again. So a transaction may come next
if all that must precede it has come, if it read what is there now, and if none is still to read
what it overwrites. One that only reads, or whose writes are not read, can as well come at once: it
takes nothing from the others. Of the rest the one that is wanted soonest is taken, and where that
ends in nothing the last choice is made otherwise. (Wing and Gong, "Testing and Verifying Concurrent
Objects", JPDC 1993; Lowe, "Testing for Linearizability", CCPE 2017.)

For snapshot isolation a transaction is two events: it starts, and reads; it commits, and writes; in
between it has the keys that it writes to itself. (Cerone, Gotsman, "Analysing Snapshot Isolation",
PODC 2016.) What is found is an order to be tried: whether it explains the history, others judge.
"""

from random import Random
from typing import Final

import numpy as np

from ddlsim.foreign.inference.registers import Registers
from ddlsim.graph.edges import RW, Edges, compact, joined
from ddlsim.graph.history import NONE, Array

STEPS_EACH: Final = 3
"""How often, for each event, one may be put in place until the search is given up."""
STEPS: Final = 20_000
"""So many more."""
FOREVER: Final = int(np.iinfo(np.int64).max)


def order_of(
    registers: Registers, known: list[Edges], *, apart: bool = False, early: int = 0
) -> Array | None:
    """The place of each node, by its commit, -1 for what is no node; None if no order was found.

    `known` are orders that hold beside real time. With `apart` starts and commits are two events,
    else one. What starts may do so `early`, by so many entries of the history: for reads of the
    past.
    """
    search = _Search(registers, known, apart=apart, early=early)
    if not search.found():
        return None
    count = len(registers.history)
    row = np.asarray(search.row, np.int64)
    row = row[row >= count] - count if apart else row
    place = np.full(count, NONE)
    place[row] = np.arange(len(row))
    return place


class _List:
    """Nodes in some order, from which they are taken and put back in reverse order."""

    def __init__(self, nodes: list[int], count: int) -> None:
        self.end = count
        self.next = [count] * (count + 1)
        self.before = [count] * (count + 1)
        last = count
        for node in nodes:
            self.next[last], self.before[node] = node, last
            last = node
        self.next[last], self.before[count] = count, last

    def take(self, node: int) -> None:
        self.next[self.before[node]] = self.next[node]
        self.before[self.next[node]] = self.before[node]

    def put_back(self, node: int) -> None:
        self.next[self.before[node]] = node
        self.before[self.next[node]] = node


class _Search:
    """The events so far, and all that has to be undone with the last one.

    An event is a transaction, or its start; its commit then has the number beyond all of these.
    """

    def __init__(
        self, registers: Registers, known: list[Edges], *, apart: bool, early: int
    ) -> None:
        history = registers.history
        count = len(history)
        nodes = np.flatnonzero(registers.node)
        events = np.concatenate([nodes, nodes + count]) if apart else nodes
        size = 2 * count if apart else count
        twice = 2 if apart else 1
        begin = np.tile(np.where(history.begin >= 0, history.begin, 0), twice)
        end = np.tile(np.where(history.end >= 0, history.end, FOREVER), twice)
        begin[:count] -= early
        self._begin, self._end = begin.tolist(), end.tolist()
        by_begin = events[np.argsort(begin[events], kind="stable")]
        by_end = events[np.argsort(end[events], kind="stable")]
        self._by_begin, self._by_end = _List(by_begin.tolist(), size), _List(by_end.tolist(), size)
        self._touched(registers, count, size, apart=apart)
        both = joined([compact(one, count) for one in known])
        both = both.take(registers.node[both.source] & registers.node[both.target])
        self._wanted = self._deadlines(registers, end)
        source, target = _between(both, nodes, count, apart=apart)
        order = np.argsort(source, kind="stable")
        self._after = target[order].tolist()
        self._from = np.searchsorted(source[order], np.arange(size + 1)).tolist()
        self._missing = np.bincount(target, minlength=size).tolist()
        self.row: list[int] = []
        self._overwritten: list[list[int]] = []
        self._wish = len(events)
        self._steps = STEPS + STEPS_EACH * len(events)
        dice = Random(0)
        self._mark = [dice.getrandbits(64) for _ in range(size)]
        self._now_mark = [dice.getrandbits(64) for _ in range(len(registers.write) + 1)]
        self._state = 0
        self._dead: set[int] = set()

    def _touched(self, registers: Registers, count: int, size: int, *, apart: bool) -> None:
        """What each event reads of others and writes, and how many are still to read a version."""
        history = registers.history
        self._key = registers.of_key.tolist()
        self._left = [0] * len(self._key)
        self._reads: list[list[int]] = [[] for _ in range(size)]
        self._writes: list[list[int]] = [[] for _ in range(size)]
        for op in registers.read[registers.node[history.tx[registers.read]]].tolist():
            tx, version = int(history.tx[op]), int(registers.version[op])
            if version not in self._reads[tx]:
                self._reads[tx].append(version)
                self._left[version] += 1
        for version in np.flatnonzero(registers.installed).tolist():
            tx = int(history.tx[registers.write[version]])
            self._writes[tx + count if apart else tx].append(version)
        self._takes: list[list[int]] = [[] for _ in range(size)]
        self._gives: list[list[int]] = [[] for _ in range(size)]
        if apart:
            keys = [[self._key[version] for version in writes] for writes in self._writes[count:]]
            self._takes[:count] = self._gives[count:] = keys
        self._taken = [False] * len(history.keys)
        self._now = [NONE] * len(history.keys)
        for version in np.flatnonzero(registers.initial).tolist():
            self._now[self._key[version]] = version

    def _deadlines(self, registers: Registers, end: Array) -> list[int]:
        """By when each event has to come: its own end, or that of a reader of what it wrote."""
        wanted = end.copy()
        count = len(registers.history)
        wr = compact(registers.wr(), count)
        for _ in range(3):
            np.minimum.at(wanted, wr.source, wanted[wr.target])
        wanted[count:] = wanted[: len(wanted) - count]
        found: list[int] = wanted.tolist()
        return found

    def found(self) -> bool:
        """Whether the row became whole."""
        choices: list[tuple[int, int, list[int]]] = []
        while len(self.row) < self._wish:
            ready = self._ready()
            if len(ready) > 1:
                if self._state in self._dead:
                    ready = []
                else:
                    choices.append((len(self.row), self._state, ready[1:]))
            if not ready:
                while choices and not choices[-1][2]:
                    self._dead.add(choices.pop()[1])
                if not choices:
                    return False
                at, _, rest = choices[-1]
                while len(self.row) > at:
                    self._take_back()
                ready = [rest.pop(0)]
            self._lay(ready[0])
            self._steps -= 1
            if self._steps < 0:
                return False
        return True

    def _ready(self) -> list[int]:
        """Events that may come next, by deadline; only one if it takes nothing from the others."""
        found: list[int] = []
        until = self._end[self._by_end.next[self._by_end.end]]
        nodes, left = self._by_begin, self._left
        node = nodes.next[nodes.end]
        while node != nodes.end and self._begin[node] < until:
            if self._may_come(node):
                if not self._takes[node] and not any(left[one] for one in self._writes[node]):
                    return [node]
                found.append(node)
            node = nodes.next[node]
        found.sort(key=lambda one: (self._wanted[one], one))
        return found

    def _may_come(self, node: int) -> bool:
        if self._missing[node]:
            return False
        now, key, reads = self._now, self._key, self._reads[node]
        for version in reads:
            if now[key[version]] != version:
                return False
        for taken in self._takes[node]:
            if self._taken[taken]:
                return False
        for version in self._writes[node]:
            there = now[key[version]]
            if there >= 0 and self._left[there] > (there in reads):
                return False
        return True

    def _lay(self, node: int) -> None:
        self._by_begin.take(node)
        self._by_end.take(node)
        for version in self._reads[node]:
            self._left[version] -= 1
        before = []
        for version in self._writes[node]:
            before.append(self._now[self._key[version]])
            self._put(version, self._key[version])
        for taken in self._takes[node]:
            self._taken[taken] = True
        for given in self._gives[node]:
            self._taken[given] = False
        for after in self._after[self._from[node] : self._from[node + 1]]:
            self._missing[after] -= 1
        self._state ^= self._mark[node]
        self.row.append(node)
        self._overwritten.append(before)

    def _put(self, version: int, key: int) -> None:
        self._state ^= self._now_mark[self._now[key]] ^ self._now_mark[version]
        self._now[key] = version

    def _take_back(self) -> None:
        node = self.row.pop()
        for version, before in zip(self._writes[node], self._overwritten.pop(), strict=True):
            self._put(before, self._key[version])
        for version in self._reads[node]:
            self._left[version] += 1
        for taken in self._takes[node]:
            self._taken[taken] = False
        for given in self._gives[node]:
            self._taken[given] = True
        for after in self._after[self._from[node] : self._from[node + 1]]:
            self._missing[after] += 1
        self._state ^= self._mark[node]
        self._by_end.put_back(node)
        self._by_begin.put_back(node)


def _between(known: Edges, nodes: Array, count: int, *, apart: bool) -> tuple[Array, Array]:
    """Known orders as pairs of events.

    A transaction that depends on another starts after its commit; an anti-dependency leads to a
    commit after its start.
    """
    source, target = known.source.astype(np.int64), known.target.astype(np.int64)
    if not apart:
        return source, target
    anti = (known.kind & RW) != 0
    source, target = np.where(anti, source, source + count), np.where(anti, target + count, target)
    return np.concatenate([nodes, source]), np.concatenate([nodes + count, target])
