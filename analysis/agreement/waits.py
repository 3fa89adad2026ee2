"""Experiment 1: the wait of a first look-up and the latency of a statement against DD (6.1, 6.2).

Many clients look seldom, so that look-ups come at any time. The bracket is that of ordered and
unordered links with the measured rate of metadata writes as mu.
"""

from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis import closed_forms as forms
from analysis import measures, statistics
from analysis.agreement.base import CLOCK_MS, Line, World, measured
from analysis.wait_model import Commands, Grid, Link, Wait, commit_of, wait
from sim.history.events import Invoked, Ok
from sim.history.history import History
from sim.kernel.rng import Lognormal, quantiles
from sim.units import US_PER_MS

Array = NDArray[np.float64]
NODES: Final = 5
CS_MAX_MS: Final = 20
CLIENT_MS: Final = 0.5
SKEW_MS: Final = 10
"""n2 is so far ahead of the leader, n3 so far behind; the others agree with it."""
INTERVALS_MS: Final = (25, 100, 250, 500)
DDS_MS: Final = (0, 25, 50, 100, 200, 300, 500)
TAILS_MS: Final = (50, 200)
HEARTBEAT_MS: Final = 120.0
STATEMENTS: Final = 4


class Looked(NamedTuple):
    """One run: first waits by length in us, DDL latencies in us, writes and length of the log."""

    waits: Counter[int]
    ddl_us: tuple[int, ...]
    writes: int
    end_us: int


def looked(history: History) -> Looked:
    """What a run says of waits."""
    waits = Counter(measures.first_waits(history))
    asked = {event.op: event.at_us for event in history.of(Invoked) if event.kind == "ddl"}
    done = [e.at_us - asked[e.op] for e in history.of(Ok) if e.op in asked]
    return Looked(waits, tuple(done), measures.metadata(history).writes, history.end_us)


def world(dd: int, h: int, p99: float, *, load_ms: int = 12_000) -> World:
    """Five nodes, three of which vote; delays are lognormal around 5 ms."""
    paced = load_ms // (STATEMENTS + 1)
    sql = "; ".join(f"ALTER TABLE t ADD COLUMN c{n} INT" for n in range(STATEMENTS))
    return World(f"""
[protocol]
delay_duration_ms = {dd}
max_clock_skew_ms = {CS_MAX_MS}
safe_time_interval_ms = {h}
[cluster]
nodes = {NODES}
voters = 3
partitions = {NODES}
[clocks.nodes.n2]
offset_ms = {SKEW_MS}
[clocks.nodes.n3]
offset_ms = {-SKEW_MS}
[network]
latency_ms = {{ distribution = "lognormal", median = 5, p99 = {p99} }}
client_latency_ms = {CLIENT_MS}
[run]
load_ms = {load_ms}
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[migration]]
node = "n4"
at_ms = {paced}
every_ms = {paced}
sql = "{sql}"
[[workload]]
name = "mixed"
clients = 80
operations = 8
pause_ms = [0, 3000]
implicit = 1.0
fresh = 0.0
put = 0
delete = 0
scan = 0
select = 0
keys = 1000
""")


def model(grid: Grid, h: int, p99: float, mu: float) -> Wait:
    """The same world by formula."""
    delay = grid.cdf(np.asarray(quantiles(Lognormal(5, p99)), dtype=np.float64) / US_PER_MS)
    commands = Commands(h, mu, HEARTBEAT_MS)
    commit = commit_of(grid, [(delay, delay)] * 2, commands)
    links = [Link(delay, commit, leader=True)]
    links += [Link(delay, commit, (float(skew),)) for skew in (SKEW_MS, -SKEW_MS, 0, 0)]
    return wait(grid, links, commands)


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiment; `quick` takes a few."""
    cells = [(dd, h, p99) for p99 in TAILS_MS for h in INTERVALS_MS for dd in DDS_MS]
    if quick:
        cells = [(50, 100, 50), (100, 100, 50), (200, 250, 200)]
    runs = measured([world(*cell) for cell in cells], seeds, looked, jobs)
    found: list[Line] = []
    for cell, own in zip(cells, runs, strict=True):
        found += _of_cell(*cell, own)
    return found


def _of_cell(dd: int, h: int, p99: int, runs: list[Looked]) -> list[Line]:
    mu = sum(run.writes for run in runs) / sum(run.end_us for run in runs) * US_PER_MS
    by_formula = model(Grid(), h, p99, mu)
    cell = {"dd_ms": dd, "h_ms": h, "pd_p99_ms": p99, "mu_per_s": round(1000 * mu, 3)}
    early, late = dd + CLOCK_MS, dd - CLOCK_MS
    count = np.array([run.waits.total() for run in runs], dtype=np.float64)
    waited = count - np.array([run.waits[0] for run in runs])
    total = np.array([sum(us * n for us, n in run.waits.items()) for run in runs]) / US_PER_MS
    share = statistics.ratio_interval(waited, count)
    mean = statistics.ratio_interval(total, count)
    most = float(share[1]) * h if not total.any() else float(mean[1])
    tail, tail_low, tail_high = _tail(runs)
    return [
        Line(1, cell, "share that waits", float(waited.sum() / count.sum()), float(share[0]),
             float(share[1]), by_formula.probability(early).unordered,
             by_formula.probability(late).ordered),
        Line(1, cell, "mean wait, ms", float(total.sum() / count.sum()), float(mean[0]), most,
             by_formula.mean(early).unordered, by_formula.mean(late).ordered),
        Line(1, cell, "p99 wait, ms", tail, tail_low, tail_high,
             by_formula.quantile(0.99, early).unordered, by_formula.quantile(0.99, late).ordered),
        _latency(cell, dd, p99, runs),
    ]  # fmt: skip


def _tail(runs: list[Looked]) -> tuple[float, float, float]:
    values = sorted({us for run in runs for us in run.waits})
    counts = np.array([[run.waits[us] for us in values] for run in runs], dtype=np.float64)
    at = np.array(values) / US_PER_MS
    low, high = statistics.bootstrap_pooled_quantile(counts, at, 0.99)
    point = statistics.pooled_quantile(counts.sum(axis=0), at, 0.99)
    return float(point), float(low), float(high)


def _latency(cell: dict[str, Any], dd: int, p99: int, runs: list[Looked]) -> Line:
    """The mean latency of a statement: way to the leader, DD + CSmax or the log's round.

    Above what 6.2 says come at most the rounding to whole ms of Tu and of the clock, and what is
    applied late; the lower end has neither.
    """
    delay = np.asarray(quantiles(Lognormal(5, p99)), dtype=np.float64) / US_PER_MS
    dice = np.random.default_rng(1)
    way, back = (dice.choice(delay, 20_000) for _ in range(2))
    replication = dice.choice(delay, (2, 2, 20_000)).sum(axis=1).min(axis=0) + back
    by_formula = float(
        forms.ddl_latency(
            dd, CS_MAX_MS, to_leader=way, replication=replication, client=2 * CLIENT_MS
        ).mean()
    )
    each = np.array([np.mean(run.ddl_us) for run in runs if run.ddl_us]) / US_PER_MS
    low, high = statistics.mean_interval(each)
    late = 2 * CLOCK_MS + float(np.maximum(back - (dd + CS_MAX_MS), 0).mean())
    return Line(1, cell, "mean DDL latency, ms", float(each.mean()), float(low), float(high),
                by_formula - CLOCK_MS, by_formula + late)  # fmt: skip
