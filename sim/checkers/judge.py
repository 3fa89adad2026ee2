"""The verdict on a history: every checker's anomalies, under what the design claims and assumes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final

from ddlsim.checkers.assumptions import BROKEN_BY, least_setting
from ddlsim.checkers.base import Anomaly, Checker, Severity, Step, in_order, unfit_anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.measures import Measures
from ddlsim.checkers.findings import LATE, Finding, explained_by
from ddlsim.checkers.outcome import Outcome, worst
from ddlsim.garbage import collected_seldom
from ddlsim.graph.verdict import KEPT_OF_A_KIND
from ddlsim.history.events import AnyEvent
from ddlsim.history.history import History
from ddlsim.history.world_events import NeverCompleted, StepMissed
from ddlsim.model.design import LEASES_HOLD, SKEW_BOUNDED, Claim
from ddlsim.model.records import Record

WITHOUT_CLAIM: Final[dict[str, tuple[str, ...]]] = {
    "I3": (LEASES_HOLD,),
    "I4": (SKEW_BOUNDED,),
    "I7": (LEASES_HOLD,),
    "I10": (LEASES_HOLD,),
}
"""What an invariant that a design does not claim is taken to assume, under `--all-claims`."""
FINDING: Final = "finding:"
"""What the status of a violation that a finding explains begins with; the finding follows."""


class Violation(Record, frozen=True, rename={"severity": "class"}):
    """An anomaly, and what it means for this design.

    `status` is `violation`, `stuck`, `out_of_assumption`, `accepted` (never claimed, or seen by the
    strict graph only) or `finding:F-n`; only the first two make the run violated, or stuck.
    `because` says why it is not a violation, where that needs saying.
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
    """The verdict on one history.

    `reached` counts each probe that the scenario requires, `stuck` is what never completed,
    `unjudged` the claimed invariants for which this history lacks events, `omitted` the number of
    anomalies of a kind that are not among the `violations`.
    """

    outcome: Outcome
    violations: tuple[Violation, ...]
    reached: dict[str, int]
    stuck: tuple[NeverCompleted, ...]
    unjudged: tuple[str, ...]
    omitted: dict[str, int]
    measures: Measures = Measures()


def violation_of(checker: Checker, anomaly: Anomaly, status: str, because: str = "") -> Violation:
    """An anomaly that a checker found, with its status."""
    return Violation(
        checker.invariant, checker.name, anomaly.kind, checker.severity, status,
        anomaly.strict_only, anomaly.summary, anomaly.witness, anomaly.steps, anomaly.clauses,
        because,
    )  # fmt: skip


class Claims:
    """What a design claims of one history, under which assumptions, and which of these broke."""

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
        return violation_of(checker, anomaly, *self._status(checker, anomaly))

    def _status(self, checker: Checker, anomaly: Anomaly) -> tuple[str, str]:
        invariant = checker.invariant
        if not self.claimed(checker):
            return "accepted", f"the design does not claim {invariant}"
        if anomaly.strict_only and not self._strict:
            return "accepted", self._strict_alone(checker, anomaly)
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
        finding = self._finding(checker, anomaly)
        if finding is not None:
            return f"{FINDING}{finding}", f"explained by {finding}"
        return "violation", ""

    def _finding(self, checker: Checker, anomaly: Anomaly) -> str | None:
        return explained_by(checker.invariant, anomaly, self._findings, self._skew_ms)

    def _strict_alone(self, checker: Checker, anomaly: Anomaly) -> str:
        """Why what the relaxed graph leaves out is no violation, and which finding it would be."""
        finding = self._finding(checker, anomaly)
        explained = "" if finding is None else f"; explained by {finding}"
        return f"only the strict graph shows it{explained}"

    def _broke(self, assumption: str) -> str | None:
        if assumption not in self._broken:
            self._broken[assumption] = BROKEN_BY[assumption](self.case)
        return self._broken[assumption]


def _is_left_out(claim: Claim, anomaly: Anomaly) -> bool:
    """Whether a claim admits this breach: its kind, or each late use of a version on its cycle."""
    late = [step.edge for step in anomaly.steps if LATE in step.edge]
    return anomaly.kind in claim.less or (bool(late) and all(one in claim.less for one in late))


def judge(
    history: History,
    *,
    strict: bool = False,
    all_claims: bool = False,
    findings: Iterable[Finding] = (),
) -> Verdict:
    """Judge a history by every checker, under what its design claims and assumes."""
    with collected_seldom(), closing(Case(history)) as case:
        return verdict_on(case, strict=strict, all_claims=all_claims, findings=findings)


def verdict_on(
    case: Case, *, strict: bool, all_claims: bool, findings: Iterable[Finding]
) -> Verdict:
    """The verdict on a case, of which more can be asked afterwards."""
    strict = strict or case.header.strict
    claims = Claims(case, strict=strict, all_claims=all_claims, findings=findings)
    violations: list[Violation] = []
    seen: Counter[str] = Counter()
    broken = is_stuck = False
    unjudged: list[str] = []
    for checker in in_order():
        if any(voice not in case.header.voices for voice in checker.voices):
            unjudged += [checker.invariant] if claims.claimed(checker) else []
            continue
        for anomaly in found_by(checker, case):
            violation = claims.violation(checker, anomaly)
            broken = broken or violation.status == "violation"
            is_stuck = is_stuck or violation.status == "stuck"
            kind = f"{violation.checker} {violation.kind} {violation.status}"
            seen[kind] += 1
            if seen[kind] <= KEPT_OF_A_KIND:
                violations.append(violation)
    reached = {probe: reach(case, probe) for probe in case.header.reaches}
    stuck = tuple(event for _, event in case.of(NeverCompleted))
    outcomes = {
        Outcome.VIOLATED: broken,
        Outcome.STUCK: is_stuck or bool(stuck),
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


def found_by(checker: Checker, case: Case) -> Iterator[Anomaly]:
    """The anomalies that a checker finds; raises `TypeError` for anything else that it gives."""
    found = checker.check(case)
    if not isinstance(found, Iterable):
        raise TypeError(f"checker {checker.name!r} gave {found!r:.80}, not anomalies; yield each")
    for anomaly in found:
        told = unfit_anomaly(anomaly)
        if told is not None:
            raise TypeError(f"checker {checker.name!r} gave {told}")
        yield anomaly


def forbidden(case: Case) -> dict[str, int]:
    """The probes that must not be reached and were, and how often."""
    counts = {probe: reach(case, probe) for probe in case.header.never_reaches}
    return {probe: count for probe, count in counts.items() if count}


def reach(case: Case, probe: str) -> int:
    """How often a run met a probe: one of the protocol's, or a kind of event by its name."""
    return case.history.probes[probe] or case.count(probe)
