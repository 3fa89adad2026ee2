"""The regression suite: every scenario, every mutant and every design's claims, seed by seed.

A *case* is one scenario under one design. There are three kinds:

* `scenario`: as its file says; its outcome is compared with its `expect`, and once more under each
  design that its `expect_under` names.
* `mutant`: a scenario that expects its mutant's own judge to convict. Each seed is run twice, with
  and without the mutant: a conviction means nothing if the design alone is convicted too.
* `claims`: a generated scenario that expects ok, under another design; what that design claims must
  hold, the scenario's probes need not be reached. The other designs are those that the scenarios
  name; of the whole suite, all that are known.

Seeds are dealt out in rounds, one seed of every case after the other, so that all cases have had
about equally many seeds when time is up. A scripted scenario is the same for every seed: one round.
The seed that a scenario names comes first, beside the others: it shows what the scenario is about.
A mutant is not run any more once its judge has convicted it in `BLOCKS` disjoint blocks of seeds.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import structs

from ddlsim.checkers.base import CHECKERS
from ddlsim.execute.parallel import ALONE_S, Executor
from ddlsim.files import below
from ddlsim.model.records import Record
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario import bounds
from ddlsim.scenario.expect import judges_expected, label_of
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import NO_MUTANT, Scenario, override
from ddlsim.scenario.shipped import shipped
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import Job, Runner
from ddlsim.verify.row import RunRow

BLOCKS: Final = 5
"""After so many convictions a mutant is run no more."""
VARIED: Final = "*"
"""Stands after the name of a design of which a scenario has set fields."""
GRAVE: Final = ("violation", "stuck")
"""The statuses of a breach that convicts."""

Kind = Literal["scenario", "mutant", "claims"]


class Case(Record, frozen=True):
    """One scenario under one design; `judge` is the checker that must convict its mutant.

    `under` names the design where it is not the file's own. `varied`: the scenario sets fields of
    the design, which differs from the named one in them. `own_seed` is the seed that it names.
    """

    kind: Kind
    job: Job
    strategy: str
    mutant: str | None
    judge: str | None
    expect: str | dict[str, Any]
    reaches: tuple[str, ...]
    scripted: bool
    varied: bool = False
    under: str = ""
    own_seed: int | None = None

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.job.name

    @property
    def label(self) -> str:
        """The scenario's name, with the design where that is not the file's own."""
        return f"{self.name} under {self.under}" if self.under else self.name

    @property
    def design(self) -> str:
        """The name of the design in rows of claims."""
        return f"{self.strategy}{VARIED}" if self.varied else self.strategy


class Trial(Record, frozen=True):
    """One seed of one case: its row, and for a mutant that of the design without it."""

    row: RunRow
    control: RunRow | None = None


# --- what belongs to it --------------------------------------------------------------------------


def names_of(what: Iterable[str]) -> list[str]:
    """The scenarios of files, folders, shipped names and shipped folders, each once.

    For an empty `what` all shipped ones.
    """
    known = shipped()
    given = list(what)
    names: dict[str, None] = {} if given else dict.fromkeys(known)
    for one in given:
        if not one:
            raise ScenarioError("a scenario's name is empty; see ddlsim list scenarios")
        found = _below(one, known)
        if not found:
            raise ScenarioError(f"{one}: no scenario file (.toml) in this folder")
        names.update(dict.fromkeys(found))
    return list(names)


def _below(one: str, known: Iterable[str]) -> list[str]:
    path = Path(one)
    if path.is_dir():
        files, shut = below(path)
        if shut:
            raise ScenarioError(
                f"{shut[0]}: this folder cannot be listed; permit it, or name files"
            )
        return [str(file) for file in files if file.suffix == ".toml"]
    return [name for name in known if name.startswith(f"{one.rstrip('/')}/")] or [one]


def cases_of(
    names: Iterable[str],
    loads: Sequence[str] = (),
    *,
    every_design: bool = False,
    outside: bool = False,
) -> list[Case]:
    """The cases of these scenarios; raises `ScenarioError` before anything runs.

    They may name files `outside` of their folders only where that is allowed.
    """
    scenarios = [load(name, outside=outside) for name in names]
    for scenario in scenarios:
        bounds.check_run(scenario.name, scenario.estimate, None)
    named = {scenario.strategy for scenario in scenarios}
    designs = sorted(named | set(DESIGNS)) if every_design else sorted(named)
    cases = [_as_written(scenario, tuple(loads)) for scenario in scenarios]
    for scenario in scenarios:
        cases += _under_named(scenario, tuple(loads))
    for scenario in scenarios:
        if fits_all_designs(scenario):
            others = [design for design in designs if design != scenario.strategy]
            cases += _under_others(scenario, others, tuple(loads))
    return cases


def _as_written(scenario: Scenario, loads: tuple[str, ...]) -> Case:
    judge = None if scenario.mutant is None else MUTANTS.get(scenario.mutant).caught_by
    return Case(
        kind="mutant" if judge is not None and _convicts(scenario, judge) else "scenario",
        job=_job(scenario, scenario.overrides, loads),
        strategy=scenario.strategy,
        mutant=scenario.mutant,
        judge=judge,
        expect=scenario.expect,
        reaches=scenario.reaches,
        scripted=scenario.scripted,
        varied=bool(scenario.strategy_fields),
        own_seed=scenario.table.seed,
    )


def designs_named(scenario: Scenario) -> list[tuple[str, str | None]]:
    """The designs, with their mutants, for which a scenario has an expectation of its own."""
    table, own = scenario.table, label_of(scenario.strategy, scenario.mutant)
    labels = [*table.expect_under, *(label for step in table.step for label in step.expect_under)]
    found = []
    for label in dict.fromkeys(labels):
        strategy, plus, mutant = label.partition(" + ")
        if label != own:
            found.append((strategy, mutant if plus else None))
    return found


def under(scenario: Scenario, strategy: str, mutant: str | None) -> Scenario:
    """The same scenario under another design, without the probes that its own must reach."""
    changes = {"strategy.name": strategy, "strategy.mutant": mutant or NO_MUTANT, "reaches": []}
    return override(scenario, changes)


def _job(scenario: Scenario, overrides: dict[str, Any], loads: tuple[str, ...]) -> Job:
    return Job(scenario.name, scenario.text, overrides, loads, outside=scenario.outside)


def _under_named(scenario: Scenario, loads: tuple[str, ...]) -> Iterator[Case]:
    for strategy, mutant in designs_named(scenario):
        case = _as_written(under(scenario, strategy, mutant), loads)
        yield structs.replace(case, kind="scenario", under=label_of(strategy, mutant))


def _convicts(scenario: Scenario, judge: str) -> bool:
    """Whether a scenario says that its mutant's own judge convicts."""
    named = judges_expected(scenario.expect)
    return judge in named or CHECKERS.get(judge).invariant in named


def fits_all_designs(scenario: Scenario) -> bool:
    """Whether other designs can be tried in a scenario: nothing in it is of one design only."""
    own = scenario.mutant is not None or scenario.strategy_fields or scenario.steps
    return scenario.expect == "ok" and not own


def _under_others(
    scenario: Scenario, designs: Iterable[str], loads: tuple[str, ...]
) -> Iterator[Case]:
    for design in designs:
        if DESIGNS.get(design).header.plane != scenario.table.cluster.plane:
            continue
        overrides = {**scenario.overrides, "strategy.name": design}
        yield structs.replace(
            _as_written(scenario, loads),
            kind="claims",
            job=_job(scenario, overrides, loads),
            strategy=design,
            reaches=(),
            under=design,
            own_seed=None,
        )


# --- running it ----------------------------------------------------------------------------------


Turn = tuple[int, int]
"""The place of a case, and a seed for it."""


class CaseRunner:
    """Runs cases in this process; each scenario is read once."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._runners: dict[tuple[int, bool], Runner] = {}

    def trial(self, at: int, seed: int) -> Trial:
        """One seed of the case at this place."""
        row = slim(self._runner(at, control=False).row(seed))
        if self._cases[at].kind != "mutant":
            return Trial(row)
        return Trial(row, slim(self._runner(at, control=True).row(seed)))

    def trials(self, turns: Iterable[Turn]) -> list[Trial]:
        """The trials of some turns."""
        return [self.trial(*turn) for turn in turns]

    def lost(self, turn: Turn, how: str) -> Trial:
        """The trial of a turn at which its process died."""
        at, seed = turn
        return Trial(self._runner(at, control=False).lost(seed, "died", how))

    def _runner(self, at: int, *, control: bool) -> Runner:
        runner = self._runners.get((at, control))
        if runner is None:
            runner = self._runners[at, control] = Runner(self._cases[at].job)
            if control and runner.scenario is not None:
                runner.scenario = structs.replace(runner.scenario, mutant=None)
        return runner


def slim(row: RunRow) -> RunRow:
    """A row without figures, witnesses and all arguments but one, to save memory.

    Thousands of them are kept until the suite is over.
    """
    first = next((at for at, one in enumerate(row.violations) if one.status in GRAVE), None)
    argument = row.arguments.get(first) if first is not None else None
    return structs.replace(
        row,
        violations=tuple(structs.replace(one, witness=(), steps=()) for one in row.violations),
        arguments={} if first is None or argument is None else {first: argument},
        figures=None,
        pools={},
    )


def convicted_by(row: RunRow) -> frozenset[str]:
    """The checkers that found a claim broken under its assumptions, or what never ends."""
    return frozenset(one.checker for one in row.violations if one.status in GRAVE)


def convicts(case: Case, trial: Trial) -> bool:
    """Whether a mutant's own judge convicted it, and not the design without it."""
    if trial.control is not None and case.judge in convicted_by(trial.control):
        return False
    return case.judge in convicted_by(trial.row)


def wanted(case: Case, seeds: Sequence[int]) -> int:
    """How many of the seeds of all cases, and of its own, a case is run with."""
    if not seeds or case.scripted:
        return min(1, len(seeds))
    return len(seeds) + (case.own_seed is not None and case.own_seed not in seeds)


def seed_of(case: Case, seeds: Sequence[int], place: int) -> int:
    """The seed of a case's run number `place`: first its own one, then the others in order."""
    own = case.own_seed
    if own is None:
        return seeds[place]
    if place == 0:
        return own
    others = place - 1
    return seeds[others + (own in seeds and others >= seeds.index(own))]


class Schedule:
    """The order of runs: rounds over all cases that still need a seed.

    `seeds` are those of every case, beside its own; a scripted one takes the first only.
    """

    def __init__(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        self._cases = cases
        self._seeds = seeds
        self._dealt = [0] * len(cases)
        self._convictions = [0] * len(cases)
        self._waiting = list(range(len(cases)))
        self.trials: list[list[Trial]] = [[] for _ in cases]

    @property
    def planned(self) -> int:
        """How many seeds are run at most."""
        return sum(wanted(case, self._seeds) for case in self._cases)

    def next(self) -> Turn | None:
        """The index of a case and a seed for it; None where no case needs one."""
        while self._waiting:
            at = self._waiting.pop(0)
            case, dealt = self._cases[at], self._dealt[at]
            if dealt >= wanted(case, self._seeds) or self._convictions[at] >= BLOCKS:
                continue
            seed = seed_of(case, self._seeds, dealt)
            self._dealt[at] += 1
            self._waiting.append(at)
            return at, seed
        return None

    def take(self, at: int, trial: Trial) -> None:
        """Record a finished trial."""
        case = self._cases[at]
        self.trials[at].append(trial)
        if case.kind == "mutant" and convicts(case, trial):
            self._convictions[at] += 1

    def result(self) -> list[list[Trial]]:
        """The trials of each case by seed; a mutant's end with its last block."""
        return [
            self._cut(at, sorted(trials, key=lambda one: one.row.seed))
            for at, trials in enumerate(self.trials)
        ]

    def _cut(self, at: int, trials: list[Trial]) -> list[Trial]:
        case, convictions = self._cases[at], 0
        for place, trial in enumerate(trials):
            convictions += case.kind == "mutant" and convicts(case, trial)
            if convictions == BLOCKS:
                return trials[: place + 1]
        return trials


def run_suite(
    cases: Sequence[Case],
    seeds: Sequence[int],
    *,
    time_s: float | None = None,
    jobs: int | None = None,
    watch: Callable[[Case, Trial], object] = lambda case, trial: None,
    alone_s: float = ALONE_S,
) -> list[list[Trial]]:
    """The trials of each case, by seed; when time is up nothing more is begun.

    `watch` has each trial as it comes in, in no particular order.
    """
    schedule = Schedule(cases, seeds)
    ends = None if time_s is None else time.monotonic() + time_s

    def turns() -> Iterator[Turn]:
        while ends is None or time.monotonic() < ends:
            turn = schedule.next()
            if turn is None:
                return
            yield turn

    def take(turn: Turn, trial: Trial) -> None:
        schedule.take(turn[0], trial)
        watch(cases[turn[0]], trial)

    known = list(cases)
    lost = partial(_lost, known)
    with Executor(partial(_trials, known), lost, processes=jobs, alone_s=alone_s) as executor:
        executor.run(turns(), take)
    return schedule.result()


def _trials(cases: Sequence[Case]) -> Callable[[Sequence[Turn]], list[Trial]]:
    return CaseRunner(cases).trials


def _lost(cases: Sequence[Case], turn: Turn, how: str) -> Trial:
    return CaseRunner(cases).lost(turn, how)
