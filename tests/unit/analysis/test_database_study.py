"""The study of databases: what it makes of recordings, and its stored pages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.databases import __main__ as command
from ddlsim.analysis.databases import markdown, pages, study, timeline, view
from ddlsim.analysis.databases.examples import reduced, shortest
from ddlsim.analysis.databases.findings import FINDINGS, NOTHING
from ddlsim.analysis.databases.grid import cells
from ddlsim.analysis.databases.scripts import all_of
from ddlsim.analysis.databases.servers import servers
from ddlsim.history.recording import Begun, Closed, Ended, Recording, Statement, line_of
from tests.support.command import ROOT

SCRIPTS = ROOT / "reports" / "databases" / "scripts"
MS = 1_000_000
HEAD = Recording(
    1, "ddlsim", "sqlite", "SQLite", "sqlite3", {}, "serializable", "serializable",
    "strict-serializable", "a clock", "schema-append", 0, 2, 5.0, False, False, ("t0",),
)  # fmt: skip
CHANGER = 2
DRAWING = re.compile("<svg.*?</svg>", re.DOTALL)
LINES = (
    HEAD,
    Begun(0, 0, 3),
    Statement(0, 0, 1 * MS, "CREATE TABLE t0 (id INT)"),
    Ended(0, 1 * MS, "ok", "", 1),
    Begun(2, 5 * MS, 0),
    Statement(2, 5 * MS, 7 * MS, "SELECT * FROM t0"),
    Ended(2, 7 * MS, "ok", "", 3),
    Begun(4, 10 * MS, CHANGER),
    Begun(5, 8 * MS, 1),
    Statement(4, 10 * MS, 29 * MS, "ALTER TABLE t0 ADD COLUMN c1 INT"),
    Statement(5, 8 * MS, 31 * MS, "UPDATE t0 SET v = v"),
    Ended(4, 30 * MS, "ok", "", 6),
    Ended(5, 31 * MS, "fail", "lock-timeout", 7),
    Begun(8, 40 * MS, CHANGER),
    Statement(8, 40 * MS, 45 * MS, "UPDATE t0 SET v = v"),
    Ended(8, 46 * MS, "ok", "", 9),
    Closed(50 * MS),
)


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Any]:
    """The figures of the recording above."""
    file = tmp_path / "recording.jsonl"
    file.write_bytes(b"".join(map(line_of, LINES)))
    return timeline.figures([timeline.read(file)])


def test_changes_are_the_transactions_with_ddl_of_the_client_behind_the_others(
    found: dict[str, Any],
) -> None:
    assert found["ddl"] == {"ended": {"ok": 1}, "ms": {"n": 1, "p50": 20, "p99": 20, "max": 20}}
    assert found["dml"]["ended"] == {"lock-timeout": 1, "ok": 1}


def test_a_statement_waits_for_a_change_from_where_the_later_of_both_began(
    found: dict[str, Any],
) -> None:
    assert [found["dml"][name]["p50"] for name in ("apart_ms", "beside_ms", "stall_ms")] == [
        2, 23, 21,
    ]  # fmt: skip
    ended = [count for count in found["around"]["per_s"] if count]
    assert len(ended) == 2


ARGUMENT = """\
T8 was shown column c1 of t1 of T4, and row 1 of t1 as before T4 appended 70.

T4 (process 4) sent:
  BEGIN
  ALTER TABLE t1 ADD COLUMN c1 INTEGER DEFAULT 1
  UPDATE t1 SET v = v || %s WHERE id = %s  (',70', 1)
  UPDATE t2 SET v = v || %s WHERE id = %s  (',75', 1)
  COMMIT

T8 (process 0) sent:
  BEGIN
  SELECT * FROM t2 WHERE id = ?  (3,)
      -> columns id, v; 1 rows
  SELECT * FROM t1 WHERE id = ?  (1,)
      -> columns id, v, c1; 1 rows; row 1: [0]
  COMMIT

No serial order has all of it."""


def test_an_example_has_the_statements_on_its_tables_with_their_values() -> None:
    assert reduced(ARGUMENT)[2:-2] == [
        "T4 (process 4) sent:",
        "  ALTER TABLE t1 ADD COLUMN c1 INTEGER DEFAULT 1",
        "  UPDATE t1 SET v = v || ',70' WHERE id = 1",
        "",
        "T8 (process 0) sent:",
        "  SELECT * FROM t1 WHERE id = 1",
        "      -> columns id, v, c1; 1 rows; row 1: [0]",
    ]


def test_an_example_has_the_operations_on_its_keys() -> None:
    told = "T4 = [[:r :t0/1 [0 [2]]] [:append :t2/5 7]] (process 1, line 5)\nT4 lost :t2/5"
    assert reduced(told)[0] == "T4 = [[:append :t2/5 7]] (process 1, line 5)"


def test_the_shortest_example_of_each_type_is_kept() -> None:
    one = {"type": "lost-update", "explanation": "a\nb"}
    found = shortest([("first", one), ("second", {**one, "explanation": "a"})])
    assert found["lost-update"]["command"] == "second"


def cell(**more: Any) -> dict[str, Any]:
    run = {"outcome": "ok", "counts": {}, "crossings": {}, **more}
    return {"promise": "read-committed", "runs": [run], "lacks": ""}


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (cell(), {}),
        (cell(counts={"lost-update": 3}), {}),
        (cell(crossings={"future-column": 2}), {"future-column": 2}),
        (cell(outcome="violated", counts={"G1c": 2, "lost-update": 3}), {"G1c": 2}),
        (
            cell(outcome="violated", counts={"G1c": 2, "vanished-rows": 4, "lost-update": 3}),
            {"vanished-rows": 4},
        ),
    ],
)
def test_an_anomaly_is_what_the_promised_model_forbids(one: Any, shown: dict[str, int]) -> None:
    assert view.anomalies(one) == shown


def test_a_cell_is_recorded_and_shown(tmp_path: Path) -> None:
    """One short recording of SQLite, from the recorder to all pages."""
    [wanted] = (one for one in cells() if one.name == "sqlite/serializable/schema-append")
    [lacked] = (one for one in cells() if one.name == "mariadb/serializable/truncate")
    asked = study.Asked(0.5, (0,), ddl_per_s=20)
    said: list[str] = []
    with servers() as found:
        made = study.record([wanted, lacked], asked, found, said.append)
    stored = {"command": "a command", **asked._asdict(), "cells": made}
    pages.write(stored, tmp_path, SCRIPTS)
    text = (tmp_path / "README.md").read_text("utf-8")
    assert "SQLite: no anomaly in 1 cells." in text
    assert "| MariaDB | SERIALIZABLE |  |" in text
    assert "--seed 0 --clients 4 --time 0.5s" in made[0]["runs"][0]["command"]
    assert made[0]["ddl"]["ended"].get("ok", 0) == made[0]["runs"][0]["changes"]
    assert made[0]["dml"]["ended"]["ok"] > 0
    assert len(said) == 1
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") == 2
    for script in all_of(SCRIPTS):
        assert f"{script.name}.sql" in page or script.sent[-1].sql in page


def test_every_script_belongs_to_a_finding() -> None:
    named = {name for one in FINDINGS for name in (*one.scripts, *one.controls)} | {*NOTHING}
    assert {script.name for script in all_of(SCRIPTS)} == named
    shows = {script.name: script.shows for script in all_of(SCRIPTS)}
    for one in FINDINGS:
        assert all(shows[name] in one.types for name in one.scripts)
        assert {shows[name] for name in one.controls} == {"nothing"}


def test_a_study_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--pages", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "python3 dev.py study makes it" in said


def test_the_stored_pages_are_those_of_the_stored_study() -> None:
    """No number of them comes from anywhere else."""
    home = ROOT / "reports" / "databases"
    stored = json.loads((home / "study.json").read_text("utf-8"))
    shown = view.of(stored)
    assert markdown.page(shown, stored["command"]) == (home / "README.md").read_text("utf-8")
    made = pages.html(stored, shown, SCRIPTS)
    assert DRAWING.sub("", made) == DRAWING.sub("", (home / "page.html").read_text("utf-8"))
    planted = json.loads(json.dumps(stored))
    planted["cells"][0]["runs"][0]["changes"] += 1
    repeat = stored["command"]
    assert markdown.page(view.of(planted), repeat) != markdown.page(shown, repeat)


def test_the_stored_study_has_every_cell() -> None:
    stored = json.loads((ROOT / "reports" / "databases" / "study.json").read_text("utf-8"))
    found = {(one["database"], one["level"], one["workload"]) for one in stored["cells"]}
    assert found == {cell[:3] for cell in cells()}
    assert {one.title for one in FINDINGS} == {*view.of(stored).examples}
