"""Timestamps by a physical clock alone: they follow it ahead and back, and merge nothing."""

from ddlsim.model.hlc import HybridClock
from ddlsim.model.physical import PhysicalTimestamps
from ddlsim.protocol.design.time_rules import hybrid_clock, physical_clock
from ddlsim.units import LOGICAL_MASK, timestamp


class Hand:
    """A physical clock moved by hand."""

    def __init__(self, ms: int = 0) -> None:
        self.ms = ms
        self.clock = PhysicalTimestamps(lambda: self.ms)


def test_within_one_millisecond_the_counter_ticks() -> None:
    """And starts again with the next millisecond."""
    hand = Hand(7)
    assert [hand.clock.now() for _ in range(3)] == [timestamp(7, n) for n in range(3)]
    hand.ms = 8
    assert hand.clock.now() == timestamp(8)


def test_now_follows_a_physical_clock_that_steps_back() -> None:
    """Also to what was given already."""
    hand = Hand(1100)
    assert hand.clock.now() == timestamp(1100)
    hand.ms = 900
    assert hand.clock.current() == timestamp(900)
    assert [hand.clock.now(), hand.clock.now()] == [timestamp(900), timestamp(900, 1)]
    hand.ms = 1100
    assert hand.clock.now() == timestamp(1100)


def test_update_changes_nothing() -> None:
    """Neither merged, nor passed, nor reported to `on_jump`."""
    hand, heard = Hand(7), [0]

    def hear() -> None:
        heard[0] += 1

    hand.clock.on_jump(hear)
    hand.clock.update(timestamp(20, 5))
    assert (hand.clock.current(), heard) == (timestamp(7), [0])
    assert hand.clock.beyond(timestamp(20, 5)) == timestamp(7)


def test_current_does_not_tick() -> None:
    """It shows what was given last, until the clock shows more."""
    hand = Hand(7)
    given = [hand.clock.now(), hand.clock.now()]
    assert [hand.clock.current(), hand.clock.current()] == [given[-1]] * 2
    hand.ms = 9
    assert (hand.clock.current(), hand.clock.now()) == (timestamp(9), timestamp(9))


def test_a_full_counter_runs_into_the_next_millisecond() -> None:
    """Timestamps rise until the clock goes back, however many there are."""
    hand = Hand(7)
    last = [hand.clock.now() for _ in range(LOGICAL_MASK + 3)][-1]
    assert last == timestamp(8, 1)
    hand.ms = 8
    assert hand.clock.now() == timestamp(8, 2)


def test_the_next_incarnation_begins_at_what_its_clock_shows() -> None:
    """A hybrid clock begins where the last one ended [98.x.7], a physical one writes nothing."""
    disk: list[int] = []
    physical = physical_clock(lambda: 20, timestamp(500), disk.append)
    assert (physical.now(), disk) == (timestamp(20), [])
    hybrid = hybrid_clock(lambda: 20, timestamp(500), disk.append)
    assert (type(hybrid), hybrid.now()) == (HybridClock, timestamp(500, 1))
    assert disk, "its limit"
