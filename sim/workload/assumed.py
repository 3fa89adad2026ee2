"""The schema that a generator of DDL assumes: every statement so far took effect, in order."""

from dataclasses import dataclass, field
from typing import Final

from ddlsim.model.ddl import CreateTable
from ddlsim.model.schema import ColumnType
from ddlsim.workload.base import Die, quoted

LADDERS: Final = (
    ("TINYINT", "SMALLINT", "INT", "BIGINT"),
    ("INT", "VARCHAR(20)"),
    ("VARCHAR(10)", "VARCHAR(20)", "VARCHAR(40)"),
    ("REAL", "DOUBLE"),
    ("DECIMAL(5, 2)", "DECIMAL(7, 2)"),
    ("TIMESTAMP(3)", "TIMESTAMP(6)"),
    ("VARBINARY(8)", "VARBINARY(16)"),
)
"""Types in the order in which they widen."""
TYPES: Final = ("INT", "INT", "SMALLINT", *(ladder[0] for ladder in LADDERS[2:]))
"""What new columns are."""
NEW_COLUMNS: Final = ("m1", "m2", "m3")
"""The names that new columns get first."""


@dataclass
class Column:
    """A column that is in no key."""

    name: str
    type: str
    nullable: bool = True
    defaulted: bool = False

    def neighbours(self, step: int) -> list[str]:
        """The types one step wider (1) or narrower (-1)."""
        return [
            ladder[ladder.index(self.type) + step]
            for ladder in LADDERS
            if self.type in ladder and 0 <= ladder.index(self.type) + step < len(ladder)
        ]

    def default(self, die: Die) -> str:
        """A constant of the column's type."""
        if self.type.startswith(("VARCHAR", "VARBINARY")):
            return die.pick(("'1'", "'2'")) if self.type[3] == "C" else "X'01'"
        if self.type.startswith("TIMESTAMP"):
            return "TIMESTAMP '2000-01-01 00:00:00'"
        return str(die.between(1, 3))


@dataclass
class Table:
    """What a table has now; `spec` is that of a table with which the run begins, else None."""

    name: str
    key: tuple[str, ...]
    columns: list[Column]
    spec: CreateTable | None = None
    constraints: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)

    @property
    def home(self) -> str:
        """The name that the clients use; "" where they do not know the table."""
        return "" if self.spec is None else self.spec.name


@dataclass
class Schema:
    """Tables, views by the table that they read, zones; `gone` are dropped ones of the start.

    New names end with `suffix`, so that two clients never give the same.
    """

    tables: list[Table]
    gone: list[CreateTable] = field(default_factory=list)
    suffix: str = ""
    views: dict[str, str] = field(default_factory=dict)
    zones: list[str] = field(default_factory=list)
    default_zone: str = "Default"

    def away(self) -> list[Table]:
        """The tables of the clients that have another name, while no table has their first one."""
        names = [table.name for table in self.tables]
        return [table for table in self.tables if table.home and table.home not in names]

    def lacks(self) -> bool:
        """Whether clients miss a table that they used at the start."""
        return bool(self.gone or self.away())

    def free_column(self, table: Table) -> str:
        """The first of `m1`, `m2`, … that the table does not have: names come back."""
        return self._free("m", [column.name for column in table.columns])

    def free_table(self) -> str:
        """A name that no table has."""
        return self._free("t", [table.name for table in self.tables])

    def free_view(self) -> str:
        """A name that no view has."""
        return self._free("w", list(self.views))

    def free_zone(self) -> str:
        """A name that no zone has."""
        return self._free("y", self.zones)

    def free_of_tables(self, letter: str) -> str:
        """A name that no index (`i`) and no constraint (`k`) of a table has."""
        taken = [name for table in self.tables for name in (*table.indexes, *table.constraints)]
        return self._free(letter, taken)

    def _free(self, letter: str, taken: list[str]) -> str:
        number = 1
        while f"{letter}{number}{self.suffix}" in taken:
            number += 1
        return f"{letter}{number}{self.suffix}"


def at_start(tables: tuple[CreateTable, ...], suffix: str = "") -> Schema:
    """The schema with which a run begins."""
    return Schema([first(table) for table in tables], suffix=suffix)


def first(spec: CreateTable) -> Table:
    """A table as the run begins with it."""
    columns = [
        Column(one.name, _sql_of(one.type), one.nullable, one.has_default)
        for one in spec.columns
        if one.name not in spec.key
    ]
    return Table(spec.name, spec.key, columns, spec)


def definition(spec: CreateTable) -> str:
    """The columns and the key of a table, as CREATE TABLE has them; without defaults."""
    columns = [f"{quoted(one.name)} {_sql_of(one.type)}" for one in spec.columns]
    keys = ", ".join(map(quoted, spec.key))
    return f"({', '.join(columns)}, PRIMARY KEY ({keys}))"


def _sql_of(type_: ColumnType) -> str:
    written = str(type_)
    return "INT" if written == "INTEGER" else written
