"""The serialization graph as arrays: which node comes before which, and by which operation.

ww: the writers of neighbouring versions. wr: a version's writer comes before its readers. rw: a
reader comes before the writer of the next version. Process: transactions of one client follow each
other. Real time is no array of edges between transactions, which would be N^2 of them: the
certificate compares it with running maxima, and the search gets a chain of instants (`realtime`).

Blocks as built may hold edges with a missing end: source -1 or target N. No rank puts those out of
order, so a certificate need not look; `compact` drops them, and self-loops.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from ddlsim.graph.history import FOREVER, NONE, PRECEDES, PREDICATE, UNKNOWN, Array, ColumnHistory
from ddlsim.graph.versions import Versions

WW: Final = 1
WR: Final = 2
RW: Final = 4
PROCESS: Final = 8
REALTIME: Final = 16
PREDICATE_EDGE: Final = 32
"""Beside RW or WR: it rests on a key that a scan took for absent."""
DDL: Final = 64
"""Beside any: an end of it is a DDL."""
STRICT_ONLY: Final = 128
"""Beside RW: the relaxed graph has no such edge."""
ATOMIC: Final = 256
"""Beside WW or RW: it follows only if no transaction saw a part of another one."""
DATA: Final = WW | WR | RW
NAMES: Final = {WW: "ww", WR: "wr", RW: "rw", PROCESS: "process", REALTIME: "realtime"}


@dataclass(frozen=True, slots=True)
class Edges:
    """`source[i]` comes before `target[i]`.

    `kind` is a mask of one of WW, WR, RW, PROCESS, REALTIME and the marks above. `why` is the
    number of the operation that shows it: the earlier write (ww), the read (wr, rw), else -1; a
    caller with edges of its own may number other things.
    """

    source: Array
    target: Array
    kind: Array
    why: Array

    def __len__(self) -> int:
        return len(self.source)

    def take(self, chosen: Array | slice) -> "Edges":
        """Those that a mask, an index array or a slice chooses."""
        return Edges(self.source[chosen], self.target[chosen], self.kind[chosen], self.why[chosen])


class Link(NamedTuple):
    """One edge of a cycle, as in `Edges`; those of real time are made by the search (`why` -1)."""

    source: int
    target: int
    kind: int
    why: int


def edges(source: Array, target: Array, kind: int | Array, why: Array | None = None) -> Edges:
    """Edges of one kind, or of a kind each; without `why` none has an operation."""
    count = len(source)
    kinds = np.broadcast_to(np.asarray(kind, np.uint16), (count,))
    reasons = np.broadcast_to(np.int32(NONE), (count,)) if why is None else why
    return Edges(source, target, kinds, reasons)


def joined(blocks: list[Edges]) -> Edges:
    """Several blocks as one."""
    if not blocks:
        empty = np.zeros(0, np.int32)
        return edges(empty, empty, 0)
    return Edges(
        np.concatenate([block.source for block in blocks]),
        np.concatenate([block.target for block in blocks]),
        np.concatenate([block.kind for block in blocks]),
        np.concatenate([block.why for block in blocks]),
    )


def compact(block: Edges, nodes: int) -> Edges:
    """Without missing ends and self-loops."""
    real = (block.source >= 0) & (block.target < nodes) & (block.source != block.target)
    return block if real.all() else block.take(real)


def data_edges(history: ColumnHistory, versions: Versions, *, strict: bool = False) -> list[Edges]:
    """ww, wr and rw of all nodes, in blocks; with missing ends, see above."""
    ops = _reads(history, versions)
    slot, tx = versions.slot[ops], history.tx[ops]
    kind = history.kind[ops]
    plain = bool((kind < PREDICATE).all())
    seen, reader, why = slot, tx, ops
    marks: int | Array = 0
    if not plain:
        sees = kind != PRECEDES
        seen, reader, why = slot[sees], tx[sees], ops[sees]
        marks = np.where(kind == PREDICATE, PREDICATE_EDGE, 0).astype(np.uint16)
        marks |= np.where(history.strict_only[ops], STRICT_ONLY, 0).astype(np.uint16)
    wr_marks = marks if isinstance(marks, int) else marks[kind != PRECEDES] & PREDICATE_EDGE
    blocks = [
        _ww(versions),
        edges(versions.node_writer[seen], reader, WR | wr_marks, why),
        edges(tx, versions.next_writer[slot], RW | marks, ops),
    ]
    if not strict and not plain:
        blocks = [block.take((block.kind & STRICT_ONLY) == 0) for block in blocks]
    return blocks


def _reads(history: ColumnHistory, versions: Versions) -> Array:
    """The operations of nodes that name a version without writing it."""
    wanted = ~versions.write
    if len(wanted) and int(history.version.min()) < 0:
        wanted &= versions.slot >= 0
    if versions.node is not None:
        counts = versions.node & (history.status != UNKNOWN)
        wanted &= counts[history.tx]
    return np.flatnonzero(wanted).astype(np.int32)


def _ww(versions: Versions) -> Edges:
    """Every version of a node to the next one; a key's initial version has none before it."""
    return edges(versions.node_writer, versions.next_writer, WW, versions.installed_by)


def process_edges(history: ColumnHistory, versions: Versions) -> Edges:
    """From each transaction to the next one of its process, by begin.

    Where the begin does not count, the end tells the place. A transaction with neither has no
    place. Of a process that does several things at once, one comes before those alone that began
    when it had ended. An unknown transaction never ended: it comes behind what did, before nothing.
    """
    chosen = (history.process >= 0) & ((history.begin >= 0) | (history.end >= 0))
    if versions.node is not None:
        chosen = chosen & versions.node
    members = np.flatnonzero(chosen).astype(np.int32)
    begin = history.begin[members]
    if len(begin) and int(begin.min()) < 0:
        begin = np.where(begin < 0, history.end[members], begin)
    if len(begin) and bool((begin[1:] < begin[:-1]).any()):
        order = np.argsort(begin, kind="stable")
        members, begin = members[order], begin[order]
    process = history.process[members]
    small = bool(len(process)) and int(process.max()) < 2**16
    order = np.argsort(process.astype(np.uint16) if small else process, kind="stable")
    members, process, begin = members[order], process[order], begin[order]
    end = np.maximum(history.end[members], begin)
    before = np.arange(len(members)) - 1
    if versions.node is not None:
        ended = history.status[members] != UNKNOWN
        end = np.where(ended, end, FOREVER)
        last = np.maximum.accumulate(np.where(ended, np.arange(len(members)), -1))
        before = np.append(-1, last)[: len(members)]
    same = (before >= 0) & (process[before] == process)
    crossed = same & (end[before] > begin)
    if not crossed.any():
        return edges(members[before[same]], members[same], PROCESS)
    several = np.isin(process, process[crossed])
    same &= ~several
    more = after_ends(members[several], process[several], begin[several], end[several])
    source, target = members[before[same]], members[same]
    both = np.concatenate([source, more[0]]), np.concatenate([target, more[1]])
    return edges(*both, PROCESS)


def after_ends(members: Array, process: Array, begin: Array, end: Array) -> tuple[Array, Array]:
    """Pairs of transactions of one process, the one ended when the other began, none between them.

    They come by process and begin.
    """
    pairs: list[tuple[int, int]] = []
    known: list[tuple[int, int, int]] = []
    before = NONE
    columns = (members.tolist(), process.tolist(), begin.tolist(), end.tolist())
    for one, of, begins, ends in zip(*columns, strict=True):
        known = known if of == before else []
        before = of
        ended = [each for each in known if each[2] <= begins]
        last = ended[-1] if ended else (one, begins, ends)
        passed = {each[0] for each in ended if each is not last and each[2] <= last[1]}
        pairs += [(each[0], one) for each in ended if each[0] not in passed]
        known = [*(each for each in known if each[0] not in passed), (one, begins, ends)]
    found = np.asarray(pairs, np.int32).reshape(-1, 2)
    return found[:, 0], found[:, 1]
