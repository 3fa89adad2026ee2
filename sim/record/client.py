"""A client: it sends the statements of its programs and writes down every answer."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ddlsim.history.recording import ADDED
from ddlsim.record.dialects.base import Connection, Database, Problem
from ddlsim.record.errors import LOST, NO_ROW
from ddlsim.record.journal import Journal, now
from ddlsim.record.programs import (
    AddColumn,
    Append,
    NewTables,
    Pause,
    Program,
    Read,
    Step,
    UniqueIndex,
    begun,
    edn_of,
)
from ddlsim.record.shape import name_of

PATIENCE_S: Final = 0.05
"""How long a client waits before it connects again."""


class StatementError(Exception):
    """A statement that failed; the transaction is over."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class Tally:
    """How transactions ended, over all clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.ended: Counter[str] = Counter()
        self.why: Counter[str] = Counter()
        self.changes = 0

    def add(self, outcome: str, why: str, *, changed: bool) -> None:
        """One more."""
        with self._lock:
            self.ended[outcome] += 1
            self.changes += changed
            if why:
                self.why[why] += 1


class Client:
    """A session with a database; `number` is its place among `clients`.

    Its process is another one after each transaction whose outcome is not known, as in Jepsen.
    """

    def __init__(
        self,
        database: Database,
        isolation: str,
        journal: Journal,
        tally: Tally,
        number: int,
        clients: int,
    ) -> None:
        self._database, self._isolation, self._journal = database, isolation, journal
        self._tally = tally
        self._process, self._clients = number, clients
        self.connection: Connection | None = None
        self._tx = -1
        self._headings: dict[tuple[str, ...], tuple[str, int, int]] = {}
        self._slow: tuple[float, float, threading.Event] | None = None
        self._refused_by: Problem | None = None
        self._has_connected = False

    @property
    def left_out(self) -> Problem | None:
        """The error for which it never had a connection; None if it had one, or asked for none."""
        return None if self._has_connected else self._refused_by

    def slow_down(self, wait_s: float, seconds: float, stop: threading.Event) -> None:
        """Wait so long before each statement, for so many seconds or until the recording stops.

        It is called from another thread.
        """
        self._slow = wait_s, time.monotonic() + seconds, stop

    def work(self, programs: Iterator[Program], stop: threading.Event) -> None:
        """Do one program after the other until there is none, or it is to end."""
        try:
            for program in programs:
                if stop.wait(program.after_ms / 1000) if program.after_ms else stop.is_set():
                    return
                if program.fresh:
                    self.close()
                if self._connected(stop):
                    self._attempt(program, stop)
        finally:
            self.close()

    def close(self) -> None:
        """End the connection, however it is."""
        connection, self.connection = self.connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                if self._database.problem(error) is None:
                    raise

    def _connected(self, stop: threading.Event) -> bool:
        """Have a connection; False where the recording ends first."""
        while self.connection is None:
            try:
                self.connection = self._database.connect(self._isolation)
            except Exception as error:
                self._refused_by = self._database.problem(error)
                if self._refused_by is None:
                    raise
                if stop.wait(PATIENCE_S):
                    return False
            else:
                self._has_connected = True
        return True

    def _attempt(self, program: Program, stop: threading.Event) -> Problem | None:
        """Do a program; the error that ended it, if one did."""
        asked = program.asked
        self._tx = self._journal.begin(self._process, asked)
        shown: list[str] = []
        ending = program.alone and program.writes
        try:
            if not program.alone:
                self._send(self._database.begin(writes=program.writes))
            shown += [self._step(step, stop) for step in program.steps]
            if not program.alone:
                ending = True
                self._send("COMMIT")
        except StatementError as error:
            self._failed(asked, error.problem, ending=ending)
            return error.problem
        self._end("ok", " ".join(filter(None, shown)), changed=program.has_ddl)
        return None

    def _failed(self, asked: str, problem: Problem, *, ending: bool) -> None:
        """Nothing of it took effect, unless the connection was lost while it was to."""
        lost = problem.kind == LOST
        self._end("info" if lost and ending else "fail", asked, problem.kind)
        if lost:
            self.close()
            return
        try:
            self._send("ROLLBACK")
        except StatementError as error:
            if error.problem.kind == LOST or not self._is_idle():
                self.close()

    def _is_idle(self) -> bool:
        """Whether no transaction is open: a ROLLBACK fails where the database ended it itself."""
        try:
            self._send(self._database.begin(writes=False))
            self._send("ROLLBACK")
        except StatementError:
            return False
        return True

    def _end(self, outcome: str, shown: str, why: str = "", *, changed: bool = False) -> None:
        self._journal.end(self._tx, self._process, outcome, shown, why)
        self._tally.add(outcome, why, changed=changed)
        if outcome == "info":
            self._process += self._clients

    # --- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step, stop: threading.Event) -> str:
        """Do a step; its operations as Jepsen writes them, with what was found."""
        if isinstance(step, Pause):
            stop.wait(step.ms / 1000)
            return ""
        if isinstance(step, NewTables):
            self._make(step)
            return edn_of(step.operations)
        table = name_of(step.table)
        if isinstance(step, Read):
            return self._read(step, table)
        if isinstance(step, Append):
            self._append(step, table)
        elif isinstance(step, UniqueIndex):
            self._send(self._database.unique_index(table, step))
        else:
            self._change(step, table)
        return edn_of(step.operations)

    def _read(self, step: Read, table: str) -> str:
        columns, rows, _ = self._send(*self._database.read(table, step))
        if columns not in self._headings:
            self._headings[columns] = _heading(columns)
        added, identity, value = self._headings[columns]
        lists = {row[identity]: row[value] for row in rows}
        schema, rows_of = begun(step)
        shown = [f"{schema}{added}]"]
        for row, start in rows_of:
            text = lists.get(row)
            shown.append(f"{start}nil]" if text is None else f"{start}[{text}]]")
        return " ".join(shown)

    def _append(self, step: Append, table: str) -> None:
        wanted = self._database.insert_one if step.new else self._database.append
        if self._send(*wanted(table, step), changes=True)[2] == 0:
            text = f"row {step.row} of {table} was not found"
            raise StatementError(Problem("", NO_ROW, text))

    def _make(self, step: NewTables) -> None:
        for name in map(name_of, step.tables):
            self._send(self._database.create(name))
            for group in step.groups:
                self._send(self._database.insert(name, group))

    def _change(self, step: AddColumn, table: str) -> None:
        self._database.change(lambda sql: self._send(sql)[1], table, step)

    # --- statements ------------------------------------------------------------------------------

    def _send(
        self, sql: str, values: tuple[Any, ...] = (), *, changes: bool = False
    ) -> tuple[tuple[str, ...], Sequence[Sequence[Any]], int]:
        """Send a statement; its columns, its rows, and how many rows it changed, if it does."""
        if self._slow is not None:
            self._wait(*self._slow)
        at = now()
        assert self.connection is not None, "a client has a connection while it works"
        try:
            cursor = self._database.cursor(self.connection)
            cursor.execute(sql, values) if values else cursor.execute(sql)
            count = self._database.changed(cursor) if changes else 0
            columns, rows = ((), ()) if changes else _answer(cursor)
        except Exception as error:
            self._refused(error, at, sql, values)
            raise
        self._journal.statement(
            self._tx, at, sql, values,
            columns=columns or None, rows=rows if columns else None,
            count=count if changes else None,
        )  # fmt: skip
        return columns, rows, count

    def _wait(self, wait_s: float, until: float, stop: threading.Event) -> None:
        """Wait as a slow client does, as long as it is one."""
        if time.monotonic() < until:
            stop.wait(wait_s)
        else:
            self._slow = None

    def _refused(self, error: Exception, at: int, sql: str, values: tuple[Any, ...]) -> None:
        """Record an error of the database and end the transaction; any other is left as it is."""
        problem = self._database.problem(error)
        if problem is None:
            return
        self._journal.statement(self._tx, at, sql, values, problem=problem)
        raise StatementError(problem) from error


def left_out(clients: Sequence[Client]) -> list[str]:
    """A note on the clients that never had a connection, with the error of one; else none."""
    refused = [one.left_out for one in clients if one.left_out is not None]
    if not refused:
        return []
    were = "client" if len(refused) == 1 else "clients"
    why = f"{len(refused)} {were} of {len(clients)} never had a connection"
    return [f"{why} ({refused[0].text[:200]}); take fewer, or let the server admit more"]


def _answer(cursor: Any) -> tuple[tuple[str, ...], Sequence[Sequence[Any]]]:
    described = cursor.description
    if described is None:
        return (), ()
    return tuple([column[0] for column in described]), cursor.fetchall()


def _heading(columns: tuple[str, ...]) -> tuple[str, int, int]:
    """Of an answer's columns, those that were added as a list, and the places of row and list."""
    added = [found[1] for name in columns if (found := ADDED.fullmatch(name))]
    return f"[{','.join(added)}]", columns.index("id"), columns.index("v")
