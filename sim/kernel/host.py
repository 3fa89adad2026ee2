"""A simulated machine: its incarnations, its disk, its messages.

A host lives in incarnations. `crash` ends one: its tasks, timers and pending requests vanish and
messages to it are lost, until `restart` begins the next with the same disk and the same clock.
Requests to a crashed host get `NO_REPLY` after one trip: the connection broke. Requests to one that
is cut off or paused run into their time limits. `pause` only stops a host: deliveries, timers and
steps wait, in order, for `resume`.

A request to oneself goes through the same door as any other, but through the ready deque instead
of the network: no delay, no loss, no rule; and it times out like any other.
"""

import re
from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from typing import Any, Final, Protocol, TypeVar

from ddlsim.kernel.channel import Channel, Envelope
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.deadlines import Asked, Deadlines
from ddlsim.kernel.engine import (
    Future,
    Incarnation,
    Loop,
    Scope,
    SimulationCrashed,
    Task,
    Timer,
    crash_of,
)
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import mix, name_id
from ddlsim.model.ports import NO_REPLY
from ddlsim.units import Micros

T = TypeVar("T")
Handler = Callable[[str, Any], Any]
"""Takes (sender, payload); returns a reply or None. A coroutine function, if it may wait."""


_KINDS: Final[dict[type, str]] = {}  # computed once per class


def kind_of(payload_type: type) -> str:
    """A message's kind: what its class says, or else the class's name in kebab-case."""
    kind = _KINDS.get(payload_type)
    if kind is None:
        kind = _KINDS[payload_type] = _name_kind(payload_type)
    return kind


def _name_kind(payload_type: type) -> str:
    kind = getattr(payload_type, "kind", None)
    if isinstance(kind, str):
        return kind
    return re.sub(
        r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", payload_type.__name__
    ).lower()


_PLAIN: Final[dict[type, None]] = {}  # types of results that were looked at once


def _look_at(name: str, result: Any) -> None:
    """A handler gives its result, never one that is to come."""
    assert not isinstance(result, (Future, Coroutine)), f"{name}: a handler returned {result!r}"
    _PLAIN[type(result)] = None


def _reply_kind(payload_type: type, request_kind: str) -> str:
    """A reply's kind is its own, except that a bare `True` says nothing by itself."""
    own = payload_type.__module__ != "builtins"
    return kind_of(payload_type) if own else f"{request_kind}-reply"


class _Serving(Task[Any], eq=False, kw_only=True):
    """A handler that had to wait: its result is the reply."""

    host: "Host"
    request: Envelope

    def finish(self, value: Any) -> None:
        if value is not None:
            self.host.reply(self.request, value)


class Watcher(Protocol):
    """Sees the messages of a host, in the order of what it does."""

    def arrives(self, payload: Any) -> None:
        """A message has arrived, and its handler has not begun."""

    def taken(self, payload: Any) -> None:
        """Its handler has run to its end or to its first wait."""

    def replies(self, request: Any, value: Any) -> None:
        """The host sends the reply to a request."""

    def answered(self, asked: Asked, value: Any) -> None:
        """A request that was still waiting has its reply, and its task has not gone on."""


class Host:
    """A machine with a name; also an endpoint of the network. `watcher` sees its messages."""

    def __init__(self, loop: Loop, network: Network, name: str, clock: PhysicalClock) -> None:
        self.loop = loop
        self.network = network
        self.name = name
        self.clock = clock
        self.disk: dict[str, Any] = {}
        self.incarnation_number = 1
        self.watcher: Watcher | None = None
        self._spreads: dict[str, int] = {}
        self._routes: dict[type, dict[str, Channel]] = {}
        self._begin_incarnation()
        network.attach(name, self)

    def _begin_incarnation(self) -> None:
        self.incarnation = Incarnation(self.loop)
        self._handlers: dict[type, Handler] = {}  # those that do not wait
        self._flows: dict[type, Handler] = {}  # those that may: coroutine functions
        self._deadlines: dict[int, Deadlines] = {}

    @property
    def alive(self) -> bool:
        return self.incarnation.alive

    # -- messages --------------------------------------------------------------------------------

    def on(self, payload_type: type, handler: Handler) -> None:
        """Serve payloads of exactly this type; until the next crash."""
        known = payload_type in self._handlers or payload_type in self._flows
        assert not known, f"{self.name}: two handlers: {payload_type}"
        waits = iscoroutinefunction(handler)
        (self._flows if waits else self._handlers)[payload_type] = handler

    def send(self, to: str, payload: Any, label: int | None = None) -> None:
        if self.incarnation.alive:
            try:
                channel = self._routes[type(payload)][to]
            except KeyError:
                channel = self._open_route(to, type(payload))
            self.network.transmit(channel, payload, label)

    def request(
        self, to: str, payload: Any, timeout_us: int, label: int | None = None
    ) -> Future[Any]:
        """Send, and await the reply or `NO_REPLY`; a reply that comes later is ignored."""
        if not self.incarnation.alive:
            return self.loop.future()  # never completed: no task of this host runs again
        deadlines = self._deadlines.get(timeout_us) or self._open_deadlines(timeout_us)
        asked = deadlines.ask()
        try:
            channel = self._routes[type(payload)][to]
        except KeyError:
            channel = self._open_route(to, type(payload))
        self.network.transmit(channel, payload, label, asked)
        return asked

    def _open_route(self, to: str, payload_type: type) -> Channel:
        channel = self.network.channel(self.name, to, kind_of(payload_type))
        self._routes.setdefault(payload_type, {})[to] = channel
        return channel

    def _open_deadlines(self, timeout_us: int) -> Deadlines:
        deadlines = Deadlines(self.incarnation, timeout_us, NO_REPLY)
        self._deadlines[timeout_us] = deadlines
        return deadlines

    def receive(self, envelope: Envelope) -> None:
        """The network's side: deliver, now or after a pause; the dead refuse requests."""
        if not self.incarnation.running:
            self._keep_or_refuse(envelope)
            return
        payload = envelope.payload
        answers = envelope.answers
        if answers is not None:
            watcher = self.watcher
            if watcher is None:
                answers.answer(payload)
                return
            waited = not answers.done
            answers.answer(payload)
            if waited and answers.done:
                watcher.answered(answers, payload)
            return
        if self.watcher is not None:
            self.watcher.arrives(payload)
        handler = self._handlers.get(type(payload))
        if handler is None:
            self._serve(envelope)
            return
        result = handler(envelope.channel.sender, payload)
        if self.watcher is not None:
            self.watcher.taken(payload)
        if result is not None:
            if type(result) not in _PLAIN:
                _look_at(self.name, result)
            self.reply(envelope, result)

    def _keep_or_refuse(self, envelope: Envelope) -> None:
        incarnation = self.incarnation
        if incarnation.alive:
            incarnation.defer(_Delivery(self, envelope))
        else:
            self._refuse(envelope)

    def _serve(self, request: Envelope) -> None:
        """Run a handler to its first wait; most never wait, and those need no task."""
        kind = type(request.payload)
        handler = self._flows.get(kind)
        assert handler is not None, f"{self.name} has no handler for {kind.__name__}"
        coro = handler(request.channel.sender, request.payload)
        try:
            awaited = coro.send(None)
        except StopIteration as stop:
            if stop.value is not None:
                self.reply(request, stop.value)
        except SimulationCrashed:
            raise
        except Exception as error:
            raise crash_of(coro, error) from error
        else:
            incarnation = self.incarnation
            serving = _Serving(coro, incarnation, host=self, request=request)
            incarnation.tasks[serving] = None
            awaited.add_waiter(serving)
        if self.watcher is not None:
            self.watcher.taken(request.payload)

    def reply(self, request: Envelope, value: Any) -> None:
        """Answer under the request's label, so that each reply's delay is its own as well."""
        asked = request.asks
        if asked is not None and self.incarnation.alive:
            if self.watcher is not None:
                self.watcher.replies(request.payload, value)
            back = request.channel.replies
            channel = back.get(type(value)) or self._open_reply(request.channel, type(value))
            self.network.transmit(channel, value, request.label, None, asked)

    def _refuse(self, request: Envelope) -> None:
        """The host has crashed: the connection breaks, the request gets `NO_REPLY` at once."""
        if request.asks is not None:
            channel = self._open_reply(request.channel, type(NO_REPLY))
            self.network.transmit(channel, NO_REPLY, request.label, None, request.asks)

    def _open_reply(self, there: Channel, value_type: type) -> Channel:
        kind = _reply_kind(value_type, there.kind)
        channel = there.replies[value_type] = self.network.channel(there.to, there.sender, kind)
        return channel

    # -- tasks, timers, waits: all of the present incarnation ------------------------------------

    def spawn(self, coro: Coroutine[Any, None, T]) -> Task[T]:
        return self.loop.spawn(coro, self.incarnation)

    def start(self, coro: Coroutine[Any, None, T]) -> Task[T]:
        return self.loop.start(coro, self.incarnation)

    def sleep(self, us: int) -> Future[None]:
        return self.loop.sleep(us)

    def sleep_by_clock(self, us: int) -> Future[None]:
        """Wait for a span as this host's clock measures it, at its present rate."""
        return self.loop.sleep(self.clock.real_us(us))

    def future(self) -> Future[Any]:
        return self.incarnation.scope.future()

    def scope(self) -> Scope:
        return self.incarnation.scope.child()

    def call_later(self, delay_us: int, fn: Callable[..., object], *args: Any) -> Timer:
        timer = Timer(self.incarnation, fn, args)
        self.loop.push(self.loop.now_us + delay_us, timer)
        return timer

    def spread(self, purpose: str, bound_us: int) -> Micros:
        """A span below the bound, by seed, host, purpose and how often it was asked for."""
        self._spreads[purpose] = count = self._spreads.get(purpose, 0) + 1
        key = mix(self.network.seed, name_id(f"{self.name} {purpose}"))
        return Micros(mix(key, count) % bound_us)

    # -- crash, pause, restart --------------------------------------------------------------------

    def crash(self) -> None:
        """Stop being; only the disk and the clock remain.

        For faults, between two steps: a step of this host that crashes it still runs to its next
        wait, though nothing it sends leaves the machine.
        """
        if self.incarnation.alive:
            incarnation = self.incarnation
            asked = [task.request for task in incarnation.tasks if type(task) is _Serving]
            asked += [item.envelope for item in incarnation.postponed if type(item) is _Delivery]
            incarnation.end("crash")
            self.watcher = None
            for request in asked:
                self._refuse(request)
            for deadlines in self._deadlines.values():
                deadlines.waiting.clear()  # replies to the ended incarnation are ignored
            self.clock.forget_listeners()

    def pause(self) -> None:
        self.incarnation.pause()

    def resume(self) -> None:
        self.incarnation.resume()

    def restart(self, boot: Callable[[], None]) -> None:
        """A new incarnation with nothing but the disk; `boot` installs its handlers and tasks."""
        self.crash()
        self.incarnation_number += 1
        self._begin_incarnation()
        boot()


class _Delivery:
    """A message that found its host paused."""

    __slots__ = ("_host", "envelope")

    def __init__(self, host: Host, envelope: Envelope) -> None:
        self._host = host
        self.envelope = envelope

    def fire(self) -> None:
        self._host.receive(self.envelope)
