"""What the histories' judge has found in a recording, with the SQL as it was sent.

Its arguments are about lists: which reads, appends and orders contradict each other. Here each
transaction of an argument comes with its statements, and so do those that appended the elements
about which two reads of a list disagree.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np
from msgspec import structs

from ddlsim.foreign.readers.operations import APPEND, NIL, READ
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.foreign.recording.sent import shown
from ddlsim.foreign.recording.words import tx_of
from ddlsim.graph.verdict import Anomaly
from ddlsim.history.recording import Statement

DISAGREE: Final = "incompatible-order"
OPERATIONS: Final = re.compile(r"^T\d+ = \[")
PLACE: Final = re.compile(r":(\w+)/(\d+|columns)\b")
WORD: Final = re.compile(r"\w+")
CONTROL: Final = re.compile(r"BEGIN|START TRANSACTION|COMMIT|ROLLBACK")
INSERTED: Final = re.compile(r"INSERT INTO \w+ VALUES")
LEFT_OUT: Final = "..."
"""Stands for statements that an argument is not about."""
Sent = dict[int, list[Statement]]


def parties(history: Transactions, one: Anomaly) -> tuple[int, ...]:
    """The transactions whose statements show an anomaly, in the order of the history."""
    more = _disputed(history, one.txns) if one.type == DISAGREE else ()
    return tuple(sorted({*one.txns, *more}))


def told(history: Transactions, one: Anomaly, numbers: Sequence[int], sent: Sent) -> Anomaly:
    """An anomaly whose argument has what these transactions sent, in the place of operations."""
    lines = [line for line in one.explanation.splitlines() if not OPERATIONS.match(line)]
    rows: dict[str, list[int]] = {}
    for table, row in sorted(set(PLACE.findall("\n".join(lines)))):
        rows.setdefault(table, []).append(int(row) if row.isdigit() else 0)
    for number in numbers:
        process = history.process[number]
        lines += ["", f"{history.name(number)} (process {process}) sent:"]
        lines += [f"  {text}" for text in _texts(sent.get(tx_of(history, number), ()), rows)]
    return replace(one, explanation="\n".join(lines))


def _texts(sent: Sequence[Statement], rows: dict[str, list[int]]) -> Iterator[str]:
    """The statements on these rows and on the columns of these tables; `...` for others."""
    before = ""
    for one in sent:
        text = _text(one, rows)
        if text != before:
            yield text
        before = text


def _text(one: Statement, rows: dict[str, list[int]]) -> str:
    """A statement with its answer; `...` where it is on other tables or rows."""
    words = {word for each in WORD.findall(one.sql) for word in (each, each.partition("_")[0])}
    about = [row for table, some in rows.items() if table in words for row in some]
    made = INSERTED.search(one.sql) is not None
    if CONTROL.match(one.sql):
        return one.sql if one.problem is None else shown(one)
    if not words & rows.keys() or (made and not any(f"({row}," in one.sql for row in about)):
        return LEFT_OUT
    if one.columns is not None and "v" not in one.columns:
        one = structs.replace(one, columns=None, rows=None)
    return shown(one, [row for row in about if row]).replace("\n", "\n  ")


def _disputed(history: Transactions, readers: Sequence[int]) -> set[int]:
    """The transactions that appended the first elements in which reads of a list differ."""
    lists: dict[int, list[list[Any]]] = {}
    for op in (op for number in readers for op in _reads(history, number)):
        lists.setdefault(int(history.key[op]), []).append(history.value(op))
    found: set[int] = set()
    for key, some in lists.items():
        elements = {one for pair in combinations(some, 2) for one in _first_differing(*pair)}
        found |= _appended(history, key, elements) if elements else set()
    return found


def _reads(history: Transactions, number: int) -> list[int]:
    ops = range(*history.ops_of(number))
    return [op for op in ops if history.kind[op] == READ and history.form[op] != NIL]


def _first_differing(one: list[Any], other: list[Any]) -> tuple[Any, ...]:
    return next(((a, b) for a, b in zip(one, other, strict=False) if a != b), ())


def _appended(history: Transactions, key: int, elements: set[Any]) -> set[int]:
    ops = np.flatnonzero((history.key == key) & (history.kind == APPEND))
    return {int(history.tx[op]) for op in ops.tolist() if history.value(op) in elements}
