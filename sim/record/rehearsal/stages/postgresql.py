"""PostgreSQL: a database of the rehearsal's own, with the structure that `pg_dump` tells."""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final

from ddlsim.record import kept
from ddlsim.record.dialects.base import Connection, RefusedError
from ddlsim.record.dialects.postgresql import Embedded, Postgresql
from ddlsim.record.rehearsal.stages.base import STAGES, Limits, Stage, Waiting, not_copied, run
from ddlsim.record.url import EMBEDDED, without_secrets

DUMP_S: Final = 120.0
CLIENTS: Final = re.compile(
    r"^(?:\\(?:un)?restrict .*|SET transaction_timeout = 0;)$\n?", re.MULTILINE
)
"""Lines of `pg_dump` that are for `psql`, or for servers from version 17 on alone."""
LOOK: Final = """
    SELECT pid, wait_event_type = 'Lock',
           CASE WHEN wait_event_type = 'Lock' THEN pg_blocking_pids(pid) ELSE '{}' END, query
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND backend_type = 'client backend'
"""


class PostgresqlStage(Stage, Postgresql):
    """A new database on the server of the URL, dropped in the end.

    Roles, tablespaces, other databases and the server's settings belong to all databases.
    """

    outside: ClassVar[tuple[str, ...]] = (
        "ALTER SYSTEM", "CREATE DATABASE", "ALTER DATABASE", "DROP DATABASE", "CREATE ROLE",
        "ALTER ROLE", "DROP ROLE", "CREATE USER", "ALTER USER", "DROP USER", "CREATE GROUP",
        "ALTER GROUP", "DROP GROUP", "CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE",
        "REASSIGN", "DROP OWNED", "COPY",
    )  # fmt: skip
    outside_form = (
        r"(?:CREATE|ALTER|DROP) SUBSCRIPTION|PREPARE TRANSACTION|(?:GRANT|REVOKE) (?!.*\bON\b)|"
        r"(?:GRANT|REVOKE) .*\bON (?:DATABASE|TABLESPACE|PARAMETER)|"
        r"(?:COMMENT|SECURITY LABEL.*) ON (?:DATABASE|ROLE|TABLESPACE)"
    )
    usual = "read-committed"
    described_sql = """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
               a.atthasdef OR a.attidentity <> '',
               coalesce(array_position(i.indkey::smallint[], a.attnum), -1) + 1
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
        WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND a.attnum > 0
              AND NOT a.attisdropped AND a.attgenerated = '' AND NOT c.relispartition
              AND c.relnamespace NOT IN ('pg_catalog'::regnamespace,
                                         'information_schema'::regnamespace)
        ORDER BY c.relname, a.attnum
    """

    cascades_sql = """
        SELECT c.relname, p.relname
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
        JOIN pg_class p ON p.oid = k.confrelid
        WHERE k.contype = 'f' AND k.confdeltype = 'c'
    """

    @property
    def source(self) -> str:
        return "the structure, without rows"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """The database of the URL, or a copy that is gone after the block."""
        if self.in_place:
            yield
            return
        name, given = f"ddlsim_{secrets.token_hex(6)}", self.url
        with kept.dropped(given, name, lambda: self.drop_database(name), whole=True):
            self._own(f"CREATE DATABASE {name} TEMPLATE template0")
            told = self._told() if self.structure else ""
            self.url = given.set(database=name)
            try:
                if told:
                    self._make(told)
                yield
            finally:
                self.url = given

    def _told(self) -> str:
        """The structure as SQL; the password goes through the environment of `pg_dump` alone."""
        _, given = self.engine(self.url).dialect.create_connect_args(self.url)
        password = given.pop("password", None)
        target = {name: one for name, one in given.items() if isinstance(one, str | int)}
        words = [_program("pg_dump"), "--schema-only", "--no-owner", "--no-privileges",
                 "--no-tablespaces",
                 f"--dbname={self.driver.conninfo.make_conninfo('', **target)}"]  # fmt: skip
        secret = {} if password is None else {"PGPASSWORD": str(password)}
        done = subprocess.run(
            words, capture_output=True, text=True, encoding="utf-8", timeout=DUMP_S, check=False,
            env={**os.environ, **secret},
        )  # fmt: skip
        if done.returncode:
            why = " ".join(without_secrets(self.url, done.stderr).split())
            raise RefusedError(f"postgresql: the structure cannot be copied ({why[:200]})")
        return CLIENTS.sub("", done.stdout)

    def _make(self, told: str) -> None:
        with self.refusing(not_copied), self.engine(self.url).connect() as connection:
            run(connection, told)

    def session(self, connection: Connection, limits: Limits) -> None:
        run(connection, "RESET search_path")
        for name, value in (("lock", limits.lock_ms), ("statement", limits.statement_ms)):
            run(connection, "SELECT set_config(%s, %s, false)", f"{name}_timeout", f"{value}")

    def look(self, connection: Connection, session: int) -> Waiting:
        seen = {row[0]: row[1:] for row in run(connection, LOOK)}
        waits, by, _ = seen.get(session, (False, (), ""))
        holders = tuple(" ".join(seen[one][2].split()) for one in by if one in seen)
        behind = sum(bool(row[0]) for pid, row in seen.items() if pid != session)
        return Waiting(bool(waits), holders, behind)

    def inserted(self, table: str, columns: Any, rows: Any) -> str:
        sql = super().inserted(table, columns, rows)
        return sql.replace(") VALUES ", ") OVERRIDING SYSTEM VALUE VALUES ", 1)


class EmbeddedStage(PostgresqlStage, Embedded):
    """A server that is empty, and all of it the rehearsal's, but for files."""

    outside = ("ALTER SYSTEM", "COPY")
    outside_form = "(?:CREATE|ALTER) SUBSCRIPTION"

    @property
    def source(self) -> str:
        return "nothing"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A server, ended with the block."""
        if self.in_place or self.structure:
            raise RefusedError("postgresql:embedded: its server is empty; name --schema SCHEMA.sql")
        with self.served():
            yield


def _program(name: str) -> str:
    """A program of PostgreSQL: that of the wheel, which is new, or one of the machine."""
    with suppress(ModuleNotFoundError):
        programs = kept.programs() / "bin" / name
        if programs.is_file():
            return str(programs)
    found = shutil.which(name)
    if found is None:
        raise RefusedError(f"postgresql: there is no {name}; install it, or name --schema")
    return found


STAGES.add("postgresql+psycopg", PostgresqlStage)
STAGES.add(EMBEDDED, EmbeddedStage)
