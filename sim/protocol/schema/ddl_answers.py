"""The results of building a statement, and the steps that all statements share.

Results are values, never exceptions: a refusal is as ordinary as a change, and its client waits for
the same acknowledgement [98.flow.4].
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from ddlsim.model.ddl import ObjectChange, ObjectCreated, ObjectDropped, SimpleChange
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.model.schema import Alias, Column, SchemaObject, Table, View, Zone
from ddlsim.protocol.schema.catalog import Snapshot

Part = TypeVar("Part", Table, View, Zone, Table | View, Column)


class NoOp(NamedTuple):
    """There is nothing to do."""

    reason: str


class Refused(NamedTuple):
    """The statement is not allowed on the present schema."""

    reason: Reason
    message: str


class Decision(Record, frozen=True):
    """The outcome of a statement; `reason` None means it is in effect, or was already."""

    reason: Reason | None
    message: str = ""


def evolve(part: Part, **fields: object) -> Part:
    """A copy of a record with other values in some fields."""
    return replace(part, **fields)


def refuse(message: str) -> Refused:
    """A refusal: the statement is undefined for the schema or the rows that exist."""
    return Refused(Reason.DDL_REFUSED, message)


def exists(what: str, name: str) -> Refused:
    """A refusal: the name is taken."""
    return Refused(Reason.OBJECT_EXISTS, f"{what} {name!r} exists already")


def taken(found: Table | View, snapshot: Snapshot) -> Refused:
    """A refusal: the name is taken, or reserved since a rename [110.later.3]."""
    if not isinstance(found, Alias):
        return exists(kind_of(found), found.name)
    now = snapshot.by_id(found.tables[0])
    what = "a table or view" if now is None else f"{kind_of(now)} {now.name!r}"
    message = f"{found.name!r} is reserved: it is the old name of {what}, until that name ends"
    return Refused(Reason.OBJECT_EXISTS, message)


def missing(what: str, name: str, *, if_exists: bool) -> NoOp | Refused:
    """The object does not exist."""
    message = f"there is no {what} {name!r}"
    return NoOp(message) if if_exists else Refused(Reason.OBJECT_NOT_FOUND, message)


def no_such_column(table: str, column: str) -> Refused:
    """The column does not exist."""
    return Refused(Reason.OBJECT_NOT_FOUND, f"table {table!r} has no column {column!r}")


def repeated(names: Iterable[str]) -> str | None:
    """The first name that is repeated."""
    seen: dict[str, None] = {}
    for name in names:
        if name in seen:
            return name
        seen[name] = None
    return None


def kind_of(found: SchemaObject) -> str:
    """The word for an object in changes and messages."""
    return {Table: "table", View: "view", Alias: "alias", Zone: "zone"}[type(found)]


def created(found: SchemaObject) -> ObjectChange:
    """The first step of an object."""
    return ObjectChange(found.id, kind_of(found), found.name, 1, found, (ObjectCreated(),))


def changed(new: SchemaObject, changes: tuple[SimpleChange, ...]) -> ObjectChange:
    """A later step of an object."""
    assert changes, f"{new.name} has a new version and no change"
    assert new.version > 1, f"{new.name} is changed before it is created"
    return ObjectChange(new.id, kind_of(new), new.name, new.version, new, changes)


def dropped(found: SchemaObject) -> ObjectChange:
    """The last step of an object."""
    version = found.version + 1
    return ObjectChange(found.id, kind_of(found), found.name, version, None, (ObjectDropped(),))


def name_taken(name: str, snapshot: Snapshot, *, if_not_exists: bool) -> NoOp | Refused | None:
    """What a CREATE of a table or view answers where the name is taken, else None.

    IF NOT EXISTS is no help with a reserved name: soon there would be nothing of that name.
    """
    found = snapshot.by_name(name)
    if found is None:
        return None
    refused = taken(found, snapshot)
    return NoOp(refused.message) if if_not_exists and type(found) is not Alias else refused


def the_table(name: str, snapshot: Snapshot, *, if_exists: bool) -> Table | NoOp | Refused:
    """The table that a statement is about."""
    found = snapshot.meant(name)
    if isinstance(found, View):
        return refuse(f"{name!r} is a view, not a table")
    return found or missing("table", name, if_exists=if_exists)


def the_view(name: str, snapshot: Snapshot, *, if_exists: bool) -> View | NoOp | Refused:
    """The view that a statement is about."""
    found = snapshot.meant(name)
    if isinstance(found, Table):
        return refuse(f"{name!r} is a table, not a view")
    return found or missing("view", name, if_exists=if_exists)


def read_by_view(found: Table | View, snapshot: Snapshot) -> Refused | None:
    """Why a table or view cannot be dropped yet, else None."""
    for view in snapshot.objects():
        if type(view) is View and found.id in view.tables:
            return refuse(f"view {view.name!r} reads {kind_of(found)} {found.name!r}")
    return None
