"""Whether a DDL statement has nothing to do on a schema, read from the statement alone.

A judge's own reading, beside the one that builds statements: IF EXISTS and IF NOT EXISTS excuse
what they name and nothing else, and a change to what is there already changes nothing. In a
statement of several actions each of them has nothing to do.
"""

from collections.abc import Iterable
from typing import Final

from ddlsim.checkers.spec.types import read
from ddlsim.model.ddl import (
    Action,
    AddColumn,
    AlterColumn,
    AlterTable,
    AlterZone,
    CreateIndex,
    CreateTable,
    CreateView,
    CreateZone,
    DropColumn,
    DropConstraint,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.model.schema import Alias, Column, SchemaObject, Table, View, Zone

BORN: Final = "default"
"""The zone that exists without being created."""


def changes_nothing(statement: Statement, objects: Iterable[SchemaObject]) -> str | None:
    """None if the statement has nothing to do on these objects; else what it would have to do.

    An old name that stays and that another table or view has taken means the latter.
    """
    zones = {one.name: one for one in objects if isinstance(one, Zone)}
    named = [one for one in objects if not isinstance(one, Zone)]
    named.sort(key=lambda one: not isinstance(one, Alias))
    relations = {one.name: one for one in named}
    indexes = {
        index.name: one
        for one in relations.values()
        if isinstance(one, Table)
        for index in one.indexes
    }
    match statement:
        case CreateTable(name=name) | CreateView(name=name):
            found = name in relations and not isinstance(relations[name], Alias)
            return _there(name, found=found, excused=statement.if_not_exists)
        case CreateIndex(name=name):
            return _there(name, found=name in indexes, excused=statement.if_not_exists)
        case CreateZone(name=name):
            return _there(
                name, found=name in zones or name == BORN, excused=statement.if_not_exists
            )
        case DropTable(name=name) | DropView(name=name):
            return _gone(name, found=name in relations, excused=statement.if_exists)
        case RenameTable(name=name) | RenameView(name=name):
            return _gone(name, found=name in relations, excused=statement.if_exists)
        case DropIndex(name=name):
            return _gone(name, found=name in indexes, excused=statement.if_exists)
        case DropZone(name=name) | RenameZone(name=name):
            return _gone(name, found=name in zones, excused=statement.if_exists)
        case AlterZone():
            return _zone(statement, zones)
        case AlterTable():
            return _table(statement, relations)


def _there(name: str, *, found: bool, excused: bool) -> str | None:
    if not excused:
        return "it does not say IF NOT EXISTS"
    return None if found else f"there is no {name!r}"


def _gone(name: str, *, found: bool, excused: bool) -> str | None:
    if not excused:
        return "it does not say IF EXISTS"
    return f"there is {name!r}" if found else None


def _zone(statement: AlterZone, zones: dict[str, Zone]) -> str | None:
    if statement.default and statement.name == BORN:
        others = [one.name for one in zones.values() if one.is_default]
        return f"the default zone is {others[0]!r}" if others else None
    zone = zones.get(statement.name)
    if zone is None:
        return _gone(statement.name, found=False, excused=statement.if_exists)
    same = zone.is_default or not statement.default
    same = same and statement.replicas in (None, zone.replicas)
    same = same and statement.partitions in (None, zone.partitions)
    return None if same else f"zone {zone.name!r} is not so"


def _table(statement: AlterTable, relations: dict[str, Table | View]) -> str | None:
    table: SchemaObject | None = relations.get(statement.name)
    if isinstance(table, Alias):
        meant = [one for one in relations.values() if one.id == table.tables[0]]
        table = meant[0] if meant else None
    if table is None:
        return _gone(statement.name, found=False, excused=statement.if_exists)
    if not isinstance(table, Table):
        return f"{statement.name!r} is no table"
    for action in statement.actions:
        why = _action(action, table)
        if why is not None:
            return why
    return None


def _action(action: Action, table: Table) -> str | None:
    columns = {column.name: column for column in table.columns}
    match action:
        case AddColumn(column=spec):
            return _there(spec.name, found=spec.name in columns, excused=action.if_not_exists)
        case DropColumn(name=name):
            return _gone(name, found=name in columns, excused=action.if_exists)
        case DropConstraint(name=name):
            found = any(one.name == name for one in table.constraints)
            return _gone(name, found=found, excused=action.if_exists)
        case AlterColumn(name=name):
            column = columns.get(name)
            if column is not None and _is_so(action, column):
                return None
            return f"column {name!r} is not so"
    return "there is something to do whatever the schema is"


def _is_so(action: AlterColumn, column: Column) -> bool:
    """Type, nullability and default, as far as they are mentioned; a default by its meaning."""
    if action.type not in (None, column.type) or action.nullable not in (None, column.nullable):
        return False
    if not action.sets_default:
        return True
    return read(action.default, column.type) == read(column.default, column.type)
