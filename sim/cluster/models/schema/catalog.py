"""The model of a catalog: a list of updates, folded from the start whenever it changes.

[98.def.1] Version n is in force on [Tu, Tu'): at a timestamp the update with the largest activation
up to it, of several the latest, and all that came before that in the log.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from ddlsim.cluster.models.divergence import Models
from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import ObjectChange
from ddlsim.model.schema import Alias, SchemaObject, Zone
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.units import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp, show

Update = tuple[int, Timestamp, tuple[ObjectChange, ...]]
"""(catalog version, activation, changes)."""


class ModelledCatalog(Catalog):
    """A catalog that compares what it answers with its list of updates."""

    models: ClassVar[Models]

    def __init__(self) -> None:
        self._divergence = self.models.divergence("catalog")
        self.models.catalogs[self.models.starting] = self
        self._log: list[Update] = []
        self._versions: dict[int, dict[int, int]] = {0: {}}
        self._expected, self._from, self._until = 0, MAX_TIMESTAMP, MIN_TIMESTAMP
        super().__init__()

    def apply(
        self,
        catalog_version: int,
        message_ts: Timestamp,
        activation_ts: Timestamp,
        objects: tuple[ObjectChange, ...],
    ) -> None:
        super().apply(catalog_version, message_ts, activation_ts, objects)
        kept = [one for one in self._log if one[0] != catalog_version]
        self._log = sorted([*kept, (catalog_version, activation_ts, objects)], key=_version)
        self._from, self._until = MAX_TIMESTAMP, MIN_TIMESTAMP
        self._compare_latest()

    def _compare_latest(self) -> None:
        """Compare the newest version: all of its objects, their names, and each one's past."""
        compare, latest, expected = self._divergence.compare, self.latest(), self._folded()
        newest = self._log[-1][0]
        compare("the newest version", (self.version, latest.version), (newest, newest))
        compare("Tu of the newest version", latest.activation_ts, self._log[-1][1])
        objects = tuple(expected[one] for one in sorted(expected))
        compare(f"version {newest}", latest.objects(), objects)
        ids: list[int] = [0]
        for version, activation_ts, changes in self._log:
            compare(f"Tu of version {version}", self.activation_of(version), activation_ts)
            for change in changes:
                ids += _ids(change)
                known = self.definition(change.object_id, change.version)
                compare(f"{change.name} at {change.version}", known, change.definition)
                at_ts = self.activation_of_object(change.object_id, change.version)
                compare(f"Tu of {change.name} at {change.version}", at_ts, activation_ts)
        compare("the next id of an object", latest.next_object_id, max(ids) + 1)
        for one in objects:
            parts = [one.id, *(part.id for part in _parts(one))]
            compare(f"the ids in {one.name}", len({*parts}), len(parts))
        named = {
            one.name: one for one in objects if not isinstance(one, Zone) and type(one) is not Alias
        }
        for name, relation in named.items():
            compare(f"what {name} is", latest.by_name(name), relation)
        for zone in objects:
            if isinstance(zone, Zone):
                compare(f"what zone {zone.name} is", latest.zone(zone.name), zone)

    def _folded(self) -> dict[int, SchemaObject]:
        """The newest objects by id; also keeps the version of each object at each version."""
        found: dict[int, SchemaObject] = {}
        self._versions = {0: {}}
        for version, _, changes in self._log:
            for change in changes:
                found.pop(change.object_id, None)
                if change.definition is not None:
                    found[change.object_id] = change.definition
            self._versions[version] = {one: each.version for one, each in found.items()}
        return found

    def version_at(self, ts: Timestamp) -> int:
        """The version in force at a timestamp, by the list of updates."""
        if not self._from <= ts < self._until:
            past = [one for one in self._log if one[1] <= ts]
            later = [one[1] for one in self._log if one[1] > ts]
            self._from = max((one[1] for one in past), default=MIN_TIMESTAMP)
            self._until = min(later, default=MAX_TIMESTAMP)
            self._expected = max((one[0] for one in past if one[1] == self._from), default=0)
        return self._expected

    def object_version(self, object_id: int, ts: Timestamp) -> int:
        """The version of an object at a timestamp; 0 where it is not there."""
        return self._versions[self.version_at(ts)].get(object_id, 0)

    def steps(self, object_id: int, after_version: int, ts: Timestamp) -> tuple[ObjectChange, ...]:
        found: tuple[ObjectChange, ...] = super().steps(object_id, after_version, ts)
        expected = tuple(self._steps(object_id, after_version, self.version_at(ts)))
        self._divergence.compare(f"the steps of {object_id} at {show(ts)}", found, expected)
        return found

    def _steps(self, object_id: int, after: int, upto: int) -> Iterator[ObjectChange]:
        """An object's changes past a version, then the ends of the names that they have left."""
        past = [
            change
            for version, _, changes in self._log
            for change in changes
            if change.object_id == object_id and change.version > after and version <= upto
        ]
        yield from past
        for step in past:
            for change in step.changes:
                if isinstance(change, ObjectAliased):
                    yield from self._steps(change.alias_id, 1, upto)


def _version(update: Update) -> int:
    return update[0]


def _ids(change: ObjectChange) -> list[int]:
    """The ids that a change has given out: its object's, its indexes', its constraints'."""
    found = [change.object_id, *(part.id for part in _parts(change.definition))]
    found += [one.constraint.id for one in change.changes if hasattr(one, "constraint")]
    return found


def _parts(definition: SchemaObject | None) -> list[Any]:
    """The indexes and constraints of a table; none of anything else."""
    names = ("indexes", "constraints")
    return [part for name in names for part in getattr(definition, name, ())]
