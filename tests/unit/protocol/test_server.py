"""A node is put together: the class of each part, and how they are connected."""

from typing import Any

from ddlsim.kernel.engine import Loop
from ddlsim.model.ddl import ObjectChange
from ddlsim.protocol import barriers, messages, replica_messages
from ddlsim.protocol.index_build import index_states
from ddlsim.protocol.messages import Answer, ClientOperation, Mismatch
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.raft import RAFT_MESSAGES, Member
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.server import ClusterConfig, Parts, Server
from ddlsim.protocol.transaction.locks import LockTable
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.strategies.iep import IEP
from ddlsim.units import timestamp
from tests.support.protocol import LONG_AGO_MS, FakeNode, T, Wire, awaited, result_of, run_until
from tests.support.schemas import outcome_of

BOOT_TS = timestamp(LONG_AGO_MS)


def schema() -> tuple[tuple[ObjectChange, ...], ...]:
    """Two versions: table t, and a column more."""
    made: list[Any] = [outcome_of("", T), outcome_of(f"{T};", "ALTER TABLE t ADD COLUMN w INT")]
    return tuple(built.objects for built in made)


def config(**changes: Any) -> ClusterConfig:
    fields: dict[str, Any] = {
        "nodes": ("n1", "n2", "n3"),
        "voters": ("n2", "n1"),
        "leader": "n2",
        "partitions": 1,
        "replicas": 1,
        "placed": {(1, 0): "n3"},
        "initial_schema": schema(),
        "boot_ts": BOOT_TS,
        "start_ts": timestamp(0, 1),
        "cluster_delay_ms": 100,
        "idle_ticks": True,
    }
    return ClusterConfig(**(fields | changes))


class Three:
    """Three servers on a wire."""

    def __init__(self, parts: Parts | None = None, **changes: Any) -> None:
        self.loop = Loop()
        self.wire = Wire(self.loop)
        told = config(**changes)
        self.servers = {
            name: Server(FakeNode(name, self.wire), IEP, told, parts or Parts())
            for name in told.nodes
        }
        for server in self.servers.values():
            server.start()
        self.client = FakeNode("c", self.wire)

    def ask(self, payload: object, to: str = "n1") -> Any:
        return result_of(self.loop, awaited(self.client.request(to, payload, 10_000_000)))


def test_every_node_starts_with_the_initial_schema_and_a_safe_time() -> None:
    """One catalog version for each of its statements."""
    for server in Three().servers.values():
        assert server.catalog.version == 2
        assert server.catalog.activation_of(2) == BOOT_TS
        assert server.catalog.at(BOOT_TS).version == 2
        assert server.sync.safe_time == timestamp(0, 1)


def test_every_message_has_a_handler_on_every_node() -> None:
    """Every request, that is; answers go to the requesting node."""
    requests = {
        messages.ClientBegin,
        messages.ClientOperation,
        messages.ClientCommit,
        messages.ClientRollback,
        messages.ClientDdl,
        messages.Operate,
        messages.Finish,
        messages.Cleanup,
        messages.Submit,
        replica_messages.Read,
        replica_messages.Replicated,
        replica_messages.AreReplicated,
        replica_messages.LeaseFenced,
        replica_messages.TxStateRequest,
        replica_messages.RecoverTx,
        replica_messages.LeaseGrant,
        replica_messages.PartitionRaft,
        replica_messages.PartitionSubmit,
        barriers.Prepare,
        barriers.Switch,
        index_states.AreOlderOpen,
        index_states.IsFilled,
        *RAFT_MESSAGES,
    }
    three = Three()
    for name in three.servers:
        assert set(three.wire.nodes[name].handlers) == requests


def test_leader_ticks_and_other_nodes_apply() -> None:
    """Voters and learners are told apart by the configuration."""
    three = Three()
    run_until(three.loop, 60)
    safe_times = {server.sync.safe_time for server in three.servers.values()}
    assert safe_times == {timestamp(50)}
    assert [server.metastorage.group.is_leader for server in three.servers.values()] == [
        False,
        True,
        False,
    ]
    silent = Three(idle_ticks=False)
    run_until(silent.loop, 200)
    assert {server.sync.safe_time for server in silent.servers.values()} == {timestamp(0, 1)}


def test_coordinators_know_where_partitions_are_and_activations_reach_them() -> None:
    """A put goes to the node that was placed by hand; a DDL marks transactions it dooms."""
    three = Three()
    put = ClientOperation("o", "x", "put", "t", 1, (1, 2, 3), 2, 1, begins=True)
    assert type(three.ask(put)) is Answer
    assert three.servers["n3"].replica.has_open_work
    built: Any = outcome_of(f"{T}; ALTER TABLE t ADD COLUMN w INT;", "ALTER TABLE t DROP COLUMN v")
    node = three.wire.nodes["n2"]
    node.spawn(three.servers["n2"].metastorage.submit(
        messages.CatalogUpdate("d/0", 2, 100, built.objects)
    ))  # fmt: skip
    run_until(three.loop, 300)
    assert three.wire.nodes["n1"].probes["marked-rollback"] == 1
    assert not three.servers["n3"].replica.has_open_work


def test_a_restarted_node_has_the_first_leases_behind_it() -> None:
    """They began by another clock, which is ahead here; the locks under them are gone."""
    three = Three(start_ts=timestamp(245))
    assert three.servers["n3"].leases.held((1, 0))
    again = FakeNode("n3", three.wire)
    server = Server(again, IEP, config(start_ts=timestamp(245)), Parts(), restarted=True)
    server.start()
    run_until(three.loop, 60)
    assert not server.leases.held((1, 0))
    joined = three.servers["n2"].metastorage.application.joined
    assert joined["n3"] > timestamp(245), "else its lease is prolonged"


def test_two_coordinators_never_give_the_same_id() -> None:
    """Each has a number of its own, though their clocks show the same."""
    three = Three()
    ids = []
    for name in three.servers:
        ask = ClientOperation("o", f"x{name}", "get", "t", 1, None, 2, 1, begins=True)
        assert type(three.ask(ask, name)) is Answer
        ids.append(three.wire.payloads(messages.Operate)[-1].tx)
    assert [tx.ordinal for tx in ids] == [0, 1, 2]


def test_each_part_can_be_replaced() -> None:
    """And the replacement is what runs."""
    used: list[str] = []

    class OtherCatalog(Catalog):
        __slots__ = ()

        def at(self, ts: Any) -> Any:
            used.append("catalog")
            return super().at(ts)

    class OtherLocks(LockTable):
        def acquire(self, tx: Any, resource: Any, mode: int) -> Any:
            used.append("locks")
            return super().acquire(tx, resource, mode)

    class OtherMember(Member):
        def propose(self, command: object) -> int:
            used.append("member")
            return super().propose(command)

    class OtherSync(SchemaSync):
        __slots__ = ()

        def advance_safe_time(self, ts: Any) -> None:
            used.append("sync")
            super().advance_safe_time(ts)

    class OtherReplica(Replica):
        async def operate(self, sender: str, request: Any) -> Any:
            used.append("replica")
            return await super().operate(sender, request)

    three = Three(
        Parts(
            catalog=OtherCatalog,
            locks=OtherLocks,
            member=OtherMember,
            sync=OtherSync,
            replica=OtherReplica,
        )
    )
    get = ClientOperation("o", "x", "get", "t", 1, None, 1, 1, begins=True)
    assert type(three.ask(get)) is Mismatch
    get = ClientOperation("o", "x", "get", "t", 1, None, 2, 1)
    assert type(three.ask(get)) is Answer
    run_until(three.loop, 60)
    assert set(used) == {"catalog", "locks", "member", "sync", "replica"}
