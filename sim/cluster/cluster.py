"""The Ignite plane: a server on each node, wired; and its models.

The cluster finds the node that plays a role ("the meta storage leader", "primary of t") for faults.
"""

from collections.abc import Iterator

from ddlsim.cluster import final_state
from ddlsim.cluster.adapters import Recorder
from ddlsim.cluster.machines import Machines
from ddlsim.cluster.models.clock import Merges
from ddlsim.cluster.models.design.rules import ModelledRules
from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.exchange import Exchange
from ddlsim.cluster.models.once import once
from ddlsim.cluster.models.parts import beside, converse, modelled
from ddlsim.cluster.models.transaction.client import ModelledClient
from ddlsim.cluster.schedule import scheduled
from ddlsim.history.events import UpdateLogged
from ddlsim.model.ddl import ObjectChange
from ddlsim.model.groups import META
from ddlsim.model.hlc import CLOCK_LIMIT, HybridClock
from ddlsim.model.ops import Get, Key, Scan
from ddlsim.model.schema import Table
from ddlsim.nemesis.roles import VacantRoleError
from ddlsim.plan.records import Plan
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.metastorage.placement import partition_of
from ddlsim.protocol.metastorage.stages import Delays
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built
from ddlsim.protocol.schema.script import SchemaScript
from ddlsim.protocol.server import ClusterConfig, Parts, Server
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.client import Client, Connection
from ddlsim.sql import parse
from ddlsim.units import BOOT_TS, MIN_TIMESTAMP, Micros, Timestamp, physical_ms


class Cluster(Machines):
    """The machines of one run on the Ignite plane, and what runs on them."""

    def __init__(self, plan: Plan, strategy: Strategy, parts: Parts, recorder: Recorder) -> None:
        super().__init__(plan, recorder)
        self.servers: dict[str, Server] = {}
        self._delays = {node.name: Delays() for node in plan.nodes}
        self._strategy = strategy
        self._models = Models(recorder.record, self.loop)
        self._models.hosts = self.hosts
        # A mutant that replaces a part is known by what follows from it.
        self._modelled = recorder.recording and plan.models and plan.mutant is None
        self._parts = modelled(self._models) if self._modelled else parts
        self._rules = strategy
        if self._modelled:
            rules = self._models.divergence("rules", plan.meta_leader)
            self._rules = ModelledRules(rules).of(strategy)
            what = strategy, plan.meta_leader, plan.seed
            once(self._models, what, lambda: beside(self._models, *what))
        recorder.record = scheduled(plan, self.network, self.hosts, recorder.record)
        self._schema = initial_schema(plan.schema_sql)
        self._table_ids = ids_of(self._schema)
        for node in plan.nodes:
            self.open_port(node.name, strategy.clock)
        self._config = self._cluster_config()
        for node in plan.nodes:
            self.boot(node.name, restarted=False)
        self._slow_stages()
        self._record_start()

    def boot(self, node: str, *, restarted: bool) -> None:
        """Start the server of a node on its host; only the disk of an earlier one is left."""
        if restarted:
            self.open_port(node, self._strategy.clock)
        self._models.starting = node
        exchange = self._watched(node)
        server = Server(
            self.ports[node],
            self._rules,
            self._config,
            self._parts,
            delays=self._delays[node],
            restarted=restarted,
        )
        self.servers[node] = server
        if exchange is not None:
            converse(exchange, self._models, server, restarted=restarted)
        server.start()

    def _watched(self, node: str) -> Exchange | None:
        """The messages of a node, for its models; its clock is compared with those it takes."""
        if not self._modelled:
            return None
        host, port, clock = self.hosts[node], self.ports[node], self.ports[node].clock
        merges = None
        if type(clock) is HybridClock:  # a design may have others
            divergence = self._models.divergence("clock")
            waits = port.waiters, host.clock.pieces
            merges = Merges(clock, port.disk, self.loop, divergence, *waits)
        exchange = Exchange(host, port, merges)
        self._models.at_end.append(exchange.settle)
        return exchange

    def client(
        self, name: str, connection: Connection, timeout_us: Micros, *, session: bool
    ) -> Client:
        """A client of this cluster."""
        if not self._modelled:
            return Client(name, connection, timeout_us, session=session)
        divergence = self._models.divergence("client", name)
        return ModelledClient(name, connection, timeout_us, session=session, divergence=divergence)

    def has_open_work(self) -> bool:
        """Whether a node does not run, has locks or intents left, or replicas differ."""
        return final_state.has_open_work(self.servers, self.hosts) or not (
            final_state.replicas_agree(final_state.alive(self.servers, self.hosts))
        )

    def left_open(self) -> Iterator[tuple[str, str, str]]:
        """What transactions left open on nodes that run: (node, transaction, what it is)."""
        for name, server in final_state.alive(self.servers, self.hosts).items():
            for tx, what in server.replica.left_open():
                yield name, tx, what

    def read_back(self) -> None:
        """Record what every replica holds now, row by row."""
        alive = final_state.alive(self.servers, self.hosts)
        final_state.read_back(alive, self.recorder.record, self.loop.now_us)

    def compare_states(self) -> None:
        """Compare what every modelled replica has now."""
        for compare in self._models.at_end:
            compare()

    def takes_part_ms(self, node: str) -> int:
        """What the physical clock of a crashed node must show before the node starts again."""
        limit_ts = self.hosts[node].disk.get(CLOCK_LIMIT, MIN_TIMESTAMP)
        return physical_ms(self._strategy.takes_part_ts(limit_ts))

    @property
    def leader(self) -> str:
        """The meta storage leader; the last one if there is none now."""
        return self._newest_leader([s.metastorage.group for s in self.servers.values()])

    def leader_of(self, group: str | PartitionId) -> str:
        """The node that leads `meta`, or the partition `t/0`; the last leader if there is none.

        Raises `VacantRoleError` where the table is not there or never had a primary.
        """
        if group == META:
            return self.leader
        place = self.place_of(group)
        groups = [server.group_of(place) for server in self.servers.values()]
        found = [group for group in groups if group is not None]
        return self._newest_leader(found) if found else self.holder_of(place)

    def member_of(self, group: str | PartitionId, node: str) -> Group | None:
        """A node's member of `meta` or `t/0`, if it has one."""
        server = self.servers[node]
        if group == META:
            return server.metastorage.group
        return server.group_of(self.place_of(group))

    def _newest_leader(self, groups: list[Group]) -> str:
        """The leader in the highest term: a deposed one may not have stepped down yet."""
        newest = max(groups, key=lambda group: (group.is_leader, group.term))
        return newest.leader or newest.node.name

    def holder_of(self, place: PartitionId) -> str:
        """The primary of a partition, or the last one; `VacantRoleError` if there is none yet."""
        lease = self.servers[self.leader].metastorage.leases.of(place)
        if lease is None:
            raise VacantRoleError(f"{place} never had a primary")
        return lease.holder

    def place_of_commit(self, tx: str, coordinator: str) -> PartitionId | None:
        """The partition where a transaction commits, as its coordinator knows by now."""
        server = self.servers.get(coordinator)
        found = None if server is None else server.coordinator.transactions.get(tx)
        if found is None:
            return None
        return found.commit_place or next(iter(found.participants), None)

    def primary_known_to(self, node: str, table_name: str, key: Key) -> str | None:
        """The primary of a key, as a node knows it now; None where it knows no table or lease."""
        server = self.servers[node]
        found = server.catalog.latest().meant(table_name)
        if not isinstance(found, Table) or not server.placement.knows(found.id):
            return None
        number = partition_of(key, server.placement.partitions_of(found.id))
        lease = server.leases.of((found.id, number))
        return None if lease is None else lease.holder

    def delays(self, node: str) -> Delays:
        """By how much a node delays applying the meta storage, by stage."""
        return self._delays[node]

    def table_id(self, name: str) -> int:
        """The table that had this name when the run began, else the one that has it now."""
        if name in self._table_ids:
            return self._table_ids[name]
        found = self.servers[self.leader].catalog.latest().meant(name)
        if not isinstance(found, Table):
            raise VacantRoleError(f"there is no table {name}")
        return found.id

    def slow_apply(self, node: str, stage: str, by_us: int) -> None:
        """Make a node apply the meta storage `by_us` later at a stage, or earlier if negative."""
        delays = self._delays[node]
        setattr(delays, stage, getattr(delays, stage) + by_us)

    def _cluster_config(self) -> ClusterConfig:
        plan = self.plan
        return ClusterConfig(
            nodes=tuple(node.name for node in plan.nodes),
            voters=tuple(node.name for node in plan.nodes if node.voter),
            leader=plan.meta_leader,
            partitions=plan.partitions,
            replicas=plan.replicas,
            placed=self._placed(),
            initial_schema=self._schema,
            boot_ts=BOOT_TS,
            start_ts=Timestamp(self.ports[plan.meta_leader].clock.now()),
            cluster_delay_ms=max(node.settings["delay_duration_ms"] for node in plan.nodes),
            idle_ticks=plan.idle_ticks,
        )

    def _placed(self) -> dict[PartitionId, str]:
        """Primaries that the scenario names, by (table id, partition)."""
        placed: dict[PartitionId, str] = {}
        for entry in self.plan.leaders:
            if entry.group != META and not entry.at_us:
                placed[self.place_of(entry.group)] = entry.node
        return placed

    def _slow_stages(self) -> None:
        for entry in self.plan.applies:
            setattr(self._delays[entry.node], entry.stage, entry.delay_us)

    def _record_start(self) -> None:
        """The initial schema and the clocks, as the history's first events."""
        record, leader = self.recorder.record, self.plan.meta_leader
        for version, objects in enumerate(self._schema, start=1):
            record(UpdateLogged(0, leader, None, 0, version, BOOT_TS, BOOT_TS, 0, objects))
        self._record_clocks()


def ids_of(schema: tuple[tuple[ObjectChange, ...], ...]) -> dict[str, int]:
    """The ids of the objects of an initial schema, by name."""
    return {each.name: each.object_id for objects in schema for each in objects}


def initial_schema(sql: str) -> tuple[tuple[ObjectChange, ...], ...]:
    """The catalog versions of the scenario's schema, one for each statement."""
    catalog = Catalog()
    versions: list[tuple[ObjectChange, ...]] = []
    statements = [parsed.statement for parsed in parse(sql)]
    script = SchemaScript(statements)
    for statement in statements:
        assert not isinstance(statement, Get | Scan), "the scenario's schema was checked"
        snapshot = catalog.latest()
        built = script.build(statement, snapshot, snapshot.next_object_id)
        assert isinstance(built, Built), f"the scenario's schema was checked, yet: {built}"
        catalog.apply(len(versions) + 1, BOOT_TS, BOOT_TS, built.objects)
        versions.append(built.objects)
    return tuple(versions)
