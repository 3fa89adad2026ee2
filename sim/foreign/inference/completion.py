"""An order of all versions where only a part of it is known, tried out.

That a history of registers shows no anomaly does not make it valid: unknown orders hide cycles. To
find out whether any order of versions works is NP-complete; to try a good one is cheap. So the
transactions are laid in a row, each after those that are known to precede it, by their ends, and a
value is not overwritten while a reader of it is still to come. If versions in the order of
that row give a graph without forbidden cycles, the history is valid and the row is the witness. If
not, what the cycles guessed is turned round and the row laid again, a few times; then the answer is
"unknown".
"""

import heapq
from collections.abc import Iterable
from typing import Final

import numpy as np

from ddlsim.foreign.inference.inference import session_edges
from ddlsim.foreign.inference.registers import Pairs, Registers
from ddlsim.graph.cycles import Cycle
from ddlsim.graph.edges import RW, WW, Edges, compact, edges, joined
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.models import Model

FOREVER: Final = int(np.iinfo(np.int64).max)


def order_of(
    registers: Registers,
    blocks: list[Edges],
    model: Model,
    turned: Iterable[tuple[int, int]] = (),
) -> Array:
    """The place of each node in the row; -1 for what is no node.

    `turned` are pairs of transactions, the first to stand before the second if that can be.
    """
    history = registers.history
    columns = np.asarray(list(turned), np.int64).reshape(-1, 2)
    blocks = [*blocks, edges(columns[:, 0], columns[:, 1], WW)]
    if model.level:
        blocks.append(session_edges(history, registers.node))
    row = _Row(registers, joined([compact(one, len(history)) for one in blocks]))
    return row.laid(in_time=model.level > 1)


def to_turn(
    registers: Registers, blocks: list[Edges], cycles: Iterable[Cycle]
) -> set[tuple[int, int]]:
    """Writers whose order was guessed where these cycles need it, the other way round."""
    count = len(registers.history)
    known = [block.source.astype(np.int64) * count + block.target for block in blocks]
    sure = set(np.concatenate(known).tolist())
    found: set[tuple[int, int]] = set()
    for link in (link for cycle in cycles for link in cycle.links):
        if not link.kind & RW or link.source * count + link.target in sure:
            continue
        seen = int(registers.version[link.why])
        if registers.installed[seen]:
            found.add((link.target, int(registers.history.tx[registers.write[seen]])))
    return {pair for pair in found if pair[0] != pair[1]}


def all_pairs(registers: Registers, place: Array) -> Pairs:
    """Every version and the next one of its key, by the places of their writers."""
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


class _Row:
    """Lays transactions in a row."""

    def __init__(self, registers: Registers, known: Edges) -> None:
        history = registers.history
        self._registers = registers
        count = len(history)
        order = np.argsort(known.source, kind="stable")
        self._after = known.target[order].tolist()
        self._from = np.searchsorted(known.source[order], np.arange(count + 1)).tolist()
        self._missing = np.bincount(known.target, minlength=count).tolist()
        end, begin = history.end, history.begin
        self._rank = np.where(end >= 0, end, begin).tolist()
        self._reads: list[list[int]] = [[] for _ in range(count)]
        self._pending = [0] * len(registers.write)
        for op in registers.read.tolist():
            tx, version = int(history.tx[op]), int(registers.version[op])
            if version not in self._reads[tx]:
                self._reads[tx].append(version)
                self._pending[version] += 1
        self._writes: list[list[int]] = [[] for _ in range(count)]
        for version in np.flatnonzero(registers.installed).tolist():
            self._writes[int(history.tx[registers.write[version]])].append(version)
        self._key = registers.of_key.tolist()
        self._now: dict[int, int] = {
            self._key[version]: version for version in np.flatnonzero(registers.initial).tolist()
        }
        self._place = np.full(count, NONE)
        self._ready: list[tuple[int, int]] = []
        self._held: dict[int, list[int]] = {}
        self._waiting: list[tuple[int, int]] = []  # the same ones, and others that came since
        self._laid = 0

    def laid(self, *, in_time: bool) -> Array:
        """Lay them all."""
        history = self._registers.history
        nodes = np.flatnonzero(self._registers.node)
        begins = nodes[np.argsort(history.begin[nodes], kind="stable")].tolist()
        ended = nodes[history.end[nodes] >= 0]
        ends = ended[np.argsort(history.end[ended], kind="stable")].tolist()
        next_begin = next_end = 0
        for node in nodes.tolist():
            self._missing[node] += 1
        while self._laid < len(nodes):
            while next_end < len(ends) and self._place[ends[next_end]] >= 0:
                next_end += 1
            until = FOREVER
            if in_time and next_end < len(ends):
                until = int(history.end[ends[next_end]])
            while next_begin < len(begins) and int(history.begin[begins[next_begin]]) < until:
                self._free(begins[next_begin])
                next_begin += 1
            node = self._next()
            if node < 0:
                self._rest(nodes)
                break
            self._lay(node)
        return self._place

    def _free(self, node: int) -> None:
        self._missing[node] -= 1
        if not self._missing[node]:
            heapq.heappush(self._ready, (self._rank[node], node))

    def _next(self) -> int:
        """The first that may be laid; else the first of all that overwrite too early."""
        while self._ready:
            _, node = heapq.heappop(self._ready)
            if self._place[node] >= 0:
                continue
            waits_for = self._overwrites(node)
            if waits_for < 0:
                return node
            self._held.setdefault(waits_for, []).append(node)
            heapq.heappush(self._waiting, (self._rank[node], node))
        while self._waiting:
            _, node = heapq.heappop(self._waiting)
            if self._place[node] < 0:
                return node
        return NONE

    def _overwrites(self, node: int) -> int:
        """A version that this node would overwrite too early, -1 if there is none."""
        for version in self._writes[node]:
            now = self._now.get(self._key[version], -1)
            if now >= 0 and self._pending[now] > (now in self._reads[node]):
                return now
        return -1

    def _lay(self, node: int) -> None:
        self._place[node] = self._laid
        self._laid += 1
        for version in self._reads[node]:
            self._pending[version] -= 1
            if self._pending[version] <= 1:
                for other in self._held.pop(version, ()):
                    heapq.heappush(self._ready, (self._rank[other], other))
        for version in self._writes[node]:
            self._now[self._key[version]] = version
        for at in range(self._from[node], self._from[node + 1]):
            self._free(self._after[at])

    def _rest(self, nodes: Array) -> None:
        """Those on a cycle of what is known, by their ends."""
        left = [node for node in nodes.tolist() if self._place[node] < 0]
        for node in sorted(left, key=lambda node: (self._rank[node], node)):
            self._place[node] = self._laid
            self._laid += 1
