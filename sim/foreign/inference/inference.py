"""What both workloads share: what a history shows, the search for cycles, writes by their value."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from ddlsim.foreign.readers.by_key import ByKey
from ddlsim.foreign.readers.operations import READ, dense
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.cycles import BUDGET, Cycle, Search, find_cycles, with_other_names
from ddlsim.graph.edges import PROCESS, Edges, Link, edges, joined
from ddlsim.graph.history import COMMITTED, NONE, Array
from ddlsim.graph.models import MODELS, Model, model_of

MOST_PAIRS: Final = 250_000
"""Of readers of one version and writers of later ones, as edges."""
MOST_FOUND: Final = 1000
"""Findings of one type that are kept, and counted."""


class Finding(NamedTuple):
    """An anomaly that is no cycle; `op` is the number of the operation that shows it.

    `weakest` is the weakest model that it breaks, where its type does not determine that.
    """

    type: str
    txns: tuple[int, ...]
    said: str
    op: int = -1
    weakest: str = ""


@dataclass(slots=True)
class Found:
    """What a history shows under a model: nodes, edges between them, findings and cycles.

    `open` has the reasons why a history without anomalies may not be called valid, `notes` what
    the search for cycles left out, `because` the reason of an inferred edge in words, or "".
    """

    node: Array
    blocks: list[Edges] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    cycles: list[Cycle] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    because: Callable[[Link], str] = lambda _: ""

    @property
    def every(self) -> list[Finding | Cycle]:
        """All anomalies."""
        return [*self.findings, *self.cycles]

    def breaks(self, model: Model, status: Array) -> bool:
        """Whether any anomaly breaks a model."""
        return any(breaks(one, model, status) for one in self.every)

    def search(self, history: Transactions, model: Model) -> None:
        """Find the cycles of the edges."""
        found = search_of(history, self.node, self.blocks, model)
        self.cycles, self.notes = with_other_names(found.cycles, history.key), found.notes

    def leave_out(self, keys: Iterable[str]) -> None:
        """Some reads and later writes of these keys were not compared: there were too many."""
        names = list(dict.fromkeys(keys))
        if names:
            more = f" and of {len(names) - 1} other keys" if names[1:] else ""
            self.open.append(
                f"not every read of key {names[0]}{more} was compared with every write that must "
                f"come after it: more than {MOST_PAIRS} pairs"
            )


def most_of_each(found: Iterable[Finding]) -> list[Finding]:
    """The first of each type. What one model allows may not hide what it forbids: no type counts
    against another one.
    """
    many: Counter[str] = Counter()
    kept = []
    for one in found:
        many[one.type] += 1
        kept += [one] if many[one.type] <= MOST_FOUND else []
    return kept


def breaks(one: Finding | Cycle, model: Model, status: Array) -> bool:
    """Whether an anomaly breaks a model.

    An indeterminate transaction whose writes were read counts as committed, but read-uncommitted
    also allows reads of aborted writes: a cycle through such a transaction does not break it.
    """
    if one.weakest:
        return model.implies(model_of(one.weakest))
    undone = isinstance(one, Cycle) and any(status[tx] != COMMITTED for tx in one.txns)
    return model.forbids_type(one.type) and not (undone and model.name == "read-uncommitted")


def is_snapshot(model: Model) -> bool:
    """Whether a model is snapshot isolation, in whatever orders."""
    return "G-single" in model.forbids and "G2-item" not in model.forbids


def weaker_than(model: Model) -> list[Model]:
    """The models that a model implies, without itself."""
    return [one for one in MODELS.values() if model.implies(one) and one is not model]


def search_of(
    history: Transactions,
    node: Array,
    blocks: list[Edges],
    model: Model,
    rank: Array | None = None,
    budget: int = BUDGET,
) -> Search:
    """The cycles of some edges between nodes, with the orders that a model asks for."""
    begin = end = None
    if model.level:
        blocks = [*blocks, session_edges(history, node)]
    if model.level > 1:
        begin = np.where(node, history.begin, NONE)
        end = np.where(node, history.end, NONE)
    if rank is None:
        rank = rank_of(history)
    return find_cycles(len(history), blocks, begin, end, rank=rank, model=model.name, budget=budget)


def rank_of(history: Transactions) -> Array:
    """Where a transaction probably stands in an order of all: at its end, else at its begin."""
    return np.where(history.end >= 0, history.end, history.begin)


class Writes:
    """Which operation wrote a value of a key, by sorted pairs; values are numbers.

    A value that several operations wrote belongs to one that took effect, if there is one, else to
    the first; `twice` has the operations that wrote what is another's already, `shared` all that
    wrote what others wrote too: a read of it has no certain writer.
    """

    def __init__(self, history: Transactions, value: Array) -> None:
        ops = np.flatnonzero(history.kind != READ)
        self.known = dense(value[ops])[0]
        packed = self.pack(history.key[ops], value[ops])
        order = np.argsort(packed * 4 + history.status[history.tx[ops]], kind="stable")
        packed, ops = packed[order], ops[order]
        first = np.ones(len(ops), np.bool_)
        first[1:] = packed[1:] != packed[:-1]
        self.twice: Array = ops[~first]
        alone = first & np.append(first[1:], True)
        self.shared: Array = ops[~alone]
        self._packed, self._ops = packed[first], ops[first]

    def pack(self, key: Array, value: Array) -> Array:
        """Keys and values as one number; -1 for a value that was not written."""
        if not len(self.known):
            return np.full(len(key), NONE, np.int64)
        place = np.minimum(np.searchsorted(self.known, value), len(self.known) - 1)
        packed = key.astype(np.int64) * len(self.known) + place
        return np.where(self.known[place] == value, packed, NONE)

    def of(self, key: Array, value: Array) -> Array:
        """The operations that wrote these values, -1 where there is none."""
        packed = self.pack(key, value)
        if not len(self._packed):
            return np.full(len(key), NONE, np.int64)
        at = np.minimum(np.searchsorted(self._packed, packed), len(self._packed) - 1)
        return np.where(self._packed[at] == packed, self._ops[at], NONE)


def last_writes(history: Transactions) -> Array:
    """Of each operation, whether it is its transaction's last write of its key."""
    groups = history.by_key
    write = history.kind[groups.ops] != READ
    last = write & (groups.before(write) == groups.spread(groups.sums(write)) - 1)
    found = np.zeros(len(history.tx), np.bool_)
    found[groups.ops[last]] = True
    return found


def first_of_key(history: Transactions) -> Array:
    """Of each operation, whether it is its transaction's first one on its key."""
    found = np.zeros(len(history.tx), np.bool_)
    found[history.by_key.ops[history.by_key.new]] = True
    return found


def by_transaction(history: Transactions) -> list[list[int]]:
    """The operations, in order, of each key in each transaction that reads it after another one.

    Only there can a transaction contradict itself; in most there is nothing to look at.
    """
    groups = history.by_key
    again = ~groups.new & (history.kind[groups.ops] == READ)
    return operations_of(groups, np.unique(groups.number[again]))


def operations_of(groups: ByKey, numbers: Array) -> list[list[int]]:
    """The operations, in order, of some groups."""
    low = np.searchsorted(groups.number, numbers).tolist()
    high = np.searchsorted(groups.number, numbers, side="right").tolist()
    return [groups.ops[one:other].tolist() for one, other in zip(low, high, strict=True)]


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


class Crossed(NamedTuple):
    """Pairs of transactions, by their places in the two lists; `dropped` if some are missing."""

    before: Array
    after: Array
    dropped: bool


def crossed(before: Array, after: Array, history: Transactions) -> Crossed:
    """All pairs of two lists of transactions, or if too many, those real time is hardest on.

    Then those that began last are paired with all, and all with those that ended first. No
    transaction is paired with itself.
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
