"""For all clocks: monotone unless stepped back, `due_us` exact."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.kernel.clock import PhysicalClock, Piece
from ddlsim.kernel.engine import Loop

DRIFTS = st.one_of(st.integers(-300, 300), st.integers(-999_999, 2_000_000))
OFFSETS = st.integers(-10_000, 10_000)


class Change(NamedTuple):
    """After a span, a jump or another rate."""

    after_us: int
    step_us: int | None
    drift_ppm: int | None


CHANGES = st.lists(
    st.one_of(
        st.builds(Change, st.integers(0, 50), OFFSETS, st.none()),
        st.builds(Change, st.integers(0, 50), st.none(), DRIFTS),
    ),
    max_size=6,
)


class Story(NamedTuple):
    """One clock and what it showed: at every instant, before and after the changes in it."""

    pieces: list[Piece]
    shown: list[tuple[int, int]]


def live(offset_us: int, drift_ppm: int, changes: list[Change], until_us: int) -> Story:
    """Run a clock through its changes and read it at every microsecond."""
    loop = Loop()
    clock = PhysicalClock(loop, offset_us, drift_ppm)
    shown: list[tuple[int, int]] = []

    def read_until(us: int) -> None:
        while loop.now_us < us:
            shown.append((loop.now_us, clock.read_us()))
            loop.run(until_us=loop.now_us + 1)
        shown.append((loop.now_us, clock.read_us()))

    for change in changes:
        read_until(loop.now_us + change.after_us)
        if change.step_us is not None:
            clock.step(change.step_us)
        if change.drift_ppm is not None:
            clock.set_drift(change.drift_ppm)
        shown.append((loop.now_us, clock.read_us()))
    read_until(max(until_us, loop.now_us))
    return Story(list(clock.pieces), shown)


@given(OFFSETS, DRIFTS, CHANGES)
def test_a_clock_goes_back_only_when_stepped_back(
    offset_us: int, drift_ppm: int, changes: list[Change]
) -> None:
    forwards = [c for c in changes if c.step_us is None or c.step_us >= 0]
    shown = [reading for _, reading in live(offset_us, drift_ppm, forwards, 100).shown]
    assert shown == sorted(shown)


@given(OFFSETS, DRIFTS, CHANGES)
def test_every_reading_follows_from_the_pieces(
    offset_us: int, drift_ppm: int, changes: list[Change]
) -> None:
    """The formula, from the outside: nothing but the pieces is needed to know a clock."""
    pieces, shown = live(offset_us, drift_ppm, changes, 100)
    for at_us, reading in shown:
        possible = [
            at_us + offset + ((at_us - start) * ppm) // 1_000_000
            for (start, offset, ppm), end in zip(
                pieces, [piece[0] for piece in pieces[1:]] + [1 << 60], strict=True
            )
            if start <= at_us <= end
        ]
        assert reading in possible


@given(OFFSETS, DRIFTS, st.integers(0, 3_000_000), st.integers(-20, 3_000))
def test_due_is_the_first_instant(
    offset_us: int, drift_ppm: int, now_us: int, clock_ms: int
) -> None:
    loop = Loop()
    clock = PhysicalClock(loop, offset_us, drift_ppm)
    loop.run(until_us=now_us)
    due_us = clock.due_us(clock_ms)
    if due_us > now_us:
        loop.run(until_us=due_us - 1)
        assert clock.read_ms() < clock_ms
    loop.run(until_us=due_us)
    assert clock.read_ms() >= clock_ms
