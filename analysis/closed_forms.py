"""What a protocol costs, by formula: waits, latencies, aborts, staleness, load.

Each function names its section of the catalogue of designs, and gives what it says in the units of
its arguments: times in milliseconds and rates per millisecond unless the name says otherwise, so
that a rate times a time is a number. All take arrays and broadcast. The symbols:

`a` = PD + skew - DD, how late the command that was stamped at Top - DD is; PD the propagation delay
from the leader's stamp to the node, apply and listeners included; `H` the idle interval; `mu` the
rate of metadata writes, which restart the idle timer; `lam` the rate of DDL statements on a table
and `q` the share of them that is forward-incompatible; `L` a transaction's length.

Waits that rest on measured delays instead of one number for PD: `analysis/wait_model.py`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # scipy ships no types

Array = NDArray[np.float64]
NO_WRITES = 1e-12
"""Below this many writes per idle interval the log is idle."""


# --- 6.1: the wait for a complete schema ---------------------------------------------------------


def late(pd: ArrayLike, skew: ArrayLike, dd: ArrayLike) -> Array:
    """6.1: a = PD + skew - DD; of A5 with DD = 0, of A6 with DD = -CSmax."""
    return _array(pd) + _array(skew) - _array(dd)


def wait_probability(a: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: P(W > 0); the residual R to the next command is truncated exponential on (0, H)."""
    return 1 - gap_cdf(-_array(a), h, mu)


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


def wait_quantile(share: ArrayLike, a: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: the quantile of W; idle: max(0, a + share * H)."""
    return np.maximum(0.0, _array(a) + gap_quantile(share, h, mu))


def gap_cdf(r: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: P(R <= r) of the time to the next command, writes at rate mu and ticks H after them."""
    r, h, mu = np.broadcast_arrays(_array(r), _array(h), _array(mu))
    inside = np.clip(r, 0.0, h)
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = np.expm1(-mu * inside) / np.expm1(-mu * h)
    return _array(np.where(mu * h > NO_WRITES, busy, inside / h))


def gap_quantile(share: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: the quantile of R."""
    p, h, mu = np.broadcast_arrays(_array(share), _array(h), _array(mu))
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = -np.log1p(p * np.expm1(-mu * h)) / mu
    return _array(np.where(mu * h > NO_WRITES, busy, p * h))


def mean_wait_exponential_pd(mean_pd: ArrayLike, skew: ArrayLike, dd: ArrayLike) -> Array:
    """6.1 for H -> 0 and exponential PD, and 6.5's window of A1: m e^(-(DD - skew) / m)."""
    m, slack = _array(mean_pd), _array(dd) - _array(skew)
    return np.where(slack >= 0, m * np.exp(-np.maximum(slack, 0) / m), m - slack)


def zero_wait_dd(pd_most: ArrayLike, h: ArrayLike, skew_most: ArrayLike) -> Array:
    """6.1: the least DD with which no operation ever waits: PD_max + H + skew_max."""
    return _array(pd_most) + _array(h) + _array(skew_most)


def added_latency(mean: ArrayLike, operations: ArrayLike, tables: ArrayLike) -> Array:
    """6.1: what a transaction of sequential operations waits in all; an upper bound.

    After its first wait the later ones are shorter, since they fall into the same gap.
    """
    return (_array(operations) + _array(tables) + 1) * _array(mean)


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


def most_sequential_ddl(dd: ArrayLike, cs_max: ArrayLike, rtt: ArrayLike) -> Array:
    """6.2: statements that one client can run one after the other, per unit of time."""
    return 1 / (_array(dd) + _array(cs_max) + _array(rtt))


# --- 6.3: aborts for a schema change -------------------------------------------------------------


def abort_options_1_2(lam: ArrayLike, q: ArrayLike, length: ArrayLike) -> Array:
    """6.3, options 1 and 2 and B11: 1 - e^(-lambda q L)."""
    return -np.expm1(-_array(lam) * _array(q) * _array(length))


def abort_option_3(lam: ArrayLike, q: ArrayLike, using: ArrayLike, tail: ArrayLike) -> Array:
    """6.3, option 3: 1 - exp(-sum lambda_i [(t_last - t_enl) + q_i (t_commit - t_last)]).

    `using` and `tail` are the two spans; the last axis holds the transaction's tables. With the
    begin base `using` counts from t_begin.
    """
    exponent = _array(lam) * (_array(using) + _array(q) * _array(tail))
    return -np.expm1(-(exponent.sum(axis=-1) if exponent.ndim else exponent))


def abort_exact_match(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.3, exact match: 1 - e^(-lambda L) with L from the base to the commit (q = 1)."""
    return abort_options_1_2(lam, 1.0, length)


def abort_exponential_length(lam: ArrayLike, mean_length: ArrayLike) -> Array:
    """6.3 for exponential L: lambda m / (1 + lambda m)."""
    x = _array(lam) * _array(mean_length)
    return x / (1 + x)


def outlives_alias(window: ArrayLike, mean_length: ArrayLike) -> Array:
    """B13, of the transactions across a rename, for exponential L: e^(-A/m)."""
    return np.exp(-_array(window) / _array(mean_length))


def abort_quirk(abort: ArrayLike, lam: ArrayLike, delay: ArrayLike) -> Array:
    """6.3: the enlistment quirk survives with e^(-lambda delta) more."""
    return 1 - (1 - _array(abort)) * np.exp(-_array(lam) * _array(delay))


def needless_abort(
    lam: ArrayLike, q: ArrayLike, length: ArrayLike, dd: ArrayLike, pd: ArrayLike
) -> Array:
    """6.3: aborts that marking on receipt adds: 1 - exp(-lambda q min(L, DD - PD))."""
    early = np.minimum(_array(length), np.maximum(_array(dd) - _array(pd), 0))
    return abort_options_1_2(lam, q, early)


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


def completion_lazy(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.4: the time until it commits if only the commit detects, L e^(lambda L)."""
    return _array(length) * attempts(lam, length)


def completion_eager(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.4: the same if a change is detected at once, (e^(lambda L) - 1) / lambda."""
    x = _array(lam) * _array(length)
    return _array(length) * np.where(np.abs(x) > NO_WRITES, special.exprel(x), 1.0)


def completion_by_operation(lam: ArrayLike, length: ArrayLike, spacing: ArrayLike) -> Array:
    """6.4: the same if the next operation detects, d apart: d (e^(lL) - 1) / (1 - e^(-ld))."""
    x, d = _array(lam) * _array(length), _array(spacing)
    y = _array(lam) * d
    return np.where(y > NO_WRITES, d * np.expm1(x) / -np.expm1(-np.maximum(y, NO_WRITES)), length)


# --- 6.5, 6.6: staleness and metadata load -------------------------------------------------------


def own_ddl_missed(margin: ArrayLike, sigma: ArrayLike) -> Array:
    """6.5: P(a client misses its own DDL) for normal clocks: Phi(-margin / (sigma sqrt 2)).

    `margin` is CSmax + d: what the acknowledgement waits beyond Tu, and the way to the next node.
    """
    return _array(special.ndtr(-_array(margin) / (_array(sigma) * np.sqrt(2.0))))


def own_ddl_missed_at(skew: ArrayLike, cs_max: ArrayLike, way: ArrayLike) -> Array:
    """6.5 and A8 for one pair of clocks: missed iff theta_C - theta_n > CSmax + d; 0 or 1."""
    return (_array(skew) > _array(cs_max) + _array(way)).astype(np.float64)


def messages_per_second(nodes: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.6, A7: n (1/H + mu), with H in ms and mu per ms."""
    return 1000 * _array(nodes) * (1 / _array(h) + _array(mu))


# --- 6.7, 6.8: freeze, and the best DD -----------------------------------------------------------


def frozen(outage: ArrayLike, pd: ArrayLike, dd: ArrayLike, age: ArrayLike) -> Array:
    """6.7: how long a node cut off for `outage` cannot serve: max(0, X + PD - DD + age).

    `age` of the last command when the outage began is uniform on (0, H).
    """
    return np.maximum(0.0, _array(outage) + _array(pd) - _array(dd) + _array(age))


def mean_frozen(outage: ArrayLike, pd: ArrayLike, dd: ArrayLike, h: ArrayLike) -> Array:
    """6.7: its mean over the age; X + PD - DD + H/2 where the outage is longer than the slack."""
    return mean_wait(_array(outage) + late(pd, 0.0, dd), h)


def touching(nodes: ArrayLike, participants: ArrayLike) -> Array:
    """A9: the share of transactions with k random participants that touch one given node."""
    return 1 - (1 - 1 / _array(nodes)) ** _array(participants)


def cost(
    wait: ArrayLike, latency: ArrayLike, looks: ArrayLike, ddl: ArrayLike, weight: ArrayLike
) -> Array:
    """6.8: J = r_dml E[W] + lambda_ddl (DD + CSmax) w, in waited ms per ms."""
    return _array(looks) * _array(wait) + _array(ddl) * _array(latency) * _array(weight)


def best_wait_probability(looks: ArrayLike, ddl: ArrayLike, weight: ArrayLike) -> Array:
    """6.8: at the optimum P(W > 0) = lambda_ddl w / r_dml (a newsvendor rule), 1 at most."""
    return np.minimum(1.0, _array(ddl) * _array(weight) / _array(looks))


def best_dd(
    share: ArrayLike, pd: ArrayLike, skew: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0
) -> Array:
    """6.8: the DD at which so large a share waits: an upper quantile of PD + R + skew."""
    return late(pd, skew, 0.0) + gap_quantile(1 - _array(share), h, mu)


def _array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)
