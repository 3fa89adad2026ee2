"""A rehearsal as one HTML page that loads nothing: latencies as a picture, then statements."""

from collections.abc import Sequence
from math import log10
from typing import Final, NamedTuple

from ddlsim import pages
from ddlsim.cli.documents.shapes_rehearse import Rehearse
from ddlsim.cli.views import rehearse as view_rehearse
from ddlsim.record.rehearsal.rows import MEANING

TEMPLATE: Final = "rehearse.html.j2"
WIDTH: Final = 1000
HEIGHT: Final = 200
BUCKETS: Final = 400
NEAR: Final = 16
LEAST_MS: Final = 0.1


class Point(NamedTuple):
    """A bar of the picture: the longest latency of the answers in a short time."""

    x: float
    top: float
    ms: float


class Window(NamedTuple):
    """A statement of the migration in the picture; no label where another one is too near."""

    x: float
    width: float
    sql: str
    label: str


class Line(NamedTuple):
    """A line of the scale."""

    y: float
    text: str


def html(found: Rehearse, answers: Sequence[tuple[float, float]]) -> str:
    """The page as text; `answers` are times since the begin of the load, and latencies, in ms."""
    whole = max((at for at, _ in answers), default=1.0) or 1.0
    most = max((took for _, took in answers), default=1.0)
    return (
        pages.environment("ddlsim.cli")
        .get_template(TEMPLATE)
        .render(
            title=f"Rehearsal of {found['migration']}",
            found=found,
            bars=_bars(answers, whole, most),
            scale=[Line(_y(ms, most), f"{ms:g} ms") for ms in _decades(most)],
            windows=_windows(found, whole),
            slice_ms=whole / BUCKETS,
            whole_ms=whole,
            width=WIDTH,
            height=HEIGHT,
            view=view_rehearse,
            meaning=MEANING,
        )
    )


def _bars(answers: Sequence[tuple[float, float]], whole: float, most: float) -> list[Point]:
    longest: dict[int, float] = {}
    for at, took in answers:
        bucket = min(BUCKETS - 1, int(at / whole * BUCKETS))
        longest[bucket] = max(took, longest.get(bucket, 0.0))
    step = WIDTH / BUCKETS
    return [Point(round(at * step, 1), _y(ms, most), ms) for at, ms in sorted(longest.items())]


def _windows(found: Rehearse, whole: float) -> list[Window]:
    made: list[Window] = []
    labelled = -float(NEAR)
    for number, one in enumerate(found["statements"], 1):
        if one["ran"]:
            x = round(one["started_ms"] / whole * WIDTH, 1)
            width = max(1.0, round(one["duration_ms"] / whole * WIDTH, 1))
            is_far = x - labelled >= NEAR
            labelled = x if is_far else labelled
            made.append(Window(x, width, one["sql"], str(number) if is_far else ""))
    return made


def _y(ms: float, most: float) -> float:
    """The height of a latency on a logarithmic scale, from the top."""
    span = log10(max(most, 10 * LEAST_MS) / LEAST_MS)
    return round(HEIGHT - HEIGHT * log10(max(ms, LEAST_MS) / LEAST_MS) / span, 1)


def _decades(most: float) -> list[float]:
    found = [LEAST_MS]
    while found[-1] * 10 <= most:
        found.append(round(found[-1] * 10, 1))
    return found
