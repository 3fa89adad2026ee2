"""`ddlsim list`: every kind as objects with name, summary and source; as text at 80 columns."""

import json
import tomllib
from pathlib import Path

import pytest

from ddlsim.cli.arguments import LISTS
from ddlsim.cli.flags.record import DISTURBED, RECORDED
from ddlsim.cli.verbs.list import lines
from ddlsim.fdb.settings import STORE_SETTINGS
from ddlsim.model.clauses import CLAUSES
from ddlsim.model.reasons import Reason
from ddlsim.model.settings import SETTINGS
from tests.support.command import ROOT, ddlsim
from tests.support.forked import forked


def listed(what: str, *more: str) -> dict[str, dict[str, object]]:
    entries = json.loads(ddlsim("list", what, "--output", "json", *more).out)
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {entry["name"]: entry for entry in entries}


@pytest.mark.parametrize("what", LISTS)
def test_an_entry_has_a_name_a_summary_and_a_source(what: str) -> None:
    entries = listed(what)
    assert entries
    for name, entry in entries.items():
        assert name
        assert entry["summary"], name
        assert entry["source"], name
        assert "remark" not in entry


@pytest.mark.parametrize("what", LISTS)
def test_the_text_names_every_entry_and_fits(what: str) -> None:
    done = ddlsim("list", what)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    first = [line.partition("  ")[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert first == list(listed(what))


def test_known_things_are_there() -> None:
    assert "smoke" in listed("scenarios")
    assert {"iep", "iep_literal"} <= set(listed("strategies"))
    assert listed("mutants")["no_completeness_wait"]["breaks"] == "98.past.3"
    assert "learner_lag" in listed("faults")
    assert "mixed" in listed("workloads")
    for what, ours, recorded in (
        ("workloads", "mixed", RECORDED),
        ("faults", "learner_lag", DISTURBED),
    ):
        verbs = {name: entry["verb"] for name, entry in listed(what).items()}
        assert verbs[ours] == "run"
        assert {name for name, verb in verbs.items() if verb == "record"} == {*recorded}
    assert listed("checkers")["atomicity"]["invariant"] == "I1"
    assert list(listed("reasons")) == [reason.name for reason in Reason]


def test_findings_name_what_they_break_what_closes_them_and_the_designs_that_have_them() -> None:
    entries = listed("findings")
    files = sorted((ROOT / "scenarios/findings").glob("*.toml"))
    assert sorted(entries) == sorted(file.stem for file in files)
    for file in files:
        table, entry = tomllib.loads(file.read_text()), entries[file.stem]
        hole = table["finding"]
        breaks = [hole["breaks"], *(one["breaks"] for one in hole.get("also", ()))]
        assert entry["breaks"] == list(dict.fromkeys(breaks))
        assert entry["closing"] == hole["closing"]
        assert (entry["summary"], entry["source"]) == (hole["title"], table["source"])
        assert entry["scenario"] == f"findings/{file.stem}"
        strategies = entry["strategies"]
        assert isinstance(strategies, list)
        assert table.get("strategy", {}).get("name", "iep") in strategies
        assert "iep_closed" not in strategies  # it has every closing rule
    assert entries["F-3"]["strategies"] == ["ignite3", "ignite_index"]  # as F-3.toml says why
    shown = " ".join(ddlsim("list", "findings", "F-1").out.split())
    others = str(entries["F-1"]["strategies"]).count(",")
    assert f"in iep and {others} other designs; ddlsim run findings/F-1" in shown


def test_clauses_come_in_order_and_then_the_pause_points() -> None:
    entries = listed("clauses")
    assert list(entries)[: len(CLAUSES)] == [clause.id for clause in CLAUSES]
    assert entries["98.past.3"]["must"] is True
    points = [name for name, entry in entries.items() if entry["kind"] == "pause point"]
    assert points == [
        "after-arrival-check",
        "before-commit-ts",
        "after-commit-ts",
        "after-commit-check",
    ]


def test_settings_tell_bounds_defaults_and_what_they_follow_from() -> None:
    entries = listed("settings")
    assert list(entries) == [*SETTINGS, *(f"fdb.{name}" for name in STORE_SETTINGS)]
    assert entries["delay_duration_ms"] == {
        "name": "delay_duration_ms",
        "summary": SETTINGS["delay_duration_ms"].doc,
        "source": "IEP-98",
        "unit": "ms",
        "default": None,
        "follows": None,
        "least": 0,
        "most": 10**10,
        "per_node": True,
        "presets": {"ignite3_defaults": 500, "ignite3_tests": 100},
        "clauses": ["98.past.2"],
    }
    assert entries["heartbeat_ms"]["follows"] == "a tenth of `election_timeout_ms`"
    assert entries["lock_retries"]["default"] == 3
    assert entries["lock_retries"]["unit"] is None
    assert entries["fdb.window_ms"] == {
        "name": "fdb.window_ms",
        "summary": STORE_SETTINGS["window_ms"].doc,
        "source": "FoundationDB, MAX_READ_TRANSACTION_LIFE_VERSIONS",
        "unit": "ms",
        "default": 5000,
        "follows": None,
        "least": 1,
        "most": 10**10,
        "per_node": False,
        "presets": {},
        "clauses": [],
    }
    assert entries["fdb.local_keys"]["default"] is False
    assert entries["fdb.local_keys"]["least"] is None
    assert entries["fdb.storage_read_us"]["unit"] == "us"


def test_a_field_is_listed_by_its_name() -> None:
    assert "poll_ms=N" in ddlsim("list", "rules", "poll_ms").out
    assert list(listed("rules", "fence")) == [
        one for one in listed("rules") if one.startswith("fence=")
    ]


def test_a_plugin_is_listed_with_the_others(tmp_path: Path) -> None:
    plugin = tmp_path / "listed_fault.py"
    plugin.write_text(
        '"""A fault from outside."""\n'
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "from ddlsim.nemesis.base import Fault, fault\n"
        "@fault\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Listed(Fault):\n"
        '    name: ClassVar[str] = "listed_fault"\n'
        '    summary: ClassVar[str] = "does nothing"\n'
        '    source: ClassVar[str] = "a test"\n'
        "    def begin(self, actions): pass\n",
        "utf-8",
    )
    done = forked("list", "faults", "--output", "json", "--load", str(plugin))
    [entry] = [one for one in json.loads(done.out) if one["name"] == "listed_fault"]
    assert entry["summary"] == "does nothing"


def test_a_long_name_has_a_line_of_its_own() -> None:
    entries = [
        {"name": "short", "summary": "one"},
        {"name": "n" * 40, "summary": "two", "remark": "must"},
    ]
    assert lines(entries, 80) == [
        "short".ljust(28) + "one",
        "n" * 40,
        " " * 28 + "two (must)",
    ]


def test_the_reference_lists_every_reason() -> None:
    table = (
        (ROOT / "docs/reference/reasons.md")
        .read_text("utf-8")
        .partition("<!-- reasons:begin -->")[2]
    )
    told = [line for line in table.splitlines() if line.startswith("| `")][: len(Reason)]
    assert told == [
        f"| `{reason.name}` | {reason.sentence} | {'yes' if reason.retriable else 'no'} "
        f"| {'yes' if reason.is_schema else 'no'} |"
        for reason in Reason
    ]


def test_a_field_that_is_a_number_is_given_no_number() -> None:
    rules = listed("rules")
    assert str(rules["copies=N"]["summary"]).endswith("each: a whole number, 1 to 10000")
    assert "copies=0" not in rules
