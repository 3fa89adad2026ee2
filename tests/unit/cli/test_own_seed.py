"""The seed that a scenario names: of `run` and `shrink`, where the command names none."""

import json
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cli.options import Options
from ddlsim.cli.verbs import shrink as verb_shrink
from tests.support.command import ddlsim

TEXT = """
seed = 7
[strategy]
name = "iep"
[protocol]
preset = "ignite3_tests"
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[run]
load_ms = 50
[[workload]]
name = "mixed"
clients = 1
operations = 2
"""


@pytest.fixture
def named(tmp_path: Path) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(TEXT, "utf-8")
    return str(file)


def seeds(*words: str) -> list[int]:
    done = ddlsim("run", *words, "--no-shrink", "--jobs", "1", "--output", "json")
    found: Any = json.loads(done.out)
    return [one["seed"] for one in found["runs"]]


def test_a_run_has_the_seed_that_its_scenario_names(named: str) -> None:
    assert seeds(named) == [7]
    assert seeds(named, "--seed", "3") == [3]
    assert seeds(named, "--seeds", "1..2") == [1, 2]
    assert seeds(named, "--set", "seed=9") == [9]
    assert seeds("smoke") == [0]


def test_a_world_drawn_around_a_scenario_has_no_seed_of_its_own(named: str) -> None:
    assert seeds(named, "--swarm") == [0]


def test_what_is_shrunk_is_the_run_of_the_seed_that_a_scenario_names() -> None:
    known: dict[str, Any] = {"failure": "negative/appends_past_gaps", "set": [], "swarm": False}
    known |= {"strategy": None, "mutant": None, "allow_outside": False}
    assert verb_shrink._failure(Options(**known, seed=None))[1] == 4
    assert verb_shrink._failure(Options(**known, seed=1))[1] == 1


def test_a_seed_that_is_none_is_one_line(named: str) -> None:
    done = ddlsim("run", named, "--set", "seed=-1")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "seed" in done.err
