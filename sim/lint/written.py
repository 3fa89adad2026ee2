"""One change of ALTER TABLE as SQL, and the type that a column has when it is renamed."""

from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    ObjectChange,
    SimpleChange,
)
from ddlsim.model.schema import Column, Table, Value
from ddlsim.protocol.schema.column_types import same_default


def literal(value: Value) -> str:
    """A constant as SQL writes it."""
    if isinstance(value, str):
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return "NULL" if value is None else str(value).upper()


def written(change: SimpleChange) -> str:
    """What stands behind ALTER TABLE and the name of the table."""
    match change:
        case ColumnAdded(column=column):
            null = "" if column.nullable else " NOT NULL"
            default = "" if column.default is None else f" DEFAULT {literal(column.default)}"
            return f"ADD COLUMN {column.name} {column.type}{null}{default}"
        case ColumnDropped(column=column):
            return f"DROP COLUMN {column.name}"
        case ColumnRenamed(old_name=old_name, new_name=new_name):
            return f"RENAME COLUMN {old_name} TO {new_name}"
        case ColumnAltered(before=before, after=after):
            return f"ALTER COLUMN {before.name} {_altered(before, after)}"
        case ConstraintAdded(constraint=constraint):
            return f"ADD CONSTRAINT {constraint.name} {constraint.text}"
        case ConstraintDropped(constraint=constraint):
            return f"DROP CONSTRAINT {constraint.name}"
        case _:
            raise AssertionError(f"ALTER TABLE does not make {change}")


def _altered(before: Column, after: Column) -> str:
    """The aspects that differ; after SET DATA TYPE they need no SET of their own."""
    aspects = []
    if before.nullable != after.nullable:
        aspects.append("NULL" if after.nullable else "NOT NULL")
    kept = before.default == after.default and type(before.default) is type(after.default)
    if not kept and (before.type == after.type or not same_default(before, after)):
        aspects.append(f"DEFAULT {literal(after.default)}")
    if before.type == after.type and aspects == ["NULL"]:
        return "DROP NOT NULL"
    if before.type == after.type and len(aspects) == 1:
        return f"SET {aspects[0]}"
    return " ".join([f"SET DATA TYPE {after.type}", *aspects])


def type_of_renamed(change: ObjectChange, place: int) -> str:
    """The type of the column that the change at `place` renames, as it is right then."""
    renamed = change.changes[place]
    assert isinstance(renamed, ColumnRenamed), renamed
    own = renamed.column_id
    for one in reversed(change.changes[:place]):
        if isinstance(one, ColumnAltered) and one.after.id == own:
            return str(one.after.type)
        if isinstance(one, ColumnAdded) and one.column.id == own:
            return str(one.column.type)
    for one in change.changes[place:]:
        if isinstance(one, ColumnAltered) and one.before.id == own:
            return str(one.before.type)
        if isinstance(one, ColumnDropped) and one.column.id == own:
            return str(one.column.type)
    assert isinstance(change.definition, Table), change.definition
    return next(str(one.type) for one in change.definition.columns if one.id == own)
