"""A file of SQL falls into the statements that a database's own client would send."""

import pytest

from ddlsim.sql.errors import SqlError
from ddlsim.sql.splitting import FAMILIES, split


def texts(sql: str, database: str = "postgresql") -> list[str]:
    return [one.sql for one in split(sql, database)]


@pytest.mark.parametrize("database", FAMILIES)
def test_semicolons_in_strings_names_and_comments_end_nothing(database: str) -> None:
    parts = ["INSERT INTO t VALUES ('a;b', 'it''s; so')", "SELECT 1", "DROP TABLE u"]
    sql = f"-- first; of all\n{parts[0]};\n;{parts[1]}; /* ; */ ;;\n{parts[2]}"
    assert texts(sql, database) == parts


@pytest.mark.parametrize(
    ("sql", "database"),
    [
        ("CREATE FUNCTION f() RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql", "postgresql"),
        ("DO $body$ BEGIN PERFORM 1; END; $body$", "postgresql"),
        ("INSERT INTO t VALUES (E'it\\'s;')", "postgresql"),
        ("CALL f('a;b')", "postgresql"),
        ('ALTER TABLE "a;b" ADD COLUMN c int', "postgresql"),
        ("ALTER TABLE `a;b` ADD COLUMN c int", "mariadb"),
        ("INSERT INTO t VALUES ('it\\'s;')", "mariadb"),
        (("CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET v = CASE WHEN 1 THEN 2 END; "
         "DELETE FROM u; END"), "sqlite"),
        ("CREATE PROCEDURE p() BEGIN IF 1 THEN SELECT 1; END IF; SELECT 2; END", "mariadb"),
        ("CREATE PROCEDURE p() BEGIN CASE 1 WHEN 1 THEN SELECT 1; END CASE; SELECT 2; END",
         "mariadb"),
        (("CREATE OR REPLACE DEFINER=`root`@`localhost` TRIGGER g BEFORE INSERT ON t FOR EACH ROW "
         "BEGIN SET NEW.a = 1; SET NEW.b = 2; END"), "mariadb"),
        ('''CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET "end" = 1; SELECT 1; END''',
         "sqlite"),
        ("BEGIN NOT ATOMIC SELECT 1; IF 1 THEN SELECT 2; END IF; END", "mariadb"),
        ("/*!40101 SET NAMES utf8 */", "mariadb"),
        ("ALTER TABLE t /*! ADD COLUMN a int */", "mariadb"),
        (("CREATE /*!50017 DEFINER=`r`@`h`*/ TRIGGER g BEFORE INSERT ON t FOR EACH ROW "
         "BEGIN SET NEW.a = 1; SET NEW.b = 2; END"), "mariadb"),
        ("SELECT '/*! a */; -- b'", "mariadb"),
        ("CREATE TABLE event (id int, begin date)", "postgresql"),
        ('CREATE TABLE "function" (id int, "begin" date)', "postgresql"),
        ("CREATE VIEW event AS SELECT 1 AS begin", "postgresql"),
        ("SELECT 'first\n\\.second'", "postgresql"),
    ],
)  # fmt: skip
def test_a_statement_stays_whole(sql: str, database: str) -> None:
    assert texts(f"SELECT 0; {sql}; SELECT 9", database) == ["SELECT 0", sql, "SELECT 9"]


def test_begin_and_end_of_a_transaction_are_statements() -> None:
    assert texts("BEGIN; SELECT 1; END; SELECT 2") == ["BEGIN", "SELECT 1", "END", "SELECT 2"]


def test_lines_words_and_qualifiers_are_told() -> None:
    [_, one] = split("SELECT 1;\n\nalter table Shop.orders\n add x int default 'a.b'", "sqlite")
    assert one.line == 3
    assert one.words == ("ALTER", "TABLE", "SHOP", ".", "ORDERS", "ADD", "X", "INT", "DEFAULT")
    assert one.qualifiers == {"SHOP"}


@pytest.mark.parametrize(
    ("sql", "line", "database"),
    [
        ("SELECT 1;\n\\connect other\n", 2, "postgresql"),
        ("SELECT 1;\n\\echo it's\n", 2, "postgresql"),
        ("SELECT 1;\nDELIMITER //\n", 2, "mariadb"),
        ("SELECT 'a", 1, "postgresql"),
    ],
)
def test_what_is_no_statement_is_told(sql: str, line: int, database: str) -> None:
    with pytest.raises(SqlError) as error:
        split(sql, database)
    assert error.value.line == line
