"""`ddlsim compat`: verdicts, exit codes, and what is wrong with a file told with its place."""

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.command import ddlsim

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
        ("INSERT INTO t VALUES (1, 1)", 0, "COMPATIBLE"),
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
    kept = {"forward_compatible", "because"}
    assert {name: {key: one[key] for key in kept} for name, one in told["tables"].items()} == {
        "t": {"forward_compatible": False, "because": 1},
        "u": {"forward_compatible": True, "because": None},
    }


def test_the_baseline_may_be_the_shipped_code(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "ALTER TABLE t RENAME COLUMN v TO x")
    assert ddlsim("compat", schema, migration).code == 0
    assert ddlsim("compat", schema, migration, "--baseline", "ignite3").code == 1


def test_from_scratch_needs_no_schema(schema: str, tmp_path: Path) -> None:
    assert ddlsim("compat", "--from-scratch", schema).code == 0
    migration = written(tmp_path / "m.sql", "DROP TABLE t")
    assert ddlsim("compat", "--from-scratch", schema, "--from-scratch", migration).code == 1


def test_a_mark_of_the_encoding_and_line_ends_of_windows_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "schema.sql", tmp_path / "m.sql"
    first.write_bytes(b"\xef\xbb\xbf" + SCHEMA.replace("\n", "\r\n").encode())
    text = "\ufeff-- c\r\nDROP TABLE u;\r\nALTER TABLE t\r\n DROP COLUMN v;\r\n"
    second.write_bytes(text.encode())
    done = ddlsim("compat", str(first), str(second), "--output", "github")
    assert [line.partition(",title")[0] for line in done.out.splitlines()] == [
        f"::error file={second},line=2,col=1",
        f"::error file={second},line=3,col=1",
    ]
    assert "\\r" not in done.out
    assert "ALTER TABLE t DROP COLUMN v" in done.out
    monkeypatch.setattr("sys.stdin", io.StringIO(text, newline=""))
    given = ddlsim("compat", str(first), "-", "--output", "github")
    assert given.out.replace("stdin", str(second)) == done.out


def test_a_message_has_the_remedy_once_and_no_endless_statement(tmp_path: Path) -> None:
    columns = [f"column_{number}" for number in range(100)]
    schema = "CREATE TABLE t (id INT PRIMARY KEY, " + ", ".join(f"{c} INT" for c in columns) + ")"
    drops = "ALTER TABLE t " + ", ".join(f"DROP COLUMN {column}" for column in columns)
    files = (written(tmp_path / "s.sql", schema), written(tmp_path / "m.sql", drops))
    lines = ddlsim("compat", *files, "--output", "github").out.splitlines()
    assert len(lines) == 100
    assert [line.count("; instead: ") for line in lines] == [1] + 99 * [0]
    assert "DROP COLUMN column_99" not in lines[0]


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


def test_what_changes_no_schema_is_passed_over_with_a_note(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "DROP TABLE u;\nUPDATE t SET v = 1 WHERE id = 1")
    done = ddlsim("compat", schema, migration)
    assert done.code == 1
    assert done.err == f"ddlsim: {migration}:2: passed over: UPDATE changes no schema\n"


def test_every_error_of_every_file_is_told(schema: str, tmp_path: Path) -> None:
    one = written(tmp_path / "1.sql", "DROP TABEL t;\nALTER TABLE t")
    two = written(tmp_path / "2.sql", "CREATE t")
    done = ddlsim("compat", schema, one, two)
    assert (done.code, done.out) == (2, "")
    told = [line.split(": ")[1] for line in done.err.splitlines()]
    assert told == [f"{one}:1:6", f"{one}:2:14", f"{two}:1:8"]


def test_the_first_line_names_the_baseline(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "DROP TABLE t")
    for words, baseline in (((), "iep"), (("--baseline", "ignite3"), "ignite3")):
        first = ddlsim("compat", schema, migration, *words).out.splitlines()[0]
        assert first.endswith(f"1 statement, 1 that aborts, baseline {baseline}")


def test_files_and_folders_are_read_in_order(schema: str, tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    written(folder / "V10__drop.sql", "ALTER TABLE t DROP COLUMN w")
    written(folder / "V2__add.sql", "ALTER TABLE t ADD COLUMN w INT")
    last = written(tmp_path / "a.sql", "DROP TABLE u")
    told = json.loads(ddlsim("compat", schema, str(folder), last, "--output", "json").out)
    assert [Path(one["file"]).name for one in told["statements"]] == [
        "V2__add.sql",
        "V10__drop.sql",
        "a.sql",
    ]
    assert [one["forward_compatible"] for one in told["statements"]] == [True, False, False]
    text = ddlsim("compat", schema, str(folder), last).out
    assert f"t  aborts, because of {folder}/V10__drop.sql:1" in text


def test_a_link_in_a_folder_that_leads_nowhere_is_not_passed_over(
    schema: str, tmp_path: Path
) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    written(folder / "a.sql", "ALTER TABLE t ADD COLUMN w INT")
    (folder / "b.sql").symlink_to("nowhere")
    done = ddlsim("compat", schema, str(folder))
    assert (done.code, done.out) == (2, "")
    assert f"{folder}/b.sql: No such file or directory" in done.err


def test_a_folder_is_read_by_versions_whatever_the_case_of_the_ending(
    schema: str, tmp_path: Path
) -> None:
    folder = tmp_path / "migrations"
    (folder / "v2").mkdir(parents=True)
    names = ["V1__a.sql", "V1_1__a.sql", "V2__b.SQL", "V2.1__a.Sql", "V10__a.sql", "v2/1.sql"]
    for name in reversed(names):
        written(folder / name, "DROP TABLE IF EXISTS x")
    told = json.loads(ddlsim("compat", schema, str(folder), "--output", "json").out)
    assert told["files"] == [str(folder / name) for name in names]


def order_of(folder: Path, schema: str, *names: str) -> tuple[list[str], str]:
    """The names of files in the order in which they are read, and the notes."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        written(folder / name, "DROP TABLE IF EXISTS x")
    done = ddlsim("compat", schema, str(folder), "--output", "json")
    return [str(Path(one).relative_to(folder)) for one in json.loads(done.out)["files"]], done.err


def test_a_folder_of_flyway_is_read_as_flyway_runs_it(schema: str, tmp_path: Path) -> None:
    """Versions first, wherever they lie; then what is repeated, by name; nothing is undone."""
    folder = tmp_path / "db"
    names = ["b/V1__a.sql", "V2__b.SQL", "a/V2_1__c.sql", "V10__a.sql", "a/R__a.sql", "R__b.sql"]
    found, told = order_of(folder, schema, *reversed(names), "U2__b.sql")
    assert found == names
    what = "left out: Flyway runs it to undo a version, never on the way up"
    assert told == f"ddlsim: {folder}/U2__b.sql: {what}\n"


def test_of_flyways_baselines_the_highest_stands_for_all_before_it(
    schema: str, tmp_path: Path
) -> None:
    folder = tmp_path / "db"
    left = ("B1__a.sql", "V2__b.sql", "V10__c.sql")
    names = ["x/B10__all.sql", "V10_1__d.sql", "V11__e.sql", "R__v.sql"]
    found, told = order_of(folder, schema, *left, *names)
    assert found == names
    what = "left out: a B file stands for it on a new database"
    assert sorted(told.splitlines()) == [f"ddlsim: {folder}/{one}: {what}" for one in sorted(left)]


def test_scripts_that_flyway_runs_around_its_steps_are_left_out(
    schema: str, tmp_path: Path
) -> None:
    folder = tmp_path / "db"
    around = ("afterMigrate.sql", "beforeEachMigrate__log.sql", "createSchema.sql")
    found, told = order_of(folder, schema, *around, "V2__b.sql", "V1__a.sql", "R__c.sql")
    assert found == ["V1__a.sql", "V2__b.sql", "R__c.sql"]
    assert [line.split(": ")[1] for line in told.splitlines()] == [
        f"{folder}/{one}" for one in around
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("afterwards.sql", "R__a.sql", "V1__a.sql"),
        ("R__a.sql", "V1__a.sql", "a.sql"),
        ("R__a.sql", "V1_a.sql"),
        ("R__a.sql", "r__b.sql", "V1__a.sql"),
        ("R__a.sql", "U1__a.sql"),
    ],
)
def test_a_folder_of_other_names_is_read_by_name(
    names: tuple[str, ...], schema: str, tmp_path: Path
) -> None:
    found, told = order_of(tmp_path / "db", schema, *names)
    assert (found, told) == (sorted(names), "")


def test_a_migration_without_a_statement_is_not_compatible(schema: str, tmp_path: Path) -> None:
    """As of a tool that failed before it wrote anything."""
    empty = written(tmp_path / "empty.sql", "-- nothing\n;\n")
    rest = "there is no statement in it"
    for words in ((schema, empty), (empty, empty), ("--from-scratch", empty)):
        done = ddlsim("compat", *words, "--output", "json")
        assert done == (2, "", f"ddlsim: compat: {empty}: {rest}; nothing is judged\n")
    assert "empty.sql and 1 more: there is" in ddlsim("compat", schema, empty, empty).err
    full = written(tmp_path / "full.sql", "ALTER TABLE t ADD COLUMN w INT")
    done = ddlsim("compat", schema, empty, full)
    assert (done.code, done.err) == (0, f"ddlsim: {empty}: {rest}\n")
    rows = written(tmp_path / "rows.sql", "INSERT INTO t VALUES (1, 1)")
    assert ddlsim("compat", schema, rows).code == 0


def test_a_folder_without_sql_is_told(schema: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = ddlsim("compat", schema, str(tmp_path / "empty"))
    assert done == (2, "", f"ddlsim: {tmp_path}/empty: no .sql file in this folder\n")


def test_a_dash_is_the_standard_input(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("DROP TABLE t"))
    done = ddlsim("compat", schema, "-")
    assert (done.code, done.out.splitlines()[0]) == (
        1,
        "NOT COMPATIBLE  stdin: 1 statement, 1 that aborts, baseline iep",
    )
    assert ddlsim("compat", "-", "-").code == 2


MIXED = """-- ddlsim: ignore 110.column.drop gone since May
ALTER TABLE t DROP COLUMN v;
  DROP TABLE u; DROP TABLE nobody;
ALTER TABLE t ADD COLUMN w INT;
"""


def test_junit_has_a_test_for_each_statement(schema: str, tmp_path: Path) -> None:
    done = ddlsim("compat", schema, written(tmp_path / "m.sql", MIXED), "--output", "junit")
    [suite] = ElementTree.fromstring(done.out)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "1")
    wrong = [[child.tag for child in case] for case in suite]
    assert wrong == [[], ["failure"], ["error"], []]
    assert "deploy clients that no longer use u" in str(suite[1][0].text)


def test_sarif_names_rule_place_and_what_is_ignored(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", MIXED)
    told = json.loads(ddlsim("compat", schema, migration, "--output", "sarif").out)
    assert told["version"] == "2.1.0"
    [run] = told["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "110.column.drop",
        "110.table.drop",
        "refused",
    ]
    ignored, dropped, refused = run["results"]
    assert (ignored["level"], dropped["level"], refused["level"]) == ("note", "error", "error")
    [suppression] = ignored["suppressions"]
    assert suppression == {"kind": "inSource", "justification": "gone since May"}
    place = dropped["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": migration}
    assert place["region"] == {"startLine": 3, "startColumn": 3}


def test_github_has_a_line_for_each_problem(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "100%, m.sql", MIXED)
    done = ddlsim("compat", schema, migration, "--output", "github")
    ignored, dropped, refused = done.out.splitlines()
    where = f"{migration}".replace("%", "%25").replace(",", "%2C")
    assert ignored.startswith(f"::notice file={where},line=2,col=1,title=ddlsim 110.column.drop::")
    assert dropped.startswith(f"::error file={where},line=3,col=3,title=ddlsim 110.table.drop::")
    assert refused.endswith("title=ddlsim refused::there is no table 'nobody'")
    fine = written(tmp_path / "fine.sql", "ALTER TABLE t ADD COLUMN w INT")
    assert ddlsim("compat", schema, fine, "--output", "github").out.strip() == ""


def test_a_schema_that_is_refused_is_bad_input(schema: str, tmp_path: Path) -> None:
    twice = written(tmp_path / "twice.sql", f"{SCHEMA}CREATE TABLE t (id INT PRIMARY KEY);")
    done = ddlsim("compat", twice, schema)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ddlsim: {twice}:3: ")


def test_a_refused_statement_is_exit_3_beside_the_report(schema: str, tmp_path: Path) -> None:
    migration = written(tmp_path / "m.sql", "DROP TABLE nobody;\nALTER TABLE u ADD COLUMN w INT")
    done = ddlsim("compat", schema, migration, "--output", "json")
    assert done.code == 3
    assert done.err == f"ddlsim: {migration}:1: refused: there is no table 'nobody'\n"
    assert [one["forward_compatible"] for one in json.loads(done.out)["statements"]] == [None, True]


def test_a_missing_file_is_named(schema: str) -> None:
    done = ddlsim("compat", schema, "nope.sql")
    assert done == (2, "", "ddlsim: nope.sql: No such file or directory\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xff", "it is not UTF-8 text"),
        (b"\xff\xfe", "it is UTF-16; save it as UTF-8"),
        (b"\x1f\x8b\x08\x08", "it is packed by gzip; unpack it"),
    ],
)
def test_a_file_that_is_no_text_is_named(
    content: bytes, said: str, schema: str, tmp_path: Path
) -> None:
    path = tmp_path / "bytes.sql"
    path.write_bytes(content)
    assert ddlsim("compat", schema, str(path)).err == f"ddlsim: {path}: {said}\n"
