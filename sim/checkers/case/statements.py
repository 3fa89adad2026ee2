"""DDL statements as reads of the catalog: what each named, and what those names meant to it.

The answer to a statement that was refused, or had nothing to do, shows what the catalog holds: it
has read what it named, present or not, at the catalog version that it rests on [98.x.8]. One that
was installed has read the same in the version that it was built on. A *meaning* of a name is an
object at one of its versions, or nothing; it changes with the updates of the log, so a name is one
more item with versions.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.checkers.case.case import Case, Ddl
from ddlsim.history.events import DdlDecided, Failed, Ok, UpdateLogged
from ddlsim.model.ddl import (
    AlterZone,
    CreateIndex,
    CreateTable,
    CreateView,
    CreateZone,
    DropIndex,
    DropZone,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.model.schema import SchemaObject, Table, Zone


class Name(NamedTuple):
    """A name in its space: tables and views share one, zones and indexes have theirs."""

    space: str
    name: str

    def __str__(self) -> str:
        return f"{self.space} {self.name}"


class Meaning(NamedTuple):
    """From a catalog version on a name stood for this version of an object; 0 for none."""

    catalog_version: int
    object_id: int
    version: int


def named_by(statement: Statement) -> tuple[Name, ...]:
    """Every name that a statement's outcome depends on, as it stands in it."""
    match statement:
        case CreateTable(name=name, zone=zone):
            zones = () if zone is None else (Name("zone", zone),)
            return (Name("table", name), *zones)
        case RenameTable(name=name, new_name=new) | RenameView(name=name, new_name=new):
            return (Name("table", name), Name("table", new))
        case CreateIndex(name=name, table=table):
            return (Name("index", name), Name("table", table))
        case DropIndex(name=name):
            return (Name("index", name),)
        case CreateView(name=name, tables=tables):
            return tuple(dict.fromkeys(Name("table", each) for each in (name, *tables)))
        case RenameZone(name=name, new_name=new):
            return (Name("zone", name), Name("zone", new))
        case CreateZone(name=name) | AlterZone(name=name) | DropZone(name=name):
            return (Name("zone", name),)
    return (Name("table", statement.name),)


class Meanings:
    """What every name meant at every catalog version, from the log alone."""

    def __init__(self, updates: list[tuple[int, UpdateLogged]]) -> None:
        self._of: dict[Name, list[Meaning]] = {}
        current: dict[int, SchemaObject] = {}
        seen: dict[int, None] = {}
        for _, update in sorted(updates, key=lambda placed: placed[1].catalog_version):
            if update.catalog_version not in seen:
                seen[update.catalog_version] = None
                self._take(update, current)

    def _take(self, update: UpdateLogged, current: dict[int, SchemaObject]) -> None:
        before, after = {}, {}
        for change in update.objects:
            old = current.pop(change.object_id, None)
            before.update({} if old is None else _names(old))
            if change.definition is not None:
                current[change.object_id] = change.definition
                after.update(_names(change.definition))
        for name in before.keys() | after.keys():
            meant = after.get(name, (0, 0))
            if before.get(name, (0, 0)) != meant:
                self._of.setdefault(name, []).append(Meaning(update.catalog_version, *meant))

    def all(self, name: Name) -> list[Meaning]:
        """What a name has meant, in the order of the log; before the first it meant nothing."""
        return self._of.get(name, [])

    def place(self, name: Name, catalog_version: int) -> int:
        """How many of its meanings a name had by a catalog version."""
        versions = [each.catalog_version for each in self.all(name)]
        return bisect_right(versions, catalog_version)

    def at(self, name: Name, catalog_version: int) -> Meaning:
        """What a name meant at a catalog version."""
        place = self.place(name, catalog_version)
        return self.all(name)[place - 1] if place else Meaning(0, 0, 0)


def _names(found: SchemaObject) -> dict[Name, tuple[int, int]]:
    """What an object's definition gives names to."""
    if isinstance(found, Zone):
        return {Name("zone", found.name): (found.id, found.version)}
    names = {Name("table", found.name): (found.id, found.version)}
    if isinstance(found, Table):  # an index stays what it is whatever else its table goes through
        names.update({Name("index", index.name): (index.id, 1) for index in found.indexes})
    return names


def meanings_of(case: Case) -> Meanings:
    """The meanings of a case's names."""
    return case.once(_meanings)


def _meanings(case: Case) -> Meanings:
    return Meanings(case.schemas.updates)


class Answered(NamedTuple):
    """A statement that left no update and was answered."""

    label: str
    ddl: Ddl
    decided: DdlDecided
    names: tuple[Name, ...]


def answered(case: Case) -> Iterator[Answered]:
    """The statements that were refused or changed nothing, and were answered so."""
    for name, ddl in case.ddls.items():
        decided = ddl.decided
        if ddl.logged is not None or decided is None or decided.statement is None:
            continue
        if decided.outcome in _WORDS and isinstance(ddl.operation.ended, Ok | Failed):
            label = f"{name} ({_WORDS[decided.outcome]})"
            yield Answered(label, ddl, decided, named_by(decided.statement))


def built(case: Case, update: UpdateLogged) -> tuple[Name, ...]:
    """The names that an update's statement had read at the version that it was built on."""
    ddl = None if update.op is None else case.ddls.get(update.op)
    if update.built_on is None or ddl is None or ddl.decided is None:
        return ()
    statement = ddl.decided.statement
    return () if statement is None else named_by(statement)


_WORDS = {"noop": "no-op", "refused": "refused"}
