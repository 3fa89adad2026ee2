"""What a judge is, what it finds, and how its findings become a verdict.

A *checker* looks at one history and yields *anomalies*: what happened that its invariant forbids.
Whether an anomaly is a *violation* depends on what the design claims and on what it assumes for it
(`judge`). No checker runs any code of the design it judges: their reading of IEP-110 is a second,
independent one (`spec`, `rows`), and all they know of a run is what its history says.
"""

import gc
from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, Protocol

from ddlsim.checkers.assumptions import BROKEN_BY, least_setting
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.measures import Measures
from ddlsim.checkers.findings import LATE, Finding, explained_by
from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.graph.verdict import KEPT_OF_A_KIND
from ddlsim.history.events import AnyEvent
from ddlsim.history.history import History
from ddlsim.history.world_events import NeverCompleted, StepMissed
from ddlsim.model.design import LEASES_HOLD, SKEW_BOUNDED, Claim
from ddlsim.model.records import Record
from ddlsim.registry import Registry

Severity = Literal["safety", "session", "liveness", "quality"]


class Step(Record, frozen=True, rename={"source": "from", "target": "to"}):
    """One edge of a cycle: `source` < `target`, and why.

    `kind` is what the source is (`T`, or `D(column-added)`) and `edge` what joins the two: what a
    finding is recognised by.
    """

    source: str
    target: str
    kind: str
    edge: str
    because: str


class Anomaly(Record, frozen=True):
    """Something that an invariant forbids, with the events that show it.

    `stuck` marks what makes the run stuck rather than violated. `strict_only` marks what only the
    strict graph shows, `assumes` what the argument itself rests on besides the claim's assumptions,
    `clauses` the rules that were broken, `back_ms` for each step of a cycle by how much it leads
    back in the order of timestamps, None where it does not.
    """

    kind: str
    summary: str
    witness: tuple[AnyEvent, ...] = ()
    steps: tuple[Step, ...] = ()
    strict_only: bool = False
    assumes: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    stuck: bool = False
    back_ms: tuple[int | None, ...] = ()


class Checker(Protocol):
    """One invariant of the protocol, and how to see that it is broken.

    `severity` is the invariant's class; `voices` are the voices of the history that it needs.
    """

    name: str
    invariant: str
    severity: Severity
    summary: str
    voices: tuple[str, ...]

    def check(self, case: Case) -> Iterable[Anomaly]:
        """Everything in this history that the invariant forbids, in a repeatable order."""


CHECKERS: Final[Registry[Checker]] = Registry("checker", "ddlsim.checkers")
"""Every checker by its name."""

WITNESS: Final[tuple[str, ...]] = ("witness",)
BOTH_VOICES: Final[tuple[str, ...]] = ("client", "witness")

WITHOUT_CLAIM: Final[dict[str, tuple[str, ...]]] = {
    "I3": (LEASES_HOLD,),
    "I4": (SKEW_BOUNDED,),
    "I7": (LEASES_HOLD,),
    "I10": (LEASES_HOLD,),
}
"""What an invariant that a design does not claim is taken to assume, under `--all-claims`."""
COLLECT_AFTER: Final = 50_000
"""How many new objects make the collector look while a history is judged."""


class Violation(Record, frozen=True, rename={"severity": "class"}):
    """An anomaly, and what it means for this design.

    `status` is `violation`, `stuck`, `out_of_assumption`, `accepted` (never claimed, or seen by the
    strict graph only) or `finding:F-n`; only the first makes the run violated. `because` says why
    it is not a violation, where that needs saying.
    """

    invariant: str
    checker: str
    kind: str
    severity: Severity
    status: str
    strict_only: bool
    summary: str
    witness: tuple[AnyEvent, ...] = ()
    steps: tuple[Step, ...] = ()
    clauses: tuple[str, ...] = ()
    because: str = ""


class Verdict(Record, frozen=True):
    """What the judges say of one history.

    `reached` tells how often each probe was met that the scenario says must be, `stuck` what never
    completed, `unjudged` the claimed invariants that this history has not the voice for, `omitted`
    how many anomalies of a kind are not among the `violations`.
    """

    outcome: Outcome
    violations: tuple[Violation, ...]
    reached: dict[str, int]
    stuck: tuple[NeverCompleted, ...]
    unjudged: tuple[str, ...]
    omitted: dict[str, int]
    measures: Measures = Measures()


class Bench:
    """What one history's judgement rests on: the design's claims, and what the run broke."""

    def __init__(
        self, case: Case, *, strict: bool, all_claims: bool, findings: Iterable[Finding]
    ) -> None:
        self.case = case
        self._claims = {claim.invariant: claim for claim in case.header.design.claims}
        self._strict = strict
        self._all_claims = all_claims or case.header.all_claims
        design = case.header.design
        self._findings = tuple(one for one in findings if one.concerns(design))
        self._skew_ms = least_setting(case, "max_clock_skew_ms")
        self._broken: dict[str, str | None] = {}

    def claimed(self, checker: Checker) -> bool:
        """Whether a breach of this invariant counts at all."""
        return self._all_claims or checker.invariant in self._claims

    def violation(self, checker: Checker, anomaly: Anomaly) -> Violation:
        """An anomaly with its status."""
        status, because = self._status(checker, anomaly)
        return Violation(
            checker.invariant,
            checker.name,
            anomaly.kind,
            checker.severity,
            status,
            anomaly.strict_only,
            anomaly.summary,
            anomaly.witness,
            anomaly.steps,
            anomaly.clauses,
            because,
        )

    def _status(self, checker: Checker, anomaly: Anomaly) -> tuple[str, str]:
        invariant = checker.invariant
        if not self.claimed(checker):
            return "accepted", f"the design does not claim {invariant}"
        if anomaly.strict_only and not self._strict:
            return "accepted", "only the strict graph shows it"
        claim = self._claims.get(invariant, Claim(invariant, WITHOUT_CLAIM.get(invariant, ())))
        if _is_left_out(claim, anomaly) and not self._all_claims:
            return "accepted", f"the design's claim of {invariant} leaves this out"
        concerned = not claim.concerning or anomaly.kind in claim.concerning
        assumed = claim.assumes if concerned else ()
        for assumption in dict.fromkeys((*assumed, *anomaly.assumes)):
            broken = self._broke(assumption)
            if broken is not None:
                return "out_of_assumption", f"{assumption} is assumed, but {broken}"
        if anomaly.stuck:
            return "stuck", "it makes the run stuck, whatever is claimed"
        finding = explained_by(invariant, anomaly, self._findings, self._skew_ms)
        if finding is not None:
            return f"finding:{finding}", f"explained by {finding}"
        return "violation", ""

    def _broke(self, assumption: str) -> str | None:
        if assumption not in self._broken:
            self._broken[assumption] = BROKEN_BY[assumption](self.case)
        return self._broken[assumption]


def _is_left_out(claim: Claim, anomaly: Anomaly) -> bool:
    """Whether a claim admits this breach: its kind, or each late use of a version on its cycle."""
    late = [step.edge for step in anomaly.steps if LATE in step.edge]
    return anomaly.kind in claim.less or (bool(late) and all(one in claim.less for one in late))


def in_order() -> list[Checker]:
    """Every checker, in the order of the invariants."""
    return sorted(
        (checker for _, checker in CHECKERS.items()),
        key=lambda checker: (int(checker.invariant.removeprefix("I")), checker.name),
    )


def judge(
    history: History,
    *,
    strict: bool = False,
    all_claims: bool = False,
    findings: Iterable[Finding] = (),
) -> Verdict:
    """Judge a history by every checker, under what its design claims and assumes.

    The collector looks less often meanwhile: what judges gather is no garbage.
    """
    case = Case(history)
    bench = Bench(
        case, strict=strict or history.header.strict, all_claims=all_claims, findings=findings
    )
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        return _judged(case, bench)
    finally:
        gc.set_threshold(*before)


def _judged(case: Case, bench: Bench) -> Verdict:
    violations: list[Violation] = []
    seen: Counter[str] = Counter()
    broken = False
    unjudged: list[str] = []
    for checker in in_order():
        if any(voice not in case.header.voices for voice in checker.voices):
            unjudged += [checker.invariant] if bench.claimed(checker) else []
            continue
        for anomaly in checker.check(case):
            violation = bench.violation(checker, anomaly)
            broken = broken or violation.status == "violation"
            kind = f"{violation.checker} {violation.kind} {violation.status}"
            seen[kind] += 1
            if seen[kind] <= KEPT_OF_A_KIND:
                violations.append(violation)
    reached = {probe: reach(case, probe) for probe in case.header.reaches}
    stuck = tuple(event for _, event in case.of(NeverCompleted))
    outcomes = {
        Outcome.VIOLATED: broken,
        Outcome.STUCK: bool(stuck),
        Outcome.UNMET: bool(case.of(StepMissed)) or bool(forbidden(case)),
        Outcome.UNKNOWN: bool(unjudged),
        Outcome.VACUOUS: any(not count for count in reached.values()),
    }
    return Verdict(
        worst(outcome for outcome, holds in outcomes.items() if holds),
        tuple(violations),
        reached,
        stuck,
        tuple(unjudged),
        {kind: count - KEPT_OF_A_KIND for kind, count in seen.items() if count > KEPT_OF_A_KIND},
        case.measures,
    )


def forbidden(case: Case) -> dict[str, int]:
    """The probes that must not be reached and were, and how often."""
    counts = {probe: reach(case, probe) for probe in case.header.never_reaches}
    return {probe: count for probe, count in counts.items() if count}


def reach(case: Case, probe: str) -> int:
    """How often a run met a probe: one of the protocol's, or a kind of event by its name."""
    return case.history.probes[probe] or case.count(probe)
