"""`ddlsim new`: each file that it writes runs as it says, and none is overwritten."""

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ddlsim.cli.arguments import NEW
from ddlsim.cli.verbs.new import KINDS, command, filled
from ddlsim.model.clauses import CLAUSES
from tests.support.command import ROOT, Done, ddlsim
from tests.support.forked import forked

PAGE = ROOT / "docs/how-to/write-your-own.md"


READ = {
    "strategy": "check_commit",
    "mutant": "check_commit",
    "checker": "class Case",
    "workload": "class WorkloadWorld",
    "fault": "class FaultActions",
    "scenario": "delay_duration_ms",
}
"""A name that `read` of each kind must show: fields, methods, settings that the file may use."""


def call(folder: Path, words: str) -> Done:
    """A command as its user gives it, in a folder of the user's."""
    return forked(*shlex.split(words), cwd=folder)


def new(folder: Path, kind: str) -> dict[str, str]:
    """What `new` printed about a file called `own`, by its labels."""
    with contextlib.chdir(folder):
        made = ddlsim("new", kind, "own")
    assert (made.code, made.err) == (0, "")
    return dict(line.split(":", 1) for line in made.out.splitlines()[1:])


@pytest.mark.parametrize("kind", NEW)
def test_a_new_file_runs_by_the_command_that_is_printed(kind: str, tmp_path: Path) -> None:
    words = new(tmp_path, kind)["run"].strip().removeprefix("ddlsim ")
    done = call(tmp_path, f"{words} --output json")
    assert (done.code, done.err) == (int(kind == "mutant"), "")
    [run] = json.loads(done.out)["runs"]
    assert run["outcome"] == ("violated" if kind == "mutant" else "ok")
    assert ("atomicity" in {one["checker"] for one in run["violations"]}) == (kind == "mutant")


def test_a_new_file_is_listed_and_loaded_by_worker_processes(tmp_path: Path) -> None:
    printed = new(tmp_path, "strategy")
    listed = call(tmp_path, f"{printed['list'].strip().removeprefix('ddlsim ')} --output json")
    assert "own" in {entry["name"] for entry in json.loads(listed.out)}
    done = call(tmp_path, f"{command('strategy', 'own', 'own.py')} --seeds 0..1 --jobs 2")
    assert (done.code, done.out.split()[0]) == (0, "OK"), done


CITED = {"strategy": {"98.past.2"}, "mutant": {"98.past.2"}}
"""The clauses that the files of each kind cite; both replace the rule of an update's activation."""


@pytest.mark.parametrize("kind", NEW)
def test_a_new_file_cites_the_clause_of_the_rule_that_it_replaces(kind: str) -> None:
    cited = set(re.findall(r"\b(?:98|110)(?:\.\w+)+", filled(kind, "own")))
    sentences = {one.id: one.sentence for one in CLAUSES}
    assert cited == CITED.get(kind, set())
    assert all("Tu = Tm + DD" in sentences[one] for one in cited)


@pytest.mark.parametrize("kind", NEW)
def test_new_names_a_command_that_shows_what_may_stand_in_the_file(
    kind: str, tmp_path: Path
) -> None:
    words = shlex.split(new(tmp_path, kind)["read"])
    if words[0] == "ddlsim":
        done = forked(*words[1:], cwd=tmp_path)
    else:
        asked = [sys.executable, *words[1:]]
        ran = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
        done = Done(ran.returncode, ran.stdout, ran.stderr)
    assert done.code == 0, done.err
    assert READ[kind] in done.out


def test_a_new_checker_convicts_where_its_limit_is_small(tmp_path: Path) -> None:
    new(tmp_path, "checker")
    file = tmp_path / "own.py"
    file.write_text(file.read_text("utf-8").replace("LIMIT_MS = 10_000", "LIMIT_MS = 50"), "utf-8")
    done = call(tmp_path, "run smoke --load own.py --all-claims --output json")
    [run] = json.loads(done.out)["runs"]
    assert done.code == 1
    assert {one["kind"] for one in run["violations"] if one["checker"] == "own"} == {"ddl-late"}


def test_two_files_of_one_name_are_both_loaded(tmp_path: Path) -> None:
    for folder, kind in (("a", "strategy"), ("b", "mutant")):
        (tmp_path / folder).mkdir()
        new(tmp_path / folder, kind)
    both = "--load a/own.py --load b/own.py --load ./a/own.py"
    assert call(tmp_path, f"run smoke --strategy own --mutant own {both}").code == 1


@pytest.mark.parametrize("name", ["iep", "c1_schema"])
def test_a_plugin_of_a_name_that_is_taken_is_one_line(name: str, tmp_path: Path) -> None:
    """One of the other plane would be run in its place, and nothing tell it."""
    file = tmp_path / "twice.py"
    file.write_text(filled("strategy", name), "utf-8")
    done = ddlsim("run", "smoke", "--load", str(file))
    assert (done.code, done.out) == (2, "")
    what = f"two strategy plug-ins are called {name!r}; rename yours"
    assert re.fullmatch(rf"ddlsim: {re.escape(str(file))}, line \d+: {what}\n", done.err)


@pytest.mark.parametrize("kind", NEW)
def test_a_file_that_exists_is_left_as_it_is(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"own{Path(KINDS[kind].skeleton).suffix}"
    file.write_text("mine", "utf-8")
    with contextlib.chdir(tmp_path):
        done = ddlsim("new", kind, "own")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"ddlsim: new: {file.name} exists and is left as it is; take another name\n"
    assert file.read_text("utf-8") == "mine"


def test_a_scenario_is_no_module_so_it_may_have_the_name_of_one(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert ddlsim("new", "scenario", "queue").code == 0
        assert ddlsim("run", "queue.toml").code == 0


BAD = {
    "strategy a-b": "new: invalid name 'a-b'; use small letters, digits and _, a letter first",
    "strategy ../x": "new: invalid name '../x'",
    "fault Class": "new: invalid name 'Class'",
    "fault class": "new: invalid name 'class': Python has that name already",
    "strategy json": "new: invalid name 'json': Python has that name already",
    "strategy ddlsim": "new: invalid name 'ddlsim': Python has that name already",
    "mutant 1st": "new: invalid name '1st'",
    "checker ''": "new: invalid name ''",
    "strategy iep": "new: a strategy called 'iep' is shipped already; take another name",
    "strategy c1_schema": "new: a strategy called 'c1_schema' is shipped already",
    "workload mixed": "new: a workload called 'mixed' is shipped already",
    "strategi own": "new: KIND: unknown 'strategi'; did you mean strategy",
    "strategy": "new: NAME is missing",
    "": "new: KIND is missing; known: strategy, mutant, checker, workload, fault, scenario",
}


@pytest.mark.parametrize("words", BAD)
def test_what_cannot_be_made_is_one_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ddlsim("new", *shlex.split(words))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ddlsim: {BAD[words]}")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["workload", "fault", "check", "ms", "anomaly", "iep2", "a__b"])
@pytest.mark.parametrize("kind", ["strategy", "mutant", "checker", "workload", "fault"])
def test_no_name_hides_what_the_file_needs(kind: str, name: str) -> None:
    text = filled(kind, name)
    compile(text, f"{name}.py", "exec")
    imported = {part for line in text.splitlines() if " import " in line
                for part in line.partition(" import ")[2].split(", ")}  # fmt: skip
    hidden = {f"class {one}:" for one in imported} | {f"{one} = " for one in imported}
    assert not [line for line in text.splitlines() if line.startswith(tuple(hidden))]
    assert "my_" not in text
    assert "My" not in text


def test_the_page_shows_each_file_and_its_command() -> None:
    page = PAGE.read_text("utf-8")
    for kind in NEW:
        assert f"../../sim/cli/skeletons/{KINDS[kind].skeleton}\n" in page
        if kind != "scenario":
            assert f"ddlsim {command(kind, f'my_{kind}', f'my_{kind}.py')}\n" in page
