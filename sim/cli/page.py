"""One self-contained HTML page of a judged history: paragraphs, cycles, events and a timeline.

Nothing is fetched from anywhere. What would make it large is capped, and what is left out is told.
`templates/explain.html.j2` is the page.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from ddlsim import pages
from ddlsim.checkers.argument import Argument, Moment
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import Violation
from ddlsim.cli import picture
from ddlsim.cli.timeline import timeline

MOST_ARGUMENTS: Final = 10
MOST_MOMENTS: Final = 60


class ArguedViolation(NamedTuple):
    """A violation and its argument."""

    violation: Violation
    argument: Argument


class _Section(NamedTuple):
    """An argument as the page tells it."""

    status: str
    name: str
    paragraph: str
    because: str | None
    cycle: Markup | None
    moments: Sequence[Moment]
    left_out: int


def html(case: Case, title: str, told: Sequence[ArguedViolation], command: str) -> str:
    """The page; the first argument is the one that the timeline opens on."""
    first = told[0].argument if told else Argument("", (), (), ())
    return (
        pages.environment("ddlsim.cli")
        .get_template("explain.html.j2")
        .render(
            title=title,
            arguments=[_section(*one) for one in told[:MOST_ARGUMENTS]],
            left_out=max(len(told) - MOST_ARGUMENTS, 0),
            when=timeline(case, first),
            command=command,
        )
    )


def _section(violation: Violation, argument: Argument) -> _Section:
    return _Section(
        violation.status.replace("_", " ").replace("finding:", "finding "),
        f"{violation.invariant} {violation.checker}: {violation.kind}",
        argument.paragraph,
        violation.because,
        # made by us, and its texts are escaped
        Markup(picture.svg(argument, violation.summary)) if argument.steps else None,
        argument.moments[:MOST_MOMENTS],
        max(len(argument.moments) - MOST_MOMENTS, 0),
    )
