"""SQLite: a copy of the file, made by its own backup, in a temporary folder."""

from pathlib import Path
from typing import Any, Final, cast

from ddlsim.record.dialects.base import Connection
from ddlsim.record.dialects.sqlite import Sqlite
from ddlsim.record.rehearsal.stages.base import STAGES, FileStage, Limits, run

SHADOWS: Final = (
    "config", "content", "data", "docsize", "idx", "node", "parent", "rowid", "segdir", "segments",
    "stat",
)  # fmt: skip
"""Ends of the names of tables in which virtual tables (FTS, R*Tree) keep what they have."""


class SqliteStage(FileStage, Sqlite):
    """A file; DDL waits for the writer before it, and for no reader."""

    quote = "`"  # where there is no such column, "v" is the text v
    folds = True
    opens_by_savepoint = True
    outside = ("ATTACH", "DETACH", "VACUUM INTO")
    outside_form = r"VACUUM \S+ INTO"
    prepares = True
    usual = "serializable"
    described_sql = """
        SELECT m.name, c.name, c.type, c."notnull" = 0, c.dflt_value IS NOT NULL, c.pk
        FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
              AND NOT EXISTS (SELECT 1 FROM sqlite_master v, (VALUES {}) s
                              WHERE v.sql LIKE 'CREATE VIRTUAL%' AND m.name = v.name || s.column1)
        ORDER BY m.name, c.cid
    """.format(", ".join(f"('_{one}')" for one in SHADOWS))

    cascades_sql = """
        SELECT m.name, k."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) k
        WHERE m.type = 'table' AND k.on_delete = 'CASCADE'
    """

    def copy_structure(self, given: Path) -> None:
        form = {"uri": "true", "mode": "ro"}
        source = self.url.set(database=given.resolve().as_uri(), query=form)
        with (
            self.refusing(lambda problem: f"{given} cannot be copied ({problem.text})"),
            self.engine(source).connect() as original,
            self.engine(self.url).connect() as copy,
        ):
            made = cast(Any, original.connection.driver_connection)
            made.backup(copy.connection.driver_connection)

    def session(self, connection: Connection, limits: Limits) -> None:
        run(connection, f"PRAGMA busy_timeout = {limits.lock_ms}")


STAGES.add("sqlite", SqliteStage)
