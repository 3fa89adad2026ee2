"""Puts a node together: which class plays which part, wired in the order in which they depend.

`Parts` names the classes of the machinery, so that a mutant can replace one of them (a lock table
that grants too much, a catalog with the wrong boundary) where no field of the strategy says it.

A restarted node is put together in the same way, over a disk that is not empty: its groups restore
what they had applied, and it submits `NodeJoined` to the meta storage, so that leases of its
earlier incarnations are not prolonged.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ddlsim.model.ddl import ObjectChange
from ddlsim.model.ports import Node
from ddlsim.protocol.barriers import Barriers
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.index_build.backfill import Backfill
from ddlsim.protocol.index_build.index_states import IndexStates
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.messages import NodeJoined
from ddlsim.protocol.metastorage.alias_ends import AliasEnds
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.metastorage.metastorage import MetaStorage, MetaStorageConfig
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.metastorage.stages import Delays
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.raft import Member
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.replication.state_machine import disk_name
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema_change.row_counter import RowCounter
from ddlsim.protocol.schema_change.schema_change import SchemaChange
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.lock_waits import LockWaits
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.protocol.transaction.row_constraints import RowConstraints
from ddlsim.units import Timestamp, plus_ms, show


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Which class plays which part."""

    alias_ends: type[AliasEnds] = AliasEnds
    application: type[Application] = Application
    backfill: type[Backfill] = Backfill
    barriers: type[Barriers] = Barriers
    catalog: type[Catalog] = Catalog
    coordinator: type[Coordinator] = Coordinator
    driver: type[PlacementDriver] = PlacementDriver
    group: type[Group] = Group
    index_states: type[IndexStates] = IndexStates
    leases: type[Leases] = Leases
    lock_waits: type[LockWaits] = LockWaits
    locks: type[LockTable] = LockTable
    member: type[Member] = Member
    metastorage: type[MetaStorage] = MetaStorage
    partition: type[Partition] = Partition
    placement: type[Placement] = Placement
    sync: type[SchemaSync] = SchemaSync
    readers: type[Readers] = Readers
    replica: type[Replica] = Replica
    replicas: type[ReplicaManager] = ReplicaManager
    row_constraints: type[RowConstraints] = RowConstraints
    ticker: type[SafeTimeTicker] = SafeTimeTicker


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """The configuration that all nodes of the cluster share.

    `cluster_delay_ms` is the largest DD of any node; `placed` are primaries set by hand, by (table
    id, partition); `partitions` and `replicas` are the default zone's; `boot_ts` activates the
    initial schema, `start_ts` is the first safe time.
    """

    nodes: tuple[str, ...]
    voters: tuple[str, ...]
    leader: str
    partitions: int
    replicas: int
    placed: Mapping[PartitionId, str]
    initial_schema: tuple[tuple[ObjectChange, ...], ...]
    boot_ts: Timestamp
    start_ts: Timestamp
    cluster_delay_ms: int
    idle_ticks: bool


class Server:
    """All that runs on one node."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        config: ClusterConfig,
        parts: Parts,
        *,
        delays: Delays | None = None,
        restarted: bool = False,
    ) -> None:
        self.node = node
        self._config = config
        self._restarted = restarted
        self.catalog = parts.catalog()
        for version, objects in enumerate(config.initial_schema, start=1):
            self.catalog.apply(version, config.boot_ts, config.boot_ts, objects)
        self.sync = parts.sync(node, strategy, self.catalog, config.cluster_delay_ms)
        if restarted:  # the leases of a new cluster began by another node's clock
            node.clock.update(config.start_ts)
        self.leases = parts.leases(node, restarted=restarted)
        self.metastorage = parts.metastorage(
            node,
            strategy,
            self.catalog,
            self.sync,
            self.leases,
            MetaStorageConfig(
                config.voters,
                tuple(name for name in config.nodes if name not in config.voters),
                config.leader,
                config.cluster_delay_ms,
                config.idle_ticks,
                config.start_ts,
            ),
            application_class=parts.application,
            ticker_class=parts.ticker,
            group_class=parts.group,
            member_class=parts.member,
            delays=delays or Delays(),
        )
        self.schema_change = SchemaChange(node, strategy, self.sync, self.metastorage)
        self.placement = parts.placement(
            config.nodes,
            config.placed,
            self.catalog,
            partitions=config.partitions,
            replicas=config.replicas,
        )
        self.driver = parts.driver(node, strategy, self.metastorage, self.placement.places)
        self.metastorage.on_elected = self.driver.start
        self.metastorage.on_activation(self.driver.look_soon)
        self.alias_ends = parts.alias_ends(node, strategy, self.catalog, self.metastorage)
        self.metastorage.on_activation(self.alias_ends.watch)
        self._serve_partitions(strategy, parts)
        self._build_indexes(strategy, parts)
        self.metastorage.on_activation(self.coordinator.marks.watch)
        users = self.coordinator.marks
        barriers = parts.barriers(node, config.nodes, self.metastorage.catalog_reaches, users)
        self.sync.barriers = self.schema_change.barriers = barriers
        self.schema_change.row_counter = RowCounter(self.coordinator, config.nodes.index(node.name))

    def _serve_partitions(self, strategy: Strategy, parts: Parts) -> None:
        """Replicas of partitions, and the transactions of this node's clients."""
        node, config = self.node, self._config
        self.replicas = parts.replicas(
            node,
            strategy,
            self.sync,
            self.leases,
            self.placement,
            partition_class=parts.partition,
            group_class=parts.group,
            member_class=parts.member,
            birth_ts=config.start_ts,
        )
        locks = parts.locks(node.future)
        self.replica = parts.replica(
            node,
            strategy,
            self.sync,
            locks,
            self.replicas,
            self.leases,
            config.nodes,
            metastorage_leader=lambda: self.metastorage.group.leader,
            constraints_class=parts.row_constraints,
            waits_class=parts.lock_waits,
        )
        self.readers = parts.readers(node, strategy, self.sync, self.replicas, self.replica)
        self.coordinator = parts.coordinator(
            node,
            config.nodes.index(node.name),
            strategy,
            self.sync,
            self.replica.participant,
            self.leases,
            self.placement,
        )

    def _build_indexes(self, strategy: Strategy, parts: Parts) -> None:
        """The states of indexes, and the work on their entries."""
        node, replicas, placement = self.node, self.replicas, self.placement
        self.backfill = parts.backfill(node, strategy, self.catalog, replicas, placement)
        self.index_states = parts.index_states(
            node,
            strategy,
            self._config.nodes,
            self.metastorage,
            self.coordinator,
            replicas,
            placement,
            self.leases,
        )
        self.metastorage.on_activation(self.backfill.watch)
        self.metastorage.on_activation(self.index_states.watch)

    def start(self) -> None:
        """Restore what the disk holds, then serve."""
        config = self._config
        until = plus_ms(config.start_ts, self.node.settings.lease_duration_ms)
        for place, replicas in self.placement.places().items():
            self.leases.begin(Lease(place, replicas[0], config.start_ts, until))
        if not self._restarted:
            self.sync.advance_safe_time(config.start_ts)
        self.metastorage.start()
        if self._restarted:
            self.replicas.revive(self._places_on_disk())
            self.node.spawn(self._join())

    def _places_on_disk(self) -> list[PartitionId]:
        """The partitions whose logs the disk holds."""
        names = [key.removeprefix(disk_name("")) for key in self.node.disk]
        pairs = [name.split("/") for name in names if "/" in name]
        return [(int(table), int(number)) for table, number in pairs]

    async def _join(self) -> None:
        """Submit `NodeJoined`, so that leases of earlier incarnations are not prolonged."""
        joined_ts = self.node.clock.now()
        name = self.node.name
        await self.metastorage.submit(
            NodeJoined(f"{name} joined {show(joined_ts)}", name, joined_ts)
        )

    def group_of(self, place: PartitionId) -> Group | None:
        """This node's member of a partition's group, if it has one."""
        return self.replica.group_of(place)
