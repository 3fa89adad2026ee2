"""Hybrid clocks: `now` ticks, `current` looks, `update` merges, and nothing goes back."""

from ddlsim.model.hlc import HybridClock
from ddlsim.units import LOGICAL_MASK, Timestamp, timestamp


class Hand:
    """A physical clock moved by hand."""

    def __init__(self, ms: int = 0) -> None:
        self.ms = ms
        self.clock = HybridClock(lambda: self.ms)


def test_the_first_timestamp_is_the_physical_time() -> None:
    """Without a counter, also where the node's clock is behind the start."""
    assert Hand(7).clock.now() == timestamp(7)
    assert Hand(-7).clock.now() == timestamp(-7)


def test_within_one_millisecond_the_counter_ticks() -> None:
    """And starts again with the next millisecond."""
    hand = Hand(7)
    assert [hand.clock.now() for _ in range(3)] == [timestamp(7, n) for n in range(3)]
    hand.ms = 8
    assert hand.clock.now() == timestamp(8)


def test_now_keeps_rising_when_the_physical_clock_steps_back() -> None:
    """The hybrid clock stays where it is and counts until it is caught up with."""
    hand = Hand(7)
    hand.clock.now()
    hand.ms = 3
    assert hand.clock.now() == timestamp(7, 1)
    hand.ms = 7
    assert hand.clock.now() == timestamp(7, 2)
    hand.ms = 8
    assert hand.clock.now() == timestamp(8)


def test_current_does_not_tick() -> None:
    """It shows the physical time, or what was given or merged last if that is larger."""
    hand = Hand(7)
    hand.clock.now()
    assert [hand.clock.current(), hand.clock.current()] == [timestamp(7), timestamp(7)]
    hand.clock.now()
    assert hand.clock.current() == timestamp(7, 1)
    hand.ms = 9
    assert hand.clock.current() == timestamp(9)
    assert hand.clock.now() == timestamp(9)


def test_update_makes_later_timestamps_larger() -> None:
    """Also if the physical clock is behind it."""
    hand = Hand(7)
    hand.clock.update(timestamp(20, 5))
    assert hand.clock.current() == timestamp(20, 5)
    assert hand.clock.now() == timestamp(20, 6)
    hand.ms = 21
    assert hand.clock.now() == timestamp(21)


def test_update_with_an_older_timestamp_changes_nothing() -> None:
    """Nor does what was given last."""
    hand = Hand(7)
    last = hand.clock.now()
    hand.clock.update(timestamp(6, 9))
    hand.clock.update(last)
    assert hand.clock.now() == timestamp(7, 1)


def test_a_merge_counts_even_if_it_lies_before_the_physical_time() -> None:
    """Then the physical time is what comes next."""
    hand = Hand(7)
    hand.clock.update(timestamp(5))
    assert hand.clock.now() == timestamp(7)


def test_a_full_counter_runs_into_the_next_millisecond() -> None:
    """Timestamps go on rising, ahead of the physical clock."""
    hand = Hand(7)
    hand.clock.update(timestamp(7, LOGICAL_MASK))
    assert hand.clock.now() == timestamp(8)
    assert hand.clock.now() == timestamp(8, 1)


def test_a_clock_can_begin_where_another_ended() -> None:
    """What it gives lies after what was given before."""
    assert HybridClock(lambda: 7, last=timestamp(9)).now() == timestamp(9, 1)


def test_on_jump_calls_back_only_when_a_merge_moves_the_clock() -> None:
    """Not of ticks, not of merges that change nothing; and can stop listening."""
    hand, heard = Hand(7), [0]

    def hear() -> None:
        heard[0] += 1

    hand.clock.on_jump(hear)
    hand.clock.now()
    hand.clock.update(timestamp(7))
    assert heard == [0]
    hand.clock.update(timestamp(7, 1))
    assert heard == [1]
    hand.clock.on_jump(None)
    hand.clock.update(timestamp(8))
    assert heard == [1]


class TestLimit:
    """A clock that comes back issues nothing below what it issued before. [98.x.7]"""

    def test_nothing_is_issued_above_the_limit_on_the_disk(self) -> None:
        disk: list[int] = []
        shows = [10]
        clock = HybridClock(lambda: shows[0], write_limit=disk.append)
        for shown in (10, 11, 59, 60, 61, 200):
            shows[0] = shown
            assert clock.now() <= disk[-1]
        assert len(disk) == 3, "it is written now and then, not each time"

    def test_the_next_incarnation_begins_at_the_limit(self) -> None:
        disk: list[int] = []
        first = HybridClock(lambda: 500, write_limit=disk.append)
        last = max(first.now() for _ in range(5))
        second = HybridClock(lambda: 20, Timestamp(disk[-1]), disk.append)  # its clock was set back
        assert second.now() > last
