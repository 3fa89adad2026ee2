"""Processes of the layer on the simulated store: random clients, statements and crashes."""

import random
from collections import Counter
from typing import Any

from ddlsim.cluster.adapters import NodePort, Pauses, Recorder
from ddlsim.fdb.config import FdbConfig, plain_config
from ddlsim.fdb.database import Database
from ddlsim.fdb.settings import FdbSettings
from ddlsim.history.history import Header, History
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.host import Host
from ddlsim.kernel.rng import Constant
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import INDEXES, OUTCOMES, ROWS, SCHEMA
from ddlsim.layer.part import LayerBoot
from ddlsim.layer.process import LayerProcess
from ddlsim.layer.switches import switches_of
from ddlsim.model.hlc import HybridClock
from ddlsim.protocol.messages import Answer, ClientCommit, ClientDdl, ClientOperation, Refusal
from tests.support.fdb import FdbWorld
from tests.support.layer import T, initial, misjudged
from tests.support.protocol import settings
from tests.support.schemas import statement

SHARDS = ((), (INDEXES,), (SCHEMA,), (OUTCOMES,))
"""Rows and the rest, entries, the schema, outcomes: each a shard of its own."""


def config(design: LayerDesign, **changes: Any) -> FdbConfig:
    """Two proxies, two resolvers, three storage servers, and the switches of a design."""
    switched = FdbSettings(**dict.fromkeys(switches_of(design), True), **changes)
    return plain_config(
        switched,
        grvs=1,
        proxies=2,
        logs=1,
        storages=3,
        replicas=1,
        shard_begins=SHARDS,
        resolver_begins=((), (SCHEMA,)),
    )


class LayerWorld(FdbWorld):
    """Three processes of a design; every event is in `history`."""

    def __init__(self, design: LayerDesign, *, seed: int = 1, **changes: Any) -> None:
        super().__init__(config(design, **changes), seed=seed, clients=3, latency=Constant(1))
        self.design = design
        self.history = History(
            Header(1, "test", "layer", "", {}, seed, design.header, None, {}, (), {})
        )
        self.recorder = Recorder(self.history, recording=True)
        self.pauses = Pauses()
        self.layers: dict[str, LayerProcess] = {}
        self.schema = initial(T)
        for name in self.clients:
            self.start(name, restarted=False)
        self.dice = random.Random(seed)
        self.machines = {
            name: Host(self.loop, self.network, name, PhysicalClock(self.loop))
            for name in ("k1", "k2", "k3", "k4")
        }
        self.answers: Counter[str] = Counter()
        self._ops = 0

    def start(self, name: str, *, restarted: bool) -> None:
        """Start a process of the layer."""
        patient = settings(tx_timeout_ms=5000, ddl_attempts=20, operation_timeout_ms=5000)
        port = NodePort(self.hosts[name], patient, self.recorder, self.pauses, HybridClock)
        boot = LayerBoot(self.schema, 0, self.config.settings, restarted)
        self.layers[name] = LayerProcess(port, self.design, Database(port, self.config), boot)
        self.layers[name].start()

    def end_process(self, name: str) -> None:
        """Crash a process of the layer, and start it again a moment later."""
        self.hosts[name].crash()
        self.loop.call_later(
            200_000, self.hosts[name].restart, lambda: self.start(name, restarted=True)
        )

    # --- clients ----------------------------------------------------------------------------------

    async def ask(self, machine: str, to: str, request: Any) -> Any:
        """Send a request, and count what came of it."""
        reply = await self.machines[machine].request(to, request, 8_000_000)
        what = reply.reason.name if isinstance(reply, Refusal) else type(reply).__name__
        self.answers[f"{type(request).__name__} {what}"] += 1
        return reply

    def operation(self, tx: str, **more: Any) -> ClientOperation:
        """A random operation."""
        self._ops += 1
        key, dice = self.dice.randrange(8), self.dice
        action = dice.choice(
            ("put", "put", "insert", "delete", "delete", "update", "get", "scan", "find")
        )
        values = {"v": dice.randrange(4)}
        return ClientOperation(
            f"o{self._ops}", tx, action, "t", None if action in {"scan", "find"} else key, None, 0,
            values=None if action in {"get", "scan", "delete"} else values, index="i", **more,
        )  # fmt: skip

    async def client(self, machine: str, transactions: int, pace_us: int) -> None:
        """Transactions one after the other, at any process."""
        for number in range(transactions):
            await self.loop.sleep(self.dice.randrange(pace_us))
            tx, node = f"{machine}.{number}", self.dice.choice(self.clients)
            read_only = not self.dice.randrange(4)
            if not self.dice.randrange(3):
                await self.ask(machine, node, self.operation(tx, implicit=True))
                continue
            reply: Any = None
            for place in range(self.dice.randrange(1, 4)):
                if place:
                    await self.loop.sleep(self.dice.randrange(pace_us))
                more = {"begins": not place, "read_only": read_only}
                request = self.operation(tx, **more)
                while read_only and request.action not in {"get", "scan", "find"}:
                    request = self.operation(tx, **more)
                reply = await self.ask(machine, node, request)
                if not isinstance(reply, Answer):
                    break
            if isinstance(reply, Answer):
                await self.ask(machine, node, ClientCommit(f"{tx}.c", tx))

    async def statements(self, machine: str, *texts: str) -> None:
        """Statements one after the other, at any process."""
        for number, text in enumerate(texts):
            await self.loop.sleep(self.dice.randrange(100_000))
            node = self.dice.choice(self.clients)
            request = ClientDdl(f"d{number}", statement(text))
            reply = await self.machines[machine].request(node, request, 120_000_000)
            what = reply.reason.name if isinstance(reply, Refusal) else type(reply).__name__
            self.answers[f"{text.split(' (')[0]} {what}"] += 1

    # --- what is left -----------------------------------------------------------------------------

    def stored(self) -> dict[Any, Any]:
        """What the storage servers hold, once nothing happens any more."""
        return {
            key: value
            for name, process in self.processes.items()
            if name.startswith("storage")
            for key, value in process.values()
            if name in self.config.team_of(key)
        }

    def wrong_entries(self) -> tuple[list[Any], list[Any]]:
        """(entries without such a row, rows without their entry), of index i on v."""
        log = max((one.part.log for one in self.layers.values()), key=lambda log: log.number)
        table = log.latest().index_owner("i")
        held = self.stored()
        rows = {
            (value[3][1], key[2])
            for key, value in held.items()
            if key[0] == ROWS and value[3] is not None
        }
        entries = {(key[2], key[4]) for key in held if key[0] == INDEXES}
        missing = sorted(rows - entries) if table and table.indexes[0].state == "public" else []
        return sorted(entries - rows), missing

    def misjudged(self) -> list[tuple[str, str]]:
        """Look-ups that did not give what is in force at their time: (transaction, purpose)."""
        return misjudged(self.history.events)
