"""What designs on a key-value store cost, by formula: the forms of family C of the catalogue.

Units and names as in `closed_forms`: milliseconds and rates per millisecond. The symbols, besides:

`span` = cv - rv, from the read version of a transaction to its commit version, in the time in which
so many versions go by; `lam` the rate of schema changes that conflict with it (of its table, its
store or, of the metadata version, of the whole cluster); `age` = rv - v_c, how old the kept schema
is at the read version; `every` P, between two explicit reads of the schema; `rate` X, transactions;
`clients` C, processes that keep a schema; `lease` tau; `distance` N; `window` W. Restarts (6.4) are
those of `closed_forms.attempts` over the span: a conflict is found at the commit.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddlsim.analysis.formula import closed_forms as forms

Array = NDArray[np.float64]
SMALL = 1e-9


# --- 6.2: the latency of a statement -------------------------------------------------------------


def one_commit(
    way: ArrayLike, *, client: ArrayLike, batches: ArrayLike, reads: ArrayLike = 1
) -> Array:
    """6.2: one transaction of the store that reads so many times and writes, client included.

    `way` is that of a message between two processes, `client` that to its process, `batches` the
    time for which proxies gather requests. A read version takes two round trips (the proxy asks the
    sequencer, and the logs meanwhile), a commit five: version, resolvers, logs, report.
    """
    return 2 * _array(client) + 2 * (7 + _array(reads)) * _array(way) + _array(batches)


def longest_lease(lease: ArrayLike, drift: ArrayLike) -> Array:
    """6.2, C5: tau (1 + rho) / (1 - rho): of a slow clock, measured by a fast one."""
    rho = _array(drift)
    return _array(lease) * (1 + rho) / (1 - rho)


def statement(commit: ArrayLike, *, steps: ArrayLike = 1, wait: ArrayLike = 0.0) -> Array:
    """6.2: every step commits and waits: 0 in C1 to C4, C7, C12, C13, C15 and C16; the longest
    lease in C5 and C6; N in C9; N + W in C10."""
    return _array(steps) * (_array(commit) + _array(wait))


def anchored_at_read_version(commit: ArrayLike, distance: ArrayLike, *, behind: ArrayLike) -> Array:
    """6.2, C8 and C11: N from the read version on, `behind` after the statement began."""
    return np.maximum(_array(commit), _array(behind) + _array(distance))


# --- 6.3, 6.5: aborts and violations -------------------------------------------------------------


def changed_within(lam: ArrayLike, span: ArrayLike) -> Array:
    """6.3 and C15 4.: 1 - e^(-lambda span).

    Over (rv, cv] the share that conflicts (C1, C3, C7, C11, C12, C16; of C13 over the age too), or,
    where nothing conflicts, that crosses a change (C9, C12 at the start only); over the age of the
    kept schema the share that does not notice a change (C15).
    """
    return forms.abort_options_1_2(lam, 1.0, span)


def changed_since_poll(lam: ArrayLike, every: ArrayLike, read: ArrayLike = 0.0) -> Array:
    """6.5: the mean of `changed_within` over ages that are uniform between `read` and P + read.

    C15, C2b and read-only transactions of C13, where the schema is read again every P: `read` is
    the age of an answer when it comes.
    """
    x = _array(lam) * _array(every)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.where(x > SMALL, -np.expm1(-x) / x, 1.0)
    return 1 - np.exp(-_array(lam) * _array(read)) * same


def stalest(every: ArrayLike, read: ArrayLike, span: ArrayLike) -> Array:
    """6.5, C2b and C5: P, the read, and what the transaction takes from its begin to its commit."""
    return _array(every) + _array(read) + _array(span)


def crossing(rate: ArrayLike, span: ArrayLike) -> Array:
    """6.5, C9 unfenced: X (cv - rv) transactions cross one change."""
    return _array(rate) * _array(span)


def orphans(rate: ArrayLike, span: ArrayLike, cutoff: ArrayLike, window: ArrayLike) -> Array:
    """C10: X max(0, span - cutoff) writes under the old schema commit behind the clean-up.

    None where the resolvers' window is shorter than that: then these are too old. Without a read
    conflict nothing is: the window is infinite.
    """
    late = np.maximum(_array(span) - _array(cutoff), 0.0)
    return np.where(_array(span) > _array(window), 0.0, _array(rate) * late)


# --- 6.6: reads of the schema ---------------------------------------------------------------------


def reads_in_each(rate: ArrayLike, keys: ArrayLike = 1) -> Array:
    """6.6, C1, C1b, and C3, C3b with so many keys: X / N of one key."""
    return _array(rate) / _array(keys)


def reads_every(clients: ArrayLike, every: ArrayLike) -> Array:
    """6.6: C / P; of C5 with P = tau / 2, of C9 with P = N, of C13 with P = W at most."""
    return _array(clients) / _array(every)


def reads_per_change(clients: ArrayLike, changes: ArrayLike) -> Array:
    """6.6, C12: Lambda C; each change makes a burst of C reads."""
    return _array(clients) * _array(changes)


def busy(rate: ArrayLike, service: ArrayLike) -> Array:
    """6.6: X / c, the utilisation of a server whose reads take `service` = 1 / c."""
    return _array(rate) * _array(service)


def queued(rate: ArrayLike, service: ArrayLike) -> tuple[Array, Array]:
    """6.6: the time of a read in a server near its capacity, service included: (least, most).

    Least: M/D/1, reads that all take equally long; most: M/M/1, 1 / (c - X), as the catalogue has
    it. Infinite from the capacity on.
    """
    rho, each = np.broadcast_arrays(busy(rate, service), _array(service))
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = np.where(rho < 1, each * rho / (1 - rho), np.inf)
    return _array(each + wait / 2), _array(each + wait)


def most_clients(think: ArrayLike, service: ArrayLike) -> Array:
    """6.6: clients that pause and work for `think` in all, which together reach the capacity."""
    return _array(think) / _array(service)


def _array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)
