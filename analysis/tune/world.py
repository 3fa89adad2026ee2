"""The cluster behind the measurements: its nodes, its leader, its links by formula, its clocks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analysis import intervals
from analysis.tune.goals import TuneError
from analysis.wait_model import Commands, Grid, Link, Wait, commit_of, wait
from sim.kernel.rng import Lognormal, quantiles
from sim.protocol.strategy import Strategy
from sim.units import US_PER_MS, physical_ms, timestamp
from sim.world.measured import Measured

Array = NDArray[np.float64]
HEARTBEAT_MS: Final = 120.0
"""The log's heartbeats: a tenth of the election timeout of 1.2 s."""
ASSUMED_MS: Final = Lognormal(5, 50)
"""Delays where none were measured: the catalogue's assumption, section 9."""
PARTS: Final = (1 / 6, 1 / 2, 5 / 6)
"""A clock's offsets as three values, each a third of the time."""
FAR: Final = timestamp(10**9)


@dataclass(frozen=True)
class World:
    """Who is there, who of them vote and lead, and what was measured."""

    nodes: tuple[str, ...]
    voters: int
    delays: Measured | None
    offsets: Measured | None
    leader: str

    def sample(self, sender: str, to: str) -> Array:
        """The delays of a link in ms: its own, else all that were measured, else assumed."""
        if self.delays is None:
            return np.asarray(quantiles(ASSUMED_MS), dtype=np.float64) / US_PER_MS
        own = self.delays.groups.get((sender, to))
        return np.asarray(self._pooled if own is None else own, dtype=np.float64)

    @cached_property
    def _pooled(self) -> tuple[float, ...]:
        return () if self.delays is None else self.delays.pooled

    def clock(self, node: str) -> Array:
        """The offsets of a node's clock in ms."""
        if self.offsets is None:
            return np.zeros(1)
        own = self.offsets.groups.get((node,))
        return np.asarray(self.offsets.pooled if own is None else own, dtype=np.float64)

    @property
    def others(self) -> tuple[str, ...]:
        """The voters beside the leader: the first nodes of the list."""
        return tuple(name for name in self.nodes if name != self.leader)[: self.voters - 1]

    @property
    def order(self) -> tuple[str, ...]:
        """The nodes, those that vote first."""
        first = (self.leader, *self.others)
        return (*first, *(name for name in self.nodes if name not in first))

    def links(
        self, grid: Grid, commands: Commands, dice: np.random.Generator | None = None
    ) -> list[Link]:
        """Every node's link from the leader, by formula; with dice, from resampled delays."""

        def cdf(sender: str, to: str) -> Array:
            taken = self.sample(sender, to)
            if dice is not None:
                taken = dice.choice(taken, len(taken))
            return grid.cdf(taken)

        ways = [(cdf(self.leader, name), cdf(name, self.leader)) for name in self.others]
        commit = commit_of(grid, ways, commands)
        leads = np.quantile(self.clock(self.leader), PARTS)
        made = []
        for node in self.nodes:
            if node == self.leader:
                made.append(Link(commit.ordered, commit, leader=True))
                continue
            ahead = np.quantile(self.clock(node), PARTS)
            skews = tuple(float(a - b) for a in ahead for b in leads)
            made.append(Link(cdf(self.leader, node), commit, skews))
        return made

    def wait(
        self, grid: Grid, h: float, mu: float, dice: np.random.Generator | None = None
    ) -> Wait:
        """The wait of a first look-up by formula; mu in writes per ms."""
        commands = Commands(h, mu, HEARTBEAT_MS)
        return wait(grid, self.links(grid, commands, dice), commands)

    def worst_led(self, grid: Grid, h: float, mu: float, candidates: Sequence[str]) -> "World":
        """The same under the leader with whom the tail of the wait is longest."""
        led = [replace(self, leader=name) for name in candidates]
        return max(led, key=lambda each: each.wait(grid, h, mu).dd_for(0.99, 0.0).ordered)


# --- CSmax ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClockBound:
    """A recommended CSmax in whole ms, and what it rests on.

    `largest_ms` is the largest difference of two clocks in `seen` looks at all of them; a quantile
    of a sample is never an upper bound, so the recommendation is that plus a margin. `next_larger`
    is the probability that the next look shows a larger difference than any before, `share_most`
    what the share of such moments is below at 95 %: both of the sample, not of the margin.
    """

    cs_max_ms: int
    largest_ms: float
    margin_ms: float
    between: tuple[str, str] | None
    seen: int
    next_larger: float
    share_most: float


def clock_bound(world: World, margin: float) -> ClockBound | None:
    """What CSmax should be at least; None where no clock was measured."""
    if world.offsets is None:
        return None
    groups = world.offsets.groups
    if len(groups) == 1:  # nobody says whose: any two of the values could be two nodes at a time
        values = np.asarray(world.offsets.pooled)
        largest, pair, seen = float(np.ptp(values)), None, len(values) // 2
    else:
        # of any two moments: who is ahead now may meet who was behind before
        largest, high, low = max(
            (max(own) - min(them), one, other)
            for one, own in groups.items()
            for other, them in groups.items()
            if one != other
        )
        pair, seen = (high[0], low[0]), min(len(own) for own in groups.values())
    extra = max(margin * largest, 1.0)
    return ClockBound(
        cs_max_ms=ceil(largest + extra),
        largest_ms=round(largest, 3),
        margin_ms=round(extra, 3),
        between=pair,
        seen=seen,
        next_larger=float(intervals.next_is_larger(seen)),
        share_most=float(intervals.none_seen(seen)),
    )


# --- what the design makes of DD -----------------------------------------------------------------


def slack_ms(design: Strategy, dd: int, cs_max: int) -> int | None:
    """How much a reader may lag behind Top: DD of A7, 0 of A5, -CSmax of A6; None: never waits."""
    safe = design.completeness_ts(FAR, dd, cs_max)
    behind = physical_ms(FAR) - physical_ms(safe)
    return None if behind > 10**12 else behind


def ddl_delay_ms(design: Strategy, dd: int, cs_max: int) -> int:
    """What a DDL statement waits at least after its stamp: DD + CSmax of A7."""
    active = design.activation_ts(FAR, dd)
    told = design.acknowledge_ts(active, cs_max)
    return max(physical_ms(told) - physical_ms(FAR), 0)


# --- from files ----------------------------------------------------------------------------------


def world_of(
    delays: Measured | None, offsets: Measured | None, nodes: int, voters: int | None
) -> World:
    """The cluster of the measurements; without names in them, `nodes` of them."""
    names = (delays.named if delays else ()) or (offsets.named if offsets else ())
    if not names:
        names = tuple(f"n{number}" for number in range(1, nodes + 1))
    for known, own in ((delays, "delays"), (offsets, "offsets")):
        if known is None:
            continue
        for group, line in known.lines.items():
            for name in group:
                if name not in names:
                    what = f"{name} has no link in the file of delays"
                    raise TuneError(f"{known.name}:{line}: {what}; measure it, or drop its {own}")
    count = min(3, len(names)) if voters is None else voters
    if not 1 <= count <= len(names):
        raise TuneError(f"--voters {count}: the cluster has {len(names)} nodes; say 1 to that")
    return World(names, count, delays, offsets, names[0])
