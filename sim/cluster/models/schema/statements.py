"""The model of DDL statements: what a statement makes of a catalog, or why it is refused.

From `sim/protocol/schema/ddl.py`, its head, and IEP-110, with the judges' reading of types
(`checkers/spec`): the names of a statement are looked up among the objects of the newest catalog;
its actions are carried out in order, each on the table that the one before it left, all of them or
none [110.compat.compound]. What a statement does not mention stays. Defaults count by their meaning
in the column's type. Where a statement breaks several rules at once, any of their reasons is right.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from ddlsim.cluster.models.schema.alteration import (
    EXISTS,
    MISSING,
    REFUSED,
    IdleError,
    RefusedError,
    acted,
    allow,
    column_of,
    constrained,
)
from ddlsim.cluster.models.schema.constants import is_held, understood
from ddlsim.model.ddl import (
    AddConstraint,
    AlterTable,
    AlterZone,
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnSpec,
    ConstraintAdded,
    ConstraintSpec,
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
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    RenameTable,
    RenameView,
    RenameZone,
    SimpleChange,
    Statement,
    ZoneAltered,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import (
    Alias,
    Column,
    ColumnType,
    Index,
    SchemaObject,
    Table,
    View,
    Zone,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused

BORN: Final = "default"
"""The zone that exists without being created."""
BORN_WITH: Final = (25, 1)
"""The partitions and replicas of a zone that names none."""
HIDDEN: Final = "__p_key"
"""The key of a table that names none."""
WORDS: Final = {Table: "table", View: "view", Zone: "zone"}


def difference(
    statement: Statement, snapshot: Snapshot, result: Built | NoOp | Refused
) -> str | None:
    """How what was made of a statement differs from what is due; None where it does not."""
    try:
        due = _Objects(snapshot, result).after(statement)
    except IdleError:
        return None if isinstance(result, NoOp) else f"is {result}, and there is nothing to do"
    except RefusedError as refused:
        if isinstance(result, Refused) and result.reason in refused.reasons:
            return None
        return f"is {result}, and should be refused with {[str(one) for one in refused.reasons]}"
    if not isinstance(result, Built):
        return f"is {result}, and should be {due}"
    if result.objects == due:
        return None
    found, due = (tuple(map(_by_meaning, objects)) for objects in (result.objects, due))
    return None if found == due else f"is {found}, and should be {due}"


class _Objects:
    """All objects that a statement meets, by name; `ids` are those that new parts were given."""

    def __init__(self, snapshot: Snapshot, result: Built | NoOp | Refused) -> None:
        objects = snapshot.objects()
        self._objects = objects
        self._zones = {one.name: one for one in objects if isinstance(one, Zone)}
        self._relations = {one.name: one for one in objects if not isinstance(one, Zone)}
        self._owners = {
            index.name: one for one in objects if isinstance(one, Table) for index in one.indexes
        }
        self._next_id = snapshot.next_object_id
        self._ids = _given(result, self._next_id)

    def after(self, statement: Statement) -> tuple[ObjectChange, ...]:
        """The changes that are due."""
        match statement:
            case CreateTable():
                return (self._create_table(statement),)
            case CreateView():
                return (self._create_view(statement),)
            case DropTable(name=name, if_exists=excused):
                return (self._dropped(self._relation(name, Table, excused=excused)),)
            case DropView(name=name, if_exists=excused):
                return (self._dropped(self._relation(name, View, excused=excused)),)
            case RenameTable(name=name, new_name=new, if_exists=excused):
                return (self._renamed(self._relation(name, Table, excused=excused), new),)
            case RenameView(name=name, new_name=new, if_exists=excused):
                return (self._renamed(self._relation(name, View, excused=excused), new),)
            case AlterTable():
                return (self._alter_table(statement),)
            case CreateIndex():
                return (self._create_index(statement),)
            case DropIndex():
                return (self._drop_index(statement),)
            case _:
                return self._zone(statement)

    # --- tables and views -------------------------------------------------------------------------

    def _is_free(self, name: str, *, excused: bool) -> None:
        """A name is free; an old name that is kept is not excused by IF NOT EXISTS."""
        found = self._relations.get(name)
        if found is not None and excused and not isinstance(found, Alias):
            raise IdleError
        allow((found is not None, EXISTS))

    def _meant(self, name: str) -> Table | View | None:
        found = self._relations.get(name)
        if isinstance(found, Alias):
            meant = [one for one in self._relations.values() if one.id == found.tables[0]]
            return meant[0] if meant else None
        return found

    def _relation(
        self, name: str, kind: type[Table] | type[View], *, excused: bool
    ) -> Table | View:
        found = self._meant(name)
        if found is None:
            if excused:
                raise IdleError
            raise RefusedError(MISSING)
        allow((not isinstance(found, kind), REFUSED))
        return found

    def _table(self, name: str, *, excused: bool) -> Table:
        found = self._relation(name, Table, excused=excused)
        assert isinstance(found, Table), found
        return found

    def _create_table(self, statement: CreateTable) -> ObjectChange:
        self._is_free(statement.name, excused=statement.if_not_exists)
        default = [one for one in self._zones.values() if one.is_default]
        zone = default[0] if default else None
        if statement.zone is not None:
            zone = self._zones.get(statement.zone)
        specs, key = list(statement.columns), list(statement.key)
        if not key:
            key = [HIDDEN]
            specs.insert(0, ColumnSpec(HIDDEN, ColumnType("UUID"), nullable=False))
        names = [one.name for one in specs]
        allow(
            (zone is None and statement.zone not in (None, BORN), MISSING),
            (len(names) > len({*names}) or len(key) > len({*key}), EXISTS),
            (not {*key} <= {*names}, MISSING),
            (any(one.computed and one.name not in key for one in specs), REFUSED),
            (any(not is_held(one.default, one.type, constant=True) for one in specs), REFUSED),
        )
        columns = [
            column_of(one, number, nullable=one.nullable and one.name not in key)
            for number, one in enumerate(specs, 1)
        ]
        table = Table(
            self._next_id,
            statement.name,
            1,
            tuple(columns),
            tuple(names.index(one) + 1 for one in key),
            BORN if zone is None else zone.place,
            next_column_id=len(columns) + 1,
        )
        reasons: list[Reason] = []
        for one in statement.constraints:
            try:
                table, _ = constrained(table, one, next(self._ids))
            except RefusedError as refused:
                reasons += refused.reasons
        if reasons:
            raise RefusedError(*reasons)
        self._refers(statement.constraints, statement.name, table)
        return _step(table, ObjectCreated())

    def _refers(self, constraints: Iterable[ConstraintSpec], own: str, made: Table) -> None:
        """Foreign keys refer to a table, to the one that is made or another, by its columns."""
        for one in constraints:
            if one.references is not None:
                named = one.references
                to = made if named.table == own else self._table(named.table, excused=False)
                names = [column.name for column in to.columns]
                allow(
                    (not {*named.columns} <= {*names}, MISSING),
                    (len(named.columns) > len({*named.columns}), REFUSED),
                    (not named.columns and HIDDEN in names, REFUSED),
                    (len(one.reads) != len(named.columns or to.key), REFUSED),
                )

    def _create_view(self, statement: CreateView) -> ObjectChange:
        self._is_free(statement.name, excused=statement.if_not_exists)
        sources = [self._meant(name) for name in statement.tables]
        ids = [one.id for one in sources if one is not None]
        allow((len(ids) < len(sources), MISSING))
        view = View(self._next_id, statement.name, 1, statement.sql, tuple(dict.fromkeys(ids)))
        return _step(view, ObjectCreated())

    def _dropped(self, found: Table | View) -> ObjectChange:
        readers = [
            one for one in self._objects if isinstance(one, View) and not isinstance(one, Alias)
        ]
        allow((any(found.id in one.tables for one in readers), REFUSED))
        return _end(found)

    def _renamed(self, found: Table | View, new: str) -> ObjectChange:
        allow((new in self._relations, EXISTS))
        renamed = replace(found, name=new, version=found.version + 1)
        return _step(renamed, ObjectRenamed(found.name, new))

    def _alter_table(self, statement: AlterTable) -> ObjectChange:
        before = table = self._table(statement.name, excused=statement.if_exists)
        changes: list[SimpleChange] = []
        for action in statement.actions:
            done = acted(table, action, self._ids)
            if done is not None:
                table, change = done
                changes.append(change)
        added = [one.constraint for one in statement.actions if isinstance(one, AddConstraint)]
        if not changes:
            raise IdleError
        self._refers(added, statement.name, table)
        return _step(replace(table, version=before.version + 1), *changes)

    # --- indexes ----------------------------------------------------------------------------------

    def _create_index(self, statement: CreateIndex) -> ObjectChange:
        if statement.name in self._owners and statement.if_not_exists:
            raise IdleError
        allow((statement.name in self._owners, EXISTS))
        table = self._table(statement.table, excused=False)
        by_name = {one.name: one.id for one in table.columns}
        allow(
            (len(statement.columns) > len({*statement.columns}), REFUSED),
            (not {*statement.columns} <= by_name.keys(), MISSING),
        )
        columns = tuple(by_name[one] for one in statement.columns)
        index = Index(self._next_id, statement.name, columns, statement.unique)
        new = replace(table, version=table.version + 1, indexes=(*table.indexes, index))
        return _step(new, IndexCreated(index))

    def _drop_index(self, statement: DropIndex) -> ObjectChange:
        table = self._owners.get(statement.name)
        if table is None:
            if statement.if_exists:
                raise IdleError
            raise RefusedError(MISSING)
        (index,) = [one for one in table.indexes if one.name == statement.name]
        left = tuple(one for one in table.indexes if one != index)
        new = replace(table, version=table.version + 1, indexes=left)
        return _step(new, IndexDropped(index))

    # --- zones ------------------------------------------------------------------------------------

    def _zone(self, statement: Statement) -> tuple[ObjectChange, ...]:
        zone = self._zones.get(statement.name)
        is_there = zone is not None or statement.name == BORN
        match statement:
            case CreateZone():
                return (self._create_zone(statement, is_there=is_there),)
            case AlterZone(default=True) if is_there:
                return self._default_zone(zone)
            case RenameZone(name=name) if name == BORN:
                raise RefusedError(REFUSED)
        assert isinstance(statement, AlterZone | RenameZone | DropZone), statement
        if zone is None:
            if statement.if_exists:
                raise IdleError
            raise RefusedError(MISSING)
        match statement:
            case AlterZone(partitions=partitions, replicas=replicas):
                allow((partitions not in (None, zone.partitions), REFUSED))
                if replicas in (None, zone.replicas):
                    raise IdleError
                new = replace(zone, version=zone.version + 1, replicas=replicas)
                return (_step(new, ZoneAltered()),)
            case RenameZone(new_name=name):
                allow((name in self._zones or name == BORN, EXISTS))
                new = replace(zone, name=name, version=zone.version + 1, first_name=zone.place)
                return (_step(new, ObjectRenamed(zone.name, name)),)
            case _:
                tables = [one for one in self._objects if isinstance(one, Table)]
                used = any(one.zone == zone.place for one in tables)
                allow((used or zone.is_default, REFUSED))
                return (_end(zone),)

    def _create_zone(self, statement: CreateZone, *, is_there: bool) -> ObjectChange:
        """A new zone; where a renamed one is still known by its name, it has another one inside."""
        if is_there and statement.if_not_exists:
            raise IdleError
        allow((is_there, EXISTS))
        partitions, replicas = (
            due if asked is None else asked
            for asked, due in zip(
                (statement.partitions, statement.replicas), BORN_WITH, strict=True
            )
        )
        zone = Zone(self._next_id, statement.name, 1, partitions, replicas)
        if any(one.place == zone.name for one in self._zones.values()):
            zone = replace(zone, first_name=f"{zone.name}#{zone.id}")
        return _step(zone, ObjectCreated())

    def _default_zone(self, zone: Zone | None) -> tuple[ObjectChange, ...]:
        """One zone is the default one, or the one that exists without being created."""
        changed = [one for one in self._zones.values() if one.is_default != (one == zone)]
        changed.sort(key=lambda one: one == zone)
        if not changed:
            raise IdleError
        return tuple(
            _step(
                replace(one, version=one.version + 1, is_default=not one.is_default), ZoneAltered()
            )
            for one in changed
        )


# --- parts of changes -----------------------------------------------------------------------------


def _step(found: SchemaObject, *changes: SimpleChange) -> ObjectChange:
    word = WORDS[type(found)]
    return ObjectChange(found.id, word, found.name, found.version, found, changes)


def _end(found: SchemaObject) -> ObjectChange:
    word, version = WORDS[type(found)], found.version + 1
    return ObjectChange(found.id, word, found.name, version, None, (ObjectDropped(),))


def _given(result: Built | NoOp | Refused, next_id: int) -> Iterator[int]:
    """The ids that a statement has given to constraints, in order; then any that are free.

    Which free ones they are is no rule.
    """
    last = next_id
    for change in result.objects if isinstance(result, Built) else ():
        table, found = change.definition, []
        if change.version == 1 and isinstance(table, Table):
            found = [one.id for one in table.constraints]
        found += [one.constraint.id for one in change.changes if isinstance(one, ConstraintAdded)]
        for one in found:
            if one >= last:
                yield one
                last = one + 1
    while True:
        last += 1
        yield last


def _by_meaning(change: ObjectChange) -> ObjectChange:
    """A change with the defaults of its columns by what they mean in their types."""
    definition = change.definition
    if isinstance(definition, Table):
        definition = replace(definition, columns=tuple(map(_understood, definition.columns)))
    return replace(change, definition=definition, changes=tuple(map(_simple, change.changes)))


def _simple(change: SimpleChange) -> SimpleChange:
    match change:
        case ColumnAdded(column=column):
            return ColumnAdded(_understood(column))
        case ColumnDropped(column=column):
            return ColumnDropped(_understood(column))
        case ColumnAltered(before=before, after=after):
            return ColumnAltered(_understood(before), _understood(after))
        case _:
            return change


def _understood(column: Column) -> Column:
    default, first = (
        understood(one, column.type) for one in (column.default, column.initial_default)
    )
    return replace(column, default=default, initial_default=first)
