"""`ddlsim rehearse` on SQLite: a migration on a copy, under load, and what it did."""

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cli.verbs.predicted import predictions
from ddlsim.history.recording import STATEMENTS
from ddlsim.record.rehearsal import rehearse
from ddlsim.record.rehearsal.migration import Order
from ddlsim.sql.splitting import split
from tests.support.command import ROOT, Done, ddlsim
from tests.support.json_schemas import wrong
from tests.support.waiting import until

Json = dict[str, Any]
SCHEMA = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, balance INTEGER);
CREATE TABLE notes (id INTEGER PRIMARY KEY, account INTEGER REFERENCES accounts (id), text TEXT);
"""
SHORT = ("--before", "0.2s", "--pause", "0.1s", "--after", "0.2s", "--rows", "40")


def called(folder: Path, migration: str, *words: str, url: str = "sqlite:///none") -> Done:
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "migration.sql").write_text(migration)
    return ddlsim("rehearse", url, str(folder / "migration.sql"), *SHORT, *words)


def rehearsed(
    folder: Path, migration: str, *words: str, code: int = 0, schema: str = SCHEMA
) -> Json:
    file = folder / "given.sql"
    file.write_text(schema)
    done = called(folder, migration, "--schema", str(file), "--output", "json", *words)
    assert done.code == code, done
    found: Json = json.loads(done.out)
    assert wrong("rehearse", found) == []
    return found


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A database of a user's own, with a row."""
    path = tmp_path / "mine.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(f"{SCHEMA} INSERT INTO accounts VALUES (7, 'me', 100);")
    return path


def asked(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as made:
        return made.execute(sql).fetchall()


def test_a_migration_that_fits_is_fine(tmp_path: Path) -> None:
    sql = "ALTER TABLE accounts ADD COLUMN note TEXT;\nCREATE INDEX i ON notes (account);"
    found = rehearsed(tmp_path, sql)
    assert found["outcome"] == "ok"
    assert found["committed"] > 20
    assert [one["line"] for one in found["statements"]] == [1, 2]
    assert [one["predicted"]["verdict"] for one in found["statements"]] == ["survive", "survive"]
    assert all(one["waited_ms"] is not None for one in found["statements"])
    assert found["tables"] == ["accounts", "notes"]
    assert (found["check"]["outcome"], found["check"]["model"]) == ("ok", "strict-serializable")


def test_a_column_in_use_that_is_dropped_aborts_the_load(tmp_path: Path) -> None:
    found = rehearsed(tmp_path, "ALTER TABLE accounts DROP COLUMN owner")
    [one] = found["statements"]
    assert one["aborts"]["undefined"] == found["why"]["undefined"] > 0
    assert "owner" in one["examples"]["undefined"]
    assert one["predicted"]["verdict"] == "abort"
    assert one["predicted"]["clauses"] == ["110.column.drop"]
    assert any("accounts" in note and "not judged" in note for note in found["notes"])


SWAP = """
CREATE TABLE next (id INTEGER PRIMARY KEY, owner TEXT, balance INTEGER);
INSERT INTO next SELECT id, owner, balance FROM accounts{};
DROP TABLE accounts;
ALTER TABLE next RENAME TO accounts;
"""
INSERTS = """
[[transaction]]
statements = ["INSERT INTO accounts (owner, id) VALUES ('me', :id)"]
values.id = { draw = "unique" }
"""


@pytest.mark.parametrize(
    ("copied", "load", "types", "note"),
    [
        ("", INSERTS, {"lost-write"}, "values of rows"),
        (" WHERE id <> 3", INSERTS, {"lost-write", "vanished-rows"}, "values of rows"),
        ("; DELETE FROM next WHERE id = 3", INSERTS, set(), "a statement deletes rows"),
        (" WHERE id <> 3", f"{INSERTS}[[transaction]]\nstatements = ['DELETE FROM notes']",
         set(), "a statement deletes rows"),
    ],
)  # fmt: skip
def test_rows_under_a_load_of_ones_own_are_there_in_the_end(
    tmp_path: Path, copied: str, load: str, types: set[str], note: str
) -> None:
    (tmp_path / "load.toml").write_text(load)
    words = ("--load", str(tmp_path / "load.toml"), "--pause", "0.2s")
    found = rehearsed(tmp_path, SWAP.format(copied), *words, code=int(bool(types)))
    assert {one["type"] for one in found["anomalies"]} == types
    assert any(note in one for one in found["notes"])
    for one in found["anomalies"]:
        assert one["table"] == "accounts"
        if one["type"] == "lost-write":
            assert one["example"].endswith("though its INSERT was acknowledged")
        else:
            assert (one["count"], one["example"]) == (1, "row 3 is not there in the end")


def test_rows_under_a_load_of_ones_own_are_kept(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(INSERTS)
    words = ("--load", str(tmp_path / "load.toml"))
    found = rehearsed(tmp_path, "ALTER TABLE accounts ADD COLUMN w INTEGER", *words)
    assert (found["anomalies"], found["committed"] > 0) == ([], True)


def test_a_copy_that_takes_the_place_of_a_table_loses_writes(tmp_path: Path) -> None:
    """What clients write between the copy and the swap is gone; each statement alone is fine."""
    found = rehearsed(
        tmp_path,
        SWAP.format(""),
        "--pause", "0.2s", code=1,
    )  # fmt: skip
    lost = [one for one in found["anomalies"] if one["type"] == "lost-write"]
    assert [one["table"] for one in lost] == ["accounts"]
    assert "its commit was acknowledged" in lost[0]["example"]


def test_the_same_copy_in_one_transaction_loses_nothing(tmp_path: Path) -> None:
    found = rehearsed(
        tmp_path,
        """
        BEGIN IMMEDIATE;
        CREATE TABLE next (id INTEGER PRIMARY KEY, owner TEXT, balance INTEGER);
        INSERT INTO next SELECT id, owner, balance FROM accounts;
        DROP TABLE accounts;
        ALTER TABLE next RENAME TO accounts;
        COMMIT
        """,
    )
    assert (found["anomalies"], found["outcome"]) == ([], "ok")


def test_rows_that_vanish_are_missed(tmp_path: Path) -> None:
    found = rehearsed(
        tmp_path,
        """
        BEGIN IMMEDIATE;
        CREATE TABLE next (id INTEGER PRIMARY KEY, owner TEXT, balance INTEGER);
        INSERT INTO next SELECT id, owner, balance FROM accounts WHERE id > 5;
        DROP TABLE accounts;
        ALTER TABLE next RENAME TO accounts;
        COMMIT
        """,
        code=1,
    )
    assert [one["type"] for one in found["anomalies"]] == ["vanished-rows"]
    assert found["why"]["no-row"] > 0


def test_rows_that_the_migration_deletes_are_neither_missed_nor_abort_what_updates_them(
    tmp_path: Path,
) -> None:
    """Half of the rows that the load prefers are deleted, so that updates find none."""
    deleted = rehearsed(tmp_path, "DELETE FROM accounts WHERE id <= 5")
    assert (deleted["anomalies"], deleted["why"], deleted["failed"]) == ([], {}, 0)
    [one] = deleted["statements"]
    assert (one["aborts"], "aborted" in one["effects"]) == ({}, False)
    assert deleted["notes"][0] == "accounts: the migration deletes rows of it; none are missed"
    assert deleted["notes"][1].endswith("found none; this counts as no abort")
    assert deleted["check"]["outcome"] == "ok"


def test_rows_that_go_with_those_that_the_migration_deletes_are_not_missed(tmp_path: Path) -> None:
    script = tmp_path / "cascade.sql"
    key = "REFERENCES accounts (id)"
    script.write_text(SCHEMA.replace(key, f"{key} ON DELETE CASCADE"))
    migration = "PRAGMA foreign_keys = ON; DELETE FROM accounts WHERE id <= 5"
    schema = ("--schema", str(script), "--output", "json")
    found = json.loads(called(tmp_path, migration, *schema).out)
    deleted = "{}: the migration deletes rows of it; none are missed".format
    assert {deleted("accounts"), deleted("notes")} <= set(found["notes"])
    assert found["anomalies"] == []


def test_values_that_the_migration_makes_are_not_judged(tmp_path: Path) -> None:
    found = rehearsed(tmp_path, "UPDATE accounts SET owner = owner || '0'")
    assert (found["anomalies"], found["outcome"]) == ([], "ok")
    assert any("accounts.owner: the migration names it" in one for one in found["notes"])


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        ("ALTER TABLE t ALTER COLUMN v TYPE bigint USING v::bigint", "survive"),
        ("ALTER TABLE t ALTER v TYPE text USING v || 'x'", "survive"),
        ("ALTER TABLE t MODIFY COLUMN v BIGINT NULL", "survive"),
        ("ALTER TABLE t MODIFY v BIGINT NOT NULL", "abort"),
        ("CREATE INDEX CONCURRENTLY i ON t USING btree (v)", "survive"),
        ("ALTER TABLE t ADD COLUMN text text", "survive"),
        ("ALTER TABLE t DROP COLUMN v CASCADE", "abort"),
        ("ALTER TABLE u ADD COLUMN w INT", "refused"),
        ("LOCK TABLE t IN ACCESS EXCLUSIVE MODE", "none"),
        ("UPDATE t SET v = 1", "none"),
    ],
)
def test_statements_are_predicted_in_the_forms_of_databases(sql: str, verdict: str) -> None:
    order = Order(*split(sql, "postgresql")[0])
    [found] = predictions("CREATE TABLE t (id INT PRIMARY KEY, v INT);", [order])
    assert found["verdict"] == verdict, found


def test_names_may_be_reserved_words_in_any_case(tmp_path: Path) -> None:
    schema = 'CREATE TABLE "Order" ("Group" INTEGER PRIMARY KEY, "Select" INT, "a b" TEXT)'
    found = rehearsed(tmp_path, 'ALTER TABLE "order" DROP COLUMN "A b"', schema=schema)
    assert (found["anomalies"], found["outcome"], found["why"]) == ([], "ok", {})
    assert found["committed"] > 20
    assert [one["predicted"]["verdict"] for one in found["statements"]] == ["abort"]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_values_that_a_trigger_writes_are_not_held_against_the_migration(
    names: tuple[str, str], tmp_path: Path
) -> None:
    """Every update of one table counts in the other one, which comes after it or before it."""
    updated, counted = names
    schema = f"""
    CREATE TABLE a (id INTEGER PRIMARY KEY, v INT); CREATE TABLE b (id INTEGER PRIMARY KEY, v INT);
    CREATE TRIGGER c AFTER UPDATE ON {updated} BEGIN
        UPDATE {counted} SET v = v + 1 WHERE id = 1; END;
    """
    found = rehearsed(tmp_path, "ALTER TABLE a ADD COLUMN w INT", schema=schema)
    assert (found["anomalies"], found["outcome"]) == ([], "ok")
    why = "updates of other rows change its values, as triggers do"
    assert found["notes"] == [f"{counted}: its rows are read, not written: {why}"]


@pytest.mark.parametrize("sql", ["'a string alone'", "17"])
def test_a_statement_without_a_word_is_refused(sql: str, tmp_path: Path) -> None:
    found = rehearsed(tmp_path, sql, code=3)
    assert [one["refused"]["kind"] for one in found["statements"]] == ["other"]


def test_a_statement_that_is_refused_ends_the_migration(tmp_path: Path) -> None:
    sql = "ALTER TABLE none ADD COLUMN a INTEGER;\nDROP TABLE notes"
    found = rehearsed(tmp_path, sql, code=3)
    first, second = found["statements"]
    assert first["refused"]["kind"] == "undefined"
    assert (first["predicted"]["verdict"], first["agreement"]) == ("refused", "agrees")
    assert (second["ran"], second["refused"]) == (False, None)
    assert found["after"]["count"] > 0


def test_a_stall_that_is_too_long_is_no_success(tmp_path: Path) -> None:
    """The migration holds the only lock on writes while it counts to some millions."""
    sql = """
    BEGIN IMMEDIATE;
    CREATE TABLE numbers AS WITH RECURSIVE n (i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000) SELECT i FROM n;
    COMMIT;
    """
    words = ("--max-stall-ms", "5", "--load", str(tmp_path / "load.toml"))
    (tmp_path / "load.toml").write_text(
        "lock_timeout_ms = 20\n"
        '[[transaction]]\nstatements = ["UPDATE accounts SET balance = :v WHERE id = :k"]\n'
        'values.v = { draw = "unique" }\nvalues.k = { draw = "key", table = "accounts" }\n'
    )
    found = rehearsed(tmp_path, sql, *words, code=1)
    took = found["statements"][1]["duration_ms"]
    assert took > 50
    assert found["statements"][1]["aborts"]["lock-timeout"] > 0
    assert found["stalled"] == "accounts"
    assert 0.8 * took < found["stall_ms"] < took + 400
    assert found["notes"][0].startswith("values of rows are not judged: the load is your own")
    assert found["check"] is None


# --- the user's own database ---------------------------------------------------------------------


def test_the_file_of_the_url_is_copied_and_left_alone(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    sql = "ALTER TABLE accounts ADD COLUMN w INTEGER; DROP TABLE notes"
    done = called(tmp_path, sql, "--output", "json", url=f"sqlite:///{file}")
    found = json.loads(done.out)
    assert [one["ran"] for one in found["statements"]] == [True, True]
    assert file.read_bytes() == before
    assert sorted(one.name for one in tmp_path.glob("mine*")) == ["mine.db"]


def test_in_place_changes_the_file_itself(file: Path, tmp_path: Path) -> None:
    sql = "ALTER TABLE accounts ADD COLUMN w INTEGER"
    done = called(tmp_path, sql, "--in-place", url=f"sqlite:///{file}")
    assert done.code == 0, done
    assert "the database itself" in done.out
    assert "\nrepeat, on the database as it was: ddlsim rehearse sqlite" in done.out
    assert "w" in [row[1] for row in asked(file, "PRAGMA table_info(accounts)")]
    assert asked(file, "SELECT count(*) FROM accounts") == [(1,)]
    assert asked(file, "SELECT count(*) FROM notes") == [(0,)]


def test_keys_of_bytes_and_hidden_tables_are_no_trouble(tmp_path: Path) -> None:
    """A key of bytes stands in the recording as text; those of FTS are not the user's."""
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript("CREATE TABLE t (k BLOB PRIMARY KEY, v TEXT); CREATE TABLE u (a INT);"
                           "INSERT INTO t VALUES (x'00ff', 'a'); CREATE VIRTUAL TABLE f "
                           "USING fts5 (body)")  # fmt: skip
    sql = "BEGIN; SAVEPOINT a; CREATE INDEX i ON u (a); ROLLBACK TO a; ALTER TABLE u ADD b INT"
    done = called(tmp_path, sql, "--output", "json", url=f"sqlite:///{path}")
    found = json.loads(done.out)
    assert (done.code, found["tables"], found["anomalies"]) == (0, ["t", "u"], [])
    assert "u: neither read nor written: it has no primary key" in found["notes"]
    assert "the migration ended within a transaction, which was rolled back" in found["notes"]


def test_a_savepoint_outside_of_a_transaction_opens_one_in_sqlite(
    file: Path, tmp_path: Path
) -> None:
    sql = (
        "SAVEPOINT a;\nALTER TABLE notes ADD x INT;\nSAVEPOINT b;\nALTER TABLE notes ADD y INT;\n"
        "RELEASE b;\nRELEASE SAVEPOINT a;\nALTER TABLE notes ADD z INT"
    )
    done = called(tmp_path, sql, "--output", "json", url=f"sqlite:///{file}")
    found = json.loads(done.out)
    assert (done.code, found["notes"]) == (0, [])
    ran = [(one["ran"], one["refused"]) for one in found["statements"]]
    assert ran == [(True, None)] * 7


def test_a_statement_that_leaves_the_copy_is_refused(file: Path, tmp_path: Path) -> None:
    sql = f"SELECT 1;\nATTACH '{file}' AS mine;\nDROP TABLE mine.notes"
    done = called(tmp_path, sql, url=f"sqlite:///{file}")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "migration.sql:2: ATTACH" in done.err
    assert "reaches beyond the copy; leave it out, or rehearse with --in-place" in done.err
    assert asked(file, "SELECT count(*) FROM notes") == [(0,)]


def test_the_recording_of_a_killed_rehearsal_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reads of a column that is gone have no value, which only its end takes out."""
    monkeypatch.setattr(rehearse, "_matched", lambda _: None)
    words = ("--schema", f"{tmp_path}/schema.sql", "--out", f"{tmp_path}/out")
    done = called(tmp_path, "ALTER TABLE accounts DROP COLUMN owner", *words)
    assert (done.code, "the file is damaged" in done.err) == (2, True), done
    lines = (tmp_path / "out" / STATEMENTS).read_bytes().splitlines(keepends=True)
    (tmp_path / "out" / STATEMENTS).write_bytes(b"".join(lines[:-1]))
    done = ddlsim("check", f"{tmp_path}/out")
    assert (done.code, done.err) == (0, "")
    assert "did not come to its end" in done.out


def test_a_rehearsal_that_is_killed_leaves_nothing(file: Path, tmp_path: Path) -> None:
    folders = tmp_path / "folders"
    folders.mkdir()
    (tmp_path / "m.sql").write_text("SELECT 1")
    words = ["rehearse", f"sqlite:///{file}", str(tmp_path / "m.sql"), "--before", "60s",
             "--out", str(tmp_path / "out")]  # fmt: skip
    begun = subprocess.Popen(
        [sys.executable, "-m", "sim", *words], cwd=ROOT, env={"TMPDIR": str(folders)}
    )
    try:
        history = tmp_path / "out" / "history.edn"
        until(lambda: history.is_file() and history.stat().st_size > 1_000, "the load",
              lambda: begun.poll() is None)  # fmt: skip
        assert len([*folders.glob("*/copy.db")]) == 1
    finally:
        begun.kill()
        begun.wait()
    until(lambda: not any(folders.iterdir()), "the end of the copy")
    assert asked(file, "SELECT * FROM accounts") == [(7, "me", 100)]


# --- what is written -----------------------------------------------------------------------------


def test_out_has_the_recording_the_document_and_a_page(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sql = 'ALTER TABLE accounts RENAME COLUMN owner TO "<b>"'
    found = rehearsed(tmp_path, sql, "--out", str(out))
    assert json.loads((out / "rehearsal.json").read_text()) == found
    page = (out / "rehearsal.html").read_text()
    assert "<svg" in page
    assert "A bar is the longest latency of the statements" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    done = ddlsim("check", str(out), "--output", "json")
    assert json.loads(done.out)["files"] == [found["check"]]


def test_a_rehearsal_is_repeated_by_its_command_although_its_folder_is_there(
    tmp_path: Path,
) -> None:
    sql = "ALTER TABLE accounts ADD COLUMN w INTEGER"
    found = rehearsed(tmp_path, sql, "--out", str(tmp_path / "out"))
    done = ddlsim(*shlex.split(found["command"])[1:], "--output", "json")
    assert (done.code, json.loads(done.out)["command"]) == (0, found["command"]), done


def test_the_text_has_a_row_for_each_statement(tmp_path: Path) -> None:
    sql = "ALTER TABLE accounts ADD COLUMN w INTEGER;\nALTER TABLE accounts DROP COLUMN owner;"
    done = called(tmp_path, sql, "--schema", str(tmp_path / "schema.sql"))
    assert done.code == 0, done
    lines = done.out.splitlines()
    head = next(line for line in lines if "waited" in line)
    assert "compat" in head
    rows = [line for line in lines if line.startswith(("1 ", "2 "))]
    assert len(rows) == 2
    assert max(map(len, [head, *rows])) <= 80
    assert "no such column: owner" in " ".join(done.out.split())
    assert lines[-1].startswith("repeat: ddlsim rehearse sqlite:///none")


# --- bad input -----------------------------------------------------------------------------------

LOAD = '[[transaction]]\nstatements = ["SELECT * FROM accounts WHERE id = :k"]\n'


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("client = 3", "load.toml:1: client: unknown key; did you mean clients?"),
        ("clients = 0", "load.toml:1: clients: "),
        (LOAD, "load.toml:2: transaction[0].statements[0]: no value is called :k; there are none"),
        (f"{LOAD}values.k = {{ draw = 'odd' }}", "load.toml:3: transaction[0].values.k"),
        (f"{LOAD}values.k = {{ draw = 'uniform', low = 3, high = 2 }}",
         "load.toml:3: transaction[0].values.k: low must not exceed high"),
        (f"{LOAD}values.k = {{ draw = 'uniform', low = 3 }}",
         "load.toml:3: transaction[0].values.k"),
        (f"{LOAD}values.k = {{ draw = 'unique' }}\nvalues.j = {{ draw = 'unique' }}",
         "load.toml:4: transaction[0].values.j: no statement uses it"),
        (f"{LOAD}values.k = {{ draw = 'key', table = 'acounts' }}",
         "called 'acounts'; did you mean accounts?"),
        ("[[transaction]]\nstatements = ['SELECT 1', 'COMMIT']",
         "load.toml:2: transaction[0].statements[1]: expected one statement, which is sent"),
        ("[[transaction]]\nstatements = ['SELECT 1; SELECT 2']", "expected one statement"),
        ("[[transaction]]\nstatements = ['SELECT ''a']", "load.toml:2: "),
        ("[[transaction]]\nstatements = [\"ATTACH 'x' AS y\"]",
         "load.toml:2: ATTACH"),
        ("isolation = 'chaos'",
         "--isolation chaos: sqlite has no such level; it has serializable"),
        ("clients = ", "load.toml:1"),
    ],
)  # fmt: skip
def test_a_load_that_cannot_be_used_is_one_line(load: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(load)
    words = ("--schema", str(tmp_path / "schema.sql"), "--load", str(tmp_path / "load.toml"))
    done = called(tmp_path, "SELECT 1", *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sqlite:///{}/none",), "there is no such file; name one, or --schema"),
        (("sqlite:///{}/none", "--in-place"), "there is no such file"),
        (("nowhere",), "'nowhere' is no URL of a database"),
        (("sqlite:///{}/x", "--in-place", "--schema", "{}/schema.sql"),
         "--schema: --in-place takes the tables that are there; keep one of them"),
        (("sqlite:///{}/x", "--schema", "{}/migration.sql"),
         "migration.sql:1: sqlite refuses it (no such table: none)"),
        (("sqlite:///{}/x", "--schema", "{}/none.sql"), "none.sql: No such file or directory"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    url, *more = (word.replace("{}", str(tmp_path)) for word in words)
    done = called(tmp_path, "DROP TABLE none", *more, "--out", f"{tmp_path}/out", url=url)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "out").exists()
