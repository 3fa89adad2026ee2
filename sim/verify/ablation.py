"""The mutants of a scenario's design in the same seeds as the design alone: what each invariant
shows.

The control is the design without a mutant. A mutant whose runs have the control's fingerprints
changed nothing in these worlds: no judge could tell it from the design.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from ddlsim.checkers.base import in_order
from ddlsim.checkers.outcome import Outcome
from ddlsim.mutants.base import MUTANTS
from ddlsim.scenario.scenario import NO_MUTANT, Scenario
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import Job
from ddlsim.verify.expectation import sum_of
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import GRAVE, Case, Trial, run_suite

Runs = dict[str | None, list[RunRow]]
"""The rows of each mutant by seed; those of the control under None."""


def cases_of(
    scenario: Scenario, job: Job, mutants: Iterable[str], *, once: bool = False
) -> list[Case]:
    """The control, and a case for each mutant; `job` runs the scenario, whatever its mutant.

    With `once` each is run in the first seed alone.
    """
    return [_case(scenario, job, one, once=once) for one in (None, *mutants)]


def _case(scenario: Scenario, job: Job, mutant: str | None, *, once: bool) -> Case:
    overrides = {**job.overrides, "strategy.mutant": mutant or NO_MUTANT}
    return Case(
        kind="scenario",
        job=structs.replace(job, overrides=overrides, models=False),
        strategy=scenario.strategy,
        mutant=mutant,
        judge=None if mutant is None else MUTANTS.get(mutant).caught_by,
        expect="ok",
        reaches=scenario.reaches,
        scripted=once,
    )


def run_all(
    cases: Sequence[Case],
    seeds: Sequence[int],
    *,
    time_s: float | None = None,
    jobs: int | None = None,
    watch: Callable[[RunRow], object] = lambda row: None,
) -> tuple[Runs, KeyboardInterrupt | None]:
    """The runs of every case, as many seeds of each as there was time for; what interrupted it."""
    runs: Runs = {case.mutant: [] for case in cases}
    interrupt = None

    def take(case: Case, trial: Trial) -> None:
        runs[case.mutant].append(trial.row)
        watch(trial.row)

    try:
        run_suite(cases, seeds, time_s=time_s, jobs=jobs, watch=take)
    except KeyboardInterrupt as error:
        interrupt = error
    return {one: sorted(rows, key=_seed_of) for one, rows in runs.items()}, interrupt


def _seed_of(row: RunRow) -> int:
    return row.seed


def broken_by(invariant: str, row: RunRow) -> str | None:
    """What the first breach of an invariant in a run shows; None where it is not broken."""
    return next(
        (
            one.summary
            for one in row.violations
            if one.invariant == invariant and one.status in GRAVE
        ),
        None,
    )


def changed(rows: Iterable[RunRow], control: Iterable[RunRow]) -> int:
    """In how many runs some event differs from the control's run of that seed, or it crashed."""
    before = {row.seed: row.fingerprint for row in control}
    return sum(
        row.fingerprint is None or row.fingerprint != before[row.seed]
        for row in rows
        if row.seed in before
    )


def invariants_of(scenario: Scenario, runs: Runs, *, all_claims: bool) -> list[str]:
    """The invariants that the design claims, or all, and those that some run breaks, in order."""
    claimed = {one.invariant for one in DESIGNS.get(scenario.strategy).header.claims}
    broken = {
        one.invariant
        for rows in runs.values()
        for row in rows
        for one in row.violations
        if one.status in GRAVE
    }
    every = dict.fromkeys(checker.invariant for checker in in_order())
    return [one for one in every if all_claims or one in claimed | broken]


def outcome_of(runs: Runs, reaches: Sequence[str]) -> Outcome:
    """The control's, as `run` has it; crashed where any run crashed, unknown without a control."""
    if any(row.outcome is Outcome.CRASHED for rows in runs.values() for row in rows):
        return Outcome.CRASHED
    control = runs[None]
    return sum_of(control, reaches=reaches, expect="ok").outcome if control else Outcome.UNKNOWN
