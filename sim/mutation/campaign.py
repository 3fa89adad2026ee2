"""Tries mutants, a process each: which ones the search kills, by which judge, after how much.

A conviction counts only if the same world is not convicted without the mutant; else the search goes
on behind it. Results are the same everywhere if the budget is a number of runs; a budget of CPU
time ends the search at a run that depends on the machine.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from multiprocessing.connection import wait
from typing import Final

from msgspec import structs

from ddlsim.mutation.areas import (
    BASELINES,
    CLOSED,
    LAYERS,
    LEASED,
    OPEN,
    SAFE,
    SHIPPED,
    designs_for,
)
from ddlsim.mutation.course import Course, Survey, Surveyed
from ddlsim.mutation.loader import THIRD_PARTY, counting_modules
from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.records import Conviction, Result
from ddlsim.mutation.trial import (
    Budget,
    Child,
    Ended,
    Toured,
    Unimportable,
    Used,
    lost,
    rules_of,
    tour_of,
    trial_of,
)


def warm() -> None:
    """Import what all children need and no mutant changes."""
    for name in THIRD_PARTY:
        import_module(name)


@cache
def used_rules() -> dict[str, frozenset[str]]:
    """The functions that the rules of each baseline consist of, as `file:function`."""
    child = Child(rules_of((*BASELINES, *LAYERS)), None)
    message = child.message()
    assert isinstance(message, Used), f"the package without mutants: {message}"
    return {name: frozenset(rules) for name, rules in message.rules.items()}


TOUR: Final = 10
"""The worlds that one process surveys."""
ONE_OF: Final = {CLOSED: 1, OPEN: 4, SHIPPED: 4, SAFE: 2, LEASED: 4}
"""Of so many parts of the seeds one is surveyed under a design: the others have few mutants.

Designs that are not here have fresh worlds alone.
"""


def survey(
    seeds: Iterable[int],
    jobs: int,
    watch: Callable[[list[Surveyed]], object],
    designs: Container[str] = BASELINES,
) -> None:
    """Survey these seeds under these designs; call `watch` with each part as it comes in.

    The worlds of a process that died are left out.
    """
    each = list(seeds)
    parts = [each[at : at + TOUR] for at in range(0, len(each), TOUR)]
    left = iter(
        [
            tour_of(name, part)
            for at, part in enumerate(parts)
            for name in ONE_OF
            if name in designs and not at % ONE_OF[name]
        ]
    )
    if parts:
        counting_modules()  # once, for all processes
    running: list[Child] = []
    try:
        while True:
            running += [Child(work, None) for work in islice(left, jobs - len(running))]
            if not running:
                break
            ready = wait([child.receiver for child in running])
            for child in [child for child in running if child.receiver in ready]:
                running.remove(child)
                message = child.message()
                if isinstance(message, Toured):
                    watch(message.worlds)
    finally:
        for child in running:
            child.kill()


class Campaign:
    """Trials under way; `jobs` processes at most."""

    def __init__(self, budget: Budget, jobs: int, surveyed: Sequence[Surveyed] = ()) -> None:
        self._budget = budget
        self._jobs = jobs
        self._used = used_rules()
        self._survey = Survey(surveyed)
        self._running: list[_Trial] = []
        self._controls: dict[tuple[str, int], bool] = {}

    def designs(self, mutant: Mutant) -> tuple[str, ...]:
        """The designs under which a mutant may be tried; none if no baseline has it."""
        return designs_for(mutant.place, self._used)

    def run(
        self,
        mutants: Iterable[Mutant],
        watch: Callable[[Result], object],
        before: Mapping[str, Result] | None = None,
    ) -> None:
        """Try each mutant; call `watch` with its result as it comes in.

        `before` are survivors of a smaller budget by their ids: their search goes on.
        """
        left, results = iter(mutants), before or {}
        try:
            while self._begin(left, results):
                for trial in self._ready():
                    result = trial.proceed()
                    if result is not None:
                        self._running.remove(trial)
                        watch(result)
        finally:
            for trial in self._running:
                trial.child.kill()

    def _begin(self, left: Iterator[Mutant], before: Mapping[str, Result]) -> bool:
        while len(self._running) < self._jobs:
            mutant = next(left, None)
            if mutant is None:
                break
            designs = self.designs(mutant)
            assert designs, f"no design is tried with {mutant.id}"
            course = self._survey.course(mutant, designs)
            known = before.get(mutant.id)
            self._running.append(_Trial(mutant, course, self._budget, self._controls, known))
        return bool(self._running)

    def _ready(self) -> list["_Trial"]:
        ready = wait([trial.child.receiver for trial in self._running])
        return [trial for trial in self._running if trial.child.receiver in ready]


class _Trial:
    """A mutant's trial: its search, then the control of what that convicts, and on."""

    def __init__(
        self,
        mutant: Mutant,
        course: Course,
        budget: Budget,
        controls: dict[tuple[str, int], bool],
        before: Result | None,
    ) -> None:
        self.mutant = mutant
        self._course = course
        self._budget = budget
        self._controls = controls
        self._so_far = before or Result(
            mutant.id, mutant.area, mutant.operator, mutant.sentence, "survived"
        )
        self._convicted: Conviction | None = None
        self.child = self._searching()

    def _searching(self) -> Child:
        seeds, cpu_s, so_far = self._budget.seeds, self._budget.cpu_s, self._so_far
        left = structs.replace(
            self._budget,
            seeds=None if seeds is None else seeds - so_far.runs,
            cpu_s=None if cpu_s is None else max(cpu_s - so_far.cpu_s, 0.0),
        )
        return Child(trial_of(self.mutant, self._course, so_far.runs, left), left.cpu_s)

    def proceed(self) -> Result | None:
        """Take a message of its process; the result once there is one."""
        message = self.child.message()
        if message == "":
            return None
        if isinstance(message, Unimportable):
            return structs.replace(self._so_far, verdict="unimportable", error=message.error)
        if self._convicted is not None:
            convicted_too = isinstance(message, str) or (
                isinstance(message, Ended) and message.searched.conviction is not None
            )
            return self._controlled(self._convicted, convicted_too=convicted_too)
        return self._searched(message)

    def _searched(self, message: object) -> Result | None:
        so_far = self._so_far
        if isinstance(message, Ended):
            searched = message.searched
            self._so_far = structs.replace(
                so_far,
                runs=so_far.runs + searched.runs,
                reached=so_far.reached + message.reached,
                same=so_far.same + searched.same,
                cpu_s=round(so_far.cpu_s + message.cpu_s, 3),
            )
            found = searched.conviction
        else:
            number = so_far.runs if self.child.number is None else self.child.number
            found = lost(self._course, number, str(message))
            self._so_far = structs.replace(so_far, runs=number + 1)
        if found is None:
            return self._so_far
        known = self._controls.get((found.design, found.seed))
        if known is not None:
            return self._controlled(found, convicted_too=known)
        self._convicted = found
        control = structs.replace(self._budget, seeds=1, cpu_s=None)
        world = Course((), (found.design,), found.seed)
        self.child = Child(trial_of(None, world, 0, control), None)
        return None

    def _controlled(self, found: Conviction, *, convicted_too: bool) -> Result | None:
        """Accept the conviction, or go on with the search behind it."""
        self._convicted = None
        self._controls[found.design, found.seed] = convicted_too
        if not convicted_too:
            return structs.replace(self._so_far, verdict="killed", conviction=found)
        self._so_far = structs.replace(self._so_far, excused=self._so_far.excused + 1)
        self.child = self._searching()
        return None
