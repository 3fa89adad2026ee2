"""`ddlsim run --swarm`: what is drawn is told, kept, and repeated by the printed command."""

import json
import shlex
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ddlsim.cli.views import swarm
from ddlsim.model.probes import never_reached
from tests.support.command import ddlsim, tiny
from tests.support.results import a_report, a_row


def document(*words: str) -> Any:
    return json.loads(ddlsim("run", *words, "--output", "json").out)


def repeated(command: str) -> Any:
    """What the printed command comes to."""
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("ddlsim", "run")
    return document(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("--swarm", "--seed", "3"),
        ("smoke", "--swarm", "--seed", "3"),
        ("--swarm", "--seed", "6", "--strategy", "iep_literal", "--set", "network.loss=0.02"),
    ],
)
def test_the_printed_command_repeats_the_run(words: tuple[str, ...]) -> None:
    first = document(*words)
    again = repeated(first["command"])
    assert again["runs"][0]["fingerprint"] == first["runs"][0]["fingerprint"]
    assert again["swarm"] == first["swarm"]
    assert first["swarm"]["latency_ms"]


def test_another_design_meets_the_same_world() -> None:
    words = ("--swarm", "--seed", "4", "--strategy")
    one, other = (document(*words, name) for name in ("iep", "iep_literal"))
    assert one["swarm"] == other["swarm"]
    assert (one["strategy"], other["strategy"]) == ("iep", "iep_literal")


def test_what_is_drawn_is_told_to_people() -> None:
    told = ddlsim("run", "--swarm", "--seed", "7").out
    assert "\ndrawn         nodes " in told
    assert "\nnemesis       " in told
    assert "\noff           " in told
    assert told.endswith("repeat: ddlsim run --swarm --seed 7\n")


def test_a_switch_is_on_by_its_name_or_is_among_what_is_off() -> None:
    drawn = {"kept": True, "not_kept": False, "calm": "on", "quiet": "off", "edges": 0}
    screen = StringIO()
    swarm.show(a_report(a_row(1))._replace(drawn=drawn), Console(file=screen, width=60))
    assert [line.split() for line in screen.getvalue().splitlines()] == [
        ["drawn", "kept,", "calm,", "edges", "0"],
        ["nemesis", "none"],
        ["off", "not_kept,", "quiet"],
    ]


def test_the_worlds_are_kept_and_run_as_ordinary_scenarios(tmp_path: Path) -> None:
    out = tmp_path / "out"
    small = ("workload[0].operations=6", "workload[0].clients=2")
    own = [word for one in ("protocol.delay_duration_ms=77", *small) for word in ("--set", one)]
    many = document("--swarm", *own, "--seeds", "3..5", "--jobs", "1", "--out", str(out))
    assert {path.name for path in out.iterdir()} == {"seed-3.jsonl", "seed-3.toml", "summary.json"}
    stored = document(str(out / "seed-3.toml"))
    assert stored["runs"][0]["fingerprint"] == many["runs"][0]["fingerprint"]
    told = ddlsim("explain", str(out / "seed-3.jsonl")).out
    assert f"ddlsim run --swarm --seed 3 {shlex.join(own)}" in " ".join(told.split())
    assert ddlsim("run", "--swarm", *own, "--seeds", "4..5", "--out", str(out)).code == 0
    assert sorted(path.suffix for path in out.iterdir()) == [".json", ".jsonl", ".toml"]


def test_a_migration_replaces_that_of_every_world(tmp_path: Path) -> None:
    path = tmp_path / "m.sql"
    path.write_text("ALTER TABLE t ADD COLUMN mine INT", "utf-8")
    done = document("smoke", "--swarm", "--seeds", "0..1", "--migration", str(path))
    assert [run["outcome"] for run in done["runs"]] == ["ok", "ok"]
    assert "--migration" in done["command"]


def test_without_a_scenario_there_must_be_a_swarm(tmp_path: Path) -> None:
    done = ddlsim("run", "--seed", "3")
    assert (done.code, done.out) == (2, "")
    assert "run: SCENARIO is missing; or say --swarm" in done.err
    assert ddlsim("run", tiny(tmp_path), DDLSIM_SWARM="1").code == 0
    assert ddlsim("run", "--seed", "4", DDLSIM_SWARM="1").code == 0


def test_over_several_seeds_the_probes_are_told_that_none_has_reached(tmp_path: Path) -> None:
    many = document(tiny(tmp_path), "--seeds", "0..1")
    met = {probe for run in many["runs"] for probe, count in run["reached"].items() if count}
    assert many["never_reached"] == list(never_reached(met))
    assert "lock-wait" in many["never_reached"]
    assert "ddl-installed" not in many["never_reached"]
    assert "never_reached" not in document(tiny(tmp_path), "--seed", "0")


def test_a_probe_that_one_seed_has_reached_is_not_told() -> None:
    report = a_report(
        a_row(1, reached={"lock-wait": 0, "lock-retry": 0}), a_row(2, reached={"lock-wait": 3})
    )
    told = report.document()["never_reached"]
    assert "lock-wait" not in told
    assert "lock-retry" in told
