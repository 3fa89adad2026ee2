"""Schema changes: a statement by name becomes object changes by id, or is refused.

A statement speaks in names, as its author saw them; what is installed speaks in ids, because names
move while transactions run. `build` is the only way from one to the other. It looks at the latest
catalog that the node has applied, active or not, and returns one of three values:

    Built     the next version of each object that the statement touches, with the simple changes
              that lead there, in the statement's order [110.compat.compound]
    NoOp      nothing to do, by IF EXISTS or IF NOT EXISTS or because nothing would change
    Refused   not allowed on this schema, with the reason

Ids are never used again: not those of dropped objects, and not those of dropped columns, so that a
column that is dropped and added again is another column [110.compat.id]. Tables, views, zones,
indexes and constraints take their ids from one counter; columns from their table's.

What SQL allows is one matter, what transactions in flight survive another. Refused is only what is
undefined for the rows that exist: a NOT NULL column without default [110.column.add], key columns
dropped, retyped or made nullable, a type that the old values cannot be converted to, a column that
an index needs, another partition count [110.zone], and dropping what a view reads or a zone still
holds. Narrowing a column or setting it NOT NULL is allowed here; compatibility.py judges it.

Tables and views share one name space; zones, and indexes, have theirs; constraint names belong to
their table. A table without a primary key gets a hidden one, `__p_key`, as the real system does.
The zone `default` exists without being created.
"""

from collections.abc import Container
from functools import singledispatch
from typing import Final, NamedTuple

from ddlsim.model.ddl import (
    AlterTable,
    AlterZone,
    CreateIndex,
    CreateTable,
    CreateView,
    CreateZone,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    IndexCreated,
    IndexDropped,
    ObjectChange,
    ObjectRenamed,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
    ZoneAltered,
)
from ddlsim.model.schema import Index, Table, View, Zone
from ddlsim.protocol.schema.alter_table import alter, new_table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl_answers import (
    NoOp,
    Refused,
    changed,
    created,
    dropped,
    evolve,
    exists,
    missing,
    name_taken,
    no_such_column,
    read_by_view,
    refuse,
    repeated,
    taken,
    the_table,
    the_view,
)
from ddlsim.protocol.schema.references import unknown_reference

__all__ = ["Built", "NoOp", "Refused", "build"]

DEFAULT_ZONE: Final = "default"
"""The zone of tables that name none; it exists without being created."""
DEFAULT_PARTITIONS: Final = 25
DEFAULT_REPLICAS: Final = 1


class Built(NamedTuple):
    """The object changes of a statement."""

    objects: tuple[ObjectChange, ...]


def build(
    statement: Statement,
    snapshot: Snapshot,
    next_object_id: int,
    *,
    mandatory: bool = False,
    unchecked: Container[str] = (),
) -> Built | NoOp | Refused:
    """Turn a statement into object changes against the latest known catalog snapshot.

    New objects take ids from `next_object_id` on; `snapshot.next_object_id` is always a safe one.
    With `mandatory` a column may be NOT NULL without default: the table is empty [110.later.2].
    Foreign keys may refer to tables in `unchecked` that are not there yet.
    """
    outcome: ObjectChange | Built | NoOp | Refused
    if mandatory and isinstance(statement, AlterTable):
        outcome = _alter_table(statement, snapshot, next_object_id, mandatory=True)
    else:
        outcome = _built(statement, snapshot, next_object_id)
    if isinstance(outcome, ObjectChange) and isinstance(statement, (CreateTable, AlterTable)):
        outcome = unknown_reference(statement, outcome.definition, snapshot, unchecked) or outcome
    built = Built((outcome,)) if isinstance(outcome, ObjectChange) else outcome
    for change in built.objects if isinstance(built, Built) else ():
        before = snapshot.by_id(change.object_id)
        since = 0 if before is None else before.version
        assert change.version == since + 1, f"{change.name} has no version {change.version - 1}"
    return built


@singledispatch
def _built(
    statement: object, snapshot: Snapshot, next_object_id: int
) -> ObjectChange | Built | NoOp | Refused:
    """The result of a statement, by its class."""
    raise AssertionError(f"no statement: {statement} on {snapshot}, {next_object_id}")


# --- tables --------------------------------------------------------------------------------------


@_built.register
def _create_table(
    statement: CreateTable, snapshot: Snapshot, next_id: int
) -> ObjectChange | NoOp | Refused:
    """CREATE TABLE [110.table.create]."""
    refused = name_taken(statement.name, snapshot, if_not_exists=statement.if_not_exists)
    if refused is not None:
        return refused
    named = statement.zone
    zone = snapshot.default_zone() if named is None else snapshot.zone(named)
    if zone is None and named not in (None, DEFAULT_ZONE):
        return missing("zone", str(named), if_exists=False)
    table = new_table(statement, next_id, DEFAULT_ZONE if zone is None else zone.place)
    return created(table) if isinstance(table, Table) else table


@_built.register
def _drop_table(statement: DropTable, snapshot: Snapshot, _: int) -> ObjectChange | NoOp | Refused:
    """DROP TABLE [110.table.drop]; the views that read it have to go first."""
    table = the_table(statement.name, snapshot, if_exists=statement.if_exists)
    if not isinstance(table, Table):
        return table
    return read_by_view(table, snapshot) or dropped(table)


def _rename(
    found: Table | View | NoOp | Refused, new_name: str, snapshot: Snapshot
) -> ObjectChange | NoOp | Refused:
    """ALTER TABLE or VIEW … RENAME TO [110.table.rename]."""
    if isinstance(found, (NoOp, Refused)):
        return found
    other = snapshot.by_name(new_name)
    if other is not None:
        return taken(other, snapshot)
    new = evolve(found, name=new_name, version=found.version + 1)
    return changed(new, (ObjectRenamed(found.name, new_name),))


@_built.register
def _rename_table(
    statement: RenameTable, snapshot: Snapshot, _: int
) -> ObjectChange | NoOp | Refused:
    found = the_table(statement.name, snapshot, if_exists=statement.if_exists)
    return _rename(found, statement.new_name, snapshot)


@_built.register
def _alter_table(
    statement: AlterTable, snapshot: Snapshot, next_id: int, *, mandatory: bool = False
) -> ObjectChange | NoOp | Refused:
    """ALTER TABLE with one or more actions [110.compat.compound]."""
    table = the_table(statement.name, snapshot, if_exists=statement.if_exists)
    if not isinstance(table, Table):
        return table
    outcome = alter(table, statement.actions, next_id, mandatory=mandatory)
    if isinstance(outcome, (NoOp, Refused)):
        return outcome
    new, changes = outcome
    return changed(evolve(new, version=table.version + 1), changes)


# --- indexes -------------------------------------------------------------------------------------


@_built.register
def _create_index(
    statement: CreateIndex, snapshot: Snapshot, next_id: int
) -> ObjectChange | NoOp | Refused:
    """CREATE [UNIQUE] INDEX: the index is registered, its build comes later."""
    if snapshot.index_owner(statement.name) is not None:
        if statement.if_not_exists:
            return NoOp(f"index {statement.name!r} exists already")
        return exists("index", statement.name)
    table = the_table(statement.table, snapshot, if_exists=False)
    if not isinstance(table, Table):
        return table
    twice = repeated(statement.columns)
    if twice is not None:
        return refuse(f"index column {twice!r} stands there twice")
    ids = {column.name: column.id for column in table.columns}
    for name in statement.columns:
        if name not in ids:
            return no_such_column(table.name, name)
    columns = tuple(ids[name] for name in statement.columns)
    index = Index(next_id, statement.name, columns, statement.unique)
    new = evolve(table, version=table.version + 1, indexes=(*table.indexes, index))
    return changed(new, (IndexCreated(index),))


@_built.register
def _drop_index(statement: DropIndex, snapshot: Snapshot, _: int) -> ObjectChange | NoOp | Refused:
    """DROP INDEX."""
    table = snapshot.index_owner(statement.name)
    if table is None:
        return missing("index", statement.name, if_exists=statement.if_exists)
    index = next(index for index in table.indexes if index.name == statement.name)
    left = tuple(other for other in table.indexes if other.id != index.id)
    new = evolve(table, version=table.version + 1, indexes=left)
    return changed(new, (IndexDropped(index),))


# --- views ---------------------------------------------------------------------------------------


@_built.register
def _create_view(
    statement: CreateView, snapshot: Snapshot, next_id: int
) -> ObjectChange | NoOp | Refused:
    """CREATE VIEW [110.view]."""
    refused = name_taken(statement.name, snapshot, if_not_exists=statement.if_not_exists)
    if refused is not None:
        return refused
    ids: dict[int, None] = {}
    for name in statement.tables:
        source = snapshot.meant(name)
        if source is None:
            return missing("table", name, if_exists=False)
        ids[source.id] = None
    for name, column in statement.reads:
        source = snapshot.meant(name)
        if isinstance(source, Table) and all(one.name != column for one in source.columns):
            return no_such_column(source.name, column)
    return created(View(next_id, statement.name, 1, statement.sql, tuple(ids)))


@_built.register
def _drop_view(statement: DropView, snapshot: Snapshot, _: int) -> ObjectChange | NoOp | Refused:
    """DROP VIEW [110.view]."""
    view = the_view(statement.name, snapshot, if_exists=statement.if_exists)
    if not isinstance(view, View):
        return view
    return read_by_view(view, snapshot) or dropped(view)


@_built.register
def _rename_view(
    statement: RenameView, snapshot: Snapshot, _: int
) -> ObjectChange | NoOp | Refused:
    found = the_view(statement.name, snapshot, if_exists=statement.if_exists)
    return _rename(found, statement.new_name, snapshot)


# --- zones ---------------------------------------------------------------------------------------


@_built.register
def _create_zone(
    statement: CreateZone, snapshot: Snapshot, next_id: int
) -> ObjectChange | NoOp | Refused:
    """CREATE ZONE [110.zone]."""
    if statement.name == DEFAULT_ZONE or snapshot.zone(statement.name) is not None:
        if statement.if_not_exists:
            return NoOp(f"zone {statement.name!r} exists already")
        return exists("zone", statement.name)
    partitions = DEFAULT_PARTITIONS if statement.partitions is None else statement.partitions
    replicas = DEFAULT_REPLICAS if statement.replicas is None else statement.replicas
    taken_places = {zone.place for zone in snapshot.zones()}
    first = f"{statement.name}#{next_id}" if statement.name in taken_places else ""
    return created(Zone(next_id, statement.name, 1, partitions, replicas, first_name=first))


@_built.register
def _alter_zone(
    statement: AlterZone, snapshot: Snapshot, _: int
) -> ObjectChange | Built | NoOp | Refused:
    """ALTER ZONE, but never its partition count [110.zone]."""
    zone = snapshot.zone(statement.name)
    if statement.default and (zone is not None or statement.name == DEFAULT_ZONE):
        return _set_default(zone, snapshot)
    if zone is None:
        return missing("zone", statement.name, if_exists=statement.if_exists)
    if statement.partitions not in (None, zone.partitions):
        message = f"the partition count of zone {zone.name!r} cannot change [110.zone]"
        return refuse(message)
    if statement.replicas in (None, zone.replicas):
        return NoOp(f"zone {zone.name!r} is so already")
    new = evolve(zone, version=zone.version + 1, replicas=statement.replicas)
    return changed(new, (ZoneAltered(),))


def _set_default(zone: Zone | None, snapshot: Snapshot) -> Built | NoOp:
    """ALTER ZONE SET DEFAULT; None is the zone that exists without being created."""
    before = snapshot.default_zone()
    if before == zone:
        return NoOp("it is the default zone already")
    steps = [(one, one is zone) for one in (before, zone) if one is not None]
    return Built(
        tuple(
            changed(evolve(one, version=one.version + 1, is_default=default), (ZoneAltered(),))
            for one, default in steps
        )
    )


@_built.register
def _rename_zone(
    statement: RenameZone, snapshot: Snapshot, _: int
) -> ObjectChange | NoOp | Refused:
    """ALTER ZONE a RENAME TO b; the tables in it do not change [110.zone]."""
    if statement.name == DEFAULT_ZONE:
        return refuse(f"zone {DEFAULT_ZONE!r} cannot be renamed")
    zone = snapshot.zone(statement.name)
    if zone is None:
        return missing("zone", statement.name, if_exists=statement.if_exists)
    if statement.new_name == DEFAULT_ZONE or snapshot.zone(statement.new_name) is not None:
        return exists("zone", statement.new_name)
    new = evolve(zone, name=statement.new_name, version=zone.version + 1, first_name=zone.place)
    return changed(new, (ObjectRenamed(zone.name, statement.new_name),))


@_built.register
def _drop_zone(statement: DropZone, snapshot: Snapshot, _: int) -> ObjectChange | NoOp | Refused:
    """DROP ZONE, once no table lies in it [110.zone]."""
    zone = snapshot.zone(statement.name)
    if zone is None:
        return missing("zone", statement.name, if_exists=statement.if_exists)
    if zone.is_default:
        return refuse(f"zone {zone.name!r} is the default zone")
    for table in snapshot.tables():
        if table.zone == zone.place:
            message = f"table {table.name!r} lies in zone {zone.name!r}"
            return refuse(message)
    return dropped(zone)
