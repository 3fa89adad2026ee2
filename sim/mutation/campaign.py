"""Tries mutants, a process each: which ones the search kills, by which judge, after how much.

A conviction counts only if the same world is not convicted without the mutant; else the search goes
on behind it. Results are the same everywhere if the budget is a number of runs; a budget of CPU
time ends the search at a run that depends on the machine.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from multiprocessing.connection import wait

from msgspec import structs

from ddlsim.mutation.areas import BASELINES, designs_for
from ddlsim.mutation.loader import THIRD_PARTY
from ddlsim.mutation.mutants import Mutant
from ddlsim.mutation.records import Conviction, Ending, Result
from ddlsim.mutation.trial import Budget, Child, Ended, Unimportable, Used, lost, rules_of, trial_of

World = tuple[str, int]
"""A design and a seed."""


def warm() -> None:
    """Import what all children need and no mutant changes."""
    for name in THIRD_PARTY:
        import_module(name)


def used_rules() -> dict[str, frozenset[str]]:
    """The functions that the rules of each baseline consist of, as `file:function`."""
    child = Child(rules_of(BASELINES), None)
    message = child.message()
    assert isinstance(message, Used), f"the package without mutants: {message}"
    return {name: frozenset(rules) for name, rules in message.rules.items()}


class Campaign:
    """Trials under way; `jobs` processes at most."""

    def __init__(self, budget: Budget, jobs: int) -> None:
        self._budget = budget
        self._jobs = jobs
        self._used = used_rules()
        self._running: list[_Trial] = []
        self._controls: dict[World, bool] = {}

    def designs(self, mutant: Mutant) -> tuple[str, ...]:
        """The designs under which a mutant is tried; none if no baseline has it."""
        return designs_for(mutant.place, self._used)

    def run(self, mutants: Iterable[Mutant], watch: Callable[[Result], object]) -> None:
        """Try each mutant; call `watch` with its result as it comes in."""
        left = iter(mutants)
        try:
            while self._begin(left):
                for trial in self._ready():
                    result = trial.proceed()
                    if result is not None:
                        self._running.remove(trial)
                        watch(result)
        finally:
            for trial in self._running:
                trial.child.kill()

    def _begin(self, left: Iterator[Mutant]) -> bool:
        while len(self._running) < self._jobs:
            mutant = next(left, None)
            if mutant is None:
                break
            self._running.append(_Trial(mutant, self.designs(mutant), self._budget, self._controls))
        return bool(self._running)

    def _ready(self) -> list["_Trial"]:
        ready = wait([trial.child.receiver for trial in self._running])
        return [trial for trial in self._running if trial.child.receiver in ready]


class _Trial:
    """A mutant's trial: its search, then the control of what that convicts, and on."""

    def __init__(
        self,
        mutant: Mutant,
        designs: tuple[str, ...],
        budget: Budget,
        controls: dict[World, bool],
    ) -> None:
        assert designs, f"no design is tried with {mutant.id}"
        self.mutant = mutant
        self._designs = designs
        self._budget = budget
        self._controls = controls
        self._runs = self._reached = self._excused = 0
        self._cpu_s = 0.0
        self._convicted: Conviction | None = None
        self.child = self._searching()

    def _searching(self) -> Child:
        seeds, cpu_s = self._budget.seeds, self._budget.cpu_s
        left = structs.replace(
            self._budget,
            seeds=None if seeds is None else seeds - self._runs,
            cpu_s=None if cpu_s is None else max(cpu_s - self._cpu_s, 0.0),
        )
        return Child(trial_of(self.mutant, self._designs, self._runs, left), left.cpu_s)

    def proceed(self) -> Result | None:
        """Take a message of its process; the result once there is one."""
        message = self.child.message()
        if message == "":
            return None
        if isinstance(message, Unimportable):
            return self._result("unimportable", error=message.error)
        if self._convicted is not None:
            convicted_too = isinstance(message, str) or (
                isinstance(message, Ended) and message.searched.conviction is not None
            )
            return self._controlled(convicted_too=convicted_too)
        return self._searched(message)

    def _searched(self, message: object) -> Result | None:
        if isinstance(message, Ended):
            self._runs += message.searched.runs
            self._reached += message.reached
            self._cpu_s += message.cpu_s
            found = message.searched.conviction
        else:
            number = self._runs if self.child.number is None else self.child.number
            found = lost(self._designs, number, str(message))
            self._runs = number + 1
        if found is None:
            return self._result("survived")
        self._convicted = found
        known = self._controls.get((found.design, found.seed))
        if known is not None:
            return self._controlled(convicted_too=known)
        one = (found.design,)
        control = structs.replace(self._budget, seeds=1, cpu_s=None)
        self.child = Child(trial_of(None, one, found.seed, control), None)
        return None

    def _controlled(self, *, convicted_too: bool) -> Result | None:
        """Accept the conviction, or go on with the search behind it."""
        found, self._convicted = self._convicted, None
        assert found is not None, "only a conviction is controlled"
        self._controls[found.design, found.seed] = convicted_too
        if not convicted_too:
            return self._result("killed", found)
        self._excused += 1
        self.child = self._searching()
        return None

    def _result(self, verdict: Ending, found: Conviction | None = None, error: str = "") -> Result:
        one = self.mutant
        return Result(
            one.id, one.area, one.operator, one.sentence, verdict,
            found, self._runs, self._reached, round(self._cpu_s, 3), self._excused, error,
        )  # fmt: skip
