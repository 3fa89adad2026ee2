"""Hybrid logical clocks: monotone, causal, and never far from the node's physical clock.

`now()` ticks: each call gives a timestamp larger than any that this clock gave or merged before.
`current()` looks without ticking. `update(ts)` merges a timestamp from elsewhere, so that whatever
this node stamps later is larger (IEP-98, Using safe time: from there on the reference clock is the
HLC and no longer the physical clock).

The physical part is in whole milliseconds of the node's own clock. If a physical clock steps back,
or runs behind what was merged, the hybrid clock stays where it is and counts its logical part up.
Behind the last of its 65,536 counts it goes on in the next millisecond, which then no physical
clock may have shown.

A clock that keeps a limit on its node's disk issues nothing above it before the disk says so; a
restarted node begins there, and so issues no timestamp below one that it issued before [98.x.7]. No
physical clock may have shown the limit yet, so the node first waits until its own one does: else a
wait of this clock, or of any that merges it, would end before that time has come.
"""

from collections.abc import Callable
from typing import Final

from ddlsim.units import LOGICAL_BITS, MIN_TIMESTAMP, Timestamp

CLOCK_LIMIT: Final = "clock limit"
"""Where a node's disk holds the limit of its hybrid clock."""
UNLIMITED: Final = 1 << 64
LIMIT_STEP: Final = 5 << LOGICAL_BITS
"""How far above the last timestamp the limit is put: so often it is written to the disk."""


class HybridClock:
    """One node's hybrid logical clock over its physical clock."""

    __slots__ = ("_last", "_limit", "_on_jump", "_physical_ms", "_write_limit")

    def __init__(
        self,
        physical_ms: Callable[[], int],
        last: Timestamp = MIN_TIMESTAMP,
        write_limit: Callable[[int], None] | None = None,
    ) -> None:
        self._physical_ms = physical_ms
        self._last: int = last
        self._on_jump: Callable[[], None] | None = None
        self._write_limit = write_limit
        self._limit: int = UNLIMITED if write_limit is None else last

    def now(self) -> Timestamp:
        """A new timestamp, larger than every earlier one of this clock; ticks."""
        physical = self._physical_ms() << LOGICAL_BITS
        last = self._last
        self._last = last = physical if physical > last else last + 1
        if last > self._limit:
            self._raise_limit(last)
        return last  # type: ignore[return-value]  # a call of `Timestamp` for each would show

    def _raise_limit(self, last: int) -> None:
        assert self._write_limit is not None, "a clock without a disk has no limit"
        self._limit = last + LIMIT_STEP
        self._write_limit(self._limit)

    def current(self) -> Timestamp:
        """What the clock shows, without ticking."""
        physical = self._physical_ms() << LOGICAL_BITS
        last = self._last
        return max(last, physical)  # type: ignore[return-value]  # as in `now`

    def beyond(self, ts: Timestamp) -> Timestamp:
        """A new timestamp, larger than `ts` too: `update` and `now` in one."""
        last = self._last
        if ts > last:
            self.update(ts)
            last = ts
        physical = self._physical_ms() << LOGICAL_BITS
        self._last = last = physical if physical > last else last + 1
        if last > self._limit:
            self._raise_limit(last)
        return last  # type: ignore[return-value]  # as in `now`

    def update(self, ts: Timestamp) -> None:
        """Merge a timestamp from elsewhere: later timestamps of this clock are larger."""
        if ts > self._last:
            self._last = ts
            if self._on_jump is not None:
                self._on_jump()

    def on_jump(self, callback: Callable[[], None] | None) -> None:
        """Call back when a merge moves the clock: waits for it may be over."""
        self._on_jump = callback
