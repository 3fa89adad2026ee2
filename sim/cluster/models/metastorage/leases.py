"""The model of the leases and of the placement that a node knows.

A lease makes its holder primary of a partition from its start until before its end on the holder's
clock, if it began in this incarnation of the node; for another node it counts at a timestamp if it
lasts for more than CSmax beyond that. Every watcher is called with every lease and the one before.
What some node knew before this incarnation is not of it, whatever the clocks show, where the clock
of the node is kept over restarts [98.x.7].

A table has the partitions and the replicas of its zone when it was created, at most one replica on
each node; they go round the nodes from the first on, which a scenario may name.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.words import words
from ddlsim.model.hlc import CLOCK_LIMIT
from ddlsim.model.ports import Node
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.units import LOGICAL_BITS, MIN_TIMESTAMP, Timestamp, show

Watcher = Callable[[Lease | None, Lease], None]


class ModelledLeases(Leases):
    """Leases that compare what they answer, and which watchers they call."""

    models: ClassVar[Models]

    def __init__(self, node: Node, *, restarted: bool) -> None:
        super().__init__(node, restarted=restarted)
        self._since_ts = node.clock.current() if restarted else MIN_TIMESTAMP
        is_kept = restarted and CLOCK_LIMIT in node.disk
        self._since_us = self.models.loop.now_us if is_kept else 0
        self._last: dict[PartitionId, Lease] = {}
        self._called: list[tuple[Lease | None, Lease]] = []
        self._watching = 0
        self._divergence = self.models.divergence("leases", node.name)

    def _is_primary(self, place: PartitionId) -> bool:
        lease = self._last.get(place)
        if lease is None or lease.holder != self.node.name or lease.start_ts <= self._since_ts:
            return False
        return self.node.clock.current() < lease.expiration_ts

    def valid_at(self, place: PartitionId, ts: Timestamp) -> Lease | None:
        found: Lease | None = super().valid_at(place, ts)
        lease = self._last.get(place)
        skew_ms = self.node.settings.max_clock_skew_ms
        lasts = lease is not None and lease.expiration_ts - (skew_ms << LOGICAL_BITS) > ts
        if found is not (lease if lasts else None):
            self._divergence.found(
                f"at {show(ts)} it counts {words(found)}; the last one is {words(lease)}"
            )
        return found

    def knows(self, place: PartitionId, start_ts: Timestamp) -> bool:
        found: bool = super().knows(place, start_ts)
        lease = self._last.get(place)
        if found is not (lease is not None and not lease.start_ts < start_ts):
            self._divergence.found(
                f"whether {words(lease)} began at {show(start_ts)} or later is {found}"
            )
        return found

    def holds(self, place: PartitionId, start_ts: Timestamp) -> bool:
        found: bool = super().holds(place, start_ts)
        is_last = place in self._last and self._last[place].start_ts == start_ts
        if found is not (is_last and self._is_primary(place)):
            self._divergence.found(
                f"whether it is primary of {place} since {show(start_ts)} is {found}"
            )
        return found

    def held(self, place: PartitionId) -> bool:
        found: bool = super().held(place)
        if found is not self._is_primary(place):
            self._divergence.found(f"whether it is primary of {place} is {found}")
        return found

    def is_of_this_life(self, start_ts: Timestamp) -> bool:
        found: bool = super().is_of_this_life(start_ts)
        if found is not (start_ts > self._since_ts):
            self._divergence.found(f"whether a lease of {show(start_ts)} can be its own is {found}")
        return found

    def begin(self, lease: Lease) -> None:
        before = self._last.get(lease.place)
        if before is None and self.held(lease.place):
            self._divergence.found(f"it is primary of {lease.place} before the first lease")
        self._last[lease.place] = lease
        self._called = []
        super().begin(lease)
        self._compare_life(lease)
        if self.of(lease.place) is not lease or len(self.all()) != len(self._last):
            self._divergence.found(
                f"{words(lease)} began, and the last one is {words(self.of(lease.place))}"
            )
        if self._called != [(before, lease)] * self._watching:
            self._divergence.found(
                f"of {words(lease)} behind {words(before)} the watchers had {words(self._called)}"
            )

    def _compare_life(self, lease: Lease) -> None:
        """A lease that some node knew before this incarnation has lost its locks."""
        name, known_us = (lease.place, lease.start_ts), self.models.leases_known_us
        earlier = known_us.setdefault(name, self.models.loop.now_us) < self._since_us
        if earlier and lease.holder == self.node.name and self.is_of_this_life(lease.start_ts):
            self._divergence.found(f"{words(lease)} of an earlier life counts as its own")

    def watch(self, watcher: Watcher) -> None:
        self._watching += 1

        def called(before: Lease | None, lease: Lease) -> None:
            self._called.append((before, lease))
            watcher(before, lease)

        super().watch(called)


class PlacementModel:
    """The partitions of all tables that a catalog ever had."""

    def __init__(
        self,
        nodes: tuple[str, ...],
        placed: Mapping[PartitionId, str],
        catalog: Catalog,
        default: tuple[int, int],
    ) -> None:
        self._nodes = nodes
        self._placed = placed
        self._catalog = catalog
        self._default = default
        self._at_version = 0
        self.tables: dict[int, int] = {}
        self.places: dict[PartitionId, tuple[str, ...]] = {}

    def learn(self) -> None:
        """Take the tables of every catalog version since the last look."""
        while self._at_version < self._catalog.version:
            self._at_version += 1
            snapshot = self._catalog.version_snapshot(self._at_version)
            for table in snapshot.tables():
                if table.id in self.tables:
                    continue
                zone = snapshot.zone_of(table)
                numbers = self._default if zone is None else (zone.partitions, zone.replicas)
                self.tables[table.id] = numbers[0]
                for number in range(numbers[0]):
                    place = (table.id, number)
                    self.places[place] = self._replicas(place, numbers[1])

    def _replicas(self, place: PartitionId, replicas: int) -> tuple[str, ...]:
        nodes, first = self._nodes, self._placed.get(place)
        at = sum(place) % len(nodes) if first is None else nodes.index(first)
        return (nodes[at:] + nodes[:at])[:replicas]


class ModelledPlacement(Placement):
    """A placement that compares what it answers of the tables that the catalog has."""

    models: ClassVar[Models]

    def __init__(
        self,
        nodes: tuple[str, ...],
        placed: Mapping[PartitionId, str],
        catalog: Catalog,
        *,
        partitions: int,
        replicas: int,
    ) -> None:
        super().__init__(nodes, placed, catalog, partitions=partitions, replicas=replicas)
        self._model = PlacementModel(nodes, placed, catalog, (partitions, replicas))
        self._divergence = self.models.divergence("placement")

    def replicas_of(self, place: PartitionId) -> tuple[str, ...]:
        found: tuple[str, ...] = super().replicas_of(place)
        expected = self._model.places.get(place)
        if expected is not None and found != expected:
            self._divergence.compare(f"the replicas of {place}", found, expected)
        return found

    def partitions_of(self, table_id: int) -> int:
        found: int = super().partitions_of(table_id)
        expected = self._model.tables.get(table_id, found)
        if found != expected:
            self._divergence.compare(f"the partitions of {table_id}", found, expected)
        return found

    def knows(self, table_id: int) -> bool:
        found: bool = super().knows(table_id)
        self._model.learn()
        if found is not (table_id in self._model.tables):
            self._divergence.found(f"whether it knows table {table_id} is {found}")
        return found

    def places(self) -> dict[PartitionId, tuple[str, ...]]:
        found: dict[PartitionId, tuple[str, ...]] = super().places()
        self._model.learn()
        if found != self._model.places:
            self._divergence.compare("where the partitions are", found, self._model.places)
        return found
