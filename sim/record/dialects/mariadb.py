"""MariaDB, by PyMySQL: a server that a URL names, in a database of the recorder's own.

A DDL statement commits what was open before it and itself, so it is a transaction of its own.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, ClassVar, Final, cast

from ddlsim.record.dialects.base import (
    DATABASES,
    LOCK_MS,
    STATEMENT_MS,
    Connection,
    Cursor,
    Facts,
    Level,
    Run,
    column,
)
from ddlsim.record.dialects.on_server import OnServer, shut
from ddlsim.record.dialects.planned import literal, planned
from ddlsim.record.programs import AddColumn
from ddlsim.record.url import URL

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
    answer_ms = 2 * STATEMENT_MS
    """How long its driver waits for an answer."""

    def drop(self, schema: str) -> None:
        self._own(f"DROP DATABASE IF EXISTS {schema}")

    @property
    def server_url(self) -> URL:
        return self.url.set(database="")

    @property
    def place(self) -> URL:
        return self.url.set(database=self._schema)

    @property
    def arguments(self) -> Mapping[str, Any]:
        return {
            "connect_timeout": CONNECT_S, "read_timeout": self.answer_ms // 1000,
            "charset": "utf8mb4",
        }  # fmt: skip

    def set_up(self, connection: Connection, isolation: str) -> None:
        level = self.levels[isolation].sql
        connection.exec_driver_sql(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        waits = f"lock_wait_timeout = {WAIT_S}, innodb_lock_wait_timeout = {WAIT_S}"
        connection.exec_driver_sql(f"SET {waits}, max_statement_time = {STATEMENT_MS / 1000}")

    def facts(self, connection: Connection) -> Facts:
        send = connection.exec_driver_sql
        settings = {
            str(key): str(value)
            for name in SETTINGS
            for key, value in send(f"SHOW VARIABLES LIKE '{name}'")
        }
        how = ", with PREPARE and EXECUTE sent as SQL" if self.prepared else ""
        server = f"MariaDB {send('SELECT VERSION()').scalar()}"
        return Facts(server, f"PyMySQL {version('pymysql')}{how}", settings)

    def says(self, connection: Connection) -> str:
        level = connection.exec_driver_sql("SELECT @@tx_isolation").scalar()
        return str(level).replace("-", " ").lower()

    def cursor(self, connection: Connection) -> Cursor:
        """The driver prepares no statements; the server does, by SQL."""
        return planned(
            self,
            connection,
            lambda name, sql: f"PREPARE {name} FROM {literal(sql.replace('%s', '?'))}",
            lambda name, values: f"EXECUTE {name} USING {values}",
        )

    def number(self, connection: Connection) -> int:
        return int(cast(Any, connection.connection.driver_connection).thread_id())

    def cut(self, connection: Connection) -> None:
        made = cast(Any, connection.connection.driver_connection)
        shut(made._sock)  # the driver has no public name for it

    def terminate(self, connection: Connection) -> None:
        self._once(f"KILL CONNECTION {self.number(connection)}")

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        with self.engine(self.place).connect() as other:
            other.exec_driver_sql(f"LOCK TABLES {table} WRITE")
            yield

    def code(self, error: Any) -> str:
        first = error.args[0] if error.args else None
        return str(first) if isinstance(first, int) else super().code(error)

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        """One statement that copies the table."""
        run(f"ALTER TABLE {table} ADD COLUMN {column(step)}, ALGORITHM=COPY")


DATABASES.add("mariadb+pymysql", Mariadb)
