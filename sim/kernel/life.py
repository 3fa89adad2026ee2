"""One incarnation of a host: the tasks and timers that belong to it, and how they end with it.

A crashed host's tasks are never resumed, and never closed either, because closing a coroutine runs
its `finally` blocks: a dead coordinator would politely release its locks. Their `Life` keeps them
referenced for as long as the world stands. For the same reason `try/finally` and `async with`
around an await are banned in protocol code: at the very end the interpreter does run them.
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from sim.kernel.future import Fireable, Future, Scope

if TYPE_CHECKING:
    from sim.kernel.loop import Loop

T = TypeVar("T")

SLIM: Final[tuple[None, ...]] = (None,)
"""What our own events show in place of SimPy's list of callbacks: `fire()` is all there is."""
MAIL: Final[tuple[None, ...]] = (None, None, None)  # what a message shows
CANCELLED: Final[tuple[None, ...]] = ()


class SimulationCrashed(Exception):  # noqa: N818 - the outcome's name
    """Simulated code raised: a defect of the model, never a finding about the protocol."""


class Life:
    """One incarnation of a host: when it ends, what it was about to do never happens."""

    __slots__ = ("alive", "loop", "paused", "postponed", "running", "scope", "tasks")

    def __init__(self, loop: "Loop") -> None:
        self.loop = loop
        self.alive = True
        self.paused = False
        self.running = True  # alive and not paused: the one question the hot path asks
        self.tasks: dict[Task[Any], None] = {}
        self.scope: Scope = Scope(loop.ready)
        self.postponed: list[Fireable] = []

    def call_at(self, us: int, fn: Callable[..., object], *args: Any) -> "Timer":
        """A timer that waits while this life is paused and dies with it."""
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
        self.loop.ready.extendleft(reversed(self.postponed))
        self.postponed = []

    def end(self, reason: str) -> None:
        """Nothing of this life runs again; waits of others on its scope return `Ended`."""
        self.alive = self.running = False
        self.postponed = []
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
        self._fn = nothing
        self._args = ()


def nothing() -> None:
    """What a cancelled timer does if it waits in a paused life."""


class Task(msgspec.Struct, Generic[T], eq=False):
    """A coroutine under way; not awaitable itself, so that it may be left to itself."""

    _coro: Coroutine[Any, None, T]
    _life: Life
    _future: Future[T] | None = None

    @classmethod
    def of(cls, life: Life, coro: Coroutine[Any, None, T]) -> "Task[T]":
        """A task that is to begin; in a life that is over it never will."""
        task = cls(coro, life)
        life.tasks[task] = None
        if not life.alive:
            task.forget()
        return task

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
            awaited = self._coro.send(None)
            if awaited._waiters is None:  # `add_waiter` written out: nearly always the first
                awaited._waiters = self
            else:
                awaited.add_waiter(self)
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
