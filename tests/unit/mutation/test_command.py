"""`python -m ddlsim.mutation`: what it prints, how it is interrupted, and how it goes on."""

import os
import shutil
import signal
import subprocess
import sys
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

COMMAND = (sys.executable, "-m", "ddlsim.mutation")
LAST_ALONE = """\
import sys
from ddlsim.mutation import __main__ as command

survey = command.survey
command.survey = lambda seeds, *more: survey(seeds[-1:], *more)
sys.exit(command.main(sys.argv[1:]))
"""
"""The command, whose survey begins with its last seed."""
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


def test_an_interrupted_campaign_goes_on_to_the_results_of_an_uninterrupted_one(
    tmp_path: Path,
) -> None:
    """That one tries two mutants at once; its worlds of the survey came in another order."""
    out = tmp_path / "out"
    words = ["--area", "clocks", "--sample", "3", "--worlds", str(SMALL), "--seeds", "1"]
    alone = [*words, "--jobs", "1", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-c", LAST_ALONE, *alone],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        preexec_fn=heeds_signals,  # noqa: PLW1509 - no threads here
    ) as process:
        assert process.stderr is not None
        while (first := process.stderr.readline().decode()).startswith("surveyed"):
            pass
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert first.startswith("[1/3] ")
    assert process.returncode == 130
    kept = Store(out).results()
    assert first.endswith(f"{kept[0].sentence}\n")
    again = ended(*COMMAND, *alone)
    lines = again.stderr.splitlines()
    assert [line[:6] for line in lines] == ["[1/3] ", "[2/3] ", "[3/3] "][len(kept) :]
    assert (out / "report.txt").read_text("utf-8") == again.stdout
    found = Store(out).results()
    assert {one.verdict for one in found} == {"killed", "survived"}
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(out / "campaign.json", other)
    header, *worlds = (out / "worlds.jsonl").read_text("utf-8").splitlines(keepends=True)
    (other / "worlds.jsonl").write_text("".join([header, *reversed(worlds)]), "utf-8")
    at_once = ended(*COMMAND, *words, "--jobs", "2", "--out", str(other), "--json").stdout
    assert timeless(msgspec.json.decode(at_once, type=list[Result])) == timeless(found)


def ended(*words: str) -> subprocess.CompletedProcess[str]:
    """A process that has ended well."""
    return subprocess.run(
        words, cwd=PROJECT, env=os.environ, capture_output=True, text=True, check=True
    )


def timeless(results: list[Result]) -> list[Result]:
    """The results without what depends on the machine."""
    return [structs.replace(one, cpu_s=0.0) for one in results]
