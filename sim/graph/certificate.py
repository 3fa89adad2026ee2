"""The witness that there is no cycle: a total order in which every edge points forward.

Committed transactions have a place in time: their commit timestamp, a read-only one its read
timestamp, a DDL its activation (before what ties with it); without any, the instant of the answer.
Sort by that, and no edge may go back. For real time no edge is made: in that order, no later
transaction may have ended before an earlier one began, which a running minimum from the end shows.

What fails here is not an anomaly: under clock skew real time runs against commit timestamps in
histories that are strictly serializable all the same. Then the order is mended (`unsettled`): a
transaction that stands before one that must precede it is moved behind it. Where that takes more
than `ROUNDS` rounds, `residue` searches for components.
"""

from typing import Final

import numpy as np

from ddlsim.graph.edges import RW, Edges, compact
from ddlsim.graph.history import FOREVER, NONE, UNKNOWN, Array, ColumnHistory, is_write
from ddlsim.graph.versions import Versions

LOWEST: Final = np.iinfo(np.int64).min
ROUNDS: Final = 24
"""How often an order is mended before it is given up: as often as moved transactions push others
in a row."""
FEW: Final = 1_000
"""So many may move in any round."""


class Order:
    """A total order: `place[i]` of transaction i, `at[p]` the transaction at place p.

    `sorted`: transactions are numbered in this order already.
    """

    __slots__ = ("at", "padded", "place", "rank", "sorted")

    def __init__(self, rank: Array) -> None:
        n = len(rank)
        self.rank = rank
        self.sorted = n < 2 or bool((rank[1:] >= rank[:-1]).all())
        if self.sorted:
            self.at = self.place = np.arange(n, dtype=np.int32)
        else:
            self.at = np.argsort(rank, kind="stable").astype(np.int32)
            self.place = np.empty(n, np.int32)
            self.place[self.at] = np.arange(n, dtype=np.int32)
        self.padded = np.append(self.place, np.asarray([n, NONE], np.int32))

    def backward(self, block: Edges) -> Array:
        """Which edges go back in this order; one with a missing end does not."""
        back: Array
        if self.sorted:
            back = block.source > block.target
        else:
            back = self.padded[block.source] > self.padded[block.target]
        return back

    def forward(self, blocks: list[Edges]) -> bool:
        """Whether every edge points forward."""
        return not any(bool(self.backward(block).any()) for block in blocks)


def rank_of(history: ColumnHistory) -> Array:
    """Where each transaction stands: by timestamps if the committed have them, else by answers."""
    stamp = np.where(history.commit_ts >= 0, history.commit_ts, history.read_ts)
    counts = history.status == 0
    if bool((stamp[counts] >= 0).all()):
        rank = stamp
    else:
        rank = np.where(history.end >= 0, np.minimum(history.end, FOREVER // 4), FOREVER // 4)
    ddl = history.ddl
    return rank * 2 + ~ddl if ddl.any() else rank


def spans_of(history: ColumnHistory, node: Array | None) -> tuple[Array, Array]:
    """Begin and end as real time sees them: 0 and the end of time where they do not count."""
    begin = np.where(history.begin >= 0, history.begin, NONE)
    ends = (history.end >= 0) & (history.status != UNKNOWN)
    if node is not None:
        ends &= node
        begin = np.where(node, begin, NONE)
    return begin, np.where(ends, history.end, FOREVER)


def in_real_time(order: Order, begin: Array, end: Array) -> bool:
    """Whether no transaction ended before one at an earlier place of the order began."""
    if not len(begin):
        return True
    if not order.sorted:
        begin, end = begin[order.at], end[order.at]
    earliest = np.minimum.accumulate(end[::-1])[::-1]
    return bool((earliest[1:] >= begin[:-1]).all())


def unsettled(order: Order, blocks: list[Edges], begin: Array, end: Array) -> list[Array] | None:
    """Of each block the edges left that go back in an order in which all else points forward.

    None left shows that there is no cycle; each that is left leads to what had ended before its
    source began, and so closes one with real time. None (no list) if no such order was found.
    """
    found = [np.flatnonzero(order.backward(block)) for block in blocks]
    if in_real_time(order, begin, end):
        against = [_against(block, at, begin, end) for block, at in zip(blocks, found, strict=True)]
        if sum(map(len, against)) == sum(map(len, found)):
            return against
    return _settled(order.rank, blocks, begin, end)


def _against(block: Edges, chosen: Array, begin: Array, end: Array) -> Array:
    """Of some edges those whose target had ended before their source began."""
    found: Array = chosen[end[block.target[chosen]] < begin[block.source[chosen]]]
    return found


def _settled(rank: Array, blocks: list[Edges], begin: Array, end: Array) -> list[Array] | None:
    """The same, for an order that is found from `rank` on.

    The order is that of growing numbers, of begins where they tie. Each round first raises every
    transaction above all that ended before it began, then every edge's target above its source. A
    move upward breaks no edge into the moved transaction; so after the first round only edges out
    of moved transactions are checked, and a round without a move proves the order. Edges against
    real time move no transaction. Where a round moves half of all, None: components cost no more.
    """
    n = len(rank)
    number = np.append(rank, np.asarray([FOREVER, LOWEST]))
    since = np.append(begin, np.asarray([FOREVER, LOWEST]))
    until = np.append(end, np.asarray([FOREVER, LOWEST]))
    enders = np.flatnonzero(end < FOREVER)
    by_end = enders[np.argsort(end[enders], kind="stable")]
    ended_before = np.searchsorted(end[by_end], begin, side="left")
    highest = np.full(len(by_end) + 1, LOWEST)
    moved: Array | None = None
    against: list[list[Array]] = [[] for _ in blocks]
    for _ in range(ROUNDS):
        np.maximum.accumulate(number[by_end], out=highest[1:])
        least = highest[ended_before]
        if moved is not None:
            moved[:n] |= least > number[:n]
            if np.count_nonzero(moved) > max(n // 2, FEW):
                return None
        np.maximum(number[:n], least, out=number[:n])
        now = np.zeros(n + 2, np.bool_)
        for block, left in zip(blocks, against, strict=True):
            left.append(_push(block, number, (since, until), moved, now))
        if not now.any():
            return [np.unique(np.concatenate(left)) for left in against]
        moved = now
    return None


def _push(
    block: Edges, number: Array, span: tuple[Array, Array], moved: Array | None, now: Array
) -> Array:
    """Move the targets of edges behind their sources; with `moved`, only of sources that moved.

    Returns the edges against real time, whose targets are left where they are.
    """
    since, until = span
    source, target = block.source, block.target
    chosen: Array | None = None
    if moved is not None:
        chosen = np.flatnonzero(moved[source])
        source, target = source[chosen], target[chosen]
    back = np.flatnonzero(number[source] >= number[target])
    chosen = back if chosen is None else chosen[back]
    source, target = source[back], target[back]
    tied = since[source] >= since[target]
    wrong = (tied | (number[source] > number[target])) & (source != target)
    against = wrong & (until[target] < since[source])
    wrong &= ~against
    source, target = source[wrong], target[wrong]
    np.maximum.at(number, target, number[source] + tied[wrong])
    now[target] = True
    left: Array = chosen[against]
    return left


def back_in_time(order: Order, begin: Array, end: Array) -> tuple[Array, Array]:
    """Places (low, high): the transaction at `low` began after the one at `high` had ended.

    For each `low` only the highest such place.
    """
    begin, end = begin[order.at], end[order.at]
    by_end = np.argsort(end, kind="stable")
    highest = np.maximum.accumulate(by_end)
    before = np.searchsorted(end[by_end], begin, side="left")
    low = np.flatnonzero(before > 0)
    high = highest[before[low] - 1]
    worse = high > low
    return low[worse], high[worse]


def reads_fail(history: ColumnHistory, blocks: list[Edges]) -> bool:
    """Whether edges without missing ends show that one of what `snapshots_hold` asks for is not."""
    return not all(_in_snapshots(history, block) for block in blocks)


def _in_snapshots(history: ColumnHistory, block: Edges) -> bool:
    """Whether each edge's source committed by the read_ts of its target, or read before its commit.

    A target that wrote something may depend on nothing later than before its commit_ts: else two
    with a read_ts not before their commit_ts could read from each other.
    """
    block = compact(block, history.transactions)
    anti = (block.kind & RW) != 0
    committed = history.commit_ts[block.target]
    came = np.where(anti, history.read_ts[block.source], history.commit_ts[block.source])
    if (came > np.where(anti, committed - 1, history.read_ts[block.target])).any():
        return False
    late = block.target[np.flatnonzero(~anti & (came >= committed))]
    return not len(late) or not _wrote(history)[late].any()


def _wrote(history: ColumnHistory) -> Array:
    """Which transactions wrote anything."""
    found = np.zeros(history.transactions, np.bool_)
    found[history.tx[np.flatnonzero(is_write(history.kind))]] = True
    return found


def snapshots_hold(history: ColumnHistory, versions: Versions, blocks: list[Edges]) -> bool:
    """Whether every transaction read the snapshot of its read_ts, and no two writers overlapped.

    That is snapshot isolation by its definition: what was read had committed by then, the next
    version had not, and the writer of the version before had (NOCONFLICT).
    """
    if reads_fail(history, blocks):
        return False
    known = (history.read_ts >= 0) & ((history.commit_ts >= 0) | ~_wrote(history))
    return bool(known.all() if versions.node is None else known[versions.node].all())
