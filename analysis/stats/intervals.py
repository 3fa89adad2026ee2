"""Confidence intervals over seeds, for shares, quantiles, means and ratios.

The seed is the unit of chance. The operations of one run are not independent: all that wait between
two safe-time commands wait together, so an interval over operations would be far too narrow. Every
function takes arrays whose leading axes are cells of a sweep, so that a thousand cells cost one
call. An interval is (low, high); an end that the data do not bound is infinite. Of a single seed
nothing bounds a figure over seeds.

Sources: Wilson 1927; Clopper and Pearson 1934; Hanley and Lippman-Hand 1983 (rule of three); David
and Nagaraja, Order Statistics, 7.1; Efron and Tibshirani, An Introduction to the Bootstrap, 13;
Hesterberg 2015, What Teachers Should Know about the Bootstrap.

Quantiles of distributions come from `scipy.special`: to import `scipy.stats` takes a second.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # scipy ships no types
from scipy.sparse import csr_array  # type: ignore[import-untyped]  # scipy ships no types

Array = NDArray[np.float64]
Ends = tuple[Array, Array]
"""Lower and upper end, cell by cell."""

LEVEL: Final = 0.95
RESAMPLES: Final = 2_000
DICE: Final = 20_261_121
"""The seed of all resampling, so that intervals repeat exactly."""


# --- shares --------------------------------------------------------------------------------------


def wilson(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> Ends:
    """Wilson's score interval for shares; without trials it is [0, 1]."""
    k, n = np.broadcast_arrays(_array(successes), _array(trials))
    if np.any((k < 0) | (k > n)):
        raise ValueError("a share has from 0 to all successes")
    z = float(special.ndtri((1 + level) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = k / n
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = np.where((n == 0) | (k == 0), 0.0, centre - half)
    high = np.where((n == 0) | (k == n), 1.0, centre + half)
    return low, high


def none_seen(trials: ArrayLike, level: float = LEVEL) -> Array:
    """The upper bound of a rate, at this level, of an event that no trial has shown.

    1 - (1 - level)^(1/n), exact (Clopper-Pearson); at 95 % the rule of three, 3/n, is just above.
    """
    n = _array(trials)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(n > 0, -np.expm1(np.log1p(-level) / n), 1.0))


def share_of_runs(hits: ArrayLike, runs: ArrayLike, level: float = LEVEL) -> Ends:
    """The interval of a share of runs, which are independent: Wilson's, and where no run or every
    run is a hit the far end is `none_seen`, as in all intervals of shares here."""
    k, n = np.broadcast_arrays(_array(hits), _array(runs))
    low, high = wilson(k, n, level)
    bound = none_seen(n, level)
    return np.where(k == n, 1 - bound, low), np.where(k == 0, bound, high)


def next_is_larger(observed: ArrayLike) -> Array:
    """The probability that the next of exchangeable observations exceeds all `observed` ones."""
    return 1.0 / (_array(observed) + 1.0)


def effective_share(share: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> Ends:
    """Clopper and Pearson's interval of a share observed in so many *effective* trials.

    `trials` may be fewer than were counted, where they come in clusters, and need not be whole
    (Korn and Graubard 1998). For a share of 0 the ends are 0 and `none_seen`.
    """
    p, n = np.broadcast_arrays(_array(share), _array(trials))
    k = p * n
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.where(k > 0, special.betaincinv(k, n - k + 1, tail), 0.0)
        high = np.where(p < 1, special.betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - tail), 1.0)
    return _array(low), _array(np.where(k > 0, high, none_seen(n, level)))


# --- quantiles -----------------------------------------------------------------------------------


def pooled_quantile(counts: ArrayLike, values: ArrayLike, share: float) -> Array:
    """The quantile of histograms along the last axis, by nearest rank; NaN where they are empty.

    `values` are what the buckets stand for, in ascending order.
    """
    sums = np.cumsum(_array(counts), axis=-1)
    total = sums[..., -1:]
    place = np.argmax(sums >= np.maximum(np.ceil(share * total - 1e-9), 1), axis=-1)
    return np.where(total[..., 0] > 0, _array(values)[place], np.nan)


def bootstrap_pooled_quantiles(
    counts: ArrayLike,
    values: ArrayLike,
    shares: Sequence[float],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> list[Ends]:
    """The intervals of pooled quantiles, whole seeds resampled: counts are (…, seeds, buckets).

    All are of the same resamples: these are what costs.
    """
    *shape, seeds, buckets = _array(counts).shape
    weights = seed_weights(seeds, resamples)
    tail = resampling_tail(seeds, level)
    ends = np.full((len(shares), int(np.prod(shape, dtype=int)), 2), np.nan)
    for at, cell in enumerate(_array(counts).reshape(-1, seeds, buckets)):
        if not cell.any():
            continue
        resampled = (csr_array(cell.T) @ weights.T).T  # most buckets of a run are empty
        for number, share in enumerate(shares):
            found = pooled_quantile(resampled, values, share)
            ends[number, at] = np.nanquantile(found, [tail, 1 - tail])
    return [(each[..., 0], each[..., 1]) for each in ends.reshape(len(shares), *shape, 2)]


def pooled_quantile_intervals(
    counts: ArrayLike,
    values: ArrayLike,
    shares: Sequence[float],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> list[Ends]:
    """The same with upper ends that hold for what was not observed, too.

    Resamples show nothing of what was not observed. Therefore no upper end is below that of so many
    independent observations, which is infinite where they are too few (`effective_quantile`).
    """
    found = bootstrap_pooled_quantiles(counts, values, shares, level, resamples)
    pooled = _array(counts).sum(axis=-2)
    cells = pooled.reshape(-1, pooled.shape[-1])
    bounds = [[_order_statistics(cell, values, one, level) for cell in cells] for one in shares]
    least = np.array(bounds).reshape(len(shares), *pooled.shape[:-1])
    return [
        widened((low, np.maximum(high, end)), pooled_quantile(counts, values, share), level)
        for (low, high), end, share in zip(found, least, shares, strict=True)
    ]


def _order_statistics(counts: Array, values: ArrayLike, share: float, level: float) -> float:
    """The upper end of a histogram's quantile as if its observations were independent."""
    seen = np.flatnonzero(counts)
    if not len(seen):
        return np.nan
    return effective_quantile(counts[seen], _array(values)[seen], share, counts.sum(), level)[1]


def effective_quantile(
    counts: ArrayLike, values: ArrayLike, share: float, trials: float, level: float = LEVEL
) -> tuple[float, float]:
    """The interval of a histogram's quantile if it rests on so many effective trials.

    The upper end is infinite where the trials are too few: a 99th percentile with no observation
    above it needs 299 (the rule of three).
    """
    own, at = _array(counts), _array(values)
    total = own.sum()
    if not total:
        return -np.inf, np.inf
    above = np.clip(1 - np.cumsum(own) / total, 0, 1)
    above[above < 1e-12] = 0.0
    low, high = effective_share(above, min(trials, total), level)
    lower = at[np.argmax(low <= 1 - share)]
    fits = np.flatnonzero(high <= 1 - share)
    return float(lower), float(at[fits[0]]) if len(fits) else np.inf


def resampling_tail(seeds: int, level: float = LEVEL) -> float:
    """The share of resamples to cut off at each end: less than (1 - level) / 2 with few seeds.

    Percentiles of resamples are too narrow by what Student's t has over the normal, and by
    n / (n - 1); Hesterberg 2015 expands them by just that. 0 for a single seed.
    """
    if seeds < 2:
        return 0.0
    reach = np.sqrt(seeds / (seeds - 1)) * special.stdtrit(seeds - 1, (1 + level) / 2)
    return float(special.ndtr(-reach))


def widened(ends: Ends, each: ArrayLike, level: float = LEVEL) -> Ends:
    """Ends of resamples, made to hold with few seeds: `each` are the figures seed by seed.

    No resample lies outside of what the seeds show, and n of them are all on one side of a median
    with 2^(1 - n). Where that is more than 1 - level, with five seeds or fewer at 95 %, the ends
    are at least Student's, and of a single seed 0 and infinite: the figures are not negative.
    """
    data = _array(each)
    if 2.0 ** (1 - data.shape[-1]) <= 1 - level:
        return ends
    known = np.isfinite(data)
    count = known.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known, data, 0.0).sum(axis=-1) / count
        spread = np.where(known, (data - mean[..., None]) ** 2, 0.0).sum(axis=-1) / (count - 1)
        half = special.stdtrit(np.maximum(count - 1, 1), (1 + level) / 2) * np.sqrt(spread / count)
    half = np.where(count > 1, half, np.inf)
    low = np.minimum(ends[0], np.maximum(mean - half, 0.0))
    return low, np.where(np.isnan(ends[1]), np.nan, np.maximum(ends[1], mean + half))


@lru_cache(maxsize=4)
def seed_weights(seeds: int, resamples: int = RESAMPLES) -> Array:
    """How often each resample takes each seed; the same for all cells (common random numbers)."""
    dice = np.random.default_rng(DICE)
    weights = dice.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples).astype(np.float64)
    weights.flags.writeable = False
    return weights


# --- means and ratios ----------------------------------------------------------------------------


def share_interval(
    hits: ArrayLike, trials: ArrayLike, level: float = LEVEL, resamples: int = RESAMPLES
) -> Ends:
    """The interval of a share of trials over seeds, whole seeds resampled; last axis: seeds.

    Without any hit the upper end is `none_seen` of all trials; where each trial is a hit, the lower
    end is as far from 1. Both take trials as independent, since nothing was seen that tells how
    hits cluster: of what comes in few runs, but many times there, the true share may be beyond.
    """
    low, high = ratio_interval(hits, trials, level, resamples)
    of, among = np.broadcast_arrays(_array(hits), _array(trials))
    most = np.where(np.all(of <= among, axis=-1), 1.0, np.inf)  # some hits are of no trial
    bound = none_seen(among.sum(axis=-1), level)
    low = np.where(np.all(of == among, axis=-1), np.minimum(low, 1 - bound), low)
    return low, np.where(of.sum(axis=-1) == 0, bound, np.minimum(high, most))


def rate_interval(
    events: ArrayLike, spans: ArrayLike, level: float = LEVEL, resamples: int = RESAMPLES
) -> Ends:
    """The interval of a rate, events over the spans in which they were counted, in their unit.

    Without any event the upper end is the rule of three, at 95 % three in all spans together:
    events are taken to come one by one (Poisson).
    """
    low, high = ratio_interval(events, spans, level, resamples)
    with np.errstate(divide="ignore"):
        bound = -np.log1p(-level) / _array(spans).sum(axis=-1)
    return low, np.where(_array(events).sum(axis=-1) == 0, bound, high)


def ratio_interval(
    above: ArrayLike, below: ArrayLike, level: float = LEVEL, resamples: int = RESAMPLES
) -> Ends:
    """The interval of sum(above) / sum(below) over seeds, whole seeds resampled; last axis: seeds.

    Where `above` is all zeros, resampling would give a false [0, 0]: there nothing bounds a mean,
    and the upper end is infinite. What counts hits or events is for `share_interval` or
    `rate_interval`.
    """
    a, b = np.broadcast_arrays(_array(above), _array(below))
    weights = seed_weights(a.shape[-1], resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (a @ weights.T) / (b @ weights.T)
        each = _linear_parts(a, b)
    tail = resampling_tail(a.shape[-1], level)
    ends = np.nanquantile(ratios, [tail, 1 - tail], axis=-1)
    low, high = widened((_array(ends[0]), _array(ends[1])), each, level)
    return _array(low), _array(np.where(a.sum(axis=-1) == 0, np.inf, high))


def _linear_parts(above: Array, below: Array) -> Array:
    """What each seed contributes to a ratio of sums, to first order; their mean is the ratio."""
    total = below.sum(axis=-1, keepdims=True)
    ratio = above.sum(axis=-1, keepdims=True) / total
    return _array(ratio + above.shape[-1] * (above - ratio * below) / total)


def mean_interval(values: ArrayLike, level: float = LEVEL) -> Ends:
    """Student's interval of a mean over seeds, along the last axis; infinite for a single seed."""
    data = _array(values)
    count = data.shape[-1]
    mean = data.mean(axis=-1)
    if count < 2:
        return mean - np.inf, mean + np.inf
    half = special.stdtrit(count - 1, (1 + level) / 2) * data.std(axis=-1, ddof=1) / np.sqrt(count)
    return mean - half, mean + half


def meets(least: float, most: float, value: float, low: float, high: float) -> bool | None:
    """Whether a value's interval meets another one, from `least` to `most`.

    None where only a known upper end of the value could tell, and it is infinite.
    """
    if np.isposinf(high) and least > value:
        return None
    return least <= high and low <= most


# --- when to stop --------------------------------------------------------------------------------


def level_of_look(look: int, level: float = LEVEL) -> float:
    """The level of the look-th interval (from 1) such that all looks together keep `level`.

    The shares of the error, 1/2, 1/6, 1/12, …, sum to 1, for any number of looks.
    """
    if look < 1:
        raise ValueError("looks are counted from 1")
    return 1 - (1 - level) / (look * (look + 1))


def _array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)
