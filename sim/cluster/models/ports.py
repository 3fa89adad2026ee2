"""A node's ports as a modelled part has them: what the part asks of its node is kept."""

from typing import Any, NamedTuple

from ddlsim.model.ports import Node, Timer
from ddlsim.units import Micros, Timestamp


class Asked(NamedTuple):
    """A request: its reply will be the future's value; `shown_ts` is the clock when it was sent."""

    to: str
    payload: Any
    timeout_us: int
    reply: Any
    shown_ts: Timestamp


class Ports:
    """The ports of a node; `armed` are the delays of timers, `requests` those that were sent."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.armed: list[int] = []
        self.requests: list[Asked] = []
        own = {"call_later", "request", "disk_delay_us"}  # the last one changes
        self.__dict__.update({name: it for name, it in vars(node).items() if name not in own})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def call_later(self, delay_us: Micros, fn: Any, *args: object) -> Timer:
        """Arm a timer."""
        self.armed.append(delay_us)
        return self.node.call_later(delay_us, fn, *args)

    def request(self, to: str, payload: Any, timeout_us: Micros, label: int | None = None) -> Any:
        """Send a request."""
        reply = self.node.request(to, payload, timeout_us, label)
        self.requests.append(Asked(to, payload, timeout_us, reply, self.node.clock.current()))
        return reply
