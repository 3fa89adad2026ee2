"""A witness log's verdict as the command line and its JSON want it."""

from typing import Any, Final

import msgspec
from msgspec import structs

from ddlsim.checkers.judge import Violation
from ddlsim.checkers.outcome import Outcome
from ddlsim.foreign.readers.problems import MOST, ForeignError
from ddlsim.foreign.report import Report
from ddlsim.foreign.witness import words as witness_words
from ddlsim.foreign.witness.records import Line
from ddlsim.foreign.witness.witness import Judgement, judge_file
from ddlsim.foreign.witness.words import shown

VALID: Final = {Outcome.OK: True, Outcome.VIOLATED: False, Outcome.UNKNOWN: "unknown"}


def judge(path: str, model: str | None) -> Report:
    """Read and judge a file; `ForeignError` if it is no witness log, or a model is asked for."""
    if model is not None:
        what = "--model is for histories of operations; a witness log is judged for I1, I4 and I8"
        raise ForeignError(path, 0, what)
    return report(judge_file(path))


def report(judgement: Judgement) -> Report:
    """A judgement as a report; what cannot be judged makes it unknown, but hides no breach."""
    outcome = Outcome.UNKNOWN if judgement.problems else Outcome.OK
    outcome = Outcome.VIOLATED if judgement.violations else outcome
    problems = tuple(str(problem) for problem in judgement.problems)
    both = tuple(zip(judgement.violations, judgement.shown, strict=True))
    fields: dict[str, Any] = {
        "valid": VALID[outcome],
        "model": None,
        "anomalies": [_anomaly(*one) for one in both],
        "violations": [_violation(*one) for one in both],
        "not": [],
        "problems": list(problems),
    }
    nodes = "1 node" if judgement.nodes == 1 else f"{judgement.nodes} nodes"
    facts = f"witness log, {judgement.entries} entries of {nodes}; judged for I1, I4 and I8"
    found = tuple(
        (f"{one.invariant} {one.checker}: {one.kind}", _argument(one, lines)) for one, lines in both
    )
    notes = [f"not judged: {problem}" for problem in problems[:MOST]]
    if len(problems) > MOST:
        notes.append(f"... and {len(problems) - MOST:,} more; --output json has them all")
    return Report(outcome, fields, facts, found, tuple(notes), _checked(dict(judgement.kinds)))


def _checked(kinds: dict[str, int]) -> tuple[tuple[str, str], ...]:
    """What each invariant had to be judged by."""

    def counted(*names: str) -> str:
        return ", ".join(f"{kinds.get(name, 0):,} {name}" for name in names)

    return (
        ("I1 atomicity", counted("schema_resolved", "schema_applied", "schema_activated")),
        ("I4 own_ddl", counted("ddl_acknowledged", "schema_resolved")),
        ("I8 forward_compatible", counted("transaction_committed", "schema_activated")),
    )


def _anomaly(found: Violation, lines: tuple[Line, ...]) -> dict[str, Any]:
    seen = [getattr(line.entry, "transaction", None) for line in lines]
    return {
        "type": found.kind,
        "txns": list(dict.fromkeys(tx for tx in seen if tx is not None)),
        "steps": [],
        "explanation": _argument(found, lines),
    }


def _violation(found: Violation, lines: tuple[Line, ...]) -> dict[str, Any]:
    """As the document has it; its witness is the entries of the log."""
    fields: dict[str, Any] = msgspec.to_builtins(structs.replace(found, witness=()))
    return {**fields, "witness": [witness_words.fields(line) for line in lines]}


def _argument(found: Violation, lines: tuple[Line, ...]) -> str:
    return "\n".join((found.summary, *(part for line in lines for part in shown(line))))
