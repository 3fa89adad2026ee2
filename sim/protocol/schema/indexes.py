"""Entries of indexes and unique constraints: what a write does to them, in each state of an index.

    state                       INSERT      DELETE     UPDATE                     answers queries
    delete_only                 -           removes    removes the old one        no
    write_only, reorganization  adds        removes    removes old, adds new      no
    public                      adds        removes    removes old, adds new      yes

Constraints have no states: they are public. NULLs are entered, and are distinct to a unique index.
"""

from functools import lru_cache
from typing import NamedTuple

from ddlsim.history.event import Cells
from ddlsim.model.ops import ANY_INDEX
from ddlsim.model.schema import PUBLIC, Table, Value
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.constraints import unique_columns

Values = tuple[Value, ...]


class Maintained(NamedTuple):
    """An index or unique constraint as writes maintain it; `unique`: it demands something."""

    id: int
    columns: tuple[int, ...]
    unique: bool
    state: str


class Entry(NamedTuple):
    """An entry `of` an index that a write removes, or adds."""

    of: Maintained
    values: Values
    added: bool


@lru_cache(maxsize=4096)
def maintained(table: Table) -> tuple[Maintained, ...]:
    """What keeps entries for the rows of a table."""
    demanding = {one.id: one for one in unique_columns(table)}
    found = [
        Maintained(one.id, one.columns, one.id in demanding, one.state) for one in table.indexes
    ]
    known = [one.id for one in table.indexes]
    found += [
        Maintained(one.id, one.columns, unique=True, state=PUBLIC)
        for one in demanding.values()
        if one.id not in known
    ]
    return tuple(found)


def values_of(index: Maintained, table: Table, row: Cells) -> Values:
    """The values of a row in the columns of an index, as all have them that mean the same."""
    cells = dict(row)
    types = {column.id: column.type for column in table.columns}
    return tuple(meant(cells.get(column), types[column]) for column in index.columns)


def changes(table: Table, old: Cells | None, new: Cells | None) -> list[Entry]:
    """What a write that turns one row into another does to the entries, removals first."""
    removed: list[Entry] = []
    added: list[Entry] = []
    for index in maintained(table):
        before = None if old is None else values_of(index, table, old)
        after = None if new is None else values_of(index, table, new)
        if index.state == "delete_only":
            after = None
        if before == after and index.state == PUBLIC:
            continue
        if before is not None and before != after:
            removed.append(Entry(index, before, added=False))
        if after is not None:
            added.append(Entry(index, after, added=True))
    return removed + added


def answering(table: Table, name: str, columns: tuple[str, ...]) -> Maintained | None:
    """The index of this name, or any, if a query for values of these columns may use it."""
    ids = {column.name: column.id for column in table.columns}
    wanted = sorted(ids.get(column, 0) for column in columns)
    for one in table.indexes:
        named = name in (one.name, ANY_INDEX)
        if named and one.state == PUBLIC and sorted(one.columns) == wanted:
            return next(index for index in maintained(table) if index.id == one.id)
    return None
