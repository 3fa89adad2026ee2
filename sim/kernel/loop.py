"""Tasks on SimPy's queue: the one file that knows what `await` does.

Between two awaits nothing else happens in the cluster. That sentence is the whole concurrency
model: a step of a task runs to its next await without interruption, giving a future its value
only makes the waiters ready, and what is ready runs when the present step is over, first come
first served.

SimPy's environment keeps the clock and the queue, so that ordinary SimPy processes can live beside
our tasks. What our own code puts into that queue is slim: an object with `fire()` and no list of
callbacks. A task is a native coroutine driven by `send`, never a SimPy `Process`.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from typing import Any, ClassVar, Final, NoReturn, TypeVar, cast

import simpy

from sim.kernel.future import Ended, Fireable, Future, Scope
from sim.kernel.life import CANCELLED, MAIL, SLIM, Life, SimulationCrashed, Task, Timer, nothing
from sim.units import Micros

T = TypeVar("T")

ENDING: Final[tuple[None, ...]] = (None, None)  # what the end of a run shows
FIRST, NORMAL, LAST = -1, 1, 2  # priorities at one instant; SimPy's own are 0 and 1
FOREVER: Final = 1 << 62


class _Alarm(Future[None], eq=False):
    """A future that the queue itself completes: a sleep in one object."""

    callbacks: ClassVar = SLIM

    def fire(self) -> None:
        self.set(None)


class _Environment(simpy.Environment):
    """SimPy's clock and queue; the loop turns them."""

    def step(self) -> NoReturn:
        raise RuntimeError("run the Loop, not the environment inside it")


class Loop:
    """Simulated time in whole microseconds, and everything that happens in it."""

    def __init__(self) -> None:
        self.env = _Environment(0)
        self.ready: deque[Fireable] = deque()
        self.now_us = Micros(0)
        self.events = 0  # executed so far: deliveries, timers, SimPy's events and steps of tasks
        self.life = Life(self)  # of whatever belongs to no host; never ends
        self.graves: list[Life] = []  # the ended ones, so that nothing collects their tasks
        self._end: Timer | None = None  # of the run under way
        self._stopped = False
        # SimPy's own queue and counter, for those in the kernel who push without a call.
        self.queue: list[tuple[Any, int, int, Any]] = cast("Any", self.env._queue)
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
        task = Task.of(life or self.life, coro)
        self.ready.append(task)
        return task

    def start(self, coro: Coroutine[Any, None, T], life: Life | None = None) -> Task[T]:
        """Run the first step of `coro` now: only for the top of the loop, never within a task."""
        task = Task.of(life or self.life, coro)
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
            heappush(self.queue, (self.now_us, FIRST, next(self.order), self._end))

    def run(self, until_us: int | None = None, events_max: int = FOREVER) -> None:
        """Execute everything due up to and including `until_us`, or everything there is.

        Time then stands at `until_us`. More than `events_max` events in all count as a crash:
        a model that spins without time passing would otherwise never come back.
        """
        assert self._end is None, "a run within a run"
        self._stopped = False
        self._end = end = Timer(self.life, nothing, ())
        end.callbacks = ENDING
        due_us = FOREVER if until_us is None else until_us
        heappush(self.queue, (due_us, LAST, next(self.order), end))
        try:
            self._turn(events_max)
        except SimulationCrashed:
            raise
        except Exception as error:
            where = f"at {self.now_us} us: {type(error).__name__}: {error}"
            raise SimulationCrashed(where) from error
        finally:
            self._end = None
            end.cancel()
        if until_us is not None and not self._stopped:
            self.now_us = self.env._now = Micros(max(self.now_us, until_us))

    def _turn(self, events_max: int) -> None:
        """The inner loop: what is ready first, then the next event of the queue.

        `while True`, for CPython 3.11 makes a loop with a condition fast only in a function that is
        called often, and this one is called once.
        """
        queue, ready, env, pop, mail = self.queue, self.ready, self.env, heappop, MAIL
        events = self.events
        try:
            while True:
                if ready:
                    ready.popleft().fire()
                else:
                    at, _, _, event = pop(queue)
                    callbacks = event.callbacks
                    if callbacks is mail:  # what `fire` would do, without the detour
                        self.now_us = env._now = at
                        event.channel.endpoint.receive(event)
                    elif callbacks is SLIM:
                        self.now_us = env._now = at
                        event.fire()
                    elif callbacks is CANCELLED:
                        continue
                    elif callbacks is ENDING:
                        return
                    else:
                        self.now_us = env._now = at
                        _fire_simpy(at, event)
                events += 1
                if events > events_max:
                    at_us = f"at {self.now_us} us"
                    raise SimulationCrashed(f"more than {events_max} events, {at_us}")
        finally:
            self.events = events


def _fire_simpy(at: int, event: Any) -> None:
    """SimPy's own `step` for one of its own events, failures chained instead of copied."""
    assert type(at) is int, f"SimPy processes must wait whole microseconds, not until {at!r}"
    callbacks, event.callbacks = event.callbacks, None
    for callback in callbacks:
        callback(event)
    if not event._ok and not hasattr(event, "_defused"):
        raise event._value


__all__ = ["Ended", "Future", "Life", "Loop", "Scope", "SimulationCrashed", "Task", "Timer"]
