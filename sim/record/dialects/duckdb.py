"""DuckDB: a file, one process, a cursor of one connection for each client."""

import importlib
from collections.abc import Iterator, Sequence
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
from ddlsim.record.programs import AddColumn
from ddlsim.record.url import Url

SETTINGS: Final = ("threads", "checkpoint_threshold", "wal_autocheckpoint")


class Planned:
    """A connection that prepares each statement with values at its first use, by PREPARE.

    EXECUTE takes no parameters of the driver, so the values are written into it.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._names: dict[str, str] = {}

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Send a statement; one with values as EXECUTE, after PREPARE where it is the first."""
        if not values:
            self._connection.execute(sql)
            return
        if sql not in self._names:
            name = f"s{len(self._names)}"
            self._connection.execute(f"PREPARE {name} AS {sql}")
            self._names[sql] = name
        self._connection.execute(f"EXECUTE {self._names[sql]}({', '.join(map(_literal, values))})")

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """The columns of the answer."""
        found: Sequence[Sequence[Any]] | None = self._connection.description
        return found

    def fetchall(self) -> Sequence[Sequence[Any]]:
        """The rows of the answer."""
        found: Sequence[Sequence[Any]] = self._connection.fetchall()
        return found

    def close(self) -> None:
        """End the connection, and what was prepared on it."""
        self._connection.close()


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


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
        return cast(Connection, Planned(made) if self.prepared else made)

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


DATABASES.add("duckdb", Duckdb)
