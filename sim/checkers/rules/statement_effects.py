"""Whether a logged update is what its statement says, read from the statement alone; part of I12.

A judge's own reading, beside the one that builds statements. The statement's names are looked up in
the catalog that the update was built on; from that follows what each object is to look like: its
name, columns, key, indexes, constraints, or a zone's numbers. Whatever the statement does not
mention stays as it was [110.compat.compound]. Ids are never used again (`used_ids`). A default
counts by its meaning in the column's type.

Left out are runs with statements in stages (aliases, pending columns), whose updates say more than
the statement, and whether a column may be NOT NULL without a default, which designs decide.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.rules.ddl_answers import objects_at
from ddlsim.checkers.rules.index_steps import decisive, sets_states
from ddlsim.checkers.rules.used_ids import reused
from ddlsim.checkers.spec.types import domain, read
from ddlsim.history.events import UpdateLogged
from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import (
    Action,
    AddColumn,
    AddConstraint,
    AlterColumn,
    AlterTable,
    AlterZone,
    ColumnSpec,
    ConstraintSpec,
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
    ObjectChange,
    RenameColumn,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import (
    Column,
    ColumnType,
    Condition,
    SchemaObject,
    Table,
    Value,
    View,
    Zone,
)

CLAUSES: Final = ("98.def.1", "110.compat.compound")
NEW: Final = 0
"""The id of a column or object of which only is known that it is new."""
STAGED: Final = (ObjectAliased, ColumnPending, ColumnConfirmed)
HIDDEN_KEY: Final = "__p_key"
COMPARED: Final = ("integer", "real", "decimal", "text", "boolean")
"""The kinds of values that an enforced CHECK compares [110.ours.check]."""


class IndexShape(NamedTuple):
    """An index by the names of its columns."""

    name: str
    columns: tuple[str, ...]
    unique: bool


class ConstraintShape(NamedTuple):
    """A constraint by the names of its columns; `name` is empty where the statement gives none.

    A CHECK that is kept as text has neither columns nor a condition [110.ours.check].
    """

    name: str
    kind: str
    text: str
    columns: tuple[str, ...]
    condition: Condition | None = None


class Shape(NamedTuple):
    """What an object looks like to its users; `columns` of a table have their ids."""

    kind: str
    name: str
    columns: tuple[Column, ...] = ()
    key: tuple[str, ...] = ()
    indexes: tuple[IndexShape, ...] = ()
    constraints: tuple[ConstraintShape, ...] = ()
    more: object = None


def statement_effects(case: Case) -> Iterator[Anomaly]:
    """Each update of a statement against what the statement says."""
    if any(_is_staged(update) for _, update in case.schemas.updates):
        return
    used: dict[int, dict[int, None]] = {}
    for _, update in sorted(case.schemas.updates, key=lambda one: one[1].catalog_version):
        why = reused(update, used) or _why_wrong(case, update)
        if why is not None:
            yield Anomaly(
                "not-as-stated",
                f"catalog version {update.catalog_version}, of {update.op} "
                f"({case.statement(update.op)}), is not what the statement says: {why}",
                (update,),
                clauses=CLAUSES,
            )


def _is_staged(update: UpdateLogged) -> bool:
    return any(isinstance(change, STAGED) for one in update.objects for change in one.changes)


def _why_wrong(case: Case, update: UpdateLogged) -> str | None:
    ddl = None if update.op is None else case.ddls.get(update.op)
    decided = None if ddl is None else ddl.decided
    if ddl is None or decided is None or decided.statement is None or update.built_on is None:
        return None
    keeps = sets_states(update)
    if not keeps and update is not decisive(case, ddl.operation.name):
        return None
    if update.built_on != update.catalog_version - 1:
        return f"it was built on version {update.built_on}"
    catalog = _Catalog(objects_at(case, update.built_on))
    try:
        due = catalog.as_it_is(update) if keeps else catalog.after(decided.statement)
    except _WrongError as error:
        return str(error)
    return _differing(due, update.objects, catalog)


def _differing(
    due: dict[int, Shape | None], objects: tuple[ObjectChange, ...], catalog: "_Catalog"
) -> str | None:
    """Where the changed objects differ from what is due, by the ids of those that are there."""
    found: dict[int, Shape | None] = {}
    for change in objects:
        before = catalog.by_id.get(change.object_id)
        since = 0 if before is None else before.version
        if change.version != since + 1:
            return f"{change.name!r} goes from version {since} to {change.version}"
        definition = change.definition
        if definition is not None and (definition.id, definition.version) != (
            change.object_id,
            change.version,
        ):
            return f"{change.name!r} is defined as version {definition.version}"
        known = set() if not isinstance(before, Table) else {one.id for one in before.columns}
        shape = None if definition is None else _shape(definition, catalog.names(), known)
        found[NEW if before is None else change.object_id] = shape
    if found.keys() != due.keys():
        return f"it concerns the objects {sorted(found)}, and should concern {sorted(due)}"
    for object_id, shape in due.items():
        if _by_meaning(_named_as(found[object_id], shape)) != _by_meaning(shape):
            return f"it leaves {found[object_id]}, and should leave {shape}"
    return None


def _named_as(found: Shape | None, due: Shape | None) -> Shape | None:
    """A shape without the names of constraints to which their statement gives none."""
    if found is None or due is None or len(found.constraints) != len(due.constraints):
        return found
    pairs = zip(found.constraints, due.constraints, strict=True)
    return found._replace(
        constraints=tuple(one._replace(name=one.name if as_.name else "") for one, as_ in pairs)
    )


class _WrongError(Exception):
    """Raised where a statement has no meaning on a catalog and yet was installed."""


def _must(holds: object, why: str) -> None:
    if not holds:
        raise _WrongError(why)


class _Catalog:
    """All objects that a statement meets, by name and by id."""

    def __init__(self, objects: list[SchemaObject]) -> None:
        self.by_id = {one.id: one for one in objects}
        self.zones = {one.name: one for one in objects if isinstance(one, Zone)}
        self.relations = {one.name: one for one in objects if not isinstance(one, Zone)}
        self.owners = {
            index.name: one for one in objects if isinstance(one, Table) for index in one.indexes
        }

    def names(self) -> dict[int, str]:
        """The names of tables and views by id."""
        return {one.id: one.name for one in self.relations.values()}

    def shape(self, found: SchemaObject) -> Shape:
        """What an object looks like now."""
        known = {one.id for one in found.columns} if isinstance(found, Table) else set()
        return _shape(found, self.names(), known)

    def after(self, statement: Statement) -> dict[int, Shape | None]:
        """What is due of each object that a statement changes, by id; `NEW` for a new one."""
        match statement:
            case CreateTable():
                self._is_free(statement.name)
                return {NEW: self._new_table(statement)}
            case CreateView(name=name, tables=tables):
                self._is_free(name)
                for each in tables:
                    _must(each in self.relations, f"there is no {each!r}")
                read_by = tuple(dict.fromkeys(tables))
                return {NEW: Shape("view", name, more=(statement.sql, read_by))}
            case DropTable(name=name) | DropView(name=name):
                found = self._relation(name, Table if isinstance(statement, DropTable) else View)
                for other in self.relations.values():
                    reads = isinstance(other, View) and found.id in other.tables
                    _must(not reads, f"{other.name!r} reads {name!r}")
                return {found.id: None}
            case RenameTable(name=name, new_name=new) | RenameView(name=name, new_name=new):
                kind = Table if isinstance(statement, RenameTable) else View
                found = self._relation(name, kind)
                self._is_free(new)
                return {found.id: self.shape(found)._replace(name=new)}
            case CreateIndex() | DropIndex():
                return self._index(statement)
            case AlterTable(name=name, actions=actions):
                found = self._relation(name, Table)
                shape = self.shape(found)
                for action in actions:
                    shape = _acted(shape, action)
                return {found.id: shape}
            case _:
                return self._zone(statement)

    def as_it_is(self, update: UpdateLogged) -> dict[int, Shape | None]:
        """What an update is to leave that changes nothing which a user names."""
        found = {one.object_id: self.by_id.get(one.object_id) for one in update.objects}
        return {id_: None if one is None else self.shape(one) for id_, one in found.items()}

    def _is_free(self, name: str) -> None:
        _must(name not in self.relations, f"there was a {name!r} already")

    def _relation(self, name: str, kind: type) -> Table | View:
        found = self.relations.get(name)
        if found is None or not isinstance(found, kind):
            raise _WrongError(f"there was no {kind.__name__.lower()} {name!r}")
        return found

    def _new_table(self, statement: CreateTable) -> Shape:
        default = next((one for one in self.zones.values() if one.is_default), None)
        zone = default if statement.zone is None else self.zones.get(statement.zone)
        _must(
            zone is not None or statement.zone in (None, "default"),
            f"there was no zone {statement.zone!r}",
        )
        key = statement.key or (HIDDEN_KEY,)
        columns = [_column(spec, is_key=spec.name in key) for spec in statement.columns]
        names = [one.name for one in columns]
        _must(len(names) == len(set(names)), "two columns have one name")
        _must(not statement.key or set(key) <= set(names), "a column of the key is missing")
        types = {one.name: one.type for one in columns}
        constraints = tuple(_constraint(one, types) for one in statement.constraints)
        place = "default" if zone is None else zone.place
        shape = Shape("table", statement.name, tuple(columns), key, (), constraints, place)
        return shape if statement.key else _without_hidden(shape)

    def _index(self, statement: CreateIndex | DropIndex) -> dict[int, Shape | None]:
        if isinstance(statement, DropIndex):
            _must(statement.name in self.owners, f"there was no index {statement.name!r}")
            shape = self.shape(self.owners[statement.name])
            left = tuple(one for one in shape.indexes if one.name != statement.name)
            return {self.owners[statement.name].id: shape._replace(indexes=left)}
        _must(statement.name not in self.owners, f"there was an index {statement.name!r}")
        owner = self._relation(statement.table, Table)
        shape = self.shape(owner)
        names = [one.name for one in shape.columns]
        _must(set(statement.columns) <= set(names), "a column of the index is missing")
        index = IndexShape(statement.name, statement.columns, statement.unique)
        return {owner.id: shape._replace(indexes=(*shape.indexes, index))}

    def _zone(self, statement: Statement) -> dict[int, Shape | None]:
        zone = self.zones.get(statement.name)
        match statement:
            case CreateZone(name=name):
                _must(zone is None and name != "default", f"there was a zone {name!r} already")
                asked = (statement.partitions, statement.replicas)
                given = tuple(
                    due if one is None else one for one, due in zip(asked, (25, 1), strict=True)
                )
                return {NEW: Shape("zone", name, more=(*given, False))}
            case AlterZone(default=True):
                before = next((one for one in self.zones.values() if one.is_default), None)
                changed = [(before, False), (zone, True)]
                return {
                    one.id: self.shape(one)._replace(more=(one.partitions, one.replicas, is_so))
                    for one, is_so in changed
                    if one is not None
                }
        if zone is None:
            raise _WrongError(f"there was no zone {statement.name!r}")
        shape = self.shape(zone)
        match statement:
            case AlterZone():
                _must(
                    statement.partitions in (None, zone.partitions), "partition counts never change"
                )
                numbers = (zone.partitions, statement.replicas, zone.is_default)
                return {zone.id: shape._replace(more=numbers)}
            case RenameZone(new_name=new):
                _must(new not in self.zones and new != "default", f"there was a zone {new!r}")
                return {zone.id: shape._replace(name=new)}
            case DropZone():
                full = [
                    one.name
                    for one in self.relations.values()
                    if isinstance(one, Table) and one.zone == zone.place
                ]
                _must(not full and not zone.is_default, f"zone {zone.name!r} was in use")
                return {zone.id: None}
        raise AssertionError(f"no statement: {statement}")


# --- shapes ---------------------------------------------------------------------------------------


def _shape(found: SchemaObject, names: dict[int, str], known: set[int]) -> Shape:
    """An object as its users see it; columns that were not there before have the id `NEW`."""
    if isinstance(found, Zone):
        return Shape("zone", found.name, more=(found.partitions, found.replicas, found.is_default))
    if isinstance(found, View):
        read_by = tuple(names.get(one, "") for one in found.tables)
        return Shape("view", found.name, more=(found.sql, read_by))
    called = {one.id: one.name for one in found.columns}
    shape = Shape(
        "table",
        found.name,
        tuple(replace(one, id=one.id if one.id in known else NEW) for one in found.columns),
        tuple(called.get(one, "") for one in found.key),
        tuple(
            IndexShape(one.name, tuple(called.get(each, "") for each in one.columns), one.unique)
            for one in found.indexes
        ),
        tuple(
            ConstraintShape(
                *(one.name, one.kind, one.text),
                tuple(called.get(each, "") for each in one.columns),
                one.condition,
            )
            for one in found.constraints
        ),
        found.zone,
    )
    return shape if known or HIDDEN_KEY not in shape.key else _without_hidden(shape)


def _without_hidden(shape: Shape) -> Shape:
    """A new table without the key column that its statement does not mention."""
    return shape._replace(columns=tuple(one for one in shape.columns if one.name != HIDDEN_KEY))


def _by_meaning(shape: Shape | None) -> Shape | None:
    """A shape with the defaults of columns by what they mean in their types."""
    if shape is None:
        return None
    columns = tuple(
        replace(
            one,
            default=repr(read(one.default, one.type)),
            initial_default=repr(read(one.initial_default, one.type)),
        )
        for one in shape.columns
    )
    return shape._replace(columns=columns)


def _column(spec: ColumnSpec, *, is_key: bool) -> Column:
    nullable, default = spec.nullable and not is_key, _written(spec.default, spec.type)
    return Column(NEW, spec.name, spec.type, nullable, default, default)


def _written(default: Value, type_: ColumnType) -> Value:
    """A default as its column keeps it when retyped.

    A DECIMAL has all digits of its scale, and 2 is 2.0 as a REAL or DOUBLE.
    """
    datum = read(default, type_)
    if datum is not None and datum.kind == "real" and isinstance(default, int):
        return float(default)
    return default if datum is None or datum.kind != "decimal" else str(datum.content)


# --- actions of ALTER TABLE -----------------------------------------------------------------------


def _acted(shape: Shape, action: Action) -> Shape:
    """A table after one action of ALTER TABLE."""
    columns = {one.name: one for one in shape.columns}
    match action:
        case AddColumn(column=spec):
            if spec.name in columns:
                _must(action.if_not_exists, f"there was a column {spec.name!r} already")
                return shape
            return shape._replace(columns=(*shape.columns, _column(spec, is_key=False)))
        case AddConstraint(constraint=spec):
            read = {one.removeprefix(f"{shape.name}.") for one in spec.reads}
            _must({*spec.columns} | read <= {*columns}, "a column of the constraint is missing")
            taken = [one.name for one in shape.constraints if one.name]
            _must(spec.name not in taken, f"there was a constraint {spec.name!r} already")
            types = {one.name: one.type for one in shape.columns}
            return shape._replace(constraints=(*shape.constraints, _constraint(spec, types)))
        case DropConstraint(name=name):
            kept = tuple(one for one in shape.constraints if one.name != name)
            is_there = len(kept) < len(shape.constraints) or action.if_exists
            _must(is_there, f"there was no constraint {name!r}")
            return shape._replace(constraints=kept)
    before = columns.get(action.name)
    if before is None:
        excused = isinstance(action, DropColumn) and action.if_exists
        _must(excused, f"there was no column {action.name!r}")
        return shape
    match action:
        case DropColumn(name=name):
            _must(name not in shape.key, f"column {name!r} is of the key")
            covered = any(name in one.columns for one in shape.indexes)
            _must(not covered, f"column {name!r} is of an index")
            left = tuple(one for one in shape.columns if one is not before)
            kept = tuple(one for one in shape.constraints if name not in one.columns)
            return shape._replace(columns=left, constraints=kept)
        case RenameColumn(name=name, new_name=new):
            _must(new not in columns, f"there was a column {new!r} already")
            return _renamed(shape, name, new)
        case AlterColumn():
            return _altered(shape, before, action)
    raise AssertionError(f"no action: {action}")


def _constraint(spec: ConstraintSpec, types: dict[str, ColumnType]) -> ConstraintShape:
    """A constraint of a table; a CHECK of a column that is never compared stays a text."""
    given = (spec.name, spec.kind, spec.text)
    if spec.condition is None:
        return ConstraintShape(*given, spec.columns)
    if any(domain(types[one]).kind not in COMPARED for one in spec.columns):
        return ConstraintShape(*given, ())
    return ConstraintShape(*given, spec.columns, spec.condition)


def _renamed(shape: Shape, old: str, new: str) -> Shape:
    """A table with another name for a column, wherever the column is."""

    def names(of: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if one == old else one for one in of)

    return shape._replace(
        columns=tuple(replace(one, name=new) if one.name == old else one for one in shape.columns),
        key=names(shape.key),
        indexes=tuple(one._replace(columns=names(one.columns)) for one in shape.indexes),
        constraints=tuple(one._replace(columns=names(one.columns)) for one in shape.constraints),
    )


def _altered(shape: Shape, before: Column, action: AlterColumn) -> Shape:
    """A table with another type, nullability or default of a column [110.mixed]."""
    type_ = action.type or before.type
    nullable = before.nullable if action.nullable is None else action.nullable
    in_key = before.name in shape.key
    _must(not in_key or (type_ == before.type and not nullable), f"{before.name!r} is of the key")
    default = _written(action.default, type_) if action.sets_default else before.default
    after = replace(before, type=type_, nullable=nullable, default=default)
    columns = tuple(after if one is before else one for one in shape.columns)
    return shape._replace(columns=columns)
