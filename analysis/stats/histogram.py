"""Durations as fixed-bucket integer histograms: small, exact to add up in any order, never sorted.

The buckets are those of `ddlsim.history.figures`: below 256 us each microsecond has its own, above,
a bucket holds the durations of equal leading eight bits, so that it is at most 0.8 % wide. They are
the same for every run, so histograms add up by adding counts, and any order gives the same sum. A
quantile of a histogram is known up to its bucket: a `Bracket`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.history.figures import (
    EXACT,
    Buckets,
    bucketed,
)

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


class Bracket(NamedTuple):
    """Two whole microseconds between which a quantile lies, both included."""

    lower_us: int
    upper_us: int


of = bucketed
"""The histogram of durations in microseconds."""


def upper_end(lower_us: int) -> int:
    """The largest duration of the bucket that begins here."""
    if lower_us < EXACT:
        return lower_us
    return lower_us + (1 << (lower_us.bit_length() - 8)) - 1


def merged(many: Iterable[Histogram]) -> Histogram:
    """All of them taken together; equal for every order."""
    counts: Counter[int] = Counter()
    total = longest = 0
    for each in many:
        counts.update(each.counts)
        total += each.total_us
        longest = max(longest, each.max_us)
    return Histogram(total, longest, dict(sorted(counts.items())))


def size(taken: Histogram) -> int:
    """How many durations it holds."""
    return sum(taken.counts.values())


def mean_us(taken: Histogram) -> float | None:
    """The mean, exact; None of no durations."""
    count = size(taken)
    return taken.total_us / count if count else None


def share_above(taken: Histogram, limit_us: int) -> tuple[float, float] | None:
    """The share of durations above a limit, from below and above; None of no durations."""
    count = size(taken)
    if not count:
        return None
    surely = sum(n for lower, n in taken.counts.items() if lower > limit_us)
    perhaps = sum(n for lower, n in taken.counts.items() if upper_end(lower) > limit_us)
    return surely / count, perhaps / count


def quantile(taken: Histogram, share: float) -> Bracket | None:
    """Where the smallest duration lies that at least this share does not exceed; None of none.

    The nearest rank, as everywhere; the largest duration of all is known exactly.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a quantile lies between 0 and 1: {share!r}")
    count = size(taken)
    if not count:
        return None
    rank = max(ceil(Fraction(str(share)) * count), 1)
    seen = 0
    for lower, n in sorted(taken.counts.items()):
        seen += n
        if seen >= rank:
            return Bracket(lower, min(upper_end(lower), taken.max_us))
    raise AssertionError(f"rank {rank} among {seen}")


def cell(taken: Histogram) -> dict[str, Any]:
    """A histogram as a value of a column of `TYPE`."""
    return {
        "total_us": taken.total_us,
        "max_us": taken.max_us,
        "counts": sorted(taken.counts.items()),
    }


def of_cell(value: Mapping[str, Any] | None) -> Histogram:
    """The way back: from a value as pyarrow, pandas or Spark give it; empty for null."""
    if value is None:
        return EMPTY
    counts = value["counts"]
    pairs = counts.items() if isinstance(counts, Mapping) else counts
    ordered = sorted((int(lower), int(n)) for lower, n in pairs)
    return Histogram(int(value["total_us"]), int(value["max_us"]), dict(ordered))
