"""What is not understood is an error at its very place; nothing is skipped or only warned of."""

import logging

import pytest

from ddlsim.sql import SqlError, parse
from ddlsim.sql.dialect import Ignite
from ddlsim.sql.errors import Unread

UNREADABLE = [
    ("FROB x", 1, "CREATE, ALTER, DROP or SELECT"),
    ("INSERT INTO t VALUES (1)", 1, "CREATE, ALTER, DROP or SELECT"),
    ("SHOW TABLES", 1, "CREATE, ALTER, DROP or SELECT"),
    ("RENAME TABLE a TO b", 1, "CREATE, ALTER, DROP or SELECT"),
    ("CREATE", 7, "TABLE, [UNIQUE] INDEX, VIEW or ZONE"),
    ("CREATE OR REPLACE VIEW v AS SELECT 1", 8, "TABLE, [UNIQUE] INDEX, VIEW or ZONE"),
    ("CREATE UNIQUE TABLE t (a INT)", 15, "INDEX"),
    ("CREATE TABLE select (a INT)", 14, "a table name"),
    ("CREATE TABLE sys.t (a INT)", 17, "no schema but PUBLIC"),
    ("CREATE TABLE t", 15, "'('"),
    ("CREATE TABLE t (a INT", 22, "',' or ')'"),
    ("CREATE TABLE t ()", 17, "a column name"),
    ("CREATE TABLE t (a FOO)", 19, "a type"),
    ("CREATE TABLE t (a CHAR(3))", 19, "a type"),
    ("CREATE TABLE t (a INT) ENGINE = x", 24, "ZONE"),
    ("CREATE TABLE t (a INT) AS SELECT 1", 24, "ZONE"),
    ("CREATE TABLE t (a INT) ZONE y ZONE z", 31, "one zone"),
    ("CREATE TABLE t (a INT) WITH (ZONE=y, ZONE=z)", 38, "one zone"),
    ("CREATE TABLE t (a INT) WITH (TEMPLATE='x')", 30, "ZONE"),
    ("CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))", 36, "one primary key"),
    ("CREATE TABLE t (a INT NULL PRIMARY KEY)", 23, "NOT NULL"),
    ("CREATE TABLE t (a INT NOT NULL NULL)", 32, "another part"),
    ("CREATE TABLE t (a INT DEFAULT 1 DEFAULT 2)", 33, "another part"),
    ("CREATE TABLE t (a INT COLLATE x)", 23, "',' or ')'"),
    ("CREATE TABLE t (a INT CONSTRAINT c)", 35, "CHECK, UNIQUE or REFERENCES"),
    ("CREATE TABLE t (CONSTRAINT c)", 29, "CHECK, UNIQUE, FOREIGN KEY or PRIMARY KEY"),
    ("CREATE TABLE t (a INT CHECK (a >))", 33, "an expression"),
    ("CREATE TABLE t (a INT CHECK ())", 30, "an expression"),
    ("CREATE TABLE t (a INT CHECK (a > 0 0))", 36, "')'"),
    ("CREATE TABLE t (a INT CHECK (IF a > 0))", 33, "')'"),
    ("CREATE TABLE t (a INT CHECK (a IN (1, )))", 39, "an expression"),
    ("CREATE TABLE t (a INT REFERENCES u ON DELETE EXPLODE)", 46, "NO ACTION"),
    ("CREATE TABLE t (a INT PRIMARY KEY USING TREE)", 41, "SORTED or HASH"),
    ("ALTER TABLE t", 14, "ADD, DROP, ALTER or RENAME"),
    ("ALTER TABLE t ADD COLUMN a INT, ", 32, "ADD, DROP, ALTER or RENAME"),
    ("ALTER TABLE t ADD COLUMN a INT, b INT", 33, "ADD, DROP, ALTER or RENAME"),
    ("ALTER TABLE t ADD COLUMN a INT FIRST", 32, "',' or the end of the statement"),
    ("ALTER TABLE t ADD COLUMN a INT AFTER b", 32, "',' or the end of the statement"),
    ("ALTER TABLE t ADD COLUMN a INT DEFAULT now()", 40, "a constant"),
    ("ALTER TABLE t ADD COLUMN a INT DEFAULT 1 + 1", 42, "',' or the end of the statement"),
    ("ALTER TABLE t ADD COLUMN a INT DEFAULT DATE 5", 45, "a string after DATE"),
    ("ALTER TABLE t ADD COLUMN a INT PRIMARY KEY", 26, "a column of no key"),
    ("ALTER TABLE t ADD PRIMARY KEY (a)", 19, "a column or a constraint"),
    ("ALTER TABLE t ADD CONSTRAINT p PRIMARY KEY (a)", 19, "a column or a constraint"),
    ("ALTER TABLE t DROP PRIMARY KEY", 20, "a column or a constraint"),
    ("ALTER TABLE t DROP COLUMN a CASCADE", 29, "',' or the end of the statement"),
    ("ALTER TABLE t RENAME COLUMN a b", 31, "TO"),
    ("ALTER TABLE t RENAME a TO b", 22, "COLUMN"),
    ("ALTER TABLE t RENAME TO u, DROP COLUMN a", 26, "RENAME TO stands alone"),
    ("ALTER TABLE t ALTER COLUMN a", 29, "SET or DROP"),
    ("ALTER TABLE t ALTER COLUMN a TYPE INT", 30, "SET or DROP"),
    ("ALTER TABLE t ALTER COLUMN a SET DATA INT", 39, "TYPE"),
    ("ALTER TABLE t ALTER COLUMN a SET 5", 34, "DATA TYPE, NOT NULL or DEFAULT"),
    ("ALTER TABLE t ALTER COLUMN a DROP NULL", 35, "DEFAULT"),
    ("ALTER TABLE t ALTER COLUMN a SET DATA TYPE INT USING a", 48, "NOT NULL, NULL, DEFAULT"),
    ("ALTER TABLE t ALTER COLUMN a SET DEFAULT 1 DROP DEFAULT", 44, "once each"),
    ("ALTER TABLE t ALTER COLUMN a SET NOT NULL DROP NOT NULL", 43, "once each"),
    ("ALTER TABLE t ADD a VARCHAR(0)", 29, "a length"),
    ("ALTER TABLE t ADD a VARCHAR(x)", 29, "a length"),
    ("ALTER TABLE t ADD a DECIMAL(5, 99999)", 32, "a scale"),
    ("ALTER TABLE t ADD a TIME(10)", 26, "a precision"),
    ("ALTER TABLE t ADD a TIMESTAMP WITH TIME ZONE", 36, "LOCAL"),
    ("DROP SEQUENCE s", 6, "TABLE, INDEX, VIEW or ZONE"),
    ("DROP TABLE a, b", 13, "the end of the statement"),
    ("DROP TABLE IF NOT EXISTS a", 12, "the name of the table"),
    ("CREATE INDEX i ON t", 20, "'('"),
    ("CREATE INDEX i ON t (lower(a))", 27, "',' or ')'"),
    ("CREATE INDEX i ON t (a) WHERE a > 0", 25, "the end of the statement"),
    ("CREATE VIEW v (a) AS SELECT 1", 15, "AS"),
    ("CREATE VIEW v AS", 17, "SELECT or WITH"),
    ("CREATE VIEW v AS SELECT", 18, "a query"),
    ("CREATE VIEW v AS SELECT FROM t", 18, "a query"),
    ("CREATE VIEW v AS DROP TABLE t", 18, "SELECT or WITH"),
    ("CREATE VIEW v AS SELECT a b c FROM t", 29, "a query"),
    ("CREATE VIEW v AS SELECT a FROM sys.t", 32, "no schema but PUBLIC"),
    ("CREATE VIEW v AS SELECT a, FROM t", 28, "an expression"),
    ("CREATE VIEW v AS SELECT a FROM (DROP TABLE t)", 33, "table name"),
    ("CREATE VIEW v AS WITH c AS (INSERT INTO t VALUES (1)) SELECT 1", 29, "')'"),
    ("CREATE VIEW v AS WITH c AS (CREATE FUNCTION f) SELECT 1", 29, "')'"),
    ("ALTER VIEW v AS SELECT 1", 14, "RENAME"),
    ("CREATE ZONE z WITH FOO=1", 20, "PARTITIONS, REPLICAS or another option"),
    ("CREATE ZONE z WITH REPLICAS=1, REPLICAS=2", 32, "each option once"),
    ("CREATE ZONE z WITH REPLICAS=0", 29, "a count"),
    ("ALTER INDEX i RENAME TO j", 7, "TABLE, VIEW or ZONE"),
    ("SELECT a FROM t WHERE b > 1", 25, "'='"),
    ("SELECT a FROM t WHERE b = 1 OR b = 2", 29, "AND, or the end"),
    ("SELECT a FROM t ORDER BY a", 17, "WHERE, or the end"),
    ("SELECT a FROM t, u", 16, "WHERE, or the end"),
    ("SELECT count(*) FROM t", 13, "FROM"),
    ("DROP TABLE 'a'", 12, "the name of the table"),
    ("DROP TABLE N'a'", 12, "the name of the table"),
    ('DROP TABLE ""', 12, "the name of the table"),
    ('DROP TABLE "" a', 12, "the name of the table"),
    ("ELSE; DROP TABLE b", 1, "CREATE, ALTER, DROP or SELECT"),
    ("DROP TABLE a 'x", 14, "its end"),
    ('DROP TABLE "a', 12, "its end"),
    ("DROP TABLE a /* x", 14, "its end"),
    ("DROP TABLE a {# x #}", 14, "SQL"),
    ("DROP TABLE a {{ x }}", 14, "the end of the statement"),
    ("DROP TABLE $a", 12, "the name of the table"),
]


SLIPS = [
    ("CREATE TABLE t, (a INT)", 15, "'('"),
    ("CREATE TABLE t (a INT,)", 23, "a column name"),
    ("CREATE TABLE t (a INT) AS", 24, "the end of the statement"),
    ("CREATE TABLE t (a INT) SHALLOW", 24, "the end of the statement"),
    ("CREATE TABLE t (a INT UNIQUE KEY)", 30, "',' or ')'"),
    ("CREATE TABLE t (a VARCHAR())", 27, "a length"),
    ("CREATE TABLE t (a DECIMAL(5,,2))", 29, "a scale"),
    ("CREATE TABLE t (a TIME WITH LOCAL TIME ZONE)", 24, "',' or ')'"),
    ("CREATE VIEW v, AS SELECT 1", 14, "AS"),
    ("CREATE VIEW v SELECT 1", 15, "AS"),
    ("CREATE INDEX i t (a)", 16, "ON"),
    ("CREATE INDEX i ON TABLE t (a)", 19, "a table name"),
    ("ALTER TABLE t ADD a INT ARRAY", 25, "the end of the statement"),
    ("ALTER TABLE t ADD a INT,", 25, "ADD, DROP, ALTER or RENAME"),
    ("ALTER TABLE t RENAME u", 22, "COLUMN"),
    ("ALTER TABLE t ALTER COLUMN a INT", 30, "SET or DROP"),
    ("SELECT ALL a FROM t", 12, "FROM"),
    ("SELECT a, FROM t", 11, "column names"),
    ("SELECT +a FROM t", 8, "column names"),
    ("SELECT a FROM t *", 17, "the end of the statement"),
    ("SELECT a FROM t WHERE b == 1", 25, "'='"),
]
"""What sqlglot itself reads without a word, as if the slip were not there."""


@pytest.mark.parametrize(
    ("text", "column", "expected"), UNREADABLE + SLIPS, ids=[case[0] for case in UNREADABLE + SLIPS]
)
def test_errors_have_line_and_column(
    text: str, column: int, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(SqlError) as caught:
        parse(f"DROP TABLE one;\n{text}", first_line=3)
    assert (caught.value.line, caught.value.column) == (4, column)
    assert expected in caught.value.expected
    assert caplog.records == []


def test_parse_refuses_commands_that_sqlglot_passes_over() -> None:
    """sqlglot makes a Command of an IF that stands first, where a dialect lets it."""
    with pytest.raises(Unread) as caught:
        Ignite().parse("IF a > 0")
    assert (caught.value.offset, caught.value.expected) == (0, "SQL that sqlglot can read")


def test_sql_errors_can_be_pickled() -> None:
    error = SqlError("unexpected 'x'", 3, 4, "a type")
    again = type(error)(*error.args)
    assert str(again) == str(error) == "line 3, column 4: unexpected 'x'; expected a type"


def test_parse_refuses_text_after_a_statement() -> None:
    """Every readable statement with one more word behind it is unreadable."""
    for text in (
        "CREATE TABLE t (a INT) ZONE z",
        "ALTER TABLE t ADD COLUMN a INT",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
        "DROP TABLE t",
        "CREATE INDEX i ON t (a)",
        "DROP INDEX i",
        "ALTER VIEW v RENAME TO w",
        "CREATE ZONE z WITH REPLICAS=1",
        "ALTER ZONE z SET REPLICAS 1",
        "DROP ZONE z",
        "SELECT * FROM t",
        "SELECT a FROM t WHERE id = 1",
    ):
        assert len(parse(text)) == 1
        for word in ("surplus", "5", "'x'", ")", ","):
            with pytest.raises(SqlError):
                parse(f"{text} {word}")


def test_parse_refuses_deep_nesting() -> None:
    """Not a crash of the reader."""
    deep = "(" * 5000 + "a > 0" + ")" * 5000
    with pytest.raises(SqlError, match="nested too deeply"):
        parse(f"CREATE TABLE t (a INT PRIMARY KEY, CHECK ({deep}))")
