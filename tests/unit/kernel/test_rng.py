"""Streams depend on their name alone, draws on their arguments, tables on their distribution."""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from statistics import NormalDist, fmean
from zlib import crc32

import numpy as np
import pytest

from ddlsim.kernel import rng
from ddlsim.kernel.rng import (
    TABLE_SIZE,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Lognormal,
    Normal,
    Streams,
    Uniform,
    mix,
    name_id,
    pick,
    quantiles,
    threshold,
)


def test_a_stream_depends_on_seed_component_and_purpose_only() -> None:
    def first(seed: int, *names: tuple[str, str]) -> list[int]:
        streams = Streams(seed)
        return [int(streams.stream(*name).integers(1 << 60)) for name in names]

    [alone] = first(1, ("client 1", "keys"))
    others = [("client 0", "keys"), ("client 1", "times"), ("client 1", "keys")]
    assert first(1, *others)[-1] == alone
    assert len({alone, *first(1, *others), *first(2, ("client 1", "keys"))}) == 4


def test_asking_twice_for_a_stream_continues_it() -> None:
    streams, again = Streams(5), Streams(5)
    draws = [streams.stream("a", "b").integers(1 << 60) for _ in range(2)]
    assert draws == list(again.stream("a", "b").integers(1 << 60, size=2))


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="a seed is a non-negative integer, not -1"):
        Streams(-1)


def test_names_become_numbers_by_crc() -> None:
    assert name_id("n1 > n2") == crc32(b"n1 > n2") == 0x5312CD11


def test_mix_is_splitmix64() -> None:
    """The first outputs of the reference implementation, seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [mix(1234567, step) for step in (1, 2, 3)] == expected
    assert mix(0, 1) == 0xE220A8397B1DCDAF


def test_mix_takes_any_integer() -> None:
    draws = [mix(seed, label) for seed in (-1, 0, 1 << 200) for label in (-5, 0, 1 << 90)]
    assert all(0 <= draw < 1 << 64 for draw in draws)


def test_pick_uses_the_whole_table() -> None:
    table = tuple(range(TABLE_SIZE))
    assert pick(table, 0) == 0
    assert pick(table, (1 << 64) - 1) == TABLE_SIZE - 1
    seen = {pick(table, mix(7, label)) for label in range(TABLE_SIZE * 12)}
    assert len(seen) == TABLE_SIZE


def test_draws_of_neighbouring_labels_are_uniform_and_unrelated() -> None:
    draws = [mix(7, label) / 2**64 for label in range(20_000)]
    centred = [draw - 0.5 for draw in draws]
    assert abs(fmean(centred)) < 0.01
    neighbours = fmean(a * b for a, b in pairwise(centred))
    assert abs(neighbours) * 12 < 0.03  # a correlation: the variance is 1/12


def test_thresholds_cover_never_and_always() -> None:
    assert threshold(0) == 0
    assert threshold(1) == 1 << 64
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="a probability lies between 0 and 1"):
            threshold(wrong)


STANDARD = NormalDist()
ANALYTIC = [
    (Constant(2.5), lambda u: 2.5),
    (Uniform(1, 3), lambda u: 1 + 2 * u),
    (Uniform(-3, 3), lambda u: 6 * u - 3),
    (Normal(5, 1), lambda u: 5 + STANDARD.inv_cdf(u)),
    (Normal(1, 1), lambda u: max(0, 1 + STANDARD.inv_cdf(u))),
    (Lognormal(1, 8), lambda u: 8 ** (STANDARD.inv_cdf(u) / STANDARD.inv_cdf(0.99))),
    (Exponential(1, 5), lambda u: 1 - 4 * math.log(1 - u)),
    (Empirical((1.0, 2.0, 7.0)), lambda u: (1.0, 2.0, 7.0)[math.floor(3 * u)]),
]  # fmt: skip


@pytest.mark.parametrize(("distribution", "analytic"), ANALYTIC)
def test_a_table_holds_the_analytic_quantiles(
    distribution: Distribution, analytic: Callable[[float], float]
) -> None:
    table = quantiles(distribution)
    assert len(table) == TABLE_SIZE
    assert all(type(us) is int for us in table)
    for index, us in enumerate(table):
        assert us == pytest.approx(1000 * analytic((index + 0.5) / TABLE_SIZE), abs=0.51)


def test_the_named_figures_of_a_distribution_come_out() -> None:
    lognormal = quantiles(Lognormal(1, 8))
    assert lognormal[TABLE_SIZE // 2] == pytest.approx(1000, rel=0.001)
    assert lognormal[int(TABLE_SIZE * 0.99)] == pytest.approx(8000, rel=0.01)
    assert fmean(quantiles(Exponential(1, 5))) == pytest.approx(5000, rel=0.001)
    assert min(quantiles(Exponential(1, 5))) == 1000
    assert fmean(quantiles(Normal(5, 1))) == pytest.approx(5000, rel=0.001)


EXPECTED = {
    "Constant(value=2.5)": 0xDD23A06B,
    "Uniform(low=1, high=3)": 0x02FCC9F3,
    "Uniform(low=-3, high=3)": 0xBA778018,
    "Normal(mean=5, sd=1)": 0xD78D3DDA,
    "Normal(mean=1, sd=1)": 0x8E0D1023,
    "Lognormal(median=1, p99=8)": 0x25E9679B,
    "Exponential(min=1, mean=5)": 0x1267D156,
    "Empirical(values=(1.0, 2.0, 7.0))": 0xD2EAEBAE,
}


def test_tables_are_the_same_on_every_machine() -> None:
    """If this fails on yours, a library's logarithm is to blame, and seeds do not travel."""
    tables = {str(spec): crc32(repr(quantiles(spec)).encode()) for spec, _ in ANALYTIC}
    assert tables == EXPECTED


SKEWED = Lognormal(0.3, 40), Lognormal(20, 4000), Exponential(0.05, 300)


@pytest.mark.parametrize("distribution", [each for each, _ in ANALYTIC] + list(SKEWED))
def test_a_table_is_the_exact_one_whatever_the_last_bits_of_libm_are(
    distribution: Distribution, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = rng._inverse(distribution)
    expected = tuple(round(exact((index + 0.5) / TABLE_SIZE) * 1000) for index in range(TABLE_SIZE))
    for wrong in (1 - 1e-14, 1, 1 + 1e-14):
        monkeypatch.setattr(rng, "log", lambda x, by=wrong: math.log(x) * by)
        monkeypatch.setattr(rng, "exp", lambda x, by=wrong: math.exp(x) * by)
        assert quantiles.__wrapped__(distribution) == expected


def test_near_halves_are_computed_exactly() -> None:
    """Planted: one is rounded by what libm says of it."""
    assert rng._near_halves(np.array([2.5, 2.5 + 1e-10, 1e6 + 0.5 - 1e-4])) == [0, 1, 2]
    assert rng._near_halves(np.array([2.501, 3.0])) == []


REFUSED = [
    (lambda: Constant(math.inf), "value: must be a finite number, not inf"),
    (lambda: Constant("1"), "value: must be a finite number, not '1'"),
    (lambda: Constant(True), "value: must be a finite number, not True"),
    (lambda: Uniform(3, 1), "low: 3 must not exceed high (1)"),
    (lambda: Normal(1, -1), "sd: must not be negative, but is -1"),
    (lambda: Lognormal(0, 1), "median: must be positive, but is 0"),
    (lambda: Lognormal(8, 1), "median: 8 must not exceed p99 (1)"),
    (lambda: Exponential(5, 1), "min: 5 must not exceed mean (1)"),
    (lambda: Exponential(-1, 1), "min: must not be negative, but is -1"),
    (lambda: Empirical(()), "empirical: there is no measurement"),
    (lambda: Empirical((2.0, 1.0)), "empirical: the measurements must ascend"),
    (lambda: Empirical((math.nan,)), "empirical: every measurement must be a finite number"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED)
def test_an_impossible_distribution_is_refused_in_plain_words(
    build: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build()
