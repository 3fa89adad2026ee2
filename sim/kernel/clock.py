"""A node's physical clock: offset, drift, steps; whole microseconds of simulated time in and out.

Between two changes a clock is a straight line: at simulated time `t` it reads
`t + offset + floor((t - from) * drift / 1,000,000)`. The list of those pieces is all there is to
know about a clock, so the skew between the clocks of a run can be computed exactly afterwards.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
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

        True for the present rate; who waits asks again when the clock changes.
        """
        from_us, offset_us, drift_ppm = self._piece
        missing = clock_ms * 1000 - from_us - offset_us
        elapsed = -(-missing * MILLION // (MILLION + drift_ppm))  # rounded up
        return max(self._loop.now_us, from_us + elapsed)

    def step(self, by_us: int) -> None:
        """Jump, forwards or back."""
        now_us = self._loop.now_us
        self._begin_piece(self.read_us() - now_us + by_us, self._piece.drift_ppm)

    def set_drift(self, ppm: int) -> None:
        """Run faster or slower from here on, without a jump."""
        self._begin_piece(self.read_us() - self._loop.now_us, ppm)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call after every step and change of rate; the answer ends the subscription.

        A crash of the clock's host ends all of them: who listened was part of that incarnation.
        """
        key = max(self._changed, default=0) + 1
        self._changed[key] = callback

        def unsubscribe() -> None:
            self._changed.pop(key, None)

        return unsubscribe

    def forget_listeners(self) -> None:
        """Nobody is told of changes any more."""
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


Pieces = Sequence[tuple[int, int, int]]


def max_pairwise_skew_us(clocks_pieces: Sequence[Pieces], until_us: int) -> int:
    """The largest difference between two clocks at one instant of [0, until], rounded up.

    Differences of straight lines are largest where a piece begins or ends, so only those instants
    are looked at. Lines, not floors: the answer is exact to the microsecond and never too small.
    At an instant of change the old reading counts as well as the new one.
    """
    return max(
        (_skew_us(one, other, until_us) for one, other in combinations(clocks_pieces, 2)), default=0
    )


def _skew_us(one: Pieces, other: Pieces, until_us: int) -> int:
    """The same for two clocks: every pair of pieces that share an instant, at both its ends."""
    largest = 0  # in millionths of a microsecond, where everything is a whole number
    spans, other_spans = _spans(one, until_us), _spans(other, until_us)
    first = 0
    if not other_spans:
        return 0
    for piece, begin, end in spans:
        while other_spans[first][2] < begin:
            first += 1
        for other_piece, other_begin, other_end in other_spans[first:]:
            if other_begin > end:
                break
            for at_us in (max(begin, other_begin), min(end, other_end)):
                difference = _line(piece, at_us) - _line(other_piece, at_us)
                largest = max(largest, abs(difference))
    return -(-largest // MILLION)


def _spans(pieces: Pieces, until_us: int) -> list[tuple[tuple[int, int, int], int, int]]:
    """Each piece with the closed interval in which it was in force."""
    ends = [piece[0] for piece in pieces[1:]] + [until_us]
    return [
        (piece, piece[0], min(end, until_us))
        for piece, end in zip(pieces, ends, strict=True)
        if piece[0] <= until_us
    ]


def _line(piece: tuple[int, int, int], at_us: int) -> int:
    """The offset at an instant, in millionths of a microsecond."""
    from_us, offset_us, drift_ppm = piece
    return offset_us * MILLION + (at_us - from_us) * drift_ppm
