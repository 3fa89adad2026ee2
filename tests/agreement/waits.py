"""Experiment 1: the wait of a first look-up and the latency of a statement against DD (6.1, 6.2).

Many clients look seldom, so that look-ups come at any time. The bracket is that of ordered and
unordered links with the measured rate of metadata writes as mu, or without any: the prolonging of
leases is no Poisson process and may fall on a tick each time. Where clocks differ it is wider by
what hybrid clocks may be pushed ahead: a node's by a faster one that sends it a request (its waits
are longer then), the leader's in the same way (all are shorter).
"""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.comparison import CLOCK_MS, brackets, cluster_wait, heartbeat_ms
from ddlsim.analysis.formula.wait_model import Commands, Ends, Grid, Link, Wait, commit_of, ordered
from ddlsim.analysis.stats import intervals, measures
from ddlsim.history.events import Invoked, Ok
from ddlsim.history.history import History
from ddlsim.kernel.rng import Lognormal, quantiles
from ddlsim.units import US_PER_MS
from tests.agreement.base import Line, Setup, measured

Array = NDArray[np.float64]
NODES: Final = 5
CS_MAX_MS: Final = 20
CLIENT_MS: Final = 0.5
SKEWS_MS: Final = (0, 40)
"""n2 is half of it ahead of the leader, n3 half of it behind; the others agree with it."""
INTERVALS_MS: Final = (25, 100, 250, 500)
DDS_MS: Final = (0, 25, 50, 100, 200, 300, 500)
TAILS_MS: Final = (50, 200)
STATEMENTS: Final = 6
LOAD_MS: Final = 12_000


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


LOOKS: Final = """
[[workload]]
name = "mixed"
clients = 80
operations = 8
pause_ms = [0, 3000]
implicit = 1.0
fresh = 0.0
session = 0.0
put = 0
delete = 0
scan = 0
select = 0
keys = 1000
"""


def migration() -> str:
    """Statements of one client, far enough apart never to meet."""
    paced = LOAD_MS // (STATEMENTS + 1)
    sql = "; ".join(f"ALTER TABLE t ADD COLUMN c{n} INT" for n in range(STATEMENTS))
    return f"""
[[migration]]
node = "n4"
at_ms = {paced}
every_ms = {paced}
sql = "{sql}"
"""


def world(dd: int, h: int, p99: float, skew: int, work: str) -> Setup:
    """Five nodes, three of which vote; delays are lognormal around 5 ms.

    Looks and statements are worlds apart: a statement aborts what is under way, and who is tried
    again looks right after a command, not at any time.
    """
    return Setup(f"""
[protocol]
delay_duration_ms = {dd}
max_clock_skew_ms = {CS_MAX_MS}
safe_time_interval_ms = {h}
[cluster]
nodes = {NODES}
voters = 3
partitions = {NODES}
[clocks.nodes.n2]
offset_ms = {skew / 2}
[clocks.nodes.n3]
offset_ms = {-skew / 2}
[network]
latency_ms = {{ distribution = "lognormal", median = 5, p99 = {p99} }}
client_latency_ms = {CLIENT_MS}
[run]
load_ms = {LOAD_MS}
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
{work}
""")


def model(grid: Grid, h: int, p99: float, skew: int, mu: float) -> Wait:
    """The same world by formula."""
    delay = grid.cdf(np.asarray(quantiles(Lognormal(5, p99)), dtype=np.float64) / US_PER_MS)
    commands = Commands(h, mu, heartbeat_ms(h))
    nodes = [f"n{number}" for number in range(1, NODES + 1)]
    ahead = {"n2": skew / 2, "n3": -skew / 2}

    def clock(node: str) -> tuple[float]:
        return (ahead.get(node, 0.0),)

    return cluster_wait(grid, commands, "n1", nodes[:3], nodes, lambda sender, to: delay, clock)


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiment; `quick` takes a few."""
    cells = [(dd, h, p99, 0) for p99 in TAILS_MS for h in INTERVALS_MS for dd in DDS_MS]
    cells += [(dd, 100, 50, skew) for skew in SKEWS_MS[1:] for dd in DDS_MS]
    if quick:
        cells = [(50, 100, 50, 0), (100, 100, 50, 40), (200, 250, 200, 0)]
    worlds = [world(*cell, work) for work in (LOOKS, migration()) for cell in cells]
    runs = measured(worlds, seeds, looked, jobs)
    found: list[Line] = []
    for place, cell in enumerate(cells):
        found += of_looks(*cell, runs[place])
        found.append(of_statements(*cell, runs[len(cells) + place]))
    return found


def of_looks(dd: int, h: int, p99: int, skew: int, runs: list[Looked]) -> list[Line]:
    """The waits of a cell."""
    mu = _mu(runs)
    found = model(Grid(), h, p99, skew, mu).or_later(model(Grid(), h, p99, skew, 0.0))
    cell = {"dd_ms": dd, "h_ms": h, "pd_p99_ms": p99, "skew_ms": skew,
            "mu_per_s": round(1000 * mu, 3)}  # fmt: skip
    by_formula = brackets(found, dd, CLOCK_MS + skew / 2)
    count = np.array([run.waits.total() for run in runs], dtype=np.float64)
    waited = count - np.array([run.waits[0] for run in runs])
    total = np.array([sum(us * n for us, n in run.waits.items()) for run in runs]) / US_PER_MS
    share = intervals.share_interval(waited, count)
    mean = intervals.ratio_interval(total, count)
    most = float(share[1]) * h if not total.any() else float(mean[1])
    tail, tail_low, tail_high = _tail(runs)
    return [
        Line(cell, "share that waits", float(waited.sum() / count.sum()), float(share[0]),
             float(share[1]), by_formula.share, 1),
        Line(cell, "mean wait, ms", float(total.sum() / count.sum()), float(mean[0]), most,
             by_formula.mean, 1),
        Line(cell, "p99 wait, ms", tail, tail_low, tail_high, by_formula.tail, 1),
    ]  # fmt: skip


def _tail(runs: list[Looked]) -> tuple[float, float, float]:
    values = sorted({us for run in runs for us in run.waits})
    counts = np.array([[run.waits[us] for us in values] for run in runs], dtype=np.float64)
    at = np.array(values) / US_PER_MS
    low, high = intervals.bootstrap_pooled_quantiles(counts, at, [0.99])[0]
    point = intervals.pooled_quantile(counts.sum(axis=0), at, 0.99)
    return float(point), float(low), float(high)


def _mu(runs: list[Looked]) -> float:
    """Metadata writes per ms, measured."""
    return sum(run.writes for run in runs) / sum(run.end_us for run in runs) * US_PER_MS


def of_statements(dd: int, h: int, p99: int, skew: int, runs: list[Looked]) -> Line:
    """The mean latency of a statement: the way to the leader, then DD + CSmax or the log's round.

    The round is over when the coordinator has the answer and has applied the update; it lies
    between that of unordered and that of ordered links. Above come whole milliseconds twice: the
    acknowledgement is rounded up, and so is what the coordinator's clock must show.
    """
    grid = Grid()
    delay = grid.cdf(np.asarray(quantiles(Lognormal(5, p99)), dtype=np.float64) / US_PER_MS)
    commands = Commands(h, _mu(runs), heartbeat_ms(h))
    commit = commit_of(grid, [(delay, delay)] * 2, commands)
    rounds = [
        grid.plus(commit.unordered, delay),
        ordered(grid, Link(delay, commit), commands) * grid.plus(commit.ordered, delay),
    ]
    waiting = float(forms.ddl_latency(dd, CS_MAX_MS))
    way = float(np.mean(quantiles(Lognormal(5, p99)))) / US_PER_MS + 2 * CLIENT_MS
    least, most = (
        way + waiting + float(np.trapezoid(1 - cdf[grid.times >= waiting], dx=grid.step))
        for cdf in rounds
    )
    each = np.array([np.mean(run.ddl_us) for run in runs if run.ddl_us]) / US_PER_MS
    low, high = intervals.mean_interval(each)
    cell = {"dd_ms": dd, "h_ms": h, "pd_p99_ms": p99, "skew_ms": skew}
    ends = Ends(least - CLOCK_MS, most + 2 * CLOCK_MS)
    mean = float(each.mean())
    return Line(cell, "mean DDL latency, ms", mean, float(low), float(high), ends, 1)
