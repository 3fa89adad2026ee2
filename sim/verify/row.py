"""A judged run as a row of results: what was run, how it ended, what was found, and its figures."""

from collections.abc import Iterator
from contextlib import closing

from msgspec import field, structs

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.measures import Measures
from ddlsim.checkers.explain import cycle, timeline
from ddlsim.checkers.findings import Finding, Signature, signature
from ddlsim.checkers.judge import Verdict, Violation, forbidden, verdict_on
from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.progress.stuck import waiting
from ddlsim.garbage import collected_seldom
from ddlsim.history.figures import Buckets, Figures, Samples, bucketed, figures, samples
from ddlsim.history.history import History
from ddlsim.history.world_events import NothingMatched, StepMissed
from ddlsim.model.records import Record
from ddlsim.verify.prices import Prices


class RunRow(Record, frozen=True):
    """One run: what was run, how it ended, what was found, and its figures.

    `reached` counts every probe, those that the scenario asks for in any case. `arguments` are
    texts about violations by their indices: the first of each structure. `missed` are scripted
    steps that did not end as expected and probes that must not be reached, `stuck` operations that
    never ended and what was still open when the run ended too soon to judge that, `unmatched`
    holds, pauses and faults without effect, and clients that invoked nothing before the end of the
    load. A crashed run has a `crash` and neither fingerprint nor figures; `origin` is its
    traceback, for developers. `prices` are there only where the job asks for them.
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
    prices: Prices | None = None
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


def row_of(
    history: History,
    *,
    strict: bool,
    all_claims: bool,
    known: tuple[Finding, ...],
) -> RunRow:
    """Judge a history; its row."""
    with collected_seldom(), closing(Case(history)) as case:
        return _row_of(case, strict=strict, all_claims=all_claims, known=known)


def _row_of(case: Case, *, strict: bool, all_claims: bool, known: tuple[Finding, ...]) -> RunRow:
    history = case.history
    verdict = verdict_on(case, strict=strict, all_claims=all_claims, findings=known)
    taken = samples(history)
    measured = figures(history, taken)
    arguments: dict[int, str] = {}
    seen: dict[Structure, None] = {}
    for place, violation in enumerate(verdict.violations):
        if structure(violation) not in seen:
            seen[structure(violation)] = None
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
        missed=(*_missed(case), *_forbidden(case)),
        unmatched=tuple(_unmatched(case)),
        stuck=_stuck(case, verdict),
        unjudged=verdict.unjudged,
        figures=with_measures(measured, verdict.measures),
        pools=pools_of(taken),
    )


def _stuck(case: Case, verdict: Verdict) -> tuple[str, ...]:
    """What never completed, and what else makes the run stuck, each once."""
    lines = [waiting(case, event) for event in verdict.stuck]
    lines += [one.summary for one in verdict.violations if one.status == "stuck"]
    return tuple(dict.fromkeys(lines))


def pools_of(taken: Samples) -> dict[str, Buckets]:
    """The durations of a run by the figure that they are of."""
    return {
        "ddl_latency_ms": bucketed(taken.ddl_us),
        "ddl_noop_latency_ms": bucketed(taken.ddl_noop_us),
        "dml_latency_ms": bucketed(taken.dml_us),
        "schema_wait_ms": bucketed(taken.wait_us),
    }


def _unmatched(case: Case) -> Iterator[str]:
    yield from (event.what for _, event in case.of(NothingMatched))
    if not case.count("Invoked"):
        yield "the load (no transaction and no DDL was begun before its end)"


def _missed(case: Case) -> Iterator[str]:
    for _, one in case.of(StepMissed):
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
    """The steps that show a violation: around its cycle, or through its events."""
    if violation.steps:
        return cycle(case, violation.steps, violation.witness)
    return timeline(case, violation.witness)
