"""Databases that are a file: the recorder makes it, and keeps its hands off any other file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddlsim.record.dialects.base import Database, RefusedError
from ddlsim.record.url import URL, UrlError


class FileGround(Database):
    """A database in a file that is not there yet."""

    def __init__(self, url: URL, *, prepared: bool) -> None:
        if url.host or url.port or url.username or url.password or url.query:
            raise UrlError(
                f"{self.name}: its URL is {self.name}:///FILE, without a host or a query"
            )
        super().__init__(url, prepared=prepared)

    @property
    def path(self) -> str:
        """The file."""
        return self.url.database or ""

    @property
    def left_behind(self) -> str:
        return self.path

    @contextmanager
    def ground(self) -> Iterator[None]:
        """Refuse a file that exists: what it holds is not the recorder's. The new one stays."""
        path, said = self.path, f"{self.name}:///{self.path}"
        if not path or path == ":memory:":
            raise RefusedError(f"{self.name}: name a file for it: {self.name}:///FILE")
        if Path(path).exists():
            raise RefusedError(f"{said}: the file exists; name one that the recorder can make")
        if not Path(path).parent.is_dir():
            raise RefusedError(f"{said}: there is no folder {Path(path).parent}; make it first")
        yield
