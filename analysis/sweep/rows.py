"""The table of runs: its columns, and the row of a run, even of one that fails.

A row is a function of its cell and seed, bit for bit, in any process: it holds no wall time and no
path, and maps are in the order of their keys. The row of an unfinished run has the outcome
`crashed` or `timeout`, the reason in `error`, and neither fingerprint nor figures.

Columns:

* *identity*: `cell` (its number in the sweep), `scenario`, `strategy`, `mutant`, `seed`,
  `parameters` (the swept values as JSON, by the axes' names);
* *ending*: `outcome` (ok, violated, stuck, crashed, vacuous, unknown, unmet, timeout),
  `error`, `fingerprint`, `history` (the file that was kept, relative to the sweep's directory),
  `violations`, `unjudged`, `reached`;
* *figures* (sim/history/figures.py; null without any): `committed`, `aborted` by reason,
  `schema_aborts`, `unknown`, `attempts`, `simulated_us`, `events`, `meta_commands`, `meta_writes`,
  `schema_updates` (analysis/stats/measures.py), `after_heal_ms`, `blocked_behind`,
  `needless_aborts`; `schema_reads` (sim/verify/prices.py), where the sweep asks for `prices`;
* *histograms* in microseconds (analysis/stats/histogram.py): `dml_latency_us`, `ddl_latency_us`
  (statements that installed a version), `ddl_noop_latency_us` (those that changed nothing),
  `schema_wait_us` (per look-up), `operation_wait_us` (per operation or commit), `first_wait_us`
  (per enlistment), `using_us` and `tail_us` (per committed transaction and table), `stale_us` (per
  committed transaction).
"""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
from msgspec import structs

from ddlsim.analysis.stats import histogram, measures
from ddlsim.checkers.base import in_order
from ddlsim.checkers.findings import Finding
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.fdb_cluster import schema_servers
from ddlsim.cluster.run import Run, run
from ddlsim.execute.isolation import CAN_FORK, Handlers, Limits, Loss, isolated
from ddlsim.files import WriteError
from ddlsim.history import codec, parquet
from ddlsim.history.history import History
from ddlsim.kernel.rng import mix, threshold
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.plan.plan import plan
from ddlsim.registry import load_file
from ddlsim.scenario import findings
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.units import US_PER_MS
from ddlsim.verify.prices import prices
from ddlsim.verify.row import RunRow, row_of

TIMEOUT: Final = "timeout"
"""The outcome of a run that took longer than its budget."""
FAILED: Final = ("violated", "stuck", "crashed", "unknown", "unmet", TIMEOUT)
"""Outcomes whose histories are kept."""
ERROR_MOST: Final = 2_000
"""The number of characters of an error that are kept."""

VIOLATION: Final = pa.struct(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("invariant", "checker", "kind", "class", "status", "summary")
    ]
    + [pa.field("strict_only", pa.bool_(), nullable=False)]
)
COUNTS: Final = pa.map_(pa.string(), pa.int64())

IDENTITY: Final = (
    pa.field("cell", pa.int32(), nullable=False),
    pa.field("scenario", pa.string(), nullable=False),
    pa.field("strategy", pa.string(), nullable=False),
    pa.field("mutant", pa.string()),
    pa.field("seed", pa.int64(), nullable=False),
    pa.field("parameters", pa.string(), nullable=False),
)
ENDING: Final = (
    pa.field("outcome", pa.string(), nullable=False),
    pa.field("error", pa.string()),
    pa.field("fingerprint", pa.string()),
    pa.field("history", pa.string()),
    pa.field("violations", pa.list_(VIOLATION), nullable=False),
    pa.field("unjudged", pa.list_(pa.string()), nullable=False),
    pa.field("reached", COUNTS, nullable=False),
)
NUMBERS: Final = (
    "committed",
    "schema_aborts",
    "unknown",
    "attempts",
    "simulated_us",
    "events",
    "meta_commands",
    "meta_writes",
    "schema_updates",
    "blocked_behind",
    "schema_reads",
)
HISTOGRAMS: Final = (
    "dml_latency_us",
    "ddl_latency_us",
    "ddl_noop_latency_us",
    "schema_wait_us",
    "operation_wait_us",
    "first_wait_us",
    "using_us",
    "tail_us",
    "stale_us",
)
POOLED: Final = ("dml_latency", "ddl_latency", "ddl_noop_latency", "schema_wait")
"""The histograms that a run's figures have already."""
FIGURES: Final = (
    *(pa.field(name, pa.int64()) for name in NUMBERS),
    pa.field("after_heal_ms", pa.float64()),
    pa.field("aborted", COUNTS),
    pa.field("needless_aborts", COUNTS),
    *(pa.field(name, histogram.TYPE) for name in HISTOGRAMS),
)
SCHEMA: Final = pa.schema([*IDENTITY, *ENDING, *FIGURES])
"""The columns of every table of runs."""


class Cell(Record, frozen=True):
    """One point of a sweep: a scenario with everything set over it, whatever the seed.

    `overrides` are those of `ddlsim.scenario.overrides`, the swept values and the design's name
    among them; `parameters` are the swept values alone, by the names of their axes.
    """

    number: int
    name: str
    text: str
    overrides: dict[str, Any]
    strategy: str
    mutant: str | None
    parameters: dict[str, Any]


class Job(Record, frozen=True):
    """One run of a sweep.

    `keep` is the sweep's directory if histories are kept, below `histories/`: those of failed runs,
    and of this `share` of the others, chosen by cell and seed. `known` are the findings that may
    explain an anomaly; None: those of the program. `prices`: whether its messages are counted.
    """

    cell: Cell
    seed: int
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False
    keep: str | None = None
    share: float = 0.0
    known: tuple[Finding, ...] | None = None
    prices: bool = False


Row = dict[str, Any]
"""A value for each column of `SCHEMA`."""


def run_job(job: Job) -> Row:
    """Plan, run and judge one run; an error becomes the row's outcome `crashed`.

    Raises only `WriteError`, where a history cannot be written.
    """
    try:
        return _run(job)
    except WriteError:  # a full disk is no verdict on the run
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return failed_row(job, "crashed", what)


def _run(job: Job) -> Row:
    for file in job.loads:
        load_file(file)
    planned = plan(_scenario(job.cell), job.seed, trace=job.prices)
    history = run(planned)
    judged = row_of(history, strict=job.strict, all_claims=job.all_claims, known=findings.known())
    if job.prices:
        judged = structs.replace(judged, prices=prices(history, schema_servers(planned)))
    return row(job, history, judged, _kept(job, history, judged))


def prepare(job: Job) -> None:
    """Import modules and build tables of quantiles in this process, for all children to inherit.

    Runs nothing and ignores errors: the run will report them.
    """
    with contextlib.suppress(Exception):
        for file in job.loads:
            load_file(file)
        planned = plan(_scenario(job.cell), job.seed)
        if planned.store is None:  # a store's processes begin tasks, which nothing would run
            Run(planned)
        in_order()


_read: dict[str, tuple[Cell, Scenario]] = {}


def _scenario(cell: Cell) -> Scenario:
    """A cell's scenario; the last one is cached, since jobs come cell by cell."""
    last = _read.get("last")
    if last is None or last[0] != cell:
        last = _read["last"] = (cell, read(cell.text, cell.name, overrides=cell.overrides))
    return last[1]


def row(job: Job, history: History, judged: RunRow, kept: str | None) -> Row:
    """The row of a finished run."""
    assert judged.figures is not None, judged
    figures, meta = judged.figures, measures.metadata(history)
    schema = [reason.name for reason in Reason if reason.is_schema]
    using, tail = measures.spans(history)
    measured = {
        "operation_wait_us": measures.operation_waits(history),
        "first_wait_us": measures.first_waits(history),
        "using_us": using,
        "tail_us": tail,
        "stale_us": measures.staleness(history),
    }
    return {
        **_identity(job),
        "outcome": judged.outcome.word,
        "error": None,
        "fingerprint": judged.fingerprint,
        "history": kept,
        "violations": [_violation(each) for each in judged.violations],
        "unjudged": list(judged.unjudged),
        "reached": sorted(judged.reached.items()),
        "committed": figures.committed,
        "schema_aborts": sum(figures.aborted.get(name, 0) for name in schema),
        "unknown": figures.unknown,
        "attempts": figures.attempts,
        "simulated_us": round(figures.simulated_ms * US_PER_MS),
        "events": figures.events,
        "meta_commands": meta.commands,
        "meta_writes": meta.writes,
        "schema_updates": meta.schema_updates,
        "blocked_behind": figures.blocked_behind,
        "schema_reads": None if judged.prices is None else judged.prices.schema_reads,
        "after_heal_ms": figures.after_heal_ms,
        "aborted": sorted(figures.aborted.items()),
        "needless_aborts": sorted(figures.needless_aborts.items()),
        **{f"{kind}_us": histogram.cell(judged.pools[f"{kind}_ms"]) for kind in POOLED},
        **{name: histogram.cell(histogram.of(taken)) for name, taken in measured.items()},
    }


def failed_row(job: Job, outcome: str, error: str) -> Row:
    """The row of an unfinished run."""
    empty: Row = dict.fromkeys(SCHEMA.names)
    return {
        **empty,
        **_identity(job),
        "outcome": outcome,
        "error": error[:ERROR_MOST],
        "violations": [],
        "unjudged": [],
        "reached": [],
    }


def _identity(job: Job) -> Row:
    cell = job.cell
    return {
        "cell": cell.number,
        "scenario": cell.name,
        "strategy": cell.strategy,
        "mutant": cell.mutant,
        "seed": job.seed,
        "parameters": json.dumps(cell.parameters, sort_keys=True, ensure_ascii=False),
    }


def _violation(found: Any) -> dict[str, Any]:
    return {
        "invariant": found.invariant,
        "checker": found.checker,
        "kind": found.kind,
        "class": found.severity,
        "status": found.status,
        "summary": found.summary,
        "strict_only": found.strict_only,
    }


# --- in processes of their own -------------------------------------------------------------------

WORTH_PREPARING: Final = 4
"""The number of runs of a cell in one chunk from which `prepare` pays."""


def rows_of(jobs: Sequence[Job], limits: Limits, act: Callable[[Job], Row] = run_job) -> list[Row]:
    """Return a row for every job, in order, whatever the runs do to their process."""
    if CAN_FORK:
        _prepare(jobs)
    return isolated(jobs, limits, Handlers(act, _lost, lambda row: row["error"] or ""))


def _lost(job: Job, loss: Loss, why: str) -> Row:
    return failed_row(job, TIMEOUT if loss == "late" else "crashed", why)


_prepared: set[tuple[str, int]] = set()


def _prepare(jobs: Sequence[Job]) -> None:
    """Call `prepare` once for the first cell, and for each cell with enough runs in the chunk."""
    for number, count in Counter(job.cell.number for job in jobs).items():
        first = next(job for job in jobs if job.cell.number == number)
        known = (first.cell.text, number)
        if known not in _prepared and (count >= WORTH_PREPARING or not _prepared):
            _prepared.add(known)
            prepare(first)


# --- histories that are kept ----------------------------------------------------------------------


def history_file(cell: int, seed: int) -> str:
    """The file of a run's history, relative to the sweep's directory."""
    return f"histories/cell-{cell:05d}-seed-{seed}{parquet.SUFFIX}"


def is_sampled(cell: int, seed: int, share: float) -> bool:
    """Whether a run belongs to the sample whose histories are kept, whatever its outcome."""
    return mix(mix(seed, 1), cell) < threshold(share)


def _kept(job: Job, history: History, judged: RunRow) -> str | None:
    if job.keep is None:
        return None
    calm = judged.outcome in (Outcome.OK, Outcome.VACUOUS)
    if calm and not is_sampled(job.cell.number, job.seed, job.share):
        return None
    name = history_file(job.cell.number, job.seed)
    codec.save(history, Path(job.keep, name))
    return name


# --- rows and tables ------------------------------------------------------------------------------


def table(rows: Iterable[Row], metadata: Mapping[bytes, bytes] | None = None) -> pa.Table:
    """Rows as a table, sorted by cell and seed; `metadata` is its provenance."""
    ordered = sorted(rows, key=lambda each: (each["cell"], each["seed"]))
    schema = SCHEMA.with_metadata(dict(metadata)) if metadata is not None else SCHEMA
    return pa.Table.from_pylist(ordered, schema=schema)
