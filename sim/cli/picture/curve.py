"""The likelihood of a violation along its run, as a curve of the page and in sentences."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ddlsim.escape import counted, escaped
from ddlsim.search.likelihood import Likelihood, Message, Point, Rise
from ddlsim.units import US_PER_MS

WIDTH, HEIGHT = 900, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 850, 12, 206
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
TICKS: Final = 6
THINNEST: Final = 2.0
"""A change at one instant is drawn so wide."""


class Mark(NamedTuple):
    """A text at a place of an axis."""

    at: float
    text: str


class Dot(NamedTuple):
    """A point of the curve."""

    x: float
    y: float
    text: str


class Span(NamedTuple):
    """Where the likelihood changes much."""

    x: float
    width: float


class Drawn(NamedTuple):
    """What the template draws."""

    about: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    lines: list[Mark]
    ticks: list[Mark]
    rises: list[Span]
    path: str
    dots: list[Dot]
    sentences: list[str]


def of(one: Likelihood) -> Drawn:
    """The curve of a likelihood."""
    ends_us = max(one.ends_us, 1)

    def x(at_us: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * min(at_us, ends_us) / ends_us, 1)

    def y(share: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * share, 1)

    dots = [
        Dot(x(point.sent_us or 0), y(point.shows / one.continuations), row(point, one))
        for point in one.points
    ]
    times = [ends_us * part // (TICKS - 1) for part in range(TICKS)]
    words = about(one)
    return Drawn(
        words[0].upper() + words[1:], WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM,
        [Mark(y(share), f"{share:.0%}") for share in SHARES],
        [Mark(x(at_us), f"{at_us / US_PER_MS:,.0f} ms") for at_us in times],
        [
            Span(x(rise.from_us), max(round(x(rise.until_us) - x(rise.from_us), 1), THINNEST))
            for rise in one.rises
        ],
        " ".join(f"{dot.x:g},{dot.y:g}" for dot in dots),
        dots,
        list(sentences(one)),
    )  # fmt: skip


# --- in words -------------------------------------------------------------------------------------


def about(one: Likelihood) -> str:
    """What the numbers are."""
    runs = counted(one.continuations, "run")
    return (
        f"of {runs} that are the same up to an instant, and draw delays and losses of messages "
        f"anew from there on, so many show {escaped(one.signature.text)}"
    )


def row(point: Point, one: Likelihood) -> str:
    """A point in words."""
    return f"{instant(point)}: {point.shows} of {one.continuations}"


def instant(point: Point) -> str:
    """When a point is."""
    return "the beginning" if point.sent_us is None else f"{point.sent_us / US_PER_MS:,.3f} ms"


def sentences(one: Likelihood) -> Iterator[str]:
    """The largest changes, and what it means that there are none."""
    first, last = one.points[0].shows, one.points[-1].shows
    if first == one.continuations:
        yield (
            "it shows whatever the delays are: it follows from clients, statements, faults and "
            "clocks"
        )
    elif not one.rises:
        yield "no one instant changes it by a fifth"
    for rise in one.rises:
        yield _change(rise)
    if last < one.continuations:
        hidden = one.continuations - last
        yield f"in {hidden} of {one.continuations} what comes after it hides it"


def _change(rise: Rise) -> str:
    of = f"from {rise.before} to {rise.after} by"
    if not rise.messages:
        between = f"{rise.from_us / US_PER_MS:,.3f} and {rise.until_us / US_PER_MS:,.3f} ms"
        return f"{of} the {counted(rise.sent, 'message')} sent between {between}"
    named = [_named(message) for message in rise.messages]
    if more := rise.sent - len(named):
        named.append(f"{more} more")
    what = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    return f"{of} what is sent at {rise.from_us / US_PER_MS:,.3f} ms: {what}"


def _named(one: Message) -> str:
    took = "does not arrive" if one.took_us is None else f"{one.took_us / US_PER_MS:,.3f} ms"
    return f"{one.kind} from {one.sender} to {one.to} ({took})"
