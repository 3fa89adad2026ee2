"""One seed to a row of results, and many seeds on all cores.

A row is flat data: what a table of runs would hold. The same job and seed give the same row in any
process; rows come back sorted by seed, so a campaign's result does not depend on who ran what.
"""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

from sim.checkers.base import judge
from sim.checkers.explain import explain
from sim.checkers.outcome import Outcome
from sim.checkers.verdict import Verdict
from sim.history import codec
from sim.history.events import StepMissed
from sim.history.figures import Buckets, Figures, bucketed, figures, samples
from sim.history.history import History
from sim.model.records import Record
from sim.registry import UnknownPluginError, load_file
from sim.world import findings
from sim.world.plan import plan
from sim.world.problems import ScenarioError
from sim.world.run import BadDesign, run
from sim.world.scenario import Scenario, read

ALONE_S: Final = 1.0
"""How long seeds are run in this process before others are started to help."""
CHUNK_MOST: Final = 32
BAD_INPUT: Final = (ScenarioError, BadDesign, UnknownPluginError)
"""What is wrong with what was asked for, as against what went wrong in a run."""


class Job(Record, frozen=True):
    """What all seeds of a campaign have in common; enough for another process to run them.

    `keep` is a directory that takes the histories of `first` and of every run that failed.
    """

    name: str
    text: str
    overrides: dict[str, Any]
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False
    trace: bool = False
    keep: str | None = None
    first: int = 0
    debug: bool = False


def job_of(scenario: Scenario, **rest: Any) -> Job:
    """The job of running a scenario."""
    return Job(scenario.name, scenario.text, scenario.overrides, **rest)


class ViolationRow(Record, frozen=True):
    """One anomaly under judgement, as the interface's `violations` have it.

    `signature` is equal for what is the same but for names and times; `argument` tells it in words,
    for the first of its signature in a run.
    """

    invariant: str
    checker: str
    kind: str
    severity: str
    status: str
    strict_only: bool
    summary: str
    witness: tuple[Any, ...]
    signature: tuple[str, ...]
    argument: str | None


class RunRow(Record, frozen=True):
    """One run: what was run, how it ended, what was found, and its figures.

    `missed` are scripted steps that did not end as expected. A crashed run has a `crash` and
    neither fingerprint nor figures.
    """

    scenario: str
    strategy: str
    mutant: str | None
    seed: int
    outcome: Outcome
    fingerprint: str | None
    reached: dict[str, int]
    violations: tuple[ViolationRow, ...]
    figures: Figures | None
    pools: dict[str, Buckets]
    missed: tuple[str, ...]
    settings: dict[str, dict[str, int]]
    crash: str | None = None
    traceback: str | None = None


# --- one seed --------------------------------------------------------------------------------------


class Runner:
    """Runs the seeds of one job in this process."""

    def __init__(self, job: Job) -> None:
        for file in job.loads:
            load_file(file)
        self.job = job
        self.scenario = read(job.text, job.name, overrides=job.overrides)
        self.findings = findings.known()

    def row(self, seed: int) -> RunRow:
        """Plan, run and judge one seed."""
        job = self.job
        try:
            history = run(plan(self.scenario, seed, trace=job.trace))
            verdict = judge(
                history,
                strict=job.strict or self.scenario.table.strict,
                all_claims=job.all_claims,
                findings=self.findings,
            )
            row = _row(self.scenario, seed, history, verdict)
        except BAD_INPUT:
            raise
        except Exception as error:
            return _crashed(self.scenario, seed, error, debug=job.debug)
        if job.keep is not None and (seed == job.first or failed(row)):
            codec.save(history, Path(job.keep, history_name(seed)))
        return row


def history_name(seed: int) -> str:
    """The file that holds the history of a seed."""
    return f"seed-{seed}.jsonl"


def failed(row: RunRow) -> bool:
    """Whether a run is worth looking at by itself."""
    return row.outcome not in (Outcome.OK, Outcome.VACUOUS) or bool(row.missed)
