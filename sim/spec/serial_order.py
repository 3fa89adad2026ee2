"""The variables of the scope `iep110`, and the order of its DDLs and transactions.

A DDL after a transaction, because that ran under the version before it, is left out of the order
where its change is forward-compatible and the transaction read nothing of a newer version.
"""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final, NamedTuple

READ: Final = "read"
WRITE: Final = "write"
IDLE: Final = "idle"
RUNNING: Final = "running"
WAITING: Final = "waiting"
STAMPED: Final = "stamped"
COMMITTED: Final = "committed"
ABORTED: Final = "aborted"


class Change(NamedTuple):
    """A DDL: from when on it counts, and whether it is forward-compatible."""

    activation: int
    compatible: bool


class Request(NamedTuple):
    """An operation that has arrived at its primary: what, on which key, and its op_ts."""

    kind: str
    key: int
    op_ts: int


class Transaction(NamedTuple):
    """A transaction: its phase, and what it has done.

    `initial` is I; its operations ran under the versions from `lowest` to `highest`. `seen` is the
    largest timestamp that its coordinator knows of it, commit_ts at last. `reads` has keys with
    how many committed writes of each it saw.
    """

    phase: str = IDLE
    initial: int = 0
    lowest: int = 0
    highest: int = 0
    seen: int = 0
    operations: int = 0
    asked: Request | None = None
    reads: frozenset[tuple[int, int]] = frozenset()
    wrote: frozenset[int] = frozenset()


class State(NamedTuple):
    """The variables, in the order of the TLA+ module.

    `now` are clocks by node; `rows` has for each key the transactions that wrote it, in order.
    """

    now: tuple[int, ...]
    log: tuple[Change, ...]
    transactions: tuple[Transaction, ...]
    rows: tuple[tuple[int, ...], ...]
    broken: tuple[str, ...]


def version_at(log: Iterable[Change], ts: int) -> int:
    """How many changes have activated at a time."""
    return sum(one.activation <= ts for one in log)


def all_compatible(steps: Iterable[Change]) -> bool:
    """Whether every step is forward-compatible."""
    return all(one.compatible for one in steps)


Node = tuple[str, int]
"""`("D", i)` or `("T", t)`, from 0."""
Edge = tuple[Node, Node]


def edges(state: State) -> set[Edge]:
    """What precedes what, of DDLs and committed transactions."""
    found: set[Edge] = {(("D", i), ("D", i + 1)) for i in range(len(state.log) - 1)}
    committed = {t: one for t, one in enumerate(state.transactions) if one.phase == COMMITTED}
    for t, one in committed.items():
        if one.highest:
            found.add((("D", one.highest - 1), ("T", t)))
        if one.lowest < len(state.log) and _precedes_next(state, one):
            found.add((("T", t), ("D", one.lowest)))
        for key, seen in one.reads:
            writers = state.rows[key]
            if seen:
                found.add((("T", writers[seen - 1]), ("T", t)))
            found |= {(("T", t), ("T", writer)) for writer in writers[seen:] if writer != t}
    for writers in state.rows:
        found |= {(("T", first), ("T", then)) for first, then in pairwise(writers)}
    return found


def _precedes_next(state: State, one: Transaction) -> bool:
    """Whether a transaction precedes the DDL after the version that it ran under."""
    newer = (
        state.transactions[writer].highest > one.lowest
        for key, seen in one.reads
        for writer in state.rows[key][:seen][-1:]
    )
    return not state.log[one.lowest].compatible or any(newer)


def has_serial_order(state: State) -> bool:
    """Whether the graph has no cycle."""
    return not cycle_of(state)


def cycle_of(state: State) -> list[Edge]:
    """A cycle of the graph, edge after edge, from its least node on; empty where there is none."""
    before: dict[Node, list[Node]] = {}
    for source, to in sorted(edges(state)):
        before.setdefault(to, []).append(source)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        way: list[Node] = error.args[1][:-1]  # each precedes the next one, and the last the first
        place = way.index(min(way))
        way = way[place:] + way[:place]
        return list(zip(way, [*way[1:], way[0]], strict=True))
    return []


def edge_words(edge: Edge) -> str:
    (kind, number), (to_kind, to) = edge
    return f"{kind}{number + 1} before {to_kind}{to + 1}"
