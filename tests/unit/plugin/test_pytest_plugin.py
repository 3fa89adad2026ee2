"""`pytest --ddlsim`: a team's scenarios in its own repository; nothing at all without the flag."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from ddlsim import registry
from ddlsim.plugin import pytest_plugin
from ddlsim.plugin.pytest_plugin import message_of
from ddlsim.scenario.load import load
from ddlsim.verify.campaign import Job, Runner
from ddlsim.verify.expectation import sum_of
from tests.support.command import ROOT, TINY, ddlsim

pytest_plugins = "pytester"

PLUGIN = ("-p", "ddlsim.plugin.pytest_plugin", "-p", "no:cacheprovider")
HEAVY = (
    "ddlsim.scenario",
    "ddlsim.cluster",
    "ddlsim.verify",
    "ddlsim.protocol",
    "msgspec",
    "numpy",
    "networkx",
    "simpy",
    "sqlglot",
    "rich",
)
OTHERS = {
    "pyproject": "[project]\nname = 'theirs'\n",
    "Cargo": "[package]\nname = 'theirs'\n",
}
WRONG = TINY.replace('{ v = 5 }]\nexpect = "ok"', '{ v = 5 }]\nexpect = { aborts = "BAD_ROW" }')
DICE = TINY.partition("[[step]]")[0] + '[[workload]]\nname = "mixed"\nclients = 2\noperations = 4\n'
DICE = DICE.replace('reaches = ["ddl-installed"]', 'reaches = ["implicit-retry"]')


@pytest.fixture(scope="module", autouse=True)
def warm_up() -> None:
    """Import what a run needs: pytester forgets what is first imported in a run of its own.

    Among it every plug-in, since loading a file discovers them; another import of one would add it
    once more.
    """
    for each in tuple(registry.REGISTRIES):
        each.discover()
    row = Runner(Job("tiny", TINY, {})).row(0)
    assert message_of(load("smoke"), sum_of([row], reaches=(), expect="stuck"), [])


@pytest.fixture
def team(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A repository with a scenario; the plugin is there as its entry point would bring it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    scenarios = pytester.mkdir("scenarios")
    (scenarios / "tiny.toml").write_text(TINY, "utf-8")
    return pytester


def run(team: pytest.Pytester, *words: str) -> pytest.RunResult:
    return team.runpytest_inprocess(*PLUGIN, *words)


def write(team: pytest.Pytester, name: str, text: str) -> None:
    (team.path / "scenarios" / f"{name}.toml").write_text(text, "utf-8")


def test_a_scenario_passes(team: pytest.Pytester) -> None:
    done = run(team, "--ddlsim", "scenarios", "-v")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["ddlsim: 10 seeds*", "*tiny.toml::seed 0 PASSED*"])


@pytest.mark.parametrize("number", ["0", "x", "1_0"])
def test_a_number_of_seeds_is_a_plain_one(team: pytest.Pytester, number: str) -> None:
    done = run(team, "--ddlsim", "scenarios", "--ddlsim-seeds", number)
    assert done.ret == pytest.ExitCode.USAGE_ERROR


def test_without_the_flag_nothing_is_collected(team: pytest.Pytester) -> None:
    done = run(team, "scenarios")
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    done.stdout.no_fnmatch_line("*ddlsim:*")


def test_a_failure_tells_what_the_judge_says_and_how_to_repeat_it(team: pytest.Pytester) -> None:
    convicted = (ROOT / "scenarios/negative/noop_without_wait.toml").read_text("utf-8")
    broken = convicted.replace('expect  = { violated = ["own_ddl"] }', 'expect  = "ok"')
    assert broken != convicted
    write(team, "broken", broken)
    done = run(team, "--ddlsim", "scenarios/broken.toml")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*scenarios/broken.toml seed 0*",
            "not as the scenario expects: expected to be ok, but it is violated",
            "I4 own_ddl: *was acknowledged at*",
            "repeat: ddlsim run scenarios/broken.toml --seed 0 --expect",
        ]
    )
    done.stdout.no_fnmatch_line("*pytest_plugin.py*")  # no traceback of ours


def test_the_command_that_repeats_it_may_read_what_the_suite_may(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = 'sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"'
    (team.path / "t.sql").write_text(table.split('"')[1], "utf-8")
    assert table in WRONG
    write(team, "tiny", WRONG.replace(table, 'file = "../t.sql"'))
    run(team, "--ddlsim", "scenarios").assert_outcomes(errors=1)
    done = run(team, "--ddlsim", "scenarios", "--ddlsim-allow-outside")
    done.assert_outcomes(failed=1)
    again = "ddlsim run scenarios/tiny.toml --seed 0 --allow-outside --expect"
    done.stdout.fnmatch_lines([f"repeat: {again}"])
    monkeypatch.chdir(team.path)
    repeated = ddlsim(*again.split()[1:])
    assert (repeated.code, "step w (line" in repeated.out) == (1, True), repeated


def test_a_scenario_that_is_too_large_is_an_error(team: pytest.Pytester) -> None:
    write(team, "large", DICE.replace("operations = 4", "operations = 4_000_000"))
    done = run(team, "--ddlsim", "scenarios/large.toml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["scenarios/large.toml: a run is estimated at*more than 8,192 MiB*"])


def test_a_missed_step_fails(team: pytest.Pytester) -> None:
    write(team, "tiny", WRONG)
    done = run(team, "--ddlsim", "scenarios")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["not as the scenario expects: seed 0: step w (line *"])


def test_seeds_and_blocks(team: pytest.Pytester) -> None:
    write(team, "dice", DICE.replace('reaches = ["implicit-retry"]\n', ""))
    words = ("--ddlsim-seeds", "5", "--ddlsim-block", "2")
    done = run(team, "--ddlsim", "scenarios/dice.toml", "-v", *words)
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines([f"*::seeds {block} PASSED*" for block in ("0..1", "2..3")])
    done.stdout.fnmatch_lines(["*::seed 4 PASSED*"])


def test_the_seed_that_a_scenario_names_is_run_first(team: pytest.Pytester) -> None:
    """It shows what the scenario is about, so no suite may pass without it."""
    write(team, "dice", f"seed = 17\n{DICE}")
    write(team, "tiny", f"seed = 3\n{TINY}")
    done = run(team, "--ddlsim", "scenarios", "--ddlsim-seeds", "3", "-v", "--collect-only")
    done.stdout.fnmatch_lines(["*seeds 17 and 0..2*", "*seed 3*"])
    done = run(team, "--ddlsim", "scenarios/dice.toml", "--ddlsim-seeds", "1", "-v")
    done.stdout.fnmatch_lines(["*dice.toml::seeds 17 and 0*", "repeat: * --seed 17 *"])
    write(team, "dice", f"seed = 1\n{DICE}")
    words = ("--ddlsim-seeds", "4", "--ddlsim-block", "2")
    done = run(team, "--ddlsim", "scenarios/dice.toml", *words, "-v", "--collect-only")
    done.stdout.fnmatch_lines(["*seeds 1 and 0*", "*seeds 2..3*"])


def test_a_vacuous_scenario_fails(team: pytest.Pytester) -> None:
    write(team, "dice", DICE)
    done = run(team, "--ddlsim", "scenarios/dice.toml", "--ddlsim-seeds", "2")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["never reached: implicit-retry"])


def test_an_unreadable_scenario_is_an_error_with_its_line(team: pytest.Pytester) -> None:
    write(team, "tiny", TINY.replace("nodes = 3", "nodes = 3\nknots = 4"))
    write(team, "torn", TINY[:30])
    done = run(team, "--ddlsim", "scenarios")
    done.assert_outcomes(errors=2)
    done.stdout.fnmatch_lines(["scenarios/tiny.toml:10: cluster.knots*", "*torn.toml:*not TOML*"])


def test_other_toml_files_are_left_alone(team: pytest.Pytester) -> None:
    for name, text in OTHERS.items():
        (team.path / f"{name}.toml").write_text(text, "utf-8")
    done = run(team, "--ddlsim", "-v")
    done.assert_outcomes(passed=1)


def test_but_not_if_they_are_named(team: pytest.Pytester) -> None:
    (team.path / "Cargo.toml").write_text(OTHERS["Cargo"], "utf-8")
    run(team, "--ddlsim", "Cargo.toml").assert_outcomes(errors=1)


@pytest.mark.usefixtures("own_designs")
def test_plugins_of_the_team_are_loaded(team: pytest.Pytester) -> None:
    team.path.joinpath("ours.py").write_text(
        "from dataclasses import replace\n"
        "from msgspec.structs import replace as with_name\n"
        "from ddlsim.strategies.base import STRATEGIES, strategy\n"
        "iep = STRATEGIES.get('iep')\n"
        "strategy(replace(iep, header=with_name(iep.header, name='plugin_ours')))\n",
        "utf-8",
    )
    write(team, "tiny", TINY + '\n[strategy]\nname = "plugin_ours"\n')
    run(team, "--ddlsim", "scenarios").assert_outcomes(errors=1)
    done = run(team, "--ddlsim", "scenarios", "--ddlsim-load", "ours.py")
    done.assert_outcomes(passed=1)
    done = run(team, "--ddlsim", "scenarios", "--ddlsim-load", "nowhere.py")
    done.assert_outcomes(errors=1)


def test_beside_tests_that_take_warnings_for_errors(team: pytest.Pytester) -> None:
    team.makepyfile("def test_theirs():\n    assert True\n")
    words = ("-W", "error", "--strict-markers", "--strict-config")
    done = team.runpytest_subprocess(*PLUGIN, "--ddlsim", *words)
    done.assert_outcomes(passed=2)


def test_without_the_flag_nothing_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text("def test_theirs():\n    assert True\n", "utf-8")
    program = (
        "import sys, pytest\n"
        f"code = pytest.main(['-q', *{PLUGIN}])\n"
        f"print(int(code), sorted(set({HEAVY}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_entry_point_names_the_plugin() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    points = settings["project"]["entry-points"]["pytest11"]
    assert import_module(points["ddlsim"]) is pytest_plugin


def test_each_design_that_a_scenario_names_is_an_item(team: pytest.Pytester) -> None:
    """What is expected under it counts there, and the command that repeats it names it."""
    under = 'expect = "ok"\nexpect_under = { a5_safetime = { aborts = "BAD_ROW" } }'
    text = TINY.replace('{ v = 5 }]\nexpect = "ok"', f"{{ v = 5 }}]\n{under}")
    assert text != TINY
    write(team, "tiny", text)
    done = run(team, "--ddlsim", "scenarios")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*seed 0 under a5_safetime*", "*--strategy a5_safetime*"])


def test_a_library_that_is_missing_is_one_line(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = '\n[network]\nlatency_ms = { distribution = "empirical", file = "d.parquet" }\n'
    (team.path / "scenarios/measured.toml").write_text(TINY + measured, "utf-8")
    (team.path / "scenarios/d.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = team.runpytest(*PLUGIN, "--ddlsim", "scenarios/measured.toml")
    errors = [line for line in result.outlines if "pip install" in line]
    assert "pytest --ddlsim needs pyarrow: pip install 'ddlsim[sweep]'" in errors
    assert not any("Traceback" in line for line in result.outlines)
