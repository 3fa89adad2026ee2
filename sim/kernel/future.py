"""What a task can wait for: futures, and the scopes that end them.

A future is given its value once. Its waiters do not run inside `set`: they are appended to the
loop's ready deque and run when the present step is over, which is what keeps "between two awaits
nothing else happens" true.

Every wait of the protocol belongs to a scope (an incarnation, a lease, a term, a transaction).
When the scope ends, the wait returns `Ended(reason)`: nothing waits for what can no longer come.
"""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

T = TypeVar("T")
UNSET: Final[Any] = None  # stands where the value will be
DONE: Final[Any] = ()  # stands where the waiters were


class Fireable(Protocol):
    """What may stand in the ready deque."""

    def fire(self) -> None: ...


class Future(msgspec.Struct, Generic[T], eq=False):
    """A value that waiters will be given; the only thing a task can wait for."""

    _ready: deque[Fireable]
    _waiters: Any = None  # nobody, one waiter, or a list of them; `DONE` in the end
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
