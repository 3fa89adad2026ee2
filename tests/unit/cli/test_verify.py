"""`ddlsim verify`: exit codes, JSON, JUnit, and what its text must tell."""

import json
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from sim.cli.progress_suite import SuiteProgress
from sim.world import suite_parallel
from sim.world.suite import Trial
from tests.unit.cli.command import TINY, Done, ddlsim, tiny
from tests.unit.cli.results import a_row, a_violation
from tests.unit.cli.test_progress import Terminal
from tests.unit.world.test_suite import a_mutant_case

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
    assert done.err.startswith("ddlsim: 2 trials, 1 mutants convicted, in ")


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
            "seeds_to_conviction": {"median": 1, "blocks": [1]},
            "killed_by": {"own_ddl": {"runs": 1, "first_seed": 0}},
        }
    ]
    assert isinstance(found["scenarios"], list)
    assert [row["scenario"] for row in found["scenarios"]] == list(QUICK)
    assert isinstance(found["claims"], list)
    assert {row["claim"] for row in found["claims"]} == {"kept"}
    assert "snapshot-install" in str(found["never_reached"])


def test_junit(tmp_path: Path) -> None:
    done = verify(survivor(tmp_path), "--output", "junit")
    suite = ElementTree.fromstring(done.out)[0]
    failed = {case.get("name") for case in suite if len(case)}
    assert failed == {f"scenario {tmp_path}/survivor.toml", "mutant no_completeness_wait"}
    assert suite.get("failures") == "2"
    names = {case.get("name") for case in suite}
    assert {"claim iep I1", "every case was decided"} <= names


def test_when_the_time_is_up_it_says_what_was_not_reached() -> None:
    done = verify("smoke", *QUICK, "--time", "0.001s")
    assert done.code == 1
    assert done.out.startswith("NOT DECIDED")
    assert "iep98/own_ddl: not run, the time was up" in done.out


def test_within_the_time_seeds_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that is a quarter of a second further at each look."""
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr(suite_parallel, "time", clock)
    found = document("generated/read_own_ddl", "--time", "1s", "--jobs", "1")
    assert found["seeds"]["most"] is None
    assert 1 < found["seeds"]["least_run"] < 4


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
        assert progress.told().startswith("1 trials, 1 mutants convicted")
        assert bool(terminal.getvalue()) is shows
