"""ALTER TABLE, action by action in order; and CREATE TABLE.

A statement with several actions is the sequence of its simple changes, each made on the table that
the one before it left behind [110.compat.compound]: `DROP COLUMN c, ADD COLUMN c INT` first drops
one column and then adds another, of another id. Either all actions are carried out or none.

One ALTER COLUMN may change type, nullability and default at once; it stays *one* simple change that
several rules judge [110.mixed]. What it does not mention stays as it was, and `initial_default`
always does: rows that were written before the column existed show the default that it was *added*
with, whatever its default is today.

The default of a column keeps the form in which it was written when the column's type changes; it is
shown in the type of the day (`rows.py`). Otherwise every INT DEFAULT 5 -> VARCHAR would look like a
manipulation of the default, which it is not. A default that is set to what it already means, in
other words, stays as it was written too: nothing is manipulated.

A key column identifies rows that exist: it cannot be dropped, retyped or made nullable. A column
that an index covers cannot be dropped before the index. Constraints that read a column go with it,
as in PostgreSQL, if they are enforced (`constraints.py`); the others are kept as text. A column
that any of them names has to exist when it is added.
"""

from typing import Final

from msgspec.structs import replace

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
    CreateTable,
    DropColumn,
    DropConstraint,
    RenameColumn,
    SimpleChange,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, ColumnType, Constraint, Table
from ddlsim.protocol.schema.column_types import Misfit, convertible, fit, fit_constant, same_default
from ddlsim.protocol.schema.constraints import as_enforced
from ddlsim.protocol.schema.ddl_answers import (
    NoOp,
    Refused,
    evolve,
    no_such_column,
    refuse,
    repeated,
)

IMPLICIT_KEY: Final = "__p_key"
"""The key column of a table that was created without a primary key."""

Change = tuple[Table, SimpleChange] | NoOp | Refused


def new_table(statement: CreateTable, table_id: int, zone: str) -> Table | Refused:
    """A table as it is created, its columns and constraints in the order of the statement."""
    statement = with_key(statement)
    specs, key_names = statement.columns, statement.key
    twice = repeated(spec.name for spec in specs) or repeated(key_names)
    if twice is not None:
        return _column_exists(twice)
    columns = []
    for number, spec in enumerate(specs, start=1):
        column = _new_column(spec, number, is_key=spec.name in key_names)
        if isinstance(column, Refused):
            return column
        columns.append(column)
    ids = {column.name: column.id for column in columns}
    for name in key_names:
        if name not in ids:
            return no_such_column(statement.name, name)
    table = Table(
        id=table_id,
        name=statement.name,
        version=1,
        columns=tuple(columns),
        key=tuple(ids[name] for name in key_names),
        zone=zone,
        next_column_id=len(columns) + 1,
    )
    for number, constraint in enumerate(statement.constraints, start=table_id + 1):
        added = _new_constraint(table, constraint, number)
        if isinstance(added, Refused):
            return added
        table = evolve(table, constraints=(*table.constraints, added))
    return table


def with_key(statement: CreateTable) -> CreateTable:
    """A table as it is declared; where it has no key, with a hidden one."""
    if statement.key:
        return statement
    hidden = ColumnSpec(IMPLICIT_KEY, ColumnType("UUID"), nullable=False)
    columns = (hidden, *statement.columns)
    return replace(statement, columns=columns, key=(IMPLICIT_KEY,))


def _new_column(spec: ColumnSpec, column_id: int, *, is_key: bool) -> Column | Refused:
    """A column as it is created; key columns are NOT NULL without saying so."""
    if spec.computed and not is_key:
        return _computed(spec.name)
    default = fit_constant(spec.default, spec.type)
    if isinstance(default, Misfit):
        return refuse(f"column {spec.name!r}: default {default.message}")
    nullable = spec.nullable and not is_key
    return Column(column_id, spec.name, spec.type, nullable, default, default)


def _computed(name: str) -> Refused:
    """The refusal of a computed default: the value in old tuples would be undefined."""
    return refuse(f"column {name!r}: a computed default is for columns of the primary key only")


def _new_constraint(table: Table, spec: ConstraintSpec, constraint_id: int) -> Constraint | Refused:
    """A constraint as it is created; one without a name is named after its table and id."""
    name = spec.name or f"{table.name}_{spec.kind}_{constraint_id}"
    if any(constraint.name == name for constraint in table.constraints):
        return Refused(Reason.OBJECT_EXISTS, f"constraint {name!r} exists already")
    ids = {column.name: column.id for column in table.columns}
    own = tuple(one.removeprefix(f"{table.name}.") for one in spec.reads)
    for column_name in (*spec.columns, *own):
        if column_name not in ids:
            return no_such_column(table.name, column_name)
    twice = repeated(spec.columns) or (repeated(spec.reads) if spec.references else None)
    if twice is not None:
        return refuse(f"constraint column {twice!r} stands there twice")
    columns = tuple(ids[one] for one in spec.columns)
    constraint = Constraint(constraint_id, name, spec.kind, spec.text, columns, spec.condition)
    return as_enforced(constraint, table)


def alter(
    table: Table, actions: tuple[Action, ...], next_id: int, *, mandatory: bool = False
) -> tuple[Table, tuple[SimpleChange, ...]] | NoOp | Refused:
    """The table after all actions, and the simple changes that led there.

    A NOT NULL column without a default is not allowed by SQL [110.column.add], unless `mandatory`.
    """
    changes: list[SimpleChange] = []
    idle = NoOp("nothing changes")
    for action in actions:
        outcome = _done(table, action, next_id + len(changes))
        if isinstance(outcome, Refused):
            return outcome
        if isinstance(outcome, NoOp):
            idle = outcome
            continue
        table, change = outcome
        if not mandatory and isinstance(change, ColumnAdded) and is_mandatory(change.column):
            name = change.column.name
            return refuse(f"column {name!r} is NOT NULL and has no default [110.column.add]")
        changes.append(change)
    return (table, tuple(changes)) if changes else idle


def is_mandatory(column: Column | ColumnSpec) -> bool:
    """Whether every row must be given a value of the column."""
    return not column.nullable and column.default is None


def _column(table: Table, name: str) -> Column | None:
    return next((column for column in table.columns if column.name == name), None)


def _replace(table: Table, column: Column) -> Table:
    """The table with another column in the place of the one with the same id."""
    columns = tuple(column if old.id == column.id else old for old in table.columns)
    return evolve(table, columns=columns)


def _column_exists(name: str) -> Refused:
    return Refused(Reason.OBJECT_EXISTS, f"column {name!r} exists already")


def _add_column(table: Table, action: AddColumn) -> Change:
    """ADD COLUMN [110.column.add]."""
    spec = action.column
    if _column(table, spec.name) is not None:
        refused = _column_exists(spec.name)
        return NoOp(refused.message) if action.if_not_exists else refused
    column = _new_column(spec, table.next_column_id, is_key=False)
    if isinstance(column, Refused):
        return column
    assert all(one.id < column.id for one in table.columns), (
        f"{column.name}: its id was used before"
    )
    columns = (*table.columns, column)
    return evolve(table, columns=columns, next_column_id=column.id + 1), ColumnAdded(column)


def _drop_column(table: Table, action: DropColumn) -> Change:
    """DROP COLUMN, but not of the key and not under an index [110.column.drop]."""
    column = _column(table, action.name)
    if column is None:
        missing = no_such_column(table.name, action.name)
        return NoOp(missing.message) if action.if_exists else missing
    if column.id in table.key:
        return refuse(f"column {column.name!r} belongs to the primary key")
    for index in table.indexes:
        if column.id in index.columns:
            return refuse(f"index {index.name!r} covers column {column.name!r}")
    left = tuple(other for other in table.columns if other.id != column.id)
    kept = tuple(one for one in table.constraints if column.id not in one.columns)
    return evolve(table, columns=left, constraints=kept), ColumnDropped(column)


def _rename_column(table: Table, action: RenameColumn) -> Change:
    """RENAME COLUMN; the id stays [110.column.rename]."""
    column = _column(table, action.name)
    if column is None:
        return no_such_column(table.name, action.name)
    if _column(table, action.new_name) is not None:
        return _column_exists(action.new_name)
    renamed = _replace(table, evolve(column, name=action.new_name))
    return renamed, ColumnRenamed(column.id, column.name, action.new_name)


def _alter_column(table: Table, action: AlterColumn) -> Change:
    """ALTER COLUMN: type, nullability and default, any of them or all [110.mixed]."""
    column = _column(table, action.name)
    if column is None:
        return no_such_column(table.name, action.name)
    if action.computed:
        return _computed(column.name)
    new_type = action.type or column.type
    nullable = column.nullable if action.nullable is None else action.nullable
    if column.id in table.key and (new_type != column.type or nullable):
        return refuse(f"column {column.name!r} belongs to the primary key")
    if not convertible(column.type, new_type):
        return refuse(f"no conversion from {column.type} to {new_type}")
    if action.sets_default:
        default = fit_constant(action.default, new_type)
    else:
        default = fit(column.default, new_type)
    if isinstance(default, Misfit):
        what = f"column {column.name!r}: default {default.message}"
        if not action.sets_default:
            what += f" as {column.type} has it; drop it before, and set it again after"
        return refuse(what)
    after = evolve(column, type=new_type, nullable=nullable, default=default)
    if not action.sets_default or same_default(column, after):
        after = evolve(after, default=column.default)
    if after == column and type(after.default) is type(column.default):
        return NoOp(f"column {column.name!r} is so already")
    return _replace(table, after), ColumnAltered(column, after)


def _add_constraint(table: Table, action: AddConstraint, next_id: int) -> Change:
    """ADD CONSTRAINT; rows that exist are not checked, as with NOT VALID in PostgreSQL."""
    constraint = _new_constraint(table, action.constraint, next_id)
    if isinstance(constraint, Refused):
        return constraint
    new = evolve(table, constraints=(*table.constraints, constraint))
    return new, ConstraintAdded(constraint)


def _drop_constraint(table: Table, action: DropConstraint) -> Change:
    """DROP CONSTRAINT [110.constraint.drop]."""
    for constraint in table.constraints:
        if constraint.name == action.name:
            left = tuple(other for other in table.constraints if other.id != constraint.id)
            return evolve(table, constraints=left), ConstraintDropped(constraint)
    message = f"table {table.name!r} has no constraint {action.name!r}"
    return NoOp(message) if action.if_exists else Refused(Reason.OBJECT_NOT_FOUND, message)


def _done(table: Table, action: Action, next_id: int) -> Change:
    """The table after one action; `next_id` is for what it creates."""
    match action:
        case AddColumn():
            return _add_column(table, action)
        case DropColumn():
            return _drop_column(table, action)
        case RenameColumn():
            return _rename_column(table, action)
        case AlterColumn():
            return _alter_column(table, action)
        case AddConstraint():
            return _add_constraint(table, action, next_id)
        case DropConstraint():
            return _drop_constraint(table, action)
