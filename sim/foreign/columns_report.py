"""A history of columns (sim/graph/store.py) as the command line and its JSON want its verdict."""

from pathlib import Path

from ddlsim import files
from ddlsim.foreign.inputs import OUTCOMES, Report, looked_for
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.graph import judge as in_memory
from ddlsim.graph import store
from ddlsim.graph.history import HistoryError
from ddlsim.graph.verdict import Verdict


def judge(path: str, model: str) -> Report:
    """Read and judge a file; `ForeignError` if it is none, or its columns make no history."""
    if Path(path).exists() and (why := files.unfit(path, files.HISTORY_MOST)) is not None:
        raise ForeignError(path, 0, why)
    try:
        return report(in_memory.judge(store.read(Path(path)), model), path)
    except HistoryError as wrong:
        raise bad(path, wrong) from None


def bad(path: str, wrong: HistoryError) -> ForeignError:
    """What is wrong with a file, once with its name."""
    return ForeignError(path, 0, str(wrong).removeprefix(f"{path}: "))


def report(verdict: Verdict, path: str) -> Report:
    """A verdict as a report; the same for whoever has judged."""
    names = store.names(Path(path))
    data = verdict.as_data(names.transaction)
    fields = {
        "valid": data["valid"],
        "model": data["model"],
        "anomalies": data["anomalies"],
        "counts": data["counts"],
        "violations": [],
        "not": data["not"],
        "notes": data["notes"],
    }
    facts = f"{store.size(Path(path)):,} transactions as columns; model {verdict.model}"
    if verdict.ruled_out:
        facts += f"; not {', '.join(verdict.ruled_out)}"
    many = dict(verdict.counts)
    found = tuple(
        (_headline(one.type, many.pop(one.type, 0)), one.explanation) for one in verdict.anomalies
    )
    shown = {"order": "an order of all transactions", "components": "the components of the graph"}
    checked = (
        *looked_for(verdict.model),
        ("transactions", f"{store.size(Path(path)):,}"),
        ("shown by", shown.get(verdict.certificate, verdict.certificate or "the anomalies")),
    )
    return Report(OUTCOMES[verdict.valid], fields, facts, found, verdict.notes, checked)


def _headline(type_: str, count: int) -> str:
    """What was found; the first of its type tells how often."""
    return type_ if count < 2 else f"{type_}, {count:,} times"
