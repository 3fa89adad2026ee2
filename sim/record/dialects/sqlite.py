"""SQLite, by the standard library; a file that the recorder makes, with a write-ahead log."""

import sqlite3
from collections.abc import Mapping
from typing import Any, ClassVar

from ddlsim.record.dialects.base import DATABASES, Connection, Database, Facts, Level
from ddlsim.record.dialects.in_file import FileGround

BUSY_S = 2.0
"""How long a writer waits for the other one: waiting it stands in the way of no other client."""
SETTINGS = ("journal_mode", "synchronous", "busy_timeout", "page_size")


class Sqlite(FileGround, Database):
    """SQLite: one writer at a time, readers with the version that they began with.

    Its documentation (isolation.html) calls its transactions serializable, and says that one sees
    what was committed before it began.
    """

    name = "sqlite"
    levels: ClassVar = {"serializable": Level("serializable", "strict-serializable")}
    truncate_sql = "DELETE FROM"
    names_sql = "SELECT name FROM pragma_table_info('{}')"

    @property
    def arguments(self) -> Mapping[str, Any]:
        return {"timeout": BUSY_S, "cached_statements": 128 if self.prepared else 0}

    def set_up(self, connection: Connection, isolation: str) -> None:
        del isolation
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql("PRAGMA synchronous = NORMAL")

    def facts(self, connection: Connection) -> Facts:
        settings = {name: _pragma(connection, name) for name in SETTINGS}
        server = f"SQLite {sqlite3.sqlite_version}"
        return Facts(server, "sqlite3 of the standard library", settings)

    def says(self, connection: Connection) -> str:
        shared = _pragma(connection, "read_uncommitted") == "1"
        return "read uncommitted" if shared else "serializable"

    def code(self, error: Any) -> str:
        return getattr(error, "sqlite_errorname", None) or super().code(error)

    def begin(self, *, writes: bool) -> str:
        return "BEGIN IMMEDIATE" if writes else "BEGIN"


def _pragma(connection: Connection, name: str) -> str:
    return str(connection.exec_driver_sql(f"PRAGMA {name}").scalar() or "")


DATABASES.add("sqlite", Sqlite)
