"""The schema as keys of the store, and as a process has read it.

A DDL transaction appends one `Update` to a log of them and writes its number to the head. The
initial schema is no key: every process is booted with it, and a store without a head has that one.
Which of the updates a transaction uses, and how it learns of them, is its design's affair.
"""

from collections.abc import Container

from ddlsim.history.events import UpdateLogged
from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ObjectChange,
    ObjectCreated,
)
from ddlsim.model.records import Record
from ddlsim.model.schema import SchemaObject
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.units import Micros, Timestamp

COLUMNS = (ObjectCreated, ColumnAdded, ColumnAltered, ColumnDropped, ColumnRenamed)
"""Changes after which rows are encoded in another way, or mean something else."""


class Update(Record, frozen=True):
    """One schema update: the statement `op`, the commit version, and since when it is in force.

    `command` is unique to a step of a statement; `node` is the process that ran it.
    """

    number: int
    node: str
    op: str | None
    command: str
    version: int
    activation: int
    objects: tuple[ObjectChange, ...]


class Schema:
    """Every update up to one number; immutable."""

    def __init__(self, updates: tuple[Update, ...], upon: "Schema | None" = None) -> None:
        """These updates, behind those of another schema if there is one."""
        self.updates: tuple[Update, ...] = updates if upon is None else upon.updates + updates
        self.catalog: Catalog = Catalog() if upon is None else upon.catalog.copied()
        self._formats: dict[tuple[int, int], int] = {}
        for one in updates:
            self.catalog.apply(
                one.number, Timestamp(one.version), Timestamp(one.activation), one.objects
            )

    @property
    def number(self) -> int:
        """The number of its newest update; 0: none."""
        return self.updates[-1].number if self.updates else 0

    @property
    def newest(self) -> Update | None:
        """Its newest update."""
        return self.updates[-1] if self.updates else None

    def extended(self, updates: tuple[Update, ...]) -> "Schema":
        """This schema and further updates."""
        return Schema(updates, upon=self) if updates else self

    def until(self, number: int) -> "Schema":
        """The updates up to a number."""
        if number >= self.number:
            return self
        return Schema(tuple(one for one in self.updates if one.number <= number))

    def same_until(self, number: int, objects: Container[int]) -> int:
        """The last update up to which none of these objects changes behind that of a number."""
        for update in self.updates:
            if update.number > number and any(one.object_id in objects for one in update.objects):
                return update.number - 1
        return self.number

    def latest(self) -> Snapshot:
        """All objects after its newest update, in force or not."""
        return self.catalog.latest()

    def at(self, version: int) -> Snapshot:
        """All objects in force at a version of the store."""
        return self.catalog.at(Timestamp(version))

    def definition(self, object_id: int, version: int) -> SchemaObject | None:
        """An object at one of its versions; None where it is gone, or not known here."""
        return self.catalog.definition(object_id, version)

    def format_of(self, object_id: int, version: int) -> int:
        """The newest version of an object up to this one that changed its columns."""
        key = object_id, version
        if key not in self._formats:
            found = 0
            for update in self.updates:
                for change in update.objects:
                    if change.object_id == object_id and change.version <= version:
                        found = change.version if _of_columns(change) else found
            self._formats[key] = found
        return self._formats[key]


def _of_columns(change: ObjectChange) -> bool:
    return any(isinstance(one, COLUMNS) for one in change.changes)


class Used(Record, frozen=True):
    """What a transaction uses: the schema as it was read, and the objects in force for it."""

    schema: Schema
    snapshot: Snapshot


class Cached(Record, frozen=True):
    """A schema that a process keeps from transaction to transaction.

    `tag` is what the design compares to find out whether it is current; `version` the read version
    at which it was read, `read_ms` the process's own clock before that. `record` is (number before,
    number after, in force since), of designs that keep one.
    """

    schema: Schema
    tag: object
    version: int
    read_ms: int
    record: tuple[int, int, int] | None = None


def logged(
    update: Update, node: str, at_us: Micros, stamped: tuple[Timestamp, Timestamp]
) -> object:
    """The event of an update; `stamped` are its commit version and when it is in force."""
    return UpdateLogged(
        at_us,
        node,
        update.op,
        update.number,
        update.number,
        stamped[0],
        stamped[1],
        0,
        update.objects,
        update.number - 1,
    )
