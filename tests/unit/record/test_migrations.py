"""Statements of a migration: which end a transaction, and which reach beyond the copy."""

from importlib.util import find_spec

import pytest

from ddlsim.extras import EXTRAS
from ddlsim.record.rehearsal.migration import Order, reaching
from ddlsim.record.rehearsal.stages.base import STAGES
from ddlsim.record.url import url_of
from ddlsim.sql.splitting import split


def order(sql: str, database: str = "postgresql") -> Order:
    return Order(*split(sql, database)[0])


@pytest.mark.parametrize(
    ("sql", "ends"),
    [
        ("COMMIT", True), ("END TRANSACTION", True), ("ROLLBACK WORK", True), ("ABORT", True),
        ("ROLLBACK TO a", False), ("ROLLBACK TRANSACTION TO SAVEPOINT a", False),
        ("RELEASE SAVEPOINT a", False),
    ],
)  # fmt: skip
def test_a_return_to_a_savepoint_ends_no_transaction(sql: str, ends: bool) -> None:
    assert order(sql).ends is ends


REACHING = {
    "sqlite:///f": ["VACUUM main INTO 'x'", 'VACUUM "main" INTO \'x\''],
    "duckdb:///f": [
        "FORCE INSTALL httpfs", "EXPLAIN ANALYZE COPY t TO 'x'",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
        "CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3)", "DROP PERSISTENT SECRET s",
    ],
    "mariadb+pymysql://h/d": [
        "CREATE OR REPLACE DATABASE d", "CREATE OR REPLACE USER u", "SET PASSWORD = 'x'",
        "SET @@GLOBAL.read_only = 1", "SET SESSION a = 1, GLOBAL b = 2",
        "SELECT 1 INTO OUTFILE 'x'",
        "CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "SET STATEMENT a = 1 FOR DROP DATABASE d",
        "STOP SLAVE", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')",
        "/*! DROP DATABASE d */", "/*!50100 DROP DATABASE d */", "/*M!100100 DROP USER u */",
        "SELECT 1 /*! INTO OUTFILE 'x' */", "/* a */ /*!DROP*/ /*!50100 DATABASE*/ d",
        "EXECUTE IMMEDIATE 'DROP DATABASE d'", "PREPARE s FROM 'SET GLOBAL read_only = 1'",
        "EXECUTE IMMEDIATE CONCAT('DROP DATABASE ', @d)",
        "CREATE PROCEDURE p() BEGIN DROP DATABASE d; END",
        "CREATE PROCEDURE p() BEGIN IF 1 THEN GRANT ALL ON *.* TO u; END IF; END",
        "CREATE PROCEDURE p() BEGIN SET @a = 1; EXECUTE IMMEDIATE 'DROP USER u'; END",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DROP DATABASE d",
        "BEGIN NOT ATOMIC FLUSH TABLES; END",
    ],
    "postgresql+psycopg://h/d": [
        "GRANT a TO b", "REVOKE ADMIN OPTION FOR a FROM b", "GRANT CONNECT ON DATABASE d TO a",
        "COMMENT ON ROLE a IS 'x'", "CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p",
        "PREPARE TRANSACTION 'x'", "DO $$ BEGIN DROP ROLE a; END $$",
        "DO $$ BEGIN IF true THEN ALTER SYSTEM SET a = 1; END IF; END $$",
        "DO $$ BEGIN EXECUTE 'DROP ROLE a'; END $$",
        "DO $a$ DECLARE x int; BEGIN EXECUTE format($b$CREATE ROLE %I$b$, 'a'); END $a$",
        "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ SELECT 1; COPY t TO 'x' $$",
    ],
}  # fmt: skip
STAYING = {
    "sqlite:///f": ["VACUUM", "VACUUM main", "INSERT INTO t VALUES (1)"],
    "duckdb:///f": ["FORCE CHECKPOINT", "EXPLAIN ANALYZE SELECT 1", "CREATE SECRET s (TYPE s3)"],
    "mariadb+pymysql://h/d": [
        "CREATE OR REPLACE TABLE d (a INT)", "SET SESSION sql_mode = ''", "INSERT INTO t SELECT 1",
        "SET STATEMENT a = 1 FOR ALTER TABLE t ADD b INT",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
        "/*!40101 SET NAMES utf8 */", "/* DROP DATABASE d */ SELECT 1",
        "SELECT '/*! DROP USER u */'", "SELECT 1 -- /*! DROP USER u */",
        "SELECT `/*!DROP USER` FROM t",
        "INSERT INTO t VALUES ('DROP DATABASE d')", "EXECUTE IMMEDIATE 'ALTER TABLE t ADD b INT'",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 'drop database'; END",
        "PREPARE s FROM @sql", "CREATE PROCEDURE p() BEGIN SELECT kill FROM t; END",
    ],
    "postgresql+psycopg://h/d": [
        "GRANT SELECT ON t TO b", "REVOKE ALL ON ALL TABLES IN SCHEMA s FROM b",
        "COMMENT ON TABLE t IS 'x'", "PREPARE p AS SELECT 1",
        "DO $$ BEGIN RAISE NOTICE 'drop role a'; END $$", "SELECT $$ DROP ROLE a $$",
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f('copy')",
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$",
        "DO $$ BEGIN EXECUTE 'ALTER TABLE t ADD a int'; END $$",
    ],
}  # fmt: skip


@pytest.mark.parametrize("url", REACHING)
def test_statements_that_reach_beyond_the_copy_have_a_form(url: str) -> None:
    if not url.startswith("sqlite") and any(find_spec(one) is None for one in EXTRAS["real"]):
        pytest.skip("needs the extra real")
    at = url_of(url)
    stage = STAGES.get(at.drivername)(at, prepared=False)

    def reaches(sqls: list[str]) -> list[str]:
        return [sql for sql in sqls if reaching(stage, order(sql, stage.name))]

    assert reaches(REACHING[url]) == REACHING[url]
    assert reaches(STAYING[url]) == []


@pytest.mark.skipif(any(find_spec(one) is None for one in EXTRAS["real"]), reason="needs real")
def test_the_structure_of_an_older_server_is_read_too() -> None:
    """Versions before 17 have no transaction_timeout; a body of a function stays as it is."""
    from ddlsim.record.rehearsal.stages.postgresql import CLIENTS

    body = "CREATE FUNCTION f() AS $$\n\\d\n$$;\n"
    head = "\\restrict x1\n\nSET lock_timeout = 0;\nSET transaction_timeout = 0;\n"
    told = CLIENTS.sub("", f"{head}{body}\\unrestrict x1\n")
    assert told == f"\nSET lock_timeout = 0;\n{body}"
