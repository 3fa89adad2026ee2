"""One seed to a row of results: planned, run, judged, and flat enough for a table.

The same job and seed give the same row in any process.
"""

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import field, structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.designs import BadDesignError
from ddlsim.cluster.fdb_cluster import schema_servers
from ddlsim.cluster.run import run, run_to
from ddlsim.execute.isolation import Handlers, Limits, Loss, isolated
from ddlsim.execute.parallel import ALONE_S, Executor
from ddlsim.files import PARTIAL, WriteError, write_text
from ddlsim.history import codec
from ddlsim.history.history import History
from ddlsim.model.records import Record
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.registry import UnknownPluginError, load_file, place_in_plugins
from ddlsim.scenario import findings
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.repeated import repeated
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.verify.prices import prices
from ddlsim.verify.row import RunRow, row_of

BAD_INPUT: Final = (ScenarioError, BadDesignError, UnknownPluginError)
"""What is wrong with what was asked for, as against what went wrong in a run."""


class Job(Record, frozen=True):
    """The parameters that all seeds of a campaign share; enough to run them in another process.

    `keep` is a directory that takes the histories of the seed `first` and of every run that failed.
    With `stream` every history is written there while its run goes on, and read back to be judged,
    or, with `unjudged`, only written.
    With `swarm` each seed draws a scenario of its own, around the one here or, where that has no
    name, a whole one; its text is kept beside its history. `outside` is for the command that
    repeats a run: it must allow files outside of the scenario's folder. `models`: compare the parts
    of nodes with their models, which makes a run twice as long and alters nothing else in it.
    `prices`: measure what the design costs, which needs a `trace`.
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
    swarm: bool = False
    limits: Limits = field(default_factory=Limits)
    stream: bool = False
    unjudged: bool = False
    outside: bool = False
    models: bool = True
    prices: bool = False


FAILURES: Final = (Outcome.VIOLATED, Outcome.STUCK, Outcome.CRASHED)


def violates(row: RunRow) -> bool:
    """Whether a run is violated or stuck, or crashed."""
    return row.outcome in FAILURES


class Runner:
    """Runs the seeds of one job in this process."""

    def __init__(self, job: Job) -> None:
        for file in job.loads:
            load_file(file)
        self.job = job
        self.scenario = None if job.swarm else read(job.text, job.name, overrides=job.overrides)
        self._findings = findings.known()

    def row(self, seed: int) -> RunRow:
        """Plan, run and judge one seed."""
        job = self.job
        scenario = self.scenario or swarm.scenario(swarm_source(job), seed)
        history: History | None = None
        try:
            planned = plan(scenario, seed, trace=job.trace, models=job.models)
            if job.stream:
                row = self._streamed(planned)
            else:
                history = run(planned)
                row = self.judged(history)
                if job.prices:
                    row = structs.replace(row, prices=prices(history, schema_servers(planned)))
        except (*BAD_INPUT, WriteError):
            raise
        except (Exception, SystemExit) as error:
            self._keep_text(scenario, seed)
            return _crashed(scenario, seed, error)
        if job.keep is not None and (seed == job.first or row.failed):
            if history is not None:
                codec.save(history, Path(job.keep, history_name(seed)))
            self._keep_text(scenario, seed)
        return row

    def _streamed(self, planned: Plan) -> RunRow:
        """The row of a run whose events go to its file and not to memory."""
        assert self.job.keep is not None, "a stream needs a directory"
        path = Path(self.job.keep, history_name(planned.seed))
        history = run_to(planned, path)
        if not self.job.unjudged:
            return self.judged(codec.load(path))
        return RunRow(
            scenario=planned.scenario,
            strategy=history.header.design.name,
            mutant=planned.mutant,
            seed=planned.seed,
            outcome=Outcome.UNKNOWN,
            reached=dict(sorted(history.probes.items())),
            unjudged=("the run, which is left to `ddlsim check`,",),
        )

    def rows(self, seeds: Sequence[int]) -> list[RunRow]:
        """The rows of some seeds; where runs have budgets, each in a process that can be ended."""
        if self.job.limits == Limits():
            return [self.row(seed) for seed in seeds]
        handlers = Handlers(self.row, self.lost, lambda row: row.crash or "")
        return isolated(seeds, self.job.limits, handlers)

    def lost(self, seed: int, loss: Loss, why: str) -> RunRow:
        """The row of a run that exceeded its budget, or whose process died."""
        scenario = self.scenario or swarm.scenario(swarm_source(self.job), seed)
        if self.job.stream and self.job.keep is not None:
            for begun in Path(self.job.keep).glob(f"{history_name(seed)}.*{PARTIAL}"):
                begun.unlink(missing_ok=True)
        return RunRow(
            scenario=scenario.name,
            strategy=scenario.strategy,
            mutant=scenario.mutant,
            seed=seed,
            outcome=Outcome.CRASHED if loss == "died" else Outcome.UNKNOWN,
            unjudged=() if loss == "died" else (f"the run, which {why},",),
            crash=why if loss == "died" else None,
        )

    def _keep_text(self, scenario: Scenario, seed: int) -> None:
        """The text of a scenario that was drawn, so that it can be run as an ordinary one."""
        job = self.job
        if job.keep is not None and job.swarm:
            judged = {"strict": job.strict, "all_claims": job.all_claims}
            text = repeated(scenario.text, scenario.overrides, seed, **judged)
            write_text(Path(job.keep, scenario_name(seed)), text)

    def judged(self, history: History) -> RunRow:
        """The row of a history."""
        return row_of(
            history,
            strict=self.job.strict,
            all_claims=self.job.all_claims,
            known=self._findings,
        )


# --- many seeds ----------------------------------------------------------------------------------

CHUNK_MOST: Final = 8
CHUNKS_EACH: Final = 8
"""Each process has about so many chunks of seeds, of `CHUNK_MOST` at most."""


def run_seeds(
    job: Job,
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    watch: Callable[[RunRow], object] = lambda row: None,
    alone_s: float = ALONE_S,
    until: Callable[[RunRow], bool] | None = None,
) -> list[RunRow]:
    """The row of every seed, in order; a seed that no process survives has a crashed row.

    `watch` has each row as it comes in. With `until` the last row is the first, in the order of the
    seeds, of which it is true; seeds behind it are not run.
    """
    lost = partial(_lost, job)
    with Executor(partial(_rows_of, job), lost, processes=jobs, alone_s=alone_s) as executor:
        size = min(max(len(seeds) // (executor.processes * CHUNKS_EACH), 1), CHUNK_MOST)
        if until is None:
            return executor.run(seeds, lambda seed, row: watch(row), batch=size)
        rows: list[RunRow] = []

        def take(seed: int, row: RunRow) -> bool:
            rows.append(row)
            watch(row)
            return until(row)

        executor.run_in_order(seeds, take, batch=size)
        return rows


def _rows_of(job: Job) -> Callable[[Sequence[int]], list[RunRow]]:
    return Runner(job).rows


def _lost(job: Job, seed: int, how: str) -> RunRow:
    return Runner(job).lost(seed, "died", how)


# --- rows ----------------------------------------------------------------------------------------


def swarm_source(job: Job) -> swarm.Source:
    """The source of a job's swarm."""
    return swarm.Source(job.name or None, job.text, job.overrides)


def history_name(seed: int) -> str:
    """The file that holds the history of a seed."""
    return f"seed-{seed}.jsonl"


def scenario_name(seed: int) -> str:
    """The file that holds the scenario that a seed has drawn."""
    return f"seed-{seed}.toml"


def _crashed(scenario: Scenario, seed: int, error: BaseException) -> RunRow:
    what = str(error).partition("\n")[0]
    return RunRow(
        scenario=scenario.name,
        strategy=scenario.strategy,
        mutant=scenario.mutant,
        seed=seed,
        outcome=Outcome.CRASHED,
        crash=f"{type(error).__name__}: {what}{place_in_plugins(error)}",
        origin="".join(traceback.format_exception(error)),
    )
