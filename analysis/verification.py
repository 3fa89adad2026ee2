"""What a run of the regression suite comes to: which mutants were killed by whom and how soon,
which claims held, what was never reached, and what is not as it should be.

Where the time was up before a case had all its seeds, what is merely missing (a conviction, a
probe) is *open* and not yet wrong; for the exit code both count as not as expected.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from analysis import claims
from analysis.claims import ClaimRow
from analysis.kills import MutantRow, Survivor, killing, survivors
from sim.checkers.outcome import Outcome
from sim.model.probes import never_reached
from sim.model.records import Record
from sim.mutants.base import MUTANTS
from sim.world.campaign import RunRow
from sim.world.expectation import Sum, sum_of
from sim.world.suite import BLOCKS, Case, Trial, convicted_by, convicts

CALM: Final = (Outcome.OK, Outcome.VACUOUS)


class ScenarioRow(Record, frozen=True):
    """A scenario under the design that it names: how its runs ended, against what it expects.

    `complete` tells that it had all the seeds that were asked for. `wrong` is what is not as
    expected; `argument` a judge's words on the first run that failed, whose seed is `seed`;
    `under` names the design where it is not the file's own.
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
    under: str = ""

    @property
    def excused(self) -> bool:
        """Whether it only measures a design that is known not to keep all that it claims."""
        return self.kind == "claims" and self.strategy in claims.KNOWN_BREACHES

    @property
    def undecided(self) -> bool:
        """Whether more seeds might still bring what is missing."""
        return not self.complete and (not self.runs or self.outcome in ("ok", "vacuous"))


class Verification(Record, frozen=True):
    """The whole result; `unexpected` says in words what fails it, `open` what was not decided.

    `seeds` are those that each case was to have, None where time alone was the bound (`bounded`);
    `least_run` and `most_run` are what cases with dice and without a conviction did get.
    """

    cases: int
    runs: int
    seeds: int | None
    least_run: int
    most_run: int
    bounded: bool
    mutants: tuple[MutantRow, ...]
    survivors: tuple[Survivor, ...]
    scenarios: tuple[ScenarioRow, ...]
    claims: tuple[ClaimRow, ...]
    not_run: tuple[str, ...]
    never_reached: tuple[str, ...]
    unexpected: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        """Whether everything was run and is as it should be."""
        return not self.unexpected and not self.open

    @property
    def killed(self) -> int:
        """How many mutants were killed."""
        return len({row.mutant for row in self.mutants if row.killed})

    @property
    def score(self) -> float | None:
        """The share of killed mutants; None where none was asked for."""
        judged = self.killed + len(self.survivors)
        return self.killed / judged if judged else None

    def undecided(self, mutant: str) -> bool:
        """Whether the time was up before a mutant had all its seeds."""
        return any(row.undecided for row in self.scenarios if row.mutant == mutant)

    @property
    def vacuous(self) -> tuple[ScenarioRow, ...]:
        """The scenarios that never reached what they must."""
        return tuple(row for row in self.scenarios if row.runs and row.never_reached)


def verification(
    cases: Sequence[Case],
    trials: Sequence[Sequence[Trial]],
    seeds: Sequence[int],
    *,
    every_mutant: bool,
    bounded: bool = False,
) -> Verification:
    """What the trials of each case come to.

    `every_mutant` asks for a conviction of every known mutant, not only of those in these cases.
    `bounded` tells that time alone bounds the run: more seeds could always bring what is missing.
    """
    pairs = list(zip(cases, trials, strict=True))
    mutants = tuple(killing(case, done) for case, done in pairs if case.kind == "mutant")
    rows = tuple(_scenario(case, done, seeds) for case, done in pairs)
    found = tuple(claims.rows_of(pairs))
    silent = tuple(survivors(pairs, mutants, every_mutant=every_mutant))
    not_run = tuple(_label(case) for case, done in pairs if not done)
    unexpected, undecided = _sorted_out(rows, silent, pairs)
    dealt = [row.runs for row, case in zip(rows, cases, strict=True) if _has_dice(case)] or [0]
    return Verification(
        cases=len(cases),
        runs=sum(1 + (one.control is not None) for _, done in pairs for one in done),
        seeds=None if bounded else len(seeds),
        least_run=min(dealt),
        most_run=max(dealt),
        bounded=bounded,
        mutants=mutants,
        survivors=silent,
        scenarios=rows,
        claims=found,
        not_run=not_run,
        never_reached=never_reached(_met(pairs)),
        unexpected=(*unexpected, *claims.wrong(found)),
        open=(*undecided, *(f"{label}: not run, the time was up" for label in not_run)),
    )


def _has_dice(case: Case) -> bool:
    return not case.scripted and case.kind != "mutant"


def _label(case: Case) -> str:
    return f"{case.name} under {case.under}" if case.under else case.name


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


def _scenario(case: Case, done: Sequence[Trial], seeds: Sequence[int]) -> ScenarioRow:
    total = sum_of([trial.row for trial in done], reaches=case.reaches, expect=_due(case))
    first = total.first_failed or (total.runs[0] if done else None)
    rested = sum(convicts(case, trial) for trial in done) >= BLOCKS
    wanted = min(1, len(seeds)) if case.scripted else len(seeds)
    return ScenarioRow(
        scenario=case.name,
        kind=case.kind,
        strategy=case.strategy,
        mutant=case.mutant,
        outcome=total.outcome.word,
        expected=_due(case),
        runs=len(done),
        complete=len(done) >= wanted or rested,
        wrong=tuple(_wrong(case, total, done)) if done else (),
        never_reached=total.never_reached,
        seed=0 if first is None else first.seed,
        argument="" if first is None else _argument(first),
        loads=case.job.loads,
        under=case.under,
    )


def _due(case: Case) -> str | dict[str, object]:
    return "ok" if case.kind == "claims" else case.expect


def _wrong(case: Case, total: Sum, done: Sequence[Trial]) -> Iterator[str]:
    """What is not as the scenario expects, what it never reached, and guilt without the mutant.

    A design known to break something may be convicted of that, only not by the mutant's judge.
    """
    excused = case.strategy in claims.KNOWN_BREACHES
    yield from total.unexpected
    if total.never_reached and total.outcome not in CALM:
        yield f"never reached {', '.join(total.never_reached)}"
    for trial in done:
        without = trial.control
        if without is None:
            continue
        if without.crash is not None:
            yield f"seed {without.seed}: the design without the mutant crashed: {without.crash}"
            continue
        guilty = sorted(convicted_by(without))
        if guilty and not (excused and case.judge not in guilty):
            what = "the design is convicted without the mutant too"
            yield f"seed {without.seed}: {what}, by {', '.join(guilty)}"


def _argument(row: RunRow) -> str:
    """A judge's words on the first grave breach of a run, or what made the run crash."""
    if row.crash is not None:
        return row.crash
    for place, words in row.arguments.items():
        one = row.violations[place]
        return f"{one.invariant} {one.checker}: {one.summary}\n{words}"
    return "\n".join((*row.missed, *row.stuck))


# --- what fails it -------------------------------------------------------------------------------


def _sorted_out(
    rows: Sequence[ScenarioRow],
    silent: Sequence[Survivor],
    pairs: Sequence[tuple[Case, Sequence[Trial]]],
) -> tuple[list[str], list[str]]:
    """What is wrong, and what is only not decided yet."""
    wrong: list[str] = []
    undecided: list[str] = []
    short = {row.mutant for row in rows if row.undecided}
    for row, (case, _) in zip(rows, pairs, strict=True):
        if case.kind == "claims" and row.outcome in ("violated", "stuck"):
            continue  # the row of the claim tells it, or excuses it
        to = undecided if row.undecided else wrong
        to += [f"{_label(case)}: {line}" for line in row.wrong]
    for one in silent:
        if not one.reason:
            to = undecided if one.mutant in short else wrong
            to.append(f"mutant {one.mutant} survived {one.runs} runs: {_silent(one)}")
    for row in rows:
        reason = None if row.mutant is None else MUTANTS.get(row.mutant).survives
        if reason and row.outcome not in ("ok", "vacuous"):
            wrong.append(f"mutant {row.mutant} is listed as a survivor, yet it is {row.outcome}")
    return wrong, undecided


def _silent(one: Survivor) -> str:
    if not one.runs:
        return f"no scenario expects {one.judge} to convict it"
    return f"{one.judge} does not convict it"
