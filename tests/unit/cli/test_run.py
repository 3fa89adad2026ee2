"""`ddlsim run`: outcomes and exit codes, forms of output, what is kept, how to repeat it."""

import json
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ddlsim.history.figures import Figures
from tests.support.command import ROOT, ddlsim, process, tiny
from tests.support.forked import forked

NEGATIVE = "negative/reads_newer_rows"
HELD = """
[run]
load_ms = 1000
drain_ms = 300

[[hold]]
from = "n1"
until_ms = 90000

[[hold]]
to = "n1"
until_ms = 90000
"""
CRASHING = '''
"""A design whose activation breaks an assertion of the simulator's code."""
from dataclasses import replace
from ddlsim.model.design import DesignHeader
from ddlsim.strategies.base import strategy
from ddlsim.strategies.iep import IEP

def broken(message_ts, delay_duration_ms):
    raise AssertionError(f"{delay_duration_ms} is planted")

strategy(replace(IEP, header=DesignHeader("broken", "", "", "ignite", ()), activation_ts=broken))
'''
VIOLATION = {
    "invariant",
    "checker",
    "kind",
    "class",
    "status",
    "strict_only",
    "summary",
    "witness",
}


def document(*words: str) -> Any:
    """What `--output json` prints, which is one JSON document and nothing else."""
    done = ddlsim("run", *words, "--output", "json")
    return json.loads(done.out)


def flat(text: str) -> str:
    """A text as if it had never been wrapped."""
    return " ".join(text.split())


@pytest.fixture
def stuck(tmp_path: Path) -> str:
    path = Path(tiny(tmp_path, **{'reaches = ["ddl-installed"]\n': ""}))
    path.write_text(path.read_text("utf-8") + HELD, "utf-8")
    return str(path)


@pytest.fixture
def crashing(tmp_path: Path) -> tuple[str, ...]:
    """A run of the tiny scenario under a design that breaks an assertion."""
    plugin = tmp_path / "broken.py"
    plugin.write_text(CRASHING, "utf-8")
    return (tiny(tmp_path), "--load", str(plugin), "--strategy", "broken")


# --- outcomes and exit codes ----------------------------------------------------------------------


def test_ok_is_0(tmp_path: Path) -> None:
    done = ddlsim("run", tiny(tmp_path))
    assert done.code == 0
    assert done.out.startswith("OK  ")
    assert done.err == ""


def test_violated_is_1() -> None:
    done = ddlsim("run", NEGATIVE)
    assert done.code == 1
    assert done.out.startswith(f"VIOLATED  {NEGATIVE}, seed 0\n")
    assert "VIOLATION I3 serializability: " in done.out


def test_stuck_is_3(stuck: str) -> None:
    done = ddlsim("run", stuck)
    assert done.code == 3
    assert "d of c2 never ended: it waits for" in done.out


def test_crashed_is_4_with_the_seed_and_the_command(crashing: tuple[str, ...]) -> None:
    done = forked("run", *crashing, "--seed", "3")
    assert done.code == 4
    assert "1 crashed, first seed 3: SimulationCrashed: " in done.out
    assert "100 is planted" in flat(done.out)
    assert done.out.splitlines()[-1] == "repeat: " + shlex.join(
        ["ddlsim", "run", crashing[0], "--seed", "3", *crashing[3:], *crashing[1:3]]
    )
    assert "Traceback" not in done.out + done.err


def test_a_process_that_dies_has_crashed(crashing: tuple[str, ...]) -> None:
    """A budget of time has the run in a process of its own; it is no want of memory."""
    plugin = Path(crashing[2])
    dies = "import faulthandler, os; faulthandler.disable(); os.kill(os.getpid(), 11) #"
    plugin.write_text(plugin.read_text("utf-8").replace("raise Assert", dies), "utf-8")
    done = forked("run", *crashing, "--time", "10m")
    assert (done.code, "was killed by signal 11 (SIGSEGV)" in flat(done.out)) == (4, True), done


def test_a_crash_shows_where_on_demand(crashing: tuple[str, ...]) -> None:
    done = forked("run", *crashing, DDLSIM_DEBUG="1")
    assert "Traceback" in done.err
    assert "in broken" in done.err


def test_a_crash_is_told_in_json_too(crashing: tuple[str, ...]) -> None:
    told = json.loads(forked("run", *crashing, "--output", "json").out)
    [row] = told["runs"]
    assert (told["outcome"], row["outcome"]) == ("crashed", "crashed")
    assert (row["fingerprint"], row["figures"], row["violations"]) == (None, None, [])
    assert "100 is planted" in row["crash"]


def test_vacuous_is_5(tmp_path: Path) -> None:
    done = ddlsim("run", tiny(tmp_path, **{'"ddl-installed"': '"failover"'}))
    assert done.code == 5
    assert "NEVER reached failover" in done.out


def test_the_worst_of_several_seeds_counts() -> None:
    told = document("negative/no_commit_check", "--seeds", "0..2", "--jobs", "1")
    outcomes = [row["outcome"] for row in told["runs"]]
    assert told["outcome"] == ("violated" if "violated" in outcomes else "ok")
    assert [row["seed"] for row in told["runs"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("expect", "code"),
    [
        ('{ violated = ["I3"] }', 0),
        ('{ violated = ["serializability"] }', 0),
        ('{ violated = ["I3", "I4"] }', 1),
        ('"ok"', 1),
        ('"stuck"', 1),
    ],
)
def test_with_expect_the_scenario_decides(expect: str, code: int) -> None:
    done = ddlsim("run", NEGATIVE, "--expect", "--set", f"expect={expect}")
    assert done.code == code
    assert ("as the scenario expects" in done.out.splitlines()) == (code == 0)


def test_a_step_that_ends_otherwise_is_not_as_expected(tmp_path: Path) -> None:
    path = tiny(tmp_path, **{'expect = "ok"\n\n[[step]]': 'expect = "unknown"\n\n[[step]]'})
    done = ddlsim("run", path, "--expect")
    assert done.code == 1
    assert "step w (line 14): expected unknown, got ok" in flat(done.out)


def test_a_step_that_ends_otherwise_is_never_headed_ok(tmp_path: Path) -> None:
    """All claims are kept, so it is not violated either: a word and an exit code of its own."""
    path = tiny(tmp_path, **{'expect = "ok"\n\n[[step]]': 'expect = "unknown"\n\n[[step]]'})
    done = ddlsim("run", path, "--out", str(tmp_path / "out"))
    assert done.code == 8
    assert done.out.startswith("UNMET  ")
    assert "not as the scenario expects: seed 0: step w (line 14)" in flat(done.out)
    assert "expected to be ok" not in done.out  # the step says it already
    told = document(path)
    assert (told["outcome"], told["as_expected"]) == ("unmet", False)
    assert [run["outcome"] for run in told["runs"]] == ["unmet"]
    again = ddlsim("check", str(tmp_path / "out" / "seed-0.jsonl"))
    assert (again.code, again.out.split()[0]) == (8, "UNMET")


def test_what_must_never_be_reached_makes_a_run_unmet(tmp_path: Path) -> None:
    wanted = 'reaches = ["ddl-installed"]\n'
    path = tiny(tmp_path, **{wanted: 'never_reaches = ["ddl-installed", "failover"]\n'})
    done = ddlsim("run", path, "--out", str(tmp_path / "out"))
    assert (done.code, done.out.split()[0]) == (8, "UNMET")
    assert "ddl-installed must never be reached, but was once" in flat(done.out)
    assert ddlsim("check", str(tmp_path / "out" / "seed-0.jsonl")).code == 8
    calm = tiny(tmp_path, **{wanted: 'never_reaches = ["failover"]\n'})
    assert ddlsim("run", calm).code == 0


def test_what_met_nothing_is_told(tmp_path: Path) -> None:
    """It leaves the outcome alone: a design may send no such message."""
    path = Path(tiny(tmp_path))
    hold = '[[hold]]\nfrom = "n3"\nkind = "finish"\nuntil_ms = 50\n'
    path.write_text(f"{path.read_text('utf-8')}\n{hold}", "utf-8")
    what = "hold[0] (n3 to any, finish) kept no message back"
    done = ddlsim("run", str(path))
    assert done.code == 0
    assert f"met nothing {what}" in flat(done.out)
    assert document(str(path))["runs"][0]["unmatched"] == [what]


def test_another_design_may_have_expectations_of_its_own(tmp_path: Path) -> None:
    """`verify` runs the scenario under each of them, and repeats what disappoints."""
    head = 'expect_under = { a5_safetime = { violated = ["I4"] }, ignite3 = "ok" }\n'
    path = tiny(tmp_path, **{'expect = "ok"\nreaches': f'{head}expect = "ok"\nreaches'})
    assert ddlsim("run", path, "--expect").code == 0
    assert ddlsim("run", path, "--expect", "--strategy", "ignite3").code == 0
    assert ddlsim("run", path, "--expect", "--strategy", "a5_safetime").code == 1
    done = ddlsim("verify", path)
    assert done.code == 1
    assert "3 cases, 3 runs" in done.out
    assert f"{path} under a5_safetime: expected to be violated, but it is ok" in flat(done.out)
    assert f"repeat: ddlsim run {path} --seed 0 --strategy a5_safetime --expect" in flat(done.out)


def test_a_broken_claim_is_graver_than_an_unmet_step(tmp_path: Path) -> None:
    shipped = ROOT / "scenarios" / "negative" / "allows_dropped_column.toml"
    negative = shipped.read_text("utf-8")
    assert 'expect = "ok"' in negative
    path = tmp_path / "negative.toml"
    path.write_text(negative.replace('expect = "ok"', 'expect = "unknown"'), "utf-8")
    done = ddlsim("run", str(path))
    assert (done.code, done.out.split()[0]) == (1, "VIOLATED")
    assert "expected unknown, got ok" in flat(done.out)


# --- bad input ------------------------------------------------------------------------------------

BAD = [
    ("smok", "smok: neither a file nor a shipped scenario; did you mean smoke?"),
    ("zzzzz", "zzzzz: neither a file nor a shipped scenario; see ddlsim list scenarios"),
    ("nope.toml", "nope.toml: no such file; see ddlsim list scenarios"),
    ("smoke --strategy iepp", "no strategy is called 'iepp'; did you mean iep?"),
    (
        "smoke --mutant no_completness_wait",
        (
            "no mutant is called 'no_completness_wait'; "
            "did you mean no_completeness_wait or noop_without_wait?"
        ),
    ),
    ("smoke --set nonsense", "--set nonsense: expected path=value"),
    (
        "smoke --set protocol.dely_duration_ms=3",
        (
            "smoke.toml: --set protocol.dely_duration_ms: unknown key; "
            "did you mean delay_duration_ms or lease_duration_ms?"
        ),
    ),
    (
        "smoke --set protocol.delay_duration_ms=-3",
        "smoke.toml: --set protocol.delay_duration_ms: must be at least 0, not -3",
    ),
    (
        "smoke --set strategy.check_commit=foo",
        (
            "smoke.toml: --set strategy.check_commit: no rule of it is called 'foo'; rules: "
            "each_step_forward_compatible, endpoints_by_id, exact_match, commit_anyway, "
            "each_step_as_shipped, each_step_as_shipped_and_no_build"
        ),
    ),
    (
        "smoke --set strategy.completeness_ts=up_to_ten_times",
        (
            "smoke.toml: --set strategy.completeness_ts: no rule of it is called "
            "'up_to_ten_times'; rules: operation_less_delay, never_waits, at_operation, "
            "operation_plus_skew, operation_less_delay_plus_skew"
        ),
    ),
    (
        'smoke --set reaches=["completness-wait"]',
        (
            "smoke.toml: --set reaches[0]: no probe is called 'completness-wait'; "
            "did you mean completeness-wait?"
        ),
    ),
    ("smoke --migration nope.sql", "--migration nope.sql: No such file or directory"),
    ("smoke --load nope.py", "nope.py: no such plug-in file; `ddlsim new` writes one"),
]


@pytest.mark.parametrize(("words", "told"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_one_line_and_exit_2(words: str, told: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ddlsim("run", *words.split(), "--out", str(out))
    assert done == (2, "", f"ddlsim: {told}\n")
    assert not out.exists()


def test_a_bad_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = tiny(tmp_path, **{"nodes = 3": "nods = 3"})
    done = ddlsim("run", path)
    assert done == (2, "", f"ddlsim: {path}:9: cluster.nods: unknown key; did you mean nodes?\n")


def test_a_bad_plugin_is_told_with_its_fault(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text("1 / 0", "utf-8")
    done = ddlsim("run", "smoke", "--load", str(plugin))
    assert done == (2, "", f"ddlsim: {plugin}, line 1: ZeroDivisionError: division by zero\n")


# --- forms of output ------------------------------------------------------------------------------


def test_json_has_the_shape_of_the_interface() -> None:
    told = document(NEGATIVE, "--seed", "5")
    assert told["format"] == 1
    assert told["scenario"] == NEGATIVE
    assert told["strategy"].startswith("iep")
    assert told["mutant"] == "reads_newer_rows"
    assert told["settings"][""]["delay_duration_ms"] == told["settings"]["n1"]["delay_duration_ms"]
    assert (told["outcome"], told["as_expected"]) == ("violated", True)
    assert told["expected"] == {"violated": ["serializability"]}
    assert told["command"] == f"ddlsim run {NEGATIVE} --seed 5"
    [row] = told["runs"]
    assert (row["seed"], row["outcome"], len(row["fingerprint"])) == (5, "violated", 16)
    assert all(isinstance(count, int) for count in row["reached"].values())
    assert set(row["violations"][0]) >= VIOLATION
    assert row["violations"][0]["class"] == "safety"
    assert set(row["figures"]) == set(Figures.__struct_fields__)
    spread = {"count", "waited", "mean", "p50", "p99", "max"}
    assert all(
        set(row["figures"][f"{name}_ms"]) == spread
        for name in ("ddl_latency", "ddl_noop_latency", "dml_latency", "schema_wait")
    )


def test_notes_of_many_runs_go_to_stderr(tmp_path: Path) -> None:
    done = ddlsim("run", tiny(tmp_path), "--seeds", "0..2", "--output", "json")
    assert len(json.loads(done.out)["runs"]) == 3
    assert done.err.startswith("ddlsim: 3 runs in ")


def test_junit_has_a_test_for_each_run() -> None:
    done = ddlsim("run", NEGATIVE, "--seeds", "0..1", "--output", "junit")
    assert done.code == 1
    [suite] = ElementTree.fromstring(done.out)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert [case.get("name") for case in suite] == ["seed 0", "seed 1"]
    assert "I3 serializability" in (suite[0][0].get("message") or "")


def test_junit_with_expect_has_the_one_test_that_counts() -> None:
    done = ddlsim("run", NEGATIVE, "--seeds", "0..1", "--output", "junit", "--expect")
    assert done.code == 0
    [suite] = ElementTree.fromstring(done.out)
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_nothing_told_is_an_absolute_path(form: str) -> None:
    told = ddlsim("run", NEGATIVE, "--output", form).out
    assert not [place for place in (str(ROOT), str(Path.home())) if place in told]


# --- how to repeat it -----------------------------------------------------------------------------

WAYS = [
    ("smoke", "--seed 4"),
    ("smoke", "--seeds 3..5 --strategy a5_safetime"),
    ("smoke", "--mutant no_completeness_wait --seed 0x10"),
    ("smoke", "--set protocol.delay_duration_ms=80 --set network.latency_ms=2"),
    ("smoke", "--trace --strict --all-claims"),
    ("negative/no_commit_check", "--seeds 0..1"),
]


@pytest.mark.parametrize(("scenario", "flags"), WAYS)
def test_the_command_really_repeats_the_run(scenario: str, flags: str) -> None:
    told = document(scenario, *flags.split())
    command = shlex.split(told["command"])
    assert command[:3] == ["ddlsim", "run", scenario]
    again = document(*command[2:])
    [row] = again["runs"]
    [same] = [one for one in told["runs"] if one["seed"] == row["seed"]]
    assert {**row, "outcome": 0} == {**same, "outcome": 0}
    failed = [one["seed"] for one in told["runs"] if one["outcome"] not in ("ok", "vacuous")]
    assert row["seed"] == (failed or [told["runs"][0]["seed"]])[0]
    assert again["command"] == told["command"]


def test_a_migration_and_settings_with_spaces_are_repeated_too(tmp_path: Path) -> None:
    migration = tmp_path / "a migration.sql"
    migration.write_text("ALTER TABLE t ADD COLUMN more INT", "utf-8")
    brief = ("--set", "workload[0].operations=12")
    flags = ("--migration", str(migration), "--set", 'title = "two words"')
    told = document("smoke", *flags, *brief)
    again = document(*shlex.split(told["command"])[2:])
    assert again["runs"] == told["runs"]
    assert again["runs"][0]["fingerprint"] != document("smoke", *brief)["runs"][0]["fingerprint"]


def test_a_command_from_the_environment_is_spelled_out(tmp_path: Path) -> None:
    done = ddlsim("run", tiny(tmp_path), DDLSIM_SEED="6", DDLSIM_STRATEGY="iep_literal")
    assert done.out.endswith("tiny.toml --seed 6 --strategy iep_literal\n")


def test_another_process_gives_the_same_run() -> None:
    here = ddlsim("run", "smoke", "--seed", "2")
    assert process("run", "smoke", "--seed", "2", PYTHONHASHSEED="7") == here


# --- what is kept ---------------------------------------------------------------------------------


def test_one_seed_leaves_its_history_and_a_summary(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    done = ddlsim("run", "smoke", "--seed", "3", "--out", str(out))
    assert {path.name for path in out.iterdir()} == {"seed-3.jsonl", "summary.json"}
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["writer"], summary["finished"]) == ("ddlsim", True)
    assert {**summary, **document("smoke", "--seed", "3")} == summary
    assert str(out / "seed-3.jsonl") in done.out


def test_many_seeds_leave_the_first_and_those_that_failed(tmp_path: Path) -> None:
    told = document(
        "negative/no_commit_check", "--seeds", "0..3", "--jobs", "1", "--out", str(tmp_path)
    )
    failed = {row["seed"] for row in told["runs"] if row["outcome"] == "violated"}
    kept = {path.name for path in tmp_path.iterdir()} - {"summary.json"}
    assert kept == {f"seed-{seed}.jsonl" for seed in failed | {0}}
    assert 0 < len(failed) < 4


def test_a_later_run_replaces_an_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    words, out = ("run", tiny(tmp_path)), tmp_path / "out"
    assert ddlsim(*words, "--seed", "3", "--out", str(out)).code == 0
    (out / "notes").write_text("mine", "utf-8")
    assert ddlsim(*words, "--seed", "4", "--out", str(out)).code == 0
    assert {path.name for path in out.iterdir()} == {"seed-4.jsonl", "summary.json", "notes"}


def test_what_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "seed-0.jsonl").write_text("mine", "utf-8")
    done = ddlsim("run", "smoke", "--out", str(tmp_path))
    assert done.code == 2
    assert done.err == (
        f"ddlsim: --out {tmp_path}: holds seed-0.jsonl, which ddlsim did not write; "
        "name a new or empty directory\n"
    )
    assert (tmp_path / "seed-0.jsonl").read_text("utf-8") == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_summary_of_somebody_else_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"format": 1}', "utf-8")
    assert ddlsim("run", "smoke", "--out", str(tmp_path)).code == 2


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("", "utf-8")
    done = ddlsim("run", "smoke", "--out", str(path))
    assert done.err == f"ddlsim: --out {path}: it is a file; name a directory\n"


IDLE = """
title = "Its load ends before any client begins"
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 3
[run]
load_ms = 1
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[workload]]
name = "mixed"
clients = 2
operations = 4
"""


def test_a_run_in_which_no_client_began_anything_says_so(tmp_path: Path) -> None:
    file = tmp_path / "idle.toml"
    file.write_text(IDLE, "utf-8")
    done = ddlsim("run", str(file))
    assert done.code == 0
    assert "met nothing the load (no transaction and no DDL was begun" in flat(done.out)
    assert document(str(file), "--set", "run.load_ms=500")["runs"][0]["unmatched"] == []
