"""What was checked of a history and how much of it, also where nothing was found."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from ddlsim.checkers.extent import Extent
from ddlsim.cli.documents import shapes_explain
from ddlsim.cli.documents.documents import part
from ddlsim.cli.views.words import INDENT, say
from ddlsim.model.probes import never_reached
from ddlsim.verify.row import RunRow

PLURAL: Final = re.compile(
    r"\b(crashes|elections|commands|commits|entries|leases|look-ups|nodes|operations|queries|rows"
    r"|sessions|transactions|updates|versions|waits)\b"
)
SINGULAR: Final = {"crashes": "crash", "entries": "entry", "queries": "query"}
"""Those that lose more than an `s`."""


def show(extents: Sequence[Extent], row: RunRow, to: Console) -> None:
    """A line for each invariant: what there was to judge, and what came of it."""
    to.print()
    to.print(Text("what was checked", "bold"))
    found = counts(row)
    for one in extents:
        say(f"{one.invariant} {one.checker}: {extent_words(one, found)}", to, indent=INDENT)


def extent_words(one: Extent, found: Counter[str]) -> str:
    """What one judge had before it, in words."""
    if not one.judged:
        return "not judged: the history has not the voice for it"
    amounts = ", ".join(amount_words(count, what) for what, count in one.amounts.items())
    if one.is_empty:
        ending = "nothing that could have broken it"
    else:
        number = found[one.checker]
        ending = f"{number:,} found" if number else "nothing found"
    claimed = "" if one.claimed else " (not claimed)"
    return f"{amounts}; {ending}{claimed}" if amounts else f"{ending}{claimed}"


def amount_words(count: int, what: str) -> str:
    """`2 look-ups of a schema`, `1 look-up of a schema`."""
    if count == 1 and " and " not in what:
        what = PLURAL.sub(lambda found: SINGULAR.get(found[0], found[0][:-1]), what, count=1)
    return f"{count:,} {what}"


def counts(row: RunRow) -> Counter[str]:
    """How many anomalies each checker found, those that are not listed too."""
    found = Counter(one.checker for one in row.violations)
    for kind, times in row.omitted.items():
        found[kind.partition(" ")[0]] += times
    return found


def document(extents: Sequence[Extent], row: RunRow) -> list[shapes_explain.Looked]:
    """The same as data."""
    found = counts(row)
    return [
        part(
            one,
            shapes_explain.Looked,
            looked_at=dict(one.amounts),
            nothing_to_judge=one.is_empty,
            found=found[one.checker],
        )
        for one in extents
    ]


def unreached(row: RunRow) -> tuple[str, ...]:
    """The known probes that this run has not met."""
    return never_reached({probe for probe, times in row.reached.items() if times})
