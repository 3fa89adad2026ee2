"""Histograms: exact sums in any order, quantiles inside their bracket, columns and back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.stats import histogram
from tests.support import histograms

DURATIONS = st.lists(st.integers(0, 2**45), max_size=60)
SHARES = st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0])


@given(st.integers(0, 2**45))
def test_a_bucket_contains_its_duration_and_is_narrow(taken_us: int) -> None:
    [lower] = histogram.of([taken_us]).counts
    upper = histograms.upper_end(lower)
    assert lower <= taken_us <= upper
    assert upper - lower <= lower * 0.008
    assert set(histogram.of([lower, upper]).counts) == {lower}
    assert lower not in histogram.of([upper + 1]).counts


@given(DURATIONS.filter(bool))
def test_upper_ends_are_those_of_the_buckets_and_no_longer_than_the_longest(
    taken: list[int],
) -> None:
    whole = histogram.of(taken)
    lower = np.array(list(whole.counts), dtype=np.float64)
    found = histogram.upper_ends(lower, whole.max_us)
    wanted = [min(histograms.upper_end(one), whole.max_us) for one in whole.counts]
    assert found.tolist() == wanted


@given(st.lists(DURATIONS, max_size=5), st.randoms())
def test_merging_histograms_is_commutative(runs: list[list[int]], order: object) -> None:
    parts = [histogram.of(run) for run in runs]
    whole = histogram.of([taken for run in runs for taken in run])
    order.shuffle(parts)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    cut = len(parts) // 2
    left, right = histograms.merged(parts[:cut]), histograms.merged(parts[cut:])
    assert histograms.merged([right, left]) == histograms.merged(parts) == whole


@given(DURATIONS.filter(bool), SHARES)
def test_the_quantile_is_within_its_bracket(taken: list[int], share: float) -> None:
    ordered = sorted(taken)
    exact = next(
        value for place, value in enumerate(ordered, 1) if place >= share * len(ordered) - 1e-9
    )
    bracket = histograms.quantile(histogram.of(taken), share)
    assert bracket is not None
    assert bracket.lower_us <= exact <= bracket.upper_us
    largest = histograms.quantile(histogram.of(taken), 1.0)
    assert largest is not None
    assert largest.upper_us == max(taken)


@given(DURATIONS)
def test_of_cell_inverts_cell_for_every_reader(taken: list[int]) -> None:
    whole = histogram.of(taken)
    column = pa.array([histogram.cell(whole), None], histogram.TYPE)
    assert [histogram.of_cell(value) for value in column.to_pylist()] == [whole, histogram.EMPTY]
    assert histogram.size(whole) == len(taken)


def test_an_empty_histogram_has_no_quantile() -> None:
    assert histograms.quantile(histogram.EMPTY, 0.5) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        histograms.quantile(histogram.EMPTY, 50)
