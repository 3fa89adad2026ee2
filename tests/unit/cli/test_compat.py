"""`ddlsim compat`: verdicts, exit codes, and what is wrong with a file told with its place."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.command import ddlsim

SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v INT);\nCREATE TABLE u (id INT PRIMARY KEY);\n"


@pytest.fixture
def schema(tmp_path: Path) -> str:
    return written(tmp_path / "schema.sql", SCHEMA)


def written(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("sql", "code", "word"),
    [
        ("ALTER TABLE t ADD COLUMN w INT", 0, "COMPATIBLE"),
        ("ALTER TABLE t ADD COLUMN w INT; ALTER TABLE t DROP COLUMN v", 1, "NOT COMPATIBLE"),
        ("", 0, "COMPATIBLE"),
    ],
)
def test_the_exit_code_tells(sql: str, code: int, word: str, schema: str, tmp_path: Path) -> None:
    done = ddlsim("compat", schema, written(tmp_path / "m.sql", sql))
    assert done.code == code
    assert done.out.startswith(f"{word}  ")


def test_json_has_the_shape_of_the_interface(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "ALTER TABLE u ADD COLUMN w INT;\nDROP TABLE t;")
    told = json.loads(ddlsim("compat", schema, migration, "--output", "json").out)
    assert told["format"] == 1
    first, second = told["statements"]
    assert set(first) >= {"sql", "line", "objects", "forward_compatible", "rules"}
    assert (second["line"], second["objects"]) == (2, ["t"])
    assert (first["forward_compatible"], second["forward_compatible"]) == (True, False)
    assert set(second["rules"][0]) == {"clause", "verdict", "reason", "column"}
    assert told["tables"] == {
        "t": {"forward_compatible": False, "because": 1},
        "u": {"forward_compatible": True, "because": None},
    }


def test_the_baseline_may_be_the_shipped_code(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "ALTER TABLE t RENAME COLUMN v TO x")
    assert ddlsim("compat", schema, migration).code == 0
    assert ddlsim("compat", schema, migration, "--baseline", "ignite3").code == 1


def test_from_scratch_needs_no_schema(schema: str) -> None:
    assert ddlsim("compat", "--from-scratch", schema).code == 0


def test_rates_give_the_share_of_aborts(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "ALTER TABLE t DROP COLUMN v")
    flags = ("--ddl-rate", "0.1", "--tx-length", "2")
    done = ddlsim("compat", schema, migration, *flags)
    assert "18.13 %" in done.out
    told = json.loads(ddlsim("compat", schema, migration, *flags, "--output", "json").out)
    assert round(told["expected_abort_share"]["option_3"], 4) == 0.1813


def test_unreadable_sql_is_told_with_its_place(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "ALTER TABLE t ADD COLUMN w INT;\nALTER TABEL t")
    done = ddlsim("compat", schema, migration)
    told = "unexpected 'TABEL'; expected TABLE, VIEW or ZONE"
    assert done == (2, "", f"ddlsim: {migration}:2:7: {told}\n")
    assert ddlsim("compat", migration, schema).err == f"ddlsim: {migration}:2:7: {told}\n"


def test_a_query_is_no_migration(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "SELECT * FROM t")
    done = ddlsim("compat", schema, migration)
    assert done.code == 2
    assert done.err.startswith(f"ddlsim: {migration}:1:1: a query is no part of a migration")


def test_a_schema_that_is_refused_is_bad_input(schema: str, tmp_path: Path) -> None:
    twice = written(tmp_path / "twice.sql", f"{SCHEMA}CREATE TABLE t (id INT PRIMARY KEY);")
    done = ddlsim("compat", twice, schema)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ddlsim: {twice}:3: ")


def test_a_refused_statement_is_exit_2_beside_the_report(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "DROP TABLE nobody;\nALTER TABLE u ADD COLUMN w INT")
    done = ddlsim("compat", schema, migration, "--output", "json")
    assert done.code == 2
    assert done.err == f"ddlsim: {migration}:1: refused: there is no table 'nobody'\n"
    assert [one["forward_compatible"] for one in json.loads(done.out)["statements"]] == [None, True]


def test_a_missing_file_is_named(schema: str) -> None:
    done = ddlsim("compat", schema, "nope.sql")
    assert done == (2, "", "ddlsim: nope.sql: No such file or directory\n")


def test_a_file_that_is_no_text_is_named(schema: str, tmp_path: Path) -> None:
    path = tmp_path / "bytes.sql"
    path.write_bytes(b"\xff\xfe")
    assert ddlsim("compat", schema, str(path)).err == f"ddlsim: {path}: it is not UTF-8 text\n"
