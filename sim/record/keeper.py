"""A process beside the recorder that takes away what it has made, whatever ends the recorder.

It reads one line of JSON from its standard input: where the programs of a PostgreSQL server are,
which it then starts in a new temporary folder, the name of a schema (or of a `whole` database) and
the URL where it is, or that a `folder` is wanted.
It answers with a line. Each further line that it reads is a command, answered with a line. At the
end of its input, which comes when the recorder ends in whatever way, it ends the server and removes
the folder, or drops the schema or the database, unless a line has said that it is gone.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from ddlsim.execute.workers import ENDING, kernel_sees_to_it
from ddlsim.problems import BadInputError

UNPRIVILEGED: Final = "nobody"
"""The account of the server where the recorder's own is root's, which PostgreSQL refuses."""
START_S: Final = 60.0
END_S: Final = 10.0
TICK_S: Final = 0.02
ENDING_WITH_KEEPER: Final = partial(kernel_sees_to_it, signal.SIGQUIT)
OPTIONS: Final = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "fsync": "off",
    "max_wal_size": "256MB",
}
"""No network, and no waiting for the disk: the machine is not to fail while it is recorded."""


class Server:
    """A PostgreSQL server in a folder of its own, reached through a socket in it."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        self._programs = programs
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            shutil.chown(folder, self._user)
            if not _is_open(programs):
                self._programs = _copied(programs, folder)

    def make(self) -> None:
        """Make the files of an empty server."""
        self._call(
            "initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync", "--no-instructions",
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program("postgres"), "-D", str(self._data), "-k", str(self.folder),
                 *options],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                user=self._user, start_new_session=True,
                preexec_fn=ENDING_WITH_KEEPER,  # noqa: PLW1509 - no threads here
            )  # fmt: skip
        until = time.monotonic() + START_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start: {self._last_words()}")
            time.sleep(TICK_S)

    def restart(self) -> None:
        """End it at once, as a power failure would (`immediate`), and start it again."""
        self._end(signal.SIGQUIT)
        self.start()

    def stop(self) -> None:
        """End it: its connections are cut."""
        self._end(signal.SIGINT)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for each in (number, signal.SIGQUIT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                process.send_signal(each)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
                return

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _program(self, name: str) -> str:
        return str(self._programs / "bin" / name)

    def _is_ready(self) -> bool:
        """Whether its file of state, which it writes itself, has the word for it."""
        try:
            lines = (self._data / "postmaster.pid").read_text("utf-8").splitlines()
        except (FileNotFoundError, UnicodeDecodeError):
            return False
        return len(lines) > 7 and lines[7].strip() == "ready"

    def _call(self, name: str, *words: str) -> None:
        done = subprocess.run(
            [self._program(name), *words], cwd=self.folder, capture_output=True, text=True,
            user=self._user, check=False, timeout=START_S,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{name}: {' '.join(done.stderr.split())[-300:]}")

    def _last_words(self) -> str:
        return " ".join((self.folder / "log").read_text("utf-8", "replace").split())[-300:]


def _is_open(folder: Path) -> bool:
    """Whether any account may read a folder, as far as its own folders go."""
    return all(each.stat().st_mode & 0o005 == 0o005 for each in (folder, *folder.parents))


def _copied(programs: Path, folder: Path) -> Path:
    """A copy of the programs that any account may run."""
    place = folder / "programs"
    shutil.copytree(programs, place, symlinks=True)
    for each in (place, *place.rglob("*")):
        if not each.is_symlink():
            each.chmod(each.stat().st_mode | (0o055 if each.is_dir() else 0o044))
    return place


@contextmanager
def server(programs: Path) -> Iterator[Server]:
    """A server in a new temporary folder, which is gone after the block."""
    folder = Path(tempfile.mkdtemp(prefix="ddlsim-"))
    try:
        made = Server(folder, programs)
        try:
            made.make()
            made.start()
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


COMMANDS: Final = {"restart": Server.restart}


def main(lines: TextIO, answers: TextIO) -> None:
    """Do what is asked for, line by line, until there are no more lines."""
    for name in ENDING:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    line = lines.readline()
    if not line:
        return
    asked = json.loads(line)
    try:
        if "schema" in asked:
            _answer(answers, {"done": True})
            if not lines.read():
                _drop(asked["url"], asked["schema"], whole=asked["whole"])
            return
        if "folder" in asked:
            with tempfile.TemporaryDirectory(prefix="ddlsim-", ignore_cleanup_errors=True) as place:
                _answer(answers, {"folder": place})
                lines.read()
            return
        with server(Path(asked["programs"])) as made:
            _answer(answers, {"socket": str(made.folder)})
            for line in lines:
                COMMANDS[json.loads(line)["do"]](made)
                _answer(answers, {"done": True})
    except BadInputError as error:
        with suppress(OSError):
            _answer(answers, {"error": str(error)})
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        with suppress(OSError):
            _answer(answers, {"error": " ".join(str(error).split())})


def _drop(given: str, name: str, *, whole: bool) -> None:
    """Drop a schema, or a `whole` database."""
    from ddlsim.record.dialects.base import DATABASES
    from ddlsim.record.url import url_of

    url = url_of(given)
    database = DATABASES.get(url.drivername)(url, prepared=False)
    drop = database.drop_database if whole else database.drop
    drop(name)


def _answer(answers: TextIO, what: dict[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
