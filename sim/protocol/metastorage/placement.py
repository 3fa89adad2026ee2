"""Which partition a key belongs to, and which nodes hold a replica of a partition.

The replicas of a partition go round the nodes, each table starting at another one, unless a
scenario names the first by hand. They are chosen by table id, so a rename moves nothing, and they
never change: the number of replicas is that of the table's zone when the table was created.
Which of them is *primary* changes with the leases; the first is it when the partition is born.
"""

import zlib
from collections.abc import Mapping

from ddlsim.model.ops import Key
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.schema.catalog import Catalog


def partition_of(key: Key, partitions: int) -> int:
    """The partition of a key: the same on every node and in every run."""
    if type(key) is int:
        return key % partitions
    return zlib.crc32(repr(key).encode()) % partitions


class Placement:
    """The partitions of every table that a node's catalog knows, and the nodes that hold them."""

    __slots__ = (
        "_catalog", "_nodes", "_partitions", "_placed", "_places", "_replicas", "_seen", "_tables",
    )  # fmt: skip

    def __init__(
        self,
        nodes: tuple[str, ...],
        placed: Mapping[PartitionId, str],
        catalog: Catalog,
        *,
        partitions: int,
        replicas: int,
    ) -> None:
        assert replicas >= 1, f"{replicas} replicas"
        assert partitions >= 1, f"{partitions} partitions"
        assert set(placed.values()) <= set(nodes), f"{placed} names no node"
        self._nodes = nodes
        self._placed = placed
        self._catalog = catalog
        self._partitions = partitions
        self._replicas = replicas
        self._tables: dict[int, tuple[int, int]] = {}
        self._places: dict[PartitionId, tuple[str, ...]] = {}
        self._seen = 0

    def replicas_of(self, place: PartitionId) -> tuple[str, ...]:
        """The nodes that hold a replica of a partition, the first primary first."""
        known = self._places.get(place)
        if known is not None:
            return known
        nodes, (table_id, number) = self._nodes, place
        _, count = self._numbers(table_id)
        placed = self._placed.get(place)
        first = table_id + number if placed is None else nodes.index(placed)
        return tuple(nodes[(first + offset) % len(nodes)] for offset in range(count))

    def knows(self, table_id: int) -> bool:
        """Whether this node's catalog knows the table, or knew it."""
        if table_id not in self._tables:
            self._learn()
        return table_id in self._tables

    def partitions_of(self, table_id: int) -> int:
        """How many partitions a table has; the number never changes [110.zone]."""
        return self._numbers(table_id)[0]

    def places(self) -> dict[PartitionId, tuple[str, ...]]:
        """Every partition of every table that there ever was, with its replicas.

        A table that was dropped keeps its primaries: transactions may have their outcomes there.
        """
        self._learn()
        return self._places

    def _numbers(self, table_id: int) -> tuple[int, int]:
        """(partitions, replicas) of a table, by the zone that it was created in."""
        known = self._tables.get(table_id)
        if known is None:
            self._learn()
            known = self._tables.get(table_id, (self._partitions, self._capped(self._replicas)))
        return known

    def _learn(self) -> None:
        """Look through the catalog versions that are new."""
        for version in range(self._seen + 1, self._catalog.version + 1):
            snapshot = self._catalog.version_snapshot(version)
            for table in snapshot.tables():
                if table.id not in self._tables:
                    zone = snapshot.zone_of(table)
                    partitions, replicas = self._tables[table.id] = (
                        (self._partitions, self._capped(self._replicas))
                        if zone is None
                        else (zone.partitions, self._capped(zone.replicas))
                    )
                    assert min(partitions, replicas) >= 1, f"{table.name} lies nowhere"
                    for number in range(partitions):
                        place = (table.id, number)
                        self._places[place] = self.replicas_of(place)
            self._seen = version

    def _capped(self, replicas: int) -> int:
        return min(replicas, len(self._nodes))
