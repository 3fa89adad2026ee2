"""The scripts of the study of databases, sent to the servers as they are written."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddlsim.analysis.databases.scripts import Script, ScriptError, all_of, read, run
from ddlsim.analysis.databases.servers import Servers, lacking, servers
from tests.support.command import ROOT

SCRIPTS = all_of(ROOT / "reports" / "databases" / "scripts")
DUCKDB = [script.name for script in SCRIPTS if script.database == "duckdb"]
CASES = [
    (script, level)
    for script in SCRIPTS
    if script.name not in DUCKDB
    for level in script.levels or ("",)
]
FUTURE = "postgresql-future-column"


@pytest.fixture(scope="module")
def started() -> Iterator[Servers]:
    with servers() as found:
        yield found


def sent(script: Script, to: Servers) -> None:
    if needs := lacking(script.database):
        pytest.skip(f"needs {needs}")
    run(script, to.database(script.database))


@pytest.mark.parametrize(("script", "level"), CASES, ids=lambda one: getattr(one, "name", one))
def test_databases_answer_as_the_script_has_it(
    script: Script, level: str, started: Servers
) -> None:
    sent(script.at(level), started)


@pytest.mark.skipif(bool(lacking("duckdb")), reason="needs the extra real")
def test_duckdb_answers_as_the_scripts_have_it() -> None:
    """In a process of its own: the library complains at the end of one."""
    words = [word for name in DUCKDB for word in ("--script", name)]
    command = [sys.executable, "-m", "ddlsim.analysis.databases", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (
        0, [f"{name}: answers as written" for name in DUCKDB]
    ), done.stderr  # fmt: skip


def test_every_finding_has_a_script_that_ends_without_an_error() -> None:
    findings = [script for script in SCRIPTS if script.shows != "nothing"]
    assert {script.shows for script in findings} == {
        "future-column", "vanished-rows", "lost-update"
    }  # fmt: skip
    for script in findings:
        assert not any(line.startswith("error") for one in script.sent for line in one.answer)
        assert any(one.answer for one in script.sent)


def test_all_that_is_no_statement_is_a_comment_in_every_dialect() -> None:
    """MariaDB takes two dashes for a comment only where a space follows."""
    for script in SCRIPTS:
        dashes = [line for line in script.text.splitlines() if line.startswith("--")]
        assert all(line.startswith("-- ") or line == "--" for line in dashes)


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        ("-- > 1 | 10 | 7", "-- > 1 | 11 | 7", "got id | v | w; 1 | 10 | 7"),
        ("-- > id | v | w", "-- > id | v", "got id | v | w"),
        ("SELECT * FROM t;", "SELECT * FROM u;", "got error 42P01"),
    ],
)
def test_another_answer_is_told(
    old: str, new: str, got: str, tmp_path: Path, started: Servers
) -> None:
    """Planted: a script that has another answer than the server."""
    [script] = (one for one in SCRIPTS if one.name == FUTURE)
    path = tmp_path / "planted.sql"
    path.write_text(script.text.replace(old, new), "utf-8")
    with pytest.raises(ScriptError, match=r"planted\.sql:\d+: SELECT \* FROM") as told:
        sent(read(path), started)
    assert got in str(told.value)


def test_a_level_changes_every_statement_that_names_it() -> None:
    [script] = (one for one in SCRIPTS if one.name == FUTURE)
    [first, second] = script.levels
    texts = [one.sql for one in script.at(second).sent]
    assert not any(first in sql for sql in texts)
    assert sum(second in sql for sql in texts) == 2


def test_a_script_without_what_it_shows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.sql"
    path.write_text("-- A sentence.\n-- database: sqlite\n\n-- Session A\nSELECT 1;\n", "utf-8")
    with pytest.raises(ScriptError, match=r"one\.sql: has no line `-- shows: ...`"):
        read(path)
