"""DuckDB: a copy of the file, made by COPY FROM DATABASE, in a temporary folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddlsim.record.dialects.duckdb import Duckdb
from ddlsim.record.rehearsal.stages.base import STAGES, FileStage, not_copied, run


class DuckdbStage(FileStage, Duckdb):
    """A file of one process; what conflicts fails at once, so that nothing waits for a lock."""

    outside = ("ATTACH", "DETACH", "COPY", "EXPORT", "IMPORT", "INSTALL", "LOAD", "USE")
    outside_form = (
        r"FORCE INSTALL|EXPLAIN ANALYZE (?:COPY|EXPORT)|UPDATE EXTENSIONS|DROP PERSISTENT SECRET|"
        r"CREATE (?:OR REPLACE )?PERSISTENT SECRET"
    )
    usual = "snapshot"
    folds = True
    described_sql = """
        SELECT c.table_name, c.column_name, c.data_type, c.is_nullable,
               c.column_default IS NOT NULL,
               coalesce(list_position(k.constraint_column_names, c.column_name), 0)
        FROM duckdb_columns() c JOIN duckdb_tables() t USING (table_oid, database_name)
        LEFT JOIN duckdb_constraints() k ON k.table_oid = c.table_oid
             AND k.database_name = c.database_name AND k.constraint_type = 'PRIMARY KEY'
        WHERE c.database_name = current_database() AND c.schema_name = current_schema()
        ORDER BY c.table_name, c.column_index
    """

    @contextmanager
    def opened(self) -> Iterator[None]:
        with self.refusing(not_copied):
            root = self.engine(self.url).connect()
        with root:
            yield

    def copy_structure(self, given: Path) -> None:
        name = str(given).replace("'", "''")
        with self.refusing(not_copied), self.engine(self.url).connect() as connection:
            run(connection, f"ATTACH '{name}' AS ddlsim_source (READ_ONLY)")
            run(connection, "COPY FROM DATABASE ddlsim_source TO copy")
            run(connection, "DETACH ddlsim_source")


STAGES.add("duckdb", DuckdbStage)
