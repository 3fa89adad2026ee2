"""Names, constants, conditions and changes of a table as SQL writes them."""

from collections.abc import Sequence
from typing import Final

from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    SimpleChange,
)
from ddlsim.model.schema import Condition, IsNull, Junction, Value
from ddlsim.sql.reader import RESERVED

_ZEROS: Final[dict[str, Value]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "DECIMAL"), 0),
    "BOOLEAN": False,
    "DATE": "1970-01-01",
    "TIME": "00:00:00",
    "TIMESTAMP": "1970-01-01 00:00:00",
    "TIMESTAMP WITH LOCAL TIME ZONE": "1970-01-01 00:00:00",
    "UUID": "00000000-0000-0000-0000-000000000000",
}
"""A value of each type; an empty one of those that are left out."""


def quoted(name: str) -> str:
    """A name, between quotes where it means another or none without them."""
    if name.isidentifier() and name == name.lower() and name.upper() not in RESERVED:
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def listed(names: Sequence[str]) -> str:
    """Names with commas between them."""
    return ", ".join(map(quoted, names))


def literal(value: Value) -> str:
    """A constant."""
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    return "NULL" if value is None else str(value).upper()


def zero(type_name: str) -> str:
    """Some constant of a type."""
    return literal(_ZEROS.get(type_name, ""))


def condition(said: Condition, names: Sequence[str]) -> str:
    """A condition of a CHECK whose places count these names."""
    if isinstance(said, Junction):
        parts = (condition(one, names) for one in said.parts)
        joined = f" {said.operator.upper()} ".join(parts)
        return f"({joined})"
    name = quoted(names[said.place])
    if isinstance(said, IsNull):
        return f"{name} IS NOT NULL" if said.negated else f"{name} IS NULL"
    return f"{name} {said.operator} {literal(said.constant)}"


def written(change: SimpleChange) -> str:
    """What stands behind ALTER TABLE and the table, for all changes but ALTER COLUMN."""
    match change:
        case ColumnAdded(column=column):
            null = "" if column.nullable else " NOT NULL"
            default = "" if column.default is None else f" DEFAULT {literal(column.default)}"
            return f"ADD COLUMN {quoted(column.name)} {column.type}{null}{default}"
        case ColumnDropped(column=column):
            return f"DROP COLUMN {quoted(column.name)}"
        case ColumnRenamed(old_name=old_name, new_name=new_name):
            return f"RENAME COLUMN {quoted(old_name)} TO {quoted(new_name)}"
        case ConstraintAdded(constraint=constraint):
            return f"ADD CONSTRAINT {quoted(constraint.name)} {constraint.text}"
        case ConstraintDropped(constraint=constraint):
            return f"DROP CONSTRAINT {quoted(constraint.name)}"
        case _:
            raise AssertionError(f"ALTER TABLE does not make {change}")
