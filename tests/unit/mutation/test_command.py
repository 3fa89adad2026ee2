"""`python -m ddlsim.mutation`: what it prints, how it is interrupted, and how it goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from ddlsim.mutation.__main__ import chosen, main, parsed
from ddlsim.mutation.areas import AREAS
from ddlsim.mutation.campaign import Campaign
from ddlsim.mutation.records import Result
from ddlsim.mutation.store import Store
from ddlsim.problems import BadInputError
from tests.support.killing import heeds_signals
from tests.support.trials import PROJECT

SERVER = """\
import json, os, sys
from ddlsim.mutation import __main__ as command
from ddlsim.mutation import campaign

command.warm()
command.mutants()
campaign.used_rules()
survey = command.survey
for line in sys.stdin:
    words, last_alone, *files = json.loads(line)
    child = os.fork()
    if not child:
        for number, file in enumerate(files, start=1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
        least = -1 if last_alone else -2
        command.survey = lambda seeds, *more: survey(seeds[least:], *more)
        sys.exit(command.main(words))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Forks a process for each command: what all of them read of the source is read once.

A command, whether its survey ends with its last seed, and the files of its stdout and stderr come
in a line; its process's number and its code are answered in a line each. A survey looks at the last
two of its seeds alone, whose worlds are small.
"""
SMALL = 5
"""So many seeds end with one whose world is small."""


class EveryDesign:
    """A campaign that tries every mutant, and has not looked at the rules of designs."""

    def designs(self, _mutant: object) -> tuple[str, ...]:
        return ("iep",)


def ids(*words: str) -> list[str]:
    campaign: Campaign = EveryDesign()  # type: ignore[assignment]  # all that is asked of one
    return [one.id for one in chosen(parsed(list(words)), campaign)]


def test_areas_and_operators_restrict_the_mutants() -> None:
    found = ids("--area", "locks", "--area", "raft", "--operator", "wait", "--operator", "guard")
    assert {name.partition(":")[0] for name in found} == {"locks", "raft"}
    assert {name.split(":")[3] for name in found} <= {"wait", "guard"}


def test_a_sample_has_its_size_and_all_has_every_mutant() -> None:
    assert len(ids("--sample", f"{2 * len(AREAS)}")) == 2 * len(AREAS)
    assert len(ids("--all")) > len(ids("--all", "--without-equivalent")) > 2_000


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(BadInputError, match="no mutant is called 'raft:x'"):
        ids("--only", "raft:x")


@pytest.mark.parametrize("words", [("--jobs", "0"), ("--area", "moon"), ("--cpu", "-1")])
def test_options_without_sense_are_exit_2(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2


class Commands:
    """Commands in processes that `SERVER` forks."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server, self._folder = server, folder

    def interrupted(self, *words: str) -> tuple[int, str]:
        """Interrupt a command, whose survey begins with its last seed, behind its first result.

        Its code and that result's line.
        """
        errors = self._folder / "errors"
        os.mkfifo(errors)
        self._send(words, errors, last_alone=True)
        with errors.open() as lines:
            while (first := lines.readline()).startswith("surveyed"):
                pass
            os.kill(self._answer(), signal.SIGINT)
            lines.read()
        return self._answer(), first

    def ended(self, *words: str) -> tuple[str, str]:
        """What a command that ends well has written to stdout and to stderr."""
        errors = self._folder / f"{len(list(self._folder.iterdir()))}.err"
        self._send(words, errors, last_alone=False)
        _, code = self._answer(), self._answer()
        assert code == 0, errors.read_text("utf-8")
        return errors.with_suffix(".out").read_text("utf-8"), errors.read_text("utf-8")

    def _send(self, words: tuple[str, ...], errors: Path, *, last_alone: bool) -> None:
        assert self._server.stdin is not None
        request = (words, last_alone, str(errors.with_suffix(".out")), str(errors))
        self._server.stdin.write(f"{json.dumps(request)}\n")
        self._server.stdin.flush()

    def _answer(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    folder = tmp_path / "streams"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heeds_signals,  # noqa: PLW1509 - no threads here
    ) as server:
        yield Commands(server, folder)


def test_an_interrupted_campaign_goes_on_to_the_results_of_an_uninterrupted_one(
    tmp_path: Path, commands: Commands
) -> None:
    """That one tries two mutants at once; its worlds of the survey came in another order."""
    out = tmp_path / "out"
    words = ["--area", "clocks", "--sample", "2", "--worlds", str(SMALL), "--seeds", "1"]
    alone = [*words, "--jobs", "1", "--out", str(out)]
    code, first = commands.interrupted(*alone)
    assert first.startswith("[1/2] ")
    assert code == 130
    kept = Store(out).results()
    assert first.endswith(f"{kept[0].sentence}\n")
    report, told = commands.ended(*alone)
    lines = told.splitlines()
    assert [line[:6] for line in lines] == ["[1/2] ", "[2/2] "][len(kept) :]
    assert (out / "report.txt").read_text("utf-8") == report
    found = Store(out).results()
    assert {one.verdict for one in found} == {"killed", "survived"}
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(out / "campaign.json", other)
    header, *worlds = (out / "worlds.jsonl").read_text("utf-8").splitlines(keepends=True)
    (other / "worlds.jsonl").write_text("".join([header, *reversed(worlds)]), "utf-8")
    at_once, _ = commands.ended(*words, "--jobs", "2", "--out", str(other), "--json")
    assert timeless(msgspec.json.decode(at_once, type=list[Result])) == timeless(found)


def timeless(results: list[Result]) -> list[Result]:
    """The results without what depends on the machine."""
    return [structs.replace(one, cpu_s=0.0) for one in results]
