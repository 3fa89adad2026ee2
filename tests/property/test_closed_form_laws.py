"""Each formula against draws that know nothing of it: the story of its section, played by dice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.analysis.formula import closed_forms as forms
from tests.agreement import catalogue

N = 40_000
TIMES = st.floats(1, 500)
RATES = st.sampled_from((0.0, 0.0005, 0.004, 0.03))


def dice(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def played_waits(a: float, h: float, mu: float) -> np.ndarray:
    """Commands on a line: writes at rate mu, a tick H after the last one; looks at any time."""
    count = 20_000
    steps = np.full(count, h)
    if mu:
        steps = np.minimum(steps, dice(1).exponential(1 / mu, count))
    commands = np.cumsum(steps)
    looks = dice(2).uniform(0, commands[-2], N)
    until_next = commands[np.searchsorted(commands, looks)] - looks
    return np.maximum(0.0, a + until_next)


@settings(max_examples=25)
@given(st.floats(-400, 300), TIMES, RATES)
def test_6_1_the_wait(a: float, h: float, mu: float) -> None:
    waits = played_waits(a, h, mu)
    error = 5 * waits.std() / np.sqrt(N) + 0.01 * h
    assert forms.mean_wait(a, h, mu) == pytest.approx(waits.mean(), abs=error)
    assert catalogue.wait_probability(a, h, mu) == pytest.approx((waits > 0).mean(), abs=0.02)
    for share in (0.5, 0.99):
        below = (waits <= catalogue.wait_quantile(share, a, h, mu) + 1e-9).mean()
        assert below >= share - 0.02


@given(st.floats(-400, 300), TIMES, RATES)
def test_6_1_agrees_with_itself(a: float, h: float, mu: float) -> None:
    shares = (np.arange(4_000) + 0.5) / 4_000
    assert catalogue.wait_quantile(shares, a, h, mu).mean() == pytest.approx(
        forms.mean_wait(a, h, mu), abs=1e-3 * h
    )
    assert forms.gap_cdf(catalogue.gap_quantile(shares, h, mu), h, mu) == pytest.approx(shares)
    assert forms.mean_wait(a, h, mu) <= forms.mean_wait(a, h, 0.0) + 1e-9, "writes help"
    assert forms.mean_wait(a + 1, h, mu) >= forms.mean_wait(a, h, mu)


def test_6_1_the_idle_cases_of_the_text() -> None:
    assert forms.mean_wait(10, 250) == 135
    assert forms.mean_wait(-100, 250) == 150**2 / 500
    assert forms.mean_wait(-250, 250) == 0
    assert catalogue.wait_quantile(0.99, -100, 250) == pytest.approx(147.5)
    assert (
        catalogue.wait_probability(forms.late(10, 5, catalogue.zero_wait_dd(10, 250, 5)), 250) == 0
    )


def test_6_1_ignites_defaults_wait_iff_pd_and_skew_exceed_250() -> None:
    assert catalogue.wait_probability(forms.late(200, 50, 500), 250) == 0
    assert catalogue.wait_probability(forms.late(200, 51, 500), 250) > 0


@pytest.mark.parametrize(("m", "skew", "dd"), [(20.0, 0.0, 50.0), (20.0, 30.0, 10.0)])
def test_6_1_exponential_delays_without_gaps(m: float, skew: float, dd: float) -> None:
    waits = np.maximum(0, dice().exponential(m, N) + skew - dd)
    expected = catalogue.mean_wait_exponential_pd(m, skew, dd)
    assert expected == pytest.approx(waits.mean(), abs=5 * waits.std() / np.sqrt(N))


def test_6_1_a_transaction_waits_less_than_the_sum() -> None:
    assert catalogue.added_latency(2.0, 5, 2) == 16


@given(st.floats(0, 1_000), st.floats(0, 500), st.floats(-50, 50), st.floats(0, 40))
def test_6_2_ddl_latency(dd: float, cs: float, ahead: float, way: float) -> None:
    """A statement leaves at 0; Tu and the acknowledgement by two clocks."""
    leader, coordinator = ahead, 0.0  # their offsets from true time
    stamped = way  # true time at the leader
    activation = stamped + leader + dd
    acknowledged = activation + cs - coordinator  # when the coordinator's clock shows it
    replicated = stamped + 3 * way
    expected = max(acknowledged, replicated)
    found = forms.ddl_latency(dd, cs, to_leader=way, replication=3 * way, leader_ahead=ahead)
    assert found == pytest.approx(expected)
    if dd + cs > 1e-6:
        assert catalogue.most_sequential_ddl(dd, cs, way) * (dd + cs + way) == pytest.approx(1)


def fates(lam: float, q: float, using: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Whether each transaction meets a statement in use, or an incompatible one in its tail."""
    met = dice(3).poisson(lam * using) > 0
    return met | (dice(4).poisson(lam * q * tail) > 0)


@settings(max_examples=25)
@given(st.floats(1e-5, 0.02), st.floats(0, 1), TIMES, st.floats(0, 100))
def test_6_3_aborts(lam: float, q: float, using: float, tail: float) -> None:
    ones = np.ones(N)
    error = 0.012
    third = catalogue.abort_option_3(lam, q, using, tail)
    assert third == pytest.approx(fates(lam, q, using * ones, tail * ones).mean(), abs=error)
    first = forms.abort_options_1_2(lam, q, using + tail)
    nothing = np.zeros(N)
    played = fates(lam, q, nothing, (using + tail) * ones).mean()
    assert first == pytest.approx(played, abs=error)
    assert first <= third + 1e-12 <= catalogue.abort_exact_match(lam, using + tail) + 1e-9


def test_6_3_several_tables_and_random_lengths() -> None:
    using, tail = dice(5).exponential(60, (N, 2)), dice(6).exponential(20, (N, 2))
    lam, q = np.array([0.004, 0.001]), np.array([0.5, 0.1])
    played = np.zeros(N, dtype=bool)
    for table in (0, 1):
        met = dice(10 + table).poisson(lam[table] * using[:, table]) > 0
        late = dice(20 + table).poisson(lam[table] * q[table] * tail[:, table]) > 0
        played |= met | late
    found = catalogue.abort_option_3(lam, q, using, tail).mean()
    assert found == pytest.approx(played.mean(), abs=0.01)
    lengths = dice(7).exponential(80, N)
    random = catalogue.abort_exact_match(0.01, lengths).mean()
    assert catalogue.abort_exponential_length(0.01, 80) == pytest.approx(random, abs=0.01)


@given(st.floats(1e-6, 0.01), st.floats(0.1, 20), TIMES)
def test_6_3_a_rate_can_be_measured_under_a_faster_one(
    lam: float, faster: float, length: float
) -> None:
    fast = catalogue.abort_exact_match(lam * faster, length)
    if fast < 1 - 1e-9:
        back = forms.at_rate(fast, lam * faster, lam)
        assert back == pytest.approx(catalogue.abort_exact_match(lam, length), rel=1e-6)


def test_6_3_the_quirk_and_needless_aborts() -> None:
    lam, length, delay = 0.003, 100.0, 15.0
    met = dice(1).exponential(1 / lam, N) < length
    quirk = dice(2).exponential(1 / lam, N) < delay
    found = catalogue.abort_quirk(catalogue.abort_exact_match(lam, length), lam, delay)
    assert found == pytest.approx((met | quirk).mean(), abs=0.01)
    assert catalogue.needless_abort(lam, 0.4, 100, 500, 20) == forms.abort_options_1_2(
        lam, 0.4, 100
    )
    assert catalogue.needless_abort(lam, 0.4, 100, 50, 20) == forms.abort_options_1_2(lam, 0.4, 30)
    assert catalogue.needless_abort(lam, 0.4, 100, 10, 20) == 0


def completions(lam: float, length: float, detect: float | None) -> tuple[float, float]:
    """Restarts until one attempt meets no statement; found out at once (0) or every `detect`."""
    draws, tries, total = dice(8), 0, 0.0
    runs = 6_000
    for _ in range(runs):
        while True:
            tries += 1
            met = draws.exponential(1 / lam)
            if met >= length:
                total += length
                break
            total += (
                length
                if detect is None
                else met
                if not detect
                else (np.ceil(met / detect) * detect)
            )
    return tries / runs, total / runs


def test_6_4_restarts() -> None:
    lam, length = 0.01, 100.0
    tries, lazy = completions(lam, length, None)
    assert forms.attempts(lam, length) == pytest.approx(tries, rel=0.05)
    assert catalogue.completion_lazy(lam, length) == pytest.approx(lazy, rel=0.05)
    assert catalogue.completion_eager(lam, length) == pytest.approx(
        completions(lam, length, 0.0)[1], rel=0.05
    )
    by_operation = catalogue.completion_by_operation(lam, length, 25.0)
    assert by_operation == pytest.approx(completions(lam, length, 25.0)[1], rel=0.05)
    assert catalogue.completion_eager(1e-15, length) == pytest.approx(length)
    assert catalogue.completion_by_operation(0.0, length, 25.0) == length


def test_6_5_own_ddl_missed() -> None:
    clocks = dice().normal(0, 40, (N, 2))
    missed = clocks[:, 0] - clocks[:, 1] > 60 + 3
    assert catalogue.own_ddl_missed(63, 40) == pytest.approx(missed.mean(), abs=0.006)
    assert list(forms.own_ddl_missed_at([62, 63, 64], 60, 3)) == [0, 0, 1]


def test_6_6_messages() -> None:
    assert catalogue.messages_per_second(4, 250) == 16
    assert catalogue.messages_per_second(4, 250, 0.002) == 24


@settings(max_examples=20)
@given(st.floats(0, 900), st.floats(0, 900), st.floats(20, 300))
def test_6_7_freeze(outage: float, dd: float, h: float) -> None:
    ages = dice().uniform(0, h, N)
    played = catalogue.frozen(outage, 10, dd, ages)
    instants = np.arange(-400, 1_200, 0.25)  # safe time stays at -age until what was missed comes
    for age, expected in zip(ages[:5], played[:5], strict=True):
        unserved = (instants - dd > -age) & (instants < outage + 10)
        assert expected == pytest.approx(0.25 * unserved.sum(), abs=0.51)
    expected = forms.mean_frozen(outage, 10, dd, h)
    assert expected == pytest.approx(played.mean(), abs=5 * h / np.sqrt(N))
    if outage >= dd:
        assert expected == pytest.approx(outage + 10 - dd + h / 2)


def test_6_7_operations_that_use_a_node() -> None:
    chosen = dice().integers(0, 5, (N, 3))
    touched = (chosen == 0).any(axis=1).mean()
    assert catalogue.touching(5, 3) == pytest.approx(touched, abs=0.01)


@given(st.floats(0.1, 5), st.floats(1e-5, 1e-3), st.floats(1, 100), RATES)
def test_6_8_the_best_dd_is_the_best_of_a_fine_grid(
    looks: float, ddl: float, weight: float, mu: float
) -> None:
    pd, skew, h, cs = 12.0, 6.0, 250.0, 50.0
    share = catalogue.best_wait_probability(looks, ddl, weight)
    best = float(catalogue.best_dd(share, pd, skew, h, mu))
    grid = np.linspace(0, 600, 6_001)
    waits = forms.mean_wait(forms.late(pd, skew, grid), h, mu)
    costs = catalogue.cost(waits, grid + cs, looks, ddl, weight)
    if share < 1:
        assert catalogue.wait_probability(forms.late(pd, skew, best), h, mu) == pytest.approx(share)
        found = catalogue.cost(
            forms.mean_wait(forms.late(pd, skew, best), h, mu), best + cs, looks, ddl, weight
        )
        assert found <= costs.min() + 1e-9 * abs(costs.min()) + 1e-6


@settings(max_examples=25)
@given(st.floats(0, 500), TIMES)
def test_b13_transactions_that_outlive_an_old_name(window: float, mean: float) -> None:
    """Lengths by dice; of those open at an instant, who is open a window later."""
    begins, lengths = dice(1).uniform(-20 * mean, 0, N), dice(2).exponential(mean, N)
    left = (begins + lengths)[begins + lengths > 0]
    error = 5 * 0.5 / np.sqrt(len(left)) + 0.01
    assert catalogue.outlives_alias(window, mean) == pytest.approx(
        (left > window).mean(), abs=error
    )
