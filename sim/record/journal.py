"""The two files of a recording, written while it goes on.

Every line is one write to the system, so that a recorder that is killed loses nothing that a client
had an answer to. One lock orders the lines; their order is the order of real time.
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
    Statement,
    line_of,
)
from ddlsim.record.dialects.base import Problem
from ddlsim.record.programs import Operation

CLOCK: Final = "CLOCK_MONOTONIC of the recorder's machine (time.monotonic_ns)"
Shown = tuple[str, int, int | list[int] | None]
"""An operation with what was found."""


class Journal:
    """Writes what happens; used by all clients at once.

    Raises `WriteError` where the system refuses a write.
    """

    def __init__(self, folder: Path, head: Recording) -> None:
        self._lock = threading.Lock()
        self._index = 0
        self._waiting = b""
        self._places = [folder / name for name in (STATEMENTS, HISTORY)]
        try:
            self._lines, self._history = (place.open("xb", buffering=0) for place in self._places)
        except OSError as error:
            raise refused(folder, error) from error
        self._write(line_of(head))

    def begin(self, process: int, operations: Sequence[Operation]) -> int:
        """A transaction that is about to be sent; its number."""
        value = _value(operations)
        with self._lock:
            tx, at = self._index, now()
            self._index += 1
            self._put(self._history, _edn("invoke", value, process, at, tx))
            self._waiting += line_of(Begun(tx, at, process))
            return tx

    def statement(
        self,
        tx: int,
        at: int,
        sql: str,
        values: Sequence[Any] = (),
        *,
        columns: Sequence[str] | None = None,
        rows: Sequence[Sequence[Any]] | None = None,
        count: int | None = None,
        problem: Problem | None = None,
    ) -> None:
        """A statement that was sent at an instant, and has its answer now."""
        self._write(
            line_of(
                Statement(
                    tx, at, now(), sql, tuple(values),
                    None if columns is None else tuple(columns),
                    None if rows is None else tuple(map(tuple, rows)),
                    count, problem,
                )
            )
        )  # fmt: skip

    def end(
        self, tx: int, process: int, outcome: str, operations: Sequence[Shown], why: str = ""
    ) -> None:
        """The end of a transaction: `ok` with what it found, `fail` or `info`."""
        value = _value(operations)
        with self._lock:
            at, index = now(), self._index
            self._index += 1
            self._put(self._history, _edn(outcome, value, process, at, index))
            self._lined(line_of(Ended(tx, at, outcome, why, index)))

    def disturbed(self, what: str) -> None:
        """Something that was done to clients or to the server."""
        self._write(line_of(Disturbed(now(), what)))

    def close(self, last: AnyLine | None = None) -> None:
        """End both files, with a last line if the recording came to its end."""
        if last is not None:
            self._write(line_of(last))
        self._lines.close()
        self._history.close()

    def _write(self, line: bytes) -> None:
        with self._lock:
            self._lined(line)

    def _lined(self, line: bytes) -> None:
        """Write a line, behind those that wait: of what they say the history has a line already."""
        line, self._waiting = self._waiting + line, b""
        self._put(self._lines, line)

    def _put(self, file: Any, line: bytes) -> None:
        try:
            written = file.write(line)
            if written is not None and written < len(line):
                file.write(line[written:])
        except OSError as error:
            raise refused(self._places[0].parent, error) from error


def now() -> int:
    """Nanoseconds of the recording's clock."""
    return time.monotonic_ns()


def _value(operations: Sequence[Operation | Shown]) -> str:
    """Operations as EDN; a list is written as Python has it, where to EDN a comma is a space."""
    return " ".join(
        [f"[:{name} {key} {'nil' if found is None else found}]" for name, key, found in operations]
    )


def _edn(type_: str, value: str, process: int, at: int, index: int) -> bytes:
    return (
        f"{{:type :{type_}, :f :txn, :value [{value}], :process {process}, :time {at}, "
        f":index {index}}}\n"
    ).encode()
