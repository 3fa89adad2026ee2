"""A meta storage group: voters and learners on a wire, each with a catalog and a safe time."""

from typing import Any

from ddlsim.kernel.engine import Loop
from ddlsim.model.ddl import ObjectChange
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, Submitted
from ddlsim.protocol.meta_commands import Stamped
from ddlsim.protocol.metastorage.metastorage import MetaStorage, MetaStorageConfig
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.metastorage.stages import Delays
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.iep import IEP
from ddlsim.units import MIN_TIMESTAMP, Timestamp
from tests.support.protocol import ADD, LONG_AGO_MS, FakeNode, T, Wire, catalog_of, run_until
from tests.support.schemas import statement

INITIAL = catalog_of((T, LONG_AGO_MS))


class Part:
    """One node's meta storage with what it stands on."""

    def __init__(self, wire: Wire, name: str, voters: str, learners: str, group: "Group") -> None:
        self.node = FakeNode(name, wire, **group.changes)
        self.catalog: Catalog = catalog_of((T, LONG_AGO_MS))
        self.sync = SchemaSync(self.node, group.strategy, self.catalog)
        self.delays = Delays()
        self.meta = MetaStorage(
            self.node,
            group.strategy,
            self.catalog,
            self.sync,
            Leases(self.node, restarted=False),
            MetaStorageConfig(
                tuple(voters),
                tuple(learners),
                voters[0],
                group.cluster_delay_ms,
                group.idle_ticks,
                group.start_ts,
            ),
            delays=self.delays,
        )

    @property
    def log(self) -> list[Stamped]:
        return [entry.command for entry in self.meta.group.member.log.entries]


class Group:
    """Voters and learners on a wire that takes 1 ms; the first voter leads. No idle ticks."""

    def __init__(
        self,
        voters: str = "abc",
        learners: str = "",
        *,
        strategy: Strategy = IEP,
        idle_ticks: bool = False,
        cluster_delay_ms: int = 100,
        start_ts: Timestamp = MIN_TIMESTAMP,
        **changes: Any,
    ) -> None:
        self.strategy, self.idle_ticks, self.changes = strategy, idle_ticks, changes
        self.cluster_delay_ms, self.start_ts = cluster_delay_ms, start_ts
        self.loop = Loop()
        self.wire = Wire(self.loop)
        self.wire.fate = lambda sent: (0 if sent.sender == sent.to else 1000,)
        self.parts = {
            name: Part(self.wire, name, voters, learners, self) for name in voters + learners
        }
        for part in self.parts.values():
            part.meta.start()
        self.loop.run(0)
        self.wire.sent.clear()  # the first heartbeat

    def __getitem__(self, name: str) -> Part:
        return self.parts[name]

    def submit(self, name: str, update: CatalogUpdate | NodeJoined) -> list[Submitted]:
        """Have a node submit an update; the answer is put into the list."""
        answers: list[Submitted] = []

        async def submitted() -> None:
            answers.append(await self.parts[name].meta.submit(update))

        self.parts[name].node.spawn(submitted())
        return answers

    def until(self, at_ms: float) -> None:
        run_until(self.loop, at_ms)

    def of(self, kind: type) -> list[Any]:
        """What all nodes recorded of one kind, in order."""
        return [event for part in self.parts.values() for event in part.node.of(kind)]


def objects(asked: str = ADD) -> tuple[ObjectChange, ...]:
    """What a statement makes of the initial schema."""
    built = build(statement(asked), INITIAL.latest(), INITIAL.latest().next_object_id)
    assert isinstance(built, Built)
    return built.objects


def update(op: str = "d", *, expected: int = 1, delay_ms: int = 100) -> CatalogUpdate:
    """An update that was built against a catalog version."""
    return CatalogUpdate(f"{op}/0", expected, delay_ms, objects())
