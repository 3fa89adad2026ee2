"""The engine: simulated time, and the tasks and timers in it, on SimPy's queue.

Between two awaits nothing else happens in the cluster. That sentence is the whole concurrency
model: a step of a task runs to its next await without interruption; giving a future its value only
makes its waiters ready; what is ready runs when the present step is over, first come, first served.

Of SimPy this uses the `Environment`: its clock, its queue, its order of equal times. SimPy's own
events and processes run in it beside our tasks. A task is a native coroutine driven by `send`, not
a SimPy `Process`; what our code schedules is a slim object with `fire()` and no list of callbacks.

This is the one file that uses private names of SimPy (`_queue`, `_eid`, `_now`, and `_ok`, `_value`
of its events): `Loop._turn` does what `Environment.step` does, with our events told apart by what
stands in `callbacks`. The alternative, SimPy's public interface alone, is an `env.timeout` with a
callback for each event and `env.step()` for each turn: a request with its reply then takes 1.4 to
1.8 times as long, a committed transaction 1.17 to 1.19 times (`tests/bench/test_kernel_bench.py`
runs both by turns in one process; November 2026, SimPy 4.1).

Every wait of the protocol belongs to a scope: an incarnation of a host, a lease, a term, a
transaction. When the scope ends, the wait returns `Ended(reason)`.

A crashed host's tasks are never resumed, and never closed either: closing a coroutine runs its
`finally` blocks, and a dead coordinator would release its locks. `Loop.ended` keeps the ended
incarnations, and with them their tasks, referenced until the world is dropped. For the same reason
`try/finally` and `async with` around an await are banned in protocol code: at the very end the
interpreter does run them.
"""

import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import Any, ClassVar, Final, Generic, NoReturn, Protocol, TypeVar, cast

import msgspec
import simpy

from ddlsim.units import Micros

T = TypeVar("T")

SLIM: Final[tuple[None, ...]] = (None,)
"""What our own events show in place of SimPy's list of callbacks: `fire()` is all there is."""
ENDING: Final[tuple[None, ...]] = (None, None)  # what the end of a run shows
MAIL: Final[tuple[None, ...]] = (None, None, None)  # what a message shows
CANCELLED: Final[tuple[None, ...]] = ()
FIRST, NORMAL, LAST = -1, 1, 2  # priorities at one instant; SimPy's own are 0 and 1
FOREVER: Final = 1 << 62
AT_ONCE: Final = 1_000_000
"""So many events at one instant are taken for a loop that does not end."""
UNSET: Final[Any] = None  # stands where the value will be
DONE: Final[Any] = ()  # stands where the waiters were


Due = tuple[Any, int, int, Any]
"""An entry of the queue: when, its priority at that instant, its number, and the event."""


class SimulationCrashed(Exception):  # noqa: N818 - the outcome's name
    """Simulated code raised: a defect of the model, never a finding about the protocol."""


class Fireable(Protocol):
    """What may stand in the ready deque."""

    def fire(self) -> None: ...


# --- futures and scopes ---------------------------------------------------------------------------


class Future(msgspec.Struct, Generic[T], eq=False):
    """A value that waiters will be given; the only thing a task can wait for."""

    _ready: deque[Fireable]
    _waiters: Any = None  # None, one waiter or a list of them; `DONE` once it has its value
    value: T = UNSET

    @property
    def done(self) -> bool:
        """Whether the value is there."""
        return self._waiters is DONE

    def set(self, value: T) -> None:
        """Give the value; waiters run later, in the order in which they came."""
        waiters = self._waiters
        assert waiters is not DONE, f"set twice: {self.value!r}, then {value!r}"
        self._waiters = DONE
        self.value = value
        if type(waiters) is list:
            self._ready.extend(waiters)
        elif waiters is not None:
            self._ready.append(waiters)

    def try_set(self, value: T) -> bool:
        """Give the value unless it has one; says whether this call won."""
        if self._waiters is DONE:
            return False
        self.set(value)
        return True

    def add_waiter(self, waiter: Fireable) -> None:
        """Make `waiter` ready when the value comes; the task machinery's side of `await`."""
        waiters = self._waiters
        if waiters is None:
            self._waiters = waiter
        elif type(waiters) is list:
            waiters.append(waiter)
        else:
            self._waiters = [waiters, waiter]

    def __await__(self) -> Generator[Any, None, T]:
        if self._waiters is not DONE:
            yield self
        return self.value


@dataclass(frozen=True, slots=True)
class Ended:
    """What a wait returns when its scope ended first."""

    reason: str


class Scope:
    """A span of time to which waits belong; when it ends they all return, oldest first."""

    __slots__ = ("_children", "_parent", "_pending", "_ready", "ended")

    def __init__(self, ready: deque[Fireable], parent: "Scope | None" = None) -> None:
        self.ended: Ended | None = None
        self._ready = ready
        self._parent = parent
        self._pending: dict[Future[Any], None] = {}
        self._children: dict[Scope, None] = {}

    def future(self) -> Future[Any]:
        """A future that is given `Ended` with the scope; born so if that is already past."""
        future = _ScopedFuture(self._ready, _pending=self._pending)
        self._pending[future] = None
        if self.ended is not None:
            future.set(self.ended)
        return future

    def child(self) -> "Scope":
        """A scope that ends with this one, if not before."""
        child = Scope(self._ready, self)
        if self.ended is not None:
            child.ended = self.ended
        else:
            self._children[child] = None
        return child

    def end(self, reason: str) -> None:
        """End all waits, here and then in the children; a second end changes nothing."""
        if self.ended is not None:
            return
        self.ended = Ended(reason)
        if self._parent is not None:
            self._parent._children.pop(self, None)
        for future in list(self._pending):
            future.set(self.ended)
        for child in list(self._children):
            child.end(reason)
        assert not self._pending, f"waits that outlive their scope: {len(self._pending)}"
        assert not self._children, f"scopes that outlive their parent: {len(self._children)}"


class _ScopedFuture(Future[Any], eq=False, kw_only=True):
    """A future that leaves its scope's list once it has a value."""

    _pending: dict[Future[Any], None]

    def set(self, value: Any) -> None:
        super().set(value)
        del self._pending[self]


class _Alarm(Future[None], eq=False):
    """A future that the queue itself completes: a sleep in one object."""

    callbacks: ClassVar = SLIM

    def fire(self) -> None:
        self.set(None)


# --- incarnations, timers, tasks ------------------------------------------------------------------


class Incarnation:
    """One incarnation of a host, from its start to its crash: its tasks, its timers, its scope.

    Of what ends with it nothing more happens; while it is paused everything waits, in order.
    `resumed_us` is when the last pause ended: what an instant before it left undone is done then.
    """

    __slots__ = ("alive", "loop", "paused", "postponed", "resumed_us", "running", "scope", "tasks")

    def __init__(self, loop: "Loop") -> None:
        self.loop = loop
        self.alive = True
        self.paused = False
        self.resumed_us = -1
        self.running = True  # alive and not paused: the one question the hot path asks
        self.tasks: dict[Task[Any], None] = {}
        self.scope: Scope = Scope(loop.ready)
        self.postponed: list[Fireable] = []

    def call_at(self, us: int, fn: Callable[..., object], *args: Any) -> "Timer":
        """A timer that waits while the incarnation is paused and ends with it."""
        timer = Timer(self, fn, args)
        self.loop.push(us, timer)
        return timer

    def defer(self, item: Fireable) -> None:
        """Keep `item` for `resume`, or forget it if there will be none."""
        if self.alive:
            self.postponed.append(item)

    def pause(self) -> None:
        self.paused = True
        self.running = False

    def resume(self) -> None:
        """Do what waited, in order, and before anything that became ready later."""
        self.paused = False
        self.running = self.alive
        self.resumed_us = self.loop.now_us
        self.loop.ready.extendleft(reversed(self.postponed))
        self.postponed = []

    def end(self, reason: str) -> None:
        """Nothing of it runs again; waits of others on its scope return `Ended`."""
        self.alive = self.running = False
        self.postponed = []
        self.loop.ended.append(self)
        for task in self.tasks:
            task.forget()
        self.scope.end(reason)


class Timer(msgspec.Struct, eq=False):
    """A call at a moment, unless cancelled, in an incarnation."""

    _incarnation: Incarnation
    _fn: Callable[..., object]
    _args: tuple[Any, ...]
    callbacks: tuple[None, ...] = SLIM

    def fire(self) -> None:
        if self._incarnation.running:
            self._fn(*self._args)
        else:
            self._incarnation.defer(self)

    def cancel(self) -> None:
        """Never fire; its moment is skipped and does not move the clock."""
        self.callbacks = CANCELLED
        self._fn = nothing
        self._args = ()


def nothing() -> None:
    """What a cancelled timer does if it waits in a paused incarnation."""


class Task(msgspec.Struct, Generic[T], eq=False):
    """A coroutine under way; not awaitable itself, so that it may be left to itself."""

    _coro: Coroutine[Any, None, T]
    _incarnation: Incarnation
    _future: Future[T] | None = None

    @classmethod
    def of(cls, incarnation: Incarnation, coro: Coroutine[Any, None, T]) -> "Task[T]":
        """A task that is to begin; in an incarnation that has ended it never will."""
        task = cls(coro, incarnation)
        incarnation.tasks[task] = None
        if not incarnation.alive:
            task.forget()
        return task

    @property
    def future(self) -> Future[T]:
        """The coroutine's result."""
        if self._future is None:
            self._future = Future(self._incarnation.loop.ready)
        return self._future

    def fire(self) -> None:
        """Run to the next await."""
        incarnation = self._incarnation
        if not incarnation.running:
            incarnation.defer(self)
            return
        try:
            awaited = self._coro.send(None)
            if awaited._waiters is None:  # `add_waiter` written out: nearly always the first
                awaited._waiters = self
            else:
                awaited.add_waiter(self)
        except StopIteration as stop:
            del incarnation.tasks[self]
            if incarnation.alive:
                self.finish(stop.value)
        except SimulationCrashed:
            raise
        except Exception as error:
            raise crash_of(self._coro, error) from error

    def finish(self, value: T) -> None:
        """Give the result to `future`; the task of a request sends it as the reply instead."""
        self.future.set(value)

    def forget(self) -> None:
        """Close the coroutine if it never began (that runs none of its code), else leave it be."""
        _close_unbegun(self._coro)


def _close_unbegun(coro: Coroutine[Any, Any, Any]) -> None:
    """Close a coroutine that has not begun, and those that it was given and that have not either.

    Else each would be collected with a warning that it was never awaited.
    """
    if inspect.getcoroutinestate(coro) == inspect.CORO_CREATED:
        given = inspect.getcoroutinelocals(coro)
        coro.close()
        for one in given.values():
            if inspect.iscoroutine(one):
                _close_unbegun(one)


def crash_of(coro: Coroutine[Any, None, Any], error: Exception) -> SimulationCrashed:
    """What the run raises when a step of `coro` raised."""
    name = getattr(coro, "__qualname__", repr(coro))
    return SimulationCrashed(f"{name}: {type(error).__name__}: {error}")


# --- the loop -------------------------------------------------------------------------------------


class _Environment(simpy.Environment):
    """SimPy's queue; its clock is the loop's, so that the loop keeps only one."""

    def __init__(self, loop: "Loop") -> None:
        self._loop = loop
        super().__init__(0)

    @property
    def _now(self) -> Any:
        return self._loop.now_us

    @_now.setter
    def _now(self, now_us: Any) -> None:
        """SimPy sets its clock when it is made and in its own `step`: neither moves the loop's."""

    def step(self) -> NoReturn:
        raise RuntimeError("run the Loop, not the environment inside it")


class Loop:
    """Simulated time in whole microseconds, and everything that happens in it."""

    def __init__(self) -> None:
        self.now_us = Micros(0)
        self.env = _Environment(self)
        self.ready: deque[Fireable] = deque()
        self.events = 0  # until the last run ended: deliveries, timers, SimPy's events, steps
        self.incarnation = Incarnation(self)  # of what belongs to no host; never ends
        self.ended: list[Incarnation] = []  # kept, so that nothing collects their tasks
        self._end: Timer | None = None  # of the run under way
        self._stopped = False
        self._queue: list[Due] = cast("Any", self.env._queue)
        self.order = self.env._eid  # a number for each event that is put into the queue
        self.post = partial(heappush, self._queue)  # `push` unchecked: for the network

    def push(self, us: int, event: Fireable) -> None:
        """Put a slim event into SimPy's queue; equal times fire in the order of pushing."""
        assert type(us) is int, f"microseconds are whole: {us!r}"
        assert us >= self.now_us, f"{us} us is past, now is {self.now_us} us"
        heappush(self._queue, (us, NORMAL, next(self.order), event))

    def call_at(self, us: int, fn: Callable[..., object], *args: Any) -> Timer:
        timer = Timer(self.incarnation, fn, args)
        self.push(us, timer)
        return timer

    def call_later(self, delay_us: int, fn: Callable[..., object], *args: Any) -> Timer:
        return self.call_at(self.now_us + delay_us, fn, *args)

    def spawn(
        self, coro: Coroutine[Any, None, T], incarnation: Incarnation | None = None
    ) -> Task[T]:
        """Begin `coro` after the present step."""
        task = Task.of(incarnation or self.incarnation, coro)
        self.ready.append(task)
        return task

    def start(
        self, coro: Coroutine[Any, None, T], incarnation: Incarnation | None = None
    ) -> Task[T]:
        """Run the first step of `coro` now: only for the top of the loop, never within a task."""
        task = Task.of(incarnation or self.incarnation, coro)
        task.fire()
        return task

    def future(self) -> Future[Any]:
        return Future(self.ready)

    def scope(self) -> Scope:
        return Scope(self.ready)

    def sleep(self, us: int) -> Future[None]:
        alarm = _Alarm(self.ready)
        self.push(self.now_us + us, alarm)
        return alarm

    def stop(self) -> None:
        """End the run once the present event and what it made ready are done."""
        if self._end is not None:
            self._stopped = True
            heappush(self._queue, (self.now_us, FIRST, next(self.order), self._end))

    def run(self, until_us: int | None = None, events_max: int = FOREVER) -> None:
        """Execute everything due up to and including `until_us`, or everything there is.

        Time then stands at `until_us`. More than `events_max` events in all count as a crash:
        So do `AT_ONCE` at one instant: without latency, nodes may answer each other for ever.
        """
        assert self._end is None, "a run within a run"
        self._stopped = False
        self._end = end = Timer(self.incarnation, nothing, ())
        end.callbacks = ENDING
        due_us = FOREVER if until_us is None else until_us
        heappush(self._queue, (due_us, LAST, next(self.order), end))
        try:
            self._turns(events_max)
        except SimulationCrashed:
            raise
        except Exception as error:
            where = f"at {self.now_us} us: {type(error).__name__}: {error}"
            raise SimulationCrashed(where) from error
        finally:
            self._end = None
            end.cancel()
        if until_us is not None and not self._stopped:
            self.now_us = Micros(max(self.now_us, until_us))

    def _turns(self, events_max: int) -> None:
        """Turns of the inner loop until one comes to the end; in each of them time must pass."""
        since_us = -1
        while not self._turn(min(events_max, self.events + AT_ONCE)):
            if self.events > events_max:
                raise SimulationCrashed(f"more than {events_max} events, at {self.now_us} us")
            if self.now_us == since_us:
                what = f"more than {AT_ONCE} events at one instant, {self.now_us} us"
                raise SimulationCrashed(f"{what}; give the links a latency")
            since_us = self.now_us

    def _turn(self, events_max: int) -> bool:
        """The inner loop: what is ready first, then the next event of the queue.

        True at the end, False after the event that is one more than `events_max`.
        """
        queue, ready, pop, mail, slim = self._queue, self.ready, heappop, MAIL, SLIM
        for number in range(self.events, events_max + 1):
            if ready:
                ready.popleft().fire()
                continue
            at, _, _, event = pop(queue)
            callbacks = event.callbacks
            while callbacks is CANCELLED:
                at, _, _, event = pop(queue)
                callbacks = event.callbacks
            if callbacks is mail:  # what `fire` would do, without the detour
                self.now_us = at
                event.channel.deliver(event)
            elif callbacks is slim:
                self.now_us = at
                event.fire()
            elif callbacks is ENDING:
                self.events = number
                return True
            else:
                self.now_us = at
                _fire_simpy(at, event)
        self.events = events_max + 1
        return False


def _fire_simpy(at: int, event: Any) -> None:
    """SimPy's own `step` for one of its own events, failures chained instead of copied."""
    assert type(at) is int, f"SimPy processes must wait whole microseconds, not until {at!r}"
    callbacks, event.callbacks = event.callbacks, None
    for callback in callbacks:
        callback(event)
    if not event._ok and not hasattr(event, "_defused"):
        raise event._value
