"""DuckDB: a file that one process has open, a connection for each client.

Its dialect for SQLAlchemy stands here. The package `duckdb-engine` 0.17.0, the last one (March
2025), has no AUTOCOMMIT (it calls a method of psycopg2 that DuckDB's connection lacks), and sends
no COMMIT: it calls `commit()`, which says nothing where no transaction is open.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect

from ddlsim.garbage import collect_at_end
from ddlsim.record.dialects.base import (
    DATABASES,
    Connection,
    Cursor,
    Database,
    Facts,
    Level,
    Run,
    column,
    type_of,
)
from ddlsim.record.dialects.in_file import FileGround
from ddlsim.record.dialects.planned import planned
from ddlsim.record.programs import AddColumn

SETTINGS: Final = ("threads", "checkpoint_threshold", "wal_autocheckpoint")


class Session:
    """A connection of DuckDB, and its only cursor, which has nothing to close: a cursor of DuckDB's
    own is another session.
    """

    def __init__(self, made: Any, *, is_cursor: bool = False) -> None:
        self.made, self._is_cursor = made, is_cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)

    def cursor(self) -> "Session":
        """The same session."""
        return Session(self.made, is_cursor=True)

    def close(self) -> None:
        """End the session, but for a cursor."""
        if not self._is_cursor:
            self.made.close()


class Dialect(DefaultDialect):
    """What SQLAlchemy must know to connect and to send statements as they are."""

    name = driver = "duckdb"
    default_paramstyle = "qmark"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        return importlib.import_module("duckdb")

    def create_connect_args(self, url: URL) -> Any:
        return (url.database,), {}

    def connect(self, *given: Any, **named: Any) -> Any:
        return Session(super().connect(*given, **named))

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        del dbapi_conn
        return ("AUTOCOMMIT",)

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """It is what a connection has."""

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        del dbapi_conn
        return True


registry.register("duckdb", __name__, "Dialect")


class Duckdb(FileGround, Database):
    """DuckDB; it documents snapshot isolation, catalog included, and has no other level."""

    name = "duckdb"
    levels: ClassVar = {"snapshot": Level("snapshot", "snapshot-isolation")}
    begin_sql = "BEGIN TRANSACTION"

    def __init__(self, url: URL, *, prepared: bool) -> None:
        super().__init__(url, prepared=prepared)
        collect_at_end()

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A new file, open as long as the block runs: it is closed with its last connection."""
        with super().ground(), self.engine(self.url).connect():
            yield

    def set_up(self, connection: Connection, isolation: str) -> None:
        """Nothing: it has one level, and waits for nothing."""

    def facts(self, connection: Connection) -> Facts:
        settings = {
            name: str(connection.exec_driver_sql(f"SELECT current_setting('{name}')").scalar())
            for name in SETTINGS
        }
        version = self.driver.__version__
        return Facts(f"DuckDB {version}", f"duckdb {version}", settings)

    def says(self, connection: Connection) -> str:
        del connection
        return "nothing; it has one level"

    def cursor(self, connection: Connection) -> Cursor:
        """Its EXECUTE takes no parameters of the driver."""
        return planned(
            self,
            connection,
            lambda name, sql: f"PREPARE {name} AS {sql}",
            lambda name, values: f"EXECUTE {name}({values})",
        )

    def changed(self, cursor: Cursor) -> int:
        return int(cursor.fetchall()[0][0])

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        run(f"ALTER TABLE {table} ALTER COLUMN x TYPE {type_of(step)} USING x + 1")
        run(f"ALTER TABLE {table} ADD COLUMN {column(step)}")


DATABASES.add("duckdb", Duckdb)
