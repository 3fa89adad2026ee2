"""PostgreSQL, by psycopg: a server that a URL names, or one of the recorder's own."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, cast

import sqlalchemy

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
from ddlsim.record.url import EMBEDDED, URL

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
    levels: ClassVar = {
        "serializable": Level("serializable", "serializable"),
        "repeatable-read": Level("repeatable read", "snapshot-isolation"),
        "read-committed": Level("read committed", "read-committed"),
    }
    mark = "%s"
    online_indexes = True
    valid_sql = "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('{}')"

    def drop(self, schema: str) -> None:
        self._own(f"DROP SCHEMA IF EXISTS {schema} CASCADE")

    def drop_database(self, name: str) -> None:
        self._own(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @property
    def arguments(self) -> Mapping[str, Any]:
        return {"connect_timeout": CONNECT_S, "prepare_threshold": 0 if self.prepared else None}

    def set_up(self, connection: Connection, isolation: str) -> None:
        settings = {
            "search_path": self._schema,
            "default_transaction_isolation": self.levels[isolation].sql,
            "lock_timeout": f"{LOCK_MS}ms",
            "statement_timeout": f"{STATEMENT_MS}ms",
        }
        for name, value in settings.items():
            connection.exec_driver_sql("SELECT set_config(%s, %s, false)", (name, value))

    def facts(self, connection: Connection) -> Facts:
        server = f"PostgreSQL {_shown(connection, 'server_version')}"
        settings = {name: _shown(connection, name) for name in SETTINGS}
        return Facts(server, f"psycopg {self.driver.__version__}", settings)

    def says(self, connection: Connection) -> str:
        return _shown(connection, "transaction_isolation")

    def number(self, connection: Connection) -> int:
        return int(cast(Any, connection.connection.driver_connection).info.backend_pid)

    def cut(self, connection: Connection) -> None:
        made = cast(Any, connection.connection.driver_connection)
        with socket.socket(fileno=os.dup(made.fileno())) as used:
            shut(used)

    def terminate(self, connection: Connection) -> None:
        self._once(f"SELECT pg_terminate_backend({self.number(connection)})")

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        with self.engine(self.url).connect() as other:
            other.exec_driver_sql("BEGIN")
            other.exec_driver_sql(f"LOCK TABLE {self._schema}.{table} IN ACCESS EXCLUSIVE MODE")
            yield

    def code(self, error: Any) -> str:
        if error.sqlstate is None and isinstance(error, self.driver.OperationalError):
            return LOST
        return error.sqlstate or super().code(error)

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        """One statement: by USING the server writes every row anew, whatever the types."""
        change = f"ALTER COLUMN x TYPE {type_of(step)} USING x + 1"
        run(f"ALTER TABLE {table} {change}, ADD COLUMN {column(step)}")


class Embedded(Postgresql):
    """A server in a temporary folder, reached through a socket, ended with the recording."""

    faults: ClassVar[tuple[str, ...]] = (*Postgresql.faults, "server-restarted")
    most_clients = 50

    def __init__(self, url: URL, *, prepared: bool) -> None:
        del url
        made = sqlalchemy.URL.create("postgresql+psycopg", "postgres", database="postgres")
        super().__init__(made, prepared=prepared)

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A server, and a schema in it."""
        with self.served():
            self._make_schema()
            yield

    @contextmanager
    def served(self) -> Iterator[None]:
        """A server, reached through its socket."""
        with kept.server() as self.server:
            self.url = self.url.set(query={"host": self.server.socket})
            yield

    def restart(self) -> None:
        self.server.restart()


def _shown(connection: Connection, name: str) -> str:
    return str(connection.exec_driver_sql(f"SHOW {name}").scalar())


DATABASES.add("postgresql+psycopg", Postgresql)
DATABASES.add(EMBEDDED, Embedded)
