"""The two files of a recording, written while it goes on.

The end of a transaction is written to the system before its client goes on, and before it all that
came before: so of a recorder that is killed, nothing that a transaction had shown or done is lost.
What is lost at most, and is no older than `OLDEST_NS`, are transactions under way that no other one
has seen the end of. One lock orders the lines; their order is the order of real time.
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ddlsim.files import refused
from ddlsim.history.recording import (
    HISTORY,
    STATEMENTS,
    AnyLine,
    Begun,
    Disturbed,
    Ended,
    Recording,
    Renewed,
    Statement,
    lines_of,
    told,
)
from ddlsim.record.dialects.base import Problem

CLOCK: Final = "CLOCK_MONOTONIC of the recorder's machine (time.monotonic_ns)"
OLDEST_NS: Final = 50_000_000
"""How long a line waits at most, while any statement is answered."""


class Journal:
    """Writes what happens; used by all clients at once.

    Raises `WriteError` where the system refuses a write.
    """

    def __init__(self, folder: Path, head: Recording) -> None:
        self._lock, self._files = threading.Lock(), threading.Lock()
        self._index = 0
        self._told: list[str] = []
        self._sent: list[AnyLine] = []
        self._written = 0
        self._statements: dict[int, int] = {}
        self._places = [folder / name for name in (STATEMENTS, HISTORY)]
        try:
            self._lines, self._history = (place.open("xb", buffering=0) for place in self._places)
        except OSError as error:
            raise refused(folder, error) from error
        self._write(head)

    def begin(self, process: int, asked: str) -> int:
        """A transaction that is about to be sent, its operations as EDN; its number."""
        with self._lock:
            tx, at = self._index, now()
            self._index += 1
            self._told.append(told("invoke", asked, process, at, tx))
            self._sent.append(Begun(tx, at, process))
            self._statements[tx] = 0
            return tx

    def statement(
        self,
        tx: int,
        at: int,
        sql: str,
        values: tuple[Any, ...] = (),
        *,
        columns: tuple[str, ...] | None = None,
        rows: Any = None,
        count: int | None = None,
        problem: Problem | None = None,
    ) -> None:
        """A statement that was sent at an instant, and has its answer now."""
        until = now()
        line = Statement(tx, at, until, sql, values, columns, rows, count, problem)
        with self._lock:
            self._sent.append(line)
            if tx in self._statements:  # a ROLLBACK is sent behind the end
                self._statements[tx] += 1
        if until - self._written > OLDEST_NS:
            self._flush(until)

    def end(self, tx: int, process: int, outcome: str, shown: str, why: str = "") -> None:
        """The end of a transaction: `ok` with what it found, `fail` or `info` with what it asked
        for.
        """
        with self._lock:
            at, index = now(), self._index
            self._index += 1
            self._told.append(told(outcome, shown, process, at, index))
            self._sent.append(Ended(tx, at, outcome, why, index, self._statements.pop(tx)))
        self._flush(at)

    def disturbed(self, what: str) -> None:
        """Something that was done to clients or to the server."""
        self._write(Disturbed(now(), what))

    def tables(self, first: int, names: Sequence[str]) -> None:
        """Tables that are about to be made; they are numbered from `first`."""
        with self._lock:
            at = now()
            self._sent.append(Renewed(at, first, tuple(names)))
        self._flush(at)

    def close(self, last: AnyLine | None = None) -> None:
        """End both files, with a last line if the recording came to its end; once is enough."""
        if self._lines.closed:
            return
        try:
            self._write(*(() if last is None else (last,)))
        finally:
            self._lines.close()
            self._history.close()

    def _write(self, *lines: AnyLine) -> None:
        with self._lock:
            self._sent += lines
        self._flush(now())

    def _flush(self, least: int) -> None:
        """Have all lines written that were made up to an instant, by whichever client.

        The history comes first: it may say more than the statements, not less.
        """
        with self._files:
            if self._written > least:
                return
            with self._lock:
                told, self._told, sent, self._sent = self._told, [], self._sent, []
                at = now()
            self._put(self._history, "".join(told).encode())
            self._put(self._lines, lines_of(sent))
            self._written = at

    def _put(self, file: Any, lines: bytes) -> None:
        try:
            while lines:
                lines = lines[file.write(lines) :]
        except OSError as error:
            raise refused(self._places[0].parent, error) from error


def now() -> int:
    """Nanoseconds of the recording's clock."""
    return time.monotonic_ns()
