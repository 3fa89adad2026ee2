"""Whether the two files of a recording tell of the same transactions.

A line of `history.edn` follows from those of its transaction in `recording.jsonl`: how it ended,
its process, time and index; and where it committed, its operations, from the statements that were
sent and their answers. So each line is made again, and only a number of it is kept. What a
rehearsal sends is its user's own, and what other databases and workloads than the recorder's send
is theirs: there operations are not made again.
"""

import re
from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.history.recording import (
    ADDED,
    HISTORY,
    Begun,
    Ended,
    Recording,
    Statement,
    key_of,
    told,
)

DATABASES: Final = ("duckdb", "mariadb", "postgresql", "sqlite")
WORKLOADS: Final = (
    "drop-create", "index", "rename-swap", "retype", "schema-append", "truncate",
)  # fmt: skip
"""Those whose statements are known."""

_READ: Final = re.compile(r"SELECT \* FROM (\w+) WHERE id <= (\d+) OR id BETWEEN ")
_UPDATE: Final = re.compile(r"UPDATE (\w+) SET .*\bv = .* WHERE id = \S+$")
_INSERT: Final = re.compile(r"INSERT INTO (\w+) \(id, x, v, c0\) VALUES ")
_FIRST: Final = re.compile(r"INSERT INTO (\w+) VALUES ")
_ROW: Final = re.compile(r"\((\d+), NULL, '(\d+)', 0\)")
_ALTER: Final = re.compile(r"ALTER TABLE (\w+) (?:.*, )?ADD COLUMN c(\d+) ")
_CREATE: Final = re.compile(
    r"CREATE TABLE (\w+?)(?:_new)? \(.*\bc(\d+) INTEGER(?: DEFAULT \d+)?\)$"
)
_PROCESS: Final = b", :process "


class _NoOperationError(Exception):
    """A statement with values or an answer that no recorder has for it."""


@dataclass(slots=True)
class _Told:
    """A transaction under way: its process, and its operations as far as they are made."""

    process: int
    operations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Agreed:
    """The lines of a history as they follow from those of a recording, made while these are read.

    `tables` are the names of all tables, which the reader of the lines adds to.
    """

    tables: list[str]
    _known: bool = False
    _open: dict[int, _Told] = field(default_factory=dict)
    _hashes: "array[int]" = field(default_factory=lambda: array("q"))
    _whole: bytearray = field(default_factory=bytearray)
    _lines: "array[int]" = field(default_factory=lambda: array("q"))
    _numbers: dict[str, int] = field(default_factory=dict)

    def head(self, one: Recording) -> None:
        """The first line says whose statements they are."""
        self._known = one.database in DATABASES and one.workload in WORKLOADS

    def begin(self, one: Begun, number: int) -> None:
        """A transaction that begins in a line."""
        self._open[one.tx] = _Told(one.process)
        self._add(told("invoke", "", one.process, one.at, one.tx), number, whole=False)

    def statement(self, one: Statement) -> None:
        """A statement of a transaction that is under way."""
        if self._known and one.problem is None and (tx := self._open.get(one.tx)) is not None:
            try:
                tx.operations += self._operations(one)
            except (_NoOperationError, ValueError, TypeError, IndexError):
                tx.operations.append(f"what {one.sql!r} did")

    def end(self, one: Ended, number: int) -> None:
        """The end of a transaction, in a line."""
        tx = self._open.pop(one.tx)
        whole = self._known and one.outcome == "ok"
        value = " ".join(tx.operations) if whole else ""
        self._add(told(one.outcome, value, tx.process, one.at, one.index), number, whole=whole)

    def _add(self, line: str, number: int, *, whole: bool) -> None:
        self._hashes.append(_hash(line.encode(), whole=whole))
        self._whole.append(whole)
        self._lines.append(number)

    def _operations(self, one: Statement) -> list[str]:
        """The operations of a statement, as the recorder's client writes them."""
        form, found = _form(one.sql)
        if form is None:
            return []
        table, values = self._number(found[0]), one.values
        if form is _READ:
            return self._read(one, table, int(found[1]))
        if form is _UPDATE:
            element, row = values[-2:]
            if one.count == 0 or not element.startswith(","):
                raise _NoOperationError
            return [f"[:append {key_of(table, row)} {int(element[1:])}]"]
        if form is _INSERT:
            row, _, element = values
            return [f"[:append {key_of(table, row)} {int(element)}]"]
        if form is _FIRST:
            rows = _ROW.findall(one.sql)
            return [f"[:append {key_of(table, int(row))} {int(v)}]" for row, v in rows]
        return [f"[:append {key_of(table)} {int(found[1])}]"]

    def _read(self, one: Statement, table: int, anchors: int) -> list[str]:
        columns, (low, high) = one.columns or (), one.values
        added, identity, value = _heading(columns)
        lists = {row[identity]: row[value] for row in one.rows or ()}
        schema, rows = _begun(table, anchors, low, high)
        shown = [f"{schema}{added}]"]
        for row, start in rows:
            text = lists.get(row)
            shown.append(f"{start}nil]" if text is None else f"{start}[{text}]]")
        return shown

    def _number(self, name: str) -> int:
        """The number of a table."""
        if len(self._numbers) != len(self.tables):
            self._numbers = {table: number for number, table in enumerate(self.tables)}
        if name not in self._numbers:
            raise _NoOperationError
        return self._numbers[name]

    def compare(self, lines: str, history: str, *, closed: bool) -> None:
        """Hold the history at a path against the lines at another; `ForeignError` for the first
        difference. It may say more, unless they are closed.
        """
        if (why := unfit(history, HISTORY_MOST)) is not None:
            raise ForeignError(history, 0, why)
        number, hashes, whole = 0, self._hashes, self._whole
        with Path(history).open("rb") as file:
            for line in file:
                if not line.endswith(b"\n") or number == len(hashes):
                    break
                if _hash(line, whole=bool(whole[number])) != hashes[number]:
                    self._differs(lines, history, number)
                number += 1
            else:
                return
        if closed and line.endswith(b"\n"):
            why = f"{Path(lines).name} has no transaction for it; {_REMEDY}"
            raise ForeignError(history, number + 1, why)

    def _differs(self, lines: str, history: str, number: int) -> None:
        what = "operations, process or time" if self._whole[number] else "process or time"
        why = f"other {what} than line {number + 1} of {Path(history).name}; {_REMEDY}"
        raise ForeignError(lines, self._lines[number], f"its transaction has {why}")


_REMEDY: Final = f"{HISTORY} and its recording are not of one piece: restore both, or record anew"


def _hash(line: bytes, *, whole: bool) -> int:
    """A number of a line of a history, or of all of it but its operations."""
    if whole:
        return hash(line)
    return hash(line[: line.find(b",")] + line[line.rfind(_PROCESS) :])


@lru_cache(maxsize=1_024)
def _form(sql: str) -> tuple[re.Pattern[str] | None, tuple[str, ...]]:
    """The form of a statement, and its table and number; clients repeat a few statements."""
    for form in (_READ, _UPDATE, _INSERT, _FIRST, _ALTER, _CREATE):
        if found := form.match(sql):
            return form, found.groups()
    return None, ()


@lru_cache(maxsize=256)
def _heading(columns: tuple[str, ...]) -> tuple[str, int, int]:
    """The columns that were added as a list, and the places of row and list."""
    added = [found[1] for name in columns if (found := ADDED.fullmatch(name))]
    return f"[{','.join(added)}]", columns.index("id"), columns.index("v")


@lru_cache(maxsize=256)
def _begun(
    table: int, anchors: int, low: int, high: int
) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The operations of a read up to the values that were found."""
    rows: tuple[Any, ...] = (*range(1, anchors + 1), *range(low, high + 1))
    return f"[:r {key_of(table)} ", tuple((row, f"[:r {key_of(table, row)} ") for row in rows)
