"""What SQLAlchemy sends and does not send, on connections of the recorder."""

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError, StatementError

from ddlsim.record import kept
from ddlsim.record.dialects.base import DATABASES, Connection, Database, RefusedError
from ddlsim.record.errors import UNDEFINED
from ddlsim.record.url import url_of


def opened(url: str) -> tuple[Database, Connection]:
    at = url_of(url)
    database = DATABASES.get(at.drivername)(at, prepared=False)
    return database, database.connect(next(iter(database.levels)))


def driven(connection: Connection) -> Any:
    """The connection of the driver."""
    return connection.connection.driver_connection


def test_nothing_is_sent_but_what_is_asked_for(tmp_path: Path) -> None:
    """Neither by a cursor of a client nor by SQLAlchemy, nor where the connection ends."""
    database, connection = opened(f"sqlite:///{tmp_path}/db")
    seen: list[str] = []
    driven(connection).set_trace_callback(seen.append)
    connection.exec_driver_sql("SELECT 1").all()
    database.cursor(connection).execute("BEGIN")
    connection.exec_driver_sql("CREATE TABLE t (id INTEGER)")
    connection.close()
    assert seen == ["SELECT 1", "BEGIN", "CREATE TABLE t (id INTEGER)"]
    _, other = opened(f"sqlite:///{tmp_path}/db")
    with other:
        assert other.exec_driver_sql("SELECT * FROM sqlite_master").all() == []


def test_a_lost_connection_has_no_other_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of each statement is the driver's: the client alone connects again."""
    database, connection = opened(f"sqlite:///{tmp_path}/db")
    first = driven(connection)
    monkeypatch.setattr(connection.dialect, "is_disconnect", lambda *_: True)
    for _ in range(2):
        with pytest.raises(DBAPIError) as caught:
            connection.exec_driver_sql("SELECT * FROM gone")
        problem = database.problem(caught.value)
        assert problem is not None
        assert problem.code == "SQLITE_ERROR"
    assert driven(connection) is first
    connection.close()


def test_what_another_thread_finds_closed_is_a_problem_and_no_defect(tmp_path: Path) -> None:
    database, connection = opened(f"sqlite:///{tmp_path}/db")
    connection.close()
    with pytest.raises(Exception, match="closed") as caught:
        database.cursor(connection)
    assert database.problem(caught.value) is not None
    assert database.problem(ValueError("closed")) is None


def test_an_error_shows_no_values_and_has_the_drivers_code(tmp_path: Path) -> None:
    database, connection = opened(f"sqlite:///{tmp_path}/db")
    with connection, pytest.raises(StatementError) as caught:
        connection.exec_driver_sql("SELECT * FROM gone WHERE id = ?", ("s3cr3t",))
    assert "s3cr3t" not in str(caught.value)
    problem = database.problem(caught.value)
    assert problem is not None
    assert problem == ("SQLITE_ERROR", UNDEFINED, "no such table: gone")


def test_a_connection_that_cannot_be_set_up_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Connection] = []

    def fails(connection: Connection, isolation: str) -> None:
        made.append(connection)
        raise OSError(isolation)

    at = url_of(f"sqlite:///{tmp_path}/db")
    database = DATABASES.get(at.drivername)(at, prepared=False)
    monkeypatch.setattr(database, "set_up", fails)
    with pytest.raises(OSError, match="serializable"):
        database.connect("serializable")
    assert [one.closed for one in made] == [True]


def test_the_pool_has_no_word_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a lost connection is closed; handlers of pytest are set aside."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    _, connection = opened(f"sqlite:///{tmp_path}/db")
    connection.close()
    logging.getLogger("sqlalchemy.pool").error("Exception closing connection")
    assert capsys.readouterr().err == ""


def test_the_keeper_of_a_schema_is_given_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(kept.Kept, "ask", lambda _, **what: asked.append(what))
    url = url_of("postgresql+psycopg://me:s%40crt@host/db?passfile=a+b&host=c")
    with kept.dropped(url, "schema", refuses):
        pass
    assert [url_of(one["url"]) for one in asked] == [url]
    assert url.password == "s@crt"


def refuses() -> None:
    raise RefusedError("no")


@pytest.mark.skipif(find_spec("psycopg") is None, reason="needs the extra real")
def test_the_keeper_of_a_schema_drops_what_the_recorder_could_not(tmp_path: Path) -> None:
    """Where this process has dropped it the keeper does not even connect, to no server here."""
    url = url_of(f"postgresql+psycopg://me@/db?host={tmp_path}")
    with kept.dropped(url, "schema", lambda: None):
        pass
    with pytest.raises(RefusedError, match="DROP SCHEMA failed"), kept.dropped(url, "s", refuses):
        pass
