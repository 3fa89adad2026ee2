"""Databases on a server that a URL names: a schema with a new name, dropped in the end."""

import importlib
import secrets
import socket
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from ddlsim.record import kept
from ddlsim.record.dialects.base import Database
from ddlsim.record.url import Url


class OnServer(Database):
    """A database on a server; `driver` is the module of its driver, `schema_kind` what a schema of
    its own is called there.
    """

    driver: ClassVar[str]
    schema_kind: ClassVar[str] = "SCHEMA"

    def __init__(self, url: Url, *, prepared: bool) -> None:
        super().__init__(url, prepared=prepared)
        self._driver: Any = importlib.import_module(self.driver)
        self._schema = f"ddlsim_{secrets.token_hex(6)}"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """A schema with a new name, dropped in the end."""
        with kept.dropped(self.url, self._schema):
            self._make_schema()
            yield

    def _make_schema(self) -> None:
        self._own(f"CREATE {self.schema_kind} {self._schema}")

    def _own(self, sql: str) -> None:
        """Send a statement on what is the recorder's own; `RefusedError` where it fails."""
        what = " ".join(sql.split()[:2])
        with self.refusing(lambda problem: f"{what} failed ({problem.text})"):
            self._once(sql)

    @abstractmethod
    def _once(self, sql: str) -> None:
        """Send a statement on a connection of its own, outside of any schema."""


def shut(used: socket.socket | None) -> None:
    """Close the socket of a connection both ways, under its driver, unless it is closed already."""
    if used is not None:
        with suppress(OSError):
            used.shutdown(socket.SHUT_RDWR)
