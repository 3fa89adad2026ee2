"""Whether the two files of a recording are as a recorder leaves them, and belong together.

Invocations and completions were numbered together, one by one, so in either file no number is
missing, doubled or out of its turn; and each line of the history follows from those of the
statements (`agreed.py`). A recorder that was killed leaves the beginning of both files:
of a last line that has no end nothing had been answered, and the history may say more than the
statements. Anything else is a damaged file; `ForeignError` has the first line that does not fit.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from ddlsim.files import HISTORY_MOST, unfit
from ddlsim.foreign import jepsen
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.foreign.recording.agreed import Agreed
from ddlsim.foreign.repeated import repeated
from ddlsim.graph.history import ABORTED, COMMITTED, UNKNOWN
from ddlsim.history.recording import (
    AnyLine,
    Begun,
    Closed,
    Disturbed,
    Ended,
    Recording,
    Renewed,
    Statement,
    asking_for_found,
    record_of,
)

STATUS: Final = {"ok": COMMITTED, "fail": ABORTED, "info": UNKNOWN}
KILLED: Final = "the recording did not come to its end: its recorder was killed, or its files cut"


class _WrongLineError(Exception):
    """A line that does not fit those before it; the message says why."""


@dataclass(slots=True)
class _Open:
    """The last transaction of a process: its number, the last instant of a line of it, and how many
    statements there were.
    """

    tx: int
    at: int
    outcome: str = ""
    statements: int = 0


@dataclass(slots=True)
class Lines:
    """The lines of `recording.jsonl`, looked at while they are read, once.

    Afterwards `tables` has the names of all tables by their numbers, `ended` the transactions with
    a completion, `completions` the index of each one, and `outcomes` how it ended; `closed` says
    whether the recording came to its end.
    """

    path: str
    closed: bool = False
    tables: list[str] = field(default_factory=list)
    ended: "array[int]" = field(default_factory=lambda: array("q"))
    completions: "array[int]" = field(default_factory=lambda: array("q"))
    outcomes: "array[int]" = field(default_factory=lambda: array("b"))
    lines: "array[int]" = field(default_factory=lambda: array("q"))
    _next: int = 0
    _at: int = 0
    _disturbed: int = -1
    _of_process: dict[int, _Open] = field(default_factory=dict)
    _open: dict[int, _Open] = field(default_factory=dict)
    agreed: Agreed = field(init=False)

    def __post_init__(self) -> None:
        self.agreed = Agreed(self.tables)

    def __iter__(self) -> Iterator[AnyLine]:
        """Every line; `ForeignError` for the first that is damaged."""
        if (why := unfit(self.path, HISTORY_MOST)) is not None:
            raise ForeignError(self.path, 0, why)
        number = 0
        try:
            with Path(self.path).open("rb") as file:
                for line in file:
                    number += 1
                    if not line.endswith(b"\n") and number > 1:
                        return
                    one = record_of(line)
                    self._look(one, line, number)
                    yield one
        except (OSError, msgspec.DecodeError) as error:
            raise ForeignError(self.path, number, f"no line of a recording ({error})") from None
        except _WrongLineError as error:
            raise ForeignError(self.path, number, f"{error}; the file is damaged") from None

    def _look(self, one: AnyLine, line: bytes, number: int) -> None:
        if (key := repeated(line)) is not None:
            raise _WrongLineError(f"the key {key!r} stands there twice")
        if self.closed:
            raise _WrongLineError("a line behind the last one")
        if isinstance(one, Recording) is not (number == 1):
            raise _WrongLineError("the head is not the first line, or not the only one")
        if isinstance(one, Recording):
            self.tables += one.tables
            self.agreed.head(one)
        elif isinstance(one, Statement):
            self._statement(one)
        elif isinstance(one, Begun):
            self._begin(one)
            self.agreed.begin(one, number)
        elif isinstance(one, Ended):
            self._end(one, number)
        elif isinstance(one, Renewed):
            self._renewed(one)
        elif isinstance(one, Disturbed):
            self._disturb(one)
        self.closed = isinstance(one, Closed)

    def _begin(self, one: Begun) -> None:
        self._in_turn(one.tx, one.at)
        before = self._of_process.get(one.process)
        if before is not None:
            if not before.outcome:
                raise _WrongLineError(f"process {one.process} had not ended {before.tx}")
            del self._open[before.tx]
        self._of_process[one.process] = self._open[one.tx] = _Open(one.tx, one.at)

    def _disturb(self, one: Disturbed) -> None:
        if one.at <= self._disturbed:
            raise _WrongLineError("a fault that is out of its turn")
        self._disturbed = one.at

    def _renewed(self, one: Renewed) -> None:
        if one.first != len(self.tables) or one.at < self._at:
            raise _WrongLineError("new tables that are out of their turn")
        self._at = one.at
        self.tables += one.names

    def _in_turn(self, index: int, at: int) -> None:
        if index != self._next:
            raise _WrongLineError(f"number {index} stands where {self._next} was to come")
        if at < self._at:
            raise _WrongLineError("its time is before that of the number before it")
        self._next, self._at = index + 1, at

    def _statement(self, one: Statement) -> None:
        tx = self._open.get(one.tx)
        if tx is None or tx.outcome == "ok":
            raise _WrongLineError(f"a statement of transaction {one.tx}, which is not under way")
        if one.at < tx.at or one.until < one.at:
            raise _WrongLineError("a statement that is out of its turn")
        tx.at = one.until
        tx.statements += 1
        self.agreed.statement(one)
        if (one.columns is None) is not (one.rows is None):
            raise _WrongLineError("an answer with columns or rows alone")
        width = len(one.columns or ())
        if any(len(row) != width for row in one.rows or ()):
            raise _WrongLineError("a row that does not have the answer's columns")

    def _end(self, one: Ended, number: int) -> None:
        self._in_turn(one.index, one.at)
        tx = self._open.get(one.tx)
        if tx is None or tx.outcome or one.at < tx.at:
            raise _WrongLineError(f"the end of transaction {one.tx}, which is not under way")
        if one.outcome not in STATUS:
            raise _WrongLineError(f"an end that is {one.outcome!r}")
        if one.statements not in (None, tx.statements):
            lack = f"{tx.statements} of the {one.statements} statements of transaction {one.tx}"
            raise _WrongLineError(f"{lack} are there")
        tx.outcome, tx.at = one.outcome, one.at
        self.ended.append(one.tx)
        self.completions.append(one.index)
        self.outcomes.append(STATUS[one.outcome])
        self.lines.append(number)
        self.agreed.end(one, number)


def history_at(path: str, *, unmatched: bool = False) -> Transactions:
    """The history of a recording; `ForeignError` unless it is as a recorder leaves it.

    `unmatched`: it is that of a rehearsal that did not come to its end, whose invocations have
    reads that found nothing.
    """
    try:
        why = unfit(path, HISTORY_MOST)
        if why is None and not Path(path).stat().st_size:
            why = "has no transactions; record anew"
        mapped = None
        if why is None:
            with Path(path).open("rb") as file:
                mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ForeignError(path, 0, f"cannot be read ({error}); record anew") from None
    if mapped is None:
        raise ForeignError(path, 0, why or "cannot be read")
    with mapped as data:
        end = data.rfind(b"\n") + 1
        text = data if end == len(data) else data[:end]
        history = jepsen.parse(_matched(data[:end]) if unmatched else text, path)
    for trouble in history.troubles:
        raise ForeignError(path, trouble.line, f"{trouble.what}; the file is damaged")
    wrong = np.flatnonzero(history.indices != np.arange(len(history.indices)))
    if len(wrong):
        at = int(wrong[0])
        found = f"index {history.indices[at]} stands where {at} was to come"
        raise ForeignError(path, int(history.lines[at]), f"{found}; the file is damaged")
    return history


def _matched(text: bytes) -> bytes:
    """The text of a history as the end of a rehearsal would have left it."""
    lines = asking_for_found(text.decode("utf-8", "surrogateescape").splitlines())
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def compare(lines: Lines, history: Transactions, path: str) -> None:
    """Hold the completions of a recording, whose lines were all read, against its history at a
    path; `ForeignError` for the first that the other one does not have.
    """
    tx, index = (np.frombuffer(one, np.int64) for one in (lines.ended, lines.completions))
    outcome = np.frombuffer(lines.outcomes, np.int8)
    number = np.minimum(np.searchsorted(history.begin, tx), max(len(history) - 1, 0))
    fits = history.begin[number] == tx
    fits &= (history.entry[number] == index) & (history.status[number] == outcome)
    if not fits.all():
        at = int(np.flatnonzero(~fits)[0])
        why = f"transaction {tx[at]} has not this end in {Path(path).name}; a file is damaged"
        raise ForeignError(lines.path, lines.lines[at], why)
    completed = np.flatnonzero(history.entry != history.begin)
    if lines.closed and len(completed) > len(tx):
        more = completed[~np.isin(history.begin[completed], tx)]
        at = int(history.lines[history.entry[more[0]]])
        raise ForeignError(path, at, f"{Path(lines.path).name} lacks this end; a file is damaged")
    lines.agreed.compare(lines.path, path, closed=lines.closed)
