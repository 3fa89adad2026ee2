"""Experiment 3: the share of transactions aborted for a schema change against lambda L (6.3).

Statements come as a Poisson process per table, transactions from many clients that pause. The
formula takes the spans of transactions from a twin run of the same seed without any DDL, so that
none is cut short by an abort; then every transaction has a probability of its own, and the share
expected is their mean. The bracket leaves room for what the formula has not: timestamps in whole
milliseconds, and clients that learn the new version by one more round trip.
"""

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.formula.wait_model import Ends
from ddlsim.analysis.stats import intervals
from ddlsim.history.events import (
    Enlisted,
    ReadExecuted,
    TxBegan,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.figures import figures
from ddlsim.history.history import History
from ddlsim.model.reasons import Reason
from ddlsim.units import Timestamp, physical_ms
from tests.agreement import catalogue
from tests.agreement.base import Line, Setup, measured

Array = NDArray[np.float64]
SCHEMA: Final = tuple(reason.name for reason in Reason if reason.is_schema)
DD_MS, CS_MAX_MS, H_MS = 60, 5, 50
LATENCY_MS: Final = 2.0
LOAD_MS: Final = 8_000
TABLES: Final = ("a", "b")
OPERATIONS, CLIENTS, EACH = 6, 24, 12
THINKS_MS: Final = 25.0
"""Between operations; a transaction is about five times that, and its messages."""
EVERY_MS: Final = (8_000.0, 2_000.0, 500.0, 160.0)
"""The mean time between statements on one table."""
SHARES: Final = (0.1, 0.5)
DESIGNS: Final[dict[str, str]] = {
    "option 3, enlist": 'name = "iep"',
    "option 3, begin": 'name = "iep"\nbase_ts = "at_begin"',
    "exact match": 'name = "iep"\ncheck_commit = "exact_match"',
    "option 2": 'name = "iep"\nmutant = "no_operation_check"',
}
DICE: Final = 98_110


class Spans(NamedTuple):
    """One run: per committed transaction and table (begin, enlistment, last use, commit) in ms."""

    spans: tuple[tuple[tuple[int, int, int, int], ...], ...]
    attempts: int
    aborts: int
    updates: int


def spans(history: History) -> Spans:
    """What a run says of its explicit transactions."""
    began: dict[str, int] = {}
    enlisted: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], int] = {}
    found: list[tuple[tuple[int, int, int, int], ...]] = []
    kinds = (TxBegan, Enlisted, ReadExecuted, WriteExecuted, TxCommitted)
    for event in history.of(*kinds):
        if isinstance(event, TxBegan):
            began[event.tx] = event.begin_ts
        elif isinstance(event, Enlisted):
            enlisted.setdefault((event.tx, event.object_id), event.enlist_ts)
        elif isinstance(event, TxCommitted):
            found.append(
                tuple(
                    _ms(began[event.tx], first, last.get(of, first), event.commit_ts)
                    for of, first in enlisted.items()
                    if of[0] == event.tx
                )
            )
        elif isinstance(event, ReadExecuted | WriteExecuted):
            of = (event.tx, event.object_id)
            last[of] = max(last.get(of, 0), event.op_ts)
    taken = figures(history)
    aborts = sum(taken.aborted.get(name, 0) for name in SCHEMA)
    updates = sum(event.op is not None for event in history.of(UpdateLogged))
    return Spans(tuple(found), taken.attempts, aborts, updates)


def _ms(*stamps: int) -> tuple[int, int, int, int]:
    begun, first, last, commit = (physical_ms(Timestamp(stamp)) for stamp in stamps)
    return begun, first, max(first, last), max(first, last, commit)


def world(design: str, every_ms: float | None, q: float, seed: int) -> Setup:
    """Two tables, transactions over both, statements at Poisson instants; None: without any."""
    migrations = "" if every_ms is None else _migrations(every_ms, q, seed)
    return Setup(f"""
[strategy]
{DESIGNS[design]}
[protocol]
delay_duration_ms = {DD_MS}
max_clock_skew_ms = {CS_MAX_MS}
safe_time_interval_ms = {H_MS}
ddl_attempts = 1000
[cluster]
nodes = 3
partitions = 3
[network]
latency_ms = {LATENCY_MS}
client_latency_ms = 0.5
[run]
load_ms = {LOAD_MS}
drain_ms = 60000
[schema]
sql = "CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT PRIMARY KEY, v INT)"
[[workload]]
name = "mixed"
clients = {CLIENTS}
operations = {EACH * OPERATIONS}
transaction_operations = {OPERATIONS}
transaction_tables = 2
pause_ms = [0, {2 * LOAD_MS // EACH - 400}]
gap_ms = {THINKS_MS}
implicit = 0.0
rollback = 0.0
fresh = 0.0
retries = 0
get = 1
put = 1
delete = 0
scan = 0
select = 0
keys = 3000
{migrations}
""")


def _migrations(every_ms: float, q: float, seed: int) -> str:
    made = []
    for number, table in enumerate(TABLES):
        dice = np.random.default_rng([DICE, seed, number, round(every_ms)])
        at, count = 0.0, 0
        while (at := at + float(dice.exponential(every_ms))) < LOAD_MS - 1:
            count += 1
            sql = f"ALTER TABLE {table} ADD COLUMN c{count} INT"
            if dice.random() < q:
                sql = f"ALTER TABLE {table} ALTER COLUMN v SET DEFAULT {count}"
            made.append(
                f'[[migration]]\nnode = "n{1 + count % 3}"\nat_ms = {at:.1f}\nsql = "{sql}"\n'
            )
    return "".join(made)


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiment; `quick` takes a few."""
    designs = list(DESIGNS)[: 2 if quick else None]
    paces = EVERY_MS[1:3] if quick else EVERY_MS
    shares = SHARES[1:] if quick else SHARES
    cells = [(design, every, q) for design in designs for every in paces for q in shares]
    calm = [partial(world, design, None, 0.0) for design in designs]
    busy = [partial(world, *cell) for cell in cells]
    runs = measured([*calm, *busy], seeds, spans, jobs)
    twins = dict(zip(designs, runs, strict=False))
    return [
        _line(*cell, own, twins[cell[0]], seeds)
        for cell, own in zip(cells, runs[len(designs) :], strict=True)
    ]


def _line(
    design: str, every_ms: float, q: float, own: list[Spans], calm: list[Spans], seeds: range
) -> Line:
    lam = sum(run.updates for run in own) / len(own) / len(TABLES) / LOAD_MS
    share = _incompatible(every_ms, q, seeds)
    each = [expected(design, lam, share, tx) for run in calm for tx in run.spans]
    mean = float(np.mean(each))
    aborts = np.array([run.aborts for run in own], dtype=np.float64)
    attempts = np.array([run.attempts for run in own], dtype=np.float64)
    low, high = intervals.share_interval(aborts, attempts)
    survive = -np.log1p(-mean)  # the exponent that the mean share stands for
    slack = len(TABLES) * lam * (CLOCK_MS + 2 * LATENCY_MS)
    cell: dict[str, Any] = {
        "design": design,
        "lambda_L": round(lam * _length(calm), 5),
        "q": q,
        "statements_per_s": round(1000 * lam, 4),
    }
    least, most = (float(-np.expm1(-max(at, 0.0))) for at in (survive - slack, survive + slack))
    return Line(cell, "schema abort rate", float(aborts.sum() / attempts.sum()), float(low),
                float(high), Ends(least, most), 3)  # fmt: skip


def expected(
    design: str, lam: float, q: float, tables: tuple[tuple[int, int, int, int], ...]
) -> float:
    """Section 6.3 for one transaction."""
    begun, enlisted, last, commit = np.array(tables, dtype=np.float64).T
    if design == "option 2":
        survive = [1 - forms.abort_options_1_2(lam, q, span) for span in commit - enlisted]
        return float(1 - np.prod(survive))
    if design == "exact match":
        return float(catalogue.abort_option_3(lam, 1.0, last - enlisted, commit - last))
    base = begun if design == "option 3, begin" else enlisted
    return float(catalogue.abort_option_3(lam, q, last - base, commit - last))


def _incompatible(every_ms: float, q: float, seeds: range) -> float:
    """The share of incompatible statements that the dice really made."""
    text = "".join(_migrations(every_ms, q, seed) for seed in seeds)
    total = text.count("[[migration]]")
    return text.count("SET DEFAULT") / total if total else q


def _length(calm: list[Spans]) -> float:
    """The mean time from enlistment to commit, in ms."""
    every = [table[3] - table[1] for run in calm for tx in run.spans for table in tx]
    return float(np.mean(every))
