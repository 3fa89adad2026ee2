"""A figure by formula beside the same by simulation: one way for figures, `tune` and experiments.

`cluster_wait` makes the closed form of a cluster's waits from its links (6.1), whether of
a scenario (`by_formula`), measurements (`tune.world`) or an experiment (`agreement.waits`).
`brackets` are its three figures with their margins, `Line` one of them beside the runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.wait_model import Commands, Ends, Grid, Link, Wait, commit_of, wait
from sim.model.settings import with_derived
from sim.world.config import ALWAYS

Array = NDArray[np.float64]
CLOCK_MS: Final = 1.0
"""Timestamps show whole milliseconds: a wait by formula can be so much off in a run."""
HEARTBEAT_MS: Final = float(with_derived(ALWAYS)["heartbeat_ms"])
"""The log's heartbeats where a scenario sets neither them nor the election timeout."""
TAIL: Final = 0.99


@dataclass(frozen=True)
class Line:
    """One figure of one cell: by runs with its interval over seeds, by formula with its bracket.

    `experiment` is its number in the catalogue, 0 for a cell of `tune`.
    """

    cell: Mapping[str, Any]
    figure: str
    simulated: float
    low: float
    high: float
    formula: Ends
    experiment: int = 0

    @property
    def agrees(self) -> bool:
        """Whether the interval meets the bracket."""
        return self.formula.holds(self.low, self.high)


class Peer(NamedTuple):
    """A node that does not lead: P(a message from the leader takes so long), and skews in ms.

    `skews` are how far its clock is ahead of the leader's, each as likely as the others.
    """

    delay: Array
    skews: tuple[float, ...] = (0.0,)


def cluster_wait(
    grid: Grid,
    commands: Commands,
    voters: Sequence[tuple[Array, Array]],
    peers: Sequence[Peer],
) -> Wait:
    """The wait of a first look-up on any node of a cluster.

    `voters` are the ways from the leader to each other voter and back, `peers` all other nodes.
    """
    commit = commit_of(grid, voters, commands)
    links = [Link(commit.ordered, commit, leader=True)]
    links += [Link(peer.delay, commit, peer.skews) for peer in peers]
    return wait(grid, links, commands)


def skews(ahead: Sequence[float], leads: Sequence[float]) -> tuple[float, ...]:
    """All differences of a node's clock and the leader's, of offsets in ms."""
    return tuple(float(one - other) for one in ahead for other in leads)


class Brackets(NamedTuple):
    """The figures of first look-ups by formula."""

    share: Ends
    mean: Ends
    tail: Ends


def brackets(model: Wait, slack: float, margin: float = CLOCK_MS) -> Brackets:
    """The share that waits, the mean wait and its 99th percentile for a reader's slack, in ms.

    The lower end is that of unordered links with `margin` more slack, the upper one that of ordered
    links with so much less.
    """
    early, late = slack + margin, slack - margin
    return Brackets(
        Ends(model.probability(early).unordered, model.probability(late).ordered),
        Ends(model.mean(early).unordered, model.mean(late).ordered),
        Ends(model.quantile(TAIL, early).unordered, model.quantile(TAIL, late).ordered),
    )
