"""`ddlsim verify`: exit codes, JSON, JUnit, and what its text must tell."""

import io
import json
import re
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from msgspec import structs
from rich.console import Console

from ddlsim.cli.verbs import verify as verb_verify
from ddlsim.cli.views import progress, words
from ddlsim.cli.views import verify as view_verify
from ddlsim.cli.views.progress import SuiteProgress
from ddlsim.mutants.base import MUTANTS
from ddlsim.mutation.power import Power
from ddlsim.verify import suite as campaigns
from ddlsim.verify.kills import MutantRow
from ddlsim.verify.suite import Trial
from ddlsim.verify.verification import verification
from tests.support.command import TINY, Done, ddlsim, tiny
from tests.support.results import a_row, a_violation
from tests.unit.cli.test_progress import Terminal
from tests.unit.verify.test_suite import a_mutant_case

QUICK = ("negative/noop_without_wait", "iep98/own_ddl")
SURVIVOR = """
[strategy]
mutant = "no_completeness_wait"
"""


def verify(*words: str, **variables: str) -> Done:
    return ddlsim("verify", *words, "--jobs", "1", **variables)


def document(*words: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(verify(*words, "--output", "json").out)
    return found


def survivor(folder: Path) -> str:
    """A scenario in which nothing happens, which says that its mutant is convicted."""
    text = TINY.replace('expect = "ok"', 'expect = { violated = ["atomicity"] }', 1)
    (folder / "survivor.toml").write_text(text + SURVIVOR, "utf-8")
    return str(folder)


def test_as_expected_is_exit_0() -> None:
    done = verify(*QUICK)
    assert done.code == 0
    assert done.out.startswith("AS EXPECTED  2 cases, 3 runs\nmutation score 100.0%: 1 of 1")
    assert done.err.startswith("ddlsim: 2 trials, 1 mutant convicted, in ")


def test_a_survivor_is_exit_1_and_told(tmp_path: Path) -> None:
    done = verify(survivor(tmp_path))
    assert done.code == 1
    assert done.out.startswith("NOT AS EXPECTED")
    assert "SURVIVED" in done.out
    assert "repeat: ddlsim run" in done.out


def test_a_step_that_is_missed_is_exit_1(tmp_path: Path) -> None:
    wanted = '{ v = 5 }]\nexpect = "ok"'
    file = tiny(tmp_path, **{wanted: '{ v = 5 }]\nexpect = { aborts = "LOCK_CONFLICT" }'})
    done = verify(file)
    assert done.code == 1
    assert "step w (line" in done.out


def test_json() -> None:
    found = document(*QUICK, "--seeds", "3")
    assert found["format"] == 1
    assert found["as_expected"] is True
    assert found["mutation_score"] == 1.0
    assert found["mutants"] == [
        {
            "mutant": "noop_without_wait",
            "scenario": "negative/noop_without_wait",
            "breaks": "98.flow.4",
            "judge": "own_ddl",
            "killed": True,
            "runs": 1,
            "complete": True,
            "seeds_to_conviction": {"median": 1, "blocks": [1]},
            "killed_by": {"own_ddl": {"runs": 1, "first_seed": 0}},
        }
    ]
    assert isinstance(found["scenarios"], list)
    assert [row["scenario"] for row in found["scenarios"]] == list(QUICK)
    assert isinstance(found["claims"], list)
    assert {row["claim"] for row in found["claims"]} == {"kept", "not claimed"}
    assert "snapshot-install" in str(found["never_reached"])


def test_power_is_measured_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    areas = {"raft": (3, 1), "locks": (1, 0)}
    measured = Power(4, 1, 30, 50, "0f0f", areas, ("a.py:1: a", "b.py:2: b"))
    asked: list[int | None] = []
    monkeypatch.setattr(verb_verify, "power", lambda jobs: asked.append(jobs) or measured)
    assert document(*QUICK)["power"] is None
    assert asked == []
    found = document(*QUICK, "--power")["power"]
    assert asked == [1]
    assert found == {
        "mutants": 4,
        "killed": 1,
        "seeds": 30,
        "surveyed": 50,
        "sample": "0f0f",
        "areas": {"raft": {"mutants": 3, "killed": 1}, "locks": {"mutants": 1, "killed": 0}},
        "survivors": ["a.py:1: a", "b.py:2: b"],
    }
    text = verify(*QUICK, "--power").out
    assert "power of the search 25%: 1 of 4 faults in the" in text
    assert "0f0f" in text


def test_junit(tmp_path: Path) -> None:
    done = verify(survivor(tmp_path), "--output", "junit")
    suite = ElementTree.fromstring(done.out)[0]
    failed = {case.get("name") for case in suite if len(case)}
    assert failed == {f"scenario {tmp_path}/survivor.toml", "mutant no_completeness_wait"}
    assert suite.get("failures") == "2"
    names = {case.get("name") for case in suite}
    assert {"claim iep I1", "every case was decided"} <= names


def test_when_the_time_is_up_nothing_is_called_survived_or_unexpected() -> None:
    """The mutant has not had a run: it is in no score, and the exit code is one of its own."""
    done = verify("smoke", *QUICK, "--time", "0.001s")
    assert done.code == 7
    assert done.out.startswith("NOT DECIDED")
    assert "no mutation score: 1 mutant not decided" in done.out
    assert "not run, the time was up: " in done.out
    assert "iep98/own_ddl" in done.out.partition("not run, the time was up: ")[2]
    assert "survived" not in done.out.lower()
    assert "not as expected" not in done.out.lower()


def test_so_say_json_and_junit(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that is a quarter of a second further at each look: nothing is run."""
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(campaigns, "time", clock)
    found = json.loads(verify(*QUICK, "--time", "0.1s", "--output", "json").out)
    assert (found["as_expected"], found["decided"], found["mutation_score"]) == (False, False, None)
    assert (found["unexpected"], found["survivors"]) == ([], [])
    assert [one["mutant"] for one in found["undecided_mutants"]] == ["noop_without_wait"]
    suite = ElementTree.fromstring(verify(*QUICK, "--time", "0.1s", "--output", "junit").out)[0]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    skipped = {case.get("name") for case in suite if case.find("skipped") is not None}
    assert {"mutant noop_without_wait", "scenario iep98/own_ddl"} <= skipped


def test_what_is_wrong_is_exit_1_however_little_time_there_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One trial: a step that was missed; what comes after it is not run."""
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(campaigns, "time", clock)
    wanted = '{ v = 5 }]\nexpect = "ok"'
    file = tiny(tmp_path, **{wanted: '{ v = 5 }]\nexpect = { aborts = "LOCK_CONFLICT" }'})
    done = verify(file, *QUICK, "--time", "0.5s")
    assert done.code == 1
    assert done.out.startswith("NOT AS EXPECTED")
    assert "not run, the time was up" in done.out


def test_fewer_seeds_than_were_asked_for_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though all that ran was as expected; without --seeds the time alone says what is enough."""
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(campaigns, "time", clock)
    words = ("generated/read_own_ddl", "--time", "1s")
    done = verify(*words, "--seeds", "50")
    assert done.code == 7
    assert "1 case with fewer than 50 seeds, as expected so far" in done.out
    assert "0 claims of 1 design kept, 0 broken, 11 not decided" in done.out
    assert verify(*words).code == 0


def test_now_and_then_a_line_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    lines = verify(*QUICK, "--seeds", "2").err.splitlines()
    assert lines[0].startswith("ddlsim: 1 trial, ")
    assert lines[0].endswith(" s left")
    assert "at most" in verify(*QUICK, "--time", "90s", "--seeds", "1").err


@pytest.mark.parametrize("name", ["x" * 14, "a3_barrier_impatient", "n" * 40])
def test_a_long_name_does_not_run_into_what_follows(name: str) -> None:
    case = structs.replace(a_mutant_case(), mutant=MUTANTS.get("open_boundary").name)
    row = MutantRow(name, "smoke", "98.past.3, 98.flow.4, 98.own", "atomicity", 3, {}, {}, (1,))
    result = structs.replace(
        verification([case], [[]], range(1), every_mutant=False), mutants=(row,)
    )
    out = io.StringIO()
    to = Console(file=out, width=80)
    view_verify.show(result, to)
    words.labelled(name, "3 runs; kept: I1", to)
    assert re.search(rf"^{name} 98\.past\.3, 98\.flow\.4, 98\.own$", out.getvalue(), re.MULTILINE)
    assert re.search(r"^ {50,} +1  atomicity$", out.getvalue(), re.MULTILINE)
    assert re.search(rf"^{name}\n {{14}}3 runs; kept: I1$", out.getvalue(), re.MULTILINE)


def test_within_the_time_seeds_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that is a quarter of a second further at each look."""
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(campaigns, "time", clock)
    found = document("generated/read_own_ddl", "--time", "1s", "--jobs", "1")
    assert found["seeds"]["most"] is None
    assert 1 < found["seeds"]["least_run"] < 4


ENOUGH = (
    (("iep98/own_ddl",), None, "one run decides a scripted case"),
    (("negative/noop_without_wait",), None, "one run decides a scripted case"),
    (
        ("generated/read_own_ddl", "iep98/own_ddl"),
        2,
        "for 2 seeds of each case that depends on the seed; one run decides a scripted case",
    ),
)


@pytest.mark.parametrize(("names", "least", "words"), ENOUGH)
def test_how_many_seeds_there_was_time_for_is_told_where_seeds_matter(
    names: tuple[str, ...], least: int | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0.25 * (len(names) + 2)
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(campaigns, "time", clock)
    done = verify(*names, "--time", f"{looks}s")
    assert words in " ".join(done.out.split())
    assert "0 to" not in done.out
    clock.monotonic = count(step=0.25).__next__
    assert document(*names, "--time", f"{looks}s")["seeds"] == {"most": None, "least_run": least}


def test_where_nothing_was_run_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(campaigns, "time", clock)
    done = verify("iep98/own_ddl", "--time", "0.1s")
    assert done.code == 7
    assert "nothing was run" in done.out
    assert "enough for" not in done.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nowhere",), "neither a file nor a shipped scenario"),
        (("--seeds", "0"), "from 1 up"),
        (("--time", "10"), "expected a time such as 90s"),
        (("--time", "0s"), "expected a time such as 90s"),
    ],
)
def test_what_cannot_be_used_is_exit_2(words: tuple[str, ...], complaint: str) -> None:
    done = verify(*words)
    assert done.code == 2
    assert complaint in done.err
    assert done.out == ""


def test_seeds_may_be_a_range() -> None:
    found = document("generated/read_own_ddl", "--seeds", "7..8")
    [row] = found["scenarios"]
    assert row["runs"] == 2
    assert "--seed 7 " in row["command"]


def test_a_terminal_has_a_bar_others_have_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal, shows in ((Terminal(), True), (Terminal(), False)):
        if not shows:
            monkeypatch.setattr(terminal, "isatty", lambda: False)
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        case = a_mutant_case()
        with SuiteProgress([case], range(3), None) as progress:
            progress.watch(case, Trial(a_row(0, a_violation()), a_row(0)))
        assert progress.status().startswith("1 trial, 1 mutant convicted")
        assert bool(terminal.getvalue()) is shows
