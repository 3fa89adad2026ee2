"""The messages of one start of a node, given to the models of what sends and takes them.

A model of a conversation sees what its node is sent, answers, requests and is answered, each before
the node goes on. What a node must do within the instant, it *owes*: that is compared at the first
message of a later instant, and at the end of the run. A pause may begin within the instant: then
the rest of it is done in the one in which the pause ends.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ddlsim.cluster.adapters import NodePort
from ddlsim.kernel.deadlines import Asked
from ddlsim.kernel.host import Host

Heard = Callable[..., None]


class Sent(NamedTuple):
    """A request under way: to which node, which message, when, and how long for."""

    to: str
    message: Any
    at_us: int
    wait_us: int


class Exchange:
    """What a node sends and takes, by kind of message; a `Watcher` of its host."""

    def __init__(self, host: Host, port: NodePort, merges: Any) -> None:
        self._host = host
        self._loop = host.loop
        self._incarnation = host.incarnation
        self._merges = merges
        self._requested: dict[Asked, Sent] = {}
        self._owed: list[Callable[[], None]] = []
        self._owed_us = 0
        self.on_arrival: dict[type, list[Heard]] = {}
        self.on_reply: dict[type, list[Heard]] = {}
        self.on_request: dict[type, list[Heard]] = {}
        self.on_answer: dict[type, list[Heard]] = {}
        self.on_send: dict[type, list[Heard]] = {}
        self._send, self._request = port.send, port.request
        port.send, port.request = self.send, self.request
        if merges is not None:
            self.taken = merges.take  # type: ignore[method-assign]  # saves a call
        host.watcher = self

    # --- what the node does -----------------------------------------------------------------------

    def send(self, to: str, message: Any, label: int | None = None) -> None:
        """Send a message that is not answered."""
        if self._merges is not None:
            self._merges.send(message)
        heard = self.on_send.get(type(message))
        if heard is not None and self._goes_on():
            for each in heard:
                each(to, message)
        self._send(to, message, label)

    def request(
        self, to: str, message: Any, timeout_us: int, label: int | None = None
    ) -> Awaitable[Any]:
        """Send a request."""
        if self._merges is not None:
            self._merges.send(message)
        asked = self._request(to, message, timeout_us, label)
        heard = self.on_request.get(type(message))
        if heard is not None and self._goes_on():
            sent = Sent(to, message, self._loop.now_us, timeout_us)
            self._requested[asked] = sent  # type: ignore[index]  # what a host's requests return
            for each in heard:
                each(asked, sent)
        return asked

    # --- what it is sent --------------------------------------------------------------------------

    def arrives(self, payload: Any) -> None:
        if self._owed:
            self._settle()
        if self._merges is not None:
            self._merges.arrive()
        heard = self.on_arrival.get(type(payload))
        if heard is not None:
            for each in heard:
                each(payload)

    def taken(self, payload: Any) -> None:
        """Nothing: the clock is compared then, by `Merges.take` in this place."""

    def replies(self, request: Any, value: Any) -> None:
        heard = self.on_reply.get(type(request))
        if heard is not None:
            if self._owed:
                self._settle()
            for each in heard:
                each(request, value)

    def answered(self, asked: Asked, value: Any) -> None:
        if self._merges is not None:
            self._merges.take_reply(value)
        sent = self._requested.pop(asked, None)
        if sent is not None:
            if self._owed:
                self._settle()
            for each in self.on_answer.get(type(sent.message), ()):
                each(asked, sent, value)

    def when_clock_is_set(self, callback: Callable[[], None]) -> None:
        """Call after each step of the node's physical clock, and after each change of its rate."""
        self._host.clock.on_change(callback)

    # --- what it owes -----------------------------------------------------------------------------

    def owe(self, compare: Callable[[], None]) -> None:
        """Compare something once this instant is over."""
        self._owed.append(compare)
        self._owed_us = self._loop.now_us

    def _goes_on(self) -> bool:
        """Whether this start of the node has not ended; compares what it owes."""
        if self._owed:
            self._settle()
        return self._incarnation.alive

    def _settle(self) -> None:
        until_us = max(self._owed_us, self._incarnation.resumed_us)
        if self._loop.now_us > until_us and self._incarnation.alive:
            self.settle()

    def settle(self) -> None:
        """Compare what the node owed for an instant that is over."""
        if self._incarnation.running:
            owed, self._owed = self._owed, []
            for compare in owed:
                compare()
