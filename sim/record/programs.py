"""What clients do, as data: a plan is made of these before anything is sent.

An operation of a history is `(function, key, value)`: `append` or `r`, with None for what a read is
yet to find.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ddlsim.history.recording import key_of

Operation = tuple[str, int, int | None]
PLAIN: Final = "plain"
RETYPE: Final = "retype"
TRUNCATE: Final = "truncate"
SWAP: Final = "rename-swap"
RECREATE: Final = "drop-create"
WAYS: Final = {
    PLAIN: "one ALTER TABLE",
    RETYPE: "with a change of another column's type, so that every row is written anew",
    TRUNCATE: "after the rows were set aside, the table truncated, and the rows put back",
    SWAP: "in a copy of the table, which is then renamed to take its place",
    RECREATE: "in a table that is dropped and created again, with the rows put back",
}
"""How a column can be added; the rows of the table are the same before and after."""
ANCHORS: Final = (1, 2)
"""Rows of each table that every read shows, and beside which columns are added."""
CREATE: Final = "create"
DROP: Final = "drop"
ASK: Final = "ask"
CLEAR: Final = "clear"
ACTS: Final = {
    CREATE: "the index is created",
    DROP: "the index is dropped, if it is there",
    ASK: "the database is asked whether the index is valid",
    CLEAR: "all rows lose their values of the indexed column",
}
"""What is done about a unique index."""


@dataclass(frozen=True, slots=True)
class Read:
    """One SELECT of all columns: the anchors, and the rows from `low` up to `high`."""

    table: int
    low: int
    high: int

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that it asks for, by their keys."""
        return (*ANCHORS, *range(self.low, self.high + 1))

    @property
    def operations(self) -> tuple[Operation, ...]:
        keys = (key_of(self.table), *(key_of(self.table, row) for row in self.rows))
        return tuple(("r", key, None) for key in keys)


@dataclass(frozen=True, slots=True)
class Append:
    """One UPDATE that appends a value to the list of a row, and sets its column x where `x` is
    given; of a row that is `new`, one INSERT of both.
    """

    table: int
    row: int
    value: int
    x: int | None = None
    new: bool = False

    @property
    def operations(self) -> tuple[Operation, ...]:
        return (("append", key_of(self.table, self.row), self.value),)


@dataclass(frozen=True, slots=True)
class AddColumn:
    """The column of a number is added, by one statement or in one of `WAYS`."""

    table: int
    number: int
    way: str = PLAIN

    @property
    def operations(self) -> tuple[Operation, ...]:
        return (("append", key_of(self.table), self.number),)


@dataclass(frozen=True, slots=True)
class UniqueIndex:
    """One of `ACTS` on the unique index of a number, on column x of a table.

    `online`: without a lock on the table's writers, outside of any transaction. No list has it:
    what the index promises is held against the rows of each read.
    """

    table: int
    number: int
    act: str
    online: bool = False

    @property
    def operations(self) -> tuple[Operation, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class NewTables:
    """Tables of these numbers are made, each with its rows, a group of them by one INSERT."""

    tables: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def operations(self) -> tuple[Operation, ...]:
        rows = (0, *(row for group in self.groups for row in group))
        return tuple(("append", key_of(table, row), 0) for table in self.tables for row in rows)


@dataclass(frozen=True, slots=True)
class Pause:
    """A client that takes its time, in milliseconds."""

    ms: float

    @property
    def operations(self) -> tuple[Operation, ...]:
        return ()


def edn_of(operations: Iterable[Operation]) -> str:
    """Operations as Jepsen writes them."""
    return " ".join(
        [f"[:{name} {key} {'nil' if value is None else value}]" for name, key, value in operations]
    )


@lru_cache(maxsize=256)
def asked(read: Read) -> str:
    """The operations of a read as Jepsen writes them; clients repeat a few reads."""
    return edn_of(read.operations)


@lru_cache(maxsize=256)
def begun(read: Read) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The operations of a read up to the values that are yet to be found: of its table's columns,
    and of each row.
    """
    starts = [f"[:{name} {key} " for name, key, _ in read.operations]
    return starts[0], tuple(zip(read.rows, starts[1:], strict=True))


Step = Read | Append | AddColumn | UniqueIndex | NewTables | Pause


@dataclass(frozen=True, slots=True)
class Program:
    """A transaction; one `alone` is a single step outside of BEGIN and COMMIT.

    `after_ms` is the time since the program before it, `fresh` asks for a new connection.
    """

    steps: tuple[Step, ...]
    alone: bool = False
    fresh: bool = False
    after_ms: float = 0.0

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All of its operations, in order."""
        return tuple(one for step in self.steps for one in step.operations)

    @property
    def asked(self) -> str:
        """The same as Jepsen writes them, before anything is found."""
        texts = [
            asked(step) if isinstance(step, Read) else edn_of(step.operations)
            for step in self.steps
        ]
        return " ".join(filter(None, texts))

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return any(not isinstance(step, Read | Pause) for step in self.steps)

    @property
    def has_ddl(self) -> bool:
        """Whether it changes a table."""
        return any(
            isinstance(step, AddColumn | NewTables)
            or (isinstance(step, UniqueIndex) and step.act in (CREATE, DROP))
            for step in self.steps
        )
