"""The schema wait from measured delays, by formula: section 6.1 with distributions for numbers.

A look-up at Top on a node waits for the first command stamped at or after Top less DD. That one is
stamped R later, R being the residual of the interval between commands, and is effective on the node
G after its stamp: `W = max(0, R + G + skew - DD)`. G is what the log's protocol makes of the delays
of messages: the leader sends the entry, commits once a majority of the voters has answered, and
tells the node in a second message, which travels behind the first.

Whether a later command can overtake an earlier one decides the tail, hence a bracket (simulation.md
3.1). *Unordered*: the earliest of this command and all later ones counts. *Ordered*: nothing is
effective before all that was sent before it on the link, other commands and heartbeats included;
6.1's product over j of F(x + jH). Raft applies in order over links that keep their order, so its
waits lie at or below the ordered end; they exceed the unordered end where delays are not so short
that nothing ever queues.

Distributions are arrays of P(X <= x) on a grid of times in milliseconds. Independence is assumed of
links, of messages and of clocks. Look-ups come at any time: clients that wait for an answer before
they ask again look less often while they wait, and so see less of it (coordinated omission).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import fftconvolve  # type: ignore[import-untyped]  # scipy ships no types

from analysis import closed_forms as forms

Array = NDArray[np.float64]
STEP_MS: Final = 0.25
LONGEST_MS: Final = 4_096.0
FARTHEST: Final = 40
"""Commands, or heartbeats, before or after one that may be in its way; further ones never are."""
NOTHING: Final = 1e-7
ENTRY_AND_NOTICE, ANSWER = 2, 1
"""How many messages a command takes from the leader to a node, and back."""


@dataclass(frozen=True)
class Grid:
    """Times from 0 on, `step` apart; what is longer than all counts as the longest."""

    step: float = STEP_MS
    longest: float = LONGEST_MS

    @cached_property
    def times(self) -> Array:
        """The instants of the grid."""
        return np.arange(0, self.longest + self.step / 2, self.step)

    def cdf(self, sample: ArrayLike) -> Array:
        """P(X <= x) of a sample; each value counts at the next instant of the grid."""
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        below = np.searchsorted(ordered, self.times + self.step / 2, side="right")
        return np.asarray(below / len(ordered))

    def plus(self, one: Array, other: Array) -> Array:
        """The distribution of a sum of independent times."""
        masses = np.diff(one, prepend=0.0), np.diff(other, prepend=0.0)
        total = fftconvolve(*masses)[: len(one)]
        return np.asarray(np.clip(np.cumsum(total), 0.0, 1.0))

    def ahead(self, values: Array, gaps: Array) -> Array:
        """The mean of values an interval later; beyond the grid they are 1."""
        known = np.concatenate([values, np.ones_like(values)])
        return np.asarray(fftconvolve(known, gaps[::-1])[len(gaps) - 1 :][: len(values)])

    def behind(self, values: Array, gaps: Array) -> Array:
        """The mean of values an interval earlier; before the grid they are 1."""
        return np.asarray(fftconvolve(values, gaps)[: len(values)] + 1 - np.cumsum(gaps))

    def later(self, cdf: Array, by_ms: float) -> Array:
        """P(X <= x + by) on the grid; beyond its end everything has happened, before it nothing."""
        return np.asarray(np.interp(self.times + by_ms, self.times, cdf, left=0.0, right=1.0))


@dataclass(frozen=True)
class Commit:
    """How long it takes from a stamp to its commit: distributions at both ends of the bracket."""

    unordered: Array
    ordered: Array


@dataclass(frozen=True)
class Link:
    """What a node's schema safe time depends on: its link from the leader, and the log's round.

    `delay` is the distribution of one message from the leader to the node, `commit` that of the
    time from a stamp to its commit under unordered and under ordered links (all mass at 0 where the
    leader votes alone). `leader` marks the leader itself, which needs no message. `skews` are how
    far its clock is ahead of the leader's, each as likely as the others.
    """

    delay: Array
    commit: "Commit"
    skews: tuple[float, ...] = (0.0,)
    leader: bool = False


@dataclass(frozen=True)
class Commands:
    """What travels on the leader's links: a tick `h` after the last command, writes at `mu`.

    `heartbeat` is the interval of the log's heartbeats; None leaves them out. Times in ms, mu per
    ms.
    """

    h: float
    mu: float = 0.0
    heartbeat: float | None = None

    def gaps(self, grid: Grid) -> Array:
        """The probability of each interval between commands, on the grid."""
        ends = np.where(grid.times < self.h, -np.expm1(-self.mu * grid.times), 1.0)
        return np.diff(ends, prepend=0.0)


@dataclass(frozen=True)
class Ends:
    """A figure under unordered and under ordered links."""

    unordered: float
    ordered: float

    def holds(self, low: float, high: float) -> bool:
        """Whether an interval of the simulation meets the bracket."""
        return high >= min(self.unordered, self.ordered) and low <= max(
            self.unordered, self.ordered
        )


def majority(grid: Grid, round_trips: Sequence[Array]) -> Array:
    """The time until a majority stores an entry, from the round trips to the other voters.

    The leader's own disk takes no time. Of n voters it needs n // 2 others: the distribution of
    that order statistic of independent, not identical times, by counting who has answered. A leader
    that votes alone commits at once.
    """
    needed = (len(round_trips) + 1) // 2
    answered = np.zeros((len(round_trips) + 1, len(grid.times)))
    answered[0] = 1.0
    for own in round_trips:
        answered[1:] = answered[1:] * (1 - own) + answered[:-1] * own
        answered[0] *= 1 - own
    return np.asarray(answered[needed:].sum(axis=0))


def commit_of(grid: Grid, voters: Sequence[tuple[Array, Array]], commands: Commands) -> Commit:
    """The commit of an entry, from the delays to each other voter and back."""
    trips = [grid.plus(there, back) for there, back in voters]
    queued = [
        grid.plus(
            behind_others(grid, there, commands, ENTRY_AND_NOTICE),
            behind_others(grid, back, commands, ANSWER),
        )
        for there, back in voters
    ]
    return Commit(majority(grid, trips), majority(grid, queued))


def behind_others(grid: Grid, delay: Array, commands: Commands, messages: int) -> Array:
    """The delay of a message behind all that were sent before it on the link.

    `messages` travel for each command, all at its stamp as far as this formula goes, and one for
    each heartbeat, at any moment of its interval.
    """
    gaps = commands.gaps(grid)
    before = delay**messages
    result = delay * _repeated(lambda ahead: grid.ahead(before * ahead, gaps), np.ones_like(delay))
    return result * _heartbeats(grid, delay, commands)


def _heartbeats(grid: Grid, delay: Array, commands: Commands) -> Array:
    """P(all heartbeats that were sent before have arrived)."""
    result = np.ones_like(delay)
    for j in range(FARTHEST if commands.heartbeat is not None else 0):
        ahead = grid.later(delay, (j + 0.5) * (commands.heartbeat or 0.0))
        if ahead[0] >= 1:
            break
        result *= ahead
    return result


def ordered(grid: Grid, link: Link, commands: Commands) -> Array:
    """G behind everything that was sent before on the same link; a little too high.

    The entry and the notice of its commit have both arrived. It counts the notice of every earlier
    command, of which some are sent after this one's.
    """
    commit = link.commit.ordered
    if link.leader:
        return commit
    own = link.delay * grid.plus(commit, link.delay)
    gaps = commands.gaps(grid)
    result = own * _repeated(lambda ahead: grid.ahead(own * ahead, gaps), np.ones_like(own))
    return result * _heartbeats(grid, link.delay, commands)


def overtaking(grid: Grid, link: Link, commands: Commands) -> Array:
    """G where the notice of any later command would do."""
    commit = link.commit.unordered
    own = commit if link.leader else grid.plus(commit, link.delay)
    gaps = commands.gaps(grid)
    still = _repeated(lambda later: (1 - own) * grid.behind(later, gaps), 1 - own)
    return np.asarray(1 - still)


def _repeated(step: Callable[[Array], Array], start: Array) -> Array:
    """The fixed point of one command after the other; far ones change nothing any more."""
    last = start
    for _ in range(FARTHEST):
        new = step(last)
        if float(np.abs(new - last).max()) < NOTHING:
            return new
        last = new
    return last


@dataclass(frozen=True)
class Wait:
    """The distribution of need = R + G + skew of look-ups, of which DD is subtracted."""

    times: Array
    unordered: Array
    ordered: Array

    def probability(self, dd: float) -> Ends:
        """P(W > 0)."""
        return self._each(lambda cdf: 1 - float(np.interp(dd, self.times, cdf)))

    def mean(self, dd: float) -> Ends:
        """E[W]."""

        def above(cdf: Array) -> float:
            fine = np.clip(self.times, dd, None)
            return float(np.trapezoid(1 - np.interp(fine, self.times, cdf), fine))

        return self._each(above)

    def quantile(self, share: float, dd: float) -> Ends:
        """The quantile of W."""
        return self._each(lambda cdf: max(0.0, self._need(cdf, share) - dd))

    def dd_for(self, share: float, limit: float) -> Ends:
        """The least DD with which this quantile of W is at most `limit`."""
        return self._each(lambda cdf: max(0.0, self._need(cdf, share) - limit))

    def _need(self, cdf: Array, share: float) -> float:
        place = int(np.searchsorted(cdf, share - 1e-12))
        return float(self.times[min(place, len(self.times) - 1)])

    def _each(self, of: Callable[[Array], float]) -> Ends:
        return Ends(of(self.unordered), of(self.ordered))


def wait(grid: Grid, links: Sequence[Link], commands: Commands) -> Wait:
    """The wait of a look-up on any of these nodes, each as likely as the others."""
    times = grid.times + min(0.0, *(skew for link in links for skew in link.skews))
    gap = forms.gap_cdf(grid.times, commands.h, commands.mu)
    sums: list[Array] = []
    for kind in (overtaking, ordered):
        total = np.zeros_like(times)
        for link in links:
            need = grid.plus(kind(grid, link, commands), gap)
            for skew in link.skews:
                total += np.interp(times - skew, grid.times, need, left=0.0) / len(link.skews)
        sums.append(total / len(links))
    return Wait(times, *sums)
