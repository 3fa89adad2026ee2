"""`ddlsim advise`: what fits, in both forms, and what it asks."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.compare import compare as comparing
from ddlsim.cli.verbs import advise as verb_advise
from tests.support.command import ddlsim
from tests.support.json_schemas import wrong

NARROW = """[system]
concurrency = "optimistic"
invariants = ["I1", "I10"]
[goals]
dml_p99_ms = 10_000
"""


@pytest.fixture(autouse=True)
def few_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three designs, and no shipped scenarios beside: they take seconds."""
    designs = {name: comparing.DESIGNS.get(name) for name in ("c16_safe", "c2_watch", "iep")}
    monkeypatch.setattr(verb_advise, "DESIGNS", designs)
    monkeypatch.setattr(comparing, "_convicting", dict)


def test_what_fits_is_run_and_the_others_have_their_reasons(tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(NARROW, "utf-8")
    done = ddlsim("advise", str(file), "--seeds", "1", "--jobs", "1", "--output", "json")
    assert done.code == 0
    found: Any = json.loads(done.out)
    assert wrong("advise", found) == []
    assert wrong("advise", {**found, "fits": "all"})
    assert found["fits"] == ["c16_safe"]
    assert found["others"] == {
        "c2_watch": ["it does not claim I1, I10, I4"],
        "iep": ["transactions of plane ignite are locking; optimistic is asked for"],
    }
    assert [one["design"] for one in found["table"]["designs"]] == ["c16_safe"]


def test_more_runs_than_there_is_memory_for_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(NARROW, "utf-8")
    done = ddlsim("advise", str(file), "--seeds", "99999999")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("ddlsim: advise: the results of 99,999,999 runs are estimated at")


def test_the_aborts_of_a_system_with_little_ddl_are_those_of_its_rate(tmp_path: Path) -> None:
    """The runs have some statements per second, whatever the system has."""
    file = tmp_path / "facts.toml"
    goal = "[goals]\nschema_aborts = 0.005\n"
    fits = []
    for rate in (4, 0.01):
        file.write_text(f'[system]\nconcurrency = "optimistic"\n[load]\nddl_per_s = {rate}\n{goal}')
        done = ddlsim("advise", str(file), "--seeds", "2", "--jobs", "1", "--output", "json")
        found: Any = json.loads(done.out)
        (line,) = found["table"]["designs"]
        assert line["schema_aborts"]["value"] > 0.005
        assert 1 < line["ddl_per_s"] < 10
        fits.append(found["fits"])
    assert fits == [[], ["c16_safe"]]


@pytest.mark.parametrize(
    ("load", "command"),
    [
        ("read_only = 0.5", "ddlsim advise {} --seeds 0..0"),
        ("ddl_per_s = 4", "ddlsim compare c16_safe iep --seeds 0..0 --set 'migration[0].every_ms"),
    ],
)
def test_the_table_is_made_again_by_what_sets_each_plane_its_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: str, command: str
) -> None:
    """Clients that cross changes read, too, where the plane's scenario has some."""
    ran: list[Any] = []
    monkeypatch.setattr(verb_advise, "compare", lambda worlds, *_, **__: ran.extend(worlds) or [])
    file = tmp_path / "facts.toml"
    file.write_text(f"[load]\n{load}\n", "utf-8")
    found: Any = json.loads(ddlsim("advise", str(file), "--seeds", "1", "--output", "json").out)
    assert found["table"]["command"].startswith(command.format(file))
    shares = [[one.get("read_only") for one in w.scenario.table.workload[:2]] for w in ran]
    assert shares == ([[0.5, None], [0.5, 0.5]] if "read_only" in load else [[None, None]] * 2)


def test_a_breach_is_repeated_with_the_plug_ins_of_the_table(tmp_path: Path) -> None:
    file, plugin = tmp_path / "facts.toml", tmp_path / "nothing.py"
    plugin.write_text('"""Nothing."""\n', "utf-8")
    file.write_text("[system]\ninvariants = []\nown_ddl = false\n", "utf-8")
    done = ddlsim(
        "advise", str(file), "--seeds", "1", "--jobs", "1", "--output", "json",
        "--load", str(plugin),
    )  # fmt: skip
    found: Any = json.loads(done.out)
    told = [one for line in found["table"]["designs"] for one in line["breaches"]]
    assert told
    assert all(f"--load {plugin}" in one["command"] for one in told)


def test_where_nothing_fits_nothing_is_run(tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text('[system]\nconcurrency = "locking"\nclocks = "unbounded"\n', "utf-8")
    done = ddlsim("advise", str(file))
    assert done.code == 1
    assert done.out.startswith("no design fits\n")
    assert "for I3, I7 it assumes skew<=CSmax between leases, and clocks" in " ".join(
        done.out.split()
    )


def test_without_a_file_and_a_terminal_it_is_refused() -> None:
    done = ddlsim("advise")
    assert (done.code, done.out) == (2, "")
    assert "FILE.toml is missing" in done.err


def test_answers_are_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    answers = [
        "locking",
        "local_keys, schema_replicas",
        "",
        "bounded",
        "true",
        "",
        "0.5",
        "2",
        "",
        "900",
        "",
    ]
    assert len(answers) == len(verb_advise.QUESTIONS)
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(answers) + "\n"))
    facts = verb_advise.advise.parsed(verb_advise.asked(), "answers")
    system, load, goals = facts.system, facts.load, facts.goals
    assert (system.concurrency, system.clocks, system.delays) == ("locking", "bounded", "bounded")
    assert system.store_has == ("local_keys", "schema_replicas")
    assert (system.all_reachable, system.own_ddl) == (True, True)
    assert (load.read_only, load.ddl_per_s) == (0.5, 2)
    assert (goals.dml_p99_ms, goals.ddl_p99_ms) == (None, 900)


def test_a_store_may_have_nothing_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("\nnone" + "\n" * 9))
    assert verb_advise.advise.parsed(verb_advise.asked(), "answers").system.store_has == ()


def test_a_file_without_any_fact_is_bad_input(tmp_path: Path) -> None:
    """It is a slip, and would cost minutes of runs."""
    file = tmp_path / "facts.toml"
    file.write_text("# facts\n", "utf-8")
    done = ddlsim("advise", str(file), "--seeds", "1", "--jobs", "1")
    assert (done.code, done.out) == (2, "")
    assert "facts.toml: no fact stands in it; give [system], [load] or [goals]" in done.err
