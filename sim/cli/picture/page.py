"""One self-contained HTML page of a judged history: three sentences, a space-time picture, cycles.

Nothing is fetched from anywhere. What would make it large is capped, and what is left out is words.
`templates/explain.html.j2` is the page, `space` the picture.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from ddlsim import pages
from ddlsim.analysis.sweep import totals
from ddlsim.analysis.sweep.totals import ViolationGroup
from ddlsim.checkers.argument import Argument, Moment, party_of
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import FINDING, Violation
from ddlsim.cli.picture import curve
from ddlsim.cli.picture import cycle as picture_cycle
from ddlsim.cli.picture.layout import Row
from ddlsim.cli.picture.rerun import with_messages
from ddlsim.cli.picture.space import Space, space
from ddlsim.cli.picture.state import State, columns_of, states
from ddlsim.cli.picture.words import cited, sentence, three_sentences
from ddlsim.escape import escaped
from ddlsim.history.events import AnyEvent
from ddlsim.search.likelihood import Likelihood
from ddlsim.verify.row import RunRow

MOST_ARGUMENTS: Final = 10
MOST_MOMENTS: Final = 60
MOST_PARTIES: Final = 40
"""Without a violation so many transactions and statements are drawn."""


class ArguedViolation(NamedTuple):
    """A violation and its argument."""

    violation: Violation
    argument: Argument


class _Section(NamedTuple):
    """An argument as the page shows it."""

    status: str
    name: str
    paragraph: str
    because: str | None
    cycle: Markup | None
    moments: Sequence[Moment]
    left_out: int


class _StepText(NamedTuple):
    """A step with its words; `changes` is what it changes in the state."""

    row: Row
    words: str
    changes: str


class _Stepping(NamedTuple):
    """The steps with words, and their states as data: what changed since the last one's end, and
    in it, by the number of the cell."""

    texts: Sequence[_StepText]
    nodes: Sequence[str]
    columns: Sequence[str]
    data: Markup


def gravest_first(one: ViolationGroup) -> tuple[int, bool, int]:
    """The gravest first; of equally grave ones cycles, and of these those of the fewest steps."""
    steps = one.example.steps
    rank = totals.BY_WEIGHT.index(one.example.status.partition(":")[0])
    return (rank, not steps, len(steps))


def title_of(row: RunRow) -> str:
    """The heading of a page: what ran, and how it ended."""
    design = row.strategy if row.mutant is None else f"{row.strategy} + {row.mutant}"
    return f"{row.scenario}, seed {row.seed}, design {design}: {row.outcome.word}"


def html(
    case: Case,
    title: str,
    argued: Sequence[ArguedViolation],
    command: str,
    likelihood: Likelihood | None = None,
) -> str:
    """The page; the first argument is the one that is drawn, and whose likelihood it is."""
    traced = with_messages(case.history)
    if traced is not None and traced is not case.history:
        case = Case(traced)
    violation, argument = argued[0] if argued else (None, _whole_run(case))
    drawn = space(case, violation, argument)
    sentences = () if violation is None else three_sentences(case, violation, argument)
    return (
        pages.environment("ddlsim.cli")
        .get_template("explain.html.j2")
        .render(
            title=title,
            sentences=sentences,
            cited="" if violation is None else cited(violation, sentences),
            arguments=[_section(*one) for one in argued[:MOST_ARGUMENTS]],
            left_out=max(len(argued) - MOST_ARGUMENTS, 0),
            space=drawn,
            stepping=_stepping(case, drawn, () if violation is None else violation.witness),
            command=command,
            likelihood=None if likelihood is None else curve.of(likelihood),
        )
    )


def _whole_run(case: Case) -> Argument:
    """What is drawn where nothing was found: the first transactions and statements."""
    names = [f"D{one.catalog_version}" for _, one in case.schemas.updates if one.op is not None]
    names = [*names[:MOST_PARTIES], *list(case.transactions)[:MOST_PARTIES]]
    return Argument("", tuple(party_of(case, name) for name in names), (), ())


def _section(violation: Violation, argument: Argument) -> _Section:
    return _Section(
        violation.status.replace("_", " ").replace(FINDING, "finding "),
        f"{violation.invariant} {violation.checker}: {violation.kind}",
        argument.paragraph,
        violation.because,
        # made by us, and its texts are escaped
        Markup(picture_cycle.svg(argument, violation.summary)) if argument.steps else None,
        argument.moments[:MOST_MOMENTS],
        max(len(argument.moments) - MOST_MOMENTS, 0),
    )


def _stepping(case: Case, drawn: Space, witness: Sequence[AnyEvent]) -> _Stepping:
    """The steps with their words, and the states around them."""
    rows = [row for row in drawn.layout.rows if row.number is not None]
    nodes = [lane.name for lane in drawn.layout.lanes if lane.is_node]
    steps = [row.shown.step for row in rows]
    cells = [(node, column) for node in nodes for column in columns_of(case)]
    texts: list[_StepText] = []
    data: list[tuple[dict[int, str], dict[int, str]]] = []
    last: State = {}
    for row, (before, after) in zip(
        rows, states(case, drawn.steps, steps, nodes, drawn.tables), strict=True
    ):
        step = row.shown.step
        words = sentence(case, drawn.acts[step.number], drawn.steps.events_of(step), witness)
        texts.append(_StepText(row, words, "; ".join(_changes(before, after))))
        data.append((_differing(last, before, cells), _differing(before, after, cells)))
        last = after
    # within a script element no text may end it
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return _Stepping(texts, nodes, columns_of(case), Markup(text))


def _differing(one: State, other: State, cells: Sequence[tuple[str, str]]) -> dict[int, str]:
    return {
        at: escaped(other[cell]) for at, cell in enumerate(cells) if one.get(cell) != other[cell]
    }


def _changes(before: State, after: State) -> Iterator[str]:
    """What a step changed, in words."""
    changed: Iterable[tuple[str, str]] = (cell for cell in after if after[cell] != before[cell])
    for node, column in changed:
        yield f"{node} {column}: {before[node, column]} → {after[node, column]}"
