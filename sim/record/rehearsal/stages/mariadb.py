"""MariaDB: a database of the rehearsal's own, with the tables that SHOW CREATE TABLE tells."""

from collections.abc import Iterator
from contextlib import contextmanager

from ddlsim.record.dialects.base import Connection, RefusedError
from ddlsim.record.dialects.mariadb import Mariadb
from ddlsim.record.rehearsal.stages.base import STAGES, Limits, Stage, Waiting, not_copied, run

LOOK = "SELECT id, coalesce(state, '') FROM information_schema.processlist WHERE db = DATABASE()"
NAMES = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_type = "


class MariadbStage(Stage, Mariadb):
    """A new database on the server of the URL, dropped in the end; views are not copied."""

    quote = "`"
    folds = True  # columns do; tables by the server's settings, seldom two that differ so alone
    answer_ms = 600_000
    outside = (
        "CREATE DATABASE", "ALTER DATABASE", "DROP DATABASE", "CREATE SCHEMA", "ALTER SCHEMA",
        "DROP SCHEMA", "CREATE USER", "ALTER USER", "DROP USER", "CREATE ROLE", "DROP ROLE",
        "RENAME USER", "GRANT", "REVOKE", "SET GLOBAL", "USE", "FLUSH", "INSTALL", "UNINSTALL",
        "SHUTDOWN", "CHANGE", "RESET", "PURGE", "LOAD", "KILL",
    )  # fmt: skip
    outside_form = (
        r"CREATE OR REPLACE (?:DATABASE|SCHEMA|USER|ROLE|SERVER)|(?:CREATE|ALTER|DROP) SERVER|"
        r"SET PASSWORD|SET DEFAULT ROLE|SET .*\bGLOBAL|CREATE .*\bSONAME|"
        r"SET STATEMENT .*\bFOR (?:CREATE|ALTER|DROP) (?:DATABASE|SCHEMA|USER|ROLE)|"
        r".*\bINTO (?:OUTFILE|DUMPFILE)|(?:START|STOP) (?:SLAVE|REPLICA|ALL)"
    )
    usual = "repeatable-read"
    described_sql = """
        SELECT c.table_name, c.column_name, c.column_type, c.is_nullable = 'YES',
               c.column_default IS NOT NULL OR c.extra LIKE '%auto_increment%',
               coalesce(k.seq_in_index, 0)
        FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        LEFT JOIN information_schema.statistics k ON k.table_schema = c.table_schema
             AND k.table_name = c.table_name AND k.column_name = c.column_name
             AND k.index_name = 'PRIMARY'
        WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE'
              AND c.is_generated = 'NEVER'
        ORDER BY c.table_name, c.ordinal_position
    """

    cascades_sql = """
        SELECT table_name, referenced_table_name FROM information_schema.referential_constraints
        WHERE constraint_schema = DATABASE() AND delete_rule = 'CASCADE'
    """

    @property
    def source(self) -> str:
        return "the structure, without rows and views"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """The database of the URL, or a copy that is gone after the block."""
        if (self.in_place or self.structure) and not self.url.database:
            raise RefusedError("mariadb: the URL names no database; name one, or --schema")
        if self.in_place:
            self._schema = self.url.database or ""
            yield
            return
        with super().ground():
            if self.structure:
                self._copy_structure()
            yield

    def _copy_structure(self) -> None:
        source = self.url.database or ""
        with self.refusing(not_copied), self.engine(self.place).connect() as connection:
            run(connection, "SET foreign_key_checks = 0")
            for (name,) in run(connection, NAMES + "'BASE TABLE'", source):
                of = f"{self.named(source)}.{self.named(name)}"
                run(connection, run(connection, f"SHOW CREATE TABLE {of}")[0][1])

    def session(self, connection: Connection, limits: Limits) -> None:
        seconds = max(1, round(limits.lock_ms / 1000))
        run(connection, f"SET lock_wait_timeout = {seconds}")
        run(connection, f"SET innodb_lock_wait_timeout = {seconds}")
        run(connection, f"SET max_statement_time = {limits.statement_ms / 1000}")

    def look(self, connection: Connection, session: int) -> Waiting:
        seen = {number: "lock" in state.lower() for number, state in run(connection, LOOK)}
        waits = seen.pop(session, False)
        return Waiting(waits, (), sum(seen.values()))

    def others(self, connection: Connection) -> frozenset[str]:
        found = {str(name).upper() for (name,) in run(connection, "SHOW DATABASES")}
        return frozenset(found - {self._schema.upper(), "INFORMATION_SCHEMA"})


STAGES.add("mariadb+pymysql", MariadbStage)
