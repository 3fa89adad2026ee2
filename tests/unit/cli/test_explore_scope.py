"""`ddlsim explore SCOPE`: what it says and writes, how it ends, and what it refuses."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cli.signals import EndedError
from ddlsim.cli.verbs import explore_scope, scoped
from ddlsim.spec.base import set_up
from ddlsim.spec.exhaust import Exhaustion
from ddlsim.spec.iep110 import IEP110
from tests.support.command import ROOT, Done, ddlsim
from tests.support.json_schemas import wrong

SMALL = ("--set", "nodes=2", "--set", "time=4", "--set", "dd=1")


def flat(done: Done) -> str:
    return " ".join(done.out.split())


def document(*words: str) -> Any:
    done = ddlsim("explore", *words, "--output", "json")
    found = json.loads(done.out)
    assert wrong("explore", found) == []
    return found


def test_a_faithful_design_holds() -> None:
    found = document("iep98", *SMALL)
    assert (found["outcome"], found["ended"]) == ("ok", "exhausted")
    assert (found["states"], found["generated"], found["depth"]) == (10042, 28179, 18)
    assert found["invariants"] == {"I1": "holds", "I4": "holds"}
    assert (found["strategy"], found["mutant"], found["found"]) == ("iep", None, [])
    done = ddlsim("explore", "iep98", *SMALL)
    assert done.code == 0
    assert done.out.startswith("OK  iep98, iep\n")
    assert "10,042 states, 28,179 generated, depth 18 (17 actions); there are no others" in flat(
        done
    )
    assert "holds         I1 atomicity, I4 own_ddl" in done.out
    assert "rules         those of iep (ddlsim list scopes iep98 --output json)" in done.out


def test_a_broken_rule_is_shown_by_a_shortest_run() -> None:
    done = ddlsim("explore", "iep98", *SMALL, "--mutant", "no_completeness_wait")
    assert done.code == 1
    assert done.out.startswith("VIOLATED  iep98, iep, mutant no_completeness_wait\n")
    assert "rule          wait = never: for nothing [98.past.3]" in done.out
    assert "violated      I1 atomicity" in done.out
    assert "not decided   I4 own_ddl" in done.out
    found = document("iep98", *SMALL, "--mutant", "no_completeness_wait")
    [one] = found["found"]
    assert (one["invariant"], one["checker"]) == ("I1", "atomicity")
    for number, step in enumerate(one["steps"], 1):
        assert f"step {number}".ljust(14) + step["sentence"] in done.out
    assert one["steps"][-1]["action"] == "log"  # late
    assert one["steps"][-1]["state"]["broken"] == ["I1"]
    assert one["steps"][-1]["state"]["leader"] == 1
    assert one["summary"] in done.out


def test_with_keep_going_each_invariant_is_decided() -> None:
    found = document("iep98", *SMALL, "--strategy", "a0_on_receipt", "--keep-going")
    assert found["invariants"] == {"I1": "violated", "I4": "violated"}
    assert [one["invariant"] for one in found["found"]] == ["I1", "I4"]
    found = document("iep98", *SMALL, "--mutant", "acknowledges_at_activation", "--keep-going")
    assert found["invariants"] == {"I1": "holds", "I4": "violated"}
    assert found["ended"] == "exhausted"
    assert found["command"].endswith(" --keep-going")


def test_with_keep_going_nothing_holds_because_a_run_ended_before_it() -> None:
    words = ("iep110", "--set", "time=6", "--mutant", "enlists_at_every_operation")
    first = document(*words)["invariants"]
    assert first == {"I2": "not decided", "I3": "not decided", "I5": "violated",
                     "I8": "not decided"}  # fmt: skip
    found = document(*words, "--keep-going")
    assert found["invariants"] == {"I2": "violated", "I3": "violated", "I5": "violated",
                                   "I8": "holds"}  # fmt: skip
    alone = {one["invariant"]: [step["action"] for step in one["steps"]] for one in found["found"]}
    assert alone["I5"][-1] == "grant"
    assert alone["I2"][-1] == alone["I3"][-1] == "finish"


def test_what_lies_behind_a_broken_state_is_visited_before_an_invariant_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutant = "enlists_at_every_operation"
    words = ("iep110", "--set", "time=6", "--mutant", mutant, "--keep-going")
    setup = set_up(IEP110, mutant=mutant, settings={"time": 6})
    first = Exhaustion(setup.machine(), until_broken=4).run()
    alone = Exhaustion(setup.machine(("I8",))).run()
    assert first.states < alone.states
    found = document(*words)
    assert (found["states"], found["generated"]) == (alone.states, alone.generated)
    monkeypatch.setattr(explore_scope, "STATES_MOST", first.states)
    found = document(*words)
    assert found["invariants"] == {"I2": "violated", "I3": "violated", "I5": "violated",
                                   "I8": "not decided"}  # fmt: skip
    assert (found["ended"], found["outcome"]) == ("states", "violated")


def test_what_cannot_happen_is_not_said_to_hold() -> None:
    done = ddlsim("explore", "iep98", *SMALL, "--set", "csmax=3")
    assert done.code == 5
    assert done.out.startswith("VACUOUS  iep98, iep\n")
    assert "not tested I4 own_ddl: what it is about cannot happen" in flat(done)
    found = document("iep98", *SMALL, "--set", "csmax=3")
    assert found["invariants"] == {"I1": "holds", "I4": "not tested"}
    assert found["outcome"] == "vacuous"


def test_rules_can_be_set_one_by_one() -> None:
    words = ("iep98", *SMALL, "--set", "activation=with_message", "--set", "wait=top")
    found = document(*words)
    assert (found["outcome"], found["states"]) == ("ok", 12574)  # what a5_safetime has
    again = json.loads(ddlsim(*shlex.split(found["command"])[1:], "--output", "json").out)
    assert again == found


def test_the_scope_of_transactions() -> None:
    found = document("iep110", "--set", "time=5", "--mutant", "no_commit_check")
    assert found["invariants"]["I8"] == "violated"
    assert found["found"][0]["summary"] == (
        "T1: I is version 0, that at commit_ts 1, and a change between is not compatible"
    )


def test_depth_and_time_end_it() -> None:
    shallow = document("iep98", *SMALL, "--depth", "3")
    assert (shallow["ended"], shallow["depth"], shallow["outcome"]) == ("depth", 4, "unknown")
    done = ddlsim("explore", "iep98", *SMALL, "--depth", "3")
    assert "depth 4 (3 actions); there are others behind --depth" in flat(done)
    assert done.code == 7
    whole = document("iep98", *SMALL, "--depth", "17")
    assert (whole["ended"], whole["outcome"]) == ("exhausted", "ok")
    late = ddlsim("explore", "iep98", "--time", "0.001s", "--output", "json")
    found = json.loads(late.out)
    assert (late.code, found["ended"], found["outcome"]) == (7, "time", "unknown")
    assert set(found["invariants"].values()) == {"not decided"}


def test_an_interrupt_says_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Exhaustion, _is_over: object) -> None:
        raise EndedError(2)

    monkeypatch.setattr(Exhaustion, "run", interrupted)
    done = ddlsim("explore", "iep98", *SMALL)
    assert done.code == 130
    assert done.out.startswith("UNKNOWN  iep98, iep\n")
    assert "1 states, 1 generated, depth 1 (0 actions); ended by an interrupt" in flat(done)


def test_too_many_states_end_it_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore_scope, "STATES_MOST", 5_000)
    done = ddlsim("explore", "iep98", *SMALL, "--output", "json")
    found = json.loads(done.out)
    assert (done.code, found["ended"], found["outcome"]) == (7, "states", "unknown")
    assert set(found["invariants"].values()) == {"not decided"}


def test_tla_writes_the_module_and_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tla"
    found = document("iep98", *SMALL, "--strategy", "a5_safetime", "--tla", str(folder))
    module, bounds = folder / "iep98.tla", folder / "iep98.cfg"
    assert found["tla"] == [module.as_posix(), bounds.as_posix()]
    assert re.search("^-+ MODULE iep98 -+$", module.read_text("utf-8"), re.MULTILINE)
    lines = bounds.read_text("utf-8").splitlines()
    assert {'    wait = "top"', "    nodes = 2", '    judged = {"I1", "I4"}'} <= set(lines)
    assert {"INVARIANTS I1 I4", "CHECK_DEADLOCK FALSE"} <= set(lines)
    assert f"--tla {folder}" in found["command"]
    assert document("iep98", *SMALL, "--strategy", "a5_safetime", "--tla", str(folder)) == found


@pytest.mark.parametrize("name", ["iep98.tla", "iep98.cfg"])
def test_tla_keeps_what_is_there(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("kept")
    done = refused("iep98", *SMALL, "--tla", str(tmp_path))
    assert f"{name}: there is something else of this name; name another directory" in done.err
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "kept"
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert f"{name}: there is something else" in refused("iep98", "--tla", str(tmp_path)).err
    assert [file.name for file in tmp_path.iterdir()] == [name]


PLUGIN = """
from ddlsim.spec.base import scope
from ddlsim.spec.iep98 import IEP98

scope(IEP98._replace(name="mine", tla=__import__("pathlib").Path(__file__).with_name("mine.tla"),
                     invariants={invariants}))
"""


def test_a_plugin_adds_a_scope(tmp_path: Path) -> None:
    file = tmp_path / "more.py"
    file.write_text(PLUGIN.format(invariants=("I1", "I4")))
    (tmp_path / "mine.tla").write_text("---- MODULE mine ----")
    words = ("explore", "mine", "--set", "nodes=1", "--load", str(file), "--output", "json")
    code = f"from tests.support.command import ddlsim; print(ddlsim(*{words!r}).out)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["scope"], found["outcome"]) == ("mine", "ok")
    assert found["command"].endswith(f" --load {file}")


def test_a_scope_with_an_invariant_that_no_checker_judges_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "more.py"
    file.write_text(PLUGIN.format(invariants=("I99",)))
    (tmp_path / "mine.tla").write_text("---- MODULE mine ----")
    words = ("explore", "mine", "--load", str(file))
    code = f"from tests.support.command import ddlsim; print(ddlsim(*{words!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "no checker judges the scope's invariant I99" in done.stdout


def test_the_guide_shows_what_it_prints() -> None:
    guide = (ROOT / "docs/how-to/explore.md").read_text("utf-8")
    [shown] = re.findall(r"The third ends so:\n\n```text\n(.+?)```", guide, re.DOTALL)
    done = ddlsim("explore", "iep98", "--mutant", "no_completeness_wait")
    assert shown in done.out


# --- what is refused ------------------------------------------------------------------------------


def refused(*words: str) -> Done:
    done = ddlsim("explore", *words)
    assert (done.code, done.out) == (2, "")
    return done


@pytest.mark.parametrize(
    "words",
    [
        ("--late", "20"),
        ("--fate", "lost"),
        ("--kind", "submit"),
        ("--seed", "0"),
        ("--strict",),
        ("--all-claims",),
        ("--out", "there"),
        ("--jobs", "2"),
        ("--allow-outside",),
    ],
)
def test_flags_of_scenarios_are_refused(words: tuple[str, ...]) -> None:
    said = refused("iep98", *words).err
    assert said.startswith(f"ddlsim: explore: {words[0]} is for scenarios, and iep98 is a scope")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("iep98", "--set", "nodes=9"), "--set nodes=9: expected a whole number from 1 to 6"),
        (("iep98", "--set", "wait=long"), "--set wait=long: expected one of top_less_dd, top,"),
        (("iep98", "--set", "nods=2"), "no constant or rule of scope iep98 is called 'nods'"),
        (("iep98", "--set", "nodes"), "--set nodes: expected path=value"),
        (("iep98", "--strategy", "b1"), "no design of scope iep98 is called 'b1'; known: iep,"),
        (("iep98", "--strategy", ""), "no design of scope iep98 is called ''"),
        (("iep98", "--mutant", "b1"), "no mutant of scope iep98 is called 'b1'"),
        (("iep-98",), "explore iep-98: neither a file nor a shipped scenario; did you mean iep98"),
        (("smoke", "--tla", "x"), "explore: --tla is for scopes"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(words: tuple[str, ...], said: str) -> None:
    assert refused(*words).err.startswith(f"ddlsim: {said}")


def test_tla_refuses_a_file(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("kept")
    assert "it is a file; name a directory" in refused("iep98", "--tla", str(file)).err
    assert file.read_text() == "kept"


def test_every_invariant_of_a_scope_has_a_checker() -> None:
    assert [scoped.checker_of("explore", one) for one in ("I1", "I4", "I3")] == [
        "atomicity",
        "own_ddl",
        "serializability",
    ]
