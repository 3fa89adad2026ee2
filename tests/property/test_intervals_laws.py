"""For all samples: intervals that enclose, grow with doubt, and agree with what counting says."""

from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.stats.intervals import (
    bootstrap_pooled_quantiles,
    level_of_look,
    mean_interval,
    meets,
    next_is_larger,
    none_seen,
    pooled_quantile,
    pooled_quantile_intervals,
    rate_interval,
    ratio_interval,
    resampling_tail,
    share_interval,
    share_of_runs,
    wilson,
)

SHARES = st.floats(0.01, 0.99)
LEVELS = st.sampled_from((0.5, 0.8, 0.9, 0.95, 0.99))


def binomial(n: int, k: int, p: float) -> float:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


@given(st.integers(1, 2_000), st.data(), LEVELS)
def test_wilson_is_scipys_and_encloses_the_share(n: int, data: st.DataObject, level: float) -> None:
    from scipy import stats  # takes long, and is needed here alone

    k = data.draw(st.integers(0, n))
    low, high = wilson(k, n, level)
    known = stats.binomtest(k, n).proportion_ci(confidence_level=level, method="wilson")
    assert (float(low), float(high)) == pytest.approx((known.low, known.high), abs=1e-12)
    assert 0 <= low <= k / n <= high <= 1


@given(st.integers(1, 500), st.data())
def test_wilson_of_many_cells_is_that_of_each(n: int, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, n), min_size=2, max_size=9))
    low, high = wilson(counts, n)
    for place, count in enumerate(counts):
        assert (low[place], high[place]) == wilson(count, n)
    assert np.all(np.diff(np.array(low)[np.argsort(counts)]) >= 0), "more successes, higher ends"
    assert np.all(np.diff(np.array(high)[np.argsort(counts)]) >= 0)


def test_a_share_of_nothing_is_anything_and_an_impossible_one_is_refused() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="from 0 to all"):
        wilson(3, 2)


@given(st.integers(1, 500), st.data())
def test_a_share_of_runs_is_wilsons_between_its_ends_and_exact_at_them(
    n: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(0, n))
    low, high = share_of_runs(k, n)
    assert low == (pytest.approx(0.05 ** (1 / n)) if k == n else wilson(k, n)[0])
    assert high == (pytest.approx(1 - 0.05 ** (1 / n)) if k == 0 else wilson(k, n)[1])
    assert high <= share_of_runs(min(k + 1, n), n)[1]
    assert low >= share_of_runs(max(k - 1, 0), n)[0]
    assert share_of_runs(0, n)[1] == share_interval(np.zeros(n), np.ones(n))[1]


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5])
def test_wilson_covers_about_as_often_as_it_says(p: float) -> None:
    for n in (25, 80):
        low, high = wilson(np.arange(n + 1), n, 0.95)
        inside = (low <= p) & (p <= high)
        covered = sum(binomial(n, k, p) for k in range(n + 1) if inside[k])
        assert 0.91 <= covered <= 0.995, (n, p, covered)


@given(st.integers(1, 10_000), LEVELS)
def test_none_seen_is_where_seeing_none_has_just_that_chance(n: int, level: float) -> None:
    bound = float(none_seen(n, level))
    assert (1 - bound) ** n == pytest.approx(1 - level)
    assert none_seen(n + 1, level) < bound
    if level == 0.95:
        assert bound < 3 / n, "the rule of three is the larger one"


def test_none_seen_in_no_run_says_nothing() -> None:
    assert none_seen(0) == 1


@pytest.mark.parametrize("n", range(1, 7))
def test_the_next_is_the_largest_as_often_as_ranks_say(n: int) -> None:
    orders = list(permutations(range(n + 1)))
    largest_last = sum(order[-1] == n for order in orders)
    assert next_is_larger(n) == pytest.approx(largest_last / len(orders))


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=6),
    SHARES,
)
def test_a_pooled_quantile_is_that_of_all_values_together(
    counts: list[list[int]], p: float
) -> None:
    values = np.array([0.0, 1.5, 4.0, 9.0])
    total = np.sum(counts, axis=0)
    found = pooled_quantile(total, values, p)
    every = np.repeat(values, total)
    if not len(every):
        assert np.isnan(found)
    else:
        place = max(int(np.ceil(p * len(every) - 1e-9)), 1) - 1
        assert found == every[place]


def test_seeds_are_resampled_whole() -> None:
    values = np.array([0.0, 10.0])
    alike = np.tile([50, 50], (12, 1))  # every seed looks the same inside
    apart = np.array([[100, 0], [0, 100]] * 6)  # the same pool, all chance between the seeds
    low, high = bootstrap_pooled_quantiles(np.stack([alike, apart]), values, [0.6])[0]
    assert (low[0], high[0]) == (10.0, 10.0)
    assert (low[1], high[1]) == (0.0, 10.0)


def test_a_cell_without_anything_has_no_quantile() -> None:
    low, high = bootstrap_pooled_quantiles(np.zeros((3, 4)), np.arange(4.0), [0.5])[0]
    assert np.isnan(low)
    assert np.isnan(high)


def test_intervals_of_a_mean_cover_as_often_as_they_say() -> None:
    draws = np.random.default_rng(2).gamma(4.0, size=(300, 30))
    low, high = mean_interval(draws)
    covered = np.mean((low <= 4.0) & (high >= 4.0))
    assert 0.90 <= covered <= 0.985


def test_the_mean_of_one_seed_has_no_bounds() -> None:
    assert mean_interval([1.0]) == (-np.inf, np.inf)


def test_a_ratio_covers_and_its_seeds_count_as_heavy_as_they_are() -> None:
    dice = np.random.default_rng(4)
    trials = dice.integers(50, 400, size=(400, 25))
    seen = dice.binomial(trials, dice.beta(5, 20, size=trials.shape))  # seeds differ
    low, high = share_interval(seen, trials, resamples=400)
    covered = np.mean((low <= 0.2) & (high >= 0.2))
    assert 0.88 <= covered <= 0.985
    naive_low, naive_high = wilson(seen.sum(axis=-1), trials.sum(axis=-1))
    naive = np.mean((naive_low <= 0.2) & (naive_high >= 0.2))
    assert naive < 0.75, "an interval over operations is far too narrow"


def test_what_was_never_seen_still_has_an_upper_end() -> None:
    low, high = share_interval(np.zeros(10), np.full(10, 300))
    assert low == 0
    assert high == none_seen(3_000)


def test_what_was_seen_in_each_trial_still_has_a_lower_end() -> None:
    """As often as it says, too: it held in a fourth of such samples where it was 1."""
    low, high = share_interval(np.full(10, 300), np.full(10, 300))
    assert low == pytest.approx(1 - none_seen(3_000))
    assert high == 1
    assert share_interval([300, 299], [300, 300])[0] < low
    seen = np.random.default_rng(5).binomial(150, 0.999, size=(400, 2))
    ends = share_interval(seen, np.full(2, 150), resamples=200)
    assert np.mean((ends[0] <= 0.999) & (ends[1] >= 0.999)) > 0.95


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_of_events_never_seen_the_rate_is_three_in_the_whole_span(unit: float) -> None:
    low, high = rate_interval(np.zeros(10), np.full(10, 2 * unit))
    assert low == 0
    assert high == pytest.approx(0.15 / unit, rel=2e-3)
    seen = np.arange(10)
    assert np.allclose(rate_interval(seen, np.full(10, 2.0)), ratio_interval(seen, np.full(10, 2)))


def test_zeros_alone_do_not_bound_a_mean() -> None:
    above = np.zeros((2, 10))
    above[1, 4] = 25_000
    low, high = ratio_interval(above, np.full((2, 10), 100))
    assert list(low) == [0, 0]
    assert high[0] == np.inf
    assert high[1] == pytest.approx(100, abs=30), "one wait of 25 ms in 1,000 look-ups"


def test_a_quantile_needs_as_many_observations_as_show_what_is_above_it() -> None:
    for count, wanted in ((298, [0, np.inf, np.inf]), (299, [0, 0, np.inf]), (2_995, [0, 0, 0])):
        counts = np.zeros((2, 10, 3))  # of two cells, the other one without data
        counts[0, :, 0] = count / 10
        ends = pooled_quantile_intervals(counts, [0, 5, 9], [0.5, 0.99, 0.999], resamples=50)
        assert [float(high[0]) for _, high in ends] == wanted
        assert all(np.isnan(high[1]) for _, high in ends)


def test_a_quantile_is_not_bounded_below_what_so_many_observations_may_hide() -> None:
    """Where one is seen, as many as 5.57 may be expected (97.5 %): in 5,000 more than 0.001."""
    counts = np.zeros((10, 2))
    counts[:, 0] = 500
    counts[0] = 499, 1
    assert bootstrap_pooled_quantiles(counts, [0, 9], [0.999])[0][1] == 0
    assert pooled_quantile_intervals(counts, [0, 9], [0.999])[0][1] == 9


def test_an_open_interval_meets_what_it_cannot_exclude() -> None:
    assert meets(0.0, 3.0, 0.0, 0.0, np.inf) is True
    assert meets(2.0, 3.0, 0.0, 0.0, np.inf) is None
    assert meets(2.0, 3.0, 5.0, 4.0, np.inf) is False
    assert meets(2.0, 3.0, 1.0, 0.0, 1.5) is False


def test_all_looks_together_spend_no_more_than_one() -> None:
    spent = sum(1 - level_of_look(look, 0.95) for look in range(1, 5_000))
    assert spent == pytest.approx(0.05, rel=1e-3)
    assert spent < 0.05
    with pytest.raises(ValueError, match="from 1"):
        level_of_look(0)


def test_looking_often_errs_no_more_than_promised() -> None:
    dice = np.random.default_rng(7)
    draws = dice.normal(size=(1_500, 80))
    wrong = naive = np.zeros(len(draws), dtype=bool)
    for look, count in enumerate(range(10, 81, 10), 1):
        low, high = mean_interval(draws[:, :count], level_of_look(look, 0.9))
        wrong = wrong | (low > 0) | (high < 0)
        low, high = mean_interval(draws[:, :count], 0.9)
        naive = naive | (low > 0) | (high < 0)
    assert wrong.mean() <= 0.1
    assert naive.mean() > 0.15, "the same without spending would have erred"


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40))
def test_a_higher_level_is_a_wider_interval(values: list[float]) -> None:
    narrow, wide = mean_interval(values, 0.8), mean_interval(values, 0.99)
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


@pytest.mark.parametrize("seeds", [2, 3, 5, 40])
def test_few_seeds_cut_off_less_and_cover_nevertheless(seeds: int) -> None:
    dice = np.random.default_rng(8)
    trials = np.full((600, seeds), 200.0)
    seen = dice.binomial(200, dice.beta(6, 14, size=trials.shape))
    low, high = ratio_interval(seen, trials, resamples=400)
    covered = np.mean((low <= 0.3) & (high >= 0.3))
    assert resampling_tail(seeds) < 0.025
    assert resampling_tail(seeds) < resampling_tail(seeds + 1)
    assert covered >= 0.9, "no resample of two lies outside of those two: one in two misses"


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_quantiles_of_few_seeds_cover_nevertheless(seeds: int) -> None:
    dice = np.random.default_rng(9)
    values = np.arange(200.0)
    covered = 0
    for _ in range(200):
        apart = dice.normal(100, 15, size=(seeds, 1))
        waits = np.clip(np.round(apart + dice.normal(0, 10, size=(seeds, 50))), 0, 199)
        counts = np.stack([np.bincount(own.astype(int), minlength=200) for own in waits])
        low, high = pooled_quantile_intervals(counts, values, [0.5], resamples=100)[0]
        covered += bool(low <= 100 <= high)
    assert covered >= 180


def test_a_single_seed_bounds_nothing_over_seeds() -> None:
    assert share_interval([3.0], [100.0]) == (0.0, 1.0)
    assert share_interval([300.0], [100.0]) == (0.0, np.inf), "needless aborts of inner retries"
    for of in (rate_interval, ratio_interval):
        assert of([3.0], [100.0]) == (0.0, np.inf)
    low, high = pooled_quantile_intervals(np.full((1, 2), 500), [1.0, 2.0], [0.5])[0]
    assert (float(low), float(high)) == (0.0, np.inf)


def test_many_seeds_cut_off_what_the_level_says() -> None:
    assert resampling_tail(100_000, 0.9) == pytest.approx(0.05, rel=1e-3)
    assert resampling_tail(1) == 0
