"""Recordings of databases of an extra: real servers, real anomalies, nothing left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cli.flags.record import DISTURBED
from ddlsim.extras import EXTRAS
from ddlsim.history.recording import (
    HISTORY,
    SPAN,
    STATEMENTS,
    Disturbed,
    Ended,
    Statement,
    head_of,
    record_of,
)
from ddlsim.record import kept
from ddlsim.record.errors import LOST
from tests.support import mariadb
from tests.support.command import ROOT, ddlsim
from tests.support.forked import forked
from tests.support.json_schemas import wrong
from tests.support.recordings import lines_at, lists, put
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in EXTRAS["real"]), reason="needs the extra real"
)
Json = dict[str, Any]
MANY = ("--transactions", "150", "--ddl-rate", "60", "--clients", "4")


def recorded(url: str, out: Path, *words: str) -> Json:
    # DuckDB's library is kept out of this process: it complains at the end of one.
    call = forked if url.startswith("duckdb") else ddlsim
    done = call("record", url, "--out", str(out), "--output", "json", *MANY, *words)
    assert done.code in (0, 1), done
    found: Json = json.loads(done.out)
    assert wrong("record", found) == []
    return found


def showing(
    type_: str, folder: Path, *words: str, url: str = "postgresql:embedded"
) -> tuple[Path, Json]:
    """A recording that shows an anomaly: the order of statements is the server's."""
    for attempt in range(5):
        out = folder / str(attempt)
        found = recorded(url, out, *words)
        if type_ in found["check"]["counts"]:
            return out, found
    pytest.fail(f"none of five recordings shows {type_}")


@pytest.fixture(scope="module")
def serializable(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """A recording at SERIALIZABLE while tables are written anew."""
    folder = tmp_path_factory.mktemp("postgresql")
    return showing("vanished-rows", folder, "--workload", "retype")


@pytest.fixture(scope="module")
def read_committed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """A recording at READ COMMITTED; no statement is prepared."""
    out = tmp_path_factory.mktemp("postgresql") / "out"
    return out, recorded("postgresql:embedded", out, "--isolation", "read-committed")


def test_postgresql_shows_empty_tables_at_serializable(serializable: tuple[Path, Json]) -> None:
    out, found = serializable
    assert (found["isolation"], found["says"]) == ("serializable", "serializable")
    assert (found["check"]["outcome"], found["check"]["model"]) == ("violated", "serializable")
    said = " ".join(ddlsim("check", str(out)).out.split())
    assert "did not find row" in said
    assert "0 rows; row 1: absent" in said
    assert "PostgreSQL's manual, 13.6 Caveats: TRUNCATE" in said


def test_postgresql_shows_columns_before_their_rows_at_repeatable_read(tmp_path: Path) -> None:
    out, found = showing("future-column", tmp_path, "--isolation", "repeatable-read")
    assert (found["says"], found["check"]["model"]) == ("repeatable read", "snapshot-isolation")
    said = " ".join(ddlsim("check", str(out)).out.split())
    assert "was shown column c" in said
    assert "ADD COLUMN c" in said
    assert "PostgreSQL's manual, 13.6 Caveats: access to the system catalogs" in said


def test_rows_that_are_called_gone_are_in_no_answer(serializable: tuple[Path, Json]) -> None:
    """The argument is held against the statements as they were recorded."""
    out, found = serializable
    lines = [record_of(line) for line in (out / STATEMENTS).read_bytes().splitlines()]
    readers = {one.index: one.tx for one in lines if isinstance(one, Ended)}
    empty = {one.tx for one in lines if isinstance(one, Statement) and one.rows == ()}
    gone = [one for one in found["check"]["anomalies"] if one["type"] == "vanished-rows"]
    assert gone
    assert {readers[int(one["txns"][1][1:])] for one in gone} <= empty


def test_read_committed_shows_what_it_may(read_committed: tuple[Path, Json]) -> None:
    _, found = read_committed
    assert (found["says"], found["check"]["outcome"]) == ("read committed", "ok")


def test_duckdb_keeps_snapshots_of_schema_and_rows(tmp_path: Path) -> None:
    found = recorded(f"duckdb:///{tmp_path}/db", tmp_path / "out", "--workload", "retype")
    assert (found["check"]["outcome"], found["check"]["model"]) == ("ok", "snapshot-isolation")
    assert found["changes"] > 0


def test_plans_that_a_column_makes_unfit_are_a_class_of_failures(
    tmp_path: Path, read_committed: tuple[Path, Json]
) -> None:
    """PostgreSQL plans a prepared SELECT for its columns: 0A000, cached plan must not change."""
    words = ("--isolation", "read-committed", "--prepared")
    here = tmp_path / "out", recorded("postgresql:embedded", tmp_path / "out", *words)
    for (out, found), prepared in ((here, True), (read_committed, False)):
        assert found["check"]["outcome"] == "ok"
        assert (found["why"].get("cached-plan", 0) > 0) is prepared
        lines = [record_of(line) for line in (out / STATEMENTS).read_bytes().splitlines()]
        said = {one.problem[2] for one in lines if isinstance(one, Statement) and one.problem}
        assert any("cached plan must not change" in text for text in said) is prepared


def test_duckdb_plans_prepared_statements_anew(tmp_path: Path) -> None:
    url = f"duckdb:///{tmp_path}/db"
    found = recorded(url, tmp_path / "out", "--workload", "drop-create", "--prepared")
    assert "cached-plan" not in found["why"]
    assert found["changes"] > 0


def test_postgresql_keeps_unique_indexes(tmp_path: Path) -> None:
    found = with_unique_indexes_kept("postgresql:embedded", tmp_path / "out")
    assert found["check"]["outcome"] == "ok"


def test_duckdb_keeps_unique_indexes(tmp_path: Path) -> None:
    """The index alone: DuckDB 2.0.0 has once lost an UPDATE, acknowledged with its COMMIT, of a
    transaction that began before an index of the table was created and dropped."""
    with_unique_indexes_kept(f"duckdb:///{tmp_path}/db", tmp_path / "out")


def with_unique_indexes_kept(url: str, out: Path) -> Json:
    found = recorded(url, out, "--workload", "index")
    types = {one["type"] for one in found["check"]["anomalies"]}
    assert "duplicate-under-unique" not in types
    assert found["changes"] > 0
    assert found["why"]["unique-violation"] > 0
    assert any(note.startswith("unique indexes:") for note in found["check"]["notes"])
    return found


@pytest.fixture
def folders() -> Iterator[Path]:
    """A folder for temporary files that any account may enter, as the server's may be another."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def killed(out: Path, url: str, **variables: str) -> Iterator[None]:
    """A recorder that works within the block, and is killed at the end of it."""
    recorder = subprocess.Popen(
        [sys.executable, "-m", "sim", "record", url, "--out", str(out), "--time", "60s"],
        cwd=ROOT, stdout=subprocess.DEVNULL, env={**os.environ, **variables},
    )  # fmt: skip
    try:
        history = out / HISTORY
        until(lambda: history.is_file() and history.stat().st_size > 20_000, "transactions",
              lambda: recorder.poll() is None or pytest.fail("the recorder has ended"))  # fmt: skip
        yield
    finally:
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_recorder_that_is_killed_leaves_no_server_and_a_history(
    tmp_path: Path, folders: Path
) -> None:
    out = tmp_path / "out"
    with killed(out, "postgresql:embedded", TMPDIR=str(folders)):
        [place] = folders.iterdir()
        server = Path("/proc", (place / "data" / "postmaster.pid").read_text().split()[0])
        assert server.exists()
    until(lambda: not server.exists() and not any(folders.iterdir()), "the end of the server")
    [file] = json.loads(ddlsim("check", str(out), "--output", "json").out)["files"]
    assert file["transactions"]["committed"] > 0


def test_a_schema_on_a_server_that_goes_on_is_dropped(tmp_path: Path) -> None:
    import psycopg

    with kept.server() as server:
        url = f"postgresql+psycopg://postgres@/postgres?host={server.socket}"

        def schemas() -> list[tuple[str]]:
            with psycopg.connect(host=server.socket, user="postgres") as connection:
                found = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ddlsim%'"
                return connection.execute(found).fetchall()

        recorded(url, tmp_path / "ended")
        assert schemas() == []
        with killed(tmp_path / "killed", url):
            assert len(schemas()) == 1
        until(lambda: schemas() == [], "the end of the schema")


def test_a_password_is_in_no_file_and_on_no_screen(tmp_path: Path) -> None:
    """The server takes any; a `passfile` is a secret, too. The second rehearsal is refused."""
    schema, migration = tmp_path / "schema.sql", tmp_path / "migration.sql"
    schema.write_text("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    migration.write_text("ALTER TABLE t ADD COLUMN w TEXT DEFAULT '10 %'; DROP TABLE gone")
    brief = ("--schema", str(schema), "--before", "0.2s", "--after", "0.2s")
    with kept.server() as server:
        urls = [
            f"postgresql+psycopg://postgres:s3cr%2ft@/{name}?host={server.socket}&passfile=/s3cr/t"
            for name in ("postgres", "none")
        ]
        words = ("--fault", "backend-terminated", *MANY)
        done = [forked("record", urls[0], "--out", f"{tmp_path}/recorded", *words)]
        for url, out in zip(urls, ("rehearsed", "refused"), strict=True):
            words = ("--out", f"{tmp_path}/{out}", *brief)
            done.append(forked("rehearse", url, str(migration), *words))
    assert done[0].code in (0, 1), done
    assert [one.code for one in done[1:]] == [3, 2], done
    statements = json.loads((tmp_path / "rehearsed" / "rehearsal.json").read_text())["statements"]
    assert [bool(one["refused"]) for one in statements] == [False, True]  # % is no mark
    written = [one.read_text() for one in tmp_path.glob("*/*")]
    assert len(written) == 6
    assert [text for text in (*written, *map(str, done)) if "s3cr" in text] == []


def test_what_was_acknowledged_survives_every_fault(tmp_path: Path) -> None:
    faults = [word for name in DISTURBED for word in ("--fault", name)]
    words = ("--isolation", "read-committed", "--transactions", "900", *faults)
    found = recorded("postgresql:embedded", tmp_path / "out", *words)
    assert found["check"]["outcome"] == "ok"
    lines = [record_of(line) for line in (tmp_path / "out" / STATEMENTS).read_bytes().splitlines()]
    assert any(isinstance(one, Disturbed) for one in lines)


def test_a_commit_that_a_restart_has_lost_is_found(
    tmp_path: Path, read_committed: tuple[Path, Json]
) -> None:
    """A planted fault: an append that was acknowledged and read is in no later read."""
    out = tmp_path / "out"
    shutil.copytree(read_committed[0], out)
    lines = (out / HISTORY).read_text().splitlines()
    shown = [re.findall(r"\[:r (\d+) \[0,(\d+)", line) if ":ok" in line else [] for line in lines]
    keys = Counter(pair for pairs in shown for pair in pairs)
    # the first key of a table is the list of its columns, of which no row has anything
    (key, element) = next(pair for pair, _ in keys.most_common() if int(pair[0]) % SPAN)
    first = next(at for at, pairs in enumerate(shown) if (key, element) in pairs)
    gone = re.compile(rf"(\[:r {key} \[0),{element}\b")
    (out / HISTORY).write_text("\n".join([*lines[: first + 1], *(gone.sub(r"\1", line)
                                          for line in lines[first + 1 :]), ""]))  # fmt: skip
    sent = lines_at(out / STATEMENTS)
    for row in lists(sent, int(key), range(first + 1, len(lines))):
        row[2] = re.sub(rf"^0,{element}\b", "0", row[2])
    put(out / STATEMENTS, sent)
    [file] = json.loads(ddlsim("check", str(out), "--output", "json").out)["files"]
    assert file["outcome"] == "violated"
    assert "incompatible-order" in file["counts"]


@pytest.mark.skipif(not mariadb.INSTALLED, reason="MariaDB is not installed")
def test_mariadb_shows_a_column_before_what_its_client_had_written(tmp_path: Path) -> None:
    session = "strong-session-snapshot-isolation"
    with mariadb.server() as url:
        words = ("--isolation", "repeatable-read", "--model", session)
        out, found = showing("future-column", tmp_path, *words, url=url)
        index = with_unique_indexes_kept(url, tmp_path / "index")
        assert index["check"]["outcome"] == "ok"
        prepares_at_the_server(url, tmp_path / "prepared")
        keeps_what_it_acknowledged(url, tmp_path / "disturbed")
        assert mariadb.made_by_recorders(url) == []
    assert (found["says"], found["promise"]) == ("repeatable read", "read-committed")
    assert found["check"]["model"] == session
    steps = {step["edge"] for one in found["check"]["anomalies"][:1] for step in one["steps"]}
    assert steps == {"process", "wr", "rw"}
    promised = json.loads(ddlsim("check", str(out), "--output", "json").out)["files"][0]
    assert promised["outcome"] == "ok"
    assert any("future-column" in note for note in promised["notes"])


def prepares_at_the_server(url: str, out: Path) -> None:
    """MariaDB's driver prepares nothing: PREPARE and EXECUTE are sent, as its server counts."""
    before = mariadb.statements(url)
    found = recorded(url, out, "--prepared", "--transactions", "60")
    after = mariadb.statements(url)
    assert head_of((out / STATEMENTS).read_bytes().splitlines()[0]).prepared
    assert (found["check"]["outcome"], "PREPARE" in found["driver"]) == ("ok", True)
    made, sent = (after[name] - before[name] for name in ("Com_prepare_sql", "Com_execute_sql"))
    assert sent > made > 0
    lines = map(record_of, (out / STATEMENTS).read_bytes().splitlines())
    values = [one for one in lines if isinstance(one, Statement) and one.values]
    assert len([one for one in values if one.problem is None]) <= sent <= len(values)


def keeps_what_it_acknowledged(url: str, out: Path) -> None:
    """Connections are cut under MariaDB's driver, and what was acknowledged is there."""
    words = ("--isolation", "read-committed", "--transactions", "900", "--fault", "client-killed")
    found = recorded(url, out, *words)
    assert found["check"]["outcome"] == "ok"
    assert found["why"][LOST] > 0


@pytest.mark.parametrize("parameter", ["nonsense=1", "connect_timeout=soon"])
def test_a_parameter_that_the_driver_lacks_is_one_line(parameter: str, tmp_path: Path) -> None:
    url = f"mariadb+pymysql://me:s3cr%40t@host/?{parameter}"
    done = forked("record", url, "--out", str(tmp_path / "out"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert "a parameter of the database's URL is wrong" in done.err
    assert "s3cr" not in done.err


def test_a_server_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    url = f"postgresql+psycopg://me:secret@/db?host={tmp_path}"
    done = ddlsim("record", url, "--out", str(tmp_path / "out"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "postgresql: CREATE SCHEMA failed" in done.err
    assert "secret" not in done.err
