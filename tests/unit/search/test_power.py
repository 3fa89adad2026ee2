"""After how many drawn worlds mutants and findings show, by the swarm's own seeds."""

import json
from pathlib import Path

import pytest

from ddlsim.mutants.base import MUTANTS
from ddlsim.registry import UnknownPluginError
from ddlsim.scenario import findings
from ddlsim.search import __main__ as command
from ddlsim.search.power import BASELINES, Looker, Shown, Sought, all_sought
from tests.support.command import ddlsim

pytestmark = pytest.mark.slow


def test_a_mutant_shows_in_the_world_that_the_swarm_convicts_first() -> None:
    """The command line finds the same seed and invariant."""
    (shown,) = Looker(9, 60).look([Sought("iep", "commits_unreplicated")])[0]
    words = ("--swarm", "--mutant", "commits_unreplicated", "--seeds", "0..8", "--until-violation")
    document = json.loads(ddlsim("run", *words, "--no-shrink", "--output", "json").out)
    last = document["runs"][-1]
    assert last["outcome"] == "violated"
    assert (shown.is_shown, shown.worlds) == (True, last["seed"] + 1)
    assert set(shown.by) == {
        one["invariant"] for one in last["violations"] if one["status"] == "violation"
    }


def test_what_convicts_the_design_without_the_mutant_does_not_count() -> None:
    """The design is violated in each of these worlds by itself."""
    sought = Sought("a0_on_receipt", "acknowledges_lost_race", all_claims=True)
    ((shown,),) = Looker(1, 60).look([sought])
    assert (shown.is_shown, shown.worlds, shown.by) == (False, 1, ())


def test_each_finding_of_a_design_has_its_first_world() -> None:
    names = ("F-18", "F-19")
    (found,) = Looker(12, 60).look([Sought("iep_literal", findings=names, strict=True)])
    assert [one.name for one in found] == list(names)
    assert all(one.is_shown and one.worlds <= 12 for one in found)


def test_a_finding_that_does_not_show_is_told_with_the_worlds_tried() -> None:
    ((shown,),) = Looker(1, 60).look([Sought("iep", findings=("F-6",), strict=True)])
    assert (shown.is_shown, shown.worlds) == (False, 1)


def test_a_hunt_shows_a_finding_in_the_same_world_as_the_command(tmp_path: Path) -> None:
    sought = Sought("iep_literal", findings=("F-19",), strict=True, hunt=2)
    ((one,),) = Looker(1, 60).look([sought])
    words = ("--strategy", "iep_literal", "--strict", "--seed", "2", "--worlds", str(one.worlds))
    out = ("--no-shrink", "--keep-going", "--output", "json", "--out", str(tmp_path / "hunt"))
    document = json.loads(ddlsim("hunt", *words, *out).out)
    worlds = [each["first"] for each in document["found"] if each["status"] == "finding:F-19"]
    assert (one.is_shown, one.hunt, one.worlds) == (True, 2, min(worlds) + 1)


def test_a_hunt_ends_with_its_time() -> None:
    sought = Sought("iep", findings=("F-6",), strict=True, hunt=1)
    ((shown,),) = Looker(1, 1e-6).look([sought])
    assert (shown.is_shown, shown.worlds, shown.hunt) == (False, 1, 1)


@pytest.mark.parametrize("hunt", [None, 1])
def test_what_no_finding_explains_is_new(hunt: int | None) -> None:
    """The design claims what it does not keep."""
    found = Looker(2, 1).look([Sought("a4_on_receipt", findings=("F-18",), hunt=hunt)])[0]
    new = [one for one in found if one.is_new]
    assert {one.name for one in new} >= {"violation I1"}
    assert all(one.is_shown and one.hunt == hunt for one in new)
    assert not command.is_good(found)
    assert command.tables(found).startswith(f"* new: {new[0].name} on a4_on_receipt")


def test_a_run_that_shows_all_and_nothing_new_is_good() -> None:
    found = [Shown("F-1", "iep", 9, 1.0), Shown("F-1", "iep", 9, 1.0, hunt=1)]
    assert command.is_good(found)
    for worse in (
        Shown("F-2", "iep", 9, 1.0, is_shown=False),
        Shown("F-1", "iep", 9, 1.0, hunt=2, is_shown=False),
        Shown("stuck I9", "iep", 9, 1.0, is_new=True),
    ):
        assert not command.is_good([*found, worse])


def test_hunts_are_for_each_design_that_has_findings() -> None:
    hunts = [(one.design, one.hunt) for one in all_sought(["F-2"], hunts=2) if one.hunt]
    assert hunts == [(name, seed) for name in BASELINES for seed in (1, 2)]


def test_a_row_of_hunts_has_their_median_and_half_of_them_must_show_it() -> None:
    found = [Shown("F-1", "iep", 9, 10.0 * n, (), n, is_shown=n != 2) for n in (1, 2, 3)]
    assert "| F-1 | iep | 30 | 10, none, 30 |" in command.tables(found)
    assert command.median_s(found) == 30.0
    assert command.median_s(found[1:2]) is None
    assert "| F-1 | iep | none | none |" in command.tables(found[1:2])


def test_every_mutant_and_every_finding_of_a_baseline_is_sought() -> None:
    sought = all_sought()
    mutants = [one.mutant for one in sought if one.mutant is not None]
    assert mutants == [name for name in MUTANTS if not MUTANTS.get(name).survives]
    numbers = {name for one in sought for name in one.findings}
    assert numbers == {table.id for table in findings.described()}


def test_a_mutant_is_judged_as_its_scenario_says() -> None:
    found = {one.mutant: one for one in all_sought(["stamps_across_a_change", "no_commit_check"])}
    assert found["stamps_across_a_change"].strict
    assert found["stamps_across_a_change"].design == "iep_closed"
    assert not found["no_commit_check"].strict


def test_a_name_that_is_neither_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownPluginError, match="no_commit_check"):
        all_sought(["no_comit_check"])


def test_the_command_prints_a_table_and_fails_where_something_did_not_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--only", "allows_narrowed_type", "--only", "F-19", "--jobs", "1", "--seeds", "1"]
    assert command.main([*words, "--hunts", "1", "--cpu", "0.001"]) == 1
    out, err = capsys.readouterr()
    assert "| allows_narrowed_type | iep | not in 1 |" in out
    assert err.count("\n") == len(all_sought(["allows_narrowed_type", "F-19"], hunts=1))


def test_the_command_names_what_is_wrong_with_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "F-99"]) == 2
    assert capsys.readouterr().err.startswith("dev.py search: no mutant or finding is called")
    for words in (["--seeds", "0"], ["--cpu", "nan"], ["--hunts", "-1"]):
        with pytest.raises(SystemExit):
            command.main(words)


def test_a_summary_has_the_median_the_tail_and_the_last() -> None:
    found = [Shown(f"m{n}", "iep", n, 1.0) for n in range(1, 11)]
    assert command.summary(found) == (
        "10 of 10 showed, half of them within 5.5 worlds, nine tenths within 10, all within 10."
    )
    missing = Shown("m", "iep", 9, 1.0, is_shown=False)
    assert command.summary([*found[:2], missing]).startswith("2 of 3 showed")
    assert command.summary([missing]) == "0 of 1 showed."
