"""`ddlsim record --workload index`: unique indexes under writes that violate them, judged."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ddlsim.foreign.recording import uniqueness
from ddlsim.history.recording import (
    STATEMENTS,
    AnyLine,
    Begun,
    Ended,
    Statement,
    line_of,
    record_of,
)
from ddlsim.record.dialects.sqlite import Sqlite
from tests.support.command import ddlsim

Json = dict[str, Any]


WHOLE = re.compile(
    r"unique indexes: \d+ created, \d+ refused \(unique-violation\) "
    r"writes refused by a unique index: \d+"
)


def recorded(folder: Path) -> Json:
    done = ddlsim("record", f"sqlite:///{folder}/db", "--out", f"{folder}/out", "--workload",
                  "index", "--transactions", "400", "--ddl-rate", "30", "--clients", "2",
                  "--output", "json")  # fmt: skip
    assert done.code in (0, 1), done
    found: Json = json.loads(done.out)
    return found


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """A recording that no test changes, and its document; one with all that the tests look for, as
    the order of statements is the database's.
    """
    for _ in range(5):
        folder = tmp_path_factory.mktemp("index")
        found = recorded(folder)
        said = " ".join(found["check"]["notes"])
        if WHOLE.search(said) and damaged(folder / "out" / STATEMENTS):
            return folder / "out", found
    pytest.fail("none of five recordings has indexes created, refused and read under")


def test_sqlite_keeps_its_unique_indexes(taken: tuple[Path, Json]) -> None:
    found = taken[1]
    assert (found["check"]["outcome"], found["check"]["counts"]) == ("ok", {})
    assert found["why"].keys() == {"unique-violation"}


def test_an_index_that_is_not_unique_is_convicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: the SQL of the dialect lacks the word UNIQUE."""
    monkeypatch.setattr(Sqlite, "unique_sql", "")
    found = recorded(tmp_path)
    assert found["check"]["outcome"] == "violated"
    assert found["check"]["counts"].keys() == {uniqueness.DUPLICATE}
    first = found["check"]["anomalies"][0]["explanation"]
    assert "with one value of x" in first
    assert "CREATE  INDEX t" in first


def damaged(recording: Path) -> bytes:
    """A planted fault: a row that was read under a unique index has the value of another one.

    Nothing where no read is under one.
    """
    lines = recording.read_bytes().splitlines(keepends=True)
    for at, line in enumerate(lines):
        one = record_of(line)
        if not isinstance(one, Statement) or not one.rows or len(one.rows[0]) != 4:
            continue
        rows = [list(row) for row in one.rows]
        for row in rows[-2:]:
            row[1] = -7
        made = line_of(Statement(one.tx, one.at, one.until, one.sql, one.values, one.columns,
                                 tuple(map(tuple, rows)), one.count, one.problem))  # fmt: skip
        changed = (*lines[:at], made, *lines[at + 1 :])
        if uniqueness.look(map(record_of, changed)).duplicates:
            return b"".join(changed)
    return b""


def test_two_rows_of_one_value_are_named_and_told(taken: tuple[Path, Json], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(taken[0], tmp_path / "copy"))
    (copy / STATEMENTS).write_bytes(damaged(copy / STATEMENTS))
    done = ddlsim("check", str(copy))
    said = " ".join(done.out.split())
    assert done.code == 1
    assert "with one value of x, -7, under the unique index t" in said
    assert "CREATE UNIQUE INDEX t" in said
    assert "No DROP of it began before the answer" in said


def test_dirty_reads_may_show_two_rows_of_one_value(
    taken: tuple[Path, Json], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(taken[0], tmp_path / "copy"))
    data = damaged(copy / STATEMENTS)
    level = b'"isolation":"serializable"'
    assert level in data
    (copy / STATEMENTS).write_bytes(data.replace(level, b'"isolation":"read-uncommitted"', 1))
    [file] = json.loads(ddlsim("check", str(copy), "--output", "json").out)["files"]
    assert file["outcome"] == "ok"
    assert "duplicate-under-unique, which read-uncommitted allows" in file["notes"]


def told(*, begun: int = 30, read: tuple[int, int] = (40, 50), drop: int = 60) -> list[AnyLine]:
    """An index that is created from 10 to 20 and dropped, and a read of two rows with one value."""
    columns, rows = ("id", "x", "v", "c0"), ((3, 9, "0", 0), (4, 9, "0", 0))
    lines: list[tuple[int, AnyLine]] = [
        (10, Begun(0, 10, 0)),
        (15, Statement(0, 11, 15, "CREATE UNIQUE INDEX t0_unique_1 ON t0 (x)")),
        (20, Ended(0, 20, "ok", "", 1)),
        (begun, Begun(2, begun, 1)),
        (read[1], Statement(2, *read, "SELECT * FROM t0 WHERE id <= 2", (), columns, rows)),
        (read[1] + 1, Ended(2, read[1] + 1, "ok", "", 3)),
        (drop, Begun(4, drop, 0)),
        (drop + 15, Statement(4, drop, drop + 15, "DROP INDEX IF EXISTS t0_unique_1")),
        (drop + 16, Ended(4, drop + 16, "ok", "", 5)),
    ]
    return [line for _, line in sorted(lines, key=lambda one: one[0])]


@pytest.mark.parametrize(
    ("case", "lines", "many"),
    [
        ("under the index", told(), 1),
        ("in a transaction from before it was acknowledged", told(begun=19), 0),
        ("answered after its DROP began", told(drop=45), 0),
        ("begun after its DROP began", told(begun=65, read=(66, 67)), 0),
    ],
)
def test_only_reads_within_the_life_of_an_index_are_accused(
    case: str, lines: list[AnyLine], many: int
) -> None:
    assert len(uniqueness.look(lines).duplicates) == many, case


def test_an_index_that_was_refused_promises_nothing() -> None:
    lines = told()
    ended = lines.index(Ended(0, 20, "ok", "", 1))
    lines[ended] = Ended(0, 20, "fail", "unique-violation", 1)
    found = uniqueness.look(lines)
    assert (found.duplicates, dict(found.refused)) == ([], {"unique-violation": 1})


def test_an_invalid_index_is_told() -> None:
    sql = "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('t0_unique_1')"
    lines = [Statement(6, 90, 91, sql, (), ("valid",), ((False,),))]
    assert uniqueness.look(lines).notes == [
        "invalid indexes that were left behind: 1, t0_unique_1 first"
    ]
