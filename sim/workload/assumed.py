"""The schema that a generator of DDL assumes: every statement so far took effect, in order."""

from dataclasses import dataclass, field
from typing import Final

from ddlsim.model.ddl import CreateTable, CreateView
from ddlsim.model.schema import ColumnType
from ddlsim.workload.base import Die, quoted

LADDERS: Final = (
    ("TINYINT", "SMALLINT", "INT", "BIGINT"),
    ("INT", "VARCHAR(20)"),
    ("VARCHAR(10)", "VARCHAR(20)", "VARCHAR(40)"),
    ("REAL", "DOUBLE"),
    ("DECIMAL(4, 2)", "DECIMAL(5, 2)", "DECIMAL(7, 2)"),
    ("TIMESTAMP(3)", "TIMESTAMP(6)", "VARCHAR(26)"),
    ("VARBINARY(8)", "VARBINARY(16)", "VARCHAR(32)"),
    ("TIME(0)", "TIME(3)", "VARCHAR(12)"),
    ("BOOLEAN", "VARCHAR(5)"),
    ("DATE", "VARCHAR(10)"),
    ("UUID", "VARCHAR(36)"),
    ("SMALLINT", "VARCHAR(6)"),
    ("DOUBLE", "VARCHAR(24)"),
    ("DECIMAL(7, 2)", "VARCHAR(9)"),
    ("DECIMAL(2, 2)", "VARCHAR(5)"),
    ("DECIMAL(5, 1)", "DECIMAL(6, 1)"),
    ("TINYINT", "VARCHAR(4)"),
    ("BIGINT", "VARCHAR(20)"),
    ("INT", "VARCHAR(5)"),
    ("INT", "DECIMAL(7, 2)"),
    ("DATE", "TIMESTAMP(3)"),
)
"""Types in the order in which they widen; the last three conversions are not exact."""
ALMOST: Final = (
    ("DECIMAL(4, 2)", "VARCHAR(5)"),
    ("DECIMAL(2, 2)", "VARCHAR(4)"),
    ("DECIMAL(5, 1)", "DECIMAL(6, 2)"),
    ("DECIMAL(5, 2)", "DECIMAL(7, 1)"),
    ("DECIMAL(5, 2)", "DECIMAL(4, 2)"),
    ("TINYINT", "VARCHAR(3)"),
    ("SMALLINT", "VARCHAR(5)"),
    ("BIGINT", "VARCHAR(19)"),
    ("DOUBLE", "VARCHAR(23)"),
    ("BOOLEAN", "VARCHAR(4)"),
    ("DATE", "VARCHAR(9)"),
    ("UUID", "VARCHAR(35)"),
    ("TIME(3)", "VARCHAR(11)"),
    ("TIMESTAMP(6)", "VARCHAR(25)"),
    ("VARBINARY(8)", "VARCHAR(15)"),
    ("VARCHAR(20)", "VARCHAR(19)"),
)
"""Types, and others that miss some of their values by a digit."""
TYPES: Final = ("INT", "INT", "SMALLINT", *(ladder[0] for ladder in LADDERS[2:]))
"""What new columns are."""
CONSTANTS: Final = {
    "VARCHAR": ("'1'", "'2'"),
    "VARBINARY": ("X'01'",),
    "DECIMAL": ("0.5", "0.5", "1"),
    "TIMESTAMP": ("TIMESTAMP '2000-01-01 00:00:00'",),
    "TIME": ("TIME '01:02:03'",),
    "BOOLEAN": ("TRUE", "FALSE"),
    "DATE": ("DATE '2000-02-29'",),
    "UUID": ("'00000000-0000-0000-0000-00000000000a'",),
}
"""Constants by the name of their type; of other types numbers."""
USED: Final = 0.7
"""How often a statement is about a table that an open transaction has used, if there is one."""
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
        ] + [other for one, other in ALMOST if step < 0 and one == self.type]

    def default(self, die: Die) -> str:
        """A constant of the column's type."""
        return die.pick(CONSTANTS.get(self.type.partition("(")[0], ("1", "2", "3")))


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
    """Tables, views by the table that they read, zones; `gone` are dropped tables of the start.

    `first_views` are the views of the start with the first names of their tables. New names end
    with `suffix`, so that two clients never give the same. `changed` is the table that was altered
    or created last, `used` are those that an open transaction has used.
    """

    tables: list[Table]
    gone: list[CreateTable] = field(default_factory=list)
    suffix: str = ""
    views: dict[str, str] = field(default_factory=dict)
    first_views: dict[str, str] = field(default_factory=dict)
    zones: list[str] = field(default_factory=list)
    default_zone: str = "Default"
    changed: Table | None = None
    used: list[Table] = field(default_factory=list)

    def target(self, tables: list[Table], die: Die) -> Table:
        """One of these tables for a statement, mostly one in use if there is any."""
        used = [table for table in tables if table in self.used]
        return die.pick(used if used and die.chance(USED) else tables)

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

    def free_view(self, die: Die) -> str:
        """A name that no view has, often one that a view of the start had."""
        lost = [name for name in self.first_views if name not in self.views]
        if lost and die.chance(0.7):
            return die.pick(lost)
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


def at_start(
    tables: tuple[CreateTable, ...], views: tuple[CreateView, ...], suffix: str = ""
) -> Schema:
    """The schema with which a run begins."""
    names = [table.name for table in tables]
    read = {view.name: view.tables[0] for view in views if view.tables[0] in names}
    return Schema([first(one) for one in tables], suffix=suffix, views=read, first_views={**read})


def first(spec: CreateTable) -> Table:
    """A table as the run begins with it."""
    columns = [
        Column(one.name, _sql_of(one.type), one.nullable, one.has_default)
        for one in spec.columns
        if one.name not in spec.key
    ]
    constraints = [constraint.name for constraint in spec.constraints]
    return Table(spec.name, spec.key, columns, spec, constraints)


def definition(spec: CreateTable) -> str:
    """The columns and the key of a table, as CREATE TABLE has them; no defaults, no constraints."""
    columns = [f"{quoted(one.name)} {_sql_of(one.type)}" for one in spec.columns]
    keys = ", ".join(map(quoted, spec.key))
    return f"({', '.join(columns)}, PRIMARY KEY ({keys}))"


def _sql_of(type_: ColumnType) -> str:
    written = str(type_)
    return "INT" if written == "INTEGER" else written
