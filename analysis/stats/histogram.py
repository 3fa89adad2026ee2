"""Histograms of durations with fixed buckets; their sums are exact in any order.

The buckets are those of `ddlsim.history.figures`: below 256 us each microsecond has its own, above,
a bucket holds the durations of equal leading eight bits, so that it is at most 0.8 % wide. They are
the same for every run, so histograms add up by adding counts, and any order gives the same sum.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
from numpy.typing import NDArray

from ddlsim.history.figures import EXACT, Buckets, bucketed

Array = NDArray[np.float64]
Histogram = Buckets
"""`counts` by the lower end of the bucket in microseconds, with the exact sum and maximum."""

EMPTY: Final = Histogram(0, 0, {})
TYPE: Final = pa.struct(
    [
        pa.field("total_us", pa.int64(), nullable=False),
        pa.field("max_us", pa.int64(), nullable=False),
        pa.field("counts", pa.map_(pa.int64(), pa.int64()), nullable=False),
    ]
)
"""A histogram as a column: `counts` maps a bucket's lower end to how many fell into it."""


of = bucketed
"""The histogram of durations in microseconds."""


def size(taken: Histogram) -> int:
    """The number of durations in it."""
    return sum(taken.counts.values())


def matrix(each: Sequence[Histogram]) -> tuple[Array, Array]:
    """The values of all their buckets in us, ascending, and the counts, one row per histogram."""
    values = sorted({lower for one in each for lower in one.counts})
    counts = [[one.counts.get(lower, 0) for lower in values] for one in each]
    return np.array(values, dtype=np.float64), np.array(counts, dtype=np.float64)


def upper_ends(lower_us: Array, longest_us: float) -> Array:
    """The largest durations that buckets with these lower ends hold, in whole us, none of them
    longer than `longest_us`."""
    leading = np.floor(np.log2(np.maximum(lower_us, 1))) - EXACT.bit_length() + 2
    upper = lower_us + np.exp2(np.maximum(leading, 0)) - 1
    return np.asarray(np.minimum(upper, longest_us))


def cell(taken: Histogram) -> dict[str, Any]:
    """A histogram as a value of a column of `TYPE`."""
    return {
        "total_us": taken.total_us,
        "max_us": taken.max_us,
        "counts": sorted(taken.counts.items()),
    }


def of_cell(value: Mapping[str, Any] | None) -> Histogram:
    """The histogram of a column's value, of pyarrow, pandas or Spark; empty for null."""
    if value is None:
        return EMPTY
    counts = value["counts"]
    pairs = counts.items() if isinstance(counts, Mapping) else counts
    ordered = sorted((int(lower), int(n)) for lower, n in pairs)
    return Histogram(int(value["total_us"]), int(value["max_us"]), dict(ordered))
