"""The power of the search: how many of a small fixed sample of mutants it kills.

The sample is tried in a process of its own, since this one may have imported the protocol.
"""

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
SURVEYED: Final = 50
"""The seeds of the survey that chooses the worlds of each mutant."""


class Power(Record, frozen=True):
    """Kills of a sample, each mutant in `seeds` worlds at most.

    `areas` are (mutants, killed) by area, `survivors` the sentences of the mutants that survived.
    """

    mutants: int
    killed: int
    seeds: int
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
    return power_of(msgspec.json.decode(done.stdout, type=list[Result]), seeds)


def power_of(results: Sequence[Result], seeds: int) -> Power:
    """The power that results show."""
    *areas, whole = report.rows(results, {})
    survivors = (one.sentence for one in results if one.verdict == "survived")
    each = {row.area: (row.mutants, row.killed) for row in areas}
    return Power(whole.mutants, whole.killed, seeds, each, tuple(survivors))
