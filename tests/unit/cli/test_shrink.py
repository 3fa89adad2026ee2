"""`ddlsim shrink`, and what `run` shrinks by itself."""

import json
import signal
import tomllib
from copy import copy
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.signals import EndedError
from ddlsim.cli.verbs import run as verb_run
from ddlsim.cli.verbs import shrunk
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import Scenario
from ddlsim.shrink import failing
from ddlsim.shrink import shrink as engine
from ddlsim.shrink.data import Data
from ddlsim.shrink.shrink import Budget, Shrinking
from ddlsim.shrink.trial import Failure, Shown, Target
from ddlsim.verify.row import RunRow
from tests.support.command import Done, ddlsim
from tests.support.forked import forked
from tests.support.json_schemas import wrong
from tests.support.shrinking import of_scenario

BROKEN_SWARM = (
    *("--swarm", "--mutant", "acknowledges_at_once"),
    *("--set", "workload[0].operations=6", "--set", "workload[0].clients=2"),
)
"""Small worlds of a broken design."""


GENERATED = (
    *("negative/no_completeness_wait", "--seed", "1"),
    *("--set", "workload[0].operations=40"),
)
"""A run that fails, of whose steps none is scripted."""

CRASHING = """
from ddlsim.mutants.base import mutates

@mutates("activation_ts", "crashes_at_first_update", "98.past.2", "atomicity")
def crashes(message_ts, delay_duration_ms):
    \"\"\"The first update of a run fails.\"\"\"
    if message_ts >> 16 > 1:
        raise AssertionError("no such timestamp")
    return message_ts
"""


@pytest.fixture
def unexpected(tmp_path: Path) -> str:
    """A scenario that expects nothing of the violation that it shows."""
    text = load("negative/recovery_commits").text
    file = tmp_path / "unexpected.toml"
    file.write_text(text.replace('expect  = { violated = ["serializability"] }', ""), "utf-8")
    return str(file)


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` shrinks in 30 runs and not to the end."""
    begun = failing.begun

    def in_few_runs(scenario: Scenario, seed: int, _: Budget, **judging: bool) -> Shrinking:
        return begun(scenario, seed, Budget(runs=30), **judging)

    monkeypatch.setattr(failing, "begun", in_few_runs)


def test_a_scenario_and_its_seed_are_shrunk_onto_stdout() -> None:
    done = ddlsim("shrink", "findings/F-1", "--seed", "3")
    assert done.code == 0
    expect = tomllib.loads(done.out)["expect"]
    assert expect["finding"] == "F-1"
    assert expect["signature"].startswith("I3 serializability schema-cycle")
    assert done.out.startswith(
        "# I3 serializability is broken (schema-G-single-realtime): no serial"
    )
    assert "because T1 read b[1]" in done.out.replace("\n# ", " ")
    assert "I3 serializability schema-cycle" in done.err
    assert "6 steps and faults; " in done.err


def test_the_file_of_out_is_repeated_by_the_command_that_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    done = ddlsim("shrink", *GENERATED, "--runs", "40", "-o", str(file))
    assert done.code == 0
    assert done.out == f"ddlsim run {file} --expect\n"
    assert f"\n# Repeat it: {done.out}" in file.read_text("utf-8")
    assert ddlsim(*done.out.split()[1:]).code == 0
    assert ddlsim(*done.out.split()[1:], "--mutant", "none").code == 1


@pytest.mark.parametrize(
    ("needs", "written"),
    [((), None), (("network",), {"network": 7}), (("clocks",), dict.fromkeys(shrunk.PARTS, 7))],
)
def test_a_shrunk_scenario_says_which_seeds_it_needs(
    monkeypatch: pytest.MonkeyPatch, needs: tuple[str, ...], written: dict[str, int] | None
) -> None:
    state, tried = of_scenario("findings/F-1", 7), []

    def fails(failure: Failure, data: Data, target: Target) -> Shown | None:
        tried.append(failure.seed)
        found = copy(state.best)
        found.data = data
        return found if all(data.get("seeds", {}).get(part) == 7 for part in needs) else None

    monkeypatch.setattr(shrunk, "shown", fails)
    assert shrunk.of_any_seed(state, state.best).data.get("seeds") == written
    assert set(tried) == {0}


def test_a_history_has_its_own_scenario_seed_and_design(tmp_path: Path) -> None:
    ddlsim("run", *BROKEN_SWARM, "--seed", "0", "--out", str(tmp_path / "found"), "--no-shrink")
    history = str(tmp_path / "found" / "seed-0.jsonl")
    done = ddlsim("shrink", history, "--output", "json", "--runs", "60")
    document = json.loads(done.out)
    assert wrong("shrink", document) == []
    assert document["status"] == "violation"
    assert 'mutant = "acknowledges_at_once"' in document["scenario"]
    assert document["after"]["entries"] < document["before"]["entries"]
    refused = ddlsim("shrink", history, "--seed", "1")
    assert refused.code == 2
    assert "a history has its own seed and design" in refused.err


def test_a_run_is_shrunk_for_the_violation_that_is_named() -> None:
    """By its invariant, judge, signature and the id of that; by default it is for another one."""
    run = ("shrink", "negative/commits_unreplicated", "--seed", "1", "--runs", "5")
    run += ("--output", "json")
    default = json.loads(ddlsim(*run).out)["signature"]
    named = json.loads(ddlsim(*run, "--violation", "I3").out)
    of_it = named["signature"]
    assert default["text"].startswith("I7 data_matches_schema")
    assert of_it["text"].startswith("I3 serializability")
    assert f'signature = "{of_it["text"]}"' in named["scenario"]
    for name in ("serializability", of_it["text"], of_it["id"]):
        assert json.loads(ddlsim(*run, "--violation", name).out)["signature"] == of_it


def test_a_violation_that_a_run_does_not_show_is_refused_with_what_it_shows() -> None:
    done = ddlsim("shrink", "negative/commits_unreplicated", "--seed", "1", "--violation", "I4")
    assert (done.code, done.out) == (2, "")
    assert "nothing that it shows is called 'I4'; it shows: " in done.err
    assert "I3 serializability" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("flag", ["--html", "-o"])
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("", "the name is empty; name a file"),
        (".", "cannot be written (Is a directory)"),
        ("nowhere/small", "cannot be written (No such file or directory)"),
    ],
)
def test_an_output_that_has_no_place_is_refused_before_the_work(
    flag: str, named: str, said: str
) -> None:
    with patch.object(failing, "begun", side_effect=AssertionError("it shrinks")):
        done = ddlsim("shrink", "findings/F-1", flag, named)
    assert done.code == 2
    assert said in done.err


def test_the_page_tells_the_shrunk_run(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert ddlsim("shrink", "findings/F-1", "--html", str(page)).code == 0
    assert "T1" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("smoke",), "smoke, seed 0: it is ok, and nothing is violated; name a run that fails"),
        ((), "FAILURE is missing; name a history or a scenario, or say --swarm"),
        (("no/such",), "neither a file nor a shipped scenario"),
    ],
)
def test_what_cannot_be_shrunk_is_told_in_one_line(words: tuple[str, ...], told: str) -> None:
    done = ddlsim("shrink", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("interrupt", "code"),
    [(KeyboardInterrupt(), 130), (EndedError(signal.SIGTERM), 143)],
)
def test_an_interrupt_writes_the_best_so_far(
    interrupt: KeyboardInterrupt, code: int, tmp_path: Path
) -> None:
    file = tmp_path / "small.toml"
    consider = engine.Shrinking.consider

    def interrupted(self: engine.Shrinking, data: dict[str, object], **more: bool) -> bool:
        if self.runs == 5:
            raise interrupt
        return consider(self, data, **more)

    with patch.object(engine.Shrinking, "consider", interrupted):
        done = ddlsim("shrink", *GENERATED, "-o", str(file))
    assert done.code == code
    assert "5 runs" in done.err
    assert "interrupted" in done.err
    assert len(tomllib.loads(file.read_text("utf-8"))["step"]) < 10


# --- run -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("briefly")
def test_run_shrinks_an_unexpected_violation_into_out(unexpected: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ddlsim("run", unexpected, "--out", str(out))
    assert done.code == 1
    assert sorted(file.name for file in out.iterdir()) == [
        "seed-0.jsonl", "seed-0.shrunk.html", "seed-0.shrunk.toml", "summary.json",
    ]  # fmt: skip
    assert done.out.rstrip().endswith(f"repeat: ddlsim run {unexpected} --seed 0")
    assert f"ddlsim run {out}/seed-0.shrunk.toml --expect" in done.err
    assert ddlsim("run", f"{out}/seed-0.shrunk.toml", "--expect").code == 0
    assert ddlsim("run", unexpected, "--out", str(out), "--no-shrink").code == 1
    assert sorted(file.name for file in out.iterdir()) == ["seed-0.jsonl", "summary.json"]


def run_on_a_terminal(*words: str) -> Done:
    with patch.object(verb_run, "is_watched", lambda: True):
        return ddlsim("run", *words)


def test_run_shrinks_a_crash_into_out(tmp_path: Path) -> None:
    """As `hunt` does."""
    plugin, out = tmp_path / "crashes.py", tmp_path / "out"
    plugin.write_text(CRASHING, "utf-8")
    command = ("run", "smoke", "--seeds", "3..9", "--until-violation", "--out", str(out))
    done = forked(*command, "--load", str(plugin), "--mutant", "crashes_at_first_update")
    assert done.code == 4, done.err
    file = out / "seed-3.shrunk.toml"
    assert "crash: AssertionError in crashes.py crashes: " in done.err
    assert (out / "seed-3.shrunk.html").exists()
    again = forked("run", str(file), "--load", str(plugin))
    assert (again.code, "no such timestamp" in again.out) == (4, True)


def test_a_run_whose_process_died_is_not_run_again_to_be_shrunk() -> None:
    row = RunRow("smoke", "iep", None, 3, Outcome.CRASHED, crash="died of signal 9")
    assert not verb_run.can_shrink(row)
    assert verb_run.can_shrink(structs.replace(row, origin="Traceback"))


@pytest.mark.usefixtures("briefly")
def test_run_prints_the_shrunk_scenario_on_a_terminal(unexpected: str) -> None:
    done = run_on_a_terminal(unexpected)
    assert done.code == 1
    report, _, scenario = done.out.partition("\n# I3 serializability")
    assert f"repeat: ddlsim run {unexpected} --seed 0" in report
    assert "expect = { violated" in scenario
    assert run_on_a_terminal(unexpected, "--no-shrink").out == report


@pytest.mark.parametrize(
    "words",
    [("--output", "json"), ("--output", "junit"), ("--no-shrink",), ()],
)
def test_run_does_not_shrink_for_programs(words: tuple[str, ...], unexpected: str) -> None:
    with patch.object(verb_run, "shrink", lambda *given: pytest.fail("shrunk")):
        assert ddlsim("run", unexpected, *words).code == 1


def test_run_does_not_shrink_what_the_scenario_expects(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert ddlsim("run", "negative/recovery_commits", "--out", str(out)).code == 1
    assert not list(out.glob("*.shrunk.*"))


def test_of_several_seeds_the_first_violation_is_shrunk(tmp_path: Path) -> None:
    out = tmp_path / "out"
    given: list[int] = []

    def noted(state: engine.Shrinking, *more: object) -> None:
        del more
        given.append(state.failure.seed)
        raise KeyboardInterrupt

    with patch.object(shrunk, "shrunk_text", noted):
        ddlsim("run", *BROKEN_SWARM, "--seeds", "0..1", "--jobs", "1", "--out", str(out))
    assert given == [0]


def test_a_run_that_crashes_is_shrunk_to_one_that_crashes_there(tmp_path: Path) -> None:
    """By the error of its task and the place that raised it; no run is expected to crash."""
    plugin, file, page = (tmp_path / name for name in ("crashes.py", "small.toml", "page.html"))
    plugin.write_text(CRASHING, "utf-8")
    command = ("shrink", "smoke", "--load", str(plugin), "--mutant", "crashes_at_first_update")
    done = forked(*command, "-o", str(file), "--html", str(page))  # registered there alone
    assert done.code == 0, done.err
    assert done.out == f"ddlsim run {file} --load {plugin}\n"
    assert "crash: AssertionError in crashes.py crashes: " in done.err
    assert "no such timestamp" in file.read_text("utf-8").partition("\n\n")[0]
    data = tomllib.loads(file.read_text("utf-8"))
    assert (data["expect"], len(data["step"]), data["cluster"]["nodes"]) == ("ok", 1, 1)
    assert "ddl" in data["step"][0]
    again = forked(*done.out.split()[1:])
    assert (again.code, "no such timestamp" in again.out) == (4, True)
    assert "<svg" in page.read_text("utf-8")
