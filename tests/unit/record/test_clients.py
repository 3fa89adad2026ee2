"""How a client's transactions end, whatever the database answers."""

import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from ddlsim.history.recording import (
    FORMAT,
    HISTORY,
    STATEMENTS,
    Begun,
    Ended,
    Recording,
    Statement,
    record_of,
)
from ddlsim.record.client import Client, Tally, left_out
from ddlsim.record.dialects.base import Connection, Problem
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.errors import LOST, SERIALIZATION, class_of
from ddlsim.record.faults.base import FAULTS, Ground
from ddlsim.record.journal import Journal
from ddlsim.record.programs import Append, Program, Read
from ddlsim.record.shape import InUse, shape_of
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


@pytest.mark.parametrize("code", ["08000", "08006", "08007", "08P01", "40003"])
def test_a_commit_that_the_server_may_have_done_is_not_known(code: str, tmp_path: Path) -> None:
    database = Faulty("COMMIT", class_of("postgresql", code, ""))
    assert done(tmp_path, database, Program((WRITE,))) == [("info", LOST, 0)]


class Waits(threading.Event):
    """A recording that does not stop; it keeps how long its clients were to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        return False


def slowed(folder: Path, wait_s: float, seconds: float) -> tuple[list[str], Waits]:
    """The statements of a client that is slow for a time, and its waits."""
    stop = Waits()
    with closing(Journal(folder, HEAD)) as journal:
        client = Client(Faulty("", ""), "serializable", journal, Tally(), 0, 4)
        client.slow_down(wait_s, seconds, stop)
        client.work(iter([Program((READ, WRITE))]), stop)
    lines = [record_of(line) for line in (folder / STATEMENTS).read_bytes().splitlines()]
    return [one.sql.split()[0] for one in lines if isinstance(one, Statement)], stop


def test_a_slow_client_waits_before_each_statement(tmp_path: Path) -> None:
    sent, stop = slowed(tmp_path, 0.3, 3600.0)
    assert sent == ["BEGIN", "SELECT", "UPDATE", "COMMIT"]
    assert stop.seconds == [0.3] * 4


def test_a_client_is_slow_for_its_time_alone(tmp_path: Path) -> None:
    sent, stop = slowed(tmp_path, 0.3, 0.0)
    assert (len(sent), stop.seconds) == (4, [])


def test_slow_clients_are_drawn_from_the_seed(tmp_path: Path) -> None:
    database = Faulty("", "")
    with closing(Journal(tmp_path, HEAD)) as journal:
        clients = [
            Client(database, "serializable", journal, Tally(), number, 9) for number in range(9)
        ]
        shape = InUse(shape_of(8, 1, 1.0, 0))
        ground = Ground(database, clients, shape, threading.Event())
        fault = FAULTS.get("slow-clients")
        said = [fault.strike(ground, Random(seed)) for seed in [*range(40), *range(40)]]
    assert said[:40] == said[40:]
    words = re.compile(
        r"clients? (\d(?:, \d)?): waits? (\d+) ms before each statement, for (\d\.\d) s"
    )
    found = [words.fullmatch(one) for one in said]
    assert all(found)
    drawn = [(one[1].split(", "), int(one[2]), float(one[3])) for one in found if one]
    assert {number for numbers, _, _ in drawn for number in numbers} == set("012345678")
    assert {len(numbers) for numbers, _, _ in drawn} == {1, 2}
    assert all(50 <= wait <= 500 and 0.2 <= lasting <= 1.5 for _, wait, lasting in drawn)


def test_an_update_that_finds_no_row_fails_its_transaction(tmp_path: Path) -> None:
    found = done(tmp_path, Faulty("", "", count=0), Program((WRITE,)))
    assert found == [("fail", "no-row", 0)]


def test_a_read_has_the_columns_in_their_order_and_rows_that_are_gone(tmp_path: Path) -> None:
    done(tmp_path, Faulty("", ""), Program((Read(0, 1, 2),), alone=True))
    [_, ended] = (tmp_path / HISTORY).read_text().splitlines()
    assert "[:r 0 [0,2,1]] [:r 1 [0,3]] [:r 2 nil]" in ended


class Refusing(Faulty):
    """Admits so many connections, and none after them."""

    def __init__(self, admitted: int) -> None:
        super().__init__("", "")
        self.admitted = admitted

    def connect(self, isolation: str) -> Connection:
        if self.connections == self.admitted:
            raise sqlite3.OperationalError
        return super().connect(isolation)

    def problem(self, error: Exception) -> Problem | None:
        return Problem("", LOST, "too many clients")


@pytest.mark.parametrize(
    ("admitted", "notes"),
    [
        (6, []),
        (5, []),
        (4, ["1 client of 3 never had a connection (too many clients)"]),
        (0, ["3 clients of 3 never had a connection (too many clients)"]),
    ],
)
def test_a_note_tells_of_clients_that_never_had_a_connection(
    admitted: int, notes: list[str], tmp_path: Path
) -> None:
    """Each asks for two, one after the other: that which gets the first alone is none of them."""
    database = Refusing(admitted)
    fresh = [Program((READ,)), Program((READ,), fresh=True)]
    with closing(Journal(tmp_path, HEAD)) as journal:
        clients = [Client(database, "", journal, Tally(), number, 4) for number in range(3)]
        for client in clients:
            client.work(iter(fresh), Ends())
    found = left_out(clients)
    assert [one.partition(";")[0] for one in found] == notes


class Ends(threading.Event):
    """A recording that ends at the first wait."""

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        return True
