"""Indexes, views, zones and whatever is dropped, word by word."""

from collections.abc import Callable
from typing import Final

from sim.model.ddl import (
    AlterZone,
    CreateIndex,
    CreateView,
    CreateZone,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    RenameView,
    Statement,
)
from sim.model.ops import Get, Scan
from sim.model.schema import Value
from sim.sql.cursor import Cursor
from sim.sql.table_parts import sorted_columns, using
from sim.sql.values import constant

MAX_PARTITIONS: Final = 65000


def create_index(cursor: Cursor, *, unique: bool) -> CreateIndex:
    """CREATE [UNIQUE] INDEX, after these words."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.object_name("an index name")
    cursor.expect("ON")
    table = cursor.object_name("a table name")
    using(cursor)
    return CreateIndex(name, table, sorted_columns(cursor), unique, if_not_exists)


def create_view(cursor: Cursor) -> CreateView:
    """CREATE VIEW, after these two words; its query is kept as it is written."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.object_name("a view name")
    cursor.expect("AS")
    sql, tables = cursor.query()
    return CreateView(name, sql, tables, if_not_exists)


def alter_view(cursor: Cursor) -> RenameView:
    """ALTER VIEW … RENAME TO, after the first two words."""
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.object_name("a view name")
    cursor.expect("RENAME", "TO")
    return RenameView(name, cursor.object_name("the view's new name"), if_exists)


def create_zone(cursor: Cursor) -> CreateZone:
    """CREATE ZONE, after these two words, with options in parentheses or after WITH."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("a zone name")
    options: dict[str, int] = {}
    if cursor.take("WITH") or cursor.sees("("):
        options = _zone_options(cursor)
    if cursor.take("STORAGE"):
        cursor.expect("PROFILES")
        _profiles(cursor)
    return CreateZone(name, options.get("PARTITIONS"), options.get("REPLICAS"), if_not_exists)


def alter_zone(cursor: Cursor) -> AlterZone:
    """ALTER ZONE … SET, after the first two words."""
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.name("a zone name")
    if cursor.sees("RENAME"):
        raise cursor.wrong("SET", "a zone cannot be renamed here")
    cursor.expect("SET")
    options = _zone_options(cursor)
    return AlterZone(name, options.get("PARTITIONS"), options.get("REPLICAS"), if_exists)


def _zone_options(cursor: Cursor) -> dict[str, int]:
    """PARTITIONS and REPLICAS, with or without `=`, each at most once."""
    options: dict[str, int] = {}

    def option() -> None:
        mark = cursor.mark()
        key = cursor.name("PARTITIONS or REPLICAS").upper()
        if key == "STORAGE_PROFILES":
            cursor.expect("=")
            _profiles(cursor)
            return
        if key not in {"PARTITIONS", "REPLICAS"} or key in options:
            raise cursor.wrong("PARTITIONS or REPLICAS, each once", at=mark)
        cursor.take("=")
        options[key] = cursor.whole("a count", 1, MAX_PARTITIONS)

    if cursor.sees("("):
        cursor.listed(option)
        return options
    option()
    while cursor.take(","):
        option()
    return options


def _profiles(cursor: Cursor) -> None:
    """Storage profiles, which have no bearing on anything here."""
    bracketed = cursor.take("[")
    while cursor.string() is not None:
        if not cursor.take(","):
            break
    else:
        raise cursor.wrong("a string")
    if bracketed:
        cursor.expect("]")


_DROPS: Final[dict[str, Callable[[str, bool], Statement]]] = {
    "TABLE": DropTable,
    "INDEX": DropIndex,
    "VIEW": DropView,
    "ZONE": DropZone,
}


def drop(cursor: Cursor) -> Statement:
    """DROP of anything, after this word."""
    kind = cursor.take_one_of(*_DROPS)
    if kind is None:
        raise cursor.wrong("TABLE, INDEX, VIEW or ZONE")
    if_exists = cursor.take("IF", "EXISTS")
    return _DROPS[kind](cursor.object_name(f"the name of the {kind.lower()}"), if_exists)


def select(cursor: Cursor) -> Get | Scan:
    """SELECT of one table: all of its rows, or the one whose key is given."""
    star = cursor.take("*")
    if not star:
        cursor.name("'*' or column names")
        while cursor.take(","):
            cursor.name("a column name")
    cursor.expect("FROM")
    table = cursor.object_name("a table name")
    if not cursor.take("WHERE"):
        cursor.end("WHERE, or the end of the statement")
        return Scan(table, star)

    def condition() -> Value:
        cursor.name("a key column")
        cursor.expect("=")
        return constant(cursor)

    key = [condition()]
    while cursor.take("AND"):
        key.append(condition())
    cursor.end("AND, or the end of the statement")
    return Get(table, key[0] if len(key) == 1 else tuple(key))
