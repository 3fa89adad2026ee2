"""The measured cluster: its nodes, leader, delays and clocks, and its waits by formula."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.formula.comparison import PARTS, cluster_wait, heartbeat_ms
from ddlsim.analysis.formula.wait_model import Commands, Grid, Wait
from ddlsim.analysis.tune.goals import TuneError
from ddlsim.escape import natural
from ddlsim.kernel.rng import Lognormal, quantiles
from ddlsim.scenario.measured import Measured
from ddlsim.units import US_PER_MS

Array = NDArray[np.float64]
ASSUMED_MS: Final = Lognormal(5, 50)
"""Delays where none were measured: the catalogue's assumption, section 9."""
ASSUMED: Final = f"lognormal delays, median {ASSUMED_MS.median:g} ms, p99 {ASSUMED_MS.p99:g} ms"


@dataclass(frozen=True)
class World:
    """The nodes, the voters and the leader, and the measurements.

    `voting` names the voters; where it is empty they are the leader and the first of the others by
    name, `voters` in all.
    """

    nodes: tuple[str, ...]
    voters: int
    delays: Measured | None
    offsets: Measured | None
    leader: str
    voting: tuple[str, ...] = ()

    def sample(self, sender: str, to: str) -> Array:
        """The delays of a link in ms: its own, else all measured ones, else assumed ones."""
        if self.delays is None:
            return np.asarray(quantiles(ASSUMED_MS), dtype=np.float64) / US_PER_MS
        own = self.delays.groups.get((sender, to))
        return np.asarray(self._pooled if own is None else own, dtype=np.float64)

    @cached_property
    def _pooled(self) -> tuple[float, ...]:
        return () if self.delays is None else self.delays.pooled

    def clock(self, node: str) -> Array:
        """The offsets of a node's clock in ms.

        They count from the leader's clock at the same instants where those are known: what all
        clocks of the file have in common at an instant delays nothing. Waits and the latency of
        DDL depend on these differences alone (6.1, 6.2).
        """
        if self.offsets is None:
            return np.zeros(1)
        if self.instants is not None:
            return self._apart(node, self.leader)
        own = self.offsets.groups.get((node,))
        return np.asarray(self.offsets.pooled if own is None else own, dtype=np.float64)

    def _apart(self, node: str, other: str) -> Array:
        """How far a clock was ahead of another one at each instant that the file has of both."""
        if node == other:
            return np.zeros(1)
        both = [(at.get(node, ()), at.get(other, ())) for at in (self.instants or {}).values()]
        apart = [one - two for ours, theirs in both for one in ours for two in theirs]
        return np.asarray(apart, dtype=np.float64)

    @cached_property
    def instants(self) -> dict[float, dict[str, list[float]]] | None:
        """The offsets at each time, by node; None where some two nodes share no time."""
        if self.offsets is None or not self.offsets.times or not self.offsets.named:
            return None
        at: dict[float, dict[str, list[float]]] = {}
        for (node,), own in self.offsets.groups.items():
            for time, value in zip(self.offsets.times[node,], own, strict=True):
                at.setdefault(time, {}).setdefault(node, []).append(value)
        shared = {pair for here in at.values() for pair in combinations(sorted(here), 2)}
        pairs = combinations(sorted(self.nodes), 2)
        return at if all(pair in shared for pair in pairs) else None

    @property
    def clock_rows(self) -> str:
        """The offsets of all clocks, as `clock` has them, as the text of a file of measurements."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("offset_ms", "node"))
        for node in self.nodes:
            writer.writerows((value, node) for value in self.clock(node).tolist())
        return out.getvalue()

    @property
    def others(self) -> tuple[str, ...]:
        """The voters without the leader."""
        known = self.voting or self.nodes
        return tuple(name for name in known if name != self.leader)[: self.voters - 1]

    @property
    def order(self) -> tuple[str, ...]:
        """The nodes, voters first."""
        first = (self.leader, *self.others)
        return (*first, *(name for name in self.nodes if name not in first))

    @property
    def far_apart(self) -> tuple[str, str]:
        """The nodes whose clocks are set apart: one ahead of the leader's has the longest waits."""
        return self.order[-1], self.leader

    def wait(
        self, grid: Grid, h: float, mu: float, dice: np.random.Generator | None = None
    ) -> Wait:
        """The wait of a first look-up by formula; mu in writes per ms.

        With dice, from resampled delays.
        """

        def cdf(sender: str, to: str) -> Array:
            taken = self.sample(sender, to)
            if dice is not None:
                taken = dice.choice(taken, len(taken))
            return grid.cdf(taken)

        def clock(node: str) -> Sequence[float]:
            offsets: Sequence[float] = np.quantile(self.clock(node), PARTS).tolist()
            return offsets

        commands = Commands(h, mu, heartbeat_ms(h))
        return cluster_wait(grid, commands, self.leader, self.others, self.nodes, cdf, clock)

    def worst_led(self, grid: Grid, h: float, mu: float, candidates: Sequence[str]) -> "World":
        """The same world with the leader under which the tail of the wait is longest."""
        led = [replace(self, leader=name) for name in candidates]
        return max(led, key=lambda each: each.wait(grid, h, mu).dd_for(0.99, 0.0).ordered)


# --- from files ----------------------------------------------------------------------------------


def by_name(names: Iterable[str]) -> tuple[str, ...]:
    """Names in their natural order: the cluster does not depend on the order of lines in a file."""
    return tuple(sorted(set(names), key=natural))


def world_of(
    delays: Measured | None,
    offsets: Measured | None,
    nodes: int,
    voters: int | tuple[str, ...] | None,
) -> World:
    """The cluster of the measurements; of `nodes` nodes where these name none.

    `voters` are names, or a number: then the first by name. The first voter leads.
    """
    names = by_name((delays.named if delays else ()) or (offsets.named if offsets else ()))
    if not names:
        if nodes == 1:
            raise TuneError("--nodes 1: one node sends no messages, so nothing is to be tuned")
        names = tuple(f"n{number}" for number in range(1, nodes + 1))
    for known, own in ((delays, "delays"), (offsets, "offsets")):
        _check_names(known, own, names)
    if isinstance(voters, tuple):
        for name in voters:
            if name not in names:
                known_names = ", ".join(names)
                raise TuneError(f"--voters {name}: no node is called so; nodes: {known_names}")
        return World(names, len(voters), delays, offsets, voters[0], voters)
    count = min(3, len(names)) if voters is None else voters
    if not 1 <= count <= len(names):
        raise TuneError(f"--voters {count}: the cluster has {len(names)} nodes; say 1 to that")
    return World(names, count, delays, offsets, names[0])


def _check_names(known: Measured | None, own: str, names: tuple[str, ...]) -> None:
    """Raise `TuneError` for a node of a file that is not one of the cluster."""
    for group, line in known.lines.items() if known is not None else ():
        for name in group:
            if name not in names:
                assert known is not None
                what = f"{name} has no link in the file of delays"
                raise TuneError(f"{known.name}:{line}: {what}; measure it, or drop its {own}")
