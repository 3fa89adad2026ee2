"""Merged histograms and their quantiles, read straight from the counts: tables are checked by it.

A quantile of a histogram is known up to its bucket: a `Bracket`.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from ddlsim.analysis.stats.histogram import Histogram, size
from ddlsim.history.figures import EXACT


class Bracket(NamedTuple):
    """Two whole microseconds between which a quantile lies, both included."""

    lower_us: int
    upper_us: int


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
