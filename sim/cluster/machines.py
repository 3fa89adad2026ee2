"""The machines of one run, whatever runs on them: hosts, clocks, links, settings and disks.

A data plane is a subclass: it starts what runs on each machine, gives clients a way in, and tells
what is left when the work is over. Faults and clients use machines through this class alone, but
for those of replication groups and leases, which a plane without them refuses.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator

from ddlsim.cluster.adapters import NodePort, Pauses, Recorder
from ddlsim.history.world_events import ClockSet, SchemaBehind
from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Constant, quantiles
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ops import Key
from ddlsim.model.settings import Settings
from ddlsim.nemesis.roles import place_of
from ddlsim.plan.records import Plan
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.transaction.client import Client, Connection
from ddlsim.units import Micros


class Machines(ABC):
    """The simulated machines of one run."""

    def __init__(self, plan: Plan, recorder: Recorder) -> None:
        self.plan = plan
        self.loop = Loop()
        self.network = Network(self.loop, plan.network_seed)
        self.recorder = recorder
        self.pauses = Pauses()
        self.hosts: dict[str, Host] = {}
        self.ports: dict[str, NodePort] = {}
        self.asked: dict[str, str] = {}  # by client: the node that it sent its last request to
        self._disk_us: Counter[str] = Counter()
        self._settings = {node.name: Settings(**node.settings) for node in plan.nodes}
        self._configure_links()
        for node in plan.nodes:
            self._add_host(node.name, node.clock_offset_us, node.clock_drift_ppm)

    # --- what a plane does ------------------------------------------------------------------------

    @abstractmethod
    def boot(self, node: str, *, restarted: bool) -> None:
        """Start what runs on a node; only the disk of an earlier incarnation is left."""

    @property
    @abstractmethod
    def leader(self) -> str:
        """The node that keeps the schema for all others, or a node where none does."""

    @abstractmethod
    def leader_of(self, group: str | PartitionId) -> str:
        """The node that leads `meta` or a partition; `VacantRoleError` if none does."""

    @abstractmethod
    def holder_of(self, place: PartitionId) -> str:
        """The primary of a partition; `VacantRoleError` if there is none."""

    def place_of(self, partition: str | PartitionId) -> PartitionId:
        """`t/0` as (table id, number)."""
        if not isinstance(partition, str):
            return partition
        place = place_of(partition)
        assert place is not None, "the scenario's groups and partitions were checked"
        return self.table_id(place[0]), place[1]

    @abstractmethod
    def table_id(self, name: str) -> int:
        """The id of a table; `VacantRoleError` if there is none of this name."""

    def primary_of(self, table_name: str, partition: int = 0) -> str:
        """The primary of a partition, or the last one; `VacantRoleError` if there is none yet."""
        return self.holder_of((self.table_id(table_name), partition))

    @abstractmethod
    def place_of_commit(self, tx: str, coordinator: str) -> PartitionId | None:
        """The partition where a transaction commits, as its coordinator knows by now."""

    @abstractmethod
    def client(
        self, name: str, connection: Connection, timeout_us: Micros, *, session: bool
    ) -> Client:
        """What a client's machine runs."""

    @abstractmethod
    def primary_known_to(self, node: str, table_name: str, key: Key) -> str | None:
        """The primary of a key, as a node knows it now; None where it knows none."""

    @abstractmethod
    def has_open_work(self) -> bool:
        """Whether a node does not run, or a transaction left something open."""

    @abstractmethod
    def left_open(self) -> Iterator[tuple[str, str, str]]:
        """What transactions left open on nodes that run: (node, transaction, what it is)."""

    def not_at_rest(self) -> Iterator[tuple[str, str, str]]:
        """What has not come to rest, so that what storage holds says nothing: (node, what it does,
        what it waits for)."""
        return iter(())

    def schemas_behind(self) -> Iterator[SchemaBehind]:
        """Processes that a watch should have told of an update."""
        return iter(())

    @abstractmethod
    def read_back(self) -> None:
        """Record what storage holds now."""

    def takes_part_ms(self, node: str) -> int:
        """What the physical clock of a crashed node must show before the node starts again."""
        return self.hosts[node].clock.read_ms()

    @abstractmethod
    def compare_states(self) -> None:
        """Compare what every modelled part has now; without models there is nothing to compare."""

    def may_fail(self, node: str) -> bool:
        """Whether faults that begin at a moment may strike a machine that plays a role of it."""
        return node in self.hosts

    def open_port(self, node: str, clock: Callable[..., HybridClock]) -> NodePort:
        """The port of a node's present incarnation; `clock` makes what gives timestamps."""
        port = NodePort(self.hosts[node], self._settings[node], self.recorder, self.pauses, clock)
        port.disk_delay_us = self._disk_us[node]
        self.ports[node] = port
        return port

    # --- clocks, disks, settings ------------------------------------------------------------------

    def settings_of(self, node: str) -> Settings:
        """A node's settings as they are now."""
        return self._settings[node]

    def slow_disk(self, node: str, by_us: int) -> None:
        """Make every sync of a node's disk take `by_us` more, or less if negative."""
        self._disk_us[node] += by_us
        self.ports[node].disk_delay_us = self._disk_us[node]

    def drift_of(self, node: str) -> int:
        """The present drift of a node's physical clock, in parts per million."""
        return self.hosts[node].clock.pieces[-1].drift_ppm

    def step_clock(self, node: str, by_us: int) -> None:
        """Move a node's physical clock by `by_us`, and record it."""
        self.hosts[node].clock.step(by_us)
        self._record_clock(node)

    def set_drift(self, node: str, ppm: int) -> None:
        """Set the drift of a node's physical clock, and record it."""
        self.hosts[node].clock.set_drift(ppm)
        self._record_clock(node)

    def _record_clock(self, node: str) -> None:
        clock, now = self.hosts[node].clock, self.loop.now_us
        self.recorder.record(ClockSet(now, node, clock.read_us() - now, clock.pieces[-1].drift_ppm))

    def _record_clocks(self) -> None:
        """Record every clock as it is at the start of the run."""
        for node in self.plan.nodes:
            event = ClockSet(0, node.name, node.clock_offset_us, node.clock_drift_ppm)
            self.recorder.record(event)

    def _configure_links(self) -> None:
        """Set latency and misbehaviour of the links; a link without an entry takes no time."""
        self.network.configure(LinkProfile(latency=quantiles(Constant(0))))
        for link in self.plan.links:
            latency = None if link.latency is None else quantiles(link.latency)
            profile = LinkProfile(
                latency=latency,
                loss=link.loss,
                duplication=link.duplication,
                reordering=link.reordering,
            )
            self.network.configure(profile, link.sender, link.to, link.kind)

    def _add_host(self, name: str, offset_us: int = 0, drift_ppm: int = 0) -> None:
        clock = PhysicalClock(self.loop, offset_us, drift_ppm)
        self.hosts[name] = Host(self.loop, self.network, name, clock)
