"""Formulas of the catalogue of designs that only tests and experiments need; the others, and the
symbols, are those of `analysis/formula/closed_forms.py`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ddlsim.analysis.formula import closed_forms as forms

Array = NDArray[np.float64]


def wait_probability(a: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: P(W > 0); the residual R to the next command is truncated exponential on (0, H)."""
    return 1 - forms.gap_cdf(-_array(a), h, mu)


def wait_quantile(share: ArrayLike, a: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: the quantile of W; idle: max(0, a + share * H)."""
    return np.maximum(0.0, _array(a) + gap_quantile(share, h, mu))


def gap_quantile(share: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.1: the quantile of R."""
    p, h, mu = np.broadcast_arrays(_array(share), _array(h), _array(mu))
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = -np.log1p(p * np.expm1(-mu * h)) / mu
    return _array(np.where(mu * h > forms.NO_WRITES, busy, p * h))


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


def most_sequential_ddl(dd: ArrayLike, cs_max: ArrayLike, rtt: ArrayLike) -> Array:
    """6.2: statements that one client can run one after the other, per unit of time."""
    return 1 / (_array(dd) + _array(cs_max) + _array(rtt))


def abort_option_3(lam: ArrayLike, q: ArrayLike, using: ArrayLike, tail: ArrayLike) -> Array:
    """6.3, option 3: 1 - exp(-sum lambda_i [(t_last - t_enl) + q_i (t_commit - t_last)]).

    `using` and `tail` are the two spans; the last axis holds the transaction's tables. With the
    begin base `using` counts from t_begin.
    """
    exponent = _array(lam) * (_array(using) + _array(q) * _array(tail))
    return -np.expm1(-(exponent.sum(axis=-1) if exponent.ndim else exponent))


def abort_exact_match(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.3, exact match: 1 - e^(-lambda L) with L from the base to the commit (q = 1)."""
    return forms.abort_options_1_2(lam, 1.0, length)


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
    return forms.abort_options_1_2(lam, q, early)


def completion_lazy(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.4: the time until it commits if only the commit detects, L e^(lambda L)."""
    return _array(length) * forms.attempts(lam, length)


def completion_eager(lam: ArrayLike, length: ArrayLike) -> Array:
    """6.4: the same if a change is detected at once, (e^(lambda L) - 1) / lambda."""
    x = _array(lam) * _array(length)
    return _array(length) * np.where(np.abs(x) > forms.NO_WRITES, special.exprel(x), 1.0)


def completion_by_operation(lam: ArrayLike, length: ArrayLike, spacing: ArrayLike) -> Array:
    """6.4: the same if the next operation detects, d apart: d (e^(lL) - 1) / (1 - e^(-ld))."""
    x, d = _array(lam) * _array(length), _array(spacing)
    y = _array(lam) * d
    return np.where(
        y > forms.NO_WRITES, d * np.expm1(x) / -np.expm1(-np.maximum(y, forms.NO_WRITES)), length
    )


def own_ddl_missed(margin: ArrayLike, sigma: ArrayLike) -> Array:
    """6.5: P(a client misses its own DDL) for normal clocks: Phi(-margin / (sigma sqrt 2)).

    `margin` is CSmax + d: what the acknowledgement waits beyond Tu, and the way to the next node.
    """
    return _array(special.ndtr(-_array(margin) / (_array(sigma) * np.sqrt(2.0))))


def messages_per_second(nodes: ArrayLike, h: ArrayLike, mu: ArrayLike = 0.0) -> Array:
    """6.6, A7: n (1/H + mu), with H in ms and mu per ms."""
    return 1000 * _array(nodes) * (1 / _array(h) + _array(mu))


def frozen(outage: ArrayLike, pd: ArrayLike, dd: ArrayLike, age: ArrayLike) -> Array:
    """6.7: how long a node cut off for `outage` cannot serve: max(0, X + PD - DD + age).

    `age` of the last command when the outage began is uniform on (0, H).
    """
    return np.maximum(0.0, _array(outage) + _array(pd) - _array(dd) + _array(age))


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
    return forms.late(pd, skew, 0.0) + gap_quantile(1 - _array(share), h, mu)


def _array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)
