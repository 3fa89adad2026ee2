"""Recommends CSmax from measured offsets of clocks, with the events that would exceed it.

CSmax bounds the difference of two clocks *at one instant*. Where the file has times, and every two
nodes share some of them, this difference is taken. Without common times it is unknown which
readings belong together, and the quantity is the *range over the sample*, from the lowest reading
of one clock to the highest of another at any time; it is never smaller.

The probabilities are about the quantity that is named, and assume exchangeable readings: those of
slowly drifting clocks are correlated, so n of them count for less than n.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import ceil
from typing import Final

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # scipy ships no types

from ddlsim.analysis.stats import intervals
from ddlsim.analysis.tune.world import World

INSTANTS: Final = "at equal instants"
RANGE: Final = "range over the sample"
DRIFT_PPM: Final = 100
"""How fast two clocks without a time server drift apart: 50 ppm each, a usual quartz."""


@dataclass(frozen=True)
class ClockBound:
    """A recommended CSmax in whole ms, with the measurements behind it.

    `largest_ms` is the largest of `seen` looks at the quantity `basis`; a quantile of a sample is
    never an upper bound, so the recommendation is that plus a margin. `next_larger` is at most the
    probability that the next look at the same quantity exceeds it, `share_most` what the share of
    such looks is below at 95 %. `range_ms` is the range over the sample in both cases.
    """

    cs_max_ms: int
    largest_ms: float
    margin_ms: float
    between: tuple[str, str] | None
    basis: str
    range_ms: float
    seen: int
    next_larger: float
    share_most: float

    @property
    def spare_ms(self) -> float:
        """The margin of CSmax above the largest observed difference, in ms."""
        return round(self.cs_max_ms - self.largest_ms, 3)

    @property
    def events(self) -> tuple[str, ...]:
        """Phrases for events that make two clocks differ by more than CSmax."""
        ahead, behind = self.between or ("a clock that is ahead", "one that is behind")
        lost_s = self.spare_ms / (DRIFT_PPM / 1_000)
        return (
            f"a step of more than {self.spare_ms:g} ms ({ahead} forward, {behind} back)",
            "a virtual machine paused or moved for so long",
            f"a time server lost for {lost_s:.0f} s ({DRIFT_PPM} ppm)",
        )


def clock_bound(world: World, margin: float) -> ClockBound | None:
    """The least recommended CSmax; None where no clock was measured."""
    if world.offsets is None:
        return None
    groups = {key[0]: np.asarray(own) for key, own in world.offsets.groups.items() if key}
    if len(groups) < 2:  # without names any two readings may be of two nodes
        values = np.asarray(world.offsets.pooled)
        spread, pair, seen = float(np.ptp(values)), None, len(values)
        return _bound(margin, spread, pair, RANGE, spread, seen, _beyond([seen]))
    reach, high, low = max(
        (float(max(own) - min(them)), one, other)
        for (one, own), (other, them) in permutations(groups.items(), 2)
    )
    looks = _instants(world)
    if looks is None:
        counts = [len(own) for own in groups.values()]
        return _bound(margin, reach, (high, low), RANGE, reach, min(counts), _beyond(counts))
    largest, ahead, behind = max(looks)
    count = len(looks)
    chances = (float(intervals.next_is_larger(count)), float(intervals.none_seen(count)))
    return _bound(margin, largest, (ahead, behind), INSTANTS, reach, count, chances)


def _bound(
    margin: float,
    largest: float,
    pair: tuple[str, str] | None,
    basis: str,
    reach: float,
    seen: int,
    chances: tuple[float, float],
) -> ClockBound:
    extra = max(margin * largest, 1.0)
    return ClockBound(
        cs_max_ms=ceil(round(largest + extra, 9)),
        largest_ms=round(largest, 3),
        margin_ms=round(extra, 3),
        between=pair,
        basis=basis,
        range_ms=round(reach, 3),
        seen=seen,
        next_larger=chances[0],
        share_most=chances[1],
    )


def _instants(world: World) -> list[tuple[float, str, str]] | None:
    """At each instant that two nodes share: the largest difference, and the nodes.

    None where the file has no times, or two nodes share no instant.
    """
    assert world.offsets is not None
    if not world.offsets.times:
        return None
    at: dict[float, dict[str, float]] = {}
    met: set[tuple[str, str]] = set()
    for (node,), own in world.offsets.groups.items():
        for time, value in zip(world.offsets.times[node,], own, strict=True):
            at.setdefault(time, {})[node] = value
    looks = []
    for here in at.values():
        met.update(permutations(here, 2))
        looks += [max(_apart(here))] if len(here) > 1 else []
    nodes = [node for (node,) in world.offsets.groups]
    return looks if met.issuperset(permutations(nodes, 2)) else None


def _apart(here: dict[str, float]) -> Iterator[tuple[float, str, str]]:
    return ((here[one] - here[other], one, other) for one, other in permutations(here, 2))


def _beyond(counts: list[int]) -> tuple[float, float]:
    """Of clocks read so often each: the next reading of all extends a range; and the share of such.

    The next of n exchangeable readings is beyond their range with 2 / (n + 1); what lies beyond is
    distributed as Beta(2, n - 1). Several clocks: the sum of theirs, which is an upper bound.
    """
    each = intervals.LEVEL + (1 - intervals.LEVEL) * (1 - 1 / len(counts))
    shares = [float(special.betaincinv(2, n - 1, each)) if n > 1 else 1.0 for n in counts]
    return min(sum(2 / (n + 1) for n in counts), 1.0), min(sum(shares), 1.0)
