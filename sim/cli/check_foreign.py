"""`ddlsim check` of foreign histories: as JSON, as JUnit, as text."""

from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.text import Text

from sim.checkers.outcome import Outcome
from sim.cli.junit import FAILURES, TestCase
from sim.cli.words import COLOURS, INDENT, block, say, verdict
from sim.foreign.inputs import INPUTS, Report

MODEL_OF_OTHERS: Final = (
    "{}: --model is for histories of others; one of this program is judged by the claims of its "
    "design"
)


class Foreign(NamedTuple):
    """A foreign file and what became of it."""

    file: str
    input: str
    report: Report


def judge(file: str, kind: str, model: str) -> Foreign:
    """One file of a kind."""
    return Foreign(file, kind, INPUTS[kind].judge(file, model))


def document_of(one: Foreign) -> dict[str, Any]:
    """One element of `files` in the shape `check` of the interface."""
    outcome = one.report.outcome.word
    return {"file": one.file, "input": one.input, "outcome": outcome, **one.report.fields}


def case_of(one: Foreign) -> TestCase:
    """A file as a test: failed where the model is broken, in error where that is not known."""
    outcome = one.report.outcome
    if outcome is Outcome.OK:
        return TestCase(one.file)
    lines = [f"{headline}: {said}" for headline, said in one.report.found] + [*one.report.notes]
    wrong = "failure" if outcome in FAILURES else "error"
    message = one.report.found[0][0] if one.report.found else outcome.word
    return TestCase(one.file, wrong, outcome.word, message, "\n".join(lines))


def show(one: Foreign, to: Console) -> None:
    """The verdict, what was found, and what remained open."""
    verdict(one.report.outcome, one.file, to)
    say(one.report.facts, to, indent=INDENT)
    for headline, said in one.report.found:
        to.print()
        to.print(Text(headline, COLOURS[Outcome.VIOLATED]), soft_wrap=True)
        block(said, to)
    if one.report.notes:
        to.print()
    for note in one.report.notes:
        say(note, to, indent=INDENT)
