"""The schema wait by formula from measured delays: section 6.1 with distributions.

A look-up at Top on a node waits for the first command stamped at or after Top less DD. That one is
stamped R later, R being the residual of the interval between commands, and is effective on the node
G after its stamp: `W = max(0, R + G + skew - DD)`. G follows from the log's protocol and the delays
of messages: the leader sends the entry, commits once a majority of the voters has answered, and
tells the node in a second message, which travels behind the first.

Whether a later command can overtake an earlier one decides the tail, hence a bracket (simulation.md
3.1). *Unordered*: the earliest of this command and all later ones counts. *Ordered*: nothing is
effective before all that was sent before it on the link, other commands and heartbeats included;
6.1's product over j of F(x + jH). Raft applies in order over links that keep their order, so its
waits lie at or below the ordered end; they exceed the unordered end where delays are not so short
that nothing ever queues. `tests/support/wait_monte_carlo.py` simulates the same, written from the
documents.

Distributions are arrays of P(X <= x) on a grid of times in milliseconds. Independence is assumed of
links, of messages and of clocks. Look-ups come at any time: clients that wait for an answer before
they ask again look less often while they wait, and so see less of it (coordinated omission).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft  # type: ignore[import-untyped]  # scipy ships no types

from ddlsim.analysis.formula import closed_forms as forms

Array = NDArray[np.float64]
STEP_MS: Final = 0.25
LONGEST_MS: Final = 4_096.0
FARTHEST: Final = 40
"""The number of commands, or heartbeats, before or after one that are considered."""
NOTHING: Final = 1e-7
PHASES: Final = 8
"""The number of phases of the last heartbeat that are considered."""
ROUNDS: Final = 6
SETTLED: Final = 1e-4
"""Iterations over commits and queues end where no probability changes by more."""
SPANS: Final = (0.1, 0.5, 0.9)
"""The quantiles by which a time between two commands is represented, equally likely."""


def convolved(one: Array, other: Array) -> Array:
    """The full convolution of two arrays, by Fourier transforms.

    It is `scipy.signal.fftconvolve`, whose module takes a second to be imported.
    """
    full = len(one) + len(other) - 1
    size = fft.next_fast_len(full, real=True)
    return np.asarray(fft.irfft(fft.rfft(one, size) * fft.rfft(other, size), size)[:full])


@dataclass(frozen=True)
class Grid:
    """Times from 0 on, `step` apart, in ms; longer ones count as the longest."""

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
        total = convolved(*masses)[: len(one)]
        return np.asarray(np.clip(np.cumsum(total), 0.0, 1.0))

    def ahead(self, values: Array, gaps: Array) -> Array:
        """The mean of values an interval later; beyond the grid they are 1."""
        known = np.concatenate([values, np.ones_like(values)])
        return np.asarray(convolved(known, gaps[::-1])[len(gaps) - 1 :][: len(values)])

    def behind(self, values: Array, gaps: Array) -> Array:
        """The mean of values an interval earlier; before the grid they are 1."""
        return np.asarray(convolved(values, gaps)[: len(values)] + 1 - np.cumsum(gaps))

    def later(self, cdf: Array, by_ms: float, *, end: float = 1.0) -> Array:
        """P(X <= x + by) on the grid; beyond its end `end` has happened, before it nothing."""
        return np.asarray(np.interp(self.times + by_ms, self.times, cdf, left=0.0, right=end))


COARSE: Final = Grid(step=1.0, longest=4_095.0)
"""A grid for guesses, resamples and figures."""


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
    """The messages on the leader's links: writes, and an idle command `h` after the last one.

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
    that order statistic of independent, not identical times, by counting the answers. A leader
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
    """The commit of an entry, from the delays to each other voter and back.

    A notice leaves at its command's commit and is then in the way of later entries, so commits and
    queues depend on each other: they settle in a few rounds. A heartbeat goes to all voters at the
    same moment, so the voters are counted for each phase of it and only then averaged.
    """
    trips = [grid.plus(there, back) for there, back in voters]
    unordered = queued = majority(grid, trips)
    for _ in range(ROUNDS if voters else 0):
        last, queued = queued, _queued_commit(grid, voters, queued, commands)
        if float(np.abs(queued - last).max()) < SETTLED:
            break
    return Commit(unordered, queued)


def _queued_commit(
    grid: Grid, voters: Sequence[tuple[Array, Array]], commit: Array, commands: Commands
) -> Array:
    """The commit behind everything on the links, if earlier commands take `commit`."""
    behind = [there * earlier_commands(grid, there, commit, commands) for there, _ in voters]
    total = np.zeros_like(commit)
    phases = list(_phases(commands))
    for phase in phases:
        trips = []
        for (there, back), entry in zip(voters, behind, strict=True):
            arrived = entry * heartbeats(grid, there, commands, phase)
            trip = grid.plus(arrived, back * heartbeats(grid, back, commands, phase))
            trips.append(trip * earlier(grid, trip, commands))
        total += majority(grid, trips)
    return total / len(phases)


def earlier_commands(grid: Grid, delay: Array, commit: Array, commands: Commands) -> Array:
    """P(what earlier commands put on the link before a command's entry has arrived by then).

    Their entries left at their stamps, their notices at their commits, if that was before.
    """
    started = np.diff(commit, prepend=0.0)
    result = np.ones_like(delay)
    for spans in _spans(grid, commands):
        factor = np.zeros_like(delay)
        for weight, span in spans:
            before = np.where(grid.times <= span, started, 0.0)
            told = np.clip(np.cumsum(convolved(before, np.diff(delay, prepend=0.0))), 0, 1)
            late = float(np.interp(span, grid.times, commit))  # P(committed before our stamp)
            notice = 1 - late + grid.later(told[: len(delay)], span, end=late)
            factor += weight * grid.later(delay, span) * notice
        result *= factor
        if factor[0] > 1 - NOTHING:
            break
    return result


def earlier(grid: Grid, own: Array, commands: Commands) -> Array:
    """P(the same delay of each earlier command is over); taken as independent."""
    gaps = commands.gaps(grid)
    return _repeated(lambda ahead: grid.ahead(own * ahead, gaps), np.ones_like(own))


def heartbeats(grid: Grid, delay: Array, commands: Commands, phase: float | None = None) -> Array:
    """P(all heartbeats that were sent before have arrived), the last one `phase` intervals before.

    Without a phase: the last at any moment of its interval.
    """
    if commands.heartbeat is None:
        return np.ones_like(delay)
    if phase is None:
        each = [heartbeats(grid, delay, commands, one) for one in _phases(commands)]
        return np.asarray(np.mean(each, axis=0))
    result = np.ones_like(delay)
    for j in range(FARTHEST):
        ahead = grid.later(delay, (j + phase) * commands.heartbeat)
        if ahead[0] >= 1:
            break
        result *= ahead
    return result


def _phases(commands: Commands) -> Array:
    """How long ago the last heartbeat was, as a share of their interval."""
    return np.zeros(1) if commands.heartbeat is None else (np.arange(PHASES) + 0.5) / PHASES


@lru_cache(maxsize=16)
def _spans(grid: Grid, commands: Commands) -> tuple[tuple[tuple[float, float], ...], ...]:
    """From a command to the one before, to that before it and so on: weights and spans in ms."""
    gaps = commands.gaps(grid)
    total = gaps
    found = []
    for _ in range(FARTHEST):
        parts = np.cumsum(total)
        if parts[-1] < SPANS[-1]:
            break  # longer ago than the grid is long
        each = Counter(float(grid.times[place]) for place in np.searchsorted(parts, SPANS))
        found.append(tuple((count / len(SPANS), span) for span, count in each.items()))
        total = convolved(total, gaps)[: len(total)]
    return tuple(found)


def ordered(grid: Grid, link: Link, commands: Commands) -> Array:
    """G behind everything that was sent before on the same link; a little too high.

    The entry and the notice of its commit have both arrived, and all earlier ones; so have the
    heartbeats that were sent before the notice, and the entries of later commands where the commit
    took longer than the interval. All are taken as independent.
    """
    commit = link.commit.ordered
    if link.leader:
        return commit
    notice = link.delay * heartbeats(grid, link.delay, commands)
    told = np.zeros_like(commit)
    in_the_way = np.ones_like(commit)
    done = 0.0
    for spans in (*_spans(grid, commands), ((1.0, np.inf),)):
        span = spans[len(spans) // 2][1]  # the next command's entry leaves so long after the stamp
        part = np.minimum(commit, _at(grid, commit, span)) - np.minimum(commit, done)
        told += grid.plus(part, notice) * in_the_way
        done = _at(grid, commit, span)
        if done > 1 - NOTHING:
            break
        in_the_way *= grid.later(link.delay, -span)
    before = earlier(grid, link.delay * grid.plus(commit, link.delay), commands)
    return link.delay * told * before


def _at(grid: Grid, cdf: Array, time: float) -> float:
    """P(X <= time)."""
    return float(np.interp(time, grid.times, cdf, right=1.0))


def overtaking(grid: Grid, link: Link, commands: Commands) -> Array:
    """G where the notice of any later command would do."""
    commit = link.commit.unordered
    own = commit if link.leader else grid.plus(commit, link.delay)
    gaps = commands.gaps(grid)
    still = _repeated(lambda later: (1 - own) * grid.behind(later, gaps), 1 - own)
    return np.asarray(1 - still)


def _repeated(step: Callable[[Array], Array], start: Array) -> Array:
    """The fixed point of `step`, or its value after `FARTHEST` steps."""
    last = start
    for _ in range(FARTHEST):
        new = step(last)
        if float(np.abs(new - last).max()) < NOTHING:
            return new
        last = new
    return last


@dataclass(frozen=True)
class Wait:
    """The distribution of need = R + G + skew of look-ups, of which DD is subtracted.

    `arrival` is that of G + skew alone, under ordered links.
    """

    times: Array
    unordered: Array
    ordered: Array
    arrival: Array

    def probability(self, dd: float) -> Ends:
        """P(W > 0)."""
        return self._each(lambda cdf: max(0.0, 1 - float(np.interp(dd, self.times, cdf))))

    def mean(self, dd: float) -> Ends:
        """E[W]."""

        return self._each(lambda cdf: self._above(cdf, dd))

    def mean_again(self, dd: float, h: float) -> float:
        """The most that E[W] is of look-ups right behind another one's wait, as ordered links have
        it.

        A wait ends when a command is effective, G + skew after its stamp. Where that is later than
        DD, the next look-up is at a timestamp behind this command, and waits for the one after it,
        H later at most, and as long again; where it is not, it finds its schema complete.
        """
        return (1 - float(np.interp(dd, self.times, self.arrival))) * h + self._above(
            self.arrival, dd
        )

    def or_later(self, other: "Wait") -> "Wait":
        """The bracket that holds both: of two waits the sooner and the later at each end."""
        return Wait(
            self.times,
            np.maximum(self.unordered, other.unordered),
            np.minimum(self.ordered, other.ordered),
            np.minimum(self.arrival, other.arrival),
        )

    def quantile(self, share: float, dd: float) -> Ends:
        """The quantile of W."""
        return self._each(lambda cdf: max(0.0, self._need(cdf, share) - dd))

    def dd_for(self, share: float, limit: float) -> Ends:
        """The least DD with which this quantile of W is at most `limit`."""
        return self._each(lambda cdf: max(0.0, self._need(cdf, share) - limit))

    def _above(self, cdf: Array, dd: float) -> float:
        """The mean of what is above DD."""
        fine = np.clip(self.times, dd, None)
        beyond = max(float(self.times[0]) - dd, 0.0)  # W is at least that, surely
        left = np.maximum(1 - np.interp(fine, self.times, cdf), 0.0)  # a sum may be above 1
        return beyond + float(np.trapezoid(left, fine))

    def _need(self, cdf: Array, share: float) -> float:
        place = int(np.searchsorted(cdf, share - 1e-12))
        return float(self.times[min(place, len(self.times) - 1)])

    def _each(self, of: Callable[[Array], float]) -> Ends:
        return Ends(of(self.unordered), of(self.ordered))


def wait(grid: Grid, links: Sequence[Link], commands: Commands) -> Wait:
    """The wait of a look-up on any of these nodes, each as likely as the others."""
    times = grid.times + min(0.0, *(skew for link in links for skew in link.skews))
    gap = forms.gap_cdf(grid.times, commands.h, commands.mu)
    sums = np.zeros((3, len(times)))
    for link in links:
        late = ordered(grid, link, commands)
        early = grid.plus(overtaking(grid, link, commands), gap)
        for place, need in enumerate((early, grid.plus(late, gap), late)):
            for skew in link.skews:
                own = np.interp(times - skew, grid.times, need, left=0.0)
                sums[place] += own / len(link.skews)
    return Wait(times, *(sums / len(links)))
