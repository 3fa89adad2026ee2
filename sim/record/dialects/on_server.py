"""Databases on a server that a URL names: a schema with a new name, dropped in the end."""

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

from ddlsim.record import kept
from ddlsim.record.dialects.base import Database
from ddlsim.record.url import URL


class OnServer(Database):
    """A database on a server; `schema_kind` is what a schema of its own is called there."""

    schema_kind: ClassVar[str] = "SCHEMA"
    faults: ClassVar[tuple[str, ...]] = (
        *Database.faults, "client-killed", "backend-terminated", "table-locked",
    )  # fmt: skip

    def __init__(self, url: URL, *, prepared: bool) -> None:
        super().__init__(url, prepared=prepared)
        self._schema = f"ddlsim_{secrets.token_hex(6)}"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A schema with a new name, dropped in the end."""
        with kept.dropped(self.url, self._schema, lambda: self.drop(self._schema)):
            self._make_schema()
            yield

    def _make_schema(self) -> None:
        self._own(f"CREATE {self.schema_kind} {self._schema}")

    def _own(self, sql: str) -> None:
        """Send a statement on what is the recorder's own; `RefusedError` where it fails."""
        what = " ".join(sql.split()[:2])
        with self.refusing(lambda problem: f"{what} failed ({problem.text})"):
            self._once(sql)

    @property
    def server_url(self) -> URL:
        """The server, outside of any schema."""
        return self.url

    def _once(self, sql: str) -> None:
        """Send a statement on a connection of its own."""
        with self.engine(self.server_url).connect() as connection:
            connection.exec_driver_sql(sql)


def shut(used: socket.socket | None) -> None:
    """Close the socket of a connection both ways, under its driver, unless it is closed already."""
    if used is not None:
        with suppress(OSError):
            used.shutdown(socket.SHUT_RDWR)
