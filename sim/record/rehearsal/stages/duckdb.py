"""DuckDB: a copy of the file, made by COPY FROM DATABASE, in a temporary folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddlsim.record.dialects.duckdb import Duckdb
from ddlsim.record.rehearsal.stages.base import STAGES, FileStage, not_copied


class DuckdbStage(FileStage, Duckdb):
    """A file of one process; what conflicts fails at once, so that nothing waits for a lock."""

    outside = ("ATTACH", "DETACH", "COPY", "EXPORT", "IMPORT", "INSTALL", "LOAD", "USE")
    outside_form = (
        r"FORCE INSTALL|EXPLAIN ANALYZE (?:COPY|EXPORT)|UPDATE EXTENSIONS|DROP PERSISTENT SECRET|"
        r"CREATE (?:OR REPLACE )?PERSISTENT SECRET"
    )
    usual = "snapshot"
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
        try:
            self._root = self._driver.connect(self.url.path)
        except self._driver.Error as error:
            raise not_copied(self, error) from None
        try:
            yield
        finally:
            self._root.close()

    def copy_structure(self, given: Path) -> None:
        try:
            name = str(given).replace("'", "''")
            self._root.execute(f"ATTACH '{name}' AS ddlsim_source (READ_ONLY)")
            self._root.execute("COPY FROM DATABASE ddlsim_source TO copy")
            self._root.execute("DETACH ddlsim_source")
        except self._driver.Error as error:
            raise not_copied(self, error) from None


STAGES.add("duckdb", DuckdbStage)
