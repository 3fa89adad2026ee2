"""A node's side of a barrier: what it keeps over a restart, and copies of requests."""

from typing import Any

from ddlsim.kernel.engine import Loop
from ddlsim.protocol.barriers import Agreed, Barriers, Prepare, Switch
from ddlsim.units import Timestamp
from tests.support.protocol import FakeNode, Wire, awaited, result_of

NOW = Timestamp(1)


class Node:
    """One node with its barriers, and a client."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.wire = Wire(self.loop)
        self.disk: dict[str, Any] = {}
        self.aborted = 0
        self.client = FakeNode("c", self.wire)
        self.start()

    def start(self) -> None:
        """Begin, or begin again with the same disk."""
        node = FakeNode("n1", self.wire)
        node.disk = self.disk
        self.barriers = Barriers(node, ("n1",), self.reached, self)

    async def reached(self, _version: int) -> None:
        """The catalog has every version."""

    def uses(self, _object_ids: tuple[int, ...]) -> bool:
        return False

    def abort_users(self, _object_ids: tuple[int, ...]) -> None:
        self.aborted += 1

    def ask(self, request: object) -> bool:
        """Send a request; whether schemas are resolved behind it."""
        asked = self.client.request("n1", request, 10_000_000)
        assert isinstance(result_of(self.loop, awaited(asked)), Agreed)
        return self.barriers.is_open


def close(op: str = "d") -> Prepare:
    return Prepare(NOW, op, (1,), closes=True)


def test_a_barrier_is_up_until_its_switch() -> None:
    node = Node()
    assert node.barriers.is_open
    assert not node.ask(close())
    assert not node.ask(close("e"))
    assert not node.ask(Switch(NOW, "d", 2))
    assert node.ask(Switch(NOW, "e", 3))
    assert node.aborted == 2


def test_a_node_that_restarts_behind_a_barrier_stays_closed() -> None:
    """Else it would go on under the schema from before the change."""
    node = Node()
    node.ask(close())
    node.start()
    assert not node.barriers.is_open
    assert node.ask(Switch(NOW, "d", 2))
    node.start()
    assert node.barriers.is_open


def test_a_late_copy_of_a_request_closes_nothing() -> None:
    """No switch would come any more."""
    node = Node()
    node.ask(close())
    node.ask(Switch(NOW, "d", 2))
    assert node.ask(close())
    assert node.aborted == 1
