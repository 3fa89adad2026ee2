"""Tables of a user's schema as the database describes them, and rows that are made for them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

Described = Sequence[Any]
"""Table, column, type, whether NULL may stand there, whether it has a default, and its place in the
primary key, from 1, or 0."""

Cascade = Sequence[Any]
"""A table with a foreign key that has ON DELETE CASCADE, and the table that the key refers to."""

SMALL: Final = "small"
INTEGER: Final = "integer"
BIG: Final = "bigint"
TEXT: Final = "text"
_FAMILIES: Final = (
    ("other", r"\[\]|^enum|^set\b"),
    (SMALL, r"tinyint|smallint|int2|year"),
    (BIG, r"\b(?:big ?int|bigserial|int8|hugeint)"),
    (INTEGER, r"\b(?:int(?!erval|4range|8range)|mediumint|serial)"),
    ("number", r"\b(?:num(?!range)|dec|real|double|float|money)"),
    ("boolean", r"\bbool"),
    ("timestamp", r"\b(?:timestamp|datetime)"),
    ("date", r"\bdate\b"),
    ("uuid", r"uuid"),
    ("json", r"json"),
    (TEXT, r"char|text|clob|string|^$"),
)
"""What a type is like, by its name; the first that matches."""
_LITERALS: Final = {
    SMALL: "{small}",
    INTEGER: "{n}",
    BIG: "{n}",
    "number": "{n}",
    "boolean": "{truth}",
    "timestamp": "'2026-01-01 00:00:00'",
    "date": "'2026-01-01'",
    "uuid": "'00000000-0000-4000-8000-{n:012d}'",
    "json": "'{{}}'",
    TEXT: "'{n}'",
}
"""The value of row n. It is the same for all columns of a type: so foreign keys find their row."""
_SQL: Final = {SMALL: "SMALLINT", INTEGER: "INT", BIG: "BIGINT", "boolean": "BOOLEAN",
               "timestamp": "TIMESTAMP", "date": "DATE", "uuid": "UUID"}  # fmt: skip
_SIZE: Final = re.compile(r"\((\d+(?:, ?\d+)?)\)")
LARGEST_SMALL: Final = 100
LONGEST: Final = 65_536
"""Of a text without a length."""


def family_of(type_: str) -> str:
    """What a type is like; `other` for one for which no values are made."""
    low = type_.lower()
    return next((name for name, pattern in _FAMILIES if re.search(pattern, low)), "other")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its type in the words of the database, and whether NULL may stand there."""

    name: str
    type: str
    nullable: bool
    defaulted: bool

    @property
    def family(self) -> str:
        """What its type is like."""
        return family_of(self.type)

    @property
    def needed(self) -> bool:
        """Whether it may not be left out of an INSERT."""
        return not self.nullable and not self.defaulted

    @property
    def sql(self) -> str:
        """Its type as the linter reads it."""
        size = _SIZE.search(self.type)
        if self.family == "number":
            if not re.match("num|dec", self.type.lower()):
                return "DOUBLE"
            return f"DECIMAL({size[1]})" if size else "DECIMAL"
        text = f"VARCHAR({size[1] if size and self.family == TEXT else LONGEST})"
        return _SQL.get(self.family, text)


@dataclass(frozen=True, slots=True)
class Table:
    """A table, the names of the columns of its primary key, and the tables whose deleted rows take
    rows of this one with them: by a foreign key with ON DELETE CASCADE, or by several in a row.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    above: frozenset[str] = frozenset()


def tables_of(described: Iterable[Described], cascades: Iterable[Cascade] = ()) -> list[Table]:
    """The tables, in the order in which they are described."""
    above = _above(cascades)
    columns: dict[str, list[Column]] = {}
    keys: dict[str, list[tuple[int, str]]] = {}
    for table, name, type_, nullable, defaulted, place in described:
        column = Column(name, type_ or "", bool(nullable), bool(defaulted))
        columns.setdefault(table, []).append(column)
        if place:
            keys.setdefault(table, []).append((place, name))
    return [
        Table(
            name,
            tuple(found),
            tuple(column for _, column in sorted(keys.get(name, ()))),
            above.get(name, frozenset()),
        )
        for name, found in columns.items()
    ]


def _above(cascades: Iterable[Cascade]) -> dict[str, frozenset[str]]:
    """By table, those from which a deletion reaches it."""
    direct: dict[str, set[str]] = {}
    for child, parent in cascades:
        direct.setdefault(child, set()).add(parent)
    found: dict[str, frozenset[str]] = {}
    for child in direct:
        reached: set[str] = set()
        ahead = [child]
        while ahead:
            new = direct.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += new
        found[child] = frozenset(reached)
    return found


def schema_sql(tables: Iterable[Table], *, folds: bool = False) -> str:
    """The tables as the linter reads them: types as far as they matter to it.

    `folds`: names are in lower case, since their case makes no difference.
    """
    found = map(_folded, tables) if folds else tables
    return "".join(f"CREATE TABLE {_shown(each.name)} ({_definition(each)});\n" for each in found)


def _folded(table: Table) -> Table:
    columns = tuple(replace(one, name=one.name.lower()) for one in table.columns)
    return replace(
        table, name=table.name.lower(), columns=columns, key=tuple(map(str.lower, table.key))
    )


def _definition(table: Table) -> str:
    parts = [
        f"{_shown(one.name)} {one.sql}"
        f"{'' if one.nullable and one.name not in table.key else ' NOT NULL'}"
        for one in table.columns
    ]
    keys = table.key or (table.columns[0].name,)
    return ", ".join([*parts, f"PRIMARY KEY ({', '.join(map(_shown, keys))})"])


def _shown(name: str) -> str:
    """A name as the linter reads it: quoted, as it may be a reserved word."""
    return '"' + name.replace('"', '""') + '"'


def literal(family: str, number: int) -> str:
    """The value of a column in the row of a number, as SQL."""
    small = number % LARGEST_SMALL
    truth = "TRUE" if number % 2 else "FALSE"
    return _LITERALS[family].format(n=number, small=small, truth=truth)


def made_columns(table: Table, *, all_: bool) -> list[Column] | None:
    """The columns that generated rows have: all that values are made for, or the needed ones only.

    None where a needed one is of a type that no values are made for.
    """
    must = [one for one in table.columns if one.needed or one.name in table.key]
    if any(one.family not in _LITERALS for one in must):
        return None
    chosen = table.columns if all_ else must or table.columns[:1]
    return [one for one in chosen if one.family in _LITERALS]


def values(columns: Sequence[Column], numbers: Iterable[int]) -> Iterator[str]:
    """Rows as SQL has them behind VALUES."""
    for number in numbers:
        yield f"({', '.join(literal(one.family, number) for one in columns)})"
