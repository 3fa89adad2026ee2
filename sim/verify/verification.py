"""The result of the regression suite: which checkers killed which mutants and how soon, which
claims held, which probes were never reached, and what is not as expected.

Where the time was up before a case had all its seeds, what is missing (a conviction, a probe, the
seeds themselves) is *open*: not decided, neither wrong nor as expected. What is open counts neither
as survived, nor as kept, nor in the score.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.escape import counted
from ddlsim.model.probes import never_reached
from ddlsim.model.records import Record
from ddlsim.mutants.base import MUTANTS
from ddlsim.verify import claims
from ddlsim.verify.claims import ClaimRow
from ddlsim.verify.expectation import Sum, sum_of
from ddlsim.verify.kills import MutantRow, Survivor, killing, survivors
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import BLOCKS, Case, Trial, convicted_by, convicts, wanted

NOT_RUN: Final = ": not run, the time was up"
CALM: Final = (Outcome.OK, Outcome.VACUOUS)


class ScenarioRow(Record, frozen=True):
    """A scenario under the design that it names: how its runs ended, against what it expects.

    `wanted` is the number of seeds asked for, None where time alone was the bound. `complete`: it
    had all of them, or needs no more. `wrong` is what is not as expected, `missing` those of its
    lines that more seeds might still put right. `argument` is a judge's text about the first run
    that failed, the one of `seed`; `under` the design where it is not the file's own.
    """

    scenario: str
    kind: str
    strategy: str
    mutant: str | None
    outcome: str
    expected: object
    runs: int
    complete: bool
    wrong: tuple[str, ...]
    never_reached: tuple[str, ...]
    seed: int
    argument: str = ""
    loads: tuple[str, ...] = ()
    outside: bool = False
    under: str = ""
    missing: tuple[str, ...] = ()
    wanted: int | None = None

    @property
    def label(self) -> str:
        """Its name, with the design where that is not the file's own."""
        return f"{self.scenario} under {self.under}" if self.under else self.scenario

    @property
    def excused(self) -> bool:
        """Whether it only measures a design that is known not to keep all that it claims."""
        return self.kind == "claims" and self.strategy in claims.KNOWN_BREACHES

    @property
    def undecided(self) -> bool:
        """Whether nothing is wrong but what more seeds might still put right."""
        return not self.complete and len(self.wrong) == len(self.missing)

    @property
    def short(self) -> bool:
        """Whether the time was up before it had the seeds that were asked for."""
        return not self.complete and self.wanted is not None


class Verification(Record, frozen=True):
    """The whole result; `unexpected` says in words what fails it, `open` what was not decided.

    `seeds` is the number that a case was to have at most, None where time alone was the bound
    (`bounded`); `least_run` and `most_run` are how many the scenarios and claims that draw anything
    had, None where there are none. `survivors` had all their seeds, `undecided_mutants` had not.
    """

    cases: int
    runs: int
    seeds: int | None
    least_run: int | None
    most_run: int | None
    bounded: bool
    mutants: tuple[MutantRow, ...]
    survivors: tuple[Survivor, ...]
    undecided_mutants: tuple[Survivor, ...]
    scenarios: tuple[ScenarioRow, ...]
    claims: tuple[ClaimRow, ...]
    not_run: tuple[str, ...]
    never_reached: tuple[str, ...]
    unexpected: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        """Whether everything was run and is as it should be."""
        return not self.unexpected and self.decided

    @property
    def decided(self) -> bool:
        """Whether everything was run often enough to tell."""
        return not self.open and not self.short

    @property
    def short(self) -> tuple[ScenarioRow, ...]:
        """What had fewer seeds than were asked for, and is as expected so far."""
        return tuple(row for row in self.scenarios if row.short and row.runs and not row.wrong)

    @property
    def killed(self) -> int:
        """How many mutants were killed."""
        return len({row.mutant for row in self.mutants if row.killed})

    @property
    def score(self) -> float | None:
        """The share of killed mutants; None where none was asked for."""
        judged = self.killed + len(self.survivors)
        return self.killed / judged if judged else None

    @property
    def vacuous(self) -> tuple[ScenarioRow, ...]:
        """The scenarios that never reached their probes."""
        return tuple(
            row
            for row in self.scenarios
            if row.runs and row.never_reached and (row.complete or not row.undecided)
        )


def verification(
    cases: Sequence[Case],
    trials: Sequence[Sequence[Trial]],
    seeds: Sequence[int],
    *,
    every_mutant: bool,
    bounded: bool = False,
) -> Verification:
    """The result of the trials of each case.

    `every_mutant`: every known mutant must be convicted, not only those of these cases. `bounded`:
    time alone bounds the run, so that more seeds could always bring what is missing.
    """
    pairs = list(zip(cases, trials, strict=True))
    rows = tuple(_scenario(case, done, None if bounded else seeds) for case, done in pairs)
    mutants = tuple(
        structs.replace(killing(case, done), complete=row.complete)
        for (case, done), row in zip(pairs, rows, strict=True)
        if case.kind == "mutant"
    )
    short = {case.design for (case, _), row in zip(pairs, rows, strict=True) if row.short}
    found = tuple(claims.rows_of(pairs, short))
    cut = {row.mutant for row in rows if not row.complete}
    unkilled = tuple(survivors(pairs, mutants, every_mutant=every_mutant))
    unconvicted = tuple(one for one in unkilled if one.reason or one.mutant not in cut)
    undecided_mutants = tuple(one for one in unkilled if one not in unconvicted)
    not_run = tuple(case.label for case, done in pairs if not done)
    unexpected, undecided = _sorted_out(rows, unconvicted, undecided_mutants)
    dealt = [row.runs for row, case in zip(rows, cases, strict=True) if _draws(case)]
    return Verification(
        cases=len(cases),
        runs=sum(1 + (one.control is not None) for _, done in pairs for one in done),
        seeds=None if bounded else max([len(seeds), *(row.wanted or 0 for row in rows)]),
        least_run=min(dealt, default=None),
        most_run=max(dealt, default=None),
        bounded=bounded,
        mutants=mutants,
        survivors=unconvicted,
        undecided_mutants=undecided_mutants,
        scenarios=rows,
        claims=found,
        not_run=not_run,
        never_reached=never_reached(_met(pairs)),
        unexpected=(*unexpected, *claims.wrong(found)),
        open=(*undecided, *(f"{label}{NOT_RUN}" for label in not_run)),
    )


def _draws(case: Case) -> bool:
    return not case.scripted and case.kind != "mutant"


def _met(pairs: Iterable[tuple[Case, Sequence[Trial]]]) -> set[str]:
    return {
        probe
        for _, done in pairs
        for one in done
        for row in (one.row, one.control)
        if row is not None
        for probe, times in row.reached.items()
        if times
    }


# --- scenarios -----------------------------------------------------------------------------------


def _scenario(case: Case, done: Sequence[Trial], seeds: Sequence[int] | None) -> ScenarioRow:
    total = sum_of([trial.row for trial in done], reaches=case.reaches, expect=_due(case))
    first = total.first_failed or (total.runs[0] if done else None)
    rested = sum(convicts(case, trial) for trial in done) >= BLOCKS
    due = 1 if case.scripted else None
    due = due if seeds is None else wanted(case, seeds)
    wrong, missing = _wrong(case, total, done) if done else ((), ())
    return ScenarioRow(
        scenario=case.name,
        kind=case.kind,
        strategy=case.strategy,
        mutant=case.mutant,
        outcome=total.outcome.word,
        expected=_due(case),
        runs=len(done),
        complete=rested or (due is not None and len(done) >= due),
        wrong=(*wrong, *missing),
        missing=missing,
        wanted=due,
        never_reached=total.never_reached,
        seed=0 if first is None else first.seed,
        argument="" if first is None else _argument(first),
        loads=case.job.loads,
        outside=case.job.outside,
        under=case.under,
    )


def _due(case: Case) -> str | dict[str, object]:
    return "ok" if case.kind == "claims" else case.expect


def _wrong(
    case: Case, total: Sum, done: Sequence[Trial]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is not as the scenario expects, and of the rest what more seeds might put right."""
    wrong = [line for line in total.unexpected if line not in total.missing]
    missing = list(total.missing)
    if total.never_reached and total.outcome not in CALM:
        missing.append(f"never reached {', '.join(total.never_reached)}")
    return (*wrong, *_convictions_without(case, done)), tuple(missing)


def _convictions_without(case: Case, done: Sequence[Trial]) -> Iterator[str]:
    """Convictions of the design without the mutant.

    One known to break something may be convicted of that, only not by the mutant's judge.
    """
    excused = case.strategy in claims.KNOWN_BREACHES
    for trial in done:
        without = trial.control
        if without is None:
            continue
        if without.crash is not None:
            yield f"seed {without.seed}: the design without the mutant crashed: {without.crash}"
            continue
        convicting = sorted(convicted_by(without))
        if convicting and not (excused and case.judge not in convicting):
            what = "the design is convicted without the mutant too"
            yield f"seed {without.seed}: {what}, by {', '.join(convicting)}"


def _argument(row: RunRow) -> str:
    """A judge's text about the first breach of a run that convicts, or why the run crashed."""
    if row.crash is not None:
        return row.crash
    for place, words in row.arguments.items():
        one = row.violations[place]
        return f"{one.invariant} {one.checker}: {one.summary}\n{words}"
    return "\n".join((*row.missed, *row.stuck))


# --- what fails it -------------------------------------------------------------------------------


def _sorted_out(
    rows: Sequence[ScenarioRow],
    unconvicted: Sequence[Survivor],
    undecided_mutants: Sequence[Survivor],
) -> tuple[list[str], list[str]]:
    """What is wrong, and what is not decided yet."""
    wrong: list[str] = []
    undecided: list[str] = []
    for row in rows:
        if row.kind == "claims" and row.outcome in ("violated", "stuck"):
            continue  # reported, or excused, by the row of the claim
        missing = () if row.complete else row.missing
        wrong += [f"{row.label}: {line}" for line in row.wrong if line not in missing]
        undecided += [f"{row.label}: {line}" for line in missing]
    wrong += [
        f"mutant {one.mutant} survived {counted(one.runs, 'run')}: {_why_unconvicted(one)}"
        for one in unconvicted
        if not one.reason
    ]
    undecided += [
        f"mutant {one.mutant} had {counted(one.runs, 'run')} only, "
        f"and {one.judge} did not convict it"
        for one in undecided_mutants
    ]
    for row in rows:
        reason = None if row.mutant is None else MUTANTS.get(row.mutant).survives
        if reason and row.outcome not in ("ok", "vacuous"):
            wrong.append(f"mutant {row.mutant} is listed as a survivor, yet it is {row.outcome}")
    return wrong, undecided


def _why_unconvicted(one: Survivor) -> str:
    if not one.runs:
        return f"no scenario expects {one.judge} to convict it"
    return f"{one.judge} does not convict it"
