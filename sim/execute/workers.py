"""Processes that work for this one, and end when it ends, however that happens.

Every process that is begun anywhere is set up by `begin` (or, where it is forked, by `Lifeline`):

* It ends with its parent, even if that is killed: on Linux the kernel sees to it, elsewhere a
  thread waits for the end of a pipe whose other end the parent holds.
* It does not hold the caller's stdout: a reader of that sees its end when the parent has ended.
* An interrupt is the parent's to handle, which ends its workers; a forked one leaves SIGTERM and
  SIGHUP to it too, since its parent takes a death for something that its run did.

Processes are started afresh, not forked: libraries may have threads by then.
"""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, NoReturn

PR_SET_PDEATHSIG: Final = 1
ORPHANED: Final = 78
"""What a process exits with whose parent has gone."""
ENDING: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Sent to all processes of a terminal or a service. To die of one is not the doing of a run."""


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- what a process does first -------------------------------------------------------------------


def begin() -> None:
    """Set up a process that `multiprocessing` has spawned; to be called before anything else."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a worker ends with its parent"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _silence()
    _end_with(parent.pid, parent.join)


class Lifeline:
    """What a process makes before it forks: a pipe whose end tells the child that it is alone."""

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._reader, self._writer = os.pipe()

    def in_child(self) -> None:
        """Set up the forked process."""
        os.close(self._writer)
        for name in ENDING:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        _silence()
        _end_with(self._parent, lambda: os.read(self._reader, 1))

    def in_parent(self) -> None:
        """The child has the reading end."""
        os.close(self._reader)

    def close(self) -> None:
        """The child has ended."""
        os.close(self._writer)


def _silence() -> None:
    """Let go of the caller's stdout; what a plug-in prints here goes nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):
        os.dup2(null, 1)
    os.close(null)


def _end_with(parent: int | None, gone: Callable[[], object]) -> None:
    """End when the parent does; `gone` returns once it has."""
    if not kernel_sees_to_it(signal.SIGKILL):
        threading.Thread(target=_wait, args=(gone,), daemon=True, name="lifeline").start()
    if os.name == "posix" and os.getppid() != parent:
        os._exit(ORPHANED)  # it went before the kernel was asked


def _wait(gone: Callable[[], object]) -> NoReturn:
    with suppress(OSError):
        gone()
    os._exit(ORPHANED)


def kernel_sees_to_it(number: int) -> bool:
    """Have a signal sent to this process when the thread that began it ends; Linux alone can. What
    the process becomes by `exec` keeps it so."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def death(code: int) -> str:
    """How a process ended, in words; its exit code as Python has it, negative for a signal."""
    if code < 0:
        return f"its process was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"its process exited with code {code}"


# --- how processes are begun ---------------------------------------------------------------------


def process(target: Callable[..., None], *words: Any) -> SpawnProcess:
    """One process that runs a function; it has begun."""
    begun = multiprocessing.get_context("spawn").Process(
        target=_begin_then, args=(_Later(target, words),), daemon=True
    )
    begun.start()
    return begun


class _Later:
    """What a process is to do. It travels packed: to unpack it imports what belongs to it, which
    takes long, and until `begin` has been called a process does not end with its parent."""

    def __init__(self, act: Callable[..., None], words: tuple[Any, ...]) -> None:
        self._what = (act, words)

    def __reduce__(self) -> tuple[type["_Packed"], tuple[bytes]]:
        return _Packed, (bytes(ForkingPickler.dumps(self._what)),)


class _Packed:
    """What to do, where it has arrived."""

    def __init__(self, what: bytes) -> None:
        self._what = what

    def unpacked(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """What is to be called, with what."""
        found: tuple[Callable[..., None], tuple[Any, ...]] = pickle.loads(self._what)
        return found


def _begin_then(later: Any) -> None:  # a `_Later` that has arrived as a `_Packed`
    begin()
    act, words = later.unpacked()
    act(*words)
