"""Closed forms of a lock on tables with a queue, from measured distributions.

*DDL wait* (strategies 6.2, B16: the residual of the longest transaction): that of `lock_forms`, up
to the lock's time limit, at which the statement gives up.

*DML stall.* The table is shut for V = W + execution + what follows in the DDL's own transaction.
A client that does not hold it comes after the residual A of its gap, one that holds it after R and
a whole gap; it stalls for V less that. With F for the distribution of its coming, of N clients
N E[F(V - x)] stall for more than x. What is shorter than a statement usually takes is no stall.

*Aborts.* Conflicts of rows stay as they are in the calm recording, for each other client alike;
to them come the stalls that are longer than the lock's time limit.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ddlsim.analysis.formula import lock_forms
from ddlsim.analysis.predict.calibrated import Calibrated
from ddlsim.analysis.stats.intervals import Array

POINTS: Final = 4_000
"""Points of the grid on which distributions are kept."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of a statement of DDL: its wait and its whole latency; of DML: how many statements stall per
    DDL, and for how long. Times are ms; shares are of all DDL and of all clients' transactions.
    """

    ddl_wait_mean: float
    ddl_latency_mean: float
    ddl_latency_p50: float
    ddl_latency_p95: float
    ddl_timeout_share: float
    stalled_per_ddl: float
    stall_mean: float
    stall_p95: float
    abort_share: float
    lock_abort_share: float


@dataclass(frozen=True, slots=True)
class _Grid:
    step: float

    @property
    def at(self) -> Array:
        return np.asarray(np.arange(POINTS) * self.step, dtype=np.float64)

    def place(self, value: float) -> int:
        """The point of the grid next to a value, or its last one."""
        return min(round(value / self.step), POINTS - 1)

    def sample(self, values: Array) -> Array:
        """The probabilities of a sample; what is beyond the grid is at its end."""
        places = np.clip(np.rint(values / self.step).astype(int), 0, POINTS - 1)
        return np.bincount(places, minlength=POINTS) / len(values)

    def residual(self, values: Array) -> Array:
        """The distribution function of the residual at a time that has nothing to do with it."""
        return lock_forms.left_within(values, self.at)

    def sum_of(self, one: Array, other: Array) -> Array:
        """The probabilities of a sum."""
        size = 2 * POINTS
        made = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)
        made = np.clip(made, 0.0, None)
        return np.concatenate([made[: POINTS - 1], [made[POINTS - 1 :].sum()]])

    def quantile(self, probabilities: Array, share: float) -> float:
        total = np.cumsum(probabilities)
        return float(self.at[min(int(np.searchsorted(total, share * total[-1])), POINTS - 1)])


@dataclass(frozen=True, slots=True)
class Load:
    """So many clients over so many tables; `ddl_per_tx`: statements of DDL for each transaction of
    a client. A wait for a lock ends after `lock_ms`.
    """

    clients: int
    tables: int
    lock_ms: float
    ddl_per_tx: float


def forecast(known: Calibrated, load: Load) -> Forecast:
    """What a load comes to, by parameters that were measured under another one."""
    known = known.over(load.tables)
    clients, lock_ms, ddl_per_tx = load.clients, load.lock_ms, load.ddl_per_tx
    longest = lock_ms + float(known.executes.max() + known.keeps.max())
    grid = _Grid(longest / (POINTS - 1))
    used, waits, timed_out = _waits(grid, known, clients, lock_ms)
    executes = grid.sample(known.executes)
    latency = grid.sum_of(waits * (1 - timed_out), executes)
    given_up = np.zeros(POINTS)
    given_up[grid.place(lock_ms)] = timed_out
    shut = grid.sum_of(latency, grid.sample(known.keeps)) + given_up
    latency = latency + given_up
    comes = _arrivals(grid, known, used)
    above = clients * _stalls_above(grid, shut, comes)
    usual = float(np.median(known.takes))
    since = grid.place(usual)
    stalled = float(above[since])
    late = float(above[grid.place(lock_ms)])
    conflicts = 1 - (1 - known.conflicts) ** ((clients - 1) / max(known.clients - 1, 1))
    by_lock = min(late * ddl_per_tx, 1.0)
    done = (1 - timed_out) * float(waits @ grid.at) + timed_out * lock_ms
    return Forecast(
        ddl_wait_mean=done,
        ddl_latency_mean=float(latency @ grid.at),
        ddl_latency_p50=grid.quantile(latency, 0.5),
        ddl_latency_p95=grid.quantile(latency, 0.95),
        ddl_timeout_share=timed_out,
        stalled_per_ddl=stalled,
        stall_mean=usual + float(above[since:].sum()) * grid.step / stalled if stalled else 0.0,
        stall_p95=float(grid.at[int(np.argmax(above <= 0.05 * stalled))]),
        abort_share=1 - (1 - conflicts) * (1 - by_lock),
        lock_abort_share=by_lock,
    )


def _waits(
    grid: _Grid, known: Calibrated, clients: int, lock_ms: float
) -> tuple[float, Array, float]:
    """The share of time in use; the wait that ends in time; the probability that it does not."""
    used = known.used
    below = lock_forms.unused_within(used, grid.residual(known.holds), clients)
    limit = grid.place(lock_ms)
    below = below[: limit + 1]
    in_time = float(below[-1])
    waits = np.zeros(POINTS)
    waits[: limit + 1] = np.diff(below, prepend=0.0) / in_time
    return used, waits, 1 - in_time


def _arrivals(grid: _Grid, known: Calibrated, used: float) -> Array:
    """The probability that a client has come to the table by a time after the DDL did."""
    free = grid.residual(known.gaps)
    held = np.diff(grid.residual(known.holds), prepend=0.0)
    after = np.cumsum(grid.sum_of(held, grid.sample(known.gaps)))
    return np.asarray((1 - used) * free + used * after)


def _stalls_above(grid: _Grid, shut: Array, comes: Array) -> Array:
    """For each time, how many stalls of one client in one DDL are longer: E[F(V - x)]."""
    size = 2 * POINTS
    turned = np.fft.irfft(np.fft.rfft(shut, size) * np.conj(np.fft.rfft(comes, size)), size)
    return np.clip(turned[:POINTS], 0.0, None)
