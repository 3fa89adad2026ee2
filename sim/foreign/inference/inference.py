"""What a workload's reader finds in a history: edges, and what no order of versions explains."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from ddlsim.columns.edges import (
    PROCESS,
    Edges,
    edges,
    joined,
)
from ddlsim.columns.history import (
    COMMITTED,
    NONE,
    Array,
)
from ddlsim.foreign.readers.transactions import READ, Transactions

MOST_PAIRS: Final = 250_000
"""Of readers of one version and writers of later ones, as edges."""


class Finding(NamedTuple):
    """Something that is no cycle; `op` is the number of the operation that shows it.

    `weakest` is the weakest model that it breaks, if that is not a matter of its type.
    """

    type: str
    txns: tuple[int, ...]
    said: str
    op: int = -1
    weakest: str = ""


@dataclass(slots=True)
class Inferred:
    """What was found out: who counts as a node, edges among them, findings.

    `open` tells in words why a history without anomalies may not be called valid.
    """

    node: Array
    blocks: list[Edges] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def leave_out(self, keys: Iterable[str]) -> None:
        """Some reads and later writes of these keys were not compared: there were too many."""
        names = list(dict.fromkeys(keys))
        if names:
            more = f" and of {len(names) - 1} other keys" if names[1:] else ""
            self.open.append(
                f"not every read of key {names[0]}{more} was compared with every write that must "
                f"come after it: more than {MOST_PAIRS} pairs"
            )


class Writes:
    """Which operation wrote a value of a key, by sorted pairs; values are numbers.

    A value that several operations wrote belongs to one that took effect, if there is one, else to
    the first; `twice` has the operations that wrote what is another's already, `shared` all that
    wrote what others wrote too: whose it is when it is read is not known.
    """

    def __init__(self, history: Transactions, value: Array) -> None:
        ops = np.flatnonzero(history.kind != READ)
        self.known = np.unique(value[ops])
        packed = self.pack(history.key[ops], value[ops])
        order = np.lexsort((ops, history.status[history.tx[ops]], packed))
        packed, ops = packed[order], ops[order]
        first = np.ones(len(ops), np.bool_)
        first[1:] = packed[1:] != packed[:-1]
        self.twice: Array = ops[~first]
        alone = first & np.append(first[1:], True)
        self.shared: Array = ops[~alone]
        self._packed, self._ops = packed[first], ops[first]

    def pack(self, key: Array, value: Array) -> Array:
        """Keys and values as one number; -1 for a value that nobody wrote."""
        if not len(self.known):
            return np.full(len(key), NONE, np.int64)
        place = np.minimum(np.searchsorted(self.known, value), len(self.known) - 1)
        packed = key.astype(np.int64) * len(self.known) + place
        return np.where(self.known[place] == value, packed, NONE)

    def of(self, key: Array, value: Array) -> Array:
        """The operations that wrote these values, -1 where nobody did."""
        packed = self.pack(key, value)
        if not len(self._packed):
            return np.full(len(key), NONE, np.int64)
        at = np.minimum(np.searchsorted(self._packed, packed), len(self._packed) - 1)
        return np.where(self._packed[at] == packed, self._ops[at], NONE)


def last_writes(history: Transactions) -> Array:
    """Of each operation, whether it is its transaction's last write of its key."""
    ops = np.flatnonzero(history.kind != READ)
    order = np.lexsort((ops, history.key[ops], history.tx[ops]))
    ops = ops[order]
    tx, key = history.tx[ops], history.key[ops]
    last = np.ones(len(ops), np.bool_)
    last[:-1] = (tx[1:] != tx[:-1]) | (key[1:] != key[:-1])
    found = np.zeros(len(history.tx), np.bool_)
    found[ops[last]] = True
    return found


def first_of_key(history: Transactions) -> Array:
    """Of each operation, whether it is its transaction's first one on its key."""
    count = len(history.tx)
    order = np.lexsort((np.arange(count), history.key, history.tx))
    tx, key = history.tx[order], history.key[order]
    first = np.ones(count, np.bool_)
    first[1:] = (tx[1:] != tx[:-1]) | (key[1:] != key[:-1])
    found = np.zeros(count, np.bool_)
    found[order[first]] = True
    return found


def by_transaction(history: Transactions) -> list[list[int]]:
    """The operations, in order, of each key in each transaction that reads it after another one.

    Only there can a transaction contradict itself; in most there is nothing to look at.
    """
    count = len(history.tx)
    order = np.lexsort((np.arange(count), history.key, history.tx))
    tx, key = history.tx[order], history.key[order]
    new = np.ones(count, np.bool_)
    new[1:] = (tx[1:] != tx[:-1]) | (key[1:] != key[:-1])
    group = np.cumsum(new) - 1
    interesting = np.zeros(int(group[-1]) + 1 if count else 0, np.bool_)
    interesting[group[~new & (history.kind[order] == READ)]] = True
    chosen = interesting[group] if count else new
    order, group = order[chosen], group[chosen]
    cuts = np.flatnonzero(np.diff(group)) + 1
    return [part.tolist() for part in np.split(order, cuts)] if len(order) else []


def session_edges(history: Transactions, node: Array) -> Edges:
    """From each committed transaction to the next one of its process, and to nodes before that.

    Nothing comes after a node without an answer: it may have taken effect at any later time.
    """
    members = np.flatnonzero(node & (history.begin >= 0))
    order = np.lexsort((history.begin[members], history.process[members]))
    members = members[order].astype(np.int32)
    if not len(members):
        return joined([])
    process, answered = history.process[members], history.status[members] == COMMITTED
    last = np.maximum.accumulate(np.where(answered, np.arange(len(members)), NONE))
    before = np.append(NONE, last[:-1])
    same = (before >= 0) & (process[np.maximum(before, 0)] == process)
    return edges(members[before[same]], members[same], PROCESS)


def ranges(first: Array, count: Array) -> Array:
    """first[0], first[0] + 1, ... count[0] of them, then those of first[1], and so on."""
    total = int(count.sum())
    ends = np.cumsum(count)
    found: Array = np.arange(total) + np.repeat(first - (ends - count), count)
    return found


class Crossed(NamedTuple):
    """Pairs of transactions, by their places in the two lists; `dropped` if some are missing."""

    before: Array
    after: Array
    dropped: bool


def crossed(before: Array, after: Array, history: Transactions) -> Crossed:
    """All pairs of two lists of transactions, or if too many, those real time is hardest on.

    Then those who began last are paired with all, and all with those who ended first. Nobody is
    paired with himself.
    """
    dropped = len(before) * len(after) > MOST_PAIRS
    if dropped:
        few = max(1, MOST_PAIRS // (2 * (len(before) + len(after))))
        late = np.argsort(history.begin[before], kind="stable")[-few:]
        end = history.end[after]
        early = np.lexsort((end, end < 0))[:few]
        most = np.setdiff1d(np.arange(len(before)), late)
        blocks = [(late, np.arange(len(after))), (most, early)]
    else:
        blocks = [(np.arange(len(before)), np.arange(len(after)))]
    one = np.concatenate([np.repeat(a, len(b)) for a, b in blocks])
    other = np.concatenate([np.tile(b, len(a)) for a, b in blocks])
    apart = before[one] != after[other]
    return Crossed(one[apart], other[apart], dropped)
