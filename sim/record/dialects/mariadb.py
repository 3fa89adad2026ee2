"""MariaDB, by PyMySQL: a server that a URL names, in a database of the recorder's own.

A DDL statement commits what was open before it and itself, so it is a transaction of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, ClassVar, Final, cast

from ddlsim.record.dialects.base import (
    DATABASES,
    LOCK_MS,
    STATEMENT_MS,
    Connection,
    Facts,
    Level,
    Run,
    column,
)
from ddlsim.record.dialects.on_server import OnServer, shut
from ddlsim.record.dialects.planned import Planned, literal
from ddlsim.record.programs import AddColumn

SETTINGS: Final = (
    "tx_isolation", "lock_wait_timeout", "innodb_lock_wait_timeout", "max_statement_time",
    "innodb_flush_log_at_trx_commit", "innodb_snapshot_isolation", "autocommit",
)  # fmt: skip
CONNECT_S: Final = 10
WAIT_S: Final = max(1, LOCK_MS // 1000)
"""The shortest that it waits for a lock, in whole seconds."""


class Mariadb(OnServer):
    """MariaDB with InnoDB.

    Its manual: at REPEATABLE READ a transaction reads the snapshot of its first read, and changes
    the newest version of a row, so that after a change it can see a mixture. No model of isolation
    between read-committed and serializable has both, so the weaker one is what it is judged by.
    """

    name = "mariadb"
    driver = "pymysql"
    schema_kind = "DATABASE"
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
    faults = (*OnServer.faults, "client-killed", "backend-terminated", "table-locked")
    answer_ms = 2 * STATEMENT_MS
    """How long its driver waits for an answer."""

    def drop(self, schema: str) -> None:
        self._own(f"DROP DATABASE IF EXISTS {schema}")

    def _once(self, sql: str) -> None:
        connection = self._connected(None)
        try:
            connection.cursor().execute(sql)
        finally:
            connection.close()

    def _connected(self, database: str | None) -> Any:
        url = self.url
        given = {
            "host": url.host, "port": url.port, "user": url.user, "password": url.password,
            "connect_timeout": CONNECT_S, "read_timeout": self.answer_ms // 1000,
            "database": database, "autocommit": True, "charset": "utf8mb4", **dict(url.more),
        }  # fmt: skip
        return self._driver.connect(**{k: v for k, v in given.items() if v is not None})

    def connect(self, isolation: str) -> Connection:
        made = self._connected(self._schema)
        cursor = made.cursor()
        cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.levels[isolation].sql}")
        cursor.execute(f"SET lock_wait_timeout = {WAIT_S}, innodb_lock_wait_timeout = {WAIT_S}")
        cursor.execute(f"SET max_statement_time = {STATEMENT_MS / 1000}")
        return cast(Connection, _planned(made) if self.prepared else made)

    def facts(self, connection: Connection) -> Facts:
        settings: dict[str, str] = {}
        cursor = connection.cursor()
        for name in SETTINGS:
            cursor.execute(f"SHOW VARIABLES LIKE '{name}'")
            settings |= {str(key): str(value) for key, value in cursor.fetchall()}
        cursor.execute("SELECT VERSION()")
        server = f"MariaDB {cursor.fetchall()[0][0]}"
        how = ", with PREPARE and EXECUTE sent as SQL" if self.prepared else ""
        return Facts(server, f"PyMySQL {version('pymysql')}{how}", settings)

    def says(self, connection: Connection) -> str:
        cursor = connection.cursor()
        cursor.execute("SELECT @@tx_isolation")
        return str(cursor.fetchall()[0][0]).replace("-", " ").lower()

    def cut(self, connection: Connection) -> None:
        made = getattr(connection, "connection", connection)
        shut(cast(Any, made)._sock)  # the driver has no public name for it

    def terminate(self, connection: Connection) -> None:
        session = getattr(connection, "connection", cast(Any, connection)).thread_id()
        other = self._connected(None)
        try:
            other.cursor().execute(f"KILL CONNECTION {session}")
        finally:
            other.close()

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        other = self._connected(self._schema)
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


def _planned(connection: Any) -> Planned:
    """The driver prepares no statements; the server does, by SQL."""
    return Planned(
        connection,
        connection.cursor(),
        lambda name, sql: f"PREPARE {name} FROM {literal(sql.replace('%s', '?'))}",
        lambda name, values: f"EXECUTE {name} USING {values}",
    )


DATABASES.add("mariadb+pymysql", Mariadb)
