"""The protocol's ports, answered by the kernel.

`NodePort` is what a protocol sees of its machine. Its most frequent calls (sending, the clock) are
bound to the host's own methods, so that the port costs nothing there.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from heapq import heappop, heappush
from typing import Any

from ddlsim.history.history import History
from ddlsim.history.stream import Stream
from ddlsim.kernel.engine import Future, Timer
from ddlsim.kernel.host import Host
from ddlsim.model.hlc import CLOCK_LIMIT, HybridClock
from ddlsim.model.ports import Handler, Stopwatch
from ddlsim.model.settings import Settings
from ddlsim.units import MIN_TIMESTAMP, Micros, Timestamp, physical_ms


class Listeners:
    """What is called when something happens in a run: by class of event, by probe, by pause point.

    A point's listener returns what the task must wait for, or None.
    """

    def __init__(self) -> None:
        self.events: dict[type, Callable[[Any], None]] = {}
        self.probes: dict[str, Callable[[str | None], None]] = {}
        self.points: dict[str, Callable[[str, str | None], Future[Any] | None]] = {}


class Recorder:
    """Writes the events of a run to its history or stream; nothing where recording is off.

    `observed` is whether the protocol has to make events at all: to be written, or for listeners.
    """

    def __init__(
        self,
        history: History,
        *,
        recording: bool,
        stream: Stream | None = None,
        listeners: Listeners | None = None,
    ) -> None:
        self.history = history
        self.recording = recording
        self.observed = recording or listeners is not None
        self.listeners = listeners
        write = history.events.append if stream is None else stream.record
        write = write if recording else _forget
        self.record: Callable[[Any], None] = write if listeners is None else heard(write, listeners)
        self._once: dict[object, None] = {}

    def is_first(self, key: object) -> bool:
        """Whether this is the first call with `key`: of what any node may report, one does."""
        once = self._once
        if key in once:  # nearly always: all nodes report it
            return False
        once[key] = None
        return True

    def probe(self, name: str, node: str | None = None) -> None:
        """Count that a probe was reached, on a node unless it is the cluster's."""
        self.history.probes[name] += 1
        if self.listeners is not None and name in self.listeners.probes:
            self.listeners.probes[name](node)


def _forget(event: object) -> None:
    """Record nothing."""


def heard(write: Callable[[Any], None], listeners: Listeners) -> Callable[[Any], None]:
    """`write` an event, then call the listener for its class."""
    events = listeners.events

    def record(event: object) -> None:
        write(event)
        listener = events.get(type(event))
        if listener is not None:
            listener(event)

    return record


class ClockWaiters:
    """The waits of a node until its hybrid clock shows at least some timestamp.

    The clock gets there by itself, or is moved by a merge, or its physical clock is set; the timer
    is for the first case and is set anew in the others. It was last set for `due_us`.
    """

    def __init__(self, host: Host, clock: HybridClock) -> None:
        self._host = host
        self._clock = clock
        self._waiting: list[tuple[Timestamp, int, Future[None]]] = []
        self._order = 0
        self._timer: Timer | None = None
        self.due_us = 0
        host.clock.on_change(self._look)

    def passes(self, ts: Timestamp) -> Future[None]:
        """A future for the instant at which the clock shows at least `ts`."""
        reached: Future[None] = self._host.future()
        if self._clock.current() >= ts:
            reached.set(None)
            return reached
        self._order += 1
        heappush(self._waiting, (ts, self._order, reached))
        self._clock.on_jump(self._look)
        self._look()
        return reached

    @property
    def first_ts(self) -> Timestamp | None:
        """What the first of the waits is for; None where there is none."""
        return self._waiting[0][0] if self._waiting else None

    def _look(self) -> None:
        """End the waits that are due, and set a timer for the next one."""
        waiting, now = self._waiting, self._clock.current()
        while waiting and waiting[0][0] <= now:
            heappop(waiting)[2].set(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not waiting:
            self._clock.on_jump(None)
            return
        ts = waiting[0][0]
        shown = physical_ms(ts) + (1 if ts & 0xFFFF else 0)
        self.due_us = self._host.clock.due_us(shown)
        wait_us = max(self.due_us - self._host.loop.now_us, 0)
        self._timer = self._host.call_later(wait_us, self._look)


class Pauses:
    """Scripted pauses: which task of a node stops at which point, and until when."""

    def __init__(self) -> None:
        self.planned: dict[tuple[str, str], list[tuple[str | None, Future[Any]]]] = {}
        self._stopped: list[Future[Any]] = []

    def add(self, node: str, point: str, tx: str | None, until: Future[Any]) -> None:
        """Make the next task of the node (of the transaction) at this point wait for `until`."""
        self.planned.setdefault((node, point), []).append((tx, until))

    def __bool__(self) -> bool:
        return bool(self.planned)

    def stopped(self, until: Future[Any]) -> bool:
        """Whether a pause has stopped a task while it lasted."""
        return any(until is one for one in self._stopped)

    def take(self, node: str, point: str, tx: str | None) -> Future[Any] | None:
        """What a task at this point must wait for, or None; each pause stops one task, once."""
        planned = self.planned.get((node, point), [])
        for place, (wanted, until) in enumerate(planned):
            if wanted is None or wanted == tx:
                del planned[place]
                if not until.done:
                    self._stopped.append(until)
                return until
        return None


class NodePort:
    """A node as the protocol sees it, on a simulated host; `clock` makes what gives timestamps."""

    def __init__(
        self,
        host: Host,
        settings: Settings,
        recorder: Recorder,
        pauses: Pauses,
        clock: Callable[..., HybridClock],
    ) -> None:
        self._host = host
        self.name = host.name
        self.settings = settings
        self.disk = host.disk
        self.recording = recorder.observed
        self.disk_delay_us = 0
        self.clock = self._begun(clock)
        self.record: Callable[[Any], None] = recorder.record
        self.is_first = recorder.is_first
        self.on: Callable[[type, Handler], None] = host.on
        self.send: Callable[..., None] = host.send
        self.request: Callable[..., Awaitable[Any]] = host.request
        self.sleep = host.sleep
        self.sleep_by_clock = host.sleep_by_clock
        self.future = host.future
        self.call_later = host.call_later
        self.watch: Stopwatch = host.loop
        self._pauses = pauses
        self._probes = recorder.history.probes
        self._listeners = recorder.listeners
        self.probe: Callable[[str], None] = self._count
        if recorder.listeners is not None:
            self.probe = partial(recorder.probe, node=host.name)
        self.waiters = ClockWaiters(host, self.clock)
        self.clock_passes = self.waiters.passes

    def _begun(self, clock: Callable[..., HybridClock]) -> HybridClock:
        """The clock of this incarnation; it starts at the limit that the disk has."""
        disk = self.disk

        def write_limit(limit: int) -> None:
            disk[CLOCK_LIMIT] = limit

        last = disk.get(CLOCK_LIMIT, MIN_TIMESTAMP)
        return clock(self._host.clock.read_ms, last, write_limit)

    def spread(self, purpose: str, bound_us: Micros) -> Micros:
        """A span below the bound: a function of seed, node, purpose and number of the call."""
        return self._host.spread(purpose, bound_us)

    def spawn(self, task: Coroutine[Any, Any, Any]) -> None:
        """Run a task of this incarnation beside the present one."""
        self._host.spawn(task)

    def start(self, task: Coroutine[Any, Any, Any]) -> None:
        """The same, its first step now: for what a timer calls."""
        self._host.start(task)

    def _count(self, name: str) -> None:
        """Count that a rare branch was reached."""
        self._probes[name] += 1

    def pause_at(self, point: str, tx: str | None = None) -> Awaitable[None] | None:
        """A named point of the protocol: None to go on, or what a scripted pause makes wait."""
        until = None
        if self._listeners is not None and point in self._listeners.points:
            until = self._listeners.points[point](self.name, tx)
        if not self._pauses.planned:
            return until
        scripted = self._pauses.take(self.name, point, tx)
        if scripted is not None:
            self.probe(f"paused-{point}")
        return scripted or until
