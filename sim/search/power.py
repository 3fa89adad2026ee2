"""After how many drawn worlds each shipped mutant and each recorded finding shows.

This measures the search: no scenario that was written for them is run, only worlds that the swarm
draws, one seed after the other, without models; for findings also hunts, each from nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.checkers.findings import Finding
from ddlsim.checkers.judge import FINDING
from ddlsim.checkers.signature import CRASH
from ddlsim.cluster.designs import with_rules_of
from ddlsim.model.records import Record
from ddlsim.mutants.base import MUTANTS
from ddlsim.registry import unknown
from ddlsim.scenario import findings
from ddlsim.scenario.load import load
from ddlsim.scenario.shipped import shipped
from ddlsim.search.corpus import State
from ddlsim.search.explore import GRAVE, Target, explorer
from ddlsim.search.hunt import Hunt, never, sequence
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import Job, Runner, violates
from ddlsim.verify.row import RunRow

BASELINES: Final = ("iep", "iep_literal", "ignite3")
"""The designs whose findings are looked for: those that follow the documents or the system."""
BATCH: Final = 64
"""The size of a hunt's batches: the default of `ddlsim hunt`."""
UNEXPLAINED: Final = (*GRAVE, CRASH, "crashed")
"""How a run of a design breaks what it claims, by no recorded finding."""


class Sought(Record, frozen=True):
    """What is looked for in the worlds of a design: a mutant, or all findings that it has.

    `strict` and `all_claims` are how runs are judged: as the mutant's own scenario says. `hunt` is
    the seed of a hunt; None: seeds of the swarm, from 0 on.
    """

    design: str
    mutant: str | None = None
    findings: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False
    hunt: int | None = None


class Shown(Record, frozen=True):
    """The first world that shows a mutant or a finding.

    `worlds` were run until then, in `cpu_s` of CPU time, with those of the design without the
    mutant; `is_shown` is false where none of them showed it. `by` are the invariants that convict,
    `hunt` the seed of the hunt. `is_new`: a design that follows the documents or the system breaks
    what it claims, and no recorded finding says why; `name` is how then.
    """

    name: str
    design: str
    worlds: int
    cpu_s: float
    by: tuple[str, ...] = ()
    hunt: int | None = None
    is_shown: bool = True
    is_new: bool = False


def all_sought(only: Iterable[str] = (), hunts: int = 0) -> list[Sought]:
    """The findings of each baseline, by the swarm and by so many hunts, and every mutant that a run
    can convict.

    `only` are names of mutants and ids of findings; raises `UnknownPluginError` for any other.
    """
    wanted = set(only)
    numbers = [table.id for table in findings.described()]
    for name in wanted:
        if name not in MUTANTS and name not in numbers:
            raise unknown("mutant or finding", name, [*MUTANTS, *numbers])
    known = [one for one in findings.known() if not wanted or one.id in wanted]
    baselines = [each for name in BASELINES if (each := _baseline(name, known)).findings]
    chosen = [name for name in MUTANTS if not wanted or name in wanted]
    mutants = [_mutant(name) for name in chosen if not MUTANTS.get(name).survives]
    seeds = range(1, hunts + 1)
    return [replace(one, hunt=seed) for one in baselines for seed in seeds] + baselines + mutants


def _mutant(name: str) -> Sought:
    """A mutant under the design of its scenario, judged as that says."""
    place = f"negative/{name}"
    if place not in shipped():
        return Sought(MUTANTS.get(name).under or BASELINES[0], name)
    scenario = load(place)
    table = scenario.table
    return Sought(scenario.strategy, name, (), table.strict, table.all_claims)


def _baseline(name: str, known: Sequence[Finding]) -> Sought:
    """The findings of a design; some show in the strict graph alone."""
    header = with_rules_of(DESIGNS.get(name))
    ids = dict.fromkeys(one.id for one in known if one.concerns(header))
    return Sought(name, None, tuple(ids), strict=True)


class Looker:
    """Looks for mutants and findings in this process.

    It takes `seeds` of the swarm at most, and for a hunt `cpu_s` of CPU time.
    """

    def __init__(self, seeds: int, cpu_s: float) -> None:
        self._seeds, self._cpu_s = seeds, cpu_s

    def look(self, sought: Sequence[Sought]) -> list[list[Shown]]:
        """What was found of each, a record for each mutant or finding."""
        return [[self._mutant(one)] if one.mutant else self._findings(one) for one in sought]

    def _mutant(self, sought: Sought) -> Shown:
        assert sought.mutant is not None
        began_s = time.process_time()
        runs, control = _runner(sought, sought.mutant), _runner(sought, None)
        by: tuple[str, ...] = ()
        worlds = 0
        while not by and worlds < self._seeds:
            row = runs.row(worlds)
            if violates(row) and not violates(control.row(worlds)):
                by = _convicting(row)
            worlds += 1
        cpu_s = time.process_time() - began_s
        return Shown(sought.mutant, sought.design, worlds, cpu_s, by, is_shown=bool(by))

    def _findings(self, sought: Sought) -> list[Shown]:
        began_s = time.process_time()
        worlds, shown = 0, dict[str, Shown]()
        one = Shown("", sought.design, 0, 0.0, (), sought.hunt)
        for seen in self._drawn(sought) if sought.hunt is None else self._hunted(sought):
            worlds += 1
            cpu_s = time.process_time() - began_s
            for status, invariant in seen:
                is_new = status in UNEXPLAINED
                name = f"{status} {invariant}" if is_new else status.removeprefix(FINDING)
                if name in sought.findings or is_new:
                    made = replace(one, name=name, worlds=worlds, cpu_s=cpu_s, by=(invariant,))
                    shown.setdefault(name, replace(made, is_new=is_new))
            is_late = sought.hunt is not None and cpu_s > self._cpu_s
            if is_late or shown.keys() >= set(sought.findings):
                break
        cpu_s = time.process_time() - began_s
        missing = replace(one, worlds=worlds, cpu_s=cpu_s, is_shown=False)
        found = [shown.get(name, replace(missing, name=name)) for name in sought.findings]
        return found + [each for each in shown.values() if each.is_new]

    def _drawn(self, sought: Sought) -> Iterator[list[tuple[str, str]]]:
        """The statuses and invariants that each seed of the swarm shows."""
        runs = _runner(sought, None)
        for seed in range(self._seeds):
            row = runs.row(seed)
            seen = [(one.status, one.invariant) for one in row.violations]
            yield seen if seen or not violates(row) else [(row.outcome.word, "")]

    def _hunted(self, sought: Sought) -> Iterator[list[tuple[str, str]]]:
        """What each world of a hunt shows that begins with nothing."""
        target = Target({"strategy.name": sought.design}, (), sought.strict, sought.all_claims)
        hunt = Hunt(State(target, sought.hunt or 0, BATCH, guided=True), never)
        explored = explorer(target)
        for jobs in sequence(hunt):
            for job in jobs:
                (result,) = explored([job])
                hunt.take(job, result)
                yield [(one.status, one.invariant) for one in result.seen]


def _runner(sought: Sought, mutant: str | None) -> Runner:
    names: dict[str, Any] = {"strategy.name": sought.design}
    names |= {} if mutant is None else {"strategy.mutant": mutant}
    strict, all_claims = sought.strict, sought.all_claims
    job = Job("", "", names, swarm=True, models=False, strict=strict, all_claims=all_claims)
    return Runner(job)


def _convicting(row: RunRow) -> tuple[str, ...]:
    """The invariants that convict a run; the outcome where none does."""
    found = {one.invariant for one in row.violations if one.status in GRAVE}
    return tuple(sorted(found, key=lambda one: (len(one), one))) or (row.outcome.word,)


def looker(seeds: int, cpu_s: float) -> Callable[[Sequence[Sought]], list[list[Shown]]]:
    """What a process does with what is sought."""
    return Looker(seeds, cpu_s).look
