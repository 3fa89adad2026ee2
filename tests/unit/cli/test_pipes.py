"""A reader that goes away, a stream that is closed: no verdict, and no words about our insides."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddlsim.cli import arguments, main
from tests.support.command import ROOT, tiny
from tests.support.forked import forked
from tests.support.sweeps import sweep_file
from tests.unit.cli.test_tune import small_delays

NO_DD = ("--strategy", "a5_safetime", "--slo", "dml_wait_p99<=2s", "--seeds", "1", "--jobs", "1",
         "--current-dd", "0", "--current-h", "50", "--current-csmax", "7")  # fmt: skip
"""Options of an answer that takes few runs: a design without DD has none to search."""
SCHEMA = ("scenarios/realistic/schema.sql", "scenarios/realistic/orders.sql")
WORDS = {
    "run": ("run", "{scenario}"),
    "check": ("check", "{history}"),
    "explain": ("explain", "{history}"),
    "compat": ("compat", *SCHEMA),
    "verify": ("verify", "{scenario}", "--seeds", "1"),
    "sweep": ("sweep", "{sweep}", "--out", "{folder}/again", "--jobs", "1"),
    "tune": ("tune", "--delays", "{delays}", *NO_DD),
    "compare": ("compare", "iep", "--scenario", "{scenario}", "--seeds", "1", "--jobs", "1"),
    "advise": ("advise", "{facts}"),
    "plot": ("plot", "run_latency", "{history}", "--out", "{folder}/figure.svg"),
    "report": ("report", "{folder}/swept"),
    "hunt": ("hunt", "--seed", "3", "--worlds", "1", "--jobs", "1", "--out", "{folder}/hunted"),
    "explore": ("explore", "{scenario}", "--fate", "lost", "--kind", "submit", "--jobs", "1"),
    "ablate": ("ablate", "{scenario}", "--mutants", "no_commit_check", "--jobs", "1"),
    "shrink": ("shrink", "strategies/B3-T1", "--runs", "20"),
    "record": (
        "record",
        "sqlite:///{folder}/db",
        "--transactions",
        "20",
        "--out",
        "{folder}/taken",
    ),
    "rehearse": (
        "rehearse",
        "sqlite:///none",
        "{folder}/migration.sql",
        "--schema",
        "{folder}/schema.sql",
        "--before",
        "0.1s",
        "--after",
        "0.1s",
    ),
    "list": ("list", "clauses"),
    "new": ("new", "scenario", "mine"),
    "completion": ("completion", "zsh"),
    "run as JSON": ("run", "{scenario}", "--output", "json"),
    "check as JUnit": ("check", "{history}", "--output", "junit"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A scenario, its history, a sweep and its tables, measured delays."""
    folder = tmp_path_factory.mktemp("pipes")
    own = folder / "own"
    own.mkdir()
    scenario, sweep = tiny(own), sweep_file(folder, 1)
    assert main(["run", scenario, "--out", str(folder / "ran")]) == 0
    assert main(["sweep", sweep, "--out", str(folder / "swept"), "--jobs", "1"]) == 0
    (folder / "schema.sql").write_text("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    (folder / "migration.sql").write_text("ALTER TABLE t ADD COLUMN w INTEGER")
    facts = folder / "facts.toml"
    facts.write_text('[system]\nconcurrency = "locking"\nclocks = "unbounded"\n', "utf-8")
    return {
        "facts": str(facts),
        "folder": str(folder),
        "scenario": scenario,
        "history": str(folder / "ran" / "seed-0.jsonl"),
        "sweep": sweep,
        "delays": small_delays(folder),
    }


def unread(
    *words: str, stderr: bool = False, unbuffered: bool = False, cwd: Path = ROOT
) -> tuple[int, str]:
    """The exit code of a command whose pipe nothing reads any more, and its stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0):
        if not unbuffered:
            done = forked(*words, cwd=cwd, stdout=writer, stderr=writer if stderr else None)
            return done.code, done.err
        begun = subprocess.run(
            [sys.executable, "-u", "-m", "ddlsim", *words],
            cwd=cwd, stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        return begun.returncode, begun.stderr


def test_every_verb_is_looked_at() -> None:
    assert set(arguments.VERBS) <= set(WORDS)


@pytest.mark.parametrize(("verb", "unbuffered"), [*((v, False) for v in WORDS), ("list", True)])
def test_a_closed_pipe_is_no_verdict(verb: str, unbuffered: bool, files: dict[str, str]) -> None:
    words = [word.format(**files) for word in WORDS[verb]]
    cwd = Path(files["folder"]) if verb == "new" else ROOT
    code, told = unread(*words, unbuffered=unbuffered, cwd=cwd)
    assert code == 141
    assert all(line.startswith("ddlsim: ") for line in told.splitlines()), told


def test_a_reader_that_leaves_after_a_line_is_no_verdict(files: dict[str, str]) -> None:
    """As `head -1` does: the first line is read, what comes after it finds no reader."""
    words = [sys.executable, "-m", "ddlsim", "check", *[files["history"]] * 600]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as begun:
        assert begun.stdout is not None
        assert begun.stderr is not None
        assert begun.stdout.readline().startswith(b"OK  ")
        begun.stdout.close()
        assert begun.stderr.read() == b""
    assert begun.returncode == 141


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("words", [(), ("--help",), ("--version",), ("run", "--help")])
def test_help_that_is_not_read_is_no_trouble(words: tuple[str, ...], unbuffered: bool) -> None:
    assert unread(*words, unbuffered=unbuffered) in {(0, ""), (141, "")}


def test_words_about_bad_input_may_go_unread() -> None:
    assert unread("nonsense", stderr=True) == (2, "")


@pytest.mark.skipif(os.name != "posix", reason="closes a stream as a shell does")
@pytest.mark.parametrize(("closed", "code"), [((1,), 0), ((1, 2), 0), ((0, 1, 2), 0)])
def test_a_stream_that_is_closed_leaves_the_verdict(
    closed: tuple[int, ...], code: int, files: dict[str, str], tmp_path: Path
) -> None:
    begun = subprocess.run(
        [sys.executable, "-m", "ddlsim", "run", files["scenario"], "--out", str(tmp_path / "out")],
        cwd=ROOT,
        preexec_fn=lambda: [os.close(number) for number in closed],  # no threads
        check=False,
    )
    assert begun.returncode == code
    first = (tmp_path / "out" / "seed-0.jsonl").read_text("utf-8").partition("\n")[0]
    assert first.startswith("{"), "a line that was meant for the terminal"
