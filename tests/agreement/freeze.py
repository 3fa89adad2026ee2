"""Experiment 6: how long a node is frozen whose log was cut off (6.7).

One follower hears nothing of the log for X, beginning at any moment; clients look there all the
time. It is frozen from when its last safe time is DD old until what it missed arrives. Measured is
the longest first wait on the node in a run, which a look every few milliseconds misses by no more
than the time to the next look; the bracket has that, and what arrives behind others.
"""

from typing import Final, NamedTuple

import numpy as np

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.formula.wait_model import Ends
from ddlsim.analysis.stats import intervals
from ddlsim.history.events import SchemaResolved
from ddlsim.history.history import History
from ddlsim.units import US_PER_MS
from tests.agreement import catalogue
from tests.agreement.base import Line, Setup, measured

NODE: Final = "n3"
LATENCY_MS: Final = 5
H_MS: Final = 100
OUTAGES_MS: Final = (100, 250, 500, 1_000)
DDS_MS: Final = (50, 200, 500)
CLIENTS: Final = 40
LOOK_MS: Final = 10.0
"""How far apart looks at the node are, or less."""


class Frozen(NamedTuple):
    """One run: the longest wait on the node, and on the others, in ms."""

    here: float
    elsewhere: float


def frozen(history: History) -> Frozen:
    """What a run says of the longest waits."""
    longest = {True: 0, False: 0}
    for look in history.of(SchemaResolved):
        if look.purpose == "enlist":
            here = look.node == NODE
            longest[here] = max(longest[here], look.waited_us)
    return Frozen(longest[True] / US_PER_MS, longest[False] / US_PER_MS)


def world(outage: int, dd: int) -> Setup:
    """Constant delays; the node learns, so that no append waits for its votes."""
    return Setup(f"""
[protocol]
delay_duration_ms = {dd}
max_clock_skew_ms = 5
safe_time_interval_ms = {H_MS}
[cluster]
nodes = 3
voters = 1
partitions = 1
[network]
latency_ms = {LATENCY_MS}
[run]
load_ms = {outage + 1_500}
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[leader]]
group = "t/0"
node = "n1"
[[faults]]
name = "learner_lag"
node = "{NODE}"
from_ms = {{ distribution = "uniform", low = 500, high = {500 + 5 * H_MS} }}
for_ms = {outage}
[[workload]]
name = "mixed"
clients = {CLIENTS}
operations = 40
pause_ms = [0, 160]
implicit = 1.0
put = 0
delete = 0
scan = 0
select = 0
keys = 100
""")


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiment; `quick` takes a few."""
    cells = [(outage, dd) for outage in OUTAGES_MS for dd in DDS_MS]
    if quick:
        cells = [(250, 50), (500, 200)]
    runs = measured([world(*cell) for cell in cells], seeds, frozen, jobs)
    found: list[Line] = []
    for (outage, dd), own in zip(cells, runs, strict=True):
        cell = {"outage_ms": outage, "dd_ms": dd, "h_ms": H_MS}
        here = np.array([run.here for run in own])
        low, high = intervals.mean_interval(here)
        least = float(forms.mean_frozen(outage, LATENCY_MS - CLOCK_MS, dd, H_MS))
        most = float(forms.mean_frozen(outage, LATENCY_MS + CLOCK_MS, dd, H_MS))
        found.append(
            Line(cell, "mean frozen time, ms", float(here.mean()), float(low), float(high),
                 Ends(max(least - LOOK_MS, 0.0), most), 6)
        )  # fmt: skip
        away = max(run.elsewhere for run in own)
        most = max(float(catalogue.zero_wait_dd(LATENCY_MS, H_MS, CLOCK_MS)) - dd, 0.0)
        found.append(Line(cell, "longest wait elsewhere, ms", away, away, away, Ends(0.0, most), 6))
    return found
