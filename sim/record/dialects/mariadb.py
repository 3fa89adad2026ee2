"""MariaDB, by PyMySQL: a server that a URL names, in a database of the recorder's own.

A DDL statement commits what was open before it and itself, so it is a transaction of its own.
"""

import importlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, ClassVar, Final, cast

from ddlsim.record import kept
from ddlsim.record.dialects.base import (
    DATABASES,
    LOCK_MS,
    STATEMENT_MS,
    Connection,
    Database,
    Facts,
    Level,
    RefusedError,
    Run,
    column,
)
from ddlsim.record.programs import AddColumn
from ddlsim.record.url import Url

SETTINGS: Final = (
    "tx_isolation", "lock_wait_timeout", "innodb_lock_wait_timeout", "max_statement_time",
    "innodb_flush_log_at_trx_commit", "innodb_snapshot_isolation", "autocommit",
)  # fmt: skip
CONNECT_S: Final = 10
WAIT_S: Final = max(1, LOCK_MS // 1000)
"""The shortest that it waits for a lock, in whole seconds."""


class Mariadb(Database):
    """MariaDB with InnoDB.

    Its manual: at REPEATABLE READ a transaction reads the snapshot of its first read, and changes
    the newest version of a row, so that after a change it can see a mixture. No model of isolation
    between read-committed and serializable has both, so the weaker one is what it is judged by.
    """

    name = "mariadb"
    levels: ClassVar = {
        "serializable": Level("SERIALIZABLE", "serializable"),
        "repeatable-read": Level("REPEATABLE READ", "read-committed"),
        "read-committed": Level("READ COMMITTED", "read-committed"),
        "read-uncommitted": Level("READ UNCOMMITTED", "read-uncommitted"),
    }
    mark = "%s"
    transactional_ddl = False
    begin_sql = "START TRANSACTION"
    appended_sql = "CONCAT(v, {})"
    dropped_from_sql = " ON {}"
    faults = ("backend-terminated", "table-locked")
    answer_ms = 2 * STATEMENT_MS
    """How long its driver waits for an answer."""

    def __init__(self, url: Url, *, prepared: bool) -> None:
        if prepared:
            raise RefusedError("mariadb: its driver prepares no statements; leave --prepared out")
        super().__init__(url, prepared=prepared)
        self._driver: Any = importlib.import_module("pymysql")
        self._database = f"ddlsim_{secrets.token_hex(6)}"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A database with a new name, dropped in the end."""
        with kept.dropped(self.url, self._database):
            self._own(f"CREATE DATABASE {self._database}")
            yield

    def drop(self, schema: str) -> None:
        self._own(f"DROP DATABASE IF EXISTS {schema}")

    def _own(self, sql: str) -> None:
        try:
            connection = self._connected(None)
            try:
                connection.cursor().execute(sql)
            finally:
                connection.close()
        except self._driver.Error as error:
            problem = self.problem(error)
            text = "" if problem is None else problem.text
            verb = sql.partition(" ")[0]
            raise RefusedError(f"mariadb: {verb} DATABASE failed ({text})") from None

    def _connected(self, database: str | None) -> Any:
        url = self.url
        given = {
            "host": url.host, "port": url.port, "user": url.user, "password": url.password,
            "connect_timeout": CONNECT_S, "read_timeout": self.answer_ms // 1000,
            "database": database, "autocommit": True, "charset": "utf8mb4", **dict(url.more),
        }  # fmt: skip
        return self._driver.connect(**{k: v for k, v in given.items() if v is not None})

    def connect(self, isolation: str) -> Connection:
        made = self._connected(self._database)
        cursor = made.cursor()
        cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.levels[isolation].sql}")
        cursor.execute(f"SET lock_wait_timeout = {WAIT_S}, innodb_lock_wait_timeout = {WAIT_S}")
        cursor.execute(f"SET max_statement_time = {STATEMENT_MS / 1000}")
        return cast(Connection, made)

    def facts(self, connection: Connection) -> Facts:
        settings: dict[str, str] = {}
        cursor = connection.cursor()
        for name in SETTINGS:
            cursor.execute(f"SHOW VARIABLES LIKE '{name}'")
            settings |= {str(key): str(value) for key, value in cursor.fetchall()}
        cursor.execute("SELECT VERSION()")
        server = f"MariaDB {cursor.fetchall()[0][0]}"
        return Facts(server, f"PyMySQL {version('pymysql')}", settings)

    def says(self, connection: Connection) -> str:
        cursor = connection.cursor()
        cursor.execute("SELECT @@tx_isolation")
        return str(cursor.fetchall()[0][0]).replace("-", " ").lower()

    def terminate(self, connection: Connection) -> None:
        session = cast(Any, connection).thread_id()
        other = self._connected(None)
        try:
            other.cursor().execute(f"KILL CONNECTION {session}")
        finally:
            other.close()

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        other = self._connected(self._database)
        try:
            other.cursor().execute(f"LOCK TABLES {table} WRITE")
            yield
        finally:
            other.close()

    def code(self, error: Exception) -> str | None:
        if not isinstance(error, self._driver.Error):
            return None
        first = error.args[0] if error.args else None
        return str(first) if isinstance(first, int) else type(error).__name__

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        """One statement that copies the table."""
        run(f"ALTER TABLE {table} ADD COLUMN {column(step)}, ALGORITHM=COPY")


DATABASES.add("mariadb+pymysql", Mariadb)
