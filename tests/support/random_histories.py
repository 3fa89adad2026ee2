"""Random histories: serial ones, and ones that nothing holds together."""

from typing import Any

from hypothesis import strategies as st

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.writes import Writes
from ddlsim.checkers.graph.graph import Graph
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column

Action = tuple[str, int]
ACTIONS = st.tuples(st.sampled_from(["get", "put", "delete", "scan"]), st.integers(0, 3))
TX = st.lists(ACTIONS, min_size=1, max_size=4)
STEPS = st.lists(st.one_of(TX, st.booleans()), min_size=1, max_size=14)
"""Transactions, and DDLs as booleans: whether they are forward-compatible."""


class Serial:
    """One after the other, each at its own instant; spans overlap by `slack` milliseconds."""

    def __init__(self, slack: int = 0) -> None:
        self.story = Story()
        self.table = self.story.table()
        self.slack = slack
        self.version = 1
        self.at = 100
        self.newest: dict[int, tuple[str, bool]] = {}
        self.overwritten: list[tuple[str, int, str | None]] = []
        self.reads: list[tuple[str, int, str | None]] = []

    def step(self, number: int, step: Any, stale: int | None = None) -> None:
        self.at += 10
        if isinstance(step, bool):
            self._ddl(number, compatible=step)
        else:
            self._tx(f"T{number}", step, stale)

    def _ddl(self, number: int, *, compatible: bool) -> None:
        id_ = 100 + number
        column = add_column(id_, f"c{id_}")
        changes: tuple[Any, ...] = (column,)
        if not compatible:
            changes = (column, ddl.ColumnDropped(Column(id_, f"c{id_}", INT)))
        self.story.ddl(
            f"D{number}",
            self.table,
            *changes,
            tu=self.at,
            submit=self.at - 1 - self.slack,
            ack=self.at + 1 + self.slack,
        )
        self.version += 1

    def _tx(self, tx: str, actions: list[Action], stale: int | None) -> None:
        at, more = float(self.at), {"version": self.version}
        self.story.begin(tx, at - self.slack - 1)
        for action, key in actions:
            at += 0.1
            writer = self.newest.get(key, (None, False))[0]
            if action == "get":
                self.reads.append((tx, key, writer))
                shown = writer
                if stale is not None and len(self.reads) - 1 == stale:
                    shown = _older(self.overwritten, key, writer)
                self.story.read(tx, self.table, key, at, shown, **more)
            elif action == "scan":
                found = {k: w for k, (w, _) in self.newest.items()}
                self.story.scan(tx, self.table, at, found, **more)
            else:
                row = {"row": None} if action == "delete" else {}
                self.story.write(tx, self.table, key, at, **more, **row)
                if writer != tx:
                    self.overwritten.append((tx, key, writer))
                self.newest[key] = (tx, action == "delete")
        self.story.commit(tx, at + 0.1, commit_ts=self.at, told=at + 0.1 + self.slack)


def _older(overwritten: list[tuple[str, int, str | None]], key: int, writer: str | None) -> Any:
    """The version before the newest one of a key."""
    return next((old for new, k, old in reversed(overwritten) if k == key and new == writer), None)


def serial(steps: list[Any], *, slack: int = 0, stale: int | None = None) -> Serial:
    made = Serial(slack)
    for number, step in enumerate(steps):
        made.step(number, step, stale)
    return made


CHAOS = st.lists(
    st.tuples(
        st.lists(
            st.tuples(
                st.sampled_from(["get", "put"]),
                st.integers(0, 2),
                st.integers(0, 5),
                st.integers(1, 3),
            ),
            min_size=1,
            max_size=3,
        ),
        st.integers(0, 60),
        st.integers(0, 20),
        st.integers(0, 60),
        st.booleans(),
    ),
    min_size=2,
    max_size=7,
)
"""(operations, begin, length, commit_ts, whether its client gets an answer) of each transaction."""


def chaos(transactions: Any, ddls: list[tuple[int, bool]]) -> Story:
    """Transactions that read and write under any version and in any order."""
    story = Story()
    table = story.table()
    for number, (at, compatible) in enumerate(ddls):
        changes: tuple[Any, ...] = (add_column(10 + number, f"c{number}"),)
        if not compatible:
            changes = (*changes, ddl.ColumnDropped(Column(10 + number, f"c{number}", INT)))
        story.ddl(f"D{number}", table, *changes, tu=at, submit=at, ack=at + 3)
    writers = {
        f"T{n}": {key for kind, key, _, _ in operations if kind == "put"}
        for n, (operations, *_) in enumerate(transactions)
    }
    versions = len(ddls) + 1
    for number, (operations, begin, length, commit_ts, answered) in enumerate(transactions):
        tx = f"T{number}"
        for at, (kind, key, whose, version) in enumerate(operations):
            more = {"version": min(version, versions)}
            if kind == "put":
                story.write(tx, table, key, begin + at / 10, **more)
            else:
                writer = f"T{whose}" if key in writers.get(f"T{whose}", ()) else None
                story.read(tx, table, key, begin + at / 10, writer, **more)
        story.commit(
            tx,
            begin + 1 + length,
            commit_ts=commit_ts,
            told=begin + 1 + length,
            **({} if answered else {"outcome": None}),
        )
    return story


def graph_of(story: Story) -> tuple[Case, Graph]:
    case = Case(story.history())
    return case, Graph(case, Writes(case))
