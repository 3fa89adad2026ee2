"""Tasks on SimPy's queue: the one file that knows what `await` does.

Between two awaits nothing else happens in the cluster. That sentence is the whole concurrency
model: a step of a task runs to its next await without interruption, giving a future its value
only makes the waiters ready, and what is ready runs when the present step is over, first come
first served.

SimPy's environment keeps the clock and the queue, so that ordinary SimPy processes can live beside
our tasks. What our own code puts into that queue is slim: an object with `fire()` and no list of
callbacks. A task is a native coroutine driven by `send`, never a SimPy `Process`.

A crashed host's tasks are never resumed, and never closed either, because closing a coroutine runs
its `finally` blocks: a dead coordinator would politely release its locks. Their `Life` keeps them
referenced for as long as the world stands. For the same reason `try/finally` and `async with`
around an await are banned in protocol code: at the very end the interpreter does run them.
"""

import inspect
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeVar, cast

import simpy

from sim.kernel.future import Ended, Fireable, Future, Scope

T = TypeVar("T")

SLIM: Final[tuple[None, ...]] = (None,)
"""What our own events show in place of SimPy's list of callbacks: `fire()` is all there is."""
CANCELLED: Final[tuple[None, ...]] = ()
NORMAL: Final = 1
FOREVER: Final = 1 << 62


class SimulationCrashed(Exception):  # noqa: N818 - the outcome's name
    """Simulated code raised: a defect of the model, never a finding about the protocol."""


class _Alarm(Future[None]):
    """A future that the queue itself completes: a sleep in one object."""

    __slots__ = ()
    callbacks: ClassVar = SLIM

    def fire(self) -> None:
        self.set(None)


class Life:
    """One incarnation of a host: when it ends, what it was about to do never happens."""

    __slots__ = ("_postponed", "alive", "loop", "paused", "running", "scope", "tasks")

    def __init__(self, loop: "Loop") -> None:
        self.loop = loop
        self.alive = True
        self.paused = False
        self.running = True  # alive and not paused: the one question the hot path asks
        self.tasks: dict[Task[Any], None] = {}
        self.scope: Scope = Scope(loop.ready)
        self._postponed: list[Fireable] = []

    def call_at(self, us: int, fn: Callable[..., object], *args: Any) -> "Timer":
        """A timer that waits while this life is paused and dies with it."""
        timer = Timer(self, fn, args)
        self.loop.push(us, timer)
        return timer

    def defer(self, item: Fireable) -> None:
        """Keep `item` for `resume`, or forget it if there will be none."""
        if self.alive:
            self._postponed.append(item)

    def pause(self) -> None:
        self.paused = True
        self.running = False

    def resume(self) -> None:
        """Do what waited, in order, and before anything that became ready later."""
        self.paused = False
        self.running = self.alive
        self.loop.ready.extendleft(reversed(self._postponed))
        self._postponed = []

    def end(self, reason: str) -> None:
        """Nothing of this life runs again; waits of others on its scope return `Ended`."""
        self.alive = self.running = False
        self._postponed = []
        self.loop.graves.append(self)
        for task in self.tasks:
            task.forget()
        self.scope.end(reason)


class Timer:
    """A call at a moment, unless cancelled, in somebody's life."""

    __slots__ = ("_args", "_fn", "_life", "callbacks")

    def __init__(self, life: Life, fn: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.callbacks = SLIM
        self._life = life
        self._fn = fn
        self._args = args

    def fire(self) -> None:
        if self._life.running:
            self._fn(*self._args)
        else:
            self._life.defer(self)

    def cancel(self) -> None:
        """Never fire; the moment itself is then skipped as if nobody had asked for it."""
        self.callbacks = CANCELLED
        self._fn = _nothing
        self._args = ()


def _nothing() -> None:
    """What a cancelled timer does if it waits in a paused life."""


class Task(Generic[T]):
    """A coroutine under way; not awaitable itself, so that it may be left to itself."""

    __slots__ = ("_coro", "_future", "_life")

    def __init__(self, coro: Coroutine[Any, None, T], life: Life) -> None:
        self._coro = coro
        self._life = life
        self._future: Future[T] | None = None
        life.tasks[self] = None
        if not life.alive:
            self.forget()

    @property
    def future(self) -> Future[T]:
        """The coroutine's result."""
        if self._future is None:
            self._future = Future(self._life.loop.ready)
        return self._future

    def fire(self) -> None:
        """Run to the next await."""
        life = self._life
        if not life.running:
            life.defer(self)
            return
        try:
            self._coro.send(None).add_waiter(self)
        except StopIteration as stop:
            del life.tasks[self]
            if life.alive:
                self.finish(stop.value)
        except SimulationCrashed:
            raise
        except Exception as error:
            raise crash_of(self._coro, error) from error

    def finish(self, value: T) -> None:
        """What is done with the result; who serves a request replies instead."""
        self.future.set(value)

    def forget(self) -> None:
        """Close the coroutine if it never began (that runs none of its code), else leave it be."""
        if inspect.getcoroutinestate(self._coro) == inspect.CORO_CREATED:
            self._coro.close()


def crash_of(coro: Coroutine[Any, None, Any], error: Exception) -> SimulationCrashed:
    """What the run raises when a step of `coro` raised."""
    name = getattr(coro, "__qualname__", repr(coro))
    return SimulationCrashed(f"{name}: {type(error).__name__}: {error}")


class _Environment(simpy.Environment):
    """SimPy's clock and queue; the loop turns them."""

    def step(self) -> NoReturn:
        raise RuntimeError("run the Loop, not the environment inside it")


class Loop:
    """Simulated time in whole microseconds, and everything that happens in it."""

    def __init__(self) -> None:
        self.env = _Environment(0)
        self.ready: deque[Fireable] = deque()
        self.now_us = 0
        self.events = 0  # executed so far: deliveries, timers, SimPy's events and steps of tasks
        self.life = Life(self)  # of whatever belongs to no host; never ends
        self.graves: list[Life] = []  # the ended ones, so that nothing collects their tasks
        self._until_us = -1
        self._running = False
        # SimPy's own queue and counter, for those in the kernel who push without a call.
        self.queue: list[tuple[int, int, int, Any]] = cast("Any", self.env._queue)
        self.order = self.env._eid

    def push(self, us: int, event: Fireable) -> None:
        """Put a slim event into SimPy's queue; equal times fire in the order of pushing."""
        assert type(us) is int, f"microseconds are whole: {us!r}"
        assert us >= self.now_us, f"{us} us is past, now is {self.now_us} us"
        heappush(self.queue, (us, NORMAL, next(self.order), event))

    def call_at(self, us: int, fn: Callable[..., object], *args: Any) -> Timer:
        timer = Timer(self.life, fn, args)
        self.push(us, timer)
        return timer

    def call_later(self, delay_us: int, fn: Callable[..., object], *args: Any) -> Timer:
        return self.call_at(self.now_us + delay_us, fn, *args)

    def call_soon(self, fn: Callable[..., object], *args: Any) -> None:
        """Call after the present step, at the same instant, after all that is ready already."""
        self.ready.append(Timer(self.life, fn, args))

    def spawn(self, coro: Coroutine[Any, None, T], life: Life | None = None) -> Task[T]:
        """Begin `coro` after the present step."""
        task = Task(coro, life or self.life)
        self.ready.append(task)
        return task

    def start(self, coro: Coroutine[Any, None, T], life: Life | None = None) -> Task[T]:
        """Run the first step of `coro` now: only for the top of the loop, never within a task."""
        task = Task(coro, life or self.life)
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
        self._until_us = -1

    def run(self, until_us: int | None = None, events_max: int = FOREVER) -> None:
        """Execute everything due up to and including `until_us`, or everything there is.

        Time then stands at `until_us`. More than `events_max` events in all count as a crash:
        a model that spins without time passing would otherwise never come back.
        """
        assert not self._running, "a run within a run"
        self._running = True
        self._until_us = FOREVER if until_us is None else until_us
        try:
            self._turn(events_max)
        except SimulationCrashed:
            raise
        except Exception as error:
            where = f"at {self.now_us} us: {type(error).__name__}: {error}"
            raise SimulationCrashed(where) from error
        finally:
            self._running = False
        if until_us is not None and self._until_us == until_us:
            self.now_us = self.env._now = max(self.now_us, until_us)

    def _turn(self, events_max: int) -> None:
        """The inner loop: what is ready first, then the next event of the queue."""
        queue, ready, env = self.queue, self.ready, self.env
        while True:
            if ready:
                ready.popleft().fire()
            elif queue and queue[0][0] <= self._until_us:
                at, _, _, event = heappop(queue)
                callbacks = event.callbacks
                if callbacks is CANCELLED:
                    continue
                self.now_us = env._now = at
                if callbacks is SLIM:
                    event.fire()
                else:
                    _fire_simpy(at, event)
            else:
                break
            self.events = events = self.events + 1
            if events > events_max:
                raise SimulationCrashed(f"more than {events_max} events, at {self.now_us} us")


def _fire_simpy(at: int, event: Any) -> None:
    """SimPy's own `step` for one of its own events, failures chained instead of copied."""
    assert type(at) is int, f"SimPy processes must wait whole microseconds, not until {at!r}"
    callbacks, event.callbacks = event.callbacks, None
    for callback in callbacks:
        callback(event)
    if not event._ok and not hasattr(event, "_defused"):
        raise event._value


__all__ = ["Ended", "Future", "Life", "Loop", "Scope", "SimulationCrashed", "Task", "Timer"]
