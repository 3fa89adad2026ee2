"""Recommends CSmax from measured offsets of clocks, with the events that would exceed it.

CSmax bounds the difference of two clocks *at one instant*. Where the file has times, and every two
nodes share some of them, this difference is taken. Without common times it is unknown which
readings belong together, and the quantity is the *range over the sample*, from the lowest reading
of one clock to the highest of another at any time; it is never smaller. It is a bound of every two
clocks, so there is no recommendation where some node's clock was not measured.

The probabilities are about the quantity that is named, and assume exchangeable readings: those of
slowly drifting clocks are correlated, so n of them count for less than n.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from math import ceil
from typing import Final, NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # scipy ships no types

from ddlsim.analysis.stats import intervals
from ddlsim.analysis.tune.goals import TuneError
from ddlsim.analysis.tune.world import World
from ddlsim.scenario.measured import Measured

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
    such looks is below at 95 %. `range_ms` is the range over the sample in both cases. `between` is
    None where the file names no clocks, or all of them are equal.
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
    """The least recommended CSmax; None where no clock was measured.

    Raises `TuneError` where the file says nothing of two clocks, or nothing of some node's.
    """
    if world.offsets is None:
        return None
    _check_clocks(world, world.offsets)
    groups = {key[0]: np.asarray(own) for key, own in world.offsets.groups.items() if key}
    if not groups:  # without names any two readings may be of two nodes
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
    largest, ahead, behind = max(looks.largest)
    count = len(looks.largest)
    return _bound(margin, largest, (ahead, behind), INSTANTS, reach, count, _exceeding(looks))


def _check_clocks(world: World, offsets: Measured) -> None:
    """Raise `TuneError` where the offsets are not of the clocks of all nodes."""
    named = set(offsets.named)
    missing = [name for name in world.nodes if named and name not in named]
    if missing:
        what = f"no offset of {', '.join(missing)}, and CSmax is a bound of every two clocks"
        raise TuneError(f"{offsets.name}: {what}; measure them, or leave --offsets out")
    if len(named or offsets.pooled) < 2:
        what = "it has one clock" if named else "it has one reading"
        remedy = "which tells no difference of two clocks; measure more, or leave --offsets out"
        raise TuneError(f"{offsets.name}: {what}, {remedy}")


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
        between=pair if largest else None,
        basis=basis,
        range_ms=round(reach, 3),
        seen=seen,
        next_larger=chances[0],
        share_most=chances[1],
    )


class _Looks(NamedTuple):
    """At each instant that two nodes share: the largest difference, and the nodes; the number of
    instants that all nodes share, and that of each two nodes."""

    largest: list[tuple[float, str, str]]
    whole: int
    pairs: list[int]


def _instants(world: World) -> _Looks | None:
    """None where the file has no times, or two nodes share no instant."""
    at, nodes = world.instants, world.nodes
    if at is None:
        return None
    met = Counter(pair for here in at.values() for pair in combinations(sorted(here), 2))
    pairs = [met[pair] for pair in combinations(sorted(nodes), 2)]
    largest = [max(_apart(here)) for here in at.values() if len(here) > 1]
    return _Looks(largest, sum(len(here) == len(nodes) for here in at.values()), pairs)


def _exceeding(looks: _Looks) -> tuple[float, float]:
    """That the next look at all nodes exceeds the largest one, and the share of such: bounds.

    Looks at some of the nodes show less than one at all of them does: either the looks at all
    nodes count alone, or each two nodes for themselves, whose chances add up. Both are bounds.
    """
    by_pairs = (
        sum(float(intervals.next_is_larger(n)) for n in looks.pairs),
        sum(
            float(intervals.none_seen(n, 1 - (1 - intervals.LEVEL) / len(looks.pairs)))
            for n in looks.pairs
        ),
    )
    whole = (float(intervals.next_is_larger(looks.whole)), float(intervals.none_seen(looks.whole)))
    return min(by_pairs[0], whole[0]), min(by_pairs[1], whole[1])


def _apart(here: dict[str, list[float]]) -> Iterator[tuple[float, str, str]]:
    """How far two clocks are apart at one instant, of which a file may have several readings."""
    for one, other in permutations(here, 2):
        yield max(here[one]) - min(here[other]), one, other


def _beyond(counts: list[int]) -> tuple[float, float]:
    """Of clocks read so often each: the next reading of all extends a range; and the share of such.

    The next of n exchangeable readings is beyond their range with 2 / (n + 1); what lies beyond is
    distributed as Beta(2, n - 1). Several clocks: the sum of theirs, which is an upper bound.
    """
    each = intervals.LEVEL + (1 - intervals.LEVEL) * (1 - 1 / len(counts))
    shares = [float(special.betaincinv(2, n - 1, each)) if n > 1 else 1.0 for n in counts]
    return min(sum(2 / (n + 1) for n in counts), 1.0), min(sum(shares), 1.0)
