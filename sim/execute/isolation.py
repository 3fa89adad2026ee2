"""Runs jobs in a child process: a run that dies, hangs or takes too much memory becomes a row.

One child runs a whole chunk of jobs and sends each row as it is done. If it dies, or sends nothing
for longer than the budget, its current job becomes a row, and a new child runs the rest. The price
is one fork per chunk. Where a system cannot fork, jobs run in this process.

The parent polls a child's memory and kills it beyond its budget; the child checks its own peak. The
system's limit alone is not enough: without memory to enter an exception handler CPython 3.11 may
loop for ever. That limit is therefore higher and only catches what grows between two polls.
"""

import gc
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Final, Generic, Literal, NamedTuple, NoReturn, TypeVar

from ddlsim.execute.workers import Lifeline, death, fork
from ddlsim.files import WriteError
from ddlsim.model.records import Record

J = TypeVar("J")
R = TypeVar("R")

CAN_FORK: Final = hasattr(os, "fork")
MIB: Final = 1 << 20
OUT_OF_MEMORY: Final = 77
"""The exit code of a child that is out of memory."""
LOOK_S: Final = 0.05
"""The time between two polls of a child's memory."""
ROOM_MIB: Final = 256
"""The margin of the system's limit above the budget."""


class Limits(Record, frozen=True):
    """The budget of one run: seconds of wall time, MiB of memory above what the process has."""

    time_s: float | None = None
    memory_mib: int | None = None

    def words(self) -> list[str]:
        """The flags of `ddlsim run` that set them."""
        time, memory = self.time_s, self.memory_mib
        words = [] if time is None else ["--time", f"{time:f}".rstrip("0").rstrip(".") + "s"]
        return words if memory is None else [*words, "--memory", f"{memory}MiB"]


Loss = Literal["late", "large", "died"]
"""Why a run has no row of its own: over its time, over its memory, or its process died."""


class Handlers(NamedTuple, Generic[J, R]):
    """`run` runs a job, `lost` makes the row of a lost one, `error` returns a row's error."""

    run: Callable[[J], R]
    lost: Callable[[J, Loss, str], R]
    error: Callable[[R], str]


def isolated(jobs: Sequence[J], limits: Limits, handlers: Handlers[J, R]) -> list[R]:
    """Return a row for every job, in order, whatever the runs do to their process."""
    if not CAN_FORK:
        return [handlers.run(job) for job in jobs]
    rows: list[R] = []
    while len(rows) < len(jobs):
        rows += _in_child(jobs[len(rows) :], limits, handlers)
    return rows


def _in_child(jobs: Sequence[J], limits: Limits, handlers: Handlers[J, R]) -> list[R]:
    """Rows from a new child, up to and including that of the job at which it was lost."""
    receiver, sender = Pipe(duplex=False)
    lifeline = Lifeline()
    most = _most_memory(limits)
    child = fork()
    if not child:
        _serve(sender, lifeline, jobs, limits, most, handlers)
    lifeline.in_parent()
    sender.close()
    rows: list[R] = []
    ended = False
    lost: tuple[Loss, str] | None = None
    try:
        while len(rows) < len(jobs):
            lost = _over_budget(receiver, child, limits, most)
            if lost is not None:
                break
            found = pickle.loads(receiver.recv_bytes())
            if isinstance(found, WriteError):
                raise found
            rows.append(found)
    except EOFError:
        ended = True
    finally:
        receiver.close()
        lifeline.close()
        if len(rows) < len(jobs) and not ended:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if len(rows) < len(jobs):
        rows.append(handlers.lost(jobs[len(rows)], *(lost or _death(code, limits))))
    return rows


def _over_budget(
    receiver: Connection, child: int, limits: Limits, most: int | None
) -> tuple[Loss, str] | None:
    """Wait until the child sends a row or ends: None; otherwise the budget that it exceeded."""
    if most is None:
        return None if receiver.poll(limits.time_s) else _late(limits)
    since = time.monotonic()
    while not receiver.poll(LOOK_S):
        if _memory(f"/proc/{child}/status", "VmSize") > most:
            return _too_large(limits)
        if limits.time_s is not None and time.monotonic() - since > limits.time_s:
            return _late(limits)
    return None


def _serve(
    sender: Connection,
    lifeline: Lifeline,
    jobs: Sequence[J],
    limits: Limits,
    most: int | None,
    handlers: Handlers[J, R],
) -> NoReturn:
    """Run jobs in the child; never returns and skips the parent's exit handlers."""
    code = 1
    try:
        lifeline.in_child()
        gc.freeze()
        if most is not None:
            _limit_memory(most)
        for job in jobs:
            row = handlers.run(job)
            if most is not None:
                _look_at_memory(most, handlers.error(row))
            sender.send_bytes(pickle.dumps(row))
        code = 0
    except WriteError as error:
        sender.send_bytes(pickle.dumps(error))
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        os._exit(code)


def _look_at_memory(most: int, error: str) -> None:
    """Raise MemoryError where a run exceeded the limit; the next one needs a new child."""
    if _memory("/proc/self/status", "VmPeak") > most or "MemoryError" in error:
        raise MemoryError


def _late(limits: Limits) -> tuple[Loss, str]:
    assert limits.time_s is not None, "without a budget a run is waited for"
    return "late", f"took longer than {limits.time_s:g} s"


def _too_large(limits: Limits) -> tuple[Loss, str]:
    return "large", f"needs more than {limits.memory_mib} MiB"


def _most_memory(limits: Limits) -> int | None:
    """The largest address space of a child in bytes; None without a limit."""
    if limits.memory_mib is None or sys.platform != "linux":
        return None
    return _memory("/proc/self/status", "VmSize") + limits.memory_mib * MIB


def _memory(status: str, name: str) -> int:
    """A figure of a process's status in bytes; 0 where it has ended."""
    try:
        with open(status, encoding="ascii") as file:
            lines = file.read().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = next((line.split()[1] for line in lines if line.startswith(f"{name}:")), "0")
    return int(found) * 1024


def _limit_memory(most: int) -> None:
    """Have the system refuse memory far beyond the budget."""
    import resource

    room = most + ROOM_MIB * MIB
    resource.setrlimit(resource.RLIMIT_AS, (room, room))


def _death(code: int, limits: Limits) -> tuple[Loss, str]:
    """Why a child ended that has not sent all its rows."""
    starved = code in (-signal.SIGSEGV, -signal.SIGABRT)  # too little memory to raise an error
    if code == OUT_OF_MEMORY or (starved and limits.memory_mib is not None):
        return _too_large(limits)
    return "died", death(code)
