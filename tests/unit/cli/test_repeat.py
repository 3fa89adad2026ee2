"""The command that repeats a run runs as it stands, whatever flags the first one had."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support.command import ROOT, ddlsim

INLINE = 'sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"'
PLUGIN = """\
from dataclasses import replace
from msgspec.structs import replace as with_name
from ddlsim.strategies.base import STRATEGIES, strategy

iep = STRATEGIES.get("iep")
strategy(replace(iep, header=with_name(iep.header, name="NAME")))
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_designs: None) -> Path:
    """A folder with a scenario that is violated where it expects to be ok: its schema lies
    elsewhere, its design is in a plug-in, and there is a space in its name."""
    text = (ROOT / "scenarios/negative/noop_without_wait.toml").read_text("utf-8")
    name = f"ours_{tmp_path.name}".replace("-", "_")
    for old, new in (
        ('{ violated = ["own_ddl"] }', '"ok"'),
        (INLINE, 'file = "../t.sql"'),
        ('name = "iep"', f'name = "{name}"'),
    ):
        assert old in text
        text = text.replace(old, new)
    folder = tmp_path / "two words"
    folder.mkdir()
    (folder / "s.toml").write_text(text, "utf-8")
    (folder / f"{name}.py").write_text(PLUGIN.replace("NAME", name), "utf-8")
    (tmp_path / "t.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def flags(world: Path) -> list[str]:
    [plugin] = world.glob("*.py")
    return ["--allow-outside", "--load", f"two words/{plugin.name}"]


def commands(text: str) -> list[list[str]]:
    """Every command that a text tells, without its first word."""
    found = re.findall(r"ddlsim (run [^\n<]*)", html.unescape(text))
    return [shlex.split(words) for words in dict.fromkeys(found)]


def check(told: str, world: Path, *wanted: str) -> None:
    """There is one command; it has these words, and violates again."""
    [words] = commands(told)
    for word in (*flags(world), *wanted):
        assert word in words, words
    again = ddlsim(*words)
    assert (again.code, "VIOLATED" in again.out) == (1, True), (words, again)


def test_of_run(world: Path) -> None:
    more = ("--set", "protocol.resend_ms=150", "--memory", "2GiB", "--time", "1.5m")
    done = ddlsim("run", "two words/s.toml", *flags(world), *more)
    wanted = ("--set", "protocol.resend_ms=150", "--memory", "2048MiB", "--time", "90s")
    check(done.out, world, *wanted)


@pytest.mark.parametrize("output", ["text", "json", "junit"])
def test_of_verify(output: str, world: Path) -> None:
    done = ddlsim("verify", "two words/s.toml", *flags(world), "--output", output)
    if output == "json":
        [one] = json.loads(done.out)["scenarios"]
        check(one["command"], world)
    else:
        check(done.out, world)


@pytest.mark.parametrize("output", ["text", "json"])
def test_of_explain(output: str, world: Path) -> None:
    more = ("--set", "protocol.resend_ms=150")
    ddlsim("run", "two words/s.toml", *flags(world), *more, "--out", "out")
    words = ("explain", "out/seed-0.jsonl", *flags(world)[1:], "--html", "page.html")
    words += ("--all-claims", "--strict")
    done = ddlsim(*words, "--output", output)
    told = json.loads(done.out)["command"] if output == "json" else done.out
    wanted = ("protocol.resend_ms=150", "--all-claims", "--strict")
    check(told, world, *wanted)
    check(Path("page.html").read_text("utf-8"), world, *wanted)


def test_files_of_a_shipped_scenario_are_its_own() -> None:
    done = ddlsim("run", "generated/measured")
    assert "--allow-outside" not in done.out


def test_of_files_whose_names_begin_with_a_dash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were taken for flags: `ddlsim run -small.toml`."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "scenarios/strategies/B3-T1.toml").read_text("utf-8")
    Path("-whole.toml").write_text(text, "utf-8")
    ran = ddlsim("run", "--", "-whole.toml")
    shrunk = ddlsim("shrink", "./-whole.toml", "-o", "-small.toml")
    hunted = ddlsim("hunt", "--mutant", "no_commit_check", "--worlds", "9", "--corpus=-corpus",
                    "--seed", "1", "--jobs", "1", "--no-shrink")  # fmt: skip
    [world, *_] = sorted(Path("-corpus/found").glob("*.toml"))
    shown = world.read_text("utf-8").splitlines()[1]
    for told, named in (
        (ran.out, "./-whole.toml"),
        (shrunk.out, "./-small.toml"),
        (shown, f"./{world}"),
    ):
        [words] = re.findall(r"ddlsim ((?:run|shrink) .*)", told)
        assert shlex.split(words)[1] == named
    assert f"world         ./{world}" in hunted.out
    assert ddlsim("check", "--", "-small.toml").err.startswith("ddlsim: ./-small.toml: ")
