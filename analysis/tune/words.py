"""Numbers of the advice in words, the same on the screen and on the page."""


def number(value: float) -> str:
    """As many digits as matter."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def told(
    point: float, low: float, high: float | None, high_by: str = "", above_most: float | None = None
) -> str:
    """A figure with its 95 % interval, and what its upper end rests on.

    An interval of nothing but zeros says how much may have been missed: `above_most` is at most the
    share of observations above the limit.
    """
    if high is None:
        return f"{number(point)} ({number(low)} to unknown)"
    if high == low == 0 and high_by == "formula":
        return f"{number(point)} (no more by formula)"
    if high == low == 0:
        missed = "none seen above" if above_most is None else f"< {100 * above_most:.2g} % above"
        return f"{number(point)} ({missed})"
    by = " by formula" if high_by == "formula" else ""
    return f"{number(point)} ({number(low)} to {number(high)}{by})"
