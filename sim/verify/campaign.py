"""One seed to a row of results: planned, run, judged, and flat enough for a table.

The same job and seed give the same row in any process.
"""

import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import field, structs

from ddlsim.checkers.base import (
    Anomaly,
    Violation,
    forbidden,
    judge,
)
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.measures import Measures
from ddlsim.checkers.explain import cycle, timeline
from ddlsim.checkers.findings import (
    Finding,
    Signature,
    signature,
)
from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.stuck import waiting
from ddlsim.cluster.designs import BadDesignError
from ddlsim.cluster.run import run, run_to
from ddlsim.execute.isolation import (
    Acts,
    Limits,
    Loss,
    isolated,
)
from ddlsim.execute.parallel import ALONE_S, Executor
from ddlsim.files import (
    PARTIAL,
    WriteError,
    write_text,
)
from ddlsim.history import codec
from ddlsim.history.figures import (
    Buckets,
    Figures,
    bucketed,
    figures,
    samples,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import NothingMatched, StepMissed
from ddlsim.model.records import Record
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.registry import UnknownPluginError, load_file
from ddlsim.scenario import findings
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import Scenario, read

BAD_INPUT: Final = (ScenarioError, BadDesignError, UnknownPluginError)
"""What is wrong with what was asked for, as against what went wrong in a run."""


class Job(Record, frozen=True):
    """What all seeds of a campaign have in common; enough for another process to run them.

    `keep` is a directory that takes the histories of the seed `first` and of every run that failed.
    With `stream` every history is written there while its run goes on, and read back to be judged,
    or, with `unjudged`, left as it is.
    With `swarm` each seed draws a scenario of its own, around the one here or, where that has no
    name, around nothing; its text is kept beside its history. `outside` changes no run: the command
    that repeats one must allow it.
    """

    name: str
    text: str
    overrides: dict[str, Any]
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False
    trace: bool = False
    keep: str | None = None
    first: int = 0
    swarm: bool = False
    limits: Limits = field(default_factory=Limits)
    stream: bool = False
    unjudged: bool = False
    outside: bool = False


class RunRow(Record, frozen=True):
    """One run: what was run, how it ended, what was found, and its figures.

    `reached` counts every probe, those that the scenario asks for in any case. `arguments` tells
    violations in words, by their places: the first of each structure. `missed` are scripted steps
    that did not end as expected and probes that must not be reached, `stuck` operations that never
    ended, `unmatched` holds, pauses and faults that met nothing. A crashed run has a `crash`
    and neither fingerprint nor figures; `origin` is where it came from, for developers.
    """

    scenario: str
    strategy: str
    mutant: str | None
    seed: int
    outcome: Outcome
    fingerprint: str | None = None
    reached: dict[str, int] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    omitted: dict[str, int] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    figures: Figures | None = None
    pools: dict[str, Buckets] = field(default_factory=dict)
    crash: str | None = None
    origin: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the run is worth looking at by itself."""
        return self.outcome not in (Outcome.OK, Outcome.VACUOUS) or bool(self.missed)


Structure = tuple[str, str, Signature]
"""What makes violations the same but for names and times."""


def structure(violation: Violation) -> Structure:
    """Status, invariant and signature of a violation."""
    anomaly = Anomaly(violation.kind, "", steps=violation.steps, clauses=violation.clauses)
    return (violation.status, violation.invariant, signature(anomaly))


class Runner:
    """Runs the seeds of one job in this process."""

    def __init__(self, job: Job) -> None:
        for file in job.loads:
            load_file(file)
        self.job = job
        self.scenario = None if job.swarm else read(job.text, job.name, overrides=job.overrides)
        self._findings = findings.known()

    def row(self, seed: int) -> RunRow:
        """Plan, run and judge one seed."""
        job = self.job
        scenario = self.scenario or swarm.scenario(swarm_source(job), seed)
        history: History | None = None
        try:
            planned = plan(scenario, seed, trace=job.trace)
            if job.stream:
                row = self._streamed(planned)
            else:
                history = run(planned)
                row = self.judged(history)
        except (*BAD_INPUT, WriteError):
            raise
        except Exception as error:
            self._keep_text(scenario, seed)
            return _crashed(scenario, seed, error)
        if job.keep is not None and (seed == job.first or row.failed):
            if history is not None:
                codec.save(history, Path(job.keep, history_name(seed)))
            self._keep_text(scenario, seed)
        return row

    def _streamed(self, planned: Plan) -> RunRow:
        """The row of a run whose events go to its file and not to memory."""
        assert self.job.keep is not None, "a stream needs a directory"
        path = Path(self.job.keep, history_name(planned.seed))
        history = run_to(planned, path)
        if not self.job.unjudged:
            return self.judged(codec.load(path))
        return RunRow(
            scenario=planned.scenario,
            strategy=history.header.design.name,
            mutant=planned.mutant,
            seed=planned.seed,
            outcome=Outcome.UNKNOWN,
            reached=dict(sorted(history.probes.items())),
            unjudged=("the run, which is left to `ddlsim check`,",),
        )

    def rows(self, seeds: Sequence[int]) -> list[RunRow]:
        """The rows of some seeds; where runs have budgets, each in a process that can be ended."""
        if self.job.limits == Limits():
            return [self.row(seed) for seed in seeds]
        acts = Acts(self.row, self.lost, lambda row: row.crash or "")
        return isolated(seeds, self.job.limits, acts)

    def lost(self, seed: int, loss: Loss, why: str) -> RunRow:
        """The row of a run that has taken more than it may, or whose process has died."""
        scenario = self.scenario or swarm.scenario(swarm_source(self.job), seed)
        if self.job.stream and self.job.keep is not None:
            for begun in Path(self.job.keep).glob(f"{history_name(seed)}.*{PARTIAL}"):
                begun.unlink(missing_ok=True)
        return RunRow(
            scenario=scenario.name,
            strategy=scenario.strategy,
            mutant=scenario.mutant,
            seed=seed,
            outcome=Outcome.CRASHED if loss == "died" else Outcome.UNKNOWN,
            unjudged=() if loss == "died" else (f"the run, which {why},",),
            crash=why if loss == "died" else None,
        )

    def _keep_text(self, scenario: Scenario, seed: int) -> None:
        """The text of a scenario that was drawn, so that it can be run as an ordinary one."""
        if self.job.keep is not None and self.job.swarm:
            write_text(Path(self.job.keep, scenario_name(seed)), scenario.text)

    def judged(self, history: History) -> RunRow:
        """The row of a history."""
        return row_of(
            history,
            strict=self.job.strict,
            all_claims=self.job.all_claims,
            known=self._findings,
        )


# --- many seeds ----------------------------------------------------------------------------------

CHUNK_MOST: Final = 8
CHUNKS_EACH: Final = 8
"""Each process has about so many chunks of seeds, of `CHUNK_MOST` at most."""


def run_seeds(
    job: Job,
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    watch: Callable[[RunRow], object] = lambda row: None,
    alone_s: float = ALONE_S,
) -> list[RunRow]:
    """The row of every seed, in order; a seed that no process survives has a crashed row.

    `watch` has each row as it comes in.
    """
    lost = partial(_killer, job)
    with Executor(partial(_rows_of, job), lost, processes=jobs, alone_s=alone_s) as executor:
        size = min(max(len(seeds) // (executor.processes * CHUNKS_EACH), 1), CHUNK_MOST)
        return executor.run(seeds, lambda seed, row: watch(row), batch=size)


def _rows_of(job: Job) -> Callable[[Sequence[int]], list[RunRow]]:
    return Runner(job).rows


def _killer(job: Job, seed: int, how: str) -> RunRow:
    return Runner(job).lost(seed, "died", how)


# --- rows ----------------------------------------------------------------------------------------


def swarm_source(job: Job) -> swarm.Source:
    """What the scenarios of a job are drawn around."""
    return swarm.Source(job.name or None, job.text, job.overrides)


def history_name(seed: int) -> str:
    """The file that holds the history of a seed."""
    return f"seed-{seed}.jsonl"


def scenario_name(seed: int) -> str:
    """The file that holds the scenario that a seed has drawn."""
    return f"seed-{seed}.toml"


def row_of(
    history: History,
    *,
    strict: bool,
    all_claims: bool,
    known: tuple[Finding, ...],
) -> RunRow:
    """Judge a history; its row."""
    verdict = judge(history, strict=strict, all_claims=all_claims, findings=known)
    taken = samples(history)
    case = Case(history)
    arguments: dict[int, str] = {}
    told: dict[Structure, None] = {}
    for place, violation in enumerate(verdict.violations):
        if structure(violation) not in told:
            told[structure(violation)] = None
            arguments[place] = "\n".join(_steps(case, violation))
    return RunRow(
        scenario=history.header.scenario,
        strategy=history.header.design.name,
        mutant=history.header.mutant,
        seed=history.header.seed,
        outcome=verdict.outcome,
        fingerprint=history.fingerprint(),
        reached=verdict.reached | dict(sorted(history.probes.items())),
        violations=verdict.violations,
        omitted=verdict.omitted,
        arguments=arguments,
        missed=(*_missed(history), *_forbidden(case)),
        unmatched=tuple(event.what for event in history.of(NothingMatched)),
        stuck=tuple(waiting(case, event) for event in verdict.stuck),
        unjudged=verdict.unjudged,
        figures=with_measures(figures(history), verdict.measures),
        pools={
            "ddl_latency_ms": bucketed(taken.ddl_us),
            "ddl_noop_latency_ms": bucketed(taken.ddl_noop_us),
            "dml_latency_ms": bucketed(taken.dml_us),
            "schema_wait_ms": bucketed(taken.wait_us),
        },
    )


def _missed(history: History) -> Iterator[str]:
    for one in history.of(StepMissed):
        yield f"step {one.step} (line {one.line}): expected {one.expected}, got {one.got}"


def _forbidden(case: Case) -> Iterator[str]:
    for probe, times in forbidden(case).items():
        often = "once" if times == 1 else f"{times:,} times"
        yield f"{probe} must never be reached, but was {often}"


def with_measures(taken: Figures, measures: Measures) -> Figures:
    """The figures of a run with what its judges measured."""
    return structs.replace(
        taken,
        after_heal_ms=measures.after_heal_ms,
        blocked_behind=measures.blocked_behind,
        needless_aborts=measures.needless_aborts,
    )


def _steps(case: Case, violation: Violation) -> Iterator[str]:
    """What shows a violation, step by step: around its cycle, or through its events."""
    if violation.steps:
        return cycle(case, violation.steps, violation.witness)
    return timeline(case, violation.witness)


def _crashed(scenario: Scenario, seed: int, error: Exception) -> RunRow:
    what = str(error).partition("\n")[0]
    return RunRow(
        scenario=scenario.name,
        strategy=scenario.strategy,
        mutant=scenario.mutant,
        seed=seed,
        outcome=Outcome.CRASHED,
        crash=f"{type(error).__name__}: {what}",
        origin="".join(traceback.format_exception(error)),
    )
