"""Worker processes; each ends when its parent ends, for whatever reason.

`begin` sets up every spawned process, `Lifeline` every forked one:

* It ends with its parent, even a killed one: on Linux by a request to the kernel, elsewhere by a
  thread that waits for the end of a pipe whose other end the parent holds.
* It closes the caller's stdout, so that a reader of it sees its end when the parent ends; what a
  plug-in prints in it goes to stderr.
* It ignores interrupts: the parent handles them and ends its workers. A forked one ignores SIGTERM
  and SIGHUP too, since its parent takes its death for an effect of its run.

Processes are spawned, not forked: libraries may have started threads by then.
"""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, NoReturn

from ddlsim.garbage import collect_seldom

PR_SET_PDEATHSIG: Final = 1
ORPHANED: Final = 78
"""The exit code of a process whose parent has ended."""
ENDING: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Sent to all processes of a terminal or a service; a death by one is not an effect of a run."""


def cores() -> int:
    """The number of processes that can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- what a process does first -------------------------------------------------------------------


def begin() -> None:
    """Set up a process that `multiprocessing` has spawned; call it before anything else."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a worker ends with its parent"
    collect_seldom()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_stdout()
    _end_with(parent.pid, parent.join)


class Lifeline:
    """A pipe made before a fork; its end shows the child that the parent has ended."""

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._reader, self._writer = os.pipe()

    def in_child(self) -> None:
        """Set up the forked process."""
        os.close(self._writer)
        for name in ENDING:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        _leave_stdout()
        _end_with(self._parent, lambda: os.read(self._reader, 1))

    def in_parent(self) -> None:
        """Close the reading end, which the child has."""
        os.close(self._reader)

    def close(self) -> None:
        """Close the writing end, once the child has ended."""
        os.close(self._writer)


def _leave_stdout() -> None:
    """Close the caller's stdout; what Python prints in this process goes to stderr."""
    sys.stdout = sys.stderr
    null = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):
        os.dup2(null, 1)
    os.close(null)


def _end_with(parent: int | None, gone: Callable[[], object]) -> None:
    """End when the parent ends; `gone` returns then."""
    if not kernel_sees_to_it(signal.SIGKILL):
        threading.Thread(target=_wait, args=(gone,), daemon=True, name="lifeline").start()
    if os.name == "posix" and os.getppid() != parent:
        os._exit(ORPHANED)  # the parent ended before the request to the kernel


def _wait(gone: Callable[[], object]) -> NoReturn:
    with suppress(OSError):
        gone()
    os._exit(ORPHANED)


def kernel_sees_to_it(number: int) -> bool:
    """Have the kernel send a signal to this process when the thread that started it ends.

    False where the system cannot (all but Linux). It stays so after an `exec`.
    """
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def death(code: int) -> str:
    """A phrase for how a process ended; `code` is Python's exit code, negative for a signal."""
    if code < 0:
        return f"its process was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"its process exited with code {code}"


# --- how processes are begun ---------------------------------------------------------------------


def fork() -> int:
    """Fork, as `os.fork` does; the handlers of signals that end a command run after it.

    Python drops an exception that is raised while it calls what modules have registered for a fork,
    and a KeyboardInterrupt with it. To block the signals would not do: where there are other
    threads, the kernel has one of them take the signal, and the handler runs in this one.
    """
    with _handlers_later(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads; the child has none
        return os.fork()


@contextmanager
def _handlers_later() -> Iterator[None]:
    """Call Python's handlers of `ENDING` after the block, and not in a process forked in it.

    Handlers run in the main thread alone, so a block in another thread is not disturbed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: set[int] = set()
    here = os.getpid()
    try:
        with ExitStack() as restored:
            for number in (getattr(signal, name) for name in ENDING):
                handler = signal.getsignal(number)
                if callable(handler):
                    restored.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, _frame: caught.add(number))
            yield
    finally:
        if os.getpid() == here:
            for number in caught:
                signal.raise_signal(number)


def process(target: Callable[..., None], *words: Any) -> SpawnProcess:
    """Start a process that runs a function of an importable module."""
    begun = multiprocessing.get_context("spawn").Process(
        target=_begin_then, args=(_Later(target, words),), daemon=True
    )
    with _main_left_alone():
        begun.start()
    return begun


@contextmanager
def _main_left_alone() -> Iterator[None]:
    """Have a process that is spawned in the block not run the caller's script once more.

    `multiprocessing` runs it there as a module. A script without `if __name__ == "__main__"` would
    begin the same runs again, and one that comes from stdin has no file.
    """
    main: Any = sys.modules["__main__"]
    spec, file = main.__spec__, vars(main).pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


class _Later:
    """A call for a process, sent pickled: unpickling imports its modules, which takes long, and
    before `begin` has been called a process does not end with its parent."""

    def __init__(self, act: Callable[..., None], words: tuple[Any, ...]) -> None:
        self._what = (act, words)

    def __reduce__(self) -> tuple[type["_Packed"], tuple[bytes]]:
        return _Packed, (bytes(ForkingPickler.dumps(self._what)),)


class _Packed:
    """A call as its process receives it."""

    def __init__(self, what: bytes) -> None:
        self._what = what

    def unpacked(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """The function and its arguments."""
        found: tuple[Callable[..., None], tuple[Any, ...]] = pickle.loads(self._what)
        return found


def _begin_then(later: Any) -> None:  # a `_Later` that has arrived as a `_Packed`
    begin()
    act, words = later.unpacked()
    act(*words)
