"""Statements of a migration: which end a transaction, and which reach beyond the copy."""

from importlib.util import find_spec

import pytest

from ddlsim.extras import EXTRAS
from ddlsim.record.rehearsal.migration import Order
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
    ],
    "postgresql+psycopg://h/d": [
        "GRANT a TO b", "REVOKE ADMIN OPTION FOR a FROM b", "GRANT CONNECT ON DATABASE d TO a",
        "COMMENT ON ROLE a IS 'x'", "CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p",
        "PREPARE TRANSACTION 'x'",
    ],
}  # fmt: skip
STAYING = {
    "sqlite:///f": ["VACUUM", "VACUUM main", "INSERT INTO t VALUES (1)"],
    "duckdb:///f": ["FORCE CHECKPOINT", "EXPLAIN ANALYZE SELECT 1", "CREATE SECRET s (TYPE s3)"],
    "mariadb+pymysql://h/d": [
        "CREATE OR REPLACE TABLE d (a INT)", "SET SESSION sql_mode = ''", "INSERT INTO t SELECT 1",
        "SET STATEMENT a = 1 FOR ALTER TABLE t ADD b INT",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
    ],
    "postgresql+psycopg://h/d": [
        "GRANT SELECT ON t TO b", "REVOKE ALL ON ALL TABLES IN SCHEMA s FROM b",
        "COMMENT ON TABLE t IS 'x'", "PREPARE p AS SELECT 1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("url", REACHING)
def test_statements_that_reach_beyond_the_copy_have_a_form(url: str) -> None:
    if not url.startswith("sqlite") and any(find_spec(one) is None for one in EXTRAS["real"]):
        pytest.skip("needs the extra real")
    at = url_of(url)
    stage = STAGES.get(at.scheme)(at, prepared=False)

    def reaching(sqls: list[str]) -> list[str]:
        return [sql for sql in sqls if stage.reaches_out(order(sql, stage.name).words)]

    assert reaching(REACHING[url]) == REACHING[url]
    assert reaching(STAYING[url]) == []


@pytest.mark.skipif(any(find_spec(one) is None for one in EXTRAS["real"]), reason="needs real")
def test_the_structure_of_an_older_server_is_read_too() -> None:
    """Versions before 17 have no transaction_timeout; a body of a function stays as it is."""
    from ddlsim.record.rehearsal.stages.postgresql import CLIENTS

    body = "CREATE FUNCTION f() AS $$\n\\d\n$$;\n"
    head = "\\restrict x1\n\nSET lock_timeout = 0;\nSET transaction_timeout = 0;\n"
    told = CLIENTS.sub("", f"{head}{body}\\unrestrict x1\n")
    assert told == f"\nSET lock_timeout = 0;\n{body}"
