"""`ddlsim ablate SCENARIO`: its counts beside those of `run --mutant`, its words, how it ends."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.signals import EndedError
from ddlsim.cluster.designs import fitting
from ddlsim.scenario.scenario import NO_MUTANT
from ddlsim.verify import ablation
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import GRAVE, Case, CaseRunner, Trial
from tests.support.command import Done, ddlsim, tiny
from tests.support.json_schemas import wrong
from tests.unit.search.test_likelihood import LATE

SMALL = """\
title = "Columns come and go among few operations"
expect = "ok"

[protocol]
preset = "ignite3_tests"
delay_duration_ms = 50

[cluster]
nodes = 3

[clocks]
max_skew_ms = 4

[network]
latency_ms = { distribution = "lognormal", median = 1, p99 = 8 }

[run]
load_ms = 400

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT, note VARCHAR(40))"

[[migration]]
at_ms = 80
node = "n2"
sql = "ALTER TABLE t DROP COLUMN v"

[[migration]]
at_ms = 200
node = "n3"
sql = "ALTER TABLE t ADD COLUMN x INT DEFAULT 5"

[[workload]]
name = "mixed"
clients = 4
operations = 40
gap_ms = [0, 30]
pause_ms = [0, 10]
"""
MUTANTS = (
    "no_completeness_wait",
    "no_commit_check",
    "primary_takes_its_own_version",
    "acknowledges_without_rounding",
    "allows_renamed_table",
)
SEEDS = "2..4"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("ablated") / "small.toml"
    file.write_text(SMALL)
    return str(file)


def document(*words: str, code: int = 0) -> Any:
    done = ddlsim("ablate", *words, "--jobs", "1", "--output", "json")
    assert done.code == code
    found = json.loads(done.out)
    assert wrong("ablate", found) == []
    return found


@pytest.fixture(scope="module")
def found(small: str) -> Any:
    """The document of some mutants in some seeds."""
    return document(small, "--seeds", SEEDS, "--mutants", ",".join(MUTANTS))


def flat(done: Done) -> str:
    return " ".join(done.out.split())


def run(*words: str) -> Any:
    return json.loads(ddlsim("run", *words, "--jobs", "1", "--output", "json").out)["runs"]


def test_each_cell_counts_what_runs_of_each_seed_show(small: str, found: Any) -> None:
    control = {one["seed"]: one["fingerprint"] for one in run(small, "--seeds", SEEDS)}
    assert [row["mutant"] for row in found["rows"]] == [None, *MUTANTS]
    firsts, counts = set(), set()
    for row in found["rows"]:
        runs = run(small, "--seeds", SEEDS, "--mutant", row["mutant"] or NO_MUTANT)
        differ = [one["seed"] for one in runs if one["fingerprint"] != control[one["seed"]]]
        assert (row["runs"], row["changed"]) == (len(control), len(differ))
        for invariant, cell in row["cells"].items():
            seeds = [
                one["seed"]
                for one in runs
                if any(
                    each["invariant"] == invariant and each["status"] in GRAVE
                    for each in one["violations"]
                )
            ]
            assert (cell["broken"], cell["first_seed"]) == (len(seeds), min(seeds, default=None))
            firsts.add(cell["first_seed"])
            counts.add(cell["broken"])
        assert (row["effect"] == "changed nothing") == (bool(row["mutant"]) and not differ)
    assert len(firsts) > 2  # seeds and counts that a slip would mix up
    assert len(counts) > 2
    assert {row["effect"] for row in found["rows"]} == {"violated", "no effect", "changed nothing"}
    assert found["changed_nothing"] == ["allows_renamed_table"]
    assert found["outcome"] == "ok"


def test_the_command_of_a_cell_shows_its_first_breach(found: Any) -> None:
    [row] = [row for row in found["rows"] if row["mutant"] == "no_commit_check"]
    broken = {name: cell for name, cell in row["cells"].items() if cell["broken"]}
    assert broken
    for name, cell in broken.items():
        done = ddlsim(*shlex.split(cell["command"])[1:], "--output", "json")
        [one] = json.loads(done.out)["runs"]
        shown = [each for each in one["violations"] if each["invariant"] == name]
        assert (done.code, one["seed"]) == (1, cell["first_seed"])
        assert cell["summary"] == shown[0]["summary"]


def test_the_matrix_has_what_changed_something_and_what_is_broken(small: str, found: Any) -> None:
    words = (small, "--seeds", SEEDS, "--mutants", ",".join(MUTANTS))
    done = ddlsim("ablate", *words, "--jobs", "1")
    assert done.code == 0
    assert done.out.startswith(f"OK  {found['scenario']}, iep\n")
    assert re.search(r"^control( +\.)+$", done.out, re.MULTILINE)
    for row in found["rows"][1:]:
        cells = [cell for cell in row["cells"].values() if cell["broken"]]
        line = re.search(rf"^{row['mutant']} .*$", done.out, re.MULTILINE)
        assert (line is None) == (row["effect"] == "changed nothing")
        for cell in cells:
            assert line is not None
            assert f"{cell['broken']}@{cell['first_seed']}" in line[0].split()
            assert f"repeat: {cell['command']}\n" in done.out
    lines = done.out.split("\n")
    assert all(len(line) <= 80 for line in lines if not line.startswith("repeat: "))
    assert flat(done).endswith(
        f"changed nothing: allows_renamed_table no effect: {', '.join(found['no_effect'])}"
    )


def test_processes_find_the_same(small: str) -> None:
    words = ("ablate", small, "--seeds", "2", "--mutants", "no_commit_check", "--output", "json")
    assert ddlsim(*words, "--jobs", "2").out == ddlsim(*words, "--jobs", "1").out


@pytest.mark.slow
def test_a_scripted_scenario_is_run_once_and_all_that_fit_are_tried(tmp_path: Path) -> None:
    found = document(tiny(tmp_path), "--seeds", "3..9")
    assert [row["mutant"] for row in found["rows"]] == [None, *fitting("ignite", "iep")]
    assert {row["runs"] for row in found["rows"]} == {1}
    assert found["seeds"] == [3, 3]
    effects = {row["mutant"]: row["effect"] for row in found["rows"]}
    assert effects["finds_no_table"] in {"stuck", "unmet", "violated"}


def test_a_scripted_scenario_with_drawn_delays_is_run_in_all_seeds(tmp_path: Path) -> None:
    """Its statement is in time, and the commit a violation, in some of them alone."""
    file = tmp_path / "late.toml"
    file.write_text(LATE, "utf-8")
    words = (str(file), "--seeds", "0..5")
    rows = document(*words, "--mutants", "no_commit_check")["rows"]
    assert {row["runs"] for row in rows} == {6}
    broken = [
        one["seed"]
        for one in run(*words, "--mutant", "no_commit_check")
        if any(violation["invariant"] == "I8" for violation in one["violations"])
    ]
    assert 0 < len(broken) < 6
    assert rows[1]["cells"]["I8"]["broken"] == len(broken)
    assert rows[1]["cells"]["I8"]["first_seed"] == broken[0]


def test_what_a_scripted_step_misses_is_no_missing_effect(tmp_path: Path) -> None:
    file = tmp_path / "missed.toml"
    file.write_text(
        Path(tiny(tmp_path)).read_text().replace('expect = "ok"\n\n[[', 'expect = "unknown"\n\n[[')
    )
    found = document(str(file), "--mutants", "allows_renamed_table", code=8)
    assert (found["outcome"], found["rows"][0]["effect"]) == ("unmet", "unmet")
    assert found["rows"][0]["unmet"] == 1
    done = ddlsim("ablate", str(file), "--mutants", "no_commit_check", "--jobs", "1")
    assert done.out.startswith("UNMET  ")
    assert re.search(r"^ +I1 .* unmet$", done.out, re.MULTILINE)


def test_the_mutant_of_a_file_is_a_row_and_not_the_control() -> None:
    found = document("negative/reads_late", "--seeds", "1", "--mutants", "reads_late")
    control, mutant = found["rows"]
    assert (found["outcome"], control["effect"], mutant["effect"]) == (
        "ok",
        "no effect",
        "violated",
    )
    assert control["command"].endswith(" --mutant none")


def test_a_control_that_is_violated_is_the_outcome() -> None:
    words = ("strategies/B3-T1", "--mutants", "no_commit_check")
    found = document(*words, code=1)
    assert (found["outcome"], found["rows"][0]["effect"]) == ("violated", "violated")


def test_a_world_that_is_drawn_around_a_scenario(small: str) -> None:
    words = (small, "--swarm", "--seeds", "3..4", "--mutants", "no_completeness_wait")
    found = document(*words, "--all-claims", "--strict")
    runs = run(small, "--swarm", "--seeds", "3..4", "--mutant", "no_completeness_wait")
    shown = [one["seed"] for one in runs if any(v["invariant"] == "I1" for v in one["violations"])]
    assert found["rows"][1]["cells"]["I1"]["broken"] == len(shown)
    command = found["rows"][1]["command"]
    assert f"--swarm --seed {shown[0] if shown else 3} --mutant" in command
    assert command.endswith(" --strict --all-claims")
    assert "I13" in found["invariants"]


def test_a_crash_is_the_outcome(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = CaseRunner.trial

    def crashing(self: CaseRunner, at: int, seed: int) -> Trial:
        if at == 1 and seed == 3:
            return Trial(
                RunRow("small", "iep", None, 3, Outcome.CRASHED, crash="AssertionError: x")
            )
        return trial(self, at, seed)

    monkeypatch.setattr(CaseRunner, "trial", crashing)
    found = document(small, "--seeds", "2..3", "--mutants", "allows_renamed_table", code=4)
    assert (found["outcome"], found["rows"][1]["effect"]) == ("crashed", "crashed")
    assert (found["rows"][1]["crashed"], found["rows"][1]["crash"]) == (1, "AssertionError: x")
    assert found["rows"][1]["command"].startswith(f"ddlsim run {small} --seed 3 ")


def test_time_that_is_up_leaves_rows_undecided(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(cases: list[Case], seeds: range, **more: Any) -> None:
        runner = CaseRunner(cases)
        for at, seed in ((0, 2), (1, 2), (2, 2), (0, 3), (1, 3)):
            more["watch"](cases[at], runner.trial(at, seed))

    monkeypatch.setattr(ablation, "run_suite", few)
    words = (small, "--seeds", "2..3", "--mutants", "allows_renamed_table,no_completeness_wait")
    found = document(*words, "--time", "1h", code=7)
    assert (found["outcome"], found["ended"]) == ("ok", "time")
    assert [row["runs"] for row in found["rows"]] == [2, 2, 1]
    assert [row["effect"] for row in found["rows"]][:2] == ["no effect", "changed nothing"]
    assert found["rows"][2]["effect"] == "not decided"


def test_an_interrupt_shows_the_runs_that_are_done(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = CaseRunner.trial

    def interrupted(self: CaseRunner, at: int, seed: int) -> Trial:
        if seed == 3:
            raise EndedError(2)
        return trial(self, at, seed)

    monkeypatch.setattr(CaseRunner, "trial", interrupted)
    words = (small, "--seeds", "2..3", "--mutants", "allows_renamed_table")
    found = document(*words, code=130)
    assert (found["ended"], [row["runs"] for row in found["rows"]]) == ("interrupted", [1, 1])
    assert [row["effect"] for row in found["rows"]] == ["not decided", "not decided"]
    done = ddlsim("ablate", *words, "--jobs", "1")
    assert re.search(r"^control( +\?)+$", done.out, re.MULTILINE)
    assert "? not decided: it is not broken so far" in flat(done)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("smok",), "smok: neither a file nor a shipped scenario; did you mean smoke?"),
        (("smoke", "--depth", "3"), "ablate: --depth is for scopes; those are listed by"),
        (("smoke", "--mutant", "x"), "ablate: unknown flag --mutant; did you mean --mutants?"),
        (("smoke", "--mutants", "a,"), "ablate: --mutants: expected names with commas, as in a,b"),
        (("smoke", "--mutants", "no_comit_check"), "no mutant is called 'no_comit_check'; did you"),
        (("smoke", "--mutants", "none"), "no mutant is called 'none'"),
        (("smoke", "--mutants", "watch_lost"), "mutant 'watch_lost' breaks a rule of plane 'fdb'"),
        (("smoke", "--set", "strategy.mutant=x"), "ablate: --set strategy.mutant: each row has"),
        (("smoke", "--strategy", "ipe"), "no strategy is called 'ipe'; did you mean iep?"),
        (("smoke", "--seeds", "5..3"), "ablate: --seeds: 5..3 is empty; say 3..5"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(words: tuple[str, ...], said: str) -> None:
    done = ddlsim("ablate", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ddlsim: {said}")


def test_each_flag_has_a_variable(small: str) -> None:
    words = ("ablate", small, "--output", "json")
    done = ddlsim(*words, DDLSIM_MUTANTS="no_commit_check", DDLSIM_SEEDS="2..3", DDLSIM_JOBS="1")
    found = json.loads(done.out)
    assert [row["mutant"] for row in found["rows"]] == [None, "no_commit_check"]
    assert found["seeds"] == [2, 3]
