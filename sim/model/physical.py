"""Timestamps by a node's physical clock alone: what IEP-98 had before it turned to hybrid clocks.

"Note that this implies that we use HLC from now on, not the physical clock that we used in the
warm-up section" (IEP-98, Using safe time). Three things are missing here that a hybrid clock has:

* nothing is merged: a timestamp that a message brought may lie above the next one of this node;
* nothing is held up: where the physical clock steps back, so do the timestamps, and a timestamp may
  be given a second time;
* nothing is kept on the disk: a restarted node begins at what its clock shows.

Within one millisecond of its clock a node counts its timestamps up, so that they rise for as long
as the clock does not go back.
"""

from collections.abc import Callable

from ddlsim.model.hlc import HybridClock
from ddlsim.units import LOGICAL_BITS, MIN_TIMESTAMP, Timestamp


class PhysicalTimestamps(HybridClock):
    """Stands where a node's hybrid clock stands, and follows its physical clock wherever it goes.

    `_read` is what the physical clock showed when the last timestamp was given.
    """

    __slots__ = ("_read",)

    def __init__(self, physical_ms: Callable[[], int]) -> None:
        super().__init__(physical_ms)
        self._read: int = MIN_TIMESTAMP

    def now(self) -> Timestamp:
        """What the physical clock shows; counts up while that stays the same."""
        self._read, self._last = self._look(self._last + 1)
        return Timestamp(self._last)

    def current(self) -> Timestamp:
        """What the clock shows, without counting up."""
        return Timestamp(self._look(self._last)[1])

    def _look(self, at_least: int) -> tuple[int, int]:
        """The reading, and the timestamp: the reading, or more unless the clock has gone back."""
        read = self._physical_ms() << LOGICAL_BITS
        return read, read if read < self._read else max(read, at_least)

    def beyond(self, _ts: Timestamp) -> Timestamp:
        """A new timestamp, larger than `ts` or not."""
        return self.now()

    def update(self, _ts: Timestamp) -> None:
        """Does nothing: timestamps of other nodes do not move this clock."""
