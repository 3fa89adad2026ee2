"""The models of rules that move a hybrid clock: at its own values, and at those beside them.

A clock seldom meets a stamp that is beyond what it shows: that takes a leader whose clock is behind
its log. So the first calls of a rule are repeated on copies of the clock, with stamps that lie side
by side. A copy keeps its limit and calls back when it jumps, as the clock does.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ddlsim.cluster.models.design.rule_forms import Rule
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import words
from ddlsim.model.hlc import LIMIT_STEP, HybridClock
from ddlsim.units import LOGICAL_BITS, Timestamp, show

COPIED: Final = 2
"""How many calls of a rule are repeated."""


class Copy(NamedTuple):
    """A clock, a stamp beside what it shows, the limits that it wrote, and its jumps."""

    clock: HybridClock
    shown: Timestamp
    stamp: Timestamp
    limits: list[int]
    jumps: list[None]


def copies(clock: HybridClock) -> Iterator[Copy]:
    """Copies of a clock that stands still, with stamps before, at and behind what it shows."""
    shown = clock.current()
    for by in (-1, 0, 1, 2 * LIMIT_STEP):
        limits: list[int] = []
        jumps: list[None] = []
        copied = HybridClock(lambda: shown >> LOGICAL_BITS, shown, limits.append)

        def jump(jumps: list[None] = jumps) -> None:
            jumps.append(None)

        copied.on_jump(jump)
        yield Copy(copied, shown, Timestamp(shown + by), limits, jumps)


def take_over(rule: Rule, divergence: Divergence) -> Rule:
    """[98.x.1] A new leader's clock is beyond every stamp in its log."""
    calls = 0

    def compared(clock: HybridClock, last_stamp: Timestamp) -> None:
        nonlocal calls
        calls += 1
        if type(clock) is HybridClock and calls <= COPIED:
            for one in copies(clock):
                rule(one.clock, one.stamp)
                compare(one.clock, one.stamp)
                if bool(one.jumps) != (one.stamp > one.shown):
                    divergence.found(
                        f"a clock at {show(one.shown)} goes to {show(one.stamp)}, and what "
                        f"waits was looked at {len(one.jumps)} times"
                    )
        rule(clock, last_stamp)
        compare(clock, last_stamp)

    def compare(clock: HybridClock, last_stamp: Timestamp) -> None:
        if clock.current() < last_stamp:
            shown = clock.current()
            divergence.found(
                f"{rule.__name__} leaves the clock at {show(shown)}, behind {show(last_stamp)}"
            )

    compared.__name__ = rule.__name__
    return compared


def stamps(rule: Rule, divergence: Divergence) -> Rule:
    """A stamp is beyond the log and beyond what the clock showed, which then shows it.

    A clock that keeps a limit has written one that is not below the stamp [98.x.7], and whatever
    waits for a clock that jumps is looked at again.
    """
    calls = 0

    def compared(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
        nonlocal calls
        calls += 1
        if type(clock) is not HybridClock:  # a design may have others
            stamp: Timestamp = rule(clock, last_stamp)
            return stamp
        for one in copies(clock) if calls <= COPIED else ():
            given = compare(one.clock, one.stamp)
            if max(one.limits, default=0) < given:
                divergence.found(
                    f"a clock issues {show(given)}, and has written the limits "
                    f"{words(one.limits, list[Timestamp])}"
                )
            if bool(one.jumps) != (one.stamp > one.shown):
                divergence.found(
                    f"a clock at {show(one.shown)} goes to {show(one.stamp)}, and what "
                    f"waits was looked at {len(one.jumps)} times"
                )
        return compare(clock, last_stamp)

    def compare(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
        before = clock.current()
        stamp: Timestamp = rule(clock, last_stamp)
        if stamp <= last_stamp or stamp < before or clock.current() < stamp:
            divergence.found(
                f"{rule.__name__} gave {show(stamp)} at {show(before)}, behind {show(last_stamp)}"
            )
        return stamp

    compared.__name__ = rule.__name__
    return compared
