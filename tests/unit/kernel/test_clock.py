"""A physical clock is a chain of straight lines, and their greatest distance is computed."""

import pytest

from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Loop


def at(loop: Loop, us: int) -> None:
    loop.run(until_us=us)


def test_a_clock_shows_true_time_plus_offset_plus_drift() -> None:
    loop = Loop()
    clock = PhysicalClock(loop, offset_us=-2500, drift_ppm=100)
    assert (clock.read_us(), clock.read_ms()) == (-2500, -3)
    at(loop, 10_000_000)
    assert (clock.read_us(), clock.read_ms()) == (10_000_000 - 2500 + 1000, 9998)


def test_a_step_jumps_and_keeps_the_rate() -> None:
    loop = Loop()
    clock = PhysicalClock(loop, offset_us=10, drift_ppm=-1000)
    at(loop, 1_000_000)
    assert clock.read_us() == 1_000_000 + 10 - 1000
    clock.step(-500)
    assert clock.read_us() == 1_000_000 + 10 - 1000 - 500
    at(loop, 2_000_000)
    assert clock.read_us() == 2_000_000 + 10 - 2000 - 500


def test_a_change_of_rate_does_not_jump() -> None:
    loop = Loop()
    clock = PhysicalClock(loop, drift_ppm=50)
    at(loop, 1_000_000)
    clock.set_drift(0)
    at(loop, 2_000_000)
    assert clock.read_us() == 2_000_050
    assert clock.pieces == [(0, 0, 50), (1_000_000, 50, 0)]


def test_due_is_the_first_instant_that_shows_the_time() -> None:
    loop = Loop()
    clock = PhysicalClock(loop, offset_us=-3, drift_ppm=-500_000)
    due_us = clock.due_us(2)
    at(loop, due_us - 1)
    assert clock.read_us() < 2000
    at(loop, due_us)
    assert clock.read_us() >= 2000


@pytest.mark.parametrize(("ppm", "us"), [(0, 3000), (500_000, 2000), (-250_000, 4000), (1, 3000)])
def test_a_span_takes_less_true_time_by_a_fast_clock_and_more_by_a_slow_one(
    ppm: int, us: int
) -> None:
    loop = Loop()
    clock = PhysicalClock(loop, offset_us=77, drift_ppm=ppm)
    clock.step(1000)
    assert clock.real_us(3000) == us


def test_what_a_clock_shows_already_is_due_now() -> None:
    loop = Loop()
    clock = PhysicalClock(loop, offset_us=5000)
    at(loop, 100)
    assert clock.due_us(5) == 100


def test_who_waits_for_a_clock_hears_of_its_changes() -> None:
    loop, log = Loop(), []
    clock = PhysicalClock(loop)
    unsubscribe = clock.on_change(lambda: log.append(("first", clock.read_us())))
    clock.on_change(lambda: log.append(("second", clock.read_us())))
    clock.step(7)
    unsubscribe()
    unsubscribe()
    clock.on_change(lambda: log.append(("third", clock.read_us())))
    clock.set_drift(3)
    assert log == [("first", 7), ("second", 7), ("second", 7), ("third", 7)]


def test_a_subscriber_may_leave_while_it_is_told() -> None:
    loop, log = Loop(), []
    clock = PhysicalClock(loop)

    def once() -> None:
        log.append(clock.read_us())
        unsubscribe()

    unsubscribe = clock.on_change(once)
    clock.step(1)
    clock.step(1)
    assert log == [1]


def test_a_listener_may_silence_the_next() -> None:
    loop, log = Loop(), []
    clock = PhysicalClock(loop)
    clock.on_change(clock.forget_listeners)
    clock.on_change(lambda: log.append("told"))
    clock.step(1)
    assert log == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offset_us": 0.5}, "microseconds are whole"),
        ({"drift_ppm": 1.5}, "parts per million are whole"),
        ({"drift_ppm": -1_000_000}, "does not advance"),
    ],
)
def test_impossible_clocks_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        PhysicalClock(Loop(), **settings)
