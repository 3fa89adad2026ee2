"""The judges' own reading of unique indexes and CHECK constraints on rows.

A row with a NULL in a unique index equals no other. A CHECK is broken where its condition is false;
one that is unknown, since it compares a NULL, is kept.
"""

from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from ddlsim.checkers.spec.types import Content, read
from ddlsim.history.event import Cells
from ddlsim.model.schema import PUBLIC, Comparison, Condition, IsNull, Table, Value


class Unique(NamedTuple):
    """A unique index or constraint of a table, its columns by id."""

    id: int
    name: str
    columns: tuple[int, ...]


def uniques(table: Table, *, built: bool = True) -> list[Unique]:
    """Every unique constraint of a table, and every unique index.

    With `built`, those that are public alone. On the Ignite plane an index demands that rows differ
    from its registration until it is removed, since what is written under any of its states may be
    committed when it is public.
    """
    indexes = [
        Unique(one.id, one.name, one.columns)
        for one in table.indexes
        if one.unique and (one.state == PUBLIC or not built)
    ]
    constraints = [one for one in table.constraints if one.kind == "unique" and one.columns]
    return indexes + [Unique(one.id, one.name, one.columns) for one in constraints]


def entry(unique: Unique, row: Cells, table: Table) -> tuple[Content, ...] | None:
    """What a row's values in a unique index mean under the types of `table`; None if one is NULL.

    A row may have been written under an earlier type: 4 and 4.00 are one DECIMAL(7, 2).
    """
    types = {column.id: column.type for column in table.columns}
    cells = dict(row)
    values: list[Content] = []
    for column in unique.columns:
        datum = read(cells.get(column), types[column])
        if datum is None:
            return None
        values.append(datum.content)
    return tuple(values)


def broken_checks(table: Table, row: Cells) -> list[str]:
    """The names of the CHECK constraints whose condition is false for a row of this table."""
    cells = dict(row)
    return [
        one.name
        for one in table.constraints
        if one.condition is not None
        and _is_false(one.condition, [cells.get(column) for column in one.columns])
    ]


def _is_false(condition: Condition, values: list[Value]) -> bool:
    """Whether a condition is certainly false: AND if any part is, OR if all parts are.

    There is no NOT, so it is enough to follow what is false.
    """
    if isinstance(condition, IsNull):
        return (values[condition.place] is None) == condition.negated
    if isinstance(condition, Comparison):
        return _compares_false(values[condition.place], condition)
    parts = [_is_false(part, values) for part in condition.parts]
    return any(parts) if condition.operator == "and" else all(parts)


def _compares_false(value: Value, comparison: Comparison) -> bool:
    constant = comparison.constant
    if isinstance(constant, bool) or isinstance(value, bool):
        if not (isinstance(constant, bool) and isinstance(value, bool)):
            return False
        below, above = value < constant, value > constant
    elif isinstance(constant, str):
        if not isinstance(value, str):
            return False
        below, above = value < constant, value > constant
    else:
        try:
            one, other = Decimal(str(value)), Decimal(str(constant))
            below, above = one < other, one > other
        except InvalidOperation:  # a NULL, or a text that is no number
            return False
    return not {
        "=": not below and not above,
        "<>": below or above,
        "<": below,
        "<=": not above,
        ">": above,
        ">=": not below,
    }[comparison.operator]
