"""`ddlsim ablate SCOPE`: its cells beside a search of this test, its words, and how it ends."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cli.signals import EndedError
from ddlsim.cli.verbs import ablate_scope
from ddlsim.search import ablate_scope as rows
from ddlsim.spec.base import SCOPES, Machine, set_up
from ddlsim.spec.visited import Visited
from tests.support.command import Done, ddlsim
from tests.support.forked import forked
from tests.support.json_schemas import wrong

SMALL = {
    "iep98": ("nodes=2", "time=3", "dd=1", "skew=1", "csmax=1"),
    "iep110": ("nodes=1", "time=7", "transactions=1"),
}
TINY = tuple(word for setting in SMALL["iep98"] for word in ("--set", setting))
LONG = 99
"""More actions than any run of these worlds has."""


def document(*words: str, code: int = 0) -> Any:
    done = ddlsim("ablate", *words, "--jobs", "1", "--output", "json")
    assert done.code == code
    found = json.loads(done.out)
    assert wrong("ablate", found) == []
    return found


def flat(done: Done) -> str:
    return " ".join(done.out.split())


def actions_by_depth_first(machine: Machine[Any], invariant: str) -> int | None:
    """The actions of a shortest run that breaks an invariant; None where no run does.

    Runs are made action by action, backwards and forwards; a state is left alone where it was
    reached by as few actions before.
    """
    least: dict[Any, int] = {}
    shortest = LONG
    runs = [iter([machine.first()])]
    while runs:
        state = next(runs[-1], None)
        if state is None:
            runs.pop()
            continue
        actions = len(runs) - 1
        if least.get(state, LONG) <= actions or actions >= shortest:
            continue
        least[state] = actions
        if invariant in machine.broken(state):
            shortest = actions
        runs.append(after for _, after in machine.steps(state))
    return None if shortest == LONG else shortest


@pytest.mark.parametrize("scope", SMALL)
def test_each_cell_has_the_length_that_runs_made_one_by_one_have(scope: str) -> None:
    given = SCOPES.get(scope)
    found = document(scope, *(word for one in SMALL[scope] for word in ("--set", one)))
    names = {rule.name for rule in given.rules}
    lengths = {}
    for row in found["rows"]:
        words = shlex.split(row["command"])
        settings = dict(word.split("=") for word in words if "=" in word)
        values = {key: int(one) if key not in names else one for key, one in settings.items()}
        setup = set_up(given, settings=values)
        for invariant, cell in row["cells"].items():
            actions = actions_by_depth_first(setup.machine((invariant,)), invariant)
            where = row["rule"], row["choice"], invariant
            assert (where, cell["actions"]) == (where, actions)
            assert (cell["decision"] == "violated") == (actions is not None)
            lengths[where] = actions
    assert None in lengths.values()
    assert len({*lengths.values()}) > 3


def test_the_command_of_a_row_finds_what_its_cells_say() -> None:
    for row in document("iep98", *TINY)["rows"]:
        done = ddlsim(*shlex.split(row["command"])[1:], "--output", "json")
        found = json.loads(done.out)
        again = {one["invariant"]: one for one in found["found"]}
        assert found["invariants"] == {one: c["decision"] for one, c in row["cells"].items()}
        for invariant, cell in row["cells"].items():
            shown = again.get(invariant)
            assert cell["actions"] == (None if shown is None else len(shown["steps"]))
            assert cell["states"] == (None if shown is None else shown["states"])
            assert cell["summary"] == (None if shown is None else shown["summary"])


def test_the_matrix_says_which_rows_have_no_effect_and_which_constants_are_their_own() -> None:
    done = ddlsim("ablate", "iep98", *TINY, "--jobs", "1")
    assert done.code == 0
    assert done.out.startswith("OK  iep98, iep\n")
    lines = done.out.split("\n")
    assert all(len(line) <= 80 for line in lines if not line.startswith("repeat: "))
    assert re.search(r"^ +I1 +I4$", done.out, re.MULTILINE)
    assert "I1 atomicity I4 own_ddl N (M) a shortest run" in flat(done)
    assert re.search(r"^control +no effect +no effect$", done.out, re.MULTILINE)
    assert re.search(r"^control \* +no effect +no effect$", done.out, re.MULTILINE)
    assert re.search(r"^  never +4 \(\d+\) +\d+ \(\d+\)$", done.out, re.MULTILINE)
    assert re.search(r"^  newest_applied +2 \(\d+\) +no effect$", done.out, re.MULTILINE)
    assert "is mutant no_completeness_wait, design a1_naive_future" in flat(done)
    assert "is design a7_unmerged constants changes = 1, ddls = 1" in flat(done)
    assert flat(done).endswith(
        "repeat: ddlsim ablate iep98 "
        "--set nodes=2 --set time=3 --set dd=1 --set skew=1 --set csmax=1 "
        "no effect: wait=top, wait=top_plus_csmax, wait=top_less_dd_plus_csmax, "
        "acknowledgement=all_nodes"
    )


def test_processes_find_the_same() -> None:
    words = ("ablate", "iep98", *TINY, "--output", "json")
    assert ddlsim(*words, "--jobs", "2").out == ddlsim(*words, "--jobs", "1").out


def test_another_design_is_the_control() -> None:
    found = document("iep98", *TINY, "--strategy", "a5_safetime")
    assert found["rules"]["wait"] == "top"
    waits = {row["choice"]: row["effect"] for row in found["rows"] if row["rule"] == "wait"}
    assert waits["top_plus_csmax"] == "no effect"
    assert waits["top_less_dd"] == "violated"  # Tu = Tm needs the wait in full
    assert found["rows"][1]["command"].startswith("ddlsim explore iep98 --strategy a5_safetime ")


def test_a_control_that_is_broken_is_violated() -> None:
    found = document("iep98", *TINY, "--set", "wait=never", code=1)
    assert found["outcome"] == "violated"
    assert found["rows"][0]["effect"] == "violated"
    done = ddlsim("ablate", "iep98", *TINY, "--set", "wait=never", "--jobs", "1")
    assert done.out.startswith("VIOLATED  iep98, iep\n")
    assert "rule wait = never: for nothing [98.past.3]" in flat(done)


def test_what_cannot_happen_is_not_said_to_hold() -> None:
    found = document("iep98", *TINY, "--set", "clients=0", code=5)
    assert found["outcome"] == "vacuous"
    assert {row["cells"]["I4"]["decision"] for row in found["rows"]} == {"not tested"}
    assert found["no_effect"] == []
    assert {row["effect"] for row in found["rows"]} == {"violated", "not tested"}


def test_behind_a_depth_nothing_is_decided() -> None:
    found = document("iep98", *TINY, "--depth", "3", code=7)
    assert (found["outcome"], found["ended"]) == ("unknown", "depth")
    decided = {row["choice"]: row["cells"]["I1"] for row in found["rows"]}
    assert decided["newest_applied"]["actions"] == 2
    assert decided["never"]["decision"] == decided[None]["decision"] == "not decided"
    assert found["no_effect"] == []
    assert all(row["command"].endswith(" --depth 3") for row in found["rows"])


def test_a_row_at_its_end_is_no_longer_undecided_by_a_depth() -> None:
    whole = document("iep98", *TINY)
    assert document("iep98", *TINY, "--depth", str(LONG))["rows"] == [
        {**row, "command": f"{row['command']} --depth {LONG}"} for row in whole["rows"]
    ]


def test_time_that_is_up_leaves_rows_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows.Limits, "is_over", True)
    found = document("iep98", *TINY, "--time", "1h", code=7)
    assert (found["outcome"], found["ended"]) == ("unknown", "time")
    assert {row["effect"] for row in found["rows"]} == {"not decided"}


def test_too_many_states_leave_a_row_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablate_scope, "STATES_MOST", 100)
    found = document("iep98", *TINY, code=7)
    assert (found["ended"], found["rows"][0]["effect"]) == ("states", "not decided")
    assert {row["effect"] for row in found["rows"]} == {"violated", "not decided"}


def test_a_row_that_is_not_decided_leaves_the_whole_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = document("iep98", *TINY)["rows"]
    most = max(row["states"] for row in whole if row["rule"] is None)
    assert most < max(row["states"] for row in whole)
    monkeypatch.setattr(ablate_scope, "STATES_MOST", most)
    found = document("iep98", *TINY, code=7)
    assert (found["outcome"], found["ended"]) == ("unknown", "states")
    assert {row["effect"] for row in found["rows"] if row["rule"] is None} == {"no effect"}


def test_an_interrupt_shows_the_rows_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    visit, visits = Visited.run, [0]

    def interrupted(self: Visited, is_over: Any) -> KeyboardInterrupt | None:
        visits[0] += 1
        return EndedError(2) if visits[0] == 3 else visit(self, is_over)

    monkeypatch.setattr(Visited, "run", interrupted)
    done = ddlsim("ablate", "iep98", *TINY, "--jobs", "1", "--output", "json")
    found = json.loads(done.out)
    assert (done.code, found["ended"], found["outcome"]) == (130, "interrupted", "unknown")
    assert wrong("ablate", found) == []
    effects = [row["effect"] for row in found["rows"]]
    assert effects == ["not decided"] * 2 + ["violated"] * 2 + ["not decided"] * 16


def test_a_row_that_no_process_survives_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def act(tasks: Sequence[rows.Task]) -> list[rows.Came]:
        return [rows.lost(task, "its process was killed by signal 9 (SIGKILL)") for task in tasks]

    monkeypatch.setattr(rows, "worker", lambda loads, limits: act)
    found = document("iep98", *TINY, code=4)
    assert found["outcome"] == "crashed"
    assert {row["effect"] for row in found["rows"]} == {"not decided"}
    assert found["rows"][0]["died"] == "its process was killed by signal 9 (SIGKILL)"


PLUGIN = """
from pathlib import Path
from ddlsim.spec.base import scope
from ddlsim.spec.iep98 import IEP98
scope(IEP98._replace(name="mine", tla=Path(__file__).with_name("mine.tla"), rules=IEP98.rules))
"""


def test_a_scope_of_a_plugin_is_ablated(tmp_path: Path) -> None:
    (tmp_path / "mine.tla").write_text("")
    (tmp_path / "mine.py").write_text(PLUGIN)
    words = ("mine", *TINY, "--depth", "2", "--load", str(tmp_path / "mine.py"))
    done = forked("ablate", *words, "--jobs", "2", "--output", "json")
    found = json.loads(done.out)
    assert (done.code, found["scope"]) == (7, "mine")
    assert all(f"--load {tmp_path / 'mine.py'}" in row["command"] for row in found["rows"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("iep89",), "ablate iep89: neither a file nor a shipped scenario; did you mean iep98"),
        (("iep98", "--seeds", "3"), "ablate: --seeds is for scenarios, and iep98 is a scope;"),
        (("iep98", "--mutants", "a"), "ablate: --mutants is for scenarios, and iep98 is a scope;"),
        (("iep98", "--swarm"), "ablate: --swarm is for scenarios, and iep98 is a scope;"),
        (("iep98", "--set", "wiat=never"), "no constant or rule of scope iep98 is called 'wiat'; "),
        (("iep98", "--set", "nodes=0"), "--set nodes=0: expected a whole number from 1 to 6"),
        (("iep98", "--strategy", "a5_saftime"), "no design of scope iep98 is called 'a5_saftime'"),
        ((), "ablate: SCENARIO or SCOPE is missing; ddlsim list scopes and"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(words: tuple[str, ...], said: str) -> None:
    done = ddlsim("ablate", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ddlsim: {said}")
