"""B13: the share of transactions across a rename that outlive the old name, against e^(-A/m).

Transactions put a row under the old name, at times of their own before Tu1, and commit after an
exponential time of mean m. Those that are open at Tu1 cross the rename; what is left of them is as
long again, so the share e^(-A/m) commits too late. The bracket leaves room for the end of the name,
which comes at Tu1 + A or as much later as the log is late.
"""

from functools import partial
from typing import Any, Final

import numpy as np

from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.formula.wait_model import Ends
from ddlsim.analysis.stats import intervals
from ddlsim.history.events import TxAborted, TxCommitted, UpdateLogged
from ddlsim.history.history import History
from tests.agreement import catalogue
from tests.agreement.base import Line, Setup, measured

DD_MS: Final = 60
LATENCY_MS: Final = 2.0
MEAN_MS: Final = 100.0
"""m."""
WINDOWS_MS: Final = (50, 100, 200, 400)
"""A."""
CLIENTS: Final = 250
RENAME_AT_MS: Final = 500
DICE: Final = 98_113


def crossed(history: History) -> tuple[int, int]:
    """How many transactions were open at Tu1, and how many of them were aborted."""
    rename = next(update for update in history.of(UpdateLogged) if update.op is not None)
    late = sum(
        event.commit_ts >= rename.activation_ts
        for event in history.of(TxCommitted)
        if event.tx.startswith("T")
    )
    aborted = sum(event.tx.startswith("T") for event in history.of(TxAborted))
    return late + aborted, aborted


def world(window_ms: int, seed: int) -> Setup:
    """One rename among transactions of one put each, and a commit whenever the dice say."""
    dice = np.random.default_rng([DICE, seed])
    puts = dice.uniform(10, RENAME_AT_MS + DD_MS - 5, CLIENTS)
    ends = puts + 5 + dice.exponential(MEAN_MS, CLIENTS)
    steps = "".join(
        f'[[step]]\nid = "w{at}"\nclient = "c{at}"\ntx = "T{at}"\nnode = "n{1 + at % 3}"\n'
        f'at_ms = {put:.2f}\ndo = ["put", "t", {at}]\n'
        f'[[step]]\nid = "e{at}"\nclient = "c{at}"\ntx = "T{at}"\n'
        f'at_ms = {end:.2f}\ndo = "commit"\n'
        for at, (put, end) in enumerate(zip(puts, ends, strict=True))
    )
    return Setup(f"""
[strategy]
name = "b13_alias"
alias_ms = {window_ms}
[protocol]
delay_duration_ms = {DD_MS}
max_clock_skew_ms = 5
safe_time_interval_ms = 20
[cluster]
nodes = 3
[network]
latency_ms = {LATENCY_MS}
client_latency_ms = 0.5
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[step]]
id = "d"
client = "ddl"
node = "n1"
at_ms = {RENAME_AT_MS}
ddl = "ALTER TABLE t RENAME TO s"
{steps}
""")


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """A line for each window; `quick` takes two."""
    windows = WINDOWS_MS[1:3] if quick else WINDOWS_MS
    runs = measured([partial(world, window_ms) for window_ms in windows], seeds, crossed, jobs)
    return [line_of(window_ms, own) for window_ms, own in zip(windows, runs, strict=True)]


def line_of(window_ms: int, runs: list[tuple[int, int]]) -> Line:
    """The share that is aborted, beside the formula."""
    counted = np.array(runs, dtype=np.float64)
    low, high = intervals.share_interval(counted[:, 1], counted[:, 0])
    slack_ms = CLOCK_MS + 2 * LATENCY_MS
    cell: dict[str, Any] = {"design": "b13_alias", "alias_ms": window_ms, "mean_ms": MEAN_MS}
    ends = Ends(
        *(float(catalogue.outlives_alias(window_ms + more, MEAN_MS)) for more in (slack_ms, 0))
    )
    return Line(cell, "share aborted of those that cross a rename",
                float(counted[:, 1].sum() / counted[:, 0].sum()), float(low), float(high),
                ends, 13)  # fmt: skip
