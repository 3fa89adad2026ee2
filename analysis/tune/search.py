"""Searches the least DD that meets a goal: a bracket from the closed form, then bisection.

Waits fall as DD grows, seed by seed, since all cells share their random numbers; so bisection finds
the border that a fine grid would find. Its interval comes from resampling whole seeds: the figure
is interpolated between two cells that were run; beyond them it falls by one ms for every ms of DD,
as W = need - DD does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST_MS: Final = 10_000
"""The largest DD that is tried, in ms."""


@dataclass(frozen=True)
class SearchResult:
    """The least multiple of the step that meets the goals; None where not even the largest does."""

    least: int | None
    tried: tuple[int, ...]


def least(
    meets: Callable[[Sequence[int]], list[bool]], low: float, high: float, step: int
) -> SearchResult:
    """The least multiple of `step` for which `meets` is true, searched from the guess `low..high`.

    `meets` gets several values at once where their results do not depend on each other.
    """
    known: dict[int, bool] = {}

    def ask(*values: int) -> None:
        new = [value for value in dict.fromkeys(values) if value not in known]
        if new:
            known.update(zip(new, meets(new), strict=True))

    below = max(int(low // step) * step, 0)
    above = max(-int(-high // step) * step, below + step)
    ask(below, above)
    width = above - below
    while not known[above]:
        if above >= MOST_MS:
            return SearchResult(None, tuple(sorted(known)))
        below, width = above, 2 * width
        above = min(-(-(above + width) // step) * step, MOST_MS // step * step + step)
        ask(above)
    while known[below] and below > 0:
        above, width = below, 2 * width
        below = max((below - width) // step * step, 0)
        ask(below)
    if known[below]:
        return SearchResult(below, tuple(sorted(known)))
    while above - below > step:
        middle = (below + above) // (2 * step) * step
        ask(middle)
        below, above = (below, middle) if known[middle] else (middle, above)
    return SearchResult(above, tuple(sorted(known)))


def border(tried: Sequence[int], figures: Array, limit: float) -> Array:
    """The DD at which each resample meets the limit; figures are (cells, resamples), by rising DD.

    That is the least DD from which on the figure is at most the limit for all tried ones.
    """
    at = np.asarray(tried, dtype=np.float64)
    over = figures > limit
    result = np.empty(figures.shape[1])
    for number in range(figures.shape[1]):
        bad = np.flatnonzero(over[:, number])
        own = figures[:, number]
        if not len(bad):
            result[number] = max(at[0] - (limit - own[0]), 0.0) if own[0] > 0 else at[0]
        elif bad[-1] == len(at) - 1:
            result[number] = at[-1] + own[-1] - limit
        else:
            before, after = bad[-1], bad[-1] + 1
            part = (own[before] - limit) / max(own[before] - own[after], 1e-12)
            result[number] = at[before] + min(part, 1.0) * (at[after] - at[before])
    return result


def knee(costs: Array, waits: Array) -> int | None:
    """The index of the knee: farthest below the line between the ends, both axes scaled to 0..1.

    None for fewer than three points, or where an axis has a single value.
    """
    if len(costs) < 3 or np.ptp(costs) == 0 or np.ptp(waits) == 0:
        return None
    x = (costs - costs.min()) / np.ptp(costs)
    y = (waits - waits.min()) / np.ptp(waits)
    order = np.argsort(x)
    first, last = order[0], order[-1]
    line = y[first] + (y[last] - y[first]) * (x - x[first]) / (x[last] - x[first])
    place = int(np.argmax(line - y))
    return place if line[place] - y[place] > 0 else None


def front(points: Array) -> list[bool]:
    """Whether each point is on the Pareto front; smaller is better in every column."""
    return [
        not any(
            np.all(other <= own) and np.any(other < own)
            for number, other in enumerate(points)
            if number != place
        )
        for place, own in enumerate(points)
    ]
