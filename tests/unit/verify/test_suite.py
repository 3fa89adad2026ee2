"""The regression suite: what belongs to it, whose turn it is, and what a conviction needs."""

import itertools
from pathlib import Path

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.scenario.problems import ScenarioError
from ddlsim.verify.campaign import Job
from ddlsim.verify.suite import (
    BLOCKS,
    Case,
    CaseRunner,
    Schedule,
    Trial,
    cases_of,
    convicts,
    names_of,
    run_suite,
    slim,
)
from tests.support.command import tiny
from tests.support.results import a_cycle, a_row, a_violation

A_MUTANT = "negative/no_completeness_wait"


def a_case(**changes: object) -> Case:
    case = Case("scenario", Job("smoke", "", {}), "iep", None, None, "ok", (), scripted=False)
    return structs.replace(case, **changes)


def a_mutant_case(**changes: object) -> Case:
    more = {"kind": "mutant", "mutant": "no_completeness_wait", "judge": "atomicity", **changes}
    return a_case(**more)


# --- what belongs to it --------------------------------------------------------------------------


def test_names_of_nothing_are_all_shipped_scenarios() -> None:
    assert {"smoke", A_MUTANT, "iep98/own_ddl"} <= set(names_of([]))


def test_a_folder_a_shipped_folder_a_file_and_a_name(tmp_path: Path) -> None:
    file = tiny(tmp_path)
    names = names_of([str(tmp_path), "iep98", "smoke", file])
    assert names[0] == file
    assert "iep98/own_ddl" in names
    assert names[-1] == "smoke"
    assert len(names) == len(set(names))


def test_a_folder_without_scenarios_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no scenario file"):
        names_of([str(tmp_path)])


def test_cases_of_gives_the_kind_of_each_case() -> None:
    """A mutant that another than its judge is to convict is a scenario like others."""
    names = [A_MUTANT, "iep110/option_2_keep", "smoke", "iep98/own_ddl"]
    cases = cases_of(names, every_design=True)
    kinds = {case.name: case.kind for case in cases if case.kind != "claims"}
    assert kinds == dict(zip(names, ["mutant", "scenario", "scenario", "scenario"], strict=True))
    others = [case for case in cases if case.kind == "claims"]
    assert {case.name for case in others} == {"smoke"}
    assert {"iep_closed", "ignite3"} <= {case.strategy for case in others}
    assert "iep" not in {case.strategy for case in others}


def test_other_designs_are_those_that_the_scenarios_name() -> None:
    cases = cases_of(["smoke", "iep98/using_safe_time"])
    assert [case.strategy for case in cases if case.kind == "claims"] == ["a5_safetime"]


# --- whose turn it is ----------------------------------------------------------------------------


def turns(cases: list[Case], seeds: range) -> list[tuple[int, int]]:
    schedule = Schedule(cases, seeds)
    dealt = list(itertools.takewhile(bool, iter(schedule.next, None)))
    assert len(dealt) == schedule.planned
    return [turn for turn in dealt if turn is not None]


def test_rounds_over_all_cases_and_one_for_the_scripted() -> None:
    cases = [a_case(), a_case(scripted=True), a_case()]
    assert turns(cases, range(5, 7)) == [(0, 5), (1, 5), (2, 5), (0, 6), (2, 6)]


def test_the_seed_that_a_scenario_names_comes_first_and_once() -> None:
    assert turns([a_case(own_seed=17)], range(3)) == [(0, 17), (0, 0), (0, 1), (0, 2)]
    assert turns([a_case(own_seed=1)], range(3)) == [(0, 1), (0, 0), (0, 2)]
    assert turns([a_case(own_seed=17, scripted=True)], range(3)) == [(0, 17)]
    assert turns([a_case(own_seed=17)], range(0)) == []
    schedule = Schedule([a_case(own_seed=2**30)], range(2**31))
    assert [schedule.next() for _ in range(2)] == [(0, 2**30), (0, 0)]
    assert schedule.planned == 2**31


def test_a_case_has_the_seed_of_its_file_but_not_under_other_designs(tmp_path: Path) -> None:
    text = Path("scenarios/smoke.toml").read_text("utf-8")
    file = tmp_path / "named.toml"
    file.write_text(f"seed = 17\n{text}", "utf-8")
    cases = cases_of([str(file)], every_design=True)
    assert {case.own_seed for case in cases if case.kind == "scenario"} == {17}
    assert {case.own_seed for case in cases if case.kind == "claims"} == {None}


def test_a_mutant_is_not_run_after_its_blocks() -> None:
    guilty, innocent = a_row(0, a_violation()), a_row(0)
    schedule = Schedule([a_mutant_case()], range(100))
    for seed in range(2 * BLOCKS):
        assert schedule.next() == (0, seed)
        row = structs.replace(guilty if seed % 2 else innocent, seed=seed)
        schedule.take(0, Trial(row, structs.replace(innocent, seed=seed)))
    assert schedule.next() is None
    assert len(schedule.result()[0]) == 2 * BLOCKS


def test_result_drops_trials_after_the_last_block_in_any_order() -> None:
    rows = [a_row(seed, a_violation()) for seed in range(BLOCKS + 3)]
    schedule = Schedule([a_mutant_case()], range(100))
    for row in reversed(rows):
        schedule.take(0, Trial(row, a_row(row.seed)))
    assert [trial.row.seed for trial in schedule.result()[0]] == list(range(BLOCKS))


# --- a conviction --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trial", "counts"),
    [
        (Trial(a_row(0, a_violation()), a_row()), True),
        (Trial(a_row(0, a_violation(status="stuck")), a_row()), True),
        (Trial(a_row(0, a_violation(status="accepted")), a_row()), False),
        (Trial(a_row(0, a_violation(status="out_of_assumption")), a_row()), False),
        (Trial(a_row(0, a_cycle()), a_row()), False),  # by another judge
        (Trial(a_row(0, a_violation()), a_row(0, a_violation())), False),  # guilty without it
        (Trial(a_row(0, a_violation()), a_row(0, a_cycle())), True),
    ],
)
def test_a_conviction_is_by_its_judge_and_only_with_the_mutant(trial: Trial, counts: bool) -> None:
    assert convicts(a_mutant_case(), trial) is counts


# --- running it ----------------------------------------------------------------------------------


def test_slim_keeps_what_the_suite_needs() -> None:
    row = a_row(3, a_cycle("accepted"), a_violation(), a_violation())
    light = slim(row)
    assert light.arguments == {1: row.arguments[1]}
    assert [one.summary for one in light.violations] == [one.summary for one in row.violations]
    assert not any(one.witness or one.steps for one in light.violations)
    assert (light.figures, light.pools) == (None, {})
    assert light.reached == row.reached


def test_a_mutant_is_run_with_and_without_it() -> None:
    [case] = cases_of(["negative/acknowledges_without_rounding"])
    trial = CaseRunner([case]).trial(0, 0)
    assert convicts(case, trial)
    assert trial.control is not None
    assert trial.control.outcome is Outcome.OK
    assert trial.control.mutant is None


@pytest.mark.slow
def test_run_suite_gives_the_same_with_several_processes() -> None:
    """Few trials in this process or in two others: the same result."""
    names = ["negative/noop_without_wait", "iep98/own_ddl", "iep98/noop_ddl"]
    cases = cases_of(names)
    alone = run_suite(cases, range(2), jobs=1)
    assert [len(trials) for trials in alone] == [1, 1, 1]
    assert run_suite(cases, range(2), jobs=2, alone_s=0.0) == alone


def test_when_time_is_up_nothing_more_begins() -> None:
    cases = cases_of(["iep98/own_ddl", "iep98/noop_ddl"])
    assert run_suite(cases, range(2), time_s=0.0) == [[], []]
