"""Random DDL of several clients at random times; some statements are refused or change nothing."""

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
class _Assumed:
    """The schema that a client assumes to have made; only the run shows what was refused."""

    prefix: str
    shared: list[str]
    keys: dict[str, str]
    columns: list[_Column] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    made: int = 0

    def new_name(self) -> str:
        """A name that is used nowhere else."""
        self.made += 1
        return f"{self.prefix}_{self.made}"


@workload
@dataclass(frozen=True, kw_only=True)
class DdlStorm(Workload):
    """Each client runs `operations` statements; it alters and drops what it has made itself.

    The other fields are weights. `noop` repeats a statement with IF NOT EXISTS or IF EXISTS,
    `refused` issues one that the catalog must refuse.
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
        assumed = _Assumed(
            prefix=f"{world.label}_{number}",
            shared=[table.name for table in tables],
            keys={table.name: table.key[0] for table in tables},
        )
        cumulated = list(accumulate(self._weights))
        items = [
            DdlItem(
                node=die.pick(world.nodes),
                sql=list(KINDS.values())[weighted(cumulated, die)](assumed, die),
                pause_us=die.duration_us(self.pause_ms),
            )
            for _ in range(self.operations)
        ]
        return Program(client, tuple(items))


def _add(assumed: _Assumed, die: Die) -> str:
    column = _Column(die.pick(assumed.shared + assumed.tables), assumed.new_name(), die.pick(TYPES))
    assumed.columns.append(column)
    default = " DEFAULT 7" if column.type == "INT" and die.chance(0.5) else ""
    null = " NOT NULL" if default and die.chance(0.5) else ""
    head = f"ALTER TABLE {quoted(column.table)} ADD COLUMN {column.name}"
    return f"{head} {column.type}{null}{default}"


def _drop(assumed: _Assumed, die: Die) -> str:
    if not assumed.columns:
        return _add(assumed, die)
    column = assumed.columns.pop(die.below(len(assumed.columns)))
    return f"ALTER TABLE {quoted(column.table)} DROP COLUMN {column.name}"


def _rename(assumed: _Assumed, die: Die) -> str:
    if not assumed.columns:
        return _add(assumed, die)
    column = die.pick(assumed.columns)
    old, column.name = column.name, assumed.new_name()
    return f"ALTER TABLE {quoted(column.table)} RENAME COLUMN {old} TO {column.name}"


def _widen(assumed: _Assumed, die: Die) -> str:
    narrow = [column for column in assumed.columns if column.type in WIDER]
    if not narrow:
        return _add(assumed, die)
    column = die.pick(narrow)
    column.type = WIDER[column.type]
    return _alter(column, f"SET DATA TYPE {column.type}")


def _relax(assumed: _Assumed, die: Die) -> str:
    if not assumed.columns:
        return _add(assumed, die)
    return _alter(die.pick(assumed.columns), "DROP NOT NULL")


def _default(assumed: _Assumed, die: Die) -> str:
    numbers = [column for column in assumed.columns if column.type in ("INT", "BIGINT")]
    if not numbers:
        return _add(assumed, die)
    column = die.pick(numbers)
    value = die.between(1, 99)
    return _alter(column, "DROP DEFAULT" if die.chance(0.3) else f"SET DEFAULT {value}")


def _alter(column: _Column, change: str) -> str:
    return f"ALTER TABLE {quoted(column.table)} ALTER COLUMN {column.name} {change}"


def _index(assumed: _Assumed, die: Die) -> str:
    if not assumed.columns:
        return _add(assumed, die)
    column, name = die.pick(assumed.columns), assumed.new_name()
    assumed.indexes.append(name)
    return f"CREATE INDEX {name} ON {quoted(column.table)} ({column.name})"


def _drop_index(assumed: _Assumed, die: Die) -> str:
    if not assumed.indexes:
        return _index(assumed, die)
    return f"DROP INDEX {assumed.indexes.pop(die.below(len(assumed.indexes)))}"


def _create(assumed: _Assumed, die: Die) -> str:
    del die
    assumed.tables.append(assumed.new_name())
    return f"CREATE TABLE {assumed.tables[-1]} (id INT PRIMARY KEY, v INT)"


def _drop_table(assumed: _Assumed, die: Die) -> str:
    if not assumed.tables:
        return _create(assumed, die)
    name = assumed.tables.pop(die.below(len(assumed.tables)))
    assumed.columns = [column for column in assumed.columns if column.table != name]
    return f"DROP TABLE {name}"


def _rename_table(assumed: _Assumed, die: Die) -> str:
    if not assumed.tables:
        return _create(assumed, die)
    number = die.below(len(assumed.tables))
    old, new = assumed.tables[number], assumed.new_name()
    assumed.tables[number] = new
    for column in assumed.columns:
        column.table = new if column.table == old else column.table
    return f"ALTER TABLE {old} RENAME TO {new}"


def _noop(assumed: _Assumed, die: Die) -> str:
    table = die.pick(assumed.shared)
    key = quoted(assumed.keys[table])
    return die.pick(
        (
            f"CREATE TABLE IF NOT EXISTS {quoted(table)} (id INT PRIMARY KEY)",
            f"ALTER TABLE {quoted(table)} ADD COLUMN IF NOT EXISTS {key} INT",
            f"ALTER TABLE {quoted(table)} DROP COLUMN IF EXISTS {assumed.prefix}_never",
            f"DROP TABLE IF EXISTS {assumed.prefix}_never",
        )
    )


def _refused(assumed: _Assumed, die: Die) -> str:
    table = die.pick(assumed.shared)
    key = quoted(assumed.keys[table])
    return die.pick(
        (
            f"CREATE TABLE {quoted(table)} (id INT PRIMARY KEY)",
            f"ALTER TABLE {quoted(table)} ADD COLUMN {key} INT",
            f"ALTER TABLE {quoted(table)} DROP COLUMN {key}",
            f"ALTER TABLE {quoted(table)} ADD COLUMN {assumed.prefix}_needed INT NOT NULL",
            f"ALTER TABLE {assumed.prefix}_never ADD COLUMN v INT",
            f"DROP TABLE {assumed.prefix}_never",
        )
    )


KINDS: Final[dict[str, Callable[[_Assumed, Die], str]]] = {
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
