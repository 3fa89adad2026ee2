"""A small cluster of the second plane on the simulated kernel: processes, clients, faults."""

from collections import Counter
from collections.abc import Coroutine
from typing import Any

from ddlsim.cluster.adapters import NodePort, Pauses, Recorder
from ddlsim.fdb.config import FdbConfig, plain_config
from ddlsim.fdb.database import Database
from ddlsim.fdb.errors import FdbError
from ddlsim.fdb.processes import CLASSES, Classes, boot
from ddlsim.fdb.transaction import Transaction, TxOptions
from ddlsim.history.history import History
from ddlsim.kernel.channel import Envelope, LinkProfile
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Constant, Distribution, quantiles
from ddlsim.model.hlc import HybridClock
from tests.support.protocol import settings

SETTINGS = settings()


class Header:
    """Stands where a history has its header: nothing here reads it."""


class FdbWorld:
    """The processes of a configuration, and client machines c1, c2, …, each with a `Database`."""

    def __init__(
        self,
        config: FdbConfig | None = None,
        *,
        seed: int = 1,
        clients: int = 1,
        latency: Distribution | None = None,
        classes: Classes = CLASSES,
        tapped: bool = False,
    ) -> None:
        self.config = config or plain_config()
        self.loop = Loop()
        self.network = Network(self.loop, seed)
        self.network.configure(LinkProfile(latency=quantiles(latency or Constant(1))))
        self.classes = classes
        history = History(Header())  # type: ignore[arg-type]  # no event is judged here
        self.probes: Counter[str] = history.probes
        self._recorder = Recorder(history, recording=False)
        self._pauses = Pauses()
        self.roles = {name: role for role, name in self.config.processes}
        self.clients = tuple(f"c{1 + i}" for i in range(clients))
        self.hosts = {
            name: Host(self.loop, self.network, name, PhysicalClock(self.loop))
            for name in (*self.roles, *self.clients)
        }
        self.arrived: list[Any] = []
        if tapped:
            for host in self.hosts.values():
                self._tap(host)
        self.processes: dict[str, Any] = {}
        self.databases: dict[str, Database] = {}
        for name in self.roles:
            self._boot(name, restarted=False)
        for name in self.clients:
            self.databases[name] = Database(self.port(name), self.config)
        self.run(0)

    def port(self, name: str) -> NodePort:
        """A port to a machine's present incarnation."""
        return NodePort(self.hosts[name], SETTINGS, self._recorder, self._pauses, HybridClock)

    def _boot(self, name: str, *, restarted: bool) -> None:
        port = self.port(name)
        self.processes[name] = boot(self.roles[name], port, self.config, restarted, self.classes)

    def _tap(self, host: Host) -> None:
        """Write down each message that is not an answer, when it arrives."""
        deliver = host.receive

        def receive(envelope: Envelope) -> None:
            if envelope.answers is None:
                self.arrived.append(envelope.payload)
            deliver(envelope)

        host.receive = receive  # type: ignore[method-assign]  # before any channel leads there

    def of(self, kind: type) -> list[Any]:
        """The messages of a kind that have arrived, in a world that is tapped."""
        return [payload for payload in self.arrived if type(payload) is kind]

    def crash(self, name: str) -> None:
        """End a process."""
        self.hosts[name].crash()

    def restart(self, name: str) -> None:
        """Begin a process again, with its disk."""
        self.hosts[name].restart(lambda: self._boot(name, restarted=True))

    def run(self, ms: float) -> None:
        """Let time go by."""
        self.loop.run(until_us=self.loop.now_us + round(ms * 1000))

    def spawn(self, work: Coroutine[Any, Any, Any], client: str = "c1") -> None:
        """A task on a client's machine."""
        self.hosts[client].spawn(work)

    def do(
        self, work: Coroutine[Any, Any, Any], client: str = "c1", within_ms: int = 60_000
    ) -> Any:
        """What a task on a client's machine comes to; it must come to something in time."""
        results: list[Any] = []

        async def watched() -> None:
            try:
                results.append(await work)
            except FdbError as error:
                results.append(error.code)
            self.loop.stop()

        self.hosts[client].spawn(watched())
        self.loop.run(until_us=self.loop.now_us + within_ms * 1000)
        assert results, f"no result within {within_ms} ms"
        return results[0]

    def tx(self, client: str = "c1", **options: Any) -> Transaction:
        """A transaction of a client."""
        return self.databases[client].transaction(TxOptions(**options))
