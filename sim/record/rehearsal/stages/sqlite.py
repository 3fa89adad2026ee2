"""SQLite: a copy of the file, made by its own backup, in a temporary folder."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ddlsim.record import kept
from ddlsim.record.dialects.base import Connection, RefusedError
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.rehearsal.stages.base import STAGES, Limits, Stage


class SqliteStage(Stage, Sqlite):
    """A file; DDL waits for the writer before it, and for no reader."""

    outside = ("ATTACH", "DETACH", "VACUUM INTO")
    prepares = True
    usual = "serializable"
    described_sql = """
        SELECT m.name, c.name, c.type, c."notnull" = 0, c.dflt_value IS NOT NULL, c.pk
        FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid
    """

    @property
    def source(self) -> str:
        return f"the file {self.url.path}, rows and all"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """The file itself, or a copy that is gone after the block."""
        given = Path(self.url.path)
        if (self.in_place or self.structure) and not given.is_file():
            raise RefusedError(f"sqlite:///{given}: there is no such file; name one, or --schema")
        if self.in_place:
            yield
            return
        with kept.folder() as folder:
            self.url = replace(self.url, path=str(folder / "copy.db"))
            if self.structure:
                self._copy_structure(given)
            yield

    def _copy_structure(self, given: Path) -> None:
        try:
            with (
                closing(sqlite3.connect(f"{given.resolve().as_uri()}?mode=ro", uri=True)) as source,
                closing(sqlite3.connect(self.url.path)) as copy,
            ):
                source.backup(copy)
        except sqlite3.Error as error:
            raise RefusedError(f"sqlite:///{given}: it cannot be copied ({error})") from None

    def session(self, connection: Connection, limits: Limits) -> Connection:
        connection.cursor().execute(f"PRAGMA busy_timeout = {limits.lock_ms}")
        return connection

    def interrupt(self, connection: Connection) -> None:
        cast(Any, connection).interrupt()


STAGES.add("sqlite", SqliteStage)
