"""Rehearsals on databases of an extra: real servers, real locks, nothing left behind."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ddlsim.extras import EXTRAS
from ddlsim.record import kept
from tests.support import mariadb
from tests.support.command import ROOT, ddlsim
from tests.support.forked import forked
from tests.support.json_schemas import wrong
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in EXTRAS["real"]), reason="needs the extra real"
)
Json = dict[str, Any]
SCHEMA = """
CREATE TABLE accounts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner varchar(40) NOT NULL, balance integer CHECK (balance >= 0),
    twice integer GENERATED ALWAYS AS (balance * 2) STORED);
CREATE TABLE notes (id integer PRIMARY KEY, account bigint NOT NULL REFERENCES accounts, text text);
"""
SHORT = ("--before", "0.3s", "--pause", "0.1s", "--after", "0.3s", "--rows", "30")
FEW = ("--clients", "2")


def rehearsed(
    folder: Path, url: str, migration: str, *words: str, code: int = 0, tables: str = SCHEMA
) -> Json:
    (folder / "schema.sql").write_text(tables)
    (folder / "migration.sql").write_text(migration)
    # DuckDB's library is kept out of this process: it complains at the end of one.
    call = forked if url.startswith("duckdb") else ddlsim
    done = call("rehearse", url, str(folder / "migration.sql"), "--output", "json", *SHORT, *words)
    assert done.code == code, done
    found: Json = json.loads(done.out)
    assert wrong("rehearse", found) == []
    return found


def test_a_lock_that_is_held_for_two_seconds_stalls_the_load_for_so_long(tmp_path: Path) -> None:
    """After it a column in use is dropped."""
    found = rehearsed(
        tmp_path,
        "postgresql:embedded",
        """
        BEGIN;
        LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE;
        SELECT pg_sleep(2);
        COMMIT;
        ALTER TABLE notes DROP COLUMN text;
        """,
        "--schema", str(tmp_path / "schema.sql"), "--max-stall-ms", "1000", code=1,
    )  # fmt: skip
    assert 1_800 < found["stall_ms"] < 2_600
    assert found["longest_before_ms"] < 1_000
    assert found["stalled"] == "accounts"
    held, dropped = found["statements"][2], found["statements"][4]
    assert 1_800 < held["stall_ms"] <= held["duration_ms"] < 2_600
    assert held["behind"] > 0
    assert held["effects"] == ["held up"]
    assert re.fullmatch(r"it held clients of accounts up for [\d,]+ ms", held["measured"])
    assert held["aborts"] == {}
    assert dropped["aborts"]["undefined"] > 0
    assert dropped["predicted"]["verdict"] == "abort"
    assert found["anomalies"] == []
    assert found["check"]["outcome"] == "ok"


def test_a_statement_that_gets_no_lock_in_time_is_refused(tmp_path: Path) -> None:
    """A transaction of the load keeps the table."""
    (tmp_path / "load.toml").write_text(
        'clients = 2\n[[transaction]]\npause_ms = 3000\nstatements = ["SELECT * FROM accounts", '
        '"SELECT * FROM accounts"]\n[[transaction]]\nweight = 30\n'
        'statements = ["SELECT * FROM accounts WHERE id = 1"]\n'
    )
    found = rehearsed(
        tmp_path, "postgresql:embedded", "ALTER TABLE accounts ADD COLUMN w integer",
        "--schema", str(tmp_path / "schema.sql"), "--load", str(tmp_path / "load.toml"),
        "--lock-timeout-ms", "600", "--before", "1s", code=3,
    )  # fmt: skip
    [one] = found["statements"]
    assert one["refused"]["kind"] == "lock-timeout"
    assert 300 < one["waited_ms"] < 1_500
    assert "SELECT * FROM accounts" in one["waited_for"]
    assert one["agreement"] == "differs"
    assert one["effects"][:1] == ["waited"]


def test_rows_of_a_table_that_is_written_anew_vanish_from_older_snapshots(tmp_path: Path) -> None:
    """As PostgreSQL's manual warns: clients that wait for its lock have one by then."""
    sql = """
        BEGIN;
        ALTER TABLE accounts ALTER owner TYPE text USING owner || '';
        SELECT pg_sleep(1);
        COMMIT
    """
    schema = ("--schema", str(tmp_path / "schema.sql"))
    level = ("--isolation", "repeatable-read")
    found = rehearsed(tmp_path, "postgresql:embedded", sql, *schema, *level, code=1)
    assert {(one["type"], one["table"]) for one in found["anomalies"]} == {
        ("vanished-rows", "accounts")
    }
    assert "PostgreSQL's manual, 13.6 Caveats" in found["anomalies"][0]["documented"]
    calm = rehearsed(tmp_path, "postgresql:embedded", sql, *schema)
    assert (calm["isolation"], calm["anomalies"]) == ("read-committed", [])


def test_the_structure_of_a_server_is_copied_and_its_own_database_left_alone(
    tmp_path: Path,
) -> None:
    import psycopg

    with kept.server() as server:
        url = f"postgresql+psycopg://postgres@/shop?host={server.socket}"
        where: dict[str, Any] = {"host": server.socket, "user": "postgres", "autocommit": True}

        def asked(sql: str, database: str = "shop") -> list[tuple[Any, ...]]:
            with psycopg.connect(**where, dbname=database) as connection:
                done = connection.execute(sql)
                return done.fetchall() if done.description else []

        def copies() -> list[tuple[Any, ...]]:
            return asked("SELECT datname FROM pg_database WHERE datname LIKE 'ddlsim%'", "postgres")

        asked("CREATE DATABASE shop", "postgres")
        asked(SCHEMA)
        asked("CREATE VIEW rich AS SELECT * FROM public.accounts WHERE balance > 9")
        asked("INSERT INTO accounts (owner, balance) VALUES ('me', 10)")
        added, dropped = "accounts ADD COLUMN w integer", "notes DROP COLUMN text"
        sql = f"ALTER TABLE public.{added}; ALTER TABLE public.{dropped}"
        found = rehearsed(tmp_path, url, sql, *FEW)
        assert (found["committed"] > 0, found["tables"]) == (True, ["accounts", "notes"])
        assert asked("SELECT * FROM accounts") == [(1, "me", 10, 20)]
        assert asked("SELECT id, account, text FROM notes") == []
        assert copies() == []
        for refused in ("DROP DATABASE shop", "ALTER ROLE postgres RENAME TO p", "COPY t TO 'f'"):
            (tmp_path / "bad.sql").write_text(refused)
            done = ddlsim("rehearse", url, str(tmp_path / "bad.sql"))
            assert (done.code, done.err.count("\n")) == (2, 1)
            assert "reaches beyond the copy" in done.err
        is_dropped_where_it_is_killed(url, tmp_path, copies)
        rehearsed(tmp_path, url, f"ALTER TABLE {added}", "--in-place", *FEW)
        assert len(asked("SELECT * FROM accounts")[0]) == 5


def is_dropped_where_it_is_killed(url: str, folder: Path, copies: Any) -> None:
    words = ["rehearse", url, str(folder / "migration.sql"), "--before", "60s"]
    folders = folder / "folders"
    folders.mkdir()
    begun = subprocess.Popen([sys.executable, "-m", "sim", *words], cwd=ROOT,
                             env={**os.environ, "TMPDIR": str(folders)})  # fmt: skip
    try:
        until(lambda: len(copies()) == 1 and any(folders.iterdir()), "the copy",
              lambda: begun.poll() is None)  # fmt: skip
    finally:
        begun.kill()
        begun.wait()
    until(lambda: copies() == [] and not any(folders.iterdir()), "the end of the copy")


def test_duckdb_refuses_what_conflicts_and_waits_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.db"
    sent = "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (1, 2)"
    made = f"import duckdb; duckdb.connect({str(file)!r}).execute({sent!r})"
    subprocess.run([sys.executable, "-c", made], check=True, stderr=subprocess.DEVNULL)
    before = file.read_bytes()
    sql = "ALTER TABLE t ADD COLUMN w INTEGER"
    found = rehearsed(tmp_path, f"duckdb:///{file}", sql)
    assert (found["statements"][0]["waited_ms"], found["tables"]) == (None, ["t"])
    assert found["check"]["model"] == "snapshot-isolation"
    assert file.read_bytes() == before


@pytest.mark.skipif(not mariadb.INSTALLED, reason="MariaDB is not installed")
def test_mariadb_copies_tables_and_drops_the_copy(tmp_path: Path) -> None:
    import pymysql

    with mariadb.server() as url:
        connection = pymysql.connect(
            unix_socket=url.partition("unix_socket=")[2], user="root", autocommit=True
        )
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("CREATE TABLE shop.a (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)")
            cursor.execute("CREATE TABLE shop.b (id INT PRIMARY KEY, a INT NOT NULL, "
                           "FOREIGN KEY (a) REFERENCES a (id))")  # fmt: skip
            of_shop = url.replace("localhost/", "localhost/shop")
            sql = "ALTER TABLE a MODIFY v VARCHAR(90); ALTER TABLE b ADD COLUMN w INT"
            found = rehearsed(tmp_path, of_shop, sql, *FEW)
            assert [one["ran"] for one in found["statements"]] == [True, True]
            assert found["committed"] > 0
            only_read = "b: its rows are read, not written: no column takes the load's values"
            assert found["notes"] == [only_read]
            cursor.execute("SELECT count(*) FROM shop.a")
            assert cursor.fetchall() == ((0,),)
            (tmp_path / "bad.sql").write_text("ALTER TABLE shop.a ADD COLUMN w INT")
            done = ddlsim("rehearse", of_shop, str(tmp_path / "bad.sql"))
            assert (done.code, done.err.count("\n")) == (2, 1)
            assert "SHOP.… reaches beyond the copy" in done.err
        assert mariadb.made_by_recorders(url) == []


CASCADE = """
CREATE TABLE accounts (id integer PRIMARY KEY, owner varchar(40) NOT NULL);
CREATE TABLE notes (id integer PRIMARY KEY, account integer NOT NULL, text varchar(40),
    FOREIGN KEY (account) REFERENCES accounts (id) ON DELETE CASCADE);
CREATE TABLE marks (id integer PRIMARY KEY, note integer NOT NULL, text varchar(40),
    FOREIGN KEY (note) REFERENCES notes (id) ON DELETE CASCADE);
"""
"""A deletion of accounts takes notes with it, and these take marks."""


def cascaded(folder: Path, url: str) -> None:
    """Rows that a foreign key deletes with others are not missed."""
    schema = ("--schema", str(folder / "schema.sql"))
    delete = "DELETE FROM accounts WHERE id <= 5"
    found = rehearsed(folder, url, delete, *schema, *FEW, tables=CASCADE)
    deleted = "{}: the migration deletes rows of it; none are missed".format
    assert {deleted("accounts"), deleted("notes"), deleted("marks")} <= set(found["notes"])
    assert (found["anomalies"], found["why"]) == ([], {})


def test_rows_that_go_with_others_in_postgresql_are_not_missed(tmp_path: Path) -> None:
    cascaded(tmp_path, "postgresql:embedded")


@pytest.mark.skipif(not mariadb.INSTALLED, reason="MariaDB is not installed")
def test_rows_that_go_with_others_in_mariadb_are_not_missed(tmp_path: Path) -> None:
    with mariadb.server() as url:
        cascaded(tmp_path, url)


def test_an_embedded_server_needs_a_schema(tmp_path: Path) -> None:
    (tmp_path / "migration.sql").write_text("SELECT 1")
    done = ddlsim("rehearse", "postgresql:embedded", str(tmp_path / "migration.sql"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "its server is empty; name --schema SCHEMA.sql" in done.err


def test_a_password_is_told_nowhere(tmp_path: Path) -> None:
    (tmp_path / "migration.sql").write_text("SELECT 1")
    url = f"postgresql+psycopg://me:secret@/db?host={tmp_path}"
    done = ddlsim("rehearse", url, str(tmp_path / "migration.sql"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "postgresql: CREATE DATABASE failed" in done.err
    assert "secret" not in done.err
