"""What `check` and `explain` say of an external history, whatever its format."""

from typing import Any, Final, NamedTuple

from ddlsim.checkers.outcome import Outcome
from ddlsim.graph.models import model_of
from ddlsim.graph.verdict import Answer, Namer, Verdict

OUTCOMES: Final[dict[Answer, Outcome]] = {
    True: Outcome.OK,
    False: Outcome.VIOLATED,
    "unknown": Outcome.UNKNOWN,
}
Checked = tuple[tuple[str, str], ...]
"""What was looked for, and in how much: a label and a text each."""


class Report(NamedTuple):
    """The judgement of one file.

    `fields` is its element of `files` in the document `check` of the interface, without `file`,
    `input` and `outcome`. `facts` is a line on what was judged; `found` has a headline and an
    argument for each anomaly, `notes` why an answer is not certain, `checked` what was looked for.
    """

    outcome: Outcome
    fields: dict[str, Any]
    facts: str
    found: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    checked: Checked


def of_verdict(
    verdict: Verdict, names: Namer, facts: str, checked: Checked, more: dict[str, Any] | None = None
) -> Report:
    """The report of a verdict on isolation; `more` are fields that only some formats have."""
    data = verdict.as_data(names)
    fields = {"valid": data.pop("valid"), "model": data.pop("model"), **(more or {})}
    fields |= {"anomalies": data.pop("anomalies"), "counts": data.pop("counts"), "violations": []}
    facts += f"; model {verdict.model}"
    if verdict.ruled_out:
        facts += f"; not {', '.join(verdict.ruled_out)}"
    many = dict(verdict.counts)
    found = tuple(
        (headline(one.type, many.pop(one.type, 0)), one.explanation) for one in verdict.anomalies
    )
    looked_for = (*_looked_for(verdict.model), *checked)
    outcome = OUTCOMES[verdict.valid]
    return Report(outcome, fields | data, facts, found, verdict.notes, looked_for)


def headline(type_: str, count: int) -> str:
    """The type of an anomaly; the first of its type has the count."""
    return type_ if count < 2 else f"{type_}, {count:,} times"


def _looked_for(name: str) -> Checked:
    """The phenomena that a model forbids, and the orders that its cycles may consist of."""
    model = model_of(name)
    orders = ("the data", "the order of each process", "real time")[: model.level + 1]
    return (
        ("model", name),
        ("phenomena", ", ".join(sorted(model.forbids))),
        ("orders", ", ".join(orders)),
    )
