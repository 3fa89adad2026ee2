"""`ddlsim explore`: what it says and writes, how it ends, and that it repeats."""

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cli.signals import EndedError
from ddlsim.cli.verbs import explore as verb_explore
from ddlsim.search.exhaust import Exhaustion
from tests.support.command import TINY, Done, ddlsim
from tests.support.json_schemas import wrong

BROKEN = ("iep98/boundary_operation", "--mutant", "no_completeness_wait", "--kind",
          "append-entries", "--fate", "stall")  # fmt: skip


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    return str(file)


def explore(folder: Path, *words: str) -> Done:
    return ddlsim("explore", *words, "--jobs", "1", "--out", str(folder / "out"))


def document(done: Done) -> Any:
    found = json.loads(done.out)
    assert wrong("explore", found) == []
    return found


def test_all_runs_of_a_small_world_are_counted(tmp_path: Path, tiny: str) -> None:
    words = (tiny, "--depth", "2", "--fate", "lost", "--kind", "operate", "--kind", "submit")
    found = document(explore(tmp_path, *words, "--output", "json"))
    assert (found["outcome"], found["ended"], found["fates"]) == ("ok", "exhausted", ["lost"])
    counts = [level["runs"] for level in found["levels"]]
    assert counts == [level["of"] for level in found["levels"]]
    assert counts[0] == 1 < counts[1]
    assert found["runs"] == sum(counts) == sum(found["outcomes"].values())
    assert found["histories"] == sum(level["histories"] for level in found["levels"]) > 1
    assert found["messages"] > counts[1]  # of all kinds
    assert not (tmp_path / "out").exists()
    done = explore(tmp_path, *words)
    assert done.code == 0
    assert f"2 late        {counts[2]} runs" in done.out
    assert "at most 2 messages (operate, submit) are lost" in done.out
    assert "there are no others" in done.out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--depth", "2", "--kind", "operate"),
        ("--late", "5,0.5", "--fate", "late", "--fate", "lost", "--seed", "3", "--strict"),
        ("--strategy", "a5_safetime", "--set", "protocol.delay_duration_ms=7"),
    ],
)
def test_its_last_line_explores_the_same_again(
    words: tuple[str, ...], tmp_path: Path, tiny: str
) -> None:
    found = document(explore(tmp_path, tiny, *words, "--keep-going", "--output", "json"))
    again = shlex.split(found["command"])
    assert again[:2] == ["ddlsim", "explore"]
    repeated = document(ddlsim(*again[1:], "--output", "json"))
    assert {**repeated, "seconds": 0} == {**found, "seconds": 0}


def test_a_violation_is_a_scenario_that_repeats_it(tmp_path: Path) -> None:
    done = explore(tmp_path, *BROKEN, "--output", "json")
    assert done.code == 1
    found = document(done)
    assert (found["outcome"], found["ended"]) == ("violated", "violation")
    assert found["levels"][-1]["runs"] < found["levels"][-1]["of"]
    for one in found["found"]:
        [late], [said] = one["late"], one["sentences"]
        assert (late["fate"], late["late_ms"], late["kind"]) == ("stall", 200.0, "append-entries")
        assert said.endswith("is 200 ms late with all behind it on its link")
        assert Path(one["file"]).read_text().startswith(f"# {one['signature']}\n# {said}\n")
        assert tomllib.loads(Path(one["file"]).read_text())["expect"] == {"violated": ["I1"]}
        again = ddlsim(*shlex.split(one["command"])[1:], "--output", "json", "--expect")
        assert again.code == 0, again.err
        [run] = json.loads(again.out)["runs"]
        assert one["signature"].startswith("I1 atomicity ")
        assert one["kind"] in {each["kind"] for each in run["violations"]}
    text = explore(tmp_path, *BROKEN).out
    assert text.startswith("VIOLATED  iep98/boundary_operation, iep, mutant no_completeness_wait")
    assert found["command"] in text


def test_a_client_gives_up_what_a_lost_message_leaves_it_waiting_for(tmp_path: Path) -> None:
    """However short the scenario's own drain is: that says nothing about the protocol."""
    file = tmp_path / "short.toml"
    file.write_text(TINY.replace("[[step]]", "[run]\ndrain_ms = 2_000\n\n[[step]]", 1))
    done = explore(tmp_path, str(file), "--fate", "lost", "--kind", "client-operation")
    assert done.code == 0, done.out
    longer = explore(tmp_path, str(file), "--set", "run.drain_ms=90000", "--output", "json")
    assert document(longer)["outcome"] == "ok"


def test_a_workload_s_client_may_be_the_end_of_a_hold(tmp_path: Path) -> None:
    """A scenario that is written for a late message of such a client can be run."""
    file = tmp_path / "mixed.toml"
    hold = 'to = "n1"\nfrom_ms = 0\nuntil_ms = 90\n\n[[step]]'
    work = '[[workload]]\nname = "mixed"\nclients = 1\noperations = 2\n\n[[hold]]\nfrom = '
    for client, code in (("mixed-1", 0), ("mixes-1", 2)):
        file.write_text(TINY.replace("[[step]]", f'{work}"{client}"\n{hold}', 1))
        done = ddlsim("run", str(file))
        assert done.code == code, done.err
    assert "hold[0].from: no node is called 'mixes-1'; nodes: n1, n2, n3, c1, c2" in done.err


def test_it_goes_on_where_that_is_asked_for(tmp_path: Path) -> None:
    found = document(explore(tmp_path, *BROKEN, "--keep-going", "--output", "json"))
    assert (found["outcome"], found["ended"]) == ("violated", "exhausted")
    assert found["levels"][-1]["runs"] == found["levels"][-1]["of"]
    assert max(one["runs"] for one in found["found"]) > 1


def test_the_number_of_processes_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("explore", *BROKEN, "--keep-going", "--out", str(tmp_path), "--output", "json")
    one = ddlsim(*words, "--jobs", "1")
    monkeypatch.setitem(
        verb_explore.Executor.__init__.__kwdefaults__,  # type: ignore[misc]  # it has some
        "alone_s",
        0.0,
    )
    assert ddlsim(*words, "--jobs", "2").out == one.out


def test_a_time_that_does_not_suffice_is_not_decided(tmp_path: Path, tiny: str) -> None:
    found = explore(tmp_path, tiny, "--depth", "9", "--time", "0.01s", "--output", "json")
    assert found.code == 7
    assert (document(found)["ended"], document(found)["outcome"]) == ("time", "ok")
    assert explore(tmp_path, *BROKEN, "--time", "1h").code == 1


def test_an_interrupt_tells_what_was_done(
    tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, end = Exhaustion.take, EndedError(2)

    def interrupted(explored: Exhaustion, *result: Any) -> None:
        take(explored, *result)
        if explored.number == 3:
            raise end

    monkeypatch.setattr(Exhaustion, "take", interrupted)
    done = explore(tmp_path, tiny, "--output", "json")
    assert done.code == 130
    assert (document(done)["ended"], document(done)["runs"]) == ("interrupted", 3)


@pytest.mark.parametrize("part", ["judge", "run"])
def test_a_run_that_raises_is_a_crash(
    part: str, tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"ddlsim.search.exhaust.{part}", lambda *_, **__: 1 // 0)
    done = explore(tmp_path, tiny, "--output", "json")
    assert done.code == 4
    [crash] = document(done)["found"]
    assert (crash["status"], document(done)["outcome"]) == ("crash", "crashed")


def test_what_a_finding_explains_is_ok(tmp_path: Path) -> None:
    words = ("findings/F-1", "--kind", "submit", "--output", "json")
    done = explore(tmp_path, *words)
    assert done.code == 0
    [known] = document(done)["found"]
    assert (known["status"], known["first"], known["late"]) == ("finding:F-1", 0, [])
    again = ddlsim(*shlex.split(known["command"])[1:], "--expect")
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--late", "0"), "--late: expected milliseconds, as in 20 or 20,100, not '0'"),
        (("--late", "20,x"), "--late: expected milliseconds, as in 20 or 20,100, not '20,x'"),
        (("--late", "nan"), "--late: expected milliseconds, as in 20 or 20,100, not 'nan'"),
        (("--fate", "dead"), "--fate: unknown 'dead'"),
        (("--depth", "0"), "--depth: expected a number from 1 up, not '0'"),
        (
            ("--kind", "operat"),
            "--kind operat: no message of this kind is sent in the run; known: ",
        ),
        (("--strategy", "ipe"), "no strategy is called 'ipe'; did you mean iep"),
        (("--set", "step=[]"), "no client sends a message, so none can be late"),
    ],
)
def test_what_cannot_be_explored_is_refused(
    words: tuple[str, ...], told: str, tmp_path: Path, tiny: str
) -> None:
    done = explore(tmp_path, tiny, *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
