"""What a recording under load shows of the same quantities, with intervals.

The unit of chance is a statement of DDL with all that stalls behind it, or, for shares of aborts,
a slice of time: whole units are resampled.
"""

from collections import defaultdict
from dataclasses import dataclass, fields
from math import inf
from typing import Final

import numpy as np

from ddlsim.analysis.predict.calibrated import SLICES, Calibrated
from ddlsim.analysis.predict.lock_queue import Forecast
from ddlsim.analysis.predict.recorded import LOCK, Recorded, Sent, Tx
from ddlsim.analysis.stats.intervals import (
    LEVEL,
    Array,
    none_seen,
    resampling_tail,
    seed_weights,
    widened,
)
from ddlsim.analysis.tune.goals import TuneError

NAMES: Final = tuple(one.name for one in fields(Forecast))
OF_SLICES: Final = ("abort_share", "lock_abort_share")
OF_STATEMENTS: Final = ("ddl_timeout_share",)
"""The share of statements; with those of slices all that are shares."""
QUANTILES: Final = {"ddl_latency_p50": 0.5, "ddl_latency_p95": 0.95, "stall_p95": 0.95}
RESAMPLES: Final = 500
TAIL: Final = 0.025


@dataclass(frozen=True, slots=True)
class Window:
    """A statement of DDL: how long its answer took, the time for which it kept others off its
    table, and how long each statement stalled that came in that time.
    """

    table: str
    at: float
    latency: float
    shut: float
    timed_out: bool
    stalls: tuple[float, ...]
    explained: float
    """How long those went on that had used its table before it."""


class _Uses:
    """The first statement of each transaction on a table, with when that ended."""

    def __init__(self, uses: list[tuple[Sent, Tx]]) -> None:
        at = np.array([one.at for one, _ in uses])
        self._order = np.argsort(at, kind="stable")
        self._at = at[self._order]
        ended = np.array([tx.ended for _, tx in uses])
        self._last_ended = np.maximum.accumulate(ended[self._order]) if uses else ended
        self._took = [one.took for one, _ in uses]

    def took(self, since: float, until: float) -> list[float]:
        """How long those took that came in this time, in the order in which they were given."""
        low, high = np.searchsorted(self._at, [since, until])
        return [self._took[place] for place in np.sort(self._order[low:high])]

    def ended(self, before: float) -> float:
        """When the last of those ended that came before this time; this time if that is later."""
        count = int(np.searchsorted(self._at, before))
        return max(float(self._last_ended[count - 1]), before) if count else before


def windows(recorded: Recorded, usual: float) -> list[Window]:
    """Each statement of DDL with what came while it waited and executed.

    A statement stalls for what it takes more than the `usual` ms, if that is more than as much.
    """
    by_table: dict[str, list[tuple[Sent, Tx]]] = defaultdict(list)
    for tx in recorded.clients:
        for one in tx.sent:
            if one.first:
                by_table[one.table].append((one, tx))
    tables = {name: _Uses(uses) for name, uses in by_table.items()}
    made = []
    for tx in recorded.changes:
        ddl = tx.ddl
        assert ddl is not None, "a change has DDL"
        made.append(_window(tx, ddl, tables.get(ddl.table) or _Uses([]), usual))
    return made


def _window(change: Tx, ddl: Sent, uses: _Uses, usual: float) -> Window:
    end = ddl.until if ddl.timed_out else change.ended
    late = (took - usual for took in uses.took(ddl.at, end))
    stalls = [each for each in late if each > usual]
    explained = uses.ended(ddl.at) - ddl.at
    return Window(
        ddl.table, ddl.at, ddl.took, end - ddl.at, ddl.timed_out, tuple(stalls), explained
    )


def measure(recorded: Recorded, known: Calibrated) -> dict[str, tuple[float, float, float]]:
    """Each quantity of a forecast as it was: (value, low, high), 95 %; `high` is infinite where
    nothing bounds it: what was 0 for all statements of DDL, but for shares; a quantile of few.
    """
    found = windows(recorded, float(np.median(known.takes)))
    if len(found) < 2:
        raise TuneError(
            f"--against {recorded.folder}: {len(found)} statements of DDL are too few; "
            "record for longer, or with a higher --ddl-rate"
        )
    low, high = recorded.span
    edges = np.linspace(low, high, SLICES + 1)[1:-1]
    slices = np.zeros((SLICES, 3))
    for tx in recorded.clients:
        counts = 1, tx.outcome != "ok", tx.why == LOCK
        slices[int(np.searchsorted(edges, tx.began))] += counts
    executes = float(known.executes.mean())
    values = of_windows(found, executes) | _of_slices(slices)
    spread: dict[str, list[float]] = {name: [] for name in NAMES}
    for row in seed_weights(SLICES, RESAMPLES):
        _add(spread, _of_slices(slices * row[:, None]))
    for row in seed_weights(len(found), RESAMPLES).astype(int):
        again = [one for one, times in zip(found, row, strict=True) for _ in range(times)]
        _add(spread, of_windows(again, executes))
    trials = dict.fromkeys(OF_STATEMENTS, len(found))
    trials |= dict.fromkeys(OF_SLICES, len(recorded.clients))
    alone = [of_windows([one], executes) for one in found]
    ends = {}
    for name in NAMES:
        each = np.array([one[name] for one in alone]) if name in alone[0] else np.zeros(SLICES)
        ends[name] = _ends(spread[name], trials.get(name), each)
    sizes = dict.fromkeys(QUANTILES, len(found))
    sizes["stall_p95"] = sum(len(one.stalls) for one in found)
    for name, share in QUANTILES.items():
        if _hides_larger(sizes[name], share):
            ends[name] = ends[name][0], inf
    return {name: (values[name], *ends[name]) for name in NAMES}


def _add(spread: dict[str, list[float]], again: dict[str, float]) -> None:
    for name, value in again.items():
        spread[name].append(value)


def _hides_larger(count: int, share: float) -> bool:
    """Whether so few observations may all be below a quantile: a 95th percentile needs 59."""
    return share**count > 1 - LEVEL


def _ends(again: list[float], trials: int | None, each: Array) -> tuple[float, float]:
    """The ends of resampled values, of so many units as there are in `each`, their own values; of
    what was never seen, resamples show nothing either: there the upper end is that of a share of
    so many trials, infinite of anything else."""
    tail = resampling_tail(len(each))
    ends = np.nanquantile(again, [tail, 1 - tail])
    low, high = map(float, widened((ends[0], ends[1]), each))
    if trials is not None:
        high = min(high, 1.0)
    return low, high or (inf if trials is None else float(none_seen(trials)))


def of_windows(some: list[Window], executes: float) -> dict[str, float]:
    """The quantities of some statements of DDL that execute for so many ms."""
    latencies = np.array([one.latency for one in some])
    waits = [one.latency - executes * (not one.timed_out) for one in some]
    stalls = np.array([stall for one in some for stall in one.stalls])
    return {
        "ddl_wait_mean": float(np.mean(np.maximum(waits, 0.0))),
        "ddl_latency_mean": float(latencies.mean()),
        "ddl_latency_p50": _quantile(latencies, 0.5),
        "ddl_latency_p95": _quantile(latencies, 0.95),
        "ddl_timeout_share": float(np.mean([one.timed_out for one in some])),
        "stalled_per_ddl": len(stalls) / len(some),
        "stall_mean": float(stalls.mean()) if len(stalls) else 0.0,
        "stall_p95": _quantile(stalls, 0.95),
    }


def _of_slices(slices: Array) -> dict[str, float]:
    total, failed, by_lock = map(float, slices.sum(axis=0))
    return dict(zip(OF_SLICES, (failed / max(total, 1.0), by_lock / max(total, 1.0)), strict=True))


def _quantile(values: Array, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else 0.0
