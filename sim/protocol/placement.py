"""Which node is primary of a partition, and which partition a key belongs to.

The assignment is fixed when the cluster is built: the partitions of a table go round the nodes,
each table starting at another one, unless a scenario places a partition by hand. Primaries are
chosen by table id, so a rename moves nothing.
"""

import zlib
from collections.abc import Mapping

from sim.model.ops import Key


def partition_of(key: Key, partitions: int) -> int:
    """The partition of a key: the same on every node and in every run."""
    if type(key) is int:
        return key % partitions
    return zlib.crc32(repr(key).encode()) % partitions


class Placement:
    """Primaries by (table id, partition)."""

    __slots__ = ("_nodes", "_placed")

    def __init__(self, nodes: tuple[str, ...], placed: Mapping[tuple[int, int], str]) -> None:
        self._nodes = nodes
        self._placed = placed

    def primary(self, table_id: int, partition: int) -> str:
        """The node that serves a partition."""
        placed = self._placed.get((table_id, partition))
        if placed is not None:
            return placed
        return self._nodes[(table_id + partition) % len(self._nodes)]
