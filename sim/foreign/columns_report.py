"""A history in columns (sim/graph/store.py) read, judged and reported."""

from pathlib import Path

from ddlsim import files
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.report import Report, of_verdict
from ddlsim.graph import judge as in_memory
from ddlsim.graph import store
from ddlsim.graph.history import HistoryError
from ddlsim.graph.verdict import Verdict

SHOWN_BY = {"order": "an order of all transactions", "components": "the components of the graph"}


def judge(path: str, model: str, *, strict: bool = False) -> Report:
    """Read and judge a file, `strict` with what only the strict graph has; `ForeignError` if it is
    none, or its columns make no history."""
    if Path(path).exists() and (why := files.unfit(path, files.HISTORY_MOST)) is not None:
        raise ForeignError(path, 0, why)
    try:
        verdict = in_memory.judge(store.read(Path(path)), model, strict=strict)
        return report(verdict, path, strict=strict)
    except HistoryError as wrong:
        raise bad(path, wrong) from None


def bad(path: str, wrong: HistoryError) -> ForeignError:
    """What is wrong with a file, with its name once."""
    return ForeignError(path, 0, str(wrong).removeprefix(f"{path}: "))


def report(verdict: Verdict, path: str, *, strict: bool = False) -> Report:
    """The report of a verdict on a file, whether it was judged here or on Spark."""
    size = f"{store.size(Path(path)):,}"
    shown = SHOWN_BY.get(verdict.certificate, verdict.certificate or "the anomalies")
    names = store.names(Path(path)).transaction
    facts = f"{size} transactions as columns" + (", strict" if strict else "")
    return of_verdict(verdict, names, facts, (("transactions", size), ("shown by", shown)))
