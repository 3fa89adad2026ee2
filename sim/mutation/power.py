"""The power of the search: how many of a small sample of mutants it kills.

The sample is drawn by the names of the mutants: it is the same until an edit of the source adds,
takes away or renames some. None is in it that is listed as equivalent.

The sample is tried in a process of its own, since this one may have imported the protocol.
"""

import hashlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from ddlsim.execute.isolation import CAN_FORK
from ddlsim.execute.workers import kernel_sees_to_it
from ddlsim.model.records import Record
from ddlsim.mutation import report
from ddlsim.mutation.records import Result
from ddlsim.problems import BadInputError

MUTANTS: Final = 36
SEEDS: Final = 15
DIGITS: Final = 8
SURVEYED: Final = 50
"""The seeds of the survey that chooses the worlds of each mutant."""


class Power(Record, frozen=True):
    """Kills of a sample, each mutant in `seeds` worlds at most.

    These come first from a survey of `surveyed` seeds: those in which the mutant makes a difference
    at all. `sample` is a digest of the mutants: shares of two samples say nothing of each other.
    `areas` are (mutants, killed) by area, `survivors` the sentences of the mutants that survived.
    """

    mutants: int
    killed: int
    seeds: int
    surveyed: int
    sample: str
    areas: dict[str, tuple[int, int]]
    survivors: tuple[str, ...]


def power(
    jobs: int | None = None,
    mutants: int = MUTANTS,
    seeds: int = SEEDS,
    surveyed: int = SURVEYED,
) -> Power:
    """Measure the power of the search; raises `BadInputError` where processes cannot fork."""
    if not CAN_FORK:
        raise BadInputError("--power needs processes that fork, which this system has not")
    words = ["--without-equivalent", "--sample", f"{mutants}", "--seeds", f"{seeds}", "--json"]
    words.append(f"--worlds={surveyed}")
    done = subprocess.run(
        [sys.executable, "-m", "ddlsim.mutation", *words, *([f"--jobs={jobs}"] if jobs else [])],
        stdout=subprocess.PIPE,
        preexec_fn=partial(kernel_sees_to_it, signal.SIGTERM),
        check=True,
    )
    return power_of(msgspec.json.decode(done.stdout, type=list[Result]), seeds, surveyed)


def power_of(results: Sequence[Result], seeds: int, surveyed: int = SURVEYED) -> Power:
    """The power that results show."""
    *areas, whole = report.rows(results, {})
    survivors = (one.sentence for one in results if one.verdict == "survived")
    each = {row.area: (row.mutants, row.killed) for row in areas}
    sample = digest_of(results)
    return Power(whole.mutants, whole.killed, seeds, surveyed, sample, each, tuple(survivors))


def digest_of(results: Sequence[Result]) -> str:
    """A digest of which mutants these are: their names and changes, not the lines of these."""
    named = sorted(f"{one.id} {one.sentence.partition(': ')[2]}" for one in results)
    return hashlib.sha256("\n".join(named).encode()).hexdigest()[:DIGITS]
