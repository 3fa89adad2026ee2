"""One primary with one partition of table t, and three transactions of different age."""

from typing import Any

from ddlsim.kernel.engine import Future
from ddlsim.model.ops import Key
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Cleaned, Cleanup, Operate, Operated
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.units import Timestamp
from tests.support.protocol import FIRST_LEASE, Stage, without_wait


def tx(begin: int) -> TxId:
    """Smaller is older; the label tells the age."""
    return TxId(Timestamp(begin), 0, f"tx{begin}")


OLD, YOUNG, LAST = tx(1), tx(2), tx(3)
PLACE = (1, 0)


class Primary(Stage):
    """One primary, n1, that serves the only partition of table t."""

    def __init__(self, catalog: Catalog | None = None, **changes: Any) -> None:
        super().__init__(catalog, names=("n1", "n2"), partitions=1, placed={PLACE: "n1"}, **changes)
        self.node = self["n1"].node
        self.replica = self["n1"].replica
        self._ops = 0

    def send(
        self, who: TxId, action: str, key: Key = 1, row: Any = None, **more: Any
    ) -> Future[Any]:
        """Send an operation; its answer is for later. Its fields can be set by name."""
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
        return self.ask(Operate(**(fields | more)))

    def do(self, who: TxId, action: str, key: Key = 1, row: Any = None, **more: Any) -> Operated:
        """Send an operation and wait for its answer."""
        future = self.send(who, action, key, row, **more)
        self.later(0)
        assert future.done, f"{action} waits"
        assert type(future.value) is Operated
        return future.value

    def put(self, who: TxId, key: Key, value: int, **more: Any) -> Operated:
        return self.do(who, "put", key, (key, value), **more)

    def committed(self, key: Key, row: Any, *, version: int = 1) -> None:
        """A row that a transaction of long ago has left, under one of the table's versions."""
        author = TxId(Timestamp(-1), self._ops, f"author{self._ops}")
        assert self.do(author, "put", key, row, initial=version).reason is None
        self.ended(author, Timestamp(0))

    @property
    def partition(self) -> Partition:
        """The replica of its only partition."""
        return self.replica.partitions[PLACE]

    def ended(self, who: TxId, commit_ts: Timestamp | None = None) -> None:
        """The transaction has ended, as this node learns in some way."""
        without_wait(self.replica.participant.clean_here(who, commit_ts, (PLACE,)))

    def end(self, who: TxId, commit_ts: Timestamp | None = None) -> None:
        """The transaction's end comes by mail."""
        assert type(self.asked(Cleanup(Timestamp(0), who, commit_ts, (PLACE,)))) is Cleaned
