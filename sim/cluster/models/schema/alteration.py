"""The model of ALTER TABLE, action by action, and of the parts of a new table (`statements`)."""

from collections.abc import Iterator

from msgspec.structs import replace

from ddlsim.cluster.models.schema.constants import compares_with, converts, is_held, kept, same
from ddlsim.model.ddl import (
    Action,
    AddColumn,
    AddConstraint,
    AlterColumn,
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ColumnSpec,
    ConstraintAdded,
    ConstraintDropped,
    ConstraintSpec,
    DropColumn,
    DropConstraint,
    RenameColumn,
    SimpleChange,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, Constraint, Table

MISSING, EXISTS, REFUSED = Reason.OBJECT_NOT_FOUND, Reason.OBJECT_EXISTS, Reason.DDL_REFUSED


class IdleError(Exception):
    """Raised where a statement has nothing to do."""


class RefusedError(Exception):
    """Raised where a statement is refused, with every reason that is right."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__(reasons)
        self.reasons = reasons


def allow(*grounds: tuple[object, Reason]) -> None:
    """Refuse the statement if any of these holds."""
    reasons = [reason for holds, reason in grounds if holds]
    if reasons:
        raise RefusedError(*reasons)


Done = tuple[Table, SimpleChange]


def acted(table: Table, action: Action, ids: Iterator[int]) -> Done | None:
    """A table after one action, and its change; None where there is nothing to do."""
    match action:
        case AddColumn():
            return _added(table, action)
        case AddConstraint(constraint=spec):
            return constrained(table, spec, next(ids))
        case DropConstraint(name=name, if_exists=excused):
            gone = [one for one in table.constraints if one.name == name]
            if not gone and excused:
                return None
            allow((not gone, MISSING))
            left = tuple(one for one in table.constraints if one not in gone)
            return replace(table, constraints=left), ConstraintDropped(gone[0])
    by_name = {one.name: one for one in table.columns}
    column = by_name.get(action.name)
    if column is None:
        if isinstance(action, DropColumn) and action.if_exists:
            return None
        raise RefusedError(MISSING)
    match action:
        case DropColumn():
            return _without(table, column)
        case RenameColumn(new_name=new):
            allow((new in by_name, EXISTS))
            change = ColumnRenamed(column.id, column.name, new)
            return _with(table, replace(column, name=new)), change
        case _:
            return _altered(table, column, action)


def _added(table: Table, action: AddColumn) -> Done | None:
    """[110.column.add] A NOT NULL column needs a default."""
    spec, names = action.column, [one.name for one in table.columns]
    if spec.name in names and action.if_not_exists:
        return None
    allow((spec.name in names, EXISTS))
    allow(
        (spec.computed, REFUSED),
        (not is_held(spec.default, spec.type, constant=True), REFUSED),
        (not spec.nullable and spec.default is None, REFUSED),
    )
    column = column_of(spec, table.next_column_id, nullable=spec.nullable)
    columns = (*table.columns, column)
    return replace(table, columns=columns, next_column_id=column.id + 1), ColumnAdded(column)


def _without(table: Table, column: Column) -> Done:
    """[110.column.drop] Not of the key, not under an index; its constraints go with it."""
    allow(
        (column.id in table.key, REFUSED),
        (any(column.id in one.columns for one in table.indexes), REFUSED),
    )
    left = tuple(one for one in table.columns if one != column)
    kept = tuple(one for one in table.constraints if column.id not in one.columns)
    return replace(table, columns=left, constraints=kept), ColumnDropped(column)


def _altered(table: Table, column: Column, action: AlterColumn) -> Done | None:
    """[110.mixed] What is not mentioned stays, a default by its meaning."""
    new_type = column.type if action.type is None else action.type
    nullable = column.nullable if action.nullable is None else action.nullable
    default = action.default if action.sets_default else column.default
    in_key = column.id in table.key
    allow(
        (action.computed, REFUSED),
        (in_key and (new_type != column.type or nullable), REFUSED),
        (not converts(column.type, new_type), REFUSED),
        (not is_held(default, new_type, constant=action.sets_default), REFUSED),
    )
    if action.sets_default:
        default = kept(default, new_type)
    if same(default, column.default, new_type):
        default = column.default
    after = replace(column, type=new_type, nullable=nullable, default=default)
    is_so = (new_type, nullable) == (column.type, column.nullable) and default is column.default
    return None if is_so else (_with(table, after), ColumnAltered(column, after))


def constrained(table: Table, spec: ConstraintSpec, number: int) -> tuple[Table, ConstraintAdded]:
    """[110.ours.check] A CHECK of what cannot be compared is kept as text."""
    by_name = {one.name: one for one in table.columns}
    name = spec.name or f"{table.name}_{spec.kind}_{number}"
    allow(
        (any(one.name == name for one in table.constraints), EXISTS),
        (not {*spec.columns} <= by_name.keys(), MISSING),
        (any(not is_own(one, table) for one in spec.reads), MISSING),
        (len(spec.columns) > len({*spec.columns}), REFUSED),
        (spec.kind == "foreign" and len(spec.reads) > len({*spec.reads}), REFUSED),
    )
    columns = [by_name[one] for one in spec.columns]
    condition, ids = spec.condition, tuple(one.id for one in columns)
    if condition is not None:
        can = compares_with(condition, [one.type for one in columns])
        allow((can is False, REFUSED))
        condition, ids = (None, ()) if can is None else (condition, ids)
    constraint = Constraint(number, name, spec.kind, spec.text, ids, condition)
    constraints = (*table.constraints, constraint)
    return replace(table, constraints=constraints), ConstraintAdded(constraint)


def is_own(name: str, table: Table) -> bool:
    """Whether a column that a constraint reads is the table's, with or without its name before."""
    return any(name in (one.name, f"{table.name}.{one.name}") for one in table.columns)


def column_of(spec: ColumnSpec, number: int, *, nullable: bool) -> Column:
    default = kept(spec.default, spec.type)
    return Column(number, spec.name, spec.type, nullable, default, default)


def _with(table: Table, column: Column) -> Table:
    columns = tuple(column if one.id == column.id else one for one in table.columns)
    return replace(table, columns=columns)
