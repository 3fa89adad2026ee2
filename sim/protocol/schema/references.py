"""What a foreign key refers to: a table that exists, and columns of it, as many as it has itself.

A foreign key is not enforced on rows (`constraints.py`), but a slip in it is one: databases refuse
it, SQLite with the first row. Whether the columns are unique, and of which types they are, is not
asked.
"""

from collections.abc import Container, Iterator

from ddlsim.model.ddl import AddConstraint, AlterTable, ConstraintSpec, CreateTable
from ddlsim.model.schema import SchemaObject, Table
from ddlsim.protocol.schema.alter_table import IMPLICIT_KEY
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl_answers import (
    Refused,
    no_such_column,
    refuse,
    repeated,
    the_table,
)


def unknown_reference(
    statement: CreateTable | AlterTable,
    made: SchemaObject | None,
    snapshot: Snapshot,
    unchecked: Container[str] = (),
) -> Refused | None:
    """The refusal of the first foreign key that refers to what is not there.

    `made` is the statement's own table as it leaves it: a foreign key may refer to it; and to the
    tables in `unchecked`, which may not be there yet.
    """
    for spec in foreign_keys(statement):
        assert spec.references is not None
        name = spec.references.table
        if name != statement.name and snapshot.meant(name) is None and name in unchecked:
            continue
        found = made if name == statement.name else the_table(name, snapshot, if_exists=False)
        refused = found if isinstance(found, Refused) else None
        if isinstance(found, Table):
            refused = unlike(spec, found)
        if refused is not None:
            return refused
    return None


def foreign_keys(statement: CreateTable | AlterTable) -> Iterator[ConstraintSpec]:
    """Those that a statement adds."""
    yield from (one for one in constraints_of(statement) if one.references is not None)


def constraints_of(statement: CreateTable | AlterTable) -> tuple[ConstraintSpec, ...]:
    """The constraints that a statement adds."""
    if isinstance(statement, CreateTable):
        return statement.constraints
    return tuple(one.constraint for one in statement.actions if isinstance(one, AddConstraint))


def unlike(spec: ConstraintSpec, table: Table) -> Refused | None:
    """Where a foreign key and the columns of a table that it refers to do not belong together."""
    assert spec.references is not None
    columns = spec.references.columns
    names = [column.name for column in table.columns]
    for name in columns:
        if name not in names:
            return no_such_column(table.name, name)
    twice = repeated(columns)
    if twice is not None:
        return refuse(f"column {twice!r} of table {table.name!r} stands there twice")
    if not columns and IMPLICIT_KEY in names:
        return refuse(f"table {table.name!r} has no primary key to refer to")
    own, others = len(spec.reads), len(columns or table.key)
    if own != others:
        what = f"{others} of" if columns else f"the primary key, of {others}, of"
        return refuse(f"a foreign key of {own} columns refers to {what} table {table.name!r}")
    return None
