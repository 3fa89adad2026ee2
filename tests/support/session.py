"""A client's side of a stage: what it can ask of the coordinator, in few words."""

from typing import Any

from ddlsim.kernel.engine import Future
from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import View
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientOperation,
    ClientRollback,
    Refusal,
)
from ddlsim.units import Timestamp
from tests.support.protocol import Stage

EVEN, ODD = 2, 1
"""A key that n2 serves, and one that n1 serves, which is the coordinator's own node."""


def reason_of(reply: Any) -> Reason | None:
    """Why it was refused; None if it was answered."""
    assert type(reply) in (Answer, Refusal), reply
    return getattr(reply, "reason", None)


class Session(Stage):
    """A stage whose client speaks to n1; by default it knows version 1 of table t."""

    def __init__(self, *args: Any, **changes: Any) -> None:
        super().__init__(*args, **changes)
        self.node = self["n1"].node
        self.coordinator = self["n1"].coordinator
        self._ops = 0

    def begin(self, *txs: str) -> None:
        for tx in txs:
            assert type(self.asked(ClientBegin(f"{tx}.b", tx))) is Answer

    def operation(
        self, tx: str, action: str, key: Key = ODD, value: Any = None, **more: Any
    ) -> ClientOperation:
        """A request; its fields can be set by name."""
        self._ops += 1
        fields: dict[str, Any] = {
            "op": f"op{self._ops}",
            "tx": tx,
            "action": action,
            "table": "t",
            "key": key,
            "row": (key, value) if action == "put" else None,
            "client_version": 1,
        }
        fields |= more
        fields.setdefault("table_id", self.id_of(fields["table"]))
        return ClientOperation(**fields)

    def id_of(self, name: str) -> int:
        """The table that holds what a name shows, as a client knows it that has asked before."""
        snapshot = self.catalog.latest()
        found = snapshot.by_name(name)
        while isinstance(found, View):
            found = snapshot.by_id(found.tables[0]) if found.tables else None
        return 0 if found is None else found.id

    def send(self, tx: str, action: str, key: Key = ODD, value: Any = None, **more: Any) -> Future:
        """Ask; the answer is for later."""
        return self.ask(self.operation(tx, action, key, value, **more))

    def do(self, tx: str, action: str, key: Key = ODD, value: Any = None, **more: Any) -> Any:
        """Ask and wait for the answer."""
        return self.asked(self.operation(tx, action, key, value, **more))

    def put(self, tx: str, key: Key = ODD, value: Any = 5, **more: Any) -> Any:
        return self.do(tx, "put", key, value, **more)

    def commit(self, tx: str, session_ts: Timestamp | None = None) -> Any:
        """Where a session timestamp is given, commit_ts is the next one after it."""
        return self.asked(ClientCommit(f"{tx}.c", tx, session_ts))

    def roll_back(self, tx: str) -> Any:
        return self.asked(ClientRollback(f"{tx}.r", tx))

    def stored(self, key: Key, name: str | None = None) -> list[Any]:
        """The committed rows under a key, oldest first."""
        name = name or ("n2" if key == EVEN else "n1")
        partition = self[name].replica.partitions.get((1, int(key or 0) % self.partitions))
        rows = {} if partition is None else partition.rows
        return [version.row for version in rows.get(key, [])]

    @property
    def at_rest(self) -> bool:
        """Whether no node has anything open."""
        return not any(member.replica.has_open_work for member in self.members.values())
