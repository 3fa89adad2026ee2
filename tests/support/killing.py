"""Commands begun in a session of their own, struck by a signal, and what is left of them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from ddlsim.execute import workers
from tests.support.command import ROOT
from tests.support.sweeps import children, command_of, kill
from tests.support.waiting import PATIENCE_S, until

WORKER = "spawn_main"
"""What stands in the command line of a process that Python has spawned to work."""
LINUX = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")


class Ended(NamedTuple):
    """How a command ended that was struck, and what it had said."""

    code: int
    out: str
    err: str


def assert_ended_by(number: int, ended: Ended) -> None:
    """By its code and last line; Spark's own workers may complain that their JVM has gone."""
    assert ended.code == (-signal.SIGKILL if number == signal.SIGKILL else 128 + number), ended
    assert "internal error" not in ended.err
    assert number == signal.SIGKILL or "ddlsim: terminated\n" in ended.err


class Struck:
    """A command with pipes for what it says; all that it begins is in its session.

    Looks into /proc. A process that has ended and that nothing has waited for does not count.
    """

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=heeds_signals,  # noqa: PLW1509 - it is begun before any thread
        )

    def others(self, named: str = "") -> list[int]:
        """The processes of the session but the command itself, those with a word in their line."""
        below = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            state, session, pid = fields[0], int(fields[3]), int(entry.name)
            if session == self.process.pid != pid and state not in "ZX":
                below.append(pid)
        return [pid for pid in below if named in command_of(pid)]

    def alive(self) -> None:
        """It has not ended by itself."""
        assert self.process.poll() is None, self.process.communicate()

    def begun(self, count: int) -> None:
        """Wait until so many workers are there, just begun."""
        until(lambda: len(self._workers()) >= count, f"{count} workers", self.alive)

    def _workers(self) -> list[int]:
        """Those that the command has begun: to look at all processes takes longer."""
        return [pid for pid in children(self.process.pid) if WORKER in command_of(pid)]

    def at_work(self, count: int) -> None:
        """Wait until so many workers are set up: they have let go of the caller's stdout."""

        def there() -> bool:
            return sum(writes_nowhere(pid) for pid in self._workers()) >= count

        until(there, f"{count} workers at work", self.alive)

    def end(self, number: int) -> Ended:
        """Send a signal to the command alone; its pipes end and no process is left."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        until(lambda: not self.others(), "the end of every process")
        return Ended(self.process.returncode, out, err)


def heeds_signals() -> None:
    """Undo what a background job or nohup has had these tests ignore."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def struck(*words: str, program: tuple[str, ...] = ("-m", "ddlsim")) -> Iterator[Struck]:
    """A command that a test strikes; nothing of it outlives a test that fails."""
    command = Struck(*program, *words)
    try:
        yield command
    finally:
        for pid in (*command.others(), command.process.pid):
            with suppress(ProcessLookupError):
                kill(pid)
        command.process.communicate()


def writes_nowhere(pid: int) -> bool:
    """Whether the stdout of a process is the null device."""
    try:
        return os.readlink(f"/proc/{pid}/fd/1") == os.devnull
    except OSError:
        return False


class Unpacked:
    """What takes for ever to be unpacked in another process."""

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return _unpacking, ()


def _unpacking() -> object:
    os.write(2, b"unpacking\n")
    threading.Event().wait()
    return None


def at_work(_given: object) -> None:
    """What a worker does with it."""


def at_work_elsewhere(begin: Callable[[], None] = workers.begin) -> None:
    """Set up a worker as on a system that is not Linux, and be at work for ever."""
    sys.platform = "another"
    begin()
    os.write(2, b"at work\n")
    threading.Event().wait()
