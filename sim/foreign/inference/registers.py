"""Read-write registers: what of the order of versions follows from what is known.

Reads show whose value they saw, not which value came before it. What follows without any assumption
is a fact: the initial state comes before all else, and a transaction that read a value and wrote
another put the second after the first. Where a model keeps the order of a process, or real time, of
two values written one after the other the first is the older; cycles that need this are named for
it (`-process`, `-realtime`). Up to read-atomic that decides everything (`fractured`). Above, more
follows if the model holds: a reader of a transaction saw all of it, and versions come into force in
the order in which processes, or real time, show them (`assumed`). Where that contradicts itself the
model is broken, but no single read is to blame: that is `cyclic-versions`. The rest stays open, and
`serial` and `solver` search an order of versions that explains everything.
"""

from typing import NamedTuple

import numpy as np

from ddlsim.foreign.inference.inference import (
    MOST_PAIRS,
    Writes,
    crossed,
    first_of_key,
    last_writes,
)
from ddlsim.foreign.inference.order_in_time import pairs_in_time
from ddlsim.foreign.readers.operations import LISTED, NIL, READ, dense, numbered, ranges
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.edges import ATOMIC, PROCESS, REALTIME, RW, WR, WW, Edges, edges, joined
from ddlsim.graph.history import ABORTED, COMMITTED, NONE, Array
from ddlsim.graph.models import Model


class Pairs(NamedTuple):
    """Versions known to be older than others, and by which order (0: by what was read)."""

    older: Array
    newer: Array
    mark: Array


class Registers:
    """The versions of a register history.

    `version` numbers each operation's key and value together; version `v` is of key `of_key[v]`,
    `initial[v]` where it is nil, and `write[v]` the operation that wrote it (-1: none, or not
    certain). `installed[v]`: it is the last one of its transaction, and that counts.
    """

    def __init__(self, history: Transactions) -> None:
        self.history = history
        count = len(history.tx)
        none = history.form == NIL
        value = _values(history)
        values = int(value.max(initial=0)) + 1
        known, version = np.unique(history.key * values + value, return_inverse=True)
        self.version: Array = version.astype(np.int64)
        self.of_key: Array = known // values
        self.initial: Array = known % values == 0
        writes = Writes(history, value)
        nil = np.flatnonzero(none & (history.kind != READ))  # each key has it at first
        self.twice: Array = np.union1d(writes.twice, nil)
        self.doubtful: Array = np.zeros(len(known), np.bool_)
        self.doubtful[self.version[writes.shared]] = True
        self.doubtful[self.version[nil]] = True
        self.initial &= ~self.doubtful
        written = np.flatnonzero(history.kind != READ)
        self.write: Array = np.full(len(known), NONE)
        self.write[self.version[written]] = writes.of(history.key[written], value[written])
        self.write[self.doubtful] = NONE
        self.is_last: Array = last_writes(history)
        reads = history.kind == READ
        own = np.zeros(count, np.bool_)
        write = self.write[self.version]
        own[write >= 0] = history.tx[write[write >= 0]] == history.tx[write >= 0]
        self.read: Array = np.flatnonzero(reads & ~own & ~self.doubtful[self.version])
        """Reads of what others wrote, or of the initial state."""
        self.node: Array = history.status == COMMITTED
        seen = self.write[self.version[self.read]]
        self.node[history.tx[seen[seen >= 0]]] = True
        self.node &= history.status != ABORTED
        self.installed: Array = np.zeros(len(known), np.bool_)
        real = np.flatnonzero(self.write >= 0)
        by = self.write[real]
        self.installed[real] = self.is_last[by] & self.node[history.tx[by]]
        self.dropped: list[int] = []
        """Versions with too many readers and later versions to pair them all."""

    def writer(self, version: Array) -> Array:
        """The transactions that wrote versions; only of those that were written."""
        return self.history.tx[self.write[version]]

    def value_name(self, version: int) -> str:
        """The value of a version in the notation of the file."""
        at = int(np.flatnonzero(self.version == version)[0])
        return self.history.value_text(at)

    def key_name(self, version: int) -> str:
        """The key of a version in the notation of the file."""
        return self.history.notation(self.history.keys[int(self.of_key[version])])

    def wr(self) -> Edges:
        """From the writer of each value to its readers."""
        write = self.write[self.version[self.read]]
        chosen = write >= 0
        op = self.read[chosen]
        return edges(self.history.tx[write[chosen]], self.history.tx[op], WR, op)

    def overwritten(self, pairs: Pairs) -> Edges:
        """The rw edges that follow from the order of pairs of versions.

        The writers of these pairs are ordered by what they read, or by time, themselves.
        """
        kept = self.installed[pairs.newer] & (pairs.older != pairs.newer)
        return self._rw(pairs.older[kept], pairs.newer[kept], pairs.mark[kept])

    def from_pairs(self, pairs: Pairs) -> list[Edges]:
        """ww and rw edges that follow from the order of pairs of versions."""
        kept = self.installed[pairs.newer] & (pairs.older != pairs.newer)
        older, newer, mark = pairs.older[kept], pairs.newer[kept], pairs.mark[kept]
        both = self.installed[older]
        ww = edges(
            self.writer(older[both]), self.writer(newer[both]),
            (WW | mark[both]).astype(np.uint16), self.write[newer[both]],
        )  # fmt: skip
        return [ww, self._rw(older, newer, mark)]

    def _rw(self, older: Array, newer: Array, mark: Array) -> Edges:
        """From each reader of the older version to the writer of the newer one."""
        history = self.history
        order = np.argsort(self.version[self.read], kind="stable")
        reads = self.read[order]
        seen = self.version[reads]
        low, high = np.searchsorted(seen, older), np.searchsorted(seen, older, side="right")
        readers = high - low
        total = np.bincount(older, weights=readers, minlength=len(self.write))
        many = total[older] > MOST_PAIRS
        few = np.flatnonzero(~many)
        op = reads[ranges(low[few], readers[few])]
        target = np.repeat(self.writer(newer[few]), readers[few])
        marks = np.repeat(mark[few], readers[few])
        blocks = [edges(history.tx[op], target, (RW | marks).astype(np.uint16), op)]
        for version in np.unique(older[many]).tolist():
            chosen = np.flatnonzero(older == version)
            span = slice(int(low[chosen[0]]), int(high[chosen[0]]))
            before, first = np.unique(history.tx[reads[span]], return_index=True)
            after, last = np.unique(self.writer(newer[chosen]), return_index=True)
            pairs = crossed(before, after, history)
            kind = (RW | mark[chosen][last[pairs.after]]).astype(np.uint16)
            found = before[pairs.before], after[pairs.after], kind
            blocks.append(edges(*found, reads[span][first[pairs.before]]))
            if pairs.dropped:
                self.dropped.append(version)
        return joined(blocks)

    def touches(self) -> tuple[Array, Array]:
        """Operations of nodes that show a version in force, and these versions; by operation."""
        history = self.history
        writes = np.flatnonzero((history.kind != READ) & self.is_last & self.node[history.tx])
        writes = writes[self.installed[self.version[writes]]]
        shown = self.installed | self.initial
        reads = self.read[shown[self.version[self.read]]]
        ops = np.sort(np.concatenate([reads, writes]))
        return ops, self.version[ops]

    def writes(self) -> tuple[Array, Array]:
        """The operations that installed a version, and these versions; by operation."""
        ops = np.sort(self.write[self.installed])
        return ops, self.version[ops]


def _values(history: Transactions) -> Array:
    """Of each operation the number of its value, from 1; 0 for nil."""
    some = np.flatnonzero(history.form != NIL)
    if bool((history.form == LISTED).any()):
        number = numbered([history.value(op) for op in some.tolist()])[1]
    else:
        number = dense(history.number[history.first[some]])[1]
    value = np.zeros(len(history.tx), np.int64)
    value[some] = number + 1
    return value


def known_order(registers: Registers, model: Model) -> Pairs:
    """The order of versions as far as writers determine it: by their reads and by when they
    wrote.
    """
    found = [_within(registers)]
    if model.level:
        found.append(_in_sessions(registers, registers.writes()))
    if model.level > 1:
        found.append(_in_time(registers, registers.writes()))
    found.append(_initial(registers, found[:1]))
    return _together(found)


def assumed(registers: Registers, model: Model) -> list[Edges]:
    """What follows if a history keeps to a model, from snapshot isolation upwards."""
    within = _within(registers)
    found = [within, in_reads(registers)[0]]
    if model.level:
        found.append(_in_sessions(registers, registers.touches()))
    if model.level > 1:
        found.append(_in_time(registers, registers.touches()))
    found.append(_initial(registers, [within]))
    return registers.from_pairs(_together(found))


def in_row(registers: Registers, place: Array) -> Pairs:
    """Every version and the next one of its key, by the places of their writers in a row."""
    installed = np.flatnonzero(registers.installed)
    by_place = place[registers.writer(installed)]
    initial = np.flatnonzero(registers.initial)
    versions = np.concatenate([initial, installed])
    by_place = np.concatenate([np.full(len(initial), NONE), by_place])
    order = np.lexsort((by_place, registers.of_key[versions]))
    versions = versions[order]
    same = registers.of_key[versions[1:]] == registers.of_key[versions[:-1]]
    older, newer = versions[:-1][same], versions[1:][same]
    return Pairs(older, newer, np.zeros(len(older), np.int64))


def _together(found: list[Pairs]) -> Pairs:
    return Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def updates(registers: Registers) -> tuple[Array, Array]:
    """Reads of transactions that wrote the same key last, and these writes."""
    history = registers.history
    first = first_of_key(history)
    keys = len(history.keys)
    reads = registers.read[first[registers.read]]
    writes = np.flatnonzero((history.kind != READ) & registers.is_last)
    packed = history.tx[writes].astype(np.int64) * keys + history.key[writes]
    order = np.argsort(packed)
    packed, writes = packed[order], writes[order]
    wanted = history.tx[reads].astype(np.int64) * keys + history.key[reads]
    at = np.minimum(np.searchsorted(packed, wanted), max(len(packed) - 1, 0))
    if not len(packed):
        return reads[:0], writes
    found = packed[at] == wanted
    return reads[found], writes[at[found]]


def _within(registers: Registers) -> Pairs:
    """What a transaction wrote comes after what it read of the same key."""
    reads, writes = updates(registers)
    older, newer = registers.version[reads], registers.version[writes]
    return Pairs(older, newer, np.zeros(len(older), np.int64))


def in_reads(registers: Registers) -> tuple[Pairs, Array]:
    """A reader of a transaction saw all of it: its other writes are older than what was read there.

    That holds where no fractured read is allowed, from read-atomic upwards. Returns each pair's
    reader too.
    """
    history = registers.history
    tx_of, key_of = history.tx.tolist(), registers.of_key.tolist()
    by = np.full(len(registers.write), NONE)
    by[registers.installed] = registers.writer(np.flatnonzero(registers.installed))
    writes: dict[int, list[int]] = {}
    for version in np.flatnonzero(registers.installed).tolist():
        writes.setdefault(int(by[version]), []).append(version)
    reads: dict[int, dict[int, int]] = {}
    for op in registers.read[registers.node[history.tx[registers.read]]].tolist():
        version = int(registers.version[op])
        reads.setdefault(tx_of[op], {}).setdefault(key_of[version], version)
    older, newer, readers = [], [], []
    for reader, seen in reads.items():
        if len(seen) < 2:
            continue
        for version in seen.values():
            writer = int(by[version])
            for other in writes.get(writer, ()) if writer != reader else ():
                there = seen.get(key_of[other], other)
                if there != other:
                    older.append(other)
                    newer.append(there)
                    readers.append(reader)
    marks = np.full(len(older), ATOMIC)
    pairs = Pairs(np.asarray(older, np.int64), np.asarray(newer, np.int64), marks)
    return pairs, np.asarray(readers, np.int64)


def _in_sessions(registers: Registers, touches: tuple[Array, Array]) -> Pairs:
    """A process sees the versions of a key in their order."""
    history = registers.history
    ops, version = touches
    tx = history.tx[ops]
    kept = (history.status[tx] == COMMITTED) & (history.begin[tx] >= 0)
    ops, version, tx = ops[kept], version[kept], tx[kept]
    order = np.lexsort((ops, history.begin[tx], history.process[tx], history.key[ops]))
    ops, version, tx = ops[order], version[order], tx[order]
    same = (history.key[ops][1:] == history.key[ops][:-1]) & (tx[1:] != tx[:-1])
    same &= history.process[tx][1:] == history.process[tx][:-1]
    same &= version[1:] != version[:-1]
    older, newer = version[:-1][same], version[1:][same]
    return Pairs(older, newer, np.full(len(older), PROCESS))


def _in_time(registers: Registers, touches: tuple[Array, Array]) -> Pairs:
    """A version touched before another one's touch began is the older one."""
    history = registers.history
    ops, version = touches
    tx = history.tx[ops]
    end, begin = history.end[tx], history.begin[tx]
    ended, began = end >= 0, begin >= 0
    forever = np.iinfo(np.int64).max
    first_end = np.full(len(registers.write), forever)
    np.minimum.at(first_end, version[ended], end[ended])
    last_begin = np.full(len(registers.write), NONE)
    np.maximum.at(last_begin, version[began], begin[began])
    older, newer = pairs_in_time(registers.of_key, first_end, last_begin)
    return Pairs(older, newer, np.full(len(older), REALTIME))


def _initial(registers: Registers, known: list[Pairs]) -> Pairs:
    """The initial state comes before all that has nothing else before it."""
    nil = np.full(len(registers.history.keys), NONE)
    states = np.flatnonzero(registers.initial)
    nil[registers.of_key[states]] = states
    first = registers.installed.copy()
    for pairs in known:
        first[pairs.newer[registers.installed[pairs.older]]] = False
    roots = np.flatnonzero(first)
    older = nil[registers.of_key[roots]]
    roots, older = roots[older >= 0], older[older >= 0]
    return Pairs(older, roots, np.zeros(len(roots), np.int64))
