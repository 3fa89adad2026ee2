"""Puts a node together: which class plays which part, wired in the order in which they depend.

`Parts` names the classes of the machinery, so that a mutant can replace one of them (a lock table
that grants too much, a catalog with the wrong boundary) where no field of the strategy says it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sim.model.ddl import ObjectChange
from sim.model.ports import Node
from sim.protocol.catalog import Catalog
from sim.protocol.coordinator import Coordinator
from sim.protocol.locks import LockTable
from sim.protocol.metastorage import MetaStorage
from sim.protocol.placement import Placement
from sim.protocol.raft import Member
from sim.protocol.replica import Replica
from sim.protocol.schema_change import SchemaChange
from sim.protocol.schema_sync import SchemaSync
from sim.protocol.strategy import Strategy
from sim.units import Timestamp


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Which class plays which part."""

    catalog: type[Catalog] = Catalog
    locks: type[LockTable] = LockTable
    member: type[Member] = Member
    sync: type[SchemaSync] = SchemaSync
    replica: type[Replica] = Replica


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """What every node of the cluster is told alike.

    `cluster_delay_ms` is the largest DD of any node; `placed` are primaries set by hand, by (table
    id, partition); `partitions` is the default zone's; `boot_ts` activates the initial schema,
    `start_ts` is the first safe time.
    """

    nodes: tuple[str, ...]
    voters: tuple[str, ...]
    leader: str
    partitions: int
    placed: Mapping[tuple[int, int], str]
    initial_schema: tuple[tuple[ObjectChange, ...], ...]
    boot_ts: Timestamp
    start_ts: Timestamp
    cluster_delay_ms: int
    idle_ticks: bool


class Server:
    """All that runs on one node."""

    def __init__(self, node: Node, strategy: Strategy, config: ClusterConfig, parts: Parts) -> None:
        self.node = node
        self.catalog = parts.catalog()
        for version, objects in enumerate(config.initial_schema, start=1):
            self.catalog.apply(version, config.boot_ts, config.boot_ts, objects)
        self.sync = parts.sync(node, strategy, self.catalog)
        self.sync.publish(config.start_ts)
        learners = tuple(name for name in config.nodes if name not in config.voters)
        member = parts.member(node.name, config.voters, learners, config.leader)
        self.metastorage = MetaStorage(
            node,
            member,
            strategy,
            self.catalog,
            self.sync,
            cluster_delay_ms=config.cluster_delay_ms,
            idle_ticks=config.idle_ticks,
        )
        self.schema_change = SchemaChange(node, strategy, self.catalog, self.metastorage)
        locks = parts.locks(node.future)
        self.replica = parts.replica(node, strategy, self.sync, locks)
        placement = Placement(config.nodes, config.placed)
        ordinal = config.nodes.index(node.name)
        self.coordinator = Coordinator(
            node,
            ordinal,
            strategy,
            self.sync,
            self.replica,
            placement=placement,
            default_partitions=config.partitions,
        )
        self.metastorage.on_activation(self.coordinator.watch)
