"""What a run of the suite comes to: kills, survivors, claims, and what fails it."""

from collections.abc import Sequence

import msgspec
import pytest

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.outcome import Outcome
from ddlsim.mutants.base import MUTANTS
from ddlsim.verify import claims
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import Case, Trial
from ddlsim.verify.verification import Verification, verification
from tests.support.results import a_crash, a_cycle, a_row, a_violation
from tests.unit.verify.test_suite import a_case, a_mutant_case

CONVICTED = {"violated": ["atomicity"]}
VACUOUS = {"outcome": Outcome.VACUOUS, "reached": {"leader-changed": 0}}
STUCK = a_violation(invariant="I9", checker="liveness", status="stuck")


def result(
    case: Case, *rows: RunRow, control: Sequence[RunRow] = (), seeds: int | None = None
) -> Verification:
    """The verification of one case with these runs; for a mutant, innocent without it."""
    if case.kind == "mutant":
        controls = control or [a_row(row.seed) for row in rows]
        trials = [Trial(row, other) for row, other in zip(rows, controls, strict=True)]
    else:
        trials = [Trial(row) for row in rows]
    count = len(rows) if seeds is None else seeds
    return verification([case], [trials], range(count), every_mutant=False)


# --- mutants -------------------------------------------------------------------------------------


def test_blocks_and_checkers_of_a_killed_mutant() -> None:
    guilty = [
        a_row(seed, *([a_violation()] if seed in (1, 2, 6) else []), a_cycle()) for seed in range(8)
    ]
    found = result(a_mutant_case(expect=CONVICTED), *guilty)
    [row] = found.mutants
    assert row.blocks == (2, 1, 4)
    assert row.median_seeds == 2
    assert row.killed_by == {"atomicity": 3, "serializability": 8}
    assert row.first_seed == {"atomicity": 1, "serializability": 0}
    assert (found.score, found.killed, found.survivors) == (1.0, 1, ())
    assert found.as_expected


def test_a_survivor_fails_it() -> None:
    found = result(a_mutant_case(expect=CONVICTED), a_row(0, a_cycle()), a_row(1))
    assert found.score == 0.0
    [survivor] = found.survivors
    assert (survivor.mutant, survivor.runs) == ("no_completeness_wait", 2)
    assert any("survived 2 runs" in line for line in found.unexpected)


def test_a_survivor_with_a_reason_is_reported_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    item = MUTANTS.get("no_completeness_wait")
    monkeypatch.setitem(item.__dict__, "survives", "nobody can see it")
    found = result(a_case(mutant=item.name, judge=item.caught_by), a_row(0))
    assert found.as_expected
    whole = verification([], [], range(1), every_mutant=True)
    assert [one.reason for one in whole.survivors if one.mutant == item.name] == [
        "nobody can see it"
    ]
    assert not any(item.name in line for line in whole.unexpected)
    caught = result(a_mutant_case(expect=CONVICTED), a_row(0, a_violation()))
    assert any("listed as a survivor, yet" in line for line in caught.unexpected)


def test_a_mutant_without_a_scenario_is_missed_in_the_whole_suite() -> None:
    found = verification([], [], range(1), every_mutant=True)
    assert len(found.survivors) == len(list(MUTANTS))
    assert all("no scenario expects" in line for line in found.unexpected)


def test_guilt_without_the_mutant_is_no_kill() -> None:
    case = a_mutant_case(expect=CONVICTED)
    found = result(case, a_row(0, a_violation()), control=[a_row(0, a_violation())])
    assert not found.mutants[0].killed
    assert any("convicted without the mutant too, by atomicity" in one for one in found.unexpected)


def test_a_design_may_be_known_to_break_something_else() -> None:
    for strategy, control, told in (
        ("b2_opt2", a_cycle(), False),
        ("b2_opt2", a_violation(), True),
        ("iep", a_cycle(), True),
    ):
        case = msgspec.structs.replace(a_mutant_case(expect=CONVICTED), strategy=strategy)
        found = result(case, a_row(0, a_violation()), control=[a_row(0, control)])
        assert any("without the mutant too" in one for one in found.unexpected) is told


def test_a_checker_that_convicts_the_design_too_does_not_count() -> None:
    case = a_mutant_case(expect=CONVICTED)
    found = result(case, a_row(0, a_violation(), a_cycle()), control=[a_row(0, a_cycle())])
    assert found.mutants[0].killed_by == {"atomicity": 1}


def test_a_crash_without_the_mutant_fails_it() -> None:
    case = a_mutant_case(expect=CONVICTED)
    found = result(case, a_row(0, a_violation()), control=[a_crash(0)])
    assert any("without the mutant crashed" in one for one in found.unexpected)


# --- scenarios -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (a_row(4, a_violation()), "expected to be ok, but it is violated"),
        (a_crash(4), "expected to be ok, but it is crashed"),
        (a_row(4, missed=("step r (line 3): expected ok",)), "seed 4: step r (line 3)"),
        (a_row(4, **VACUOUS), "expected to be ok, but it is vacuous"),
    ],
)
def test_what_is_not_as_its_scenario_expects_fails_it(row: RunRow, words: str) -> None:
    found = result(a_case(reaches=("leader-changed",)), row)
    assert any(words in line for line in found.unexpected)
    assert found.scenarios[0].seed == 4


def test_a_breach_does_not_excuse_vacuity() -> None:
    case = a_case(expect=CONVICTED, reaches=("leader-changed",))
    found = result(case, a_row(0, a_violation()))
    assert any("never reached leader-changed" in line for line in found.unexpected)
    assert [row.scenario for row in found.vacuous] == ["smoke"]


def test_the_argument_of_the_first_failed_run_is_kept() -> None:
    found = result(a_case(), a_row(0), a_row(1, a_violation()))
    assert found.scenarios[0].argument.startswith("I1 atomicity: node n3 got")
    assert found.scenarios[0].argument.endswith("the argument of 1.0")


def test_probes_over_the_whole_suite() -> None:
    cases = [a_case(), a_mutant_case(expect=CONVICTED)]
    guilty = a_row(0, a_violation(), reached={"log-compacted": 1})
    trials = [[Trial(a_row(0))], [Trial(guilty, a_row(0, reached={"lock-wait": 2}))]]
    never = verification(cases, trials, range(1), every_mutant=False).never_reached
    assert not {"idle-tick", "log-compacted", "lock-wait"} & set(never)
    assert "snapshot-install" in never


# --- when the time was up ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "rows"),
    [
        (a_case(reaches=("leader-changed",)), [a_row(0, **VACUOUS)]),
        (a_mutant_case(expect=CONVICTED), [a_row(0)]),
        (a_case(), []),
    ],
)
def test_what_more_seeds_might_bring_is_open(case: Case, rows: list[RunRow]) -> None:
    """Not wrong, and not as expected either."""
    found = result(case, *rows, seeds=10)
    assert found.unexpected == ()
    assert found.open
    assert not found.as_expected


def test_a_mutant_is_not_decided_while_only_others_convict_it() -> None:
    """Its own judge may yet: the outcome is bad enough, the conviction is missing."""
    found = result(a_mutant_case(expect=CONVICTED), a_row(0, a_cycle()), seeds=10)
    assert (found.unexpected, found.survivors, found.score) == ((), (), None)
    assert [one.mutant for one in found.undecided_mutants] == ["no_completeness_wait"]
    assert not found.vacuous
    enough = result(a_mutant_case(expect=CONVICTED), a_row(0, a_cycle()), seeds=1)
    assert (len(enough.survivors), enough.score, enough.undecided_mutants) == (1, 0.0, ())


def test_a_step_that_was_missed_is_wrong_though_a_conviction_is_missing_too() -> None:
    row = a_row(0, missed=("step r (line 3): expected ok",), outcome=Outcome.UNMET)
    found = result(a_case(expect=CONVICTED), row, seeds=10)
    assert any("step r" in line for line in found.unexpected)
    assert not any("step r" in line for line in found.open)
    assert any("expected atomicity to be violated" in line for line in found.open)


def test_a_claim_of_a_design_with_too_few_runs_is_not_decided() -> None:
    few = result(a_case(), a_row(0), seeds=10)
    assert {row.word for row in few.claims} <= {"not decided", "not claimed"}
    assert not few.decided
    assert [row.label for row in few.short] == ["smoke"]
    timed = verification(
        [a_case()], [[Trial(a_row(0))]], range(99), every_mutant=False, bounded=True
    )
    assert timed.as_expected
    assert {row.word for row in timed.claims} <= {"kept", "not claimed"}


def test_a_breach_is_wrong_however_few_the_seeds() -> None:
    found = result(a_case(), a_row(0, a_violation()), seeds=10)
    assert found.unexpected


# --- claims --------------------------------------------------------------------------------------


def row_of(found: Verification, invariant: str) -> claims.ClaimRow:
    [row] = [row for row in found.claims if row.invariant == invariant]
    return row


def test_a_row_for_every_invariant() -> None:
    found = result(a_case(strategy="b15_exact"), a_row(0))
    invariants = {checker.invariant for _, checker in CHECKERS.items()}
    assert {row.invariant for row in found.claims} == invariants
    assert {row.invariant for row in found.claims if row.word != "kept"} == {"I6", "I11", "I13"}


def test_what_was_found_is_counted_by_run() -> None:
    rows = [
        a_row(0, a_cycle("accepted"), a_cycle("accepted")),
        a_row(1, a_cycle("finding:F-1")),
        a_row(2, a_cycle("out_of_assumption")),
        a_row(3, unjudged=("I3",), outcome=Outcome.UNKNOWN),
    ]
    row = row_of(result(a_case(), *rows), "I3")
    assert (row.runs, row.breaches, row.accepted, row.out_of_assumption) == (4, 0, 1, 1)
    assert (row.findings, row.unjudged, row.word) == ({"F-1": 1}, 1, "kept")


def test_what_was_never_judged_is_not_kept() -> None:
    found = result(a_case(), a_row(0, unjudged=("I3",), outcome=Outcome.UNKNOWN))
    assert row_of(found, "I3").word == "not judged"


@pytest.mark.parametrize("breach", [a_cycle(), STUCK])
def test_a_broken_claim_fails_it(breach: object) -> None:
    assert isinstance(breach, type(a_cycle()))
    case = a_case(kind="claims", strategy="a5_safetime")
    found = result(case, a_row(0), a_row(1, breach))
    row = row_of(found, breach.invariant)
    assert (row.word, row.breaches) == ("broken", 1)
    [line] = found.unexpected
    assert line.startswith(f"a5_safetime breaks its claim of {breach.invariant} in 1 of 2 runs")


def test_a_design_known_to_break_its_claims_is_excused() -> None:
    found = result(a_case(kind="claims", strategy="iep_literal"), a_row(0, a_cycle()))
    assert row_of(found, "I3").excuse
    assert found.as_expected


def test_a_crash_is_not_excused() -> None:
    found = result(a_case(kind="claims", strategy="iep_literal"), a_crash(0))
    assert any("crashed" in line for line in found.unexpected)


def test_an_expected_breach_is_as_expected() -> None:
    found = result(a_case(expect={"violated": ["I3"]}), a_row(0, a_cycle()))
    row = row_of(found, "I3")
    assert (row.word, row.foretold, row.example) == ("broken", 1, None)
    assert found.as_expected


def test_runs_under_a_mutant_do_not_count_for_the_design() -> None:
    found = result(a_mutant_case(expect=CONVICTED), a_row(0, a_violation()))
    assert row_of(found, "I1").word == "kept"


def test_a_design_with_fields_set_is_another_one() -> None:
    found = result(a_case(varied=True), a_row(0))
    assert {row.strategy for row in found.claims} == {"iep*"}
