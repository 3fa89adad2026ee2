"""Timestamps pack a clock's milliseconds and a counter so that they compare as plain integers."""

import pytest

from ddlsim.units import (
    BEGINNING,
    BOOT_TS,
    LOGICAL_MASK,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Timestamp,
    as_ms,
    logical,
    ms,
    physical_ms,
    plus_ms,
    round_up,
    show,
    timestamp,
)


@pytest.mark.parametrize("clock_ms", [0, 1, 1250, 2**47 - 1, -1, -86_400_000])
@pytest.mark.parametrize("counter", [0, 1, LOGICAL_MASK])
def test_what_is_packed_comes_out_again(clock_ms: int, counter: int) -> None:
    """Clocks behind the start of the run show negative milliseconds."""
    ts = timestamp(clock_ms, counter)
    assert (physical_ms(ts), logical(ts)) == (clock_ms, counter)


def test_timestamps_compare_by_milliseconds_then_by_counter() -> None:
    """The largest counter of one millisecond lies just before the next millisecond."""
    assert timestamp(7, LOGICAL_MASK) + 1 == timestamp(8)
    assert timestamp(7) < timestamp(7, 1) < timestamp(8)
    assert timestamp(-2, LOGICAL_MASK) < timestamp(-1) < timestamp(0)


@pytest.mark.parametrize("counter", [-1, LOGICAL_MASK + 1])
def test_a_counter_has_sixteen_bits(counter: int) -> None:
    """A larger one would run into the milliseconds unseen."""
    with pytest.raises(AssertionError):
        timestamp(1, counter)


def test_moving_a_timestamp_keeps_its_counter() -> None:
    """Tu = Tm + DD has Tm's logical part."""
    assert plus_ms(timestamp(10, 3), 5) == timestamp(15, 3)
    assert plus_ms(timestamp(10, 3), -20) == timestamp(-10, 3)
    assert plus_ms(timestamp(10, 3), 0) == timestamp(10, 3)


def test_rounding_up_counts_a_logical_part_as_one_tick_more() -> None:
    """And leaves a whole tick alone."""
    assert round_up(timestamp(10)) == timestamp(10)
    assert round_up(timestamp(10, 1)) == timestamp(11)
    assert round_up(timestamp(10, LOGICAL_MASK)) == timestamp(11)
    assert round_up(timestamp(-1, 1)) == timestamp(0)


def test_milliseconds_become_whole_microseconds() -> None:
    """Rounded to the nearest."""
    assert [ms(0), ms(1), ms(0.5), ms(2.0004), ms(2.0006)] == [0, 1000, 500, 2000, 2001]
    assert type(ms(1.5)) is int


def test_nothing_that_a_clock_shows_is_beyond_the_bounds() -> None:
    """Even a clock that is centuries away."""
    assert MIN_TIMESTAMP < timestamp(-(10**13)) < timestamp(10**13, LOGICAL_MASK) < MAX_TIMESTAMP


def test_a_timestamp_is_shown_in_milliseconds() -> None:
    """With the counter where there is one."""
    assert show(timestamp(1250)) == "1250"
    assert show(timestamp(1250, 3)) == "1250+3"
    assert show(Timestamp(timestamp(-5) + 2)) == "-5+2"


@pytest.mark.parametrize(
    ("us", "shown"),
    [
        (0, "0"),
        (1_250_000, "1250"),
        (3_756_169, "3756.169"),
        (1_235_067_891, "1235067.891"),
        (-500, "-0.5"),
        (10**13, "10000000000"),
        (10**13 - 1, "9999999999.999"),
    ],
)
def test_microseconds_are_shown_to_the_last_digit(us: int, shown: str) -> None:
    """Of the longest run, too: two instants of which one is later never look the same."""
    assert as_ms(us) == shown


def test_what_is_before_and_behind_every_run_is_shown_in_words() -> None:
    assert show(BOOT_TS) == show(MIN_TIMESTAMP) == BEGINNING
    assert show(MAX_TIMESTAMP) == "for ever"
    assert show(timestamp(-5, 1)) == "-5+1"
