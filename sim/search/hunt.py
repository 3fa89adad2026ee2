"""Coverage-guided search: worlds are drawn, or varied from worlds that reached something new.

Worlds are numbered. World `n` is a function of the hunt's seed, of `n`, and of the corpus as it was
before the batch of `n` began; results are taken in the order of the numbers. So a hunt depends on
its seed, the size of its batches and the corpus that it began with, and not on the number of
processes. About half of the worlds are drawn anew, each from the seed of the swarm that its number
gives.

A world is kept where it shows a feature (`ddlsim.search.coverage`) that none before it has shown.
Parents are chosen half of the time among the worlds that were the first to show a rare feature, and
uniformly otherwise.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from ddlsim.checkers.judge import FINDING
from ddlsim.kernel.rng import Streams, mix
from ddlsim.search.corpus import Entry, Found, State, entry_of
from ddlsim.search.explore import Explored, Job, Seen
from ddlsim.search.vary import SEEDS
from ddlsim.workload.base import Die

SWARM_SEEDS: Final = 1_000_000
"""The swarm's seeds of hunt N begin at N times this."""
FRESH: Final = 0.5
"""The share of worlds that are drawn anew."""
RARE: Final = 0.25
"""Rare features: the share of all that fewest worlds have shown."""

Stop = Callable[[Explored], bool]


class Hunt:
    """A hunt under way; `state` is what it has done, in the order of the worlds.

    `stop` is called with each result and says whether the hunt ends there.
    """

    def __init__(self, state: State, stop: Stop) -> None:
        self._stop = stop
        self._began = state
        self.stopped = False
        self.number = state.number
        self.entries: list[Entry] = list(state.entries)
        self.hits: dict[str, int] = dict(state.hits)
        self.rare: list[int] = list(state.rare)
        self.found: dict[tuple[str, str], Found] = {
            (one.seen.id, one.seen.status): one for one in state.found
        }
        self.transactions, self.cpu_s = state.transactions, state.cpu_s
        self._first: dict[str, int] = {}
        for place, entry in enumerate(self.entries):
            self._first.update(dict.fromkeys(entry.features, place))

    @property
    def state(self) -> State:
        """What to keep of it."""
        return replace(
            self._began,
            number=self.number,
            entries=tuple(self.entries),
            hits=dict(self.hits),
            rare=tuple(self.rare),
            found=tuple(self.found.values()),
            transactions=self.transactions,
            cpu_s=self.cpu_s,
        )

    def jobs(self) -> list[Job]:
        """The rest of the present batch."""
        size = self._began.batch
        end = (self.number // size + 1) * size
        first = end - size
        parents = [place for place, one in enumerate(self.entries) if one.number < first]
        if self.number == first:
            self.rare = self._rare(parents)
        rare = self.rare
        return [self._job(number, parents, rare) for number in range(self.number, end)]

    def _rare(self, parents: list[int]) -> list[int]:
        """The first worlds that showed each of the rare features."""
        most = len(parents)
        shown = sorted(
            (self.hits[feature], feature) for feature, at in self._first.items() if at < most
        )
        return [self._first[feature] for _, feature in shown[: int(len(shown) * RARE) + 1]]

    def _job(self, number: int, parents: list[int], rare: list[int]) -> Job:
        began, draw = self._began, self._began.seed * SWARM_SEEDS + number
        if number < len(began.stored):
            return Job(number, draw, began.stored[number], as_is=True)
        die = Die(Streams(mix(began.seed, number)).stream("hunt", "choice"))
        if not began.guided or not parents or die.chance(FRESH):
            return Job(number, draw)
        parent = die.pick(rare if rare and die.chance(0.5) else parents)
        donor = self.entries[die.pick(parents)].world if die.chance(0.5) else None
        return Job(number, die.below(SEEDS), self.entries[parent].world, donor)

    def take(self, job: Job, result: Explored) -> bool:
        """Add the result of the next world; whether the hunt ends with it."""
        assert job.number == self.number, (job.number, self.number)
        self.number += 1
        self.transactions += result.transactions
        self.cpu_s += result.cpu_s
        new = tuple(one for one in result.features if one not in self.hits)
        for feature in result.features:
            self.hits[feature] = self.hits.get(feature, 0) + 1
        if new:
            self._first.update(dict.fromkeys(new, len(self.entries)))
            self.entries.append(entry_of(job.number, result.world, new))
        for seen in result.seen:
            self._add(seen, job.number, result)
        self.stopped = self._stop(result)
        return self.stopped

    def _add(self, seen: Seen, number: int, result: Explored) -> None:
        key = (seen.id, seen.status)
        before = self.found.get(key)
        self.found[key] = (
            Found(seen, 1, number, round(self.cpu_s, 3), result.world, result.drawn)
            if before is None
            else replace(before, count=before.count + 1)
        )


def is_known(seen: Seen) -> bool:
    """Whether it is explained by a recorded finding."""
    return seen.status.startswith(FINDING)


def until_violation(*, findings: bool) -> Stop:
    """Ends a hunt at the first violation, stuck run or crash; at known `findings` too, or not."""

    def stop(result: Explored) -> bool:
        return any(findings or not is_known(seen) for seen in result.seen)

    return stop


def never(result: Explored) -> bool:
    """Ends no hunt."""
    del result
    return False


def begun(wanted: State, kept: State | None) -> State:
    """The state to begin with: a kept one of the same hunt goes on; the worlds of any other are run
    first, under the settings of this one.

    So are those that it had been given itself and had not come to. Of another program those go
    first in which it has found something: whether this one shows it as well is in `not_shown`.
    """
    if kept is None:
        return wanted
    if kept.continues(wanted):
        return kept
    worlds = (*(entry.world for entry in kept.entries), *kept.stored[kept.number :])
    if kept.program == wanted.program or kept.target != wanted.target:
        return replace(wanted, stored=worlds)
    showing = tuple(one.world for one in kept.found)
    met = {(one.text, one.seed) for one in showing}
    others = tuple(one for one in worlds if (one.text, one.seed) not in met)
    seen = {(one.id, one.status): one for one in (*kept.before, *(f.seen for f in kept.found))}
    return replace(wanted, stored=(*dict.fromkeys(showing), *others), before=tuple(seen.values()))


def sequence(hunt: Hunt) -> Iterator[list[Job]]:
    """Batch after batch until the hunt is stopped; the results of one must be taken before the
    next."""
    while not hunt.stopped:
        yield hunt.jobs()
