"""The documents can be believed: their commands are understood and their links resolve."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import dev
from ddlsim.scenario.load import load
from tests.house import docs
from tests.house.tree import ROOT, plant


@cache
def help_of(program: str, verb: str) -> str | None:
    """What `ddlsim VERB --help` or the usage of dev.py says."""
    if program == "dev.py":
        return dev.__doc__ if verb in dev.VERBS else None
    command = [sys.executable, "-c", "import ddlsim.cli as c; raise SystemExit(c.main())"]
    done = subprocess.run(
        [*command, verb, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def test_the_readme_shows_commands() -> None:
    assert (ROOT / "README.md").exists(), "README.md is absent"
    shown = [words[0] for words in docs.commands((ROOT / "README.md").read_text("utf-8"))]
    assert {"ddlsim", "python3"} <= set(shown)


def test_the_commands_of_the_documents_are_understood() -> None:
    paths = docs.documents(ROOT)
    unknown = [line for path in paths for line in docs.unknown_commands(path, help_of)]
    assert not unknown, "\n".join(["", *unknown])


def test_the_files_of_runs_in_the_documents_are_written_by_their_commands() -> None:
    unmade = [line for path in docs.documents(ROOT) for line in docs.unmade_files(path, own_seed)]
    assert not unmade, "\n".join(["", *unmade])


def own_seed(scenario: str) -> int:
    return load(scenario).table.seed or 0


def test_the_links_of_the_documents_resolve() -> None:
    dead = list(docs.dead_links(ROOT))
    assert not dead, "\n".join(["", *dead])


def only_run(program: str, verb: str) -> str | None:
    known = {"ddlsim": "run", "dev.py": "test"}
    return "usage: ddlsim run [--seed N] [-o OUT]" if known[program] == verb else None


GOOD = """
```sh
python3 dev.py test -x     # pytest's own arguments
$ ddlsim run smoke \\
    --seed 3 -o out.toml | head
ddlsim --version
other --flag
```
```
ddlsim nonsense
```
"""


def test_understood_commands_pass(tmp_path: Path) -> None:
    plant(tmp_path, {"README.md": GOOD})
    assert len(list(docs.commands(GOOD))) == 3
    assert list(docs.unknown_commands(tmp_path / "README.md", only_run)) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ddlsim runs smoke", "no such verb"),
        ("python3 dev.py tests", "no such verb"),
        ("ddlsim run smoke --seeds=1..3", "no such flag: --seeds"),
        ("ddlsim run smoke -q", "no such flag: -q"),
    ],
)
def test_a_planted_command_is_found(line: str, complaint: str, tmp_path: Path) -> None:
    plant(tmp_path, {"README.md": f"```sh\n{line}\n```\n"})
    [fault] = docs.unknown_commands(tmp_path / "README.md", only_run)
    assert fault.endswith(complaint)


def test_a_file_that_a_run_of_one_seed_writes_passes(tmp_path: Path) -> None:
    lines = [
        "ddlsim run own --out a",
        "ddlsim explain a/seed-2.jsonl --html page.html",
        "ddlsim run --swarm --seed 7 --out b",
        "ddlsim run b/seed-7.toml",
    ]
    plant(tmp_path, {"README.md": "\n".join(["```sh", *lines, "```"])})
    assert list(docs.unmade_files(tmp_path / "README.md", {"own": 2}.__getitem__)) == []


@pytest.mark.parametrize(
    "line",
    ["run own", "run own --seed 3 --out a", "run own --seeds 0..9 --out a", "run own --out b"],
)
def test_a_file_that_no_run_writes_is_found(line: str, tmp_path: Path) -> None:
    text = f"```sh\nddlsim {line}\nddlsim shrink a/seed-2.jsonl\n```\n"
    plant(tmp_path, {"README.md": text})
    [fault] = docs.unmade_files(tmp_path / "README.md", {"own": 2}.__getitem__)
    assert fault.startswith("README.md: ddlsim shrink a/seed-2.jsonl: nothing above")


def test_resolving_links_pass(tmp_path: Path) -> None:
    text = (
        '# A `b` c: d!\n[x](reports/README.md) [y](#a-b-c-d) ![z](z.svg "title") [w](https:'
        "//example.org/x) `[code](nowhere)`\n```\n[more](nowhere)\n```\n"
    )
    plant(tmp_path, {"README.md": text, "z.svg": "", "reports/README.md": "[up](../README.md)"})
    assert list(docs.dead_links(tmp_path)) == []


@pytest.mark.parametrize("target", ["nowhere.md", "#none", "README.md#none", "../x/"])
def test_a_dead_link_is_found(target: str, tmp_path: Path) -> None:
    plant(tmp_path, {"README.md": f"# Title\n\nsee [it]({target})\n"})
    [fault] = docs.dead_links(tmp_path)
    assert target in fault
