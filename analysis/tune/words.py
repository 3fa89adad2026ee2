"""Formats the numbers of the advice, for the screen and the page."""


def number(value: float | None) -> str:
    """The number with three significant digits, and without a fraction from 100 on; `unknown` for
    a figure of which nothing was observed.
    """
    if value is None:
        return "unknown"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_interval(
    point: float | None,
    low: float | None,
    high: float | None,
    high_by: str = "",
    above_most: float | None = None,
) -> str:
    """A figure with its 95 % interval, and the source of its upper end.

    Where all is zero, `above_most` is shown instead: the upper bound of the share of observations
    above the limit.
    """
    if point is None:
        return number(None)
    if high is None:
        return f"{number(point)} ({number(low)} to unknown)"
    if high == low == 0 and high_by == "formula":
        return f"{number(point)} (no more by formula)"
    if high == low == 0:
        missed = "none seen above" if above_most is None else f"< {100 * above_most:.2g} % above"
        return f"{number(point)} ({missed})"
    by = " by formula" if high_by == "formula" else ""
    return f"{number(point)} ({number(low)} to {number(high)}{by})"
