"""The complete log of schema updates, as the judges read it: the truth about every version.

Every object's versions with their activation timestamps, taken from the `UpdateLogged` events
alone, whatever any node believed. Version v is effective on [Tu, Tu') [98.def.1]: both at Top = Tu
and at commit_ts = Tu the new version counts already.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from ddlsim.history.events import UpdateLogged
from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import SimpleChange
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import SchemaObject, Table


class SchemaVersion(NamedTuple):
    """One version of one top-level object; `definition` is None once it is dropped."""

    object_id: int
    kind: str
    name: str
    version: int
    activation_ts: int
    catalog_version: int
    definition: SchemaObject | None
    changes: tuple[SimpleChange, ...]
    op: str | None
    position: int


OBJECT: Final = re.compile(r"\bobject (\d+)\b")


def _number(one: SchemaVersion) -> int:
    return one.version


def _made_in(one: SchemaVersion) -> int:
    return one.catalog_version


class SchemaLog:
    """Every version of every object, looked up by version, by time and by name."""

    def __init__(self, logged: list[tuple[int, UpdateLogged]]) -> None:
        self.updates = logged
        self._versions: dict[int, list[SchemaVersion]] = {}
        self._by_number: dict[tuple[int, int], SchemaVersion] = {}
        self._named: dict[str, dict[int, None]] = {}
        self._catalog: dict[int, UpdateLogged] = {}
        for position, update in logged:
            self._catalog.setdefault(update.catalog_version, update)
            self._add(position, update)
        for versions in self._versions.values():
            versions.sort(key=lambda one: one.version)
        self._timeline = {
            object_id: sorted(versions, key=lambda one: (one.activation_ts, one.version))
            for object_id, versions in self._versions.items()
        }
        self._starts = {
            object_id: [one.activation_ts for one in versions]
            for object_id, versions in self._timeline.items()
        }

    def _add(self, position: int, update: UpdateLogged) -> None:
        for change in update.objects:
            one = SchemaVersion(
                change.object_id,
                change.kind,
                change.name if change.definition is None else change.definition.name,
                change.version,
                update.activation_ts,
                update.catalog_version,
                change.definition,
                change.changes,
                update.op,
                position,
            )
            if self._by_number.setdefault((one.object_id, one.version), one) is one:
                self._versions.setdefault(one.object_id, []).append(one)
            self._named.setdefault(one.name, {})[one.object_id] = None

    def effective(self, object_id: int, ts: int) -> SchemaVersion | None:
        """The version with the largest activation_ts <= ts; of equal ones the later version."""
        starts = self._starts.get(object_id)
        if starts is None:
            return None
        at = bisect_right(starts, ts)
        return self._timeline[object_id][at - 1] if at else None

    def existing(self, object_id: int, ts: int) -> SchemaVersion | None:
        """The same, and None where the object is dropped by then."""
        found = self.effective(object_id, ts)
        return None if found is None or found.definition is None else found

    def is_in_force_again(self, one: SchemaVersion, ts: int) -> bool:
        """Whether a version is in force at a timestamp after the one that ended it was."""
        ended = self.after(one.object_id, one.version)
        is_in_force = self.effective(one.object_id, ts) == one
        return is_in_force and ended is not None and ended.activation_ts <= ts

    def is_in_force_early(self, one: SchemaVersion, ts: int) -> bool:
        """Whether a version is in force before its activation: a later update activated earlier.

        Each version of the catalog is the whole of it: what comes later holds what came before.
        """
        if one.activation_ts <= ts:
            return False
        at = bisect_right(self._activations, (ts, max(self._catalog)))
        in_force = self._activations[at - 1][1] if at else 0
        ended = self.after(one.object_id, one.version)
        is_ended = ended is not None and ended.catalog_version <= in_force
        return one.catalog_version <= in_force and not is_ended

    @cached_property
    def _activations(self) -> list[tuple[int, int]]:
        """When each version of the whole catalog activates."""
        return sorted((one.activation_ts, one.catalog_version) for one in self._catalog.values())

    def version(self, object_id: int, version: int) -> SchemaVersion | None:
        """One version by its number."""
        return self._by_number.get((object_id, version))

    def update(self, catalog_version: int) -> UpdateLogged:
        """The update that made a version of the catalog."""
        return self._catalog[catalog_version]

    def held(self, object_id: int, catalog_version: int) -> SchemaVersion | None:
        """The version of an object in a version of the catalog; None if it was made later."""
        versions = self._versions.get(object_id, [])
        at = bisect_right(versions, catalog_version, key=_made_in)
        return versions[at - 1] if at else None

    def definition(self, object_id: int, version: int) -> SchemaObject | None:
        """What an object was at one of its versions."""
        found = self._by_number.get((object_id, version))
        return None if found is None else found.definition

    def after(self, object_id: int, version: int) -> SchemaVersion | None:
        """The version that ended this one: the next by number, which is the order of the log."""
        versions = self._versions.get(object_id)
        if versions is None:
            return None
        at = bisect_right(versions, version, key=_number)
        return versions[at] if at < len(versions) else None

    def steps(self, object_id: int, after: int, upto: int) -> list[SchemaVersion]:
        """The steps that lead from version `after` to version `upto`, in order."""
        if after >= upto:
            return []
        return [one for one in self._versions.get(object_id, ()) if after < one.version <= upto]

    def all_steps(self) -> Iterator[SchemaVersion]:
        """Every version of every object, each object's in order."""
        for versions in self._versions.values():
            yield from versions

    def pending(self, object_id: int, version: int) -> dict[int, int]:
        """The columns that are pending at a version, each with the version since which it is."""
        found: dict[int, int] = {}
        for step in self.steps(object_id, 0, version):
            for change in step.changes:
                if isinstance(change, ColumnPending):
                    found[change.column.id] = step.version
                elif isinstance(change, ColumnConfirmed):
                    found.pop(change.column.id, None)
        return found

    def steps_at(self, object_id: int, after: int, ts: int | None) -> list[SchemaVersion]:
        """The steps that have been taken by a timestamp, or ever, and the ends of names on the way,
        by their activation.

        A transaction that used an object before a rename used its old name, so the end of that name
        concerns it too [110.later.3].
        """
        target = self.newest(object_id) if ts is None else self.effective(object_id, ts)
        taken = [] if target is None else self.steps(object_id, after, target.version)
        for step in list(taken):
            for change in step.changes:
                if isinstance(change, ObjectAliased):
                    taken += self.steps_at(change.alias_id, 1, ts)
        return sorted(taken, key=lambda step: step.activation_ts)

    def is_way(self, object_id: int) -> bool:
        """Whether an object holds no rows and leads to one that does: a view, an alias."""
        newest = self.newest(object_id)
        return newest is not None and newest.kind in ("view", "alias")

    def newest(self, object_id: int) -> SchemaVersion | None:
        """The last version that was ever logged of an object."""
        versions = self._versions.get(object_id)
        return versions[-1] if versions else None

    def relations(self, name: str, ts: int) -> list[SchemaVersion]:
        """The tables, views and aliases of this name at a timestamp: one, or none."""
        found = [self.existing(object_id, ts) for object_id in self._named.get(name, ())]
        return [one for one in found if one is not None and one.name == name and one.kind != "zone"]

    def is_name(self, name: str) -> bool:
        """Whether any object bears a name at any time."""
        return name in self._named

    @cached_property
    def shared_names(self) -> dict[str, None]:
        """The names that several objects bore at once: from the activation of some version on."""
        return {
            name: None
            for name, objects in self._named.items()
            if len(objects) > 1
            and any(
                len(self.relations(name, ts)) > 1
                for object_id in objects
                for ts in self._starts[object_id]
            )
        }

    def catalog(self, catalog_version: int) -> UpdateLogged | None:
        """The update that made a version of the whole catalog."""
        return self._catalog.get(catalog_version)

    def logged(self, step: SchemaVersion | None) -> tuple[UpdateLogged, ...]:
        """The update that made a version of an object, as part of a witness."""
        found = None if step is None else self._catalog.get(step.catalog_version)
        return () if found is None else (found,)

    def describe(self, object_id: int, version: int) -> str:
        """An object at a version, for people: `version 2 of t`."""
        return f"version {version} of {self.name(object_id, version)}"

    def name(self, object_id: int, version: int | None = None) -> str:
        """An object's name at a version, or its newest one."""
        one = None if version is None else self.version(object_id, version)
        one = one or self.newest(object_id)
        return f"object {object_id}" if one is None else one.name

    def name_by(self, object_id: int, at_us: int) -> str:
        """An object's name in the newest update that was in the log by an instant."""
        return self.name(object_id, max(self.versions_by(object_id, at_us), default=None))

    def versions_by(self, object_id: int, at_us: int) -> list[int]:
        """The versions of an object that were in the log by an instant, in its order."""
        return [
            one.version
            for one in self._versions.get(object_id, ())
            if self._catalog[one.catalog_version].at_us <= at_us
        ]

    def group(self, group: str, at_us: int | None = None) -> str:
        """A partition's group by its table's name, `t/0`; the meta storage's is `meta`.

        The name is the table's newest one, or that of an instant.
        """
        number, slash, partition = group.partition("/")
        if not slash or not number.isdigit():
            return group
        table = int(number)
        name = self.name(table) if at_us is None else self.name_by(table, at_us)
        return f"{name}/{partition}"

    def in_names(self, text: str) -> str:
        """A text of a run with the newest names of objects in the place of their numbers."""
        return OBJECT.sub(lambda found: self.name(int(found[1])), text)

    def columns(self, object_id: int, version: int) -> dict[int, str]:
        """The names of a table's columns at a version, by their ids."""
        table = self.definition(object_id, version)
        return {one.id: one.name for one in table.columns} if isinstance(table, Table) else {}
