"""A partition's share of index builds: it fills new indexes, and erases those that were removed.

The primary does it beside the load, a command of the partition's log at a time, with a pause after
each (`backfill_pause_ms`): how far it is stands in the log's state (`partition/index_store`), so
whichever node is primary goes on from there. A command goes out only once this clock has passed the
activation of the state: the group's leader merges the time of the request, so the command is
stamped later than whatever commits under the state before.

    the change that begins it is applied here --its activation passes--> a step, a step, ..., done
"""

from ddlsim.model.ports import Node
from ddlsim.model.schema import Table
from ddlsim.protocol.commands import Command, EraseIndex, FillIndex
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.index_states import index_of
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import US_PER_MS, Micros, Timestamp


class Backfill:
    """The work of one node's replicas on the entries of indexes."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        catalog: Catalog,
        replicas: ReplicaManager,
        placement: Placement,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.catalog = catalog
        self.replicas = replicas
        self.erasing: dict[tuple[PartitionId, int], None] = {}
        self._placement = placement

    def watch(self, applied: AppliedUpdate) -> None:
        """Handle an update that this node has applied: what it begins for replicas held here."""
        strategy = self.strategy
        if strategy.fills_index is None or strategy.erases_index is None:
            return
        for step in applied.update.objects:
            for change in step.changes:
                index_id = strategy.fills_index(change)
                if index_id is not None:
                    for place in self._held(step.object_id):
                        ts, version = applied.activation_ts, step.version
                        self.node.spawn(self._fill(place, index_id, version, ts))
                index_id = strategy.erases_index(change)
                if index_id is not None:
                    for place in self._held(step.object_id):
                        self.erasing[place, index_id] = None
                        self.node.spawn(self._erase(place, index_id, applied.activation_ts))

    @property
    def has_open_work(self) -> bool:
        """Whether an index that was removed is still to be erased in a replica of this node."""
        return bool(self.erasing)

    def _held(self, table_id: int) -> list[PartitionId]:
        """The partitions of a table of which this node holds a replica."""
        numbers = range(self._placement.partitions_of(table_id))
        places = [(table_id, number) for number in numbers]
        return [one for one in places if self.node.name in self._placement.replicas_of(one)]

    # --- filling ----------------------------------------------------------------------------------

    async def _fill(
        self, place: PartitionId, index_id: int, version: int, since_ts: Timestamp
    ) -> None:
        """Fill a partition while this node is its primary, until the index is filled or gone."""
        node = self.node
        await node.clock_passes(since_ts)
        while self._is_wanted(place, index_id):
            local = self.replicas.at(place)
            if local is None or not self._is_primary(local):
                await node.sleep(node.settings.resend_us)
                continue
            machine = local.machine
            if index_id in machine.index.complete:
                return
            begin = machine.index.filled.get(index_id, 0)
            limit, known = node.settings.backfill_rows, self.catalog.version
            catalog_version = 0 if local.is_alone else known
            if begin:
                node.probe("backfill-resumed")
            else:
                node.probe("backfill-begun")
            await self._run(
                local, FillIndex(index_id, version, since_ts, begin, limit, catalog_version)
            )
            await node.sleep(Micros(node.settings.backfill_pause_ms * US_PER_MS))

    def _is_wanted(self, place: PartitionId, index_id: int) -> bool:
        return index_of(self.catalog.latest(), place[0], index_id) is not None

    def _is_primary(self, local: LocalReplica) -> bool:
        lease = local.lease
        return lease is not None and self.node.clock.current() < lease.expiration_ts

    # --- erasing ----------------------------------------------------------------------------------

    async def _erase(self, place: PartitionId, index_id: int, since_ts: Timestamp) -> None:
        """Erase an index in a partition, once this node's replica is its primary, or has it so."""
        node = self.node
        await node.clock_passes(since_ts)
        while isinstance(self.catalog.latest().by_id(place[0]), Table):
            local = self.replicas.at(place)
            if local is not None and index_id in local.machine.index.erased:
                break
            if local is not None and self._is_primary(local):
                await self._run(local, EraseIndex(index_id))
            else:
                await node.sleep(node.settings.resend_us)
        self.erasing.pop((place, index_id), None)

    async def _run(self, local: LocalReplica, command: Command[None]) -> None:
        """Run a command through the group; refused or replaced, it is looked at again."""
        await self.replicas.run(local, command)
