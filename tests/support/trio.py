"""Table t's one partition, replicated on three nodes, 1 ms apart; n1 is primary and leads it."""

from typing import Any

from ddlsim.kernel.engine import Future
from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import WriteIntent
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.replica_messages import PartitionRaft, Read, Replicated
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import PLACE
from tests.support.protocol import FIRST_LEASE, NEVER, Sent, Stage

NAMES = ("n1", "n2", "n3")


def intent(tx: TxId, key: Key = 1, value: int = 5, op: str = "w", **more: Any) -> WriteIntent:
    """A command that writes a row of table t."""
    fields: dict[str, Any] = {
        "tx": tx,
        "op": op,
        "op_ts": Timestamp(10),
        "key": key,
        "version": 1,
        "row": (key, value),
        "lease_start": FIRST_LEASE,
        "commit_place": PLACE,
        "catalog_version": 1,
    }
    return WriteIntent(**(fields | more))


class Trio(Stage):
    """`cut` are nodes that nobody reaches; where `raft_stops`, nothing is replicated."""

    def __init__(self, *, partitions: int = 1, replicas: int = 3, **changes: Any) -> None:
        placed = {(1, number): "n1" for number in range(partitions)}
        super().__init__(
            names=NAMES, partitions=partitions, replicas=replicas, placed=placed, **changes
        )
        self.cut: set[str] = set()
        self.raft_stops = False
        self.wire.fate = self._fate
        for name in NAMES[:replicas]:
            self.local(name)
        self.news: list[Replicated] = []
        self.client.on(Replicated, lambda _, news: self.news.append(news))
        self._ops = 0

    def _fate(self, sent: Sent) -> tuple[int, ...]:
        if {sent.sender, sent.to} & self.cut:
            return ()
        if self.raft_stops and type(sent.payload) is PartitionRaft:
            return ()
        return (0,) if "client" in (sent.sender, sent.to) or sent.sender == sent.to else (1000,)

    def local(self, name: str = "n1", place: tuple[int, int] = PLACE) -> LocalReplica:
        """A node's replica."""
        local = self[name].replicas.at(place)
        assert local is not None, f"{name} holds nothing of {place}"
        return local

    def led_by(self, name: str) -> None:
        """Hand the partition's group over."""
        self.local("n1").group.transfer_to(name)
        self.later(10)
        assert self.local(name).group.is_leader

    def lease(
        self,
        holder: str,
        start_ts: Timestamp,
        until: Timestamp = NEVER,
        place: tuple[int, int] = PLACE,
    ) -> None:
        """Every node learns of a lease."""
        for member in self.members.values():
            member.leases.begin(Lease(place, holder, start_ts, until))

    def ran(self, name: str, command: Any, within_ms: float = 30) -> Any:
        """Run a command through the group at a node, and wait for its result."""
        results: list[Any] = []

        async def run() -> None:
            results.append(await self[name].replicas.run(self.local(name), command))

        self[name].node.spawn(run())
        self.later(within_ms)
        assert results, f"{command} has come to nothing yet"
        return results[0]

    def send(
        self, who: TxId, action: str, key: Key = 1, row: Any = None, to: str = "n1", **more: Any
    ) -> Future[Any]:
        """Send an operation to a primary; its answer is for later."""
        self._ops += 1
        fields: dict[str, Any] = {
            "sent_ts": Timestamp(0),
            "tx": who,
            "op": f"op{self._ops}",
            "action": action,
            "table_id": 1,
            "partition": 0,
            "initial": 1,
            "key": key,
            "row": row,
            "lease_start": FIRST_LEASE,
            "commit_place": PLACE,
        }
        return self.ask(Operate(**(fields | more)), to)

    def read(self, who: TxId, read_ts: Timestamp, key: Any = 1, to: str = "n1") -> Future[Any]:
        """Ask a replica for the past; `key` None: for all of it."""
        self._ops += 1
        action = "scan" if key is None else "get"
        asked = Read(Timestamp(0), who, f"op{self._ops}", action, 1, 0, 1, key, read_ts)
        return self.ask(asked, to)

    def heard(self) -> list[tuple[str, Reason | None]]:
        """What the client, as coordinator, was told of the writes that were answered early."""
        return [(news.op, news.reason) for news in self.news]

    def rows(self, name: str) -> dict[Key, list[Any]]:
        """The committed rows of a replica, each key's oldest first."""
        machine = self.local(name).machine
        return {key: [v.row for v in versions] for key, versions in machine.rows.items()}

    def next_lease(self, holder: str) -> Timestamp:
        """The node makes itself ready, and is primary from now on; the token."""
        token = timestamp(round(self.loop.now_us / 1000) + 1)
        ready: list[bool] = []

        async def become() -> None:
            ready.append(await self[holder].replicas.become_primary(PLACE, token))

        self[holder].node.spawn(become())
        self.later(50)
        assert ready == [True]
        self.lease(holder, token)
        return token
