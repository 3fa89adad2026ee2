"""The tail estimate of `tune`: a quantile of a wait or latency (p99, say) and what bounds it.

Three parts. `observed` is the quantile of the histograms of all seeds, or of resamples of the
seeds. `interval` is its interval over seeds: by resampling alone it ignores what was not observed,
so it is at least as wide as that of so many independent units. `bound_by_formula` is an upper end
by the closed form (`ddlsim.analysis.formula.wait_model`), for tails of which the runs show too
little; `ddlsim.analysis.tune.judge` takes the lower of the two upper ends.
"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.formula.wait_model import Wait
from ddlsim.analysis.stats import intervals

Array = NDArray[np.float64]


def observed(values_ms: Array, counts: Array, weights: Array, share: float) -> Array:
    """The quantile in ms for each row of weights of the seeds; `counts` are (seeds, values)."""
    return np.asarray(intervals.pooled_quantile(weights @ counts, values_ms, share))


def interval(
    values_ms: Array,
    counts: Array,
    share: float,
    by_resampling: tuple[float, float],
    units: float,
    level: float = intervals.LEVEL,
) -> tuple[float, float]:
    """The interval over seeds in ms; the upper end is infinite where the runs are too few.

    The wider at each end of the interval by resampling and of that of `units` independent
    observations (the rule of three where no event was observed).
    """
    low, high = intervals.effective_quantile(counts.sum(axis=0), values_ms, share, units, level)
    return min(by_resampling[0], low), max(by_resampling[1], high)


def bound_by_formula(model: Wait, share: float, slack_ms: float, looks: int) -> float:
    """The upper bound in ms of a quantile of `looks` waits in a row; infinite where it has none."""
    found = model.quantile(1 - (1 - share) / looks, slack_ms).ordered
    # of look-ups whose waits add up to more than that, one waits a part of it
    return looks * found if found + slack_ms < model.times[-1] else inf
