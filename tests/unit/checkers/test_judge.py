"""From anomalies to a verdict: claims, assumptions, findings, probes, and the words for it."""

from typing import Any

import pytest

from ddlsim.checkers.base import Anomaly, Step, in_order
from ddlsim.checkers.findings import Finding, signature
from ddlsim.checkers.judge import Verdict, _is_left_out, judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.graph.verdict import KEPT_OF_A_KIND
from ddlsim.history.world_events import NeverCompleted
from ddlsim.model import ddl
from ddlsim.model.design import DELAY_BOUNDED, SKEW_BOUNDED, Claim
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies

INCOMPATIBLE = ddl.ColumnDropped(Column(1, "v", INT))


def broken_i8(**more: Any) -> Story:
    story = Story(**more)
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, INCOMPATIBLE, tu=20)
    story.commit("T", 40)
    return story


def ran_after_ack(*, skew_ms: float = 0, claims: tuple[str, ...] = ("I3",), **more: Any) -> Story:
    """C15: a cycle that needs the real time after D, and a breach of I4."""
    story = Story(claims, settings={"": {"max_clock_skew_ms": 10}, "n1": {}}, **more)
    t = story.table()
    story.clock("n2", skew_ms)
    story.ddl("D", t, INCOMPATIBLE, tu=20, ack=25)
    op = story.write("T", t, "x", 30)
    story.resolve("T", t, 15, 1, at=30, op=op)
    story.commit("T", 31, commit_ts=16)
    return story


def statuses(verdict: Verdict) -> dict[str, str]:
    return {violation.invariant: violation.status for violation in verdict.violations}


def test_a_claim_broken_under_its_assumptions_is_a_violation() -> None:
    verdict = judge(broken_i8(claims=("I8",)).history())
    assert verdict.outcome is Outcome.VIOLATED
    assert statuses(verdict) == {"I2": "accepted", "I8": "violation"}


def test_what_was_never_claimed_is_accepted_unless_all_claims_are_judged() -> None:
    story = broken_i8(claims=("I1",))
    assert judge(story.history()).outcome is Outcome.OK
    verdict = judge(story.history(), all_claims=True)
    assert verdict.outcome is Outcome.VIOLATED
    assert statuses(verdict) == {"I2": "violation", "I8": "violation"}


LOOKED_LATE = "rw-schema[metadata, late]"


@pytest.mark.parametrize(
    ("edges", "less", "left_out"),
    [
        (("rt", LOOKED_LATE), (LOOKED_LATE,), True),
        ((LOOKED_LATE, "wr-row", LOOKED_LATE), (LOOKED_LATE,), True),
        (("rw-schema[compatible, late]", LOOKED_LATE), (LOOKED_LATE,), False),
        (("rt", "rw-schema[metadata]"), (LOOKED_LATE,), False),
        (("rt", "wr-row"), (LOOKED_LATE,), False),
        (("rt", "wr-row"), ("cycle",), True),
        ((), (LOOKED_LATE,), False),
    ],
)
def test_a_claim_leaves_out_kinds_and_cycles_by_their_late_edges(
    edges: tuple[str, ...], less: tuple[str, ...], *, left_out: bool
) -> None:
    """All of them: one late use of another kind is what the design promises against."""
    steps = tuple(Step("T1", "T2", "T", edge, "") for edge in edges)
    anomaly = Anomaly("cycle", "a cycle", (), steps=steps)
    assert _is_left_out(Claim("I3", less=less), anomaly) is left_out


@pytest.mark.parametrize(("skew_ms", "status"), [(10, "violation"), (10.001, "out_of_assumption")])
def test_a_cycle_through_the_real_time_of_a_ddl_assumes_bounded_skew(
    skew_ms: float, status: str
) -> None:
    """The bound itself is still within it."""
    verdict = judge(ran_after_ack(skew_ms=skew_ms).history())
    assert statuses(verdict)["I3"] == status
    assert (verdict.outcome is Outcome.VIOLATED) == (status == "violation")


def test_an_assumption_of_the_claim_excuses_it_too() -> None:
    story = ran_after_ack(skew_ms=11, claims=("I4",), assumes={"I4": (SKEW_BOUNDED,)})
    [violation] = [v for v in judge(story.history()).violations if v.invariant == "I4"][:1]
    assert violation.status == "out_of_assumption"
    assert "11 ms apart, more than CSmax = 10 ms" in violation.because


def test_i4_without_a_claim_is_taken_to_assume_bounded_skew() -> None:
    verdict = judge(ran_after_ack(skew_ms=11, claims=()).history(), all_claims=True)
    assert statuses(verdict)["I4"] == "out_of_assumption"


def test_bounded_delay_is_broken_by_an_update_that_came_after_its_activation() -> None:
    late = broken_i8(claims=("I8",), assumes={"I8": (DELAY_BOUNDED,)})
    late.applied("n3", 21, 2, 20)
    assert statuses(judge(late.history()))["I8"] == "out_of_assumption"
    timely = broken_i8(claims=("I8",), assumes={"I8": (DELAY_BOUNDED,)})
    timely.applied("n3", 19, 2, 20)
    timely.applied("n3", 30, 2, 20)
    assert statuses(judge(timely.history()))["I8"] == "violation"


def strict_only() -> Story:
    story = Story(("I3",))
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, add_column(2, "w"), tu=20)
    story.write("T", t, "y", 30, version=2)
    story.commit("T", 40)
    return story


def test_what_only_the_strict_graph_shows_counts_only_if_asked_for() -> None:
    verdict = judge(strict_only().history())
    [violation] = [v for v in verdict.violations if v.invariant == "I3"]
    assert (violation.status, violation.strict_only) == ("accepted", True)
    assert verdict.outcome is Outcome.OK
    assert judge(strict_only().history(), strict=True).outcome is Outcome.VIOLATED


def test_an_accepted_cycle_says_which_finding_it_is() -> None:
    known = Finding("F-2", "I3", ("D(*)", "**", "T", "rw-schema[compatible]!"))
    other = Finding("F-0", "I3", ("D(*)", "**", "T", "rw-schema[metadata]!"))

    def because(*findings: Finding) -> str:
        verdict = judge(strict_only().history(), findings=findings)
        [violation] = [v for v in verdict.violations if v.invariant == "I3"]
        assert violation.status == "accepted"
        return violation.because

    assert because() == because(other) == "only the strict graph shows it"
    assert because(other, known) == "only the strict graph shows it; explained by F-2"


def test_a_known_finding_explains_what_has_its_structure() -> None:
    story = broken_i8(claims=("I8",))
    [anomaly] = anomalies("forward_compatible", story)
    known = Finding("F-1", "I8", signature(anomaly))
    verdict = judge(story.history(), findings=[Finding("F-0", "I8", ("else",)), known])
    assert statuses(verdict)["I8"] == "finding:F-1"
    assert verdict.outcome is Outcome.OK
    other = judge(story.history(), findings=[Finding("F-1", "I3", signature(anomaly))])
    assert other.outcome is Outcome.VIOLATED


def test_what_never_completed_makes_a_run_stuck_but_no_better_than_violated() -> None:
    story = Story(("I8",))
    story.add(9, NeverCompleted, "c", "op1", "the lock of T")
    verdict = judge(story.history())
    assert verdict.outcome is Outcome.STUCK
    assert [event.waits_for for event in verdict.stuck] == ["the lock of T"]
    story = broken_i8(claims=("I8",))
    story.add(99, NeverCompleted, "c", "op1", "the lock of T")
    assert judge(story.history()).outcome is Outcome.VIOLATED


def test_a_probe_that_was_never_met_makes_a_run_vacuous() -> None:
    history = Story(reaches=("rare", "UpdateLogged")).history()
    assert judge(history).outcome is Outcome.VACUOUS
    assert judge(history).reached == {"rare": 0, "UpdateLogged": 0}
    history.probes["rare"] = 2
    assert judge(history).outcome is Outcome.VACUOUS
    story = Story(reaches=("rare", "UpdateLogged"))
    story.table()
    history = story.history()
    history.probes["rare"] = 2
    assert judge(history).outcome is Outcome.OK


def test_a_claim_without_its_events_is_unjudged() -> None:
    from msgspec.structs import replace

    history = broken_i8(claims=("I8",)).history()
    history.header = replace(history.header, voices=("client",))
    verdict = judge(history)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.unjudged == ("I8",)
    assert verdict.violations == ()


def test_a_verdict_keeps_a_limited_number_of_a_kind_and_counts_the_rest() -> None:
    story = Story(("I1",))
    t = story.table()
    for at in range(KEPT_OF_A_KIND + 7):
        story.resolve(f"T{at}", t, 10 + at, 2)
    verdict = judge(story.history())
    assert len(verdict.violations) == KEPT_OF_A_KIND
    assert list(verdict.omitted.values()) == [7]


def test_every_checker_says_what_it_is_for() -> None:
    checkers = in_order()
    invariants = [checker.invariant for checker in checkers]
    assert invariants[:5] == ["I1", "I2", "I3", "I4", "I5"]
    for checker in checkers:
        assert checker.summary
        assert checker.severity in {"safety", "session", "liveness", "quality"}
        assert set(checker.voices) <= {"client", "witness"}


def test_an_empty_history_is_ok() -> None:
    verdict = judge(Story().history())
    assert verdict == Verdict(Outcome.OK, (), {}, (), (), {})
    assert ts(1) == 1 << 16
