"""`ddlsim check` of histories of this program: judged again, as JSON, as JUnit, as text."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console

from ddlsim.analysis.sweep import totals
from ddlsim.checkers.judge import Violation
from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import stored
from ddlsim.cli.documents import shapes
from ddlsim.cli.documents.documents import part
from ddlsim.cli.documents.junit import TestCase
from ddlsim.cli.documents.run import case_of
from ddlsim.cli.options import Options
from ddlsim.cli.views import run as view
from ddlsim.cli.views import words
from ddlsim.graph import models
from ddlsim.scenario import findings
from ddlsim.verify.expectation import sum_of
from ddlsim.verify.row import RunRow, row_of

VALID = {Outcome.VIOLATED: False, Outcome.UNKNOWN: "unknown"}
"""Any other outcome leaves a history valid."""
UNCOMMITTED = ("opacity",)
"""Checkers of what transactions did that may not have committed; models say nothing of it."""
MODEL_WORDS = {"non-repeatable-read": "internal"}
"""What models call an anomaly of another name."""


class Native(NamedTuple):
    """A history of this program and its verdict; `reaches` are its scenario's probes."""

    file: str
    row: RunRow
    reaches: tuple[str, ...]
    strict: bool

    @property
    def outcome(self) -> Outcome:
        """How the run ended, as it is judged now."""
        return self.row.outcome

    def document(self) -> shapes.Checked:
        """One element of `files` of `check --output json`."""
        row = self.row
        broken = [
            (place, each) for place, each in enumerate(row.violations) if each.status == "violation"
        ]
        return part(
            row,
            shapes.Checked,
            file=self.file,
            input="native",
            scenario=row.scenario,
            seed=row.seed,
            fingerprint=row.fingerprint,
            valid=VALID.get(row.outcome, True),
            model="strict" if self.strict else "relaxed",
            anomalies=[_anomaly(each, row.arguments.get(place)) for place, each in broken],
            **{"not": ruled_out(each for _, each in broken)},
        )

    def case(self) -> TestCase:
        """The file as a test."""
        return case_of(self.row, self.file)

    def show(self, to: Console) -> None:
        """The verdict, and which run it was."""
        row = self.row
        design = row.strategy if row.mutant is None else f"{row.strategy} + {row.mutant}"
        what = f"{row.scenario}, seed {row.seed}, design {design}, fingerprint {row.fingerprint}"
        words.verdict(row.outcome, self.file, to)
        words.say(what, to, indent=words.INDENT)


def judge(options: Options, file: str) -> Native:
    """One file, whatever its scenario says must be reached."""
    history = stored.load(file)
    row = row_of(
        history, strict=options.strict, all_claims=options.all_claims, known=findings.known()
    )
    return Native(file, row, history.header.reaches, options.strict or history.header.strict)


def together(judged: Sequence[Native]) -> list[Native]:
    """The same, but a probe counts as reached when any history of its scenario has reached it."""
    found = list(judged)
    for scenario in dict.fromkeys(one.row.scenario for one in judged):
        runs = [(at, one) for at, one in enumerate(judged) if one.row.scenario == scenario]
        total = sum_of([one.row for _, one in runs], reaches=runs[0][1].reaches, expect="ok")
        for (at, one), row in zip(runs, total.runs, strict=True):
            found[at] = one._replace(row=row)
    return found


def show_found(judged: Sequence[Native], to: Console) -> None:
    """What was found in all of them, each thing once."""
    rows = [one.row for one in judged]
    view.findings(totals.grouped(rows), rows, to)
    view.troubles(rows, to)


def _anomaly(found: Violation, argument: str | None) -> shapes.Anomaly:
    steps: list[shapes.Edge] = [
        {"from": step.source, "to": step.target, "edge": step.edge, "because": step.because}
        for step in found.steps
    ]
    named = [step.source for step in found.steps if step.kind == "T"]
    seen = [getattr(event, "tx", None) for event in found.witness]
    named = named or [tx for tx in seen if tx is not None]
    explanation = found.summary if argument is None else f"{found.summary}\n{argument}"
    return {
        "type": found.kind,
        "txns": list(dict.fromkeys(named)),
        "steps": steps,
        "explanation": explanation,
    }


def ruled_out(broken: Iterable[Violation]) -> list[str]:
    """The models that a history cannot have, weaker ones first, by the names of its anomalies.

    As in histories of other tools only what committed transactions did counts.
    """
    kinds = {found.kind for found in broken if found.checker not in UNCOMMITTED}
    return list(models.ruled_out(MODEL_WORDS.get(kind, kind) for kind in kinds))
