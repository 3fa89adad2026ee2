"""`ddlsim check`: judges stored histories again, with today's judges, and those of others."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from analysis import aggregate
from sim.checkers import names
from sim.checkers.base import Violation
from sim.checkers.outcome import Outcome, worst
from sim.cli import check_foreign, check_spread, documents, junit
from sim.cli.arguments import Options
from sim.cli.check_foreign import Foreign
from sim.cli.problems import InputError
from sim.columns.models import DEFAULT
from sim.foreign import inputs
from sim.history import codec
from sim.history.history import FORMAT
from sim.registry import load_file
from sim.world import findings
from sim.world.campaign import RunRow, row_of
from sim.world.expectation import sum_of

VALID = {Outcome.VIOLATED: False, Outcome.UNKNOWN: "unknown"}
"""Any other outcome leaves a history valid."""
MODELS = {
    "G0": "read-uncommitted",
    "G1a": "read-committed",
    "G1b": "read-committed",
    "G1c": "read-committed",
    "G-single": "snapshot-isolation",
    "G-nonadjacent": "snapshot-isolation",
    "G2-item": "repeatable-read",
    "G2-predicate": "serializable",
}
"""The weakest model that each anomaly rules out (Adya); with real time, only its strict form."""
TIMED = {"-realtime": "strict-serializable", "-process": "strong-session-serializable"}
"""What an anomaly rules out that closes only in real time, or by the order of one client."""


class Judged(NamedTuple):
    """A file and what became of it."""

    file: str
    row: RunRow
    reaches: tuple[str, ...]
    strict: bool


def execute(options: Options) -> int:
    """Judge every file, then print; the exit code is that of the worst."""
    for file in options.load:
        load_file(file)
    judged = together(check_spread.judged(judge, options))
    if options.output == "json":
        document = {"format": FORMAT, "files": [document_of(one) for one in judged]}
        print(documents.text(document))
    elif options.output == "junit":
        cases = [
            check_foreign.case_of(one)
            if isinstance(one, Foreign)
            else junit.of_run(one.row, one.file)
            for one in judged
        ]
        print(junit.text("ddlsim check", "histories", cases))
    else:
        show(judged)
    outcomes = [
        one.report.outcome if isinstance(one, Foreign) else one.row.outcome for one in judged
    ]
    return worst(outcomes).exit_code


def judge(options: Options, file: str) -> Judged | Foreign:
    """One file, by what it is said to be, or looks like."""
    kind = inputs.kind_of(file) if options.input == "auto" else options.input
    if kind == "native":
        if options.model is not None:
            raise InputError(check_foreign.MODEL_OF_OTHERS.format(file))
        return judge_native(options, file)
    return check_foreign.judge(file, kind, options.model or DEFAULT)


def judge_native(options: Options, file: str) -> Judged:
    """One file, whatever its scenario says must be reached."""
    history = codec.load(file)
    row = row_of(
        history, strict=options.strict, all_claims=options.all_claims, known=findings.known()
    )
    strict = options.strict or history.header.strict
    return Judged(file, row, history.header.reaches, strict)


def together(judged: list[Judged | Foreign]) -> list[Judged | Foreign]:
    """A probe counts as reached when any history of its scenario has reached it."""
    found = list(judged)
    native = [(at, one) for at, one in enumerate(judged) if isinstance(one, Judged)]
    for scenario in dict.fromkeys(one.row.scenario for _, one in native):
        runs = [(at, one) for at, one in native if one.row.scenario == scenario]
        total = sum_of([one.row for _, one in runs], reaches=runs[0][1].reaches, expect="ok")
        for (at, one), row in zip(runs, total.runs, strict=True):
            found[at] = one._replace(row=row)
    return found


# --- as JSON -------------------------------------------------------------------------------------


def document_of(one: Judged | Foreign) -> dict[str, Any]:
    """One element of `files` in the shape `check` of the interface."""
    if isinstance(one, Foreign):
        return check_foreign.document_of(one)
    row = one.row
    broken = [
        (place, each) for place, each in enumerate(row.violations) if each.status == "violation"
    ]
    return {
        "file": one.file,
        "input": "native",
        "scenario": row.scenario,
        "seed": row.seed,
        "fingerprint": row.fingerprint,
        "outcome": row.outcome.word,
        "valid": VALID.get(row.outcome, True),
        "model": "strict" if one.strict else "relaxed",
        "anomalies": [_anomaly(each, row.arguments.get(place)) for place, each in broken],
        "violations": [documents.violation(each) for each in row.violations],
        "not": ruled_out(each for _, each in broken),
    }


def _anomaly(found: Violation, argument: str | None) -> dict[str, Any]:
    steps = [
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
    """The weakest models that a history cannot have, by the names of its anomalies."""
    models: dict[str, None] = {}
    for found in broken:
        name = names.plain(found.kind)
        timed = next((model for form, model in TIMED.items() if found.kind.endswith(form)), None)
        if name in MODELS:
            models[timed or MODELS[name]] = None
    return sorted(models)


# --- as text -------------------------------------------------------------------------------------


def show(judged: list[Judged | Foreign]) -> None:
    """A line for each file, then what was found, once for all of them."""
    from sim.cli import view, words

    to = words.console()
    for one in judged:
        if isinstance(one, Foreign):
            check_foreign.show(one, to)
            continue
        row = one.row
        design = row.strategy if row.mutant is None else f"{row.strategy} + {row.mutant}"
        what = f"{row.scenario}, seed {row.seed}, design {design}, fingerprint {row.fingerprint}"
        words.verdict(row.outcome, one.file, to)
        words.say(what, to, indent=words.INDENT)
    rows = [one.row for one in judged if isinstance(one, Judged)]
    view.findings(aggregate.found(rows), rows, to)
    view.troubles(rows, to)
