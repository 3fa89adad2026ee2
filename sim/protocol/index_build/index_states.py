"""The states of indexes: what brings the next one about (`design/index_rules` says what they are).

Every node that has applied a state waits for the next one; the node that leads the meta storage
then submits it, as an update of its own under the name of the statement. What is due follows from
the catalog and the partitions' logs, so a crash of a leader, a primary or a client loses nothing.

    REGISTERED active --older transactions have ended--> BUILDING
    BUILDING active --every partition says that it is filled--> AVAILABLE
    STOPPING active --older transactions have ended--> removed

A node that does not answer within an election timeout is taken for one that left, and what is open
there is not waited for; a primary that does not answer is, since its partition is not filled.
"""

from ddlsim.model.ddl import IndexCreated, IndexStateSet, ObjectChange
from ddlsim.model.ports import Node, Request
from ddlsim.model.records import Record
from ddlsim.model.schema import PUBLIC, Index, Table
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import CatalogUpdate
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.schema.index_states import index_of, removed, set_to
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.units import MAX_TIMESTAMP, US_PER_MS, Micros, Timestamp


class AreOlderOpen(Request["Told"], frozen=True):
    """Whether the receiver has an open transaction that writes and began before a timestamp."""

    sent_ts: Timestamp
    before_ts: Timestamp


class IsFilled(Request["Told"], frozen=True):
    """Whether the backfill of an index is through with a partition."""

    sent_ts: Timestamp
    place: PartitionId
    index_id: int


class Told(Record, frozen=True):
    """The answer to either question."""

    sent_ts: Timestamp
    yes: bool


class IndexStates:
    """Brings the indexes of this node's catalog from state to state, where this node leads."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        nodes: tuple[str, ...],
        metastorage: MetaStorage,
        coordinator: Coordinator,
        replicas: ReplicaManager,
        placement: Placement,
        leases: Leases,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.metastorage = metastorage
        self.under_way: dict[int, None] = {}
        self._nodes = nodes
        self._coordinator = coordinator
        self._replicas = replicas
        self._placement = placement
        self._leases = leases
        node.on(AreOlderOpen, self._on_are_older_open)
        node.on(IsFilled, self._on_is_filled)

    def watch(self, applied: AppliedUpdate) -> None:
        """Handle an update that this node has applied: the states in it have a next one."""
        if self.strategy.drain is None:
            return
        for step in applied.update.objects:
            for change in step.changes:
                if isinstance(change, IndexCreated):
                    self._await_next(applied, step, change.index.id, change.index.state)
                elif isinstance(change, IndexStateSet):
                    self._await_next(applied, step, change.index_id, change.state)

    def _await_next(
        self, applied: AppliedUpdate, step: ObjectChange, index_id: int, state: str
    ) -> None:
        if state == PUBLIC:
            self.under_way.pop(index_id, None)
            return
        self.under_way[index_id] = None
        self.node.spawn(self._next(applied, step, index_id, state))

    @property
    def has_open_work(self) -> bool:
        """Whether an index is on its way to another state."""
        return bool(self.under_way)

    # --- the next state ---------------------------------------------------------------------------

    async def _next(
        self, applied: AppliedUpdate, step: ObjectChange, index_id: int, state: str
    ) -> None:
        """Wait until the state may end, then end it, or wait for the leader to do so."""
        node, table_id = self.node, step.object_id
        await node.clock_passes(applied.activation_ts)
        ready, tries = False, 0
        while True:
            found = index_of(self.metastorage.application.catalog.latest(), table_id, index_id)
            if found is None:
                self.under_way.pop(index_id, None)
                return
            if self._has_next(step, index_id):
                return
            table, index = found
            if not self.metastorage.group.is_leader:
                ready = False
                await node.sleep(node.settings.resend_us)
            elif not ready:
                ready = await self._may_end(applied, table, index_id, state)
            else:
                await self._end(applied, table, index, step, tries)
                tries += 1

    def _has_next(self, step: ObjectChange, index_id: int) -> bool:
        """Whether the index has got another state since a step of its table."""
        catalog = self.metastorage.application.catalog
        return any(
            isinstance(change, IndexStateSet) and change.index_id == index_id
            for later in catalog.steps(step.object_id, step.version, MAX_TIMESTAMP)
            for change in later.changes
        )

    async def _may_end(
        self, applied: AppliedUpdate, table: Table, index_id: int, state: str
    ) -> bool:
        """Whether the next state may come; waits before it says no."""
        drain = self.strategy.drain
        assert drain is not None, f"{self.strategy.name} has no states of indexes"
        if state != "reorganization":
            await drain(self, applied.activation_ts)
            return True
        for number in range(self._placement.partitions_of(table.id)):
            if not await self._is_filled((table.id, number), index_id):
                await self.node.sleep(self.node.settings.retry_us)
                return False
        return True

    async def _end(
        self, applied: AppliedUpdate, table: Table, index: Index, step: ObjectChange, tries: int
    ) -> None:
        """Submit the next state, as a compare-and-set; lost, it is looked at again."""
        if index.state == "reorganization":
            change = set_to(table, index, PUBLIC)
        elif any(isinstance(one, IndexCreated) for one in step.changes):
            change = set_to(table, index, "reorganization")
        else:
            change = removed(table, index)
        node, metastorage = self.node, self.metastorage
        name = f"{applied.update.op}/{index.id}.{change.version}@{node.name}.{tries}"
        version = metastorage.application.catalog.version
        update = CatalogUpdate(name, version, node.settings.delay_duration_ms, (change,))
        reply = await metastorage.submit(update)
        await metastorage.catalog_reaches(reply.catalog_version)
        if reply.accepted:
            node.probe("index-state-ended")

    # --- questions --------------------------------------------------------------------------------

    async def older_have_ended(self, before_ts: Timestamp) -> None:
        """Wait until no node that answers has an open transaction that began before a timestamp."""
        for name in self._nodes:
            while await self._has_older(name, before_ts):
                self.node.probe("index-drain")
                await self.node.sleep(self.node.settings.retry_us)

    async def _has_older(self, name: str, before_ts: Timestamp) -> bool:
        node = self.node
        wait_us = Micros(node.settings.election_timeout_ms * US_PER_MS)
        request = AreOlderOpen(node.clock.now(), before_ts)
        reply = await node.request(name, request, wait_us)
        if not isinstance(reply, Told):
            node.probe("index-drain-skipped")
            return False
        node.clock.update(reply.sent_ts)
        return reply.yes

    async def _on_are_older_open(self, _sender: str, request: AreOlderOpen) -> Told:
        """What begins behind the answer is later: this clock is past the timestamp."""
        node = self.node
        node.clock.update(request.sent_ts)
        await node.clock_passes(request.before_ts)
        open_ = any(
            tx.read_ts is None and tx.id.begin_ts < request.before_ts
            for tx in self._coordinator.transactions.values()
        )
        return Told(node.clock.now(), open_)

    async def _is_filled(self, place: PartitionId, index_id: int) -> bool:
        node, lease = self.node, self._leases.of(place)
        if lease is None:
            return False
        request = IsFilled(node.clock.now(), place, index_id)
        reply = await node.request(lease.holder, request, node.settings.resend_us)
        if not isinstance(reply, Told):
            return False
        node.clock.update(reply.sent_ts)
        return reply.yes

    def _on_is_filled(self, _sender: str, request: IsFilled) -> Told:
        self.node.clock.update(request.sent_ts)
        local = self._replicas.at(request.place)
        filled = local is not None and request.index_id in local.machine.index.complete
        return Told(self.node.clock.now(), filled)
