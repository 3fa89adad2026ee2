"""Random sensible DDL from several clients at random times, refused and pointless ones included."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, Final

from ddlsim.model.programs import DdlItem, Program
from ddlsim.workload.base import (
    Dice,
    Die,
    Span,
    Workload,
    WorkloadWorld,
    check,
    check_span,
    quoted,
    workload,
)
from ddlsim.workload.keys import weighted

TYPES: Final = ("INT", "VARCHAR(10)", "REAL", "DECIMAL(5, 2)", "TIMESTAMP(3)")
"""What new columns are, each with a wider type to go to."""
WIDER: Final = {
    "INT": "BIGINT",
    "VARCHAR(10)": "VARCHAR(20)",
    "REAL": "DOUBLE",
    "DECIMAL(5, 2)": "DECIMAL(7, 2)",
    "TIMESTAMP(3)": "TIMESTAMP(6)",
}


@dataclass
class _Column:
    """A column that the client made."""

    table: str
    name: str
    type: str


@dataclass
class _Mind:
    """What a client believes to have made; whether it was granted is not known before the run."""

    prefix: str
    shared: list[str]
    keys: dict[str, str]
    columns: list[_Column] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    made: int = 0

    def new_name(self) -> str:
        """A name that nobody else uses."""
        self.made += 1
        return f"{self.prefix}_{self.made}"


@workload
@dataclass(frozen=True, kw_only=True)
class DdlStorm(Workload):
    """Each client runs `operations` statements; it alters and drops what it has made itself.

    The other fields are weights. `noop` repeats something with IF NOT EXISTS or IF EXISTS,
    `refused` asks for what cannot be.
    """

    name: ClassVar[str] = "ddl_storm"
    summary: ClassVar[str] = "random sensible DDL from several clients at random times"
    source: ClassVar[str] = "IEP-110, basic schema changes"

    clients: int = 2
    operations: int = 10
    pause_ms: Span = (0, 300)
    add: int = 6
    drop: int = 2
    rename: int = 1
    widen: int = 2
    relax: int = 1
    default: int = 1
    index: int = 1
    drop_index: int = 1
    create: int = 2
    drop_table: int = 1
    rename_table: int = 1
    noop: int = 1
    refused: int = 1

    def verify(self) -> None:
        check(self.operations >= 1, "operations", "must be at least 1")
        check_span(self.pause_ms, "pause_ms")
        for name in KINDS:
            check(getattr(self, name) >= 0, name, "must not be negative")
        check(sum(self._weights) > 0, ", ".join(KINDS), "must not all be 0")

    @property
    def _weights(self) -> list[int]:
        return [getattr(self, name) for name in KINDS]

    def programs(self, world: WorkloadWorld, dice: Dice) -> list[Program]:
        return [
            self._program(client, number, world, dice)
            for number, client in enumerate(world.clients(self.clients), 1)
        ]

    def _program(self, client: str, number: int, world: WorkloadWorld, dice: Dice) -> Program:
        die = Die(dice.stream(client, "statements"))
        tables = world.chosen(self.tables)
        mind = _Mind(
            prefix=f"{world.label}_{number}",
            shared=[table.name for table in tables],
            keys={table.name: table.key[0] for table in tables},
        )
        cumulated = list(accumulate(self._weights))
        items = [
            DdlItem(
                node=die.pick(world.nodes),
                sql=list(KINDS.values())[weighted(cumulated, die)](mind, die),
                pause_us=die.duration_us(self.pause_ms),
            )
            for _ in range(self.operations)
        ]
        return Program(client, tuple(items))


def _add(mind: _Mind, die: Die) -> str:
    column = _Column(die.pick(mind.shared + mind.tables), mind.new_name(), die.pick(TYPES))
    mind.columns.append(column)
    default = " DEFAULT 7" if column.type == "INT" and die.chance(0.5) else ""
    null = " NOT NULL" if default and die.chance(0.5) else ""
    head = f"ALTER TABLE {quoted(column.table)} ADD COLUMN {column.name}"
    return f"{head} {column.type}{null}{default}"


def _drop(mind: _Mind, die: Die) -> str:
    if not mind.columns:
        return _add(mind, die)
    column = mind.columns.pop(die.below(len(mind.columns)))
    return f"ALTER TABLE {quoted(column.table)} DROP COLUMN {column.name}"


def _rename(mind: _Mind, die: Die) -> str:
    if not mind.columns:
        return _add(mind, die)
    column = die.pick(mind.columns)
    old, column.name = column.name, mind.new_name()
    return f"ALTER TABLE {quoted(column.table)} RENAME COLUMN {old} TO {column.name}"


def _widen(mind: _Mind, die: Die) -> str:
    narrow = [column for column in mind.columns if column.type in WIDER]
    if not narrow:
        return _add(mind, die)
    column = die.pick(narrow)
    column.type = WIDER[column.type]
    return _alter(column, f"SET DATA TYPE {column.type}")


def _relax(mind: _Mind, die: Die) -> str:
    if not mind.columns:
        return _add(mind, die)
    return _alter(die.pick(mind.columns), "DROP NOT NULL")


def _default(mind: _Mind, die: Die) -> str:
    numbers = [column for column in mind.columns if column.type in ("INT", "BIGINT")]
    if not numbers:
        return _add(mind, die)
    column = die.pick(numbers)
    value = die.between(1, 99)
    return _alter(column, "DROP DEFAULT" if die.chance(0.3) else f"SET DEFAULT {value}")


def _alter(column: _Column, change: str) -> str:
    return f"ALTER TABLE {quoted(column.table)} ALTER COLUMN {column.name} {change}"


def _index(mind: _Mind, die: Die) -> str:
    if not mind.columns:
        return _add(mind, die)
    column, name = die.pick(mind.columns), mind.new_name()
    mind.indexes.append(name)
    return f"CREATE INDEX {name} ON {quoted(column.table)} ({column.name})"


def _drop_index(mind: _Mind, die: Die) -> str:
    if not mind.indexes:
        return _index(mind, die)
    return f"DROP INDEX {mind.indexes.pop(die.below(len(mind.indexes)))}"


def _create(mind: _Mind, die: Die) -> str:
    del die
    mind.tables.append(mind.new_name())
    return f"CREATE TABLE {mind.tables[-1]} (id INT PRIMARY KEY, v INT)"


def _drop_table(mind: _Mind, die: Die) -> str:
    if not mind.tables:
        return _create(mind, die)
    name = mind.tables.pop(die.below(len(mind.tables)))
    mind.columns = [column for column in mind.columns if column.table != name]
    return f"DROP TABLE {name}"


def _rename_table(mind: _Mind, die: Die) -> str:
    if not mind.tables:
        return _create(mind, die)
    number = die.below(len(mind.tables))
    old, new = mind.tables[number], mind.new_name()
    mind.tables[number] = new
    for column in mind.columns:
        column.table = new if column.table == old else column.table
    return f"ALTER TABLE {old} RENAME TO {new}"


def _noop(mind: _Mind, die: Die) -> str:
    table = die.pick(mind.shared)
    key = quoted(mind.keys[table])
    return die.pick(
        (
            f"CREATE TABLE IF NOT EXISTS {quoted(table)} (id INT PRIMARY KEY)",
            f"ALTER TABLE {quoted(table)} ADD COLUMN IF NOT EXISTS {key} INT",
            f"ALTER TABLE {quoted(table)} DROP COLUMN IF EXISTS {mind.prefix}_never",
            f"DROP TABLE IF EXISTS {mind.prefix}_never",
        )
    )


def _refused(mind: _Mind, die: Die) -> str:
    table = die.pick(mind.shared)
    key = quoted(mind.keys[table])
    return die.pick(
        (
            f"CREATE TABLE {quoted(table)} (id INT PRIMARY KEY)",
            f"ALTER TABLE {quoted(table)} ADD COLUMN {key} INT",
            f"ALTER TABLE {quoted(table)} DROP COLUMN {key}",
            f"ALTER TABLE {quoted(table)} ADD COLUMN {mind.prefix}_needed INT NOT NULL",
            f"ALTER TABLE {mind.prefix}_never ADD COLUMN v INT",
            f"DROP TABLE {mind.prefix}_never",
        )
    )


KINDS: Final[dict[str, Callable[[_Mind, Die], str]]] = {
    "add": _add,
    "drop": _drop,
    "rename": _rename,
    "widen": _widen,
    "relax": _relax,
    "default": _default,
    "index": _index,
    "drop_index": _drop_index,
    "create": _create,
    "drop_table": _drop_table,
    "rename_table": _rename_table,
    "noop": _noop,
    "refused": _refused,
}
"""Each kind of statement by its weight's name; without a candidate it makes one instead."""
