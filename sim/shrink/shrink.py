"""Shrinks a failing scenario: passes over its data, again and again, until none of them helps.

A candidate is kept if its run fails as the first one did (`Target`) and it is smaller (`Size`).
Candidates are tried in a fixed order, none of them twice, so the result depends on nothing but the
failure and the number of runs; the bound of time is a second one, for what takes too long.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from ddlsim.model.records import Record
from ddlsim.search.crash import most_events
from ddlsim.shrink.data import Data, key_of
from ddlsim.shrink.passes import FIRST, LAST, PASSES, Pass
from ddlsim.shrink.size import size_of
from ddlsim.shrink.trial import Failure, Shown, Target, shown

RUNS: Final = 20_000
TIME_S: Final = 60.0
MORE_ENTRIES: Final = 25
"""A scenario that is the same for every seed may have so many more entries than a drawn one."""
MORE_EVENTS: Final = 20_000
"""So many more events than in proportion to the best one a candidate may take."""
FOR_LAST: Final = 0.1
"""The share of the budget that is kept for the last passes."""

Ended = Literal["done", "runs", "time", "interrupted"]
"""Why shrinking ended: nothing smaller was found, or a bound was reached, or it was interrupted."""


class Budget(Record, frozen=True):
    """How much may be spent: candidates that are run, and seconds of CPU time."""

    runs: int = RUNS
    time_s: float = TIME_S


class Shrunk(Record, frozen=True):
    """The result: the smallest scenario found, and what it took.

    `helped` counts, by pass, the candidates that were kept.
    """

    best: Shown
    ended: Ended
    runs: int
    cpu_s: float
    helped: dict[str, int]


class _SpentError(Exception):
    """Raised where the budget does not allow another run."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(ended)
        self.ended: Ended = ended


Watch = Callable[["Shrinking", str], object]
"""Called with the state and the name of the pass after each candidate."""


class Shrinking:
    """A failure being shrunk: the best so far, what was tried, and what was spent."""

    def __init__(
        self,
        failure: Failure,
        first: Shown,
        target: Target,
        budget: Budget,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.failure, self.target, self.best = failure, target, first
        self.runs = 0
        self.reserve = FOR_LAST
        self.helped: dict[str, int] = {}
        self.interrupt: KeyboardInterrupt | None = None
        """What interrupted it."""
        self.budget, self._clock = budget, clock
        self._began_s = clock()
        self._tried: set[bytes] = {_digest(first.data)}

    @property
    def cpu_s(self) -> float:
        """CPU seconds spent so far."""
        return self._clock() - self._began_s

    def consider(self, data: Data, *, smaller: bool = True) -> bool:
        """Whether a candidate fails as it should and is `smaller`; it is the best one then."""
        digest = _digest(data)
        if digest in self._tried:
            return False
        self._tried.add(digest)
        if smaller and size_of(data) >= self.best.size:
            return False
        if self.runs >= self.budget.runs * (1 - self.reserve):
            raise _SpentError("runs")
        if self.cpu_s >= self.budget.time_s * (1 - self.reserve):
            raise _SpentError("time")
        self.runs += 1
        found = shown(self.bounded(), data, self.target)
        if found is None:
            return False
        self.best = found
        return True

    def bounded(self) -> Failure:
        """The failure, whose candidates take not many more events than the best one so far.

        A candidate that runs on without an end costs as much as hundreds of small ones.
        """
        most = most_events(self.best.history, MORE_EVENTS)
        return replace(self.failure, events_max=min(self.failure.events_max, most))

    def carry_out(self, one: Pass, watch: Watch, *, smaller: bool = True) -> None:
        """Try every candidate of a pass; what it leaves with many more entries is not kept."""
        before = self.best
        try:
            self._try_all(one, watch, smaller=smaller)
        finally:
            if self.best.size.entries > before.size.entries + MORE_ENTRIES:
                self.best = before

    def _try_all(self, one: Pass, watch: Watch, *, smaller: bool) -> None:
        candidates = one.candidates(self.best, self.failure)
        kept = None
        while True:
            try:
                data = candidates.send(kept)
            except StopIteration:
                return
            kept = self.consider(data, smaller=smaller)
            if kept:
                self.helped[one.name] = self.helped.get(one.name, 0) + 1
            watch(self, one.name)


def _digest(data: Data) -> bytes:
    return hashlib.blake2b(key_of(data), digest_size=16).digest()


def _finished(state: Shrinking, watch: Watch, ended: Ended) -> Ended:
    """Carry out the last passes with what was kept of the budget for them."""
    state.reserve = 0
    try:
        for one in LAST:
            state.carry_out(one, watch, smaller=False)
    except _SpentError:
        return ended
    except KeyboardInterrupt as interrupt:
        state.interrupt = interrupt
        return "interrupted"
    return ended


def shrink(
    state: Shrinking,
    *,
    first: Sequence[Pass] = FIRST,
    passes: Sequence[Pass] = PASSES,
    watch: Watch = lambda state, name: None,
) -> Shrunk:
    """Run the first passes, then all until a round finds nothing smaller, or the budget is spent.

    An interrupt ends it as well: the best scenario so far is the result.
    """
    ended: Ended = "done"
    try:
        for one in first:
            state.carry_out(one, watch)
        before = None
        while before is not state.best:
            before = state.best
            for one in passes:
                state.carry_out(one, watch)
    except _SpentError as spent:
        ended = spent.ended
    except KeyboardInterrupt as interrupt:
        state.interrupt = interrupt
        ended = "interrupted"
    if ended != "interrupted":
        ended = _finished(state, watch, ended)
    return Shrunk(state.best, ended, state.runs, state.cpu_s, dict(state.helped))
