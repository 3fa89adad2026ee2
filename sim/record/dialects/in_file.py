"""Databases that are a file: the recorder makes it, and keeps its hands off any other file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddlsim.record.dialects.base import Database, RefusedError


class FileGround(Database):
    """A database in a file that is not there yet."""

    @contextmanager
    def ground(self) -> Iterator[None]:
        """Refuse a file that exists: what it holds is not the recorder's. The new one stays."""
        path, said = self.url.path, f"{self.name}:///{self.url.path}"
        if not path or path == ":memory:":
            raise RefusedError(f"{self.name}: name a file for it: {self.name}:///FILE")
        if Path(path).exists():
            raise RefusedError(f"{said}: the file exists; name one that the recorder can make")
        if not Path(path).parent.is_dir():
            raise RefusedError(f"{said}: there is no folder {Path(path).parent}; make it first")
        yield
