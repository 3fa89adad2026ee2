"""Unique indexes and constraints: what they demand of rows [110.ours.unique] [110.ours.check].

*Unique*: no two live rows of a table have equal values in all columns of a UNIQUE index or UNIQUE
constraint. NULLs are distinct, as in SQL: a row with a NULL in one of the columns equals no other.
Values are compared under one schema version, so a column may change its type meanwhile.

*CHECK*: no row is written for which the condition is false. A condition that is unknown is kept, as
in SQL: one that compares a NULL, or a value of another kind than its constant, which a column may
hold once its type was changed. Enforced are comparisons of a column with a constant, IS [NOT] NULL,
AND and OR, on columns of numbers, VARCHAR and BOOLEAN. Any other CHECK, and every FOREIGN KEY, is
accepted, kept as text and *not* enforced.

Both hold for rows that are written under the schema version that has them, or a later one. Rows
that exist when a constraint is added are not checked, as with NOT VALID in PostgreSQL; but a row
that is written later may not equal one of these either.
"""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from ddlsim.history.event import Cells
from ddlsim.model.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    Comparison,
    Condition,
    Constraint,
    IsNull,
    Junction,
    Table,
    Value,
)
from ddlsim.protocol.ids import IndexKey
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.ddl_answers import Refused, refuse

_KINDS: Final = {
    **dict.fromkeys((*INTEGER_TYPES, *FLOAT_TYPES, "DECIMAL"), "number"),
    "VARCHAR": "text",
    "BOOLEAN": "truth",
}
"""What can be compared with a constant of the same kind, by type."""

_COMPARED: Final[dict[str, Callable[[int], bool]]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class UniqueColumns(NamedTuple):
    """A unique index or constraint: its id, its name and its columns by id."""

    id: int
    name: str
    columns: tuple[int, ...]


# --- in the catalog -------------------------------------------------------------------------------


def as_enforced(constraint: Constraint, table: Table) -> Constraint | Refused:
    """The constraint with its condition if it can be enforced on the table, else as text only.

    Refused where a column is compared with a constant of another kind.
    """
    if constraint.condition is None:
        return constraint
    types = {column.id: column.type for column in table.columns}
    kinds = [_KINDS.get(types[column].name) for column in constraint.columns]
    if None in kinds:
        return replace(constraint, columns=(), condition=None)
    for one in _comparisons(constraint.condition):
        if _kind_of(one.constant) != kinds[one.place]:
            column = types[constraint.columns[one.place]]
            return refuse(
                f"constraint {constraint.name!r} compares a column of type {column} with "
                f"{one.constant!r}"
            )
    return constraint


def _comparisons(condition: Condition) -> list[Comparison]:
    if isinstance(condition, Junction):
        return [one for part in condition.parts for one in _comparisons(part)]
    return [condition] if isinstance(condition, Comparison) else []


def _kind_of(constant: Value) -> str:
    if isinstance(constant, bool):
        return "truth"
    return "text" if isinstance(constant, str) else "number"


# --- on rows --------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def unique_columns(table: Table) -> tuple[UniqueColumns, ...]:
    """The unique indexes and constraints of a table; one that holds its whole key demands nothing.

    For rows with the same key are one row.
    """
    found = [UniqueColumns(one.id, one.name, one.columns) for one in table.indexes if one.unique]
    found += [
        UniqueColumns(one.id, one.name, one.columns)
        for one in table.constraints
        if one.kind == "unique" and one.columns
    ]
    return tuple(one for one in found if any(column not in one.columns for column in table.key))


def index_keys(table: Table, row: Cells) -> tuple[IndexKey, ...]:
    """What a row enters into each unique index: its values there, unless one of them is NULL.

    A row may have been written under an earlier type: 4 and 4.00 are one DECIMAL(7, 2).
    """
    keys = []
    cells = dict(row)
    types = {one.id: one.type for one in table.columns}
    for unique in unique_columns(table):
        values = tuple(meant(cells.get(column), types[column]) for column in unique.columns)
        if None not in values:
            keys.append(IndexKey(unique.id, values))
    return tuple(keys)


def violated_check(table: Table, row: Cells) -> Constraint | None:
    """The first constraint whose condition is false for a row."""
    cells = dict(row)
    for constraint in table.constraints:
        condition = constraint.condition
        if condition is not None:
            values = [cells.get(column) for column in constraint.columns]
            if _holds(condition, values) is False:
                return constraint
    return None


def _holds(condition: Condition, values: list[Value]) -> bool | None:
    """True, false or, None, unknown: SQL's three-valued logic."""
    if isinstance(condition, Junction):
        parts = [_holds(part, values) for part in condition.parts]
        decisive = condition.operator == "or"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    value = values[condition.place]
    if isinstance(condition, IsNull):
        return (value is None) != condition.negated
    order = _order(value, condition.constant)
    return None if order is None else _COMPARED[condition.operator](order)


def _order(value: Value, constant: Value) -> int | None:
    """Negative, 0 or positive as a value is below, equal to or above a constant of its kind.

    None for a NULL, and for what is of another kind: clients may put any value into a column.
    """
    if isinstance(value, str) and isinstance(constant, str):
        return (value > constant) - (value < constant)
    if isinstance(value, bool) and isinstance(constant, bool):
        return int(value) - int(constant)
    one, other = _number(value), _number(constant)
    return None if one is None or other is None else int(one > other) - int(one < other)


def _number(value: Value) -> Decimal | None:
    """A number, or a decimal's text, as a number; a literal 99.99 is exactly that, as in SQL."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return None if number.is_nan() else number
