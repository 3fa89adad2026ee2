"""DuckDB: a file, one process, a cursor of one connection for each client."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, cast

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
from ddlsim.record.dialects.planned import Planned
from ddlsim.record.programs import AddColumn
from ddlsim.record.url import Url

SETTINGS: Final = ("threads", "checkpoint_threshold", "wal_autocheckpoint")


class Duckdb(FileGround, Database):
    """DuckDB; it documents snapshot isolation, catalog included, and has no other level."""

    name = "duckdb"
    levels: ClassVar = {"snapshot": Level("snapshot", "snapshot-isolation")}
    begin_sql = "BEGIN TRANSACTION"

    def __init__(self, url: Url, *, prepared: bool) -> None:
        super().__init__(url, prepared=prepared)
        self._driver: Any = importlib.import_module("duckdb")
        collect_at_end()

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A new file, and the connection that all clients have cursors of."""
        with super().ground():
            self._root = self._driver.connect(self.url.path)
            try:
                yield
            finally:
                self._root.close()

    def connect(self, isolation: str) -> Connection:
        del isolation
        made = self._root.cursor()
        return cast(Connection, _planned(made) if self.prepared else made)

    def facts(self, connection: Connection) -> Facts:
        cursor = self.cursor(connection)
        settings = {}
        for name in SETTINGS:
            cursor.execute(f"SELECT current_setting('{name}')")
            settings[name] = str(cursor.fetchall()[0][0])
        version = self._driver.__version__
        return Facts(f"DuckDB {version}", f"duckdb {version}", settings)

    def says(self, connection: Connection) -> str:
        del connection
        return "nothing; it has one level"

    def code(self, error: Exception) -> str | None:
        return type(error).__name__ if isinstance(error, self._driver.Error) else None

    def cursor(self, connection: Connection) -> Cursor:
        """The connection itself: a cursor of it would be another session."""
        return cast(Cursor, connection)

    def changed(self, cursor: Cursor) -> int:
        return int(cursor.fetchall()[0][0])

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        run(f"ALTER TABLE {table} ALTER COLUMN x TYPE {type_of(step)} USING x + 1")
        run(f"ALTER TABLE {table} ADD COLUMN {column(step)}")


def _planned(connection: Any) -> Planned:
    """Its EXECUTE takes no parameters of the driver."""
    return Planned(
        connection,
        connection,
        lambda name, sql: f"PREPARE {name} AS {sql}",
        lambda name, values: f"EXECUTE {name}({values})",
    )


DATABASES.add("duckdb", Duckdb)
