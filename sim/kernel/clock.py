"""A node's physical clock: offset, drift, steps; whole microseconds of simulated time in and out.

Between two changes a clock is a straight line: at simulated time `t` it reads
`t + offset + floor((t - from) * drift / 1,000,000)`. The list of those pieces is all there is to
know about a clock.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from ddlsim.kernel.engine import Loop

MILLION: Final = 1_000_000


class Piece(NamedTuple):
    """From this simulated instant on: the offset then, and the drift since."""

    from_us: int
    offset_us: int
    drift_ppm: int

    def shows_us(self, at_us: int) -> int:
        return at_us + self.offset_us + (at_us - self.from_us) * self.drift_ppm // MILLION


class PhysicalClock:
    """What one node takes for the time."""

    __slots__ = ("_changed", "_loop", "_ms", "_ms_until_us", "_piece", "pieces")

    def __init__(self, loop: Loop, offset_us: int = 0, drift_ppm: int = 0) -> None:
        self._loop = loop
        self._changed: dict[int, Callable[[], None]] = {}
        self.pieces: list[Piece] = []
        self._ms = self._ms_until_us = 0
        self._begin_piece(offset_us, drift_ppm)

    def read_us(self) -> int:
        now_us = self._loop.now_us
        from_us, offset_us, drift_ppm = self._piece
        return now_us + offset_us + (now_us - from_us) * drift_ppm // MILLION

    def read_ms(self) -> int:
        """Whole milliseconds; reckoned once for each of them, since most reads find the same."""
        if self._loop.now_us >= self._ms_until_us:
            self._ms = self.read_us() // 1000
            self._ms_until_us = self.due_us(self._ms + 1)
        return self._ms

    def due_us(self, clock_ms: int) -> int:
        """The first simulated instant, not before now, at which the clock shows `clock_ms`.

        True for the present rate: a change of the clock makes it out of date (`on_change`).
        """
        from_us, offset_us, drift_ppm = self._piece
        missing = clock_ms * 1000 - from_us - offset_us
        elapsed = -(-missing * MILLION // (MILLION + drift_ppm))  # rounded up
        return max(self._loop.now_us, from_us + elapsed)

    def real_us(self, span_us: int) -> int:
        """In how much simulated time the clock advances by a span, at its present rate; a step does
        not count."""
        return -(-span_us * MILLION // (MILLION + self._piece.drift_ppm))  # rounded up

    def step(self, by_us: int) -> None:
        """Jump, forwards or back."""
        now_us = self._loop.now_us
        self._begin_piece(self.read_us() - now_us + by_us, self._piece.drift_ppm)

    def set_drift(self, ppm: int) -> None:
        """Run faster or slower from here on, without a jump."""
        self._begin_piece(self.read_us() - self._loop.now_us, ppm)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call after every step and change of rate; the answer ends the subscription.

        A crash of the clock's host ends all subscriptions: they are of its incarnation.
        """
        key = max(self._changed, default=0) + 1
        self._changed[key] = callback

        def unsubscribe() -> None:
            self._changed.pop(key, None)

        return unsubscribe

    def forget_listeners(self) -> None:
        """End all subscriptions."""
        self._changed.clear()

    def _begin_piece(self, offset_us: int, drift_ppm: int) -> None:
        assert type(offset_us) is int, f"microseconds are whole: {offset_us!r}"
        assert type(drift_ppm) is int, f"parts per million are whole: {drift_ppm!r}"
        assert drift_ppm > -MILLION, f"a clock that does not advance: {drift_ppm} ppm"
        self._piece = Piece(self._loop.now_us, offset_us, drift_ppm)
        self.pieces.append(self._piece)
        self._ms_until_us = 0
        for key, callback in list(self._changed.items()):
            if key in self._changed:
                callback()
