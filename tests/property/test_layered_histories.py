"""Histories of a faultless layer over a faultless store: no judge accuses any of them.

The store lets a transaction commit unless something that it had read was written behind its read
version, the table's schema included. Commits are recorded late and out of order, readers read old
versions, clocks are apart, processes die.
"""

from collections import Counter
from random import Random

from ddlsim.checkers.judge import judge
from ddlsim.history.events import TxCommitted
from ddlsim.history.world_events import (
    ClockSet,
    FaultBegan,
    FaultHealed,
    LeftOpen,
    NodeCrashed,
    NodeRestarted,
)
from ddlsim.model import ddl
from ddlsim.model.schema import INDEX_STATES, Column
from tests.support.history import INT, add_column
from tests.support.layered import Layered

HISTORIES = 200
TRANSACTIONS = 14
SPACE = 10
"""Versions between one commit and the next."""


class Store:
    """Draws transactions and lets commit what does not conflict."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.story = Layered()
        self.schema = {1: 0}
        """Since when each version of the table is in force."""
        self.written: dict[object, int] = {}
        """The last commit of each key."""
        self.indexed = 0
        """The number of states that the index has come through."""
        self.now = 10

    def tick(self) -> int:
        self.now += SPACE
        return self.now

    def version_at(self, at: int) -> int:
        return max(version for version, tu in self.schema.items() if tu <= at)

    # --- statements -------------------------------------------------------------------------------

    def statement(self, number: int) -> None:
        """A change of the table, answered soon; entries are filled in with what makes it public."""
        at, story, name = self.tick(), self.story, f"D{number}"
        more = {"submit": at - 3, "ack": at + self.draw.choice([1, 5, 15])}
        kind = self.draw.choice(["index", "states", "column", "default"])
        version = max(self.schema) + 1
        if kind == "index" and not self.indexed:
            story.run(f"{name}.fill", at - 1, at, ("fill",), v=version, begins=at - 2, ends=at)
            story.index(name, at, unique=False, **more)
            self.indexed = len(INDEX_STATES)
        elif kind == "states" and self.indexed < len(INDEX_STATES):
            self.next_state(name, at, version, more)
        elif kind == "column":
            story.ddl(name, story.t, add_column(version, f"c{version}", default=7), tu=at, **more)
        else:
            story.ddl(name, story.t, self.altered(), tu=at, **more)
        self.schema[version] = at

    def next_state(self, name: str, at: int, version: int, more: dict[str, float]) -> None:
        state, name = INDEX_STATES[self.indexed], "DI"
        if state != INDEX_STATES[-1]:
            del more["ack"]
        if not self.indexed:
            self.story.index(name, at, state=state, **more)
        else:
            if state == INDEX_STATES[-1]:
                self.story.run("DI.fill", at - 1, at, ("fill",), v=version, begins=at - 2, ends=at)
            self.story.set_state(name, state, at, **more)
        self.indexed += 1

    def altered(self) -> ddl.ColumnAltered:
        columns = self.story.definition(self.story.t, max(self.schema)).columns
        before = columns[1]
        after = Column(1, "v", INT, default=self.draw.randint(1, 10**9))
        return ddl.ColumnAltered(before, after)

    # --- transactions -----------------------------------------------------------------------------

    def transaction(self, number: int) -> None:
        draw = self.draw
        begins = self.now - draw.choice([0, 0, SPACE, 3 * SPACE]) + 1
        at = self.tick()
        does = [self.operation() for _ in range(draw.randint(1, 4))]
        reads_only = all(one[0] in ("get", "scan", "find") for one in does)
        old = draw.choice([0, 0, 2 * SPACE]) if reads_only else 0
        rv = max(begins - old, 1)
        version = self.version_at(rv)
        name, cv = f"T{number}", None if reads_only else at
        ends = at + draw.choice([1, 1, 25])
        more: dict[str, object] = {"begins": begins, "ends": ends, "node": draw.choice("pq")}
        more["at"] = draw.choice([begins, at])
        if cv is not None and self.conflicts(rv, version, does):
            more["aborts"] = "TX_CONFLICT"
        if reads_only and old:
            more["chosen"] = True
        self.story.run(name, rv, cv, *does, v=version, **more)
        if cv is not None and "aborts" not in more:
            self.written.update({one[1]: cv for one in does if one[0] in ("put", "delete")})

    def operation(self) -> tuple[object, ...]:
        key, value = self.draw.choice("rstu"), self.draw.choice([1, 2, None])
        find = ("find", value) if self.indexed == len(INDEX_STATES) else ("scan",)
        return self.draw.choice(
            [("put", key, value), ("put", key, value), ("delete", key), ("get", key), find]
        )

    def conflicts(self, rv: int, version: int, does: list[tuple[object, ...]]) -> bool:
        """Whether something that it read was written since; a write reads what it replaces."""
        if max(self.schema) != version:
            return True
        keys = {one[1] for one in does if one[0] not in ("scan", "find")}
        if any(one[0] in ("scan", "find") for one in does):
            keys |= {*self.written}
        return any(self.written.get(key, 0) > rv for key in keys)

    # --- disturbances -----------------------------------------------------------------------------

    def disturb(self) -> None:
        """Clocks that step and drift, faults, a process that dies and comes back."""
        at = self.now + 1
        match self.draw.choice(["clock", "drift", "fault", "crash", ""]):
            case "clock":
                self.story.add(at, ClockSet, "p", self.draw.choice([-900_000, 900_000]), 0)
            case "drift":
                self.story.add(at, ClockSet, "q", 0, 100_000)
            case "fault":
                self.story.add(at, FaultBegan, "partition", "p", ("p",))
                self.story.add(at + 30, FaultHealed, "partition", "p", ("p",))
            case "crash":
                self.story.add(at, NodeCrashed, "q")
                self.story.add(at + 20, NodeRestarted, "q", 2)


def faultless(seed: int) -> Layered:
    """A history of a faultless layer."""
    store = Store(seed)
    statements = iter(range(4))
    for number in range(TRANSACTIONS):
        if store.draw.random() < 0.25 and (statement := next(statements, None)) is not None:
            store.statement(statement)
        if store.draw.random() < 0.2:
            store.disturb()
        store.transaction(number)
    store.story.read_back(store.now + 100)
    if 0 < store.indexed < len(INDEX_STATES):  # its statement has not come to its end
        store.story.add(store.now + 101, LeftOpen, "n1", "DI", "statement")
    store.story.settings = {
        "": {"calm": 1, "slowest_us": 1000, "load_ms": store.now, "staged": 0},
        "p": {"max_clock_skew_ms": 5, "tx_timeout_ms": 5000, "operation_timeout_ms": 1000},
        "q": {"max_clock_skew_ms": 5, "tx_timeout_ms": 5000, "operation_timeout_ms": 1000},
    }
    return store.story


def test_no_judge_accuses_a_faultless_layer() -> None:
    committed = 0
    for seed in range(HISTORIES):
        history = faultless(seed).history()
        committed += len(history.of(TxCommitted))
        found = judge(history, all_claims=True, strict=True)
        told = Counter(f"{one.invariant} {one.kind} {one.status}" for one in found.violations)
        assert not told, (seed, told, [one.summary for one in found.violations])
    assert committed > 5 * HISTORIES
