"""Runs cells, on processes or on Spark; the figures of their rows, with intervals over seeds.

All cells of one advice have the same seeds (common random numbers).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ddlsim import sealed
from ddlsim.analysis.spark.spread import NONE, Workers
from ddlsim.analysis.stats import histogram, intervals
from ddlsim.analysis.sweep.chunks import Round, Work
from ddlsim.analysis.sweep.rows import Cell, Job, Row, failed_row, rows_of, run_job
from ddlsim.analysis.tune import tail_estimate
from ddlsim.analysis.tune.goals import RATE, WAITS, Goal, TuneError
from ddlsim.execute.isolation import Limits
from ddlsim.execute.parallel import Executor
from ddlsim.units import US_PER_MS

Array = NDArray[np.float64]
Watch = Callable[[int], None]
"""Called with the number of further runs that are done."""
NO_LIMITS: Final = Limits()
OVER_BUDGET: Final = ("took longer", "needs more")
SECONDS_A_RUN: Final = 0.1
RUNS_A_CHUNK: Final = 20


class Runs:
    """Runs cells; `count` is the number of runs so far."""

    def __init__(
        self, seeds: range, *, master: str | None = None, jobs: int | None = None,
        loads: tuple[str, ...] = (), watch: Watch = lambda runs: None,
        limits: Limits = NO_LIMITS,
    ) -> None:  # fmt: skip
        self.seeds = seeds
        self.count = 0
        self.rows: list[Row] = []
        self._loads, self._watch, self._limits = loads, watch, limits
        self._on_spark = master not in (None, NONE)
        self._workers = Workers(master, None)
        self._executor = Executor(partial(_act, limits), _lost, processes=jobs)
        self._stack = ExitStack()

    def __enter__(self) -> "Runs":
        self._stack.enter_context(self._workers)
        self._stack.enter_context(self._executor)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def run(self, cells: Sequence[Cell]) -> list["Figures"]:
        """Run these cells; return the figures of each, in order."""
        rows = self._chunks(cells) if self._on_spark else self._rows(cells)
        self.count += len(rows)
        self.rows += rows
        each = len(self.seeds)
        return [Figures(cell, rows[at * each : (at + 1) * each]) for at, cell in enumerate(cells)]

    def _rows(self, cells: Sequence[Cell]) -> list[Row]:
        jobs = [Job(cell, seed, loads=self._loads) for cell in cells for seed in self.seeds]
        return self._executor.run(jobs, lambda job, row: self._watch(1), batch=2)

    def _chunks(self, cells: Sequence[Cell]) -> list[Row]:
        """Rows by chunks of a sweep, whose files are on a file system shared with the workers."""
        slots = self._workers.session().sparkContext.defaultParallelism
        runs = len(cells) * len(self.seeds)
        size = max(min(runs // (4 * slots), RUNS_A_CHUNK), 1)
        whole = Round(tuple(range(len(cells))), self.seeds.start, len(self.seeds), size)
        chunks = whole.ids(0)
        with TemporaryDirectory(prefix="ddlsim-tune-") as folder:
            work = Work(folder, tuple(cells), {}, loads=self._loads, limits=self._limits)
            work_s = SECONDS_A_RUN * runs
            self._workers.run(work, whole, chunks, work_s, lambda tally: self._watch(tally.runs))
            return [
                row for chunk in chunks for row in sealed.read(f"{folder}/{chunk.file}").to_pylist()
            ]


def _act(limits: Limits) -> Callable[[Sequence[Job]], list[Row]]:
    """Runs with a budget are done in child processes, which can be killed."""
    if limits == NO_LIMITS:
        return lambda jobs: [run_job(job) for job in jobs]
    return lambda jobs: rows_of(jobs, limits)


def _lost(job: Job, how: str) -> Row:
    return failed_row(job, "crashed", how)


class Figures:
    """The figures of one cell, seed by seed."""

    def __init__(self, cell: Cell, rows: list[Row]) -> None:
        self.cell = cell
        self.rows = [row for row in rows if row["fingerprint"] is not None]
        self.lost = [row for row in rows if row["fingerprint"] is None]
        if not self.rows and self.lost[0]["error"].startswith(OVER_BUDGET):
            what = f"every run of {cell.name} {cell.parameters} {self.lost[0]['error']}"
            raise TuneError(f"{what}; raise --time or --memory")
        if not self.rows:
            raise RuntimeError(f"every run of {cell.name} {cell.parameters} failed: "
                               f"{self.lost[0]['error']}")  # fmt: skip

    @cached_property
    def _weights(self) -> Array:
        return intervals.seed_weights(len(self.rows))

    def counts(self, of: str) -> tuple[Array, Array]:
        """The histograms of all seeds: values in ms, and counts of shape (seeds, values).

        A value is the upper end of its bucket: what is within a limit here is within it surely.
        """
        each = [histogram.of_cell(row[WAITS[of]]) for row in self.rows]
        lower_us, counts = histogram.matrix(each)
        if not len(lower_us):
            return np.zeros(1), np.zeros((len(self.rows), 1))
        values_us = histogram.upper_ends(lower_us, max(one.max_us for one in each))
        return values_us / US_PER_MS, counts

    def column(self, name: str) -> Array:
        """A number of every seed."""
        return np.asarray([row[name] for row in self.rows], dtype=np.float64)

    def point(self, goal: Goal) -> float:
        """The figure of a goal, over all seeds."""
        return float(self._of(goal, np.ones((1, len(self.rows))))[0])

    def resampled(self, goal: Goal) -> Array:
        """The figure for every resample of the seeds; all cells have the same resamples."""
        return self._of(goal, self._weights)

    def resampled_interval(self, goal: Goal, level: float = intervals.LEVEL) -> tuple[float, float]:
        """Its interval by what differs between seeds alone: too narrow for rare events."""
        if goal.metric == RATE:
            ends = intervals.share_interval(
                self.column("schema_aborts"), self.column("attempts"), level
            )
            return float(ends[0]), float(ends[1])
        tail = intervals.resampling_tail(len(self.rows), level)
        resampled = self.resampled(goal)
        if np.isnan(resampled).all():  # nothing was observed
            return np.nan, np.nan
        least, most = np.nanquantile(resampled, [tail, 1 - tail])
        each = self._of(goal, np.eye(len(self.rows)))
        low, high = intervals.widened((least, most), each, level)
        return float(low), float(high)

    def interval(self, goal: Goal, level: float = intervals.LEVEL) -> tuple[float, float]:
        """Its interval over seeds; the upper end is infinite where the runs are too few.

        The wider of the interval by resampling, which ignores unobserved events, and of that of so
        many independent units (the rule of three where no event was observed).
        """
        low, high = self.resampled_interval(goal, level)
        if len(self.rows) < 2:
            return low, np.inf
        units = self.units(goal)
        if goal.metric == RATE:
            share = self.point(goal)
            ends = intervals.effective_share(share, units, level)
            return (min(low, float(ends[0])), max(high if share else 0.0, float(ends[1])))
        values, counts = self.counts(goal.of)
        if goal.share is None:
            most = float(values[-1])  # zeros alone do not bound a mean
            return low, np.inf if most == 0 else high
        return tail_estimate.interval(values, counts, goal.share, (low, high), units, level)

    def units(self, goal: Goal) -> float:
        """The number of independent observations behind a figure, over all seeds.

        Look-ups between two metadata commands wait together: at most one unit per command. One
        statement aborts all open transactions: at most one unit per statement.
        """
        if goal.metric == RATE:
            count = min(self.column("attempts").sum(), self.column("schema_updates").sum())
        else:
            count = self.counts(goal.of)[1].sum()
            if goal.of != "ddl_latency":
                count = min(count, self.column("meta_commands").sum())
        return float(count)

    def above(self, goal: Goal) -> float:
        """The share of all observations that exceed a goal's limit."""
        values, counts = self.counts(goal.of)
        pooled = counts.sum(axis=0)
        return float(pooled[values > goal.limit].sum() / max(pooled.sum(), 1))

    def _of(self, goal: Goal, weights: Array) -> Array:
        if goal.metric == RATE:
            aborts = weights @ self.column("schema_aborts")
            return np.asarray(aborts / np.maximum(weights @ self.column("attempts"), 1))
        values, counts = self.counts(goal.of)
        if goal.share is not None:
            return tail_estimate.observed(values, counts, weights, goal.share)
        totals = np.asarray([row[WAITS[goal.of]]["total_us"] for row in self.rows]) / US_PER_MS
        with np.errstate(invalid="ignore"):
            return np.asarray((weights @ totals) / (weights @ counts).sum(axis=-1))

    def waiting(self, *, resampled: bool = False) -> tuple[float, float, float]:
        """The share of first look-ups that waited, with its interval (or the narrower one)."""
        values, counts = self.counts("schema_wait")
        waited = counts[:, values > 0].sum(axis=1)
        total = counts.sum(axis=1)
        low, high = (float(end) for end in intervals.share_interval(waited, total))
        share = float(waited.sum() / max(total.sum(), 1))
        if resampled:
            return share, low, high
        ends = intervals.effective_share(share, self.units(Goal("schema_wait_p50", 0.0)))
        return share, min(low, float(ends[0])), max(high, float(ends[1]))

    @property
    def writes_per_ms(self) -> float:
        """The measured mu: metadata writes per ms, without idle commands."""
        return float(self.column("meta_writes").sum() / self.column("simulated_us").sum() * 1000)

    @property
    def commands_per_s(self) -> float:
        """Metadata commands per second, idle ones included."""
        seconds = self.column("simulated_us").sum() / US_PER_MS / 1000
        return float(self.column("meta_commands").sum() / seconds)

    def breaches(self, invariant: str) -> int:
        """The number of runs that violate this invariant, within or outside the assumptions."""
        return sum(number for (own, _), number in self.broken().items() if own == invariant)

    def broken(self) -> dict[tuple[str, str], int]:
        """The number of runs that violate each invariant, by the status of the violation."""
        found: Counter[tuple[str, str]] = Counter()
        for row in self.rows:
            found.update({(each["invariant"], each["status"]) for each in row["violations"]})
        return dict(sorted(found.items()))
