"""The judgement of a recording: the histories' own judge, with tables and SQL in its words."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.foreign import jepsen
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.foreign.report import Report, of_verdict
from ddlsim.history.recording import HISTORY, SPAN, Recording, head_of

LONGEST_HEAD: Final = 1 << 20


def judge(path: str, model: str | None) -> Report:
    """Judge the history beside a recording's statements, by a model, or by the one promised.

    Raises `ForeignError` where either file cannot be read.
    """
    head = head_at(path)
    history = named(jepsen.load(str(Path(path).with_name(HISTORY))), head.tables)
    judged = jepsen.judge(history, model or head.promise, path)
    ended = ", ".join(f"{count:,} {how}" for how, count in judged.counts.items() if count)
    facts = f"{head.server}, {head.isolation}, {head.workload}: {ended}"
    checked = (
        ("database", head.server), ("isolation", f"{head.isolation}; it says {head.says}"),
        ("transactions", ended), ("workload", head.workload),
    )  # fmt: skip
    more = {"workload": judged.workload, "transactions": judged.counts}
    return of_verdict(judged.verdict, history.name, facts, checked, more)


def head_at(path: str) -> Recording:
    """The first line of a recording; `ForeignError` if it cannot be read."""
    try:
        if (why := unfit(path, HISTORY_MOST)) is not None:
            raise ForeignError(path, 0, why)
        with Path(path).open("rb") as file:
            return head_of(file.readline(LONGEST_HEAD))
    except (OSError, msgspec.DecodeError) as error:
        raise ForeignError(path, 1, f"is no recording ({error}); record one anew") from None


def named(history: Transactions, tables: tuple[str, ...]) -> Transactions:
    """The same history; keys are called by their table and row."""
    return replace(history, keys=[name_of(key, tables) for key in history.keys])


def name_of(key: object, tables: tuple[str, ...]) -> str:
    """A key in words, written as a keyword: `:t1/columns`, `:t1/5`."""
    if not isinstance(key, int):
        return str(key)
    table, row = divmod(key, SPAN)
    name = tables[table] if 0 <= table < len(tables) else str(table)
    return f":{name}/{row or 'columns'}"
