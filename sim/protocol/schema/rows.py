"""Rows: encoded by a client, decoded by a node, and upgraded to a later schema.

On the wire and in storage a row is a bare tuple of values in the order of its schema's columns. It
names neither columns nor types, so it only has a meaning together with the schema version that it
was encoded with. Decoding it with another version gives wrong columns and no error: that is
what schema versions in requests prevent [110.flow.1].

Decoded, a row is `Cells`: (column id, value) pairs. By ids, because names move [110.compat.id].

A row stays in storage as it was written. Reading it under a later schema *upgrades* it [110.fwd.2]:

    * a column that both schemas have keeps its value, shown in the new type
    * a column that the row's schema lacks shows the default that it was added with, its
      `initial_default`: not today's default, which is for rows written today
    * a column that the new schema lacks is left out: that is the information that a dropped column
      costs, and why dropping one is incompatible

Upgrading in one go and upgrading version by version give the same row.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ddlsim.history.event import Cells
from ddlsim.model.schema import Table, Value
from ddlsim.protocol.schema.column_types import holds, shown_as


class BadRow(NamedTuple):
    """A row that does not fit its schema, and why."""

    message: str


def encode(table: Table, values: Mapping[str, Value]) -> tuple[Value, ...] | BadRow:
    """Values by column name as a row of this schema; what is not mentioned takes its default."""
    row: list[Value] = []
    used = 0
    for column in table.columns:
        if column.name in values:
            used += 1
            value = values[column.name]
            if not holds(column.type, value):
                return BadRow(f"{value!r} is not a value of column {column.name!r}, {column.type}")
        else:
            value = shown_as(column.default, column.type)
        if value is None and not column.nullable:
            return BadRow(f"column {column.name!r} of table {table.name!r} needs a value")
        row.append(value)
    if used < len(values):
        names = {column.name: None for column in table.columns}
        unknown = next(name for name in values if name not in names)
        return BadRow(f"table {table.name!r} has no column {unknown!r}")
    assert len(row) == len(table.columns), f"a row of {len(row)} columns of {table.name}"
    return tuple(row)


def decode(table: Table, values: tuple[Value, ...]) -> Cells:
    """A row as this schema reads it, right or wrong; short rows end in NULLs, long ones are cut."""
    ids = column_ids(table)
    if len(values) < len(ids):
        values += (None,) * (len(ids) - len(values))
    return tuple(zip(ids, values))  # noqa: B905 - being strict costs as much as the rest


@lru_cache(maxsize=4096)
def column_ids(table: Table) -> tuple[int, ...]:
    """The ids of a schema's columns, in order; asked for with every row."""
    return tuple(column.id for column in table.columns)


def upgrade(cells: Cells, source: Table, target: Table) -> Cells:
    """A row of schema `source` as schema `target` shows it [110.fwd.2]."""
    if source is target or (source.version == target.version and source.id == target.id):
        return cells
    old = dict(cells)
    return tuple(
        (column.id, shown_as(old.get(column.id, column.initial_default), column.type))
        for column in target.columns
    )


def by_name(cells: Cells, table: Table) -> dict[str, Value]:
    """A row as a client sees it, under the column names of this schema."""
    names = {column.id: column.name for column in table.columns}
    return {names[column_id]: value for column_id, value in cells if column_id in names}


def has_columns(table: Table, names: tuple[str, ...]) -> bool:
    """Whether a table has columns of all these names."""
    known = {column.name: None for column in table.columns}
    return all(name in known for name in names)
