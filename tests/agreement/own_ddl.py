"""Experiment 5: the share of clients that miss their own DDL against skew (6.5 and A8).

One client runs statements; the moment one is acknowledged others, without a token, look on other
nodes. Missed is a look-up before Tu. With two clocks exactly so far apart the threshold is CSmax +
d, d the way from the acknowledgement to the other node; with normal clocks the share is that of
6.5. The bracket has d a millisecond more or less: clocks and acknowledgements are in whole ones.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.comparison import CLOCK_MS
from ddlsim.analysis.formula.wait_model import Ends
from ddlsim.analysis.stats import intervals
from ddlsim.history.events import DdlDecided, SchemaResolved
from ddlsim.history.history import History
from tests.agreement import catalogue
from tests.agreement.base import Line, Setup, measured

CS_MAX_MS: Final = 40
WAY_MS: Final = 1.0
"""From the coordinator to its client, and from another client to another node: half of it each."""
DDS_MS: Final = (0, 200)
FACTORS: Final = (0.0, 0.5, 0.9, 1.0, 1.1, 1.5, 2.0)
SIGMAS_MS: Final = (15, 30, 60)
STATEMENTS, READERS = 12, 6
PAUSE_MS: Final = 400
"""Between statements: until then hybrid clocks that were pushed ahead have been overtaken."""
LEADER: Final = "n1"
BELLS: Final = 8
"""So many times more seeds where clocks are drawn: a seed is one draw of five clocks."""
OFFSETS: Final = "clocks.csv"
ROUNDED_MS: Final = 1.0
"""An acknowledgement may wait for the next whole tick, and hybrid clocks for a logical part."""


class Looks(NamedTuple):
    """One run: looks at the other node of the pair (or any), and how many missed."""

    looks: int
    missed: int


def looked(history: History, pair: tuple[str, str] | None) -> Looks:
    """The looks right after acknowledgements; `pair` is (acknowledging node, observed node).

    Without a pair: everywhere but at the leader.
    """
    count = missed = 0
    for statement, acknowledged_by, node, ts, activation_ts in _looks(history):
        del statement
        if (acknowledged_by, node) == pair or (pair is None and node != LEADER):
            count += 1
            missed += ts < activation_ts
    return Looks(count, missed)


def _looks(history: History) -> Iterator[tuple[int, str, str, int, int]]:
    """(statement, its node, the look's node, the look's timestamp, Tu) of every first look-up."""
    decided: dict[int, DdlDecided] = {}
    for event in history.of(DdlDecided):
        if event.outcome == "installed":
            decided[int(event.op.rpartition("-")[2])] = event
    seen: set[str] = set()
    for look in history.of(SchemaResolved):
        name = (look.op or "").partition("/")[0]
        parts = name.split("-")
        if look.purpose != "enlist" or len(parts) != 3 or name in seen:
            continue
        seen.add(name)
        told = decided.get(int(parts[1])) if parts[1].isdecimal() else None
        if told is not None:
            yield int(parts[1]), told.node, look.node, look.ts, told.activation_ts


def fast_to_slow(history: History) -> Looks:
    """Looks at the slow node after acknowledgements by the fast one."""
    return looked(history, ("n1", "n3"))


def followers(history: History) -> Looks:
    """Looks at every node but the leader.

    The leader has stamped Tm itself, so its hybrid clock is at least Tm ever after: with DD = 0 it
    never misses, whatever its physical clock shows.
    """
    return looked(history, None)


def world(dd: int, clocks: str, files: tuple[tuple[str, str], ...] = ()) -> Setup:
    """Nodes without delays between them; `clocks` is the table of clocks."""
    nodes = 3 if files == () else 5
    return Setup(
        f"""
[protocol]
delay_duration_ms = {dd}
max_clock_skew_ms = {CS_MAX_MS}
safe_time_interval_ms = 50
[cluster]
nodes = {nodes}
{clocks}
[network]
client_latency_ms = {WAY_MS / 2}
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[workload]]
name = "read_own_ddl"
clients = {READERS}
operations = {STATEMENTS}
pause_ms = [{PAUSE_MS}, {PAUSE_MS + 200}]
drops = 0.0
""",
        files,
    )


def skewed(dd: int, factor: float) -> Setup:
    """n1 is `factor` times CSmax ahead of n3."""
    half = factor * CS_MAX_MS / 2
    clocks = f"[clocks.nodes.n1]\noffset_ms = {half}\n[clocks.nodes.n3]\noffset_ms = {-half}"
    return world(dd, clocks)


def normal(dd: int, sigma: float) -> Setup:
    """Independent normal clocks."""
    shares = (np.arange(4_096) + 0.5) / 4_096
    from scipy import special  # type: ignore[import-untyped]  # scipy ships no types

    values = sigma * special.ndtri(shares)
    text = "offset_ms\n" + "\n".join(f"{value:.3f}" for value in values)
    clocks = f'[clocks]\noffset_ms = {{ distribution = "empirical", file = "{OFFSETS}" }}'
    return world(dd, clocks, ((OFFSETS, text),))


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """Every cell of the experiment; `quick` takes a few."""
    dds = DDS_MS[:1] if quick else DDS_MS
    factors = (0.9, 1.1) if quick else FACTORS
    sigmas = SIGMAS_MS[1:2] if quick else SIGMAS_MS
    pairs = [(dd, factor) for dd in dds for factor in factors]
    bells = [(dd, sigma) for dd in dds for sigma in sigmas]
    found: list[Line] = []
    runs = measured([skewed(*cell) for cell in pairs], seeds, fast_to_slow, jobs)
    for (dd, factor), own in zip(pairs, runs, strict=True):
        skew = factor * CS_MAX_MS
        ends = [float(forms.own_ddl_missed_at(skew, CS_MAX_MS, way)) for way in _ways()]
        cell = {"dd_ms": dd, "skew_over_cs_max": factor}
        found.append(_line(cell, own, ends))
    many = range(seeds.start, seeds.start + BELLS * len(seeds))
    runs = measured([normal(*cell) for cell in bells], many, followers, jobs)
    for (dd, sigma), own in zip(bells, runs, strict=True):
        ends = [float(catalogue.own_ddl_missed(CS_MAX_MS + way, sigma)) for way in _ways()]
        found.append(_line({"dd_ms": dd, "sigma_ms": sigma}, own, ends))
    return found


def _ways() -> tuple[float, float]:
    """The longest and the shortest d, as whole milliseconds can make it."""
    return WAY_MS + CLOCK_MS + ROUNDED_MS, WAY_MS - CLOCK_MS


def _line(cell: dict[str, float], own: list[Looks], ends: list[float]) -> Line:
    looks = np.array([run.looks for run in own], dtype=np.float64)
    missed = np.array([run.missed for run in own], dtype=np.float64)
    ends_of = intervals.share_interval(missed, looks)
    share = float(missed.sum() / max(looks.sum(), 1))
    unseen = float(intervals.none_seen(len(own)))  # the clocks of a seed are one draw
    low = min(float(ends_of[0]), 1 - unseen)
    high = float(ends_of[1]) if missed.any() else unseen
    return Line(dict(cell), "share that misses", share, low, high, Ends(min(ends), max(ends)), 5)
