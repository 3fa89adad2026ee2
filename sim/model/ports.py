"""The ports: all that a protocol asks of the world.

A protocol is written against `Node`, never against SimPy, a socket or a random number. Whatever
answers these calls can run it: the simulator (`ddlsim.cluster.adapters`), a test with fakes, one
day a real network. Waits are awaitables; *between two awaits nothing else happens in the cluster*.

Every wait belongs to a scope. When the scope ends, the wait returns `Ended(reason)`; when the node
crashes, its tasks are simply never resumed (so no `finally` of theirs ever runs).
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Generic, Protocol, TypeVar

from ddlsim.model.hlc import HybridClock
from ddlsim.model.records import Record
from ddlsim.model.settings import DERIVED, with_derived
from ddlsim.units import (
    US_PER_MS,
    Micros,
    Timestamp,
)

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class NoReplyType:
    """The type of `NO_REPLY`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_REPLY"


NO_REPLY: Final = NoReplyType()
"""What a request gives when no answer came in time."""


class Request(Record, Generic[R_co], frozen=True):
    """A message that is answered; `R_co` is what the answer may be."""


class Settings:
    """What may differ per node or change at run time; never part of a strategy.

    `delay_duration_ms` is DD, `max_clock_skew_ms` the configured CSmax, `safe_time_interval_ms` H.
    `election_timeout_ms` is how long a follower hears nothing before it stands for election,
    `lease_duration_ms` how long a primary is one, `lease_check_ms` how often leases are looked
    after, `snapshot_entries` how many applied entries a log keeps before it is compacted,
    `partition_idle_ms` after how long without a write a partition's leader stamps an idle command,
    `tx_timeout_ms` how long a transaction may take, and `orphan_check_ms` how long one may be in
    the way before somebody asks whether its coordinator is alive. The others are spans too, one
    for each thing that the protocol waits for; scenarios/README.md says what each of them is, and
    `ddlsim.model.settings` what it follows from where it is not given.
    """

    __slots__ = (
        "barrier_wait_ms",
        "ddl_attempts",
        "delay_duration_ms",
        "election_spread_ms",
        "election_timeout_ms",
        "heartbeat_ms",
        "laggard_ms",
        "lease_check_ms",
        "lease_duration_ms",
        "lease_grant_ms",
        "lease_renewal_ms",
        "lock_retries",
        "lock_retry_ms",
        "max_clock_skew_ms",
        "metadata_hope_ms",
        "metadata_wait_ms",
        "operation_timeout_us",
        "orphan_answer_ms",
        "orphan_check_ms",
        "orphan_sweep_ms",
        "partition_idle_ms",
        "read_resend_ms",
        "resend_us",
        "retry_ms",
        "safe_time_interval_ms",
        "snapshot_entries",
        "tx_timeout_ms",
    )

    def __init__(  # one value a field
        self,
        *,
        delay_duration_ms: int,
        max_clock_skew_ms: int,
        safe_time_interval_ms: int,
        operation_timeout_us: Micros,
        resend_us: Micros,
        ddl_attempts: int,
        lock_retries: int,
        election_timeout_ms: int = 1_200,
        lease_duration_ms: int = 5_000,
        lease_check_ms: int = 500,
        snapshot_entries: int = 1_000,
        partition_idle_ms: int = 1_000,
        tx_timeout_ms: int = 30_000,
        orphan_check_ms: int = 1_000,
        lock_retry_ms: int = 5,
        laggard_ms: int = 500,
        barrier_wait_ms: int = 500,
        **given: int,
    ) -> None:
        self.delay_duration_ms = delay_duration_ms
        self.max_clock_skew_ms = max_clock_skew_ms
        self.safe_time_interval_ms = safe_time_interval_ms
        self.operation_timeout_us = operation_timeout_us
        self.resend_us = resend_us
        self.ddl_attempts = ddl_attempts
        self.lock_retries = lock_retries
        self.election_timeout_ms = election_timeout_ms
        self.lease_duration_ms = lease_duration_ms
        self.lease_check_ms = lease_check_ms
        self.snapshot_entries = snapshot_entries
        self.partition_idle_ms = partition_idle_ms
        self.tx_timeout_ms = tx_timeout_ms
        self.orphan_check_ms = orphan_check_ms
        self.lock_retry_ms = lock_retry_ms
        self.laggard_ms = laggard_ms
        self.barrier_wait_ms = barrier_wait_ms
        assert given.keys() <= DERIVED.keys(), f"no settings: {sorted(given.keys() - DERIVED)}"
        self._derive(given)

    def _derive(self, given: dict[str, int]) -> None:
        """The spans that follow from others, but for those that are given."""
        numbers = with_derived(
            {
                "resend_ms": self.resend_us // US_PER_MS,
                "operation_timeout_ms": self.operation_timeout_us // US_PER_MS,
                "election_timeout_ms": self.election_timeout_ms,
                "lease_duration_ms": self.lease_duration_ms,
                "partition_idle_ms": self.partition_idle_ms,
                "orphan_check_ms": self.orphan_check_ms,
                **given,
            }
        )
        self.retry_ms = numbers["retry_ms"]
        self.heartbeat_ms = numbers["heartbeat_ms"]
        self.election_spread_ms = numbers["election_spread_ms"]
        self.lease_renewal_ms = numbers["lease_renewal_ms"]
        self.lease_grant_ms = numbers["lease_grant_ms"]
        self.read_resend_ms = numbers["read_resend_ms"]
        self.orphan_answer_ms = numbers["orphan_answer_ms"]
        self.orphan_sweep_ms = numbers["orphan_sweep_ms"]
        self.metadata_wait_ms = numbers["metadata_wait_ms"]
        self.metadata_hope_ms = numbers["metadata_hope_ms"]

    @property
    def retry_us(self) -> Micros:
        """`retry_ms` in microseconds."""
        return Micros(self.retry_ms * US_PER_MS)


class Future(Protocol[T_contra]):
    """A value that some task will be given."""

    @property
    def done(self) -> bool:
        """Whether the value is there."""

    def set(self, value: T_contra) -> None:
        """Give the value; whoever awaits it runs after the present task has come to its await."""

    def __await__(self) -> Any:
        """Wait for the value."""


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
"""Takes (sender, payload); gives a reply, None for none, or a coroutine that does."""


class Node(Protocol):
    """A node as the protocol sees it."""

    name: str
    watch: Stopwatch
    clock: HybridClock
    settings: Settings
    disk: dict[str, Any]
    recording: bool
    disk_delay_us: int

    def on(self, payload_type: type, handler: Handler) -> None:
        """Handle messages whose payload is of this type."""

    def send(self, to: str, payload: object, label: int | None = None) -> None:
        """Send and forget."""

    def request(
        self, to: str, payload: Request[R], timeout_us: Micros, label: int | None = None
    ) -> Awaitable[R | NoReplyType]:
        """Send and wait for the reply; `NO_REPLY` if none came in time."""

    def spawn(self, task: Coroutine[Any, Any, Any]) -> None:
        """Run a task of this incarnation beside the present one."""

    def sleep(self, duration_us: Micros) -> Awaitable[None]:
        """Wait for a span of simulated time."""

    def call_later(self, delay_us: Micros, fn: Callable[..., None], *args: object) -> Timer:
        """Call a function of this incarnation after a span of simulated time."""

    def future(self) -> Future[Any]:
        """A future that ends with this incarnation."""

    def clock_passes(self, ts: Timestamp) -> Awaitable[None]:
        """Wait until this node's hybrid clock shows at least `ts`."""

    def record(self, event: object) -> None:
        """Write an event into the history; takes no simulated time."""

    def record_once(self, key: object, event: object) -> None:
        """Write an event that any node of the cluster may report, the first time only."""

    def probe(self, name: str) -> None:
        """Count that a rare branch was reached."""

    def spread(self, purpose: str, bound_us: Micros) -> Micros:
        """A span below the bound, drawn anew at each call: so that nodes do not act in step."""

    def pause_at(self, point: str, tx: str | None = None) -> Awaitable[None] | None:
        """A named point of the protocol: None to go on, or what a scripted pause makes wait."""
