"""The ports: everything that a protocol needs from its environment.

A protocol is written against `Node`, never against SimPy, a socket or a random number. Whatever
implements these calls can run it: the simulator (`ddlsim.cluster.adapters`), a test with fakes, one
day a real network. Waits are awaitables; *between two awaits nothing else happens in the cluster*.

Every wait belongs to a scope. When the scope ends, the wait returns `Ended(reason)`; when the node
crashes, its tasks are simply never resumed (so no `finally` of theirs ever runs).
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Final, Generic, Protocol, TypeVar

from ddlsim.model.hlc import HybridClock
from ddlsim.model.records import Record
from ddlsim.model.settings import Settings
from ddlsim.units import Micros, Timestamp

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")


class NoReplyType:
    """The type of `NO_REPLY`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_REPLY"


NO_REPLY: Final = NoReplyType()
"""The result of a request without a reply in time."""


class Request(Record, Generic[R_co], frozen=True):
    """A message that is answered; `R_co` is what the answer may be."""


class Future(Protocol[T]):
    """A value that is set later, and can be awaited."""

    @property
    def done(self) -> bool:
        """Whether the value is there."""

    def set(self, value: T) -> None:
        """Set the value; tasks that await it run after the present task reaches an await."""

    def __await__(self) -> Generator[object, None, T]:
        """Wait for the value, and return it."""


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Do not make the call."""


class Stopwatch(Protocol):
    """Simulated time, for measuring durations and for the history; no node may decide by it."""

    @property
    def now_us(self) -> Micros:
        """The present instant."""


Handler = Callable[[str, Any], Any]
"""Takes (sender, payload), returns a reply or None; a coroutine function, if it may wait."""


class Node(Protocol):
    """A node as the protocol sees it."""

    name: str
    watch: Stopwatch
    clock: HybridClock
    settings: Settings
    disk: dict[str, object]
    recording: bool
    disk_delay_us: int

    def on(self, payload_type: type[T], handler: Callable[[str, T], object]) -> None:
        """Handle messages whose payload is of exactly this type.

        A handler returns a reply or None; one that may wait is a coroutine function.
        """

    def send(self, to: str, payload: object, label: int | None = None) -> None:
        """Send a message without waiting for a reply."""

    def request(
        self, to: str, payload: Request[R], timeout_us: Micros, label: int | None = None
    ) -> Awaitable[R | NoReplyType]:
        """Send and wait for the reply; `NO_REPLY` if none came in time."""

    def spawn(self, task: Coroutine[object, None, object]) -> None:
        """Run a task of this incarnation beside the present one."""

    def start(self, task: Coroutine[object, None, object]) -> None:
        """The same, its first step now: for what a timer calls, never within a task."""

    def sleep(self, duration_us: Micros) -> Awaitable[None]:
        """Wait for a span of simulated time."""

    def sleep_by_clock(self, duration_us: Micros) -> Awaitable[None]:
        """Wait for a span as this node's physical clock measures it, whose rate may be off."""

    def call_later(self, delay_us: Micros, fn: Callable[..., None], *args: object) -> Timer:
        """Call a function of this incarnation after a span of simulated time."""

    def future(self) -> Future[T]:
        """A future that ends with this incarnation."""

    def clock_passes(self, ts: Timestamp) -> Awaitable[None]:
        """Wait until this node's hybrid clock shows at least `ts`."""

    def record(self, event: object) -> None:
        """Record an event in the history; takes no simulated time."""

    def is_first(self, key: object) -> bool:
        """Whether this is the first call with `key` on any node: that one records the event."""

    def probe(self, name: str) -> None:
        """Count that a rare branch was reached."""

    def spread(self, purpose: str, bound_us: Micros) -> Micros:
        """A span below the bound, drawn anew at each call: so that nodes do not act in step."""

    def pause_at(self, point: str, tx: str | None = None) -> Awaitable[None] | None:
        """A named point of the protocol: None to go on, or the wait of a scripted pause."""
