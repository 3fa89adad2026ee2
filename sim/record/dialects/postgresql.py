"""PostgreSQL, by psycopg: a server that a URL names, or one of the recorder's own."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, cast

from ddlsim.record import kept
from ddlsim.record.dialects.base import (
    DATABASES,
    LOCK_MS,
    STATEMENT_MS,
    Connection,
    Facts,
    Level,
    Run,
    column,
    type_of,
)
from ddlsim.record.dialects.on_server import OnServer, shut
from ddlsim.record.programs import AddColumn

SETTINGS: Final = (
    "default_transaction_isolation", "lock_timeout", "statement_timeout", "fsync",
    "synchronous_commit",
)  # fmt: skip
CONNECT_S: Final = 10
LOST: Final = "08006"


class Postgresql(OnServer):
    """PostgreSQL; all that is recorded is in a schema of its own, which is dropped in the end.

    Its manual, chapter 13: REPEATABLE READ is snapshot isolation, SERIALIZABLE behaves as if
    transactions ran one after the other. Neither promises an order in time.
    """

    name = "postgresql"
    driver = "psycopg"
    levels: ClassVar = {
        "serializable": Level("serializable", "serializable"),
        "repeatable-read": Level("repeatable read", "snapshot-isolation"),
        "read-committed": Level("read committed", "read-committed"),
    }
    mark = "%s"
    online_indexes = True
    valid_sql = "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('{}')"
    faults: ClassVar[tuple[str, ...]] = (
        *OnServer.faults, "client-killed", "backend-terminated", "table-locked",
    )  # fmt: skip

    def drop(self, schema: str) -> None:
        self._own(f"DROP SCHEMA IF EXISTS {schema} CASCADE")

    def drop_database(self, name: str) -> None:
        self._own(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _once(self, sql: str) -> None:
        with self._driver.connect(**self.where, autocommit=True) as connection:
            connection.execute(sql)

    @property
    def where(self) -> dict[str, Any]:
        """What the driver needs to connect."""
        url = self.url
        given = {
            "host": url.host, "port": url.port, "user": url.user, "password": url.password,
            "dbname": url.path or None, "connect_timeout": CONNECT_S, **dict(url.more),
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}

    def connect(self, isolation: str) -> Connection:
        settings = {
            "search_path": self._schema,
            "default_transaction_isolation": self.levels[isolation].sql,
            "lock_timeout": f"{LOCK_MS}ms",
            "statement_timeout": f"{STATEMENT_MS}ms",
        }
        made = self._driver.connect(
            **self.where, autocommit=True, prepare_threshold=0 if self.prepared else None
        )
        for name, value in settings.items():
            made.execute("SELECT set_config(%s, %s, false)", (name, value))
        return cast(Connection, made)

    def facts(self, connection: Connection) -> Facts:
        server = f"PostgreSQL {_shown(connection, 'server_version')}"
        settings = {name: _shown(connection, name) for name in SETTINGS}
        return Facts(server, f"psycopg {self._driver.__version__}", settings)

    def says(self, connection: Connection) -> str:
        return _shown(connection, "transaction_isolation")

    def cut(self, connection: Connection) -> None:
        with socket.socket(fileno=os.dup(cast(Any, connection).fileno())) as used:
            shut(used)

    def terminate(self, connection: Connection) -> None:
        pid = cast(Any, connection).info.backend_pid
        with self._driver.connect(**self.where, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        with self._driver.connect(**self.where) as other:
            other.execute(f"LOCK TABLE {self._schema}.{table} IN ACCESS EXCLUSIVE MODE")
            yield

    def code(self, error: Exception) -> str | None:
        if not isinstance(error, self._driver.Error):
            return None
        known: str | None = getattr(error, "sqlstate", None)
        if known is None and isinstance(error, self._driver.OperationalError):
            return LOST
        return known or type(error).__name__

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        """One statement: by USING the server writes every row anew, whatever the types."""
        change = f"ALTER COLUMN x TYPE {type_of(step)} USING x + 1"
        run(f"ALTER TABLE {table} {change}, ADD COLUMN {column(step)}")


class Embedded(Postgresql):
    """A server in a temporary folder, reached through a socket, ended with the recording."""

    faults: ClassVar[tuple[str, ...]] = (*Postgresql.faults, "server-restarted")
    most_clients = 50

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A server, and a schema in it."""
        with kept.server() as server:
            self.server = server
            self._make_schema()
            yield

    def restart(self) -> None:
        self.server.restart()

    @property
    def where(self) -> dict[str, Any]:
        """Its socket."""
        return {"host": self.server.socket, "user": "postgres", "dbname": "postgres"}


def _shown(connection: Connection, name: str) -> str:
    cursor = connection.cursor()
    cursor.execute(f"SHOW {name}")
    return str(cursor.fetchall()[0][0])


DATABASES.add("postgresql+psycopg", Postgresql)
DATABASES.add("postgresql:embedded", Embedded)
