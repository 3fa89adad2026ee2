"""What a protocol costs, by formula: waits, latencies, aborts, staleness.

Each function names its section of the catalogue of designs, and gives what it says in the units of
its arguments: times in milliseconds and rates per millisecond unless the name says otherwise, so
that a rate times a time is a number. All take arrays and broadcast. The symbols:

`a` = PD + skew - DD, how late the command that was stamped at Top - DD is; PD the propagation delay
from the leader's stamp to the node, apply and listeners included; `H` the idle interval; `mu` the
rate of metadata writes, which restart the idle timer; `lam` the rate of DDL statements on a table
and `q` the share of them that is forward-incompatible; `L` a transaction's length.

Waits that rest on measured delays instead of one number for PD: `analysis/formula/wait_model.py`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
NO_WRITES = 1e-12
"""Below this many writes per idle interval the log is idle."""


# --- 6.1: the wait for a complete schema ---------------------------------------------------------


def late(pd: ArrayLike, skew: ArrayLike, dd: ArrayLike) -> Array:
    """6.1: a = PD + skew - DD; of A5 with DD = 0, of A6 with DD = -CSmax."""
    return _array(pd) + _array(skew) - _array(dd)


def mean_wait(a: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: E[W] of W = max(0, a + R); idle: a + H/2, or (a + H)^2 / 2H where -H < a < 0."""
    a, h, mu = np.broadcast_arrays(_array(a), _array(h), _array(mu))
    b = np.clip(-a, 0.0, h)  # R below b costs nothing
    idle = (h - b) ** 2 / (2 * h)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = -np.expm1(-mu * h)
        busy = (np.exp(-mu * b) / mu - np.exp(-mu * h) * (h - b + 1 / mu)) / z
    within = np.where(mu * h > NO_WRITES, busy, idle)
    return _array(np.where(a >= 0, a + within, np.where(a <= -h, 0.0, within)))


def gap_cdf(r: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: P(R <= r) of the time to the next command, writes at rate mu and ticks H after them."""
    r, h, mu = np.broadcast_arrays(_array(r), _array(h), _array(mu))
    inside = np.clip(r, 0.0, h)
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = np.expm1(-mu * inside) / np.expm1(-mu * h)
    return _array(np.where(mu * h > NO_WRITES, busy, inside / h))


# --- 6.2: the latency of a DDL statement ---------------------------------------------------------


def ddl_latency(
    dd: ArrayLike,
    cs_max: ArrayLike,
    *,
    to_leader: ArrayLike = 0.0,
    replication: ArrayLike = 0.0,
    leader_ahead: ArrayLike = 0.0,
    client: ArrayLike = 0.0,
) -> Array:
    """6.2, A7/A8: d_client + d(C->L) + max(replication and notice, DD + CSmax + theta_L - theta_C).

    `client` is both ways between client and coordinator, `leader_ahead` theta_L - theta_C of the
    coordinator's clock. A5 is DD = 0.
    """
    waiting = _array(dd) + _array(cs_max) + _array(leader_ahead)
    return _array(client) + _array(to_leader) + np.maximum(_array(replication), waiting)


# --- 6.3: aborts for a schema change -------------------------------------------------------------


def abort_options_1_2(lam: ArrayLike, q: ArrayLike, length: ArrayLike) -> Array:
    """6.3, options 1 and 2 and B11: 1 - e^(-lambda q L)."""
    return -np.expm1(-_array(lam) * _array(q) * _array(length))


def at_rate(abort: ArrayLike, measured_at: ArrayLike, wanted: ArrayLike) -> Array:
    """6.3 read backwards: an abort rate measured under one DDL rate, under another.

    The exponent is proportional to lambda, so a rare event can be measured under a faster one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = -np.log1p(-_array(abort)) * _array(wanted) / _array(measured_at)
    return -np.expm1(-exponent)


# --- 6.4: restarts -------------------------------------------------------------------------------


def attempts(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.4: attempts until one transaction commits, e^(lambda L)."""
    return np.exp(_array(lam) * _array(length))


# --- 6.5: staleness ------------------------------------------------------------------------------


def own_ddl_missed_at(skew: ArrayLike, cs_max: ArrayLike, way: ArrayLike) -> Array:
    """6.5 and A8 for one pair of clocks: missed iff theta_C - theta_n > CSmax + d; 0 or 1."""
    return (_array(skew) > _array(cs_max) + _array(way)).astype(np.float64)


# --- 6.7: freeze ---------------------------------------------------------------------------------


def mean_frozen(outage: ArrayLike, pd: ArrayLike, dd: ArrayLike, h: ArrayLike) -> Array:
    """6.7: for how long on average a node that was cut off for `outage` = X cannot serve.

    X + PD - DD + H/2 where the outage is longer than the slack.
    """
    return mean_wait(_array(outage) + late(pd, 0.0, dd), h)


def _array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)
