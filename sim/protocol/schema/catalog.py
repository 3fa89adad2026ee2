"""The catalog: every schema update that a node has applied, by activation time.

IEP-98: *a schema update U says that since the moment Tu object Q has schema S* [98.def.1]. A
catalog therefore answers one question, *which schemas are in force at this timestamp?*, and the
answer is a whole `Snapshot`: every table, view and zone as of one catalog version.

    catalog versions      1            2                     3
    reference time   -----|------------|---------------------|------------->
                          Tu1          Tu2                   Tu3
    at(ts)         empty  [ snapshot 1 )[     snapshot 2     )[ snapshot 3

Version n is in force on the half-open interval [Tu_n, Tu_n+1): closed on the left, so a transaction
that commits at Tu exactly already uses the new schema; before the first one there is nothing.

Three things here are easily got wrong:

* *Applied* is not *in force*. `latest()` is the state after all applied updates, including those
  that activate only in the future. Statements are built against it; operations never look at it.
* Each version is the whole catalog, built upon the version before it. If the delay duration changes
  while the cluster runs, a later version may activate *before* an earlier one (IGNITE-20498). This
  catalog holds no opinion on that: `at` gives the entry with the largest activation timestamp not
  above `ts`, ties going to the later version, and that entry contains all earlier versions. That
  activations rise is the installer's duty, and the judges see when it fails.
* A row is upgraded, and a transaction judged, step by step [110.compat.steps]; so the catalog also
  keeps each object's changes in the order of its versions.

`at` runs about eight times in a simulated transaction: nothing is copied, and the interval that was
hit last is tried first.
"""

from bisect import bisect_left, bisect_right
from typing import Final

from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import ConstraintAdded, ObjectChange
from ddlsim.model.schema import Alias, SchemaObject, Table, View, Zone
from ddlsim.units import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp

FIRST_OBJECT_ID: Final = 1
"""Zero stands for *no such object* in histories."""


class Snapshot:
    """All objects as of one catalog version; immutable."""

    def __init__(self) -> None:
        self.version = 0
        self.message_ts = MIN_TIMESTAMP
        self.activation_ts = MIN_TIMESTAMP
        self.next_object_id = FIRST_OBJECT_ID
        self._by_id: dict[int, SchemaObject] = {}
        self._relations: dict[str, Table | View] = {}
        self._zones: dict[str, Zone] = {}
        self._index_owners: dict[str, Table] = {}

    def by_name(self, name: str) -> Table | View | None:
        """The table or view of this name; they share one name space."""
        return self._relations.get(name)

    def meant(self, name: str) -> Table | View | None:
        """The same, but what an old name stands for instead of the alias [110.later.3]."""
        found: SchemaObject | None = self._relations.get(name)
        if isinstance(found, Alias):
            found = self._by_id.get(found.tables[0])
        assert not isinstance(found, Zone), f"{name} is a zone"
        return found

    def by_id(self, object_id: int) -> SchemaObject | None:
        """The table, view or zone with this id."""
        return self._by_id.get(object_id)

    def zone(self, name: str) -> Zone | None:
        """The zone of this name; zones have a name space of their own."""
        return self._zones.get(name)

    def zones(self) -> tuple[Zone, ...]:
        """Every zone that some statement created."""
        return tuple(self._zones.values())

    def zone_of(self, table: Table) -> Zone | None:
        """The zone in which a table lies; None for the one that exists without being created."""
        return next((zone for zone in self._zones.values() if zone.place == table.zone), None)

    def default_zone(self) -> Zone | None:
        """The zone of tables that name none; None for the one that exists without being created."""
        return next((zone for zone in self._zones.values() if zone.is_default), None)

    def index_owner(self, name: str) -> Table | None:
        """The table that has the index of this name; index names are unique in the catalog."""
        return self._index_owners.get(name)

    def objects(self) -> tuple[SchemaObject, ...]:
        """Every object, in the order of the ids."""
        return tuple(self._by_id[object_id] for object_id in sorted(self._by_id))

    def tables(self) -> tuple[Table, ...]:
        """Every table, in the order of the ids."""
        return tuple(found for found in self.objects() if isinstance(found, Table))

    def after(
        self,
        version: int,
        message_ts: Timestamp,
        activation_ts: Timestamp,
        objects: tuple[ObjectChange, ...],
    ) -> "Snapshot":
        """This snapshot with one update upon it, as another snapshot."""
        new = Snapshot()
        new.version, new.message_ts, new.activation_ts = version, message_ts, activation_ts
        new._by_id = dict(self._by_id)
        new.next_object_id = self.next_object_id
        for change in objects:
            new.next_object_id = max(new.next_object_id, _largest_id(change) + 1)
            if change.definition is None:
                new._by_id.pop(change.object_id, None)
            else:
                new._by_id[change.object_id] = change.definition
        for found in new._by_id.values():
            if isinstance(found, Zone):
                new._zones[found.name] = found
                continue
            if isinstance(found, Alias) and found.name in new._relations:
                continue  # only where old names are not reserved
            new._relations[found.name] = found
            if isinstance(found, Table):
                new._index_owners.update((index.name, found) for index in found.indexes)
        return new


def _largest_id(change: ObjectChange) -> int:
    """The largest id that an update has given out: indexes and constraints have object ids too."""
    largest = change.object_id
    if isinstance(change.definition, Table):
        ids = [index.id for index in change.definition.indexes]
        ids += [constraint.id for constraint in change.definition.constraints]
        largest = max(largest, *ids) if ids else largest
    for step in change.changes:  # added and dropped again by one statement: in no definition
        if isinstance(step, ConstraintAdded):
            largest = max(largest, step.constraint.id)
    return largest


class Catalog:
    """A node's versions of all schemas by activation time."""

    def __init__(self) -> None:
        self._updates: dict[int, tuple[Timestamp, Timestamp, tuple[ObjectChange, ...]]] = {}
        self._nothing = Snapshot()
        self._forget()

    def _forget(self) -> None:
        """Start from nothing; the updates stay."""
        self.version = 0
        self._latest = self._hit = self._nothing
        self._starts: list[Timestamp] = []
        self._by_activation: list[Snapshot] = []
        self._snapshots: dict[int, Snapshot] = {}
        self._changes: dict[int, list[tuple[int, ObjectChange]]] = {}
        self._definitions: dict[tuple[int, int], SchemaObject | None] = {}
        self._hit_from, self._hit_until = MIN_TIMESTAMP, MAX_TIMESTAMP

    def copied(self) -> "Catalog":
        """The same catalog, to go on with apart."""
        new = Catalog()
        new._updates = dict(self._updates)
        new.version, new._latest = self.version, self._latest
        new._starts, new._by_activation = list(self._starts), list(self._by_activation)
        new._snapshots, new._definitions = dict(self._snapshots), dict(self._definitions)
        new._changes = {key: list(changes) for key, changes in self._changes.items()}
        new._hit_until = new._hit_from  # an empty interval: look again
        return new

    def apply(
        self,
        catalog_version: int,
        message_ts: Timestamp,
        activation_ts: Timestamp,
        objects: tuple[ObjectChange, ...],
    ) -> None:
        """Take one update; from now on the node sees it [98.def.2].

        They come in order and once, which a checker verifies (I12); an update that comes otherwise
        is inserted at its version.
        """
        self._updates[catalog_version] = (message_ts, activation_ts, objects)
        if catalog_version > self.version:
            self._append(catalog_version)
        else:  # only a broken learner: the versions above it are built anew upon it
            self._forget()
            for version in sorted(self._updates):
                self._append(version)

    def _append(self, version: int) -> None:
        """Build the next snapshot upon the latest one and file it by its activation."""
        message_ts, activation_ts, objects = self._updates[version]
        assert version > self.version, f"{version} comes behind {self.version}"
        snapshot = self._latest.after(version, message_ts, activation_ts, objects)
        place = bisect_right(self._starts, activation_ts)
        self._starts.insert(place, activation_ts)
        self._by_activation.insert(place, snapshot)
        for change in objects:
            self._changes.setdefault(change.object_id, []).append((version, change))
            self._definitions[change.object_id, change.version] = change.definition
        self._snapshots[version] = snapshot
        self._latest, self.version = snapshot, version
        self._hit_until = self._hit_from  # an empty interval: look again

    def at(self, ts: Timestamp) -> Snapshot:
        """The schemas in force at a timestamp [98.def.1]."""
        if self._hit_from <= ts < self._hit_until:
            return self._hit
        starts = self._starts
        place = bisect_right(starts, ts)
        assert len(starts) == len(self._by_activation), "a snapshot without its activation"
        self._hit = self._by_activation[place - 1] if place else self._nothing
        self._hit_from = starts[place - 1] if place else MIN_TIMESTAMP
        self._hit_until = starts[place] if place < len(starts) else MAX_TIMESTAMP
        return self._hit

    def latest(self) -> Snapshot:
        """The state after every applied update, in force or not yet."""
        return self._latest

    def version_snapshot(self, catalog_version: int) -> Snapshot:
        """All objects as of an applied catalog version."""
        return self._snapshots[catalog_version]

    def activation_of(self, catalog_version: int) -> Timestamp:
        """Tu of an applied version."""
        return self._updates[catalog_version][1]

    def activation_of_object(self, object_id: int, version: int) -> Timestamp:
        """Tu of the update that made this version of an object."""
        for catalog_version, change in self._changes.get(object_id, ()):
            if change.version == version:
                return self.activation_of(catalog_version)
        return MIN_TIMESTAMP

    def definition(self, object_id: int, version: int) -> SchemaObject | None:
        """An object at one of its versions; None where it was dropped, or is not applied here."""
        return self._definitions.get((object_id, version))

    def steps(self, object_id: int, after_version: int, ts: Timestamp) -> tuple[ObjectChange, ...]:
        """An object's changes past `after_version` that are in force at `ts` [110.compat.steps].

        A transaction that has used its name from before a rename is concerned by the end of that
        name as well.
        """
        snapshot = self.at(ts)
        found = snapshot.by_id(object_id)
        if found is not None and found.version <= after_version:
            return ()
        changes = self._changes.get(object_id, [])
        until = bisect_left(changes, snapshot.version + 1, key=_catalog_version)
        past = tuple(change for _, change in changes[:until] if change.version > after_version)
        return past + self._ends_of_names(past, ts)

    def _ends_of_names(
        self, steps: tuple[ObjectChange, ...], ts: Timestamp
    ) -> tuple[ObjectChange, ...]:
        """The ends, in force at `ts`, of the aliases that steps have left [110.later.3]."""
        ends: tuple[ObjectChange, ...] = ()
        for step in steps:
            for change in step.changes:
                if type(change) is ObjectAliased:
                    ends += self.steps(change.alias_id, 1, ts)
        return ends


def _catalog_version(entry: tuple[int, ObjectChange]) -> int:
    """The sort key of an object's changes."""
    return entry[0]
