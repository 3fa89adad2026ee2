"""`ddlsim check` of external histories: as JSON, as JUnit, as text."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli.documents.junit import FAILURES, TestCase
from ddlsim.cli.problems import InputError
from ddlsim.foreign import inputs
from ddlsim.foreign.report import Report

if TYPE_CHECKING:
    from rich.console import Console

MODEL_IS_FOREIGN: Final = (
    "{}: --model is for external histories; one of this program is judged by the claims of its "
    "design"
)


def refuse_model(file: str) -> NoReturn:
    """Raise for `--model` of a file that is taken for a history of this program; what is none, or
    not there, gets the message that it gets without a model.
    """
    if not inputs.is_native(file):
        from ddlsim.cli import stored

        stored.load(file)
    raise InputError(MODEL_IS_FOREIGN.format(file))


class Foreign(NamedTuple):
    """An external history's file and its report."""

    file: str
    input: str
    report: Report

    @property
    def outcome(self) -> Outcome:
        """What the file is judged as."""
        return self.report.outcome

    def document(self) -> dict[str, Any]:
        """One element of `files` of `check --output json`."""
        head = {"file": self.file, "input": self.input, "outcome": self.outcome.word}
        return {**head, **self.report.fields}

    def case(self) -> TestCase:
        """The file as a test: failed where the model is broken, an error where it is not known."""
        report = self.report
        if self.outcome is Outcome.OK:
            return TestCase(self.file)
        lines = [f"{headline}: {said}" for headline, said in report.found] + [*report.notes]
        wrong = "failure" if self.outcome in FAILURES else "error"
        message = report.found[0][0] if report.found else self.outcome.word
        return TestCase(self.file, wrong, self.outcome.word, message, "\n".join(lines))

    def show(self, to: "Console") -> None:
        """The verdict, what was found, and what remained open."""
        from rich.text import Text

        from ddlsim.cli.views.words import COLOURS, INDENT, block, say, verdict

        report = self.report
        verdict(self.outcome, self.file, to)
        say(report.facts, to, indent=INDENT)
        for headline, said in report.found:
            to.print()
            to.print(Text(headline, COLOURS[Outcome.VIOLATED]), soft_wrap=True)
            block(said, to)
        if report.notes:
            to.print()
        for note in report.notes:
            say(note, to, indent=INDENT)
