"""How a client's transactions end, whatever the database answers."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from ddlsim.history.recording import (
    FORMAT,
    HISTORY,
    STATEMENTS,
    Begun,
    Ended,
    Recording,
    record_of,
)
from ddlsim.record.client import Client, Tally
from ddlsim.record.dialects.base import Connection, Problem
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.errors import LOST, SERIALIZATION
from ddlsim.record.journal import Journal
from ddlsim.record.programs import Append, Program, Read
from ddlsim.record.url import url_of

HEAD = Recording(
    FORMAT, "test", "sqlite", "", "", {}, "serializable", "", "strict-serializable", "", "", 0, 2,
    0.0, False, False, ("t0",),
)  # fmt: skip
READ, WRITE = Read(0, 1, 1), Append(0, 1, 5)


class Faulty(Sqlite):
    """Answers each statement, once the one that begins with a word with an error of a class."""

    def __init__(self, word: str, kind: str, count: int = 1) -> None:
        super().__init__(url_of("sqlite:///none"), prepared=False)
        self.word, self.kind, self.count, self.connections = word, kind, count, 0
        self.description, self.rowcount = None, count

    def connect(self, isolation: str) -> Connection:
        self.connections += 1
        return cast(Connection, self)

    def cursor(self, connection: Connection) -> Any:
        return self

    def execute(self, sql: str, values: Any = ()) -> None:
        if self.word and sql.startswith(self.word):
            self.word = ""
            raise sqlite3.OperationalError
        reads = sql.startswith("SELECT")
        names = ("id", "x", "v", "c0", "c2", "c1")
        self.description = tuple((name,) for name in names) if reads else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [(1, None, "0,3", 0, 2, 1)]

    def problem(self, error: Exception) -> Problem | None:
        return Problem("", self.kind, "") if isinstance(error, sqlite3.Error) else None

    def close(self) -> None:
        pass


def done(folder: Path, database: Faulty, *programs: Program) -> list[tuple[str, str, int]]:
    """Outcome, reason and process of each transaction of a client."""
    with closing(Journal(folder, HEAD)) as journal:
        client = Client(database, "serializable", journal, Tally(), 0, 4)
        client.work(iter(programs), threading.Event())
    lines = [record_of(line) for line in (folder / STATEMENTS).read_bytes().splitlines()]
    processes = {one.tx: one.process for one in lines if isinstance(one, Begun)}
    return [(one.outcome, one.why, processes[one.tx]) for one in lines if isinstance(one, Ended)]


@pytest.mark.parametrize(
    ("word", "kind", "alone", "step", "ended"),
    [
        ("COMMIT", LOST, False, WRITE, ("info", LOST)),
        ("COMMIT", SERIALIZATION, False, WRITE, ("fail", SERIALIZATION)),
        ("UPDATE", LOST, False, WRITE, ("fail", LOST)),
        ("UPDATE", LOST, True, WRITE, ("info", LOST)),
        ("UPDATE", SERIALIZATION, True, WRITE, ("fail", SERIALIZATION)),
        ("SELECT", LOST, True, READ, ("fail", LOST)),
        ("", LOST, False, WRITE, ("ok", "")),
    ],
)
def test_only_a_commit_that_was_lost_is_not_known(
    word: str, kind: str, alone: bool, step: Any, ended: tuple[str, str], tmp_path: Path
) -> None:
    """After one the client is another process; after a lost connection it has another one."""
    database = Faulty(word, kind)
    program = Program((step,), alone=alone)
    second = ("ok", "", 4 if ended[0] == "info" else 0)
    assert done(tmp_path, database, program, program) == [(*ended, 0), second]
    assert database.connections == (2 if ended[1] == LOST else 1)


def test_an_update_that_finds_no_row_fails_its_transaction(tmp_path: Path) -> None:
    found = done(tmp_path, Faulty("", "", count=0), Program((WRITE,)))
    assert found == [("fail", "no-row", 0)]


def test_a_read_has_the_columns_in_their_order_and_rows_that_are_gone(tmp_path: Path) -> None:
    done(tmp_path, Faulty("", ""), Program((Read(0, 1, 2),), alone=True))
    [_, ended] = (tmp_path / HISTORY).read_text().splitlines()
    assert "[:r 0 [0,2,1]] [:r 1 [0,3]] [:r 2 nil]" in ended
