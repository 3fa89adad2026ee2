"""Tiny fakes of the protocol's ports, and the least that a protocol class needs to stand alone.

`FakeNode` answers the ports over the kernel's `Loop` and nothing else of the kernel: no hosts, no
network, no clock object. A `Wire` joins fake nodes; it writes down all that is sent and delivers it
at once, unless a test says what becomes of a message. Waits for the clock are a plain loop that
looks every millisecond, so that nothing here can share a fault with the real adapters.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from inspect import iscoroutine
from typing import Any, NamedTuple, TypeVar

from ddlsim.kernel.engine import Future, Loop, Timer
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import NO_REPLY, Handler
from ddlsim.model.schema import Table
from ddlsim.model.settings import DEFAULTS, Settings, complete
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.messages import CatalogUpdate
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.server import Parts
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.strategies.iep import IEP
from ddlsim.units import MIN_TIMESTAMP, Micros, Timestamp, timestamp
from tests.support.schemas import install, statement

Result = TypeVar("Result")
T = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
ADD = "ALTER TABLE t ADD COLUMN w INT"
DROP = "ALTER TABLE t DROP COLUMN v"
LONG_AGO_MS = -86_400_000
NEVER = timestamp(10**9)


def settings(**changes: Any) -> Settings:
    """DD 100 ms, CSmax 10 ms, H 50 ms, and patience that a test can wait for."""
    numbers: dict[str, Any] = {
        "delay_duration_ms": 100,
        "max_clock_skew_ms": 10,
        "safe_time_interval_ms": 50,
        "operation_timeout_ms": 400,
        "resend_ms": 20,
        "ddl_attempts": 3,
        "lock_retries": 2,
        "election_timeout_ms": 1_000_000,
    }
    return Settings(**complete(DEFAULTS | numbers | changes))


def without_wait(work: Coroutine[Any, None, Result]) -> Result:
    """What a coroutine comes to that has nothing to wait for; fails if it waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the coroutine returns
    raise AssertionError(f"{work} waits")


class Sent(NamedTuple):
    """A message on a wire; `exchange` is 0 one way, n for request n and -n for its reply."""

    sender: str
    to: str
    payload: Any
    exchange: int


Fate = Callable[[Sent], Sequence[int]]
"""When each copy of a message arrives, in microseconds from now: (0,) is the ordinary fate."""


class Wire:
    """Joins fake nodes and writes down what they say."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.nodes: dict[str, FakeNode] = {}
        self.sent: list[Sent] = []
        self.fate: Fate = lambda _: (0,)

    def post(self, sent: Sent) -> None:
        """Take a message; every copy of it arrives when its fate says so."""
        self.sent.append(sent)
        for delay_us in self.fate(sent):
            self.loop.call_later(delay_us, self.nodes[sent.to].take, sent)

    def payloads(self, kind: type) -> list[Any]:
        """The messages of one kind so far."""
        return [sent.payload for sent in self.sent if type(sent.payload) is kind]


class FakeNode:
    """A node as the protocol sees it."""

    def __init__(self, name: str, wire: Wire, **changes: Any) -> None:
        self.name = name
        self.wire = wire
        self.loop = self.watch = wire.loop
        self.ahead_ms = 0
        self.clock = HybridClock(lambda: self.loop.now_us // 1000 + self.ahead_ms)
        self.settings = settings(**changes)
        self.disk: dict[str, Any] = {}
        self.recording = True
        self.disk_delay_us = 0
        self.tracing = False
        self.events: list[Any] = []
        self.probes: Counter[str] = Counter()
        self.handlers: dict[type, Handler] = {}
        self.pauses: dict[str, Future[Any]] = {}
        self._once: dict[object, None] = {}
        self._pending: dict[int, Future[Any]] = {}
        self._requests = 0
        wire.nodes[name] = self

    # --- messages --------------------------------------------------------------------------------

    def on(self, payload_type: type, handler: Handler) -> None:
        assert payload_type not in self.handlers, f"two handlers of {payload_type.__name__}"
        self.handlers[payload_type] = handler

    def send(self, to: str, payload: object, label: int | None = None) -> None:
        del label
        self.wire.post(Sent(self.name, to, payload, 0))

    def request(
        self, to: str, payload: object, timeout_us: int, label: int | None = None
    ) -> Future[Any]:
        del label
        self._requests += 1
        self._pending[self._requests] = future = self.loop.future()
        self.loop.call_later(timeout_us, self._answered, self._requests, NO_REPLY)
        self.wire.post(Sent(self.name, to, payload, self._requests))
        return future

    def take(self, sent: Sent) -> None:
        """The wire's side: an answer, or something to be handled."""
        if sent.exchange < 0:
            self._answered(-sent.exchange, sent.payload)
            return
        result = self.handlers[type(sent.payload)](sent.sender, sent.payload)
        if iscoroutine(result):
            self.spawn(self._serve(sent, result))
        else:
            self._reply(sent, result)

    async def _serve(self, sent: Sent, result: Coroutine[Any, Any, Any]) -> None:
        self._reply(sent, await result)

    def _reply(self, sent: Sent, value: object) -> None:
        if value is not None and sent.exchange:
            self.wire.post(Sent(self.name, sent.sender, value, -sent.exchange))

    def _answered(self, number: int, value: object) -> None:
        future = self._pending.pop(number, None)
        if future is not None:
            future.set(value)

    # --- tasks and time --------------------------------------------------------------------------

    def spawn(self, task: Coroutine[Any, Any, Any]) -> None:
        self.loop.spawn(task)

    def sleep(self, duration_us: int) -> Future[None]:
        return self.loop.sleep(duration_us)

    def sleep_by_clock(self, duration_us: int) -> Future[None]:
        return self.loop.sleep(duration_us)

    def spread(self, purpose: str, bound_us: int) -> Micros:
        """Nothing is left to chance here: each node, by its name, has a fixed share."""
        del purpose
        return Micros(bound_us * (1 + sum(map(ord, self.name)) % 7) // 8)

    def call_later(self, delay_us: int, fn: Callable[..., None], *args: object) -> Timer:
        return self.loop.call_later(delay_us, fn, *args)

    def future(self) -> Future[Any]:
        return self.loop.future()

    async def clock_passes(self, ts: Timestamp) -> None:
        while self.clock.current() < ts:
            await self.loop.sleep(1000 - self.loop.now_us % 1000)

    # --- the record ------------------------------------------------------------------------------

    def record(self, event: object) -> None:
        self.events.append(event)

    def is_first(self, key: object) -> bool:
        if key in self._once:
            return False
        self._once[key] = None
        return True

    def probe(self, name: str) -> None:
        self.probes[name] += 1

    def pause_at(self, point: str, tx: str | None = None) -> Awaitable[None] | None:
        del tx
        return self.pauses.pop(point, None)

    def of(self, kind: type) -> list[Any]:
        """The recorded events of one kind."""
        return [event for event in self.events if type(event) is kind]


def run_until(loop: Loop, at_ms: float) -> None:
    """Let everything up to an instant happen."""
    loop.run(until_us=round(at_ms * 1000))


def result_of(loop: Loop, asked: Any, within_ms: int = 2_000) -> Any:
    """What a coroutine comes to; it must come to something in time. Time stands at that instant."""
    if not isinstance(asked, Coroutine):
        return asked
    results: list[Any] = []

    async def watched() -> None:
        results.append(await asked)
        loop.stop()

    loop.spawn(watched())
    loop.run(until_us=loop.now_us + within_ms * 1000)
    assert results, f"no result within {within_ms} ms"
    return results[0]


async def awaited(future: Future[Any]) -> Any:
    """A future as a coroutine."""
    return await future


# --- catalogs ------------------------------------------------------------------------------------


def catalog_of(*versions: tuple[str, int]) -> Catalog:
    """A catalog after some statements, each effective from an instant (in ms) on."""
    catalog = Catalog()
    for asked, activation_ms in versions:
        install(catalog, asked, activation_ms)
    return catalog


def two_versions(change: str = ADD, at_ms: int = 50) -> Catalog:
    """Table t, id 1: as it was long ago, and changed from an instant on."""
    return catalog_of((T, LONG_AGO_MS), (change, at_ms))


def table_t(catalog: Catalog, version: int = 1) -> Table:
    """Table t at one of its versions."""
    found = catalog.definition(1, version)
    assert isinstance(found, Table), found
    return found


def change(catalog: Catalog, asked: str, activation_ts: Timestamp) -> AppliedUpdate:
    """Carry a statement out upon a catalog; the update as the meta storage would tell of it."""
    latest = catalog.latest()
    built = build(statement(asked), latest, latest.next_object_id)
    assert isinstance(built, Built), built
    version = catalog.version + 1
    catalog.apply(version, activation_ts, activation_ts, built.objects)
    update = CatalogUpdate(f"{asked}/0", version - 1, 0, built.objects)
    return AppliedUpdate(activation_ts, activation_ts, version, update)


# --- nodes that serve transactions ---------------------------------------------------------------


FIRST_LEASE = Timestamp(MIN_TIMESTAMP + 1)
"""Every first primary's lease begins here, and lasts."""


class Member:
    """What one node of a stage has."""

    def __init__(
        self, stage: "Stage", name: str, changes: dict[str, Any], *, restarted: bool = False
    ) -> None:
        self.node = FakeNode(name, stage.wire, **changes)
        self.sync = SchemaSync(self.node, stage.strategy, stage.catalog)
        self.sync.advance_safe_time(NEVER)
        self.leases = Leases(self.node, restarted=restarted)
        placement = Placement(
            stage.names,
            stage.placed,
            stage.catalog,
            partitions=stage.partitions,
            replicas=stage.replicas,
        )
        self.replicas = ReplicaManager(
            self.node,
            stage.strategy,
            self.sync,
            self.leases,
            placement,
            partition_class=stage.parts.partition,
            member_class=stage.parts.member,
            birth_ts=FIRST_LEASE,
        )
        locks: LockTable = stage.parts.locks(self.node.future)
        self.replica: Replica = stage.parts.replica(
            self.node,
            stage.strategy,
            self.sync,
            locks,
            self.replicas,
            self.leases,
            stage.names,
            metastorage_leader=lambda: stage.metastorage_leader,
        )
        self.readers = Readers(self.node, stage.strategy, self.sync, self.replicas, self.replica)
        self.coordinator = Coordinator(
            self.node,
            stage.names.index(name),
            stage.strategy,
            self.sync,
            self.replica.participant,
            self.leases,
            placement,
        )
        for table_id in range(1, 20):
            for number in range(max(stage.partitions, 5)):
                holder = placement.replicas_of((table_id, number))[0]
                self.leases.begin(Lease((table_id, number), holder, FIRST_LEASE, NEVER))


class Stage:
    """Coordinators and primaries on a wire, whose one catalog is always complete.

    Node n1 coordinates; with the two nodes and two partitions that are the rule, key k of table t
    (id 1) is served by n2 if k is even and by n1 if it is odd. `client` asks.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        strategy: Strategy = IEP,
        names: tuple[str, ...] = ("n1", "n2"),
        partitions: int = 2,
        replicas: int = 1,
        placed: dict[PartitionId, str] | None = None,
        parts: Parts | None = None,
        **changes: Any,
    ) -> None:
        self.loop = Loop()
        self.wire = Wire(self.loop)
        self.catalog = catalog or catalog_of((T, LONG_AGO_MS))
        self.strategy = strategy
        self.names = names
        self.partitions = partitions
        self.replicas = replicas
        self.placed = placed or {}
        self.metastorage_leader: str | None = None
        self.parts = parts or Parts()
        self.members = {name: Member(self, name, changes) for name in names}
        self.client = FakeNode("client", self.wire)

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    @property
    def events(self) -> list[Any]:
        """What all nodes recorded."""
        return [event for member in self.members.values() for event in member.node.events]

    def of(self, kind: type) -> list[Any]:
        """What all nodes recorded of one kind."""
        return [event for event in self.events if type(event) is kind]

    def ask(self, payload: object, to: str = "n1") -> Future[Any]:
        """Send a request; its answer is for later."""
        return self.client.request(to, payload, 10_000_000)

    def asked(self, payload: object, to: str = "n1") -> Any:
        """Send a request and wait for its answer."""
        return result_of(self.loop, awaited(self.ask(payload, to)))

    def later(self, by_ms: float) -> None:
        """Let time go by."""
        self.loop.run(until_us=self.loop.now_us + round(by_ms * 1000))

    def alter(self, asked: str, activation_ts: Timestamp) -> None:
        """An update becomes known to every node, effective from a timestamp on."""
        applied = change(self.catalog, asked, activation_ts)
        for member in self.members.values():
            member.coordinator.marks.watch(applied)
