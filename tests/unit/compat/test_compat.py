"""The linter says who survives a migration, statement by statement and table by table."""

from typing import Any

import pytest

from ddlsim.lint.compat import (
    RefusedSchemaError,
    Report,
    UnreadableError,
    exit_code,
)
from tests.support.linting import lint

SCHEMA = """CREATE TABLE Accounts (id INT PRIMARY KEY, v INT);
CREATE TABLE log (id INT PRIMARY KEY); CREATE VIEW w AS SELECT id FROM log;"""


def linted(*statements: str) -> Report:
    return lint(SCHEMA, ";\n".join(statements))


def verdicts(report: Report) -> list[Any]:
    return [statement["forward_compatible"] for statement in report["statements"]]


def tables(report: Report) -> dict[str, Any]:
    return {name: entry["because"] for name, entry in report["tables"].items()}


def test_the_report_has_the_shape_of_the_interface() -> None:
    report = linted("ALTER TABLE accounts DROP COLUMN V")
    assert report["format"] == 1
    (statement,) = report["statements"]
    assert statement == {
        "sql": "ALTER TABLE accounts DROP COLUMN V",
        "file": "migration",
        "line": 1,
        "column": 1,
        "objects": ["Accounts"],
        "tables": ["Accounts"],
        "forward_compatible": False,
        "backward_compatible": False,
        "rules": [
            {
                "clause": "110.column.drop",
                "verdict": "incompatible",
                "reason": "an upgraded tuple would have less information",
                "column": "v",
            }
        ],
        "error": None,
        "no_op": None,
        "remedy": [
            {"do": "deploy clients that no longer use column v of accounts", "sql": None},
            {"do": "let every transaction end that used accounts before (drain)", "sql": None},
            {"do": "then", "sql": "ALTER TABLE accounts DROP COLUMN V"},
        ],
        "ignored": None,
    }
    fine = {"forward_compatible": True, "because": None}
    untouched = {**fine, "backward_compatible": True, "changed_by": None}
    doomed = {"forward_compatible": False, "because": 0}
    assert report["tables"] == {
        "Accounts": {**doomed, "backward_compatible": False, "changed_by": 0},
        "log": untouched,
        "w": untouched,
    }


def test_an_empty_migration_harms_nobody() -> None:
    report = linted("-- nothing")
    assert report["statements"] == []
    assert tables(report) == {"Accounts": None, "log": None, "w": None}
    assert exit_code(report) == 0


def test_the_first_incompatible_statement_is_the_cause() -> None:
    report = linted(
        "ALTER TABLE accounts ADD COLUMN a INT",
        "ALTER TABLE log ADD COLUMN a INT",
        "ALTER TABLE accounts DROP COLUMN a",
        "ALTER TABLE accounts DROP COLUMN v",
    )
    assert verdicts(report) == [True, True, False, False]
    assert tables(report) == {"Accounts": 2, "log": None, "w": None}
    assert [statement["line"] for statement in report["statements"]] == [1, 2, 3, 4]
    assert exit_code(report) == 1


def test_tables_are_followed_through_renames() -> None:
    report = linted("ALTER TABLE log RENAME TO old", "ALTER TABLE old ADD COLUMN a INT")
    assert tables(report)["log"] == 0
    assert [statement["objects"] for statement in report["statements"]] == [["log"], ["old"]]
    assert [statement["tables"] for statement in report["statements"]] == [["log", "w"]] * 2


def test_another_table_under_the_old_name_is_not_the_table_of_the_schema() -> None:
    report = linted(
        "ALTER TABLE accounts ADD COLUMN a INT",
        "CREATE TABLE fresh (id INT PRIMARY KEY)",
        "DROP TABLE fresh",
        "CREATE TABLE fresh (id INT PRIMARY KEY, v INT)",
        "ALTER TABLE fresh DROP COLUMN v",
    )
    assert verdicts(report) == [True, True, False, True, False]
    assert tables(report) == {"Accounts": None, "log": None, "w": None}


def test_a_dropped_table_is_lost_even_if_it_is_created_again() -> None:
    report = linted("DROP TABLE accounts", "CREATE TABLE accounts (id INT PRIMARY KEY, v INT)")
    assert tables(report)["Accounts"] == 0


def test_a_refused_statement_is_bad_input_and_the_rest_is_judged_without_it() -> None:
    report = linted(
        "ALTER TABLE accounts ADD COLUMN a INT NOT NULL",
        "ALTER TABLE accounts ADD COLUMN b INT",
        "ALTER TABLE accounts DROP COLUMN a",
    )
    assert verdicts(report) == [None, True, None]
    first, _, last = report["statements"]
    assert first["error"]["reason"] == "DDL_REFUSED"
    assert "[110.column.add]" in first["error"]["message"]
    assert last["error"] == {
        "reason": "OBJECT_NOT_FOUND",
        "message": "table 'accounts' has no column 'a'",
    }
    assert tables(report)["Accounts"] is None
    assert exit_code(report) == 3


def test_a_statement_that_does_nothing_says_so() -> None:
    report = linted("DROP TABLE IF EXISTS nothing")
    (statement,) = report["statements"]
    assert statement["no_op"] == "there is no table 'nothing'"
    assert statement["forward_compatible"] is True
    assert statement["rules"] == []


def test_the_baseline_chooses_the_rules() -> None:
    rename = "ALTER TABLE accounts RENAME COLUMN v TO u"
    assert verdicts(lint(SCHEMA, rename, "iep")) == [True]
    assert verdicts(lint(SCHEMA, rename, "ignite3")) == [False]
    assert lint(SCHEMA, rename, "ignite3")["baseline"] == "ignite3"


def test_on_empty_tables_a_mandatory_column_is_judged_and_not_refused() -> None:
    """[110.later.2]: whoever has written a row without a value may not commit."""
    add = "ALTER TABLE accounts ADD COLUMN w INT NOT NULL"
    report = lint(SCHEMA, f"{add}; {add.replace('w', 'x')} DEFAULT 1; {add}, DROP COLUMN v", "b12")
    assert verdicts(report) == [False, True, None]
    assert report["statements"][0]["rules"] == [
        {
            "clause": "110.column.add",
            "verdict": "incompatible",
            "reason": "an old tuple has no value for a column that needs one",
            "column": "w",
        }
    ]
    assert tables(report)["Accounts"] == 0


def test_a_schema_that_cannot_be_built_is_bad_input() -> None:
    with pytest.raises(RefusedSchemaError) as caught:
        lint("CREATE TABLE a (id INT);\nCREATE TABLE a (id INT)", "DROP TABLE a")
    assert str(caught.value) == "schema:2: table 'a' exists already"


def test_what_changes_no_schema_is_passed_over() -> None:
    rows = "INSERT INTO log VALUES (1); MERGE INTO log USING w ON w.id = log.id WHEN MATCHED THEN"
    report = linted("SELECT * FROM log", "DROP VIEW w", f"{rows} UPDATE SET id = 1", "COMMIT")
    assert [one["sql"] for one in report["statements"]] == ["DROP VIEW w"]
    passed = [one["sql"].split()[0] for one in report["passed_over"]]
    assert passed == ["SELECT", "INSERT", "MERGE", "COMMIT"]
    assert report["passed_over"][1]["line"] == 3


NO_DDL = (
    "UPDATE log SET id = id + 1",
    "DELETE FROM log WHERE id IN (1, 2) OR id BETWEEN 5 AND 9",
    "INSERT INTO log SELECT id FROM accounts WHERE v > 'DROP'",
    'DELETE FROM log /* DROP TABLE log */ WHERE "DROP" = 1',
    "(SELECT id FROM log) UNION ALL (SELECT 1)",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "VALUES (1), (2)",
    "TABLE log",
    "DESCRIBE log",
    "EXPLAIN PLAN FOR SELECT * FROM log",
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "ROLLBACK",
    "SET x = 1",
    "KILL QUERY '1'",
)


@pytest.mark.parametrize("sql", NO_DDL)
def test_whatever_stands_in_a_statement_about_rows_it_is_passed_over(sql: str) -> None:
    report = linted(sql, "DROP TABLE accounts")
    assert [one["sql"] for one in report["statements"]] == ["DROP TABLE accounts"]
    [passed] = report["passed_over"]
    assert (passed["sql"], passed["word"]) == (sql, sql.lstrip("(").split()[0])


NO_IGNITE = (
    ("GRANT SELECT ON log TO bob", "1:1: GRANT begins no statement of Ignite; expected CREATE"),
    ("TRUNCATE TABLE log", "1:1: TRUNCATE begins no statement of Ignite; expected CREATE"),
    ("COMMENT ON TABLE log IS 'x'", "1:1: COMMENT begins no statement of Ignite"),
    ('"SELECT" 1', '1:1: "SELECT" begins no statement of Ignite'),
    ("'INSERT' 1", "1:1: 'INSERT' begins no statement of Ignite"),
    ("CREATE SCHEMA s", "1:8: CREATE SCHEMA is not modelled; expected TABLE"),
    ("DROP SCHEMA s CASCADE", "1:6: DROP SCHEMA is not modelled; expected TABLE"),
    ("CREATE SEQUENCE s", "1:8: unexpected 'SEQUENCE'; expected TABLE"),
    ("INSERT INTO log VALUES (1)\nDROP TABLE log", "2:1: DROP within INSERT; expected ';' before"),
    ("SELECT 1\nALTER TABLE log ADD x INT", "2:1: ALTER within SELECT; expected ';' before"),
)


@pytest.mark.parametrize(("sql", "words"), NO_IGNITE)
def test_a_statement_that_ignite_lacks_is_named_with_what_is_understood(
    sql: str, words: str
) -> None:
    with pytest.raises(UnreadableError) as caught:
        linted(sql)
    assert caught.value.lines[0].startswith(f"migration:{words}")


def test_all_that_is_no_sql_is_told_at_once() -> None:
    wrong = "DROP TABEL a; DROP TABLE log;\nALTER TABLE log ADD; DROP"
    with pytest.raises(UnreadableError) as caught:
        lint("CREATE TABLE", wrong)
    assert [line.partition(": ")[0] for line in caught.value.lines] == [
        "schema:1:13",
        "migration:1:6",
        "migration:2:20",
        "migration:2:26",
    ]


IGNORED = [
    ("-- ddlsim: ignore\nDROP TABLE accounts", ["110.table.drop"]),
    ("-- ddlsim: ignore 110.table.drop gone since May\nDROP TABLE accounts", ["110.table.drop"]),
    ("DROP TABLE accounts -- ddlsim: ignore: gone", ["110.table.drop"]),
    ("DROP TABLE /* ddlsim: ignore */ accounts", ["110.table.drop"]),
    ("-- ddlsim: ignore 110.column.drop\nDROP TABLE accounts", None),
    ("-- ddlsim: ignore\n\nDROP TABLE accounts", UnreadableError),
    ("-- ddlsim: ignore 110.table.dorp\nDROP TABLE accounts", UnreadableError),
    ('ALTER TABLE accounts ADD COLUMN "-- ddlsim: ignore" INT; DROP TABLE accounts', None),
    ("DROP VIEW w; -- ddlsim: ignore\nDROP TABLE accounts", None),
    (
        "-- ddlsim: ignore 110.column.drop\n-- ddlsim: ignore 110.table.drop\nDROP TABLE accounts",
        ["110.table.drop"],
    ),
    ("-- ddlsim: ignore 110.table.drop, 110.view: gone\nDROP TABLE accounts", ["110.table.drop"]),
    ("-- ddlsim: ignore\n-- nothing has used it\nDROP TABLE accounts", ["110.table.drop"]),
    ("/* ddlsim: ignore\n 110.table.drop */\nDROP TABLE accounts", ["110.table.drop"]),
    ("DROP TABLE accounts\n; -- ddlsim: ignore", ["110.table.drop"]),
    ("-- ddlsim: ignored\nDROP TABLE accounts", UnreadableError),
    ("-- ddlsim: ignore 110\nDROP TABLE accounts", UnreadableError),
    ("SELECT 1; -- ddlsim: ignore\nDROP TABLE accounts", UnreadableError),
]


@pytest.mark.parametrize(("text", "clauses"), IGNORED)
def test_a_comment_keeps_a_verdict_out_of_the_exit_code(text: str, clauses: Any) -> None:
    if clauses is UnreadableError:
        with pytest.raises(UnreadableError, match=r"migration:1: .*ddlsim: ignore"):
            linted(text)
        return
    report = linted(text)
    last = report["statements"][-1]
    assert last["forward_compatible"] is False
    assert (None if last["ignored"] is None else last["ignored"]["clauses"]) == clauses
    assert exit_code(report) == (1 if clauses is None else 0)


def test_by_iep_110_no_change_is_backward_compatible() -> None:
    report = linted("ALTER TABLE accounts ADD COLUMN w INT", "CREATE TABLE q (id INT)")
    assert [one["backward_compatible"] for one in report["statements"]] == [False, True]
    assert report["tables"]["Accounts"]["changed_by"] == 0
    assert report["tables"]["Accounts"]["forward_compatible"] is True


def test_by_ignite_3_an_index_is_no_new_version_of_its_table() -> None:
    for baseline, backward in (("iep", False), ("ignite3", True)):
        report = lint(SCHEMA, "CREATE INDEX i ON accounts (v)", baseline)
        assert report["tables"]["Accounts"]["backward_compatible"] is backward


def test_from_scratch_tables_count_from_their_creation() -> None:
    report = lint(
        None,
        "CREATE TABLE a (id INT PRIMARY KEY, v INT); ALTER TABLE a DROP COLUMN v;"
        "CREATE TABLE b (id INT PRIMARY KEY); ALTER TABLE b ADD COLUMN c INT",
    )
    assert verdicts(report) == [True, False, True, True]
    assert tables(report) == {"a": 1, "b": None}


def test_from_scratch_the_first_harm_to_a_name_stays() -> None:
    dropped = "CREATE TABLE a (id INT); DROP TABLE a; CREATE TABLE a (id INT)"
    assert tables(lint(None, dropped)) == {"a": 1}
    late = "CREATE TABLE a (id INT); ALTER TABLE a RENAME TO b; CREATE TABLE a (id INT, v INT);"
    assert tables(lint(None, late + "ALTER TABLE a DROP COLUMN v")) == {"a": 1}


def test_a_view_is_used_with_the_tables_that_it_reads() -> None:
    """A transaction that used the view has enlisted log beside it [110.view]."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE VIEW w AS SELECT id FROM t"
    found = lint(schema, "CREATE TABLE u (id INT); ALTER TABLE t DROP COLUMN v")["tables"]
    assert [found[name]["because"] for name in ("t", "w")] == [1, 1]
    assert found["w"]["changed_by"] == 1
