"""Runs in a child process of their own, so that a run may die, hang or eat all memory: it is a row.

One child runs a whole chunk of jobs and sends each row as it is done. If it dies or falls silent
for longer than the budget, the job that it was at becomes a row, and a new child takes the rest. So
the price is that of one fork a chunk. Where a system cannot fork, jobs run in this process.
"""

import gc
import os
import pickle
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Final, NoReturn

from analysis.rows import TIMEOUT, Job, Row, failed_row, prepare, run_job
from sim.files import WriteError
from sim.model.records import Record
from sim.world.workers import Lifeline

CAN_FORK: Final = hasattr(os, "fork")
MIB: Final = 1 << 20
WORTH_PREPARING: Final = 4
"""Runs of a cell in one chunk from which it pays to prepare them together."""
OUT_OF_MEMORY: Final = 77
"""What a child exits with that has no memory left to say so otherwise."""

Run = Callable[[Job], Row]


class Limits(Record, frozen=True):
    """What one run may take: seconds of wall time, MiB of memory beside what is there already."""

    time_s: float | None = None
    memory_mib: int | None = None


def rows_of(jobs: Sequence[Job], limits: Limits, run: Run = run_job) -> list[Row]:
    """A row for every job, in order, whatever the runs do to their process."""
    if not CAN_FORK:
        return [run(job) for job in jobs]
    _prepare(jobs)
    rows: list[Row] = []
    while len(rows) < len(jobs):
        rows += _in_child(jobs[len(rows) :], limits, run)
    return rows


_prepared: set[tuple[str, int]] = set()


def _prepare(jobs: Sequence[Job]) -> None:
    """What children would each do again is done once here, for cells with some runs in a chunk."""
    for number, count in Counter(job.cell.number for job in jobs).items():
        first = next(job for job in jobs if job.cell.number == number)
        known = (first.cell.text, number)
        if known not in _prepared and (count >= WORTH_PREPARING or not _prepared):
            _prepared.add(known)
            prepare(first)


def _in_child(jobs: Sequence[Job], limits: Limits, run: Run) -> list[Row]:
    """Rows from a new child, up to and with the one at which it was lost."""
    receiver, sender = Pipe(duplex=False)
    lifeline = Lifeline()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads; the child has none
        child = os.fork()
    if not child:
        _serve(sender, lifeline, jobs, limits, run)
    lifeline.in_parent()
    sender.close()
    rows: list[Row] = []
    lost = (TIMEOUT, f"took longer than {limits.time_s:g} s" if limits.time_s else "")
    try:
        while len(rows) < len(jobs):
            if not receiver.poll(limits.time_s):
                break
            found = pickle.loads(receiver.recv_bytes())
            if isinstance(found, WriteError):
                raise found
            rows.append(found)
    except EOFError:
        lost = ("crashed", "")
    finally:
        receiver.close()
        lifeline.close()
        if len(rows) < len(jobs) and lost[0] == TIMEOUT:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    if len(rows) < len(jobs):
        outcome, error = lost
        rows.append(failed_row(jobs[len(rows)], outcome, error or _death(status, limits)))
    return rows


def _serve(
    sender: Connection, lifeline: Lifeline, jobs: Sequence[Job], limits: Limits, run: Run
) -> NoReturn:
    """What the child does; it never returns, nor does anything of its parent's at its exit."""
    code = 1
    try:
        lifeline.in_child()
        gc.freeze()
        _limit_memory(limits)
        for job in jobs:
            row = run(job)
            if limits.memory_mib is not None and (row["error"] or "").startswith("MemoryError"):
                row = failed_row(job, "crashed", _too_large(limits))
            sender.send_bytes(pickle.dumps(row))
        code = 0
    except WriteError as error:
        sender.send_bytes(pickle.dumps(error))
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        os._exit(code)


def _too_large(limits: Limits) -> str:
    return f"needs more than {limits.memory_mib} MiB"


def _limit_memory(limits: Limits) -> None:
    """Let the process have so much more memory than it has, where the system can do that."""
    if limits.memory_mib is None or sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    most = now + limits.memory_mib * MIB
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _death(status: int, limits: Limits) -> str:
    """How a child ended, in words."""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == OUT_OF_MEMORY:
        return _too_large(limits)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"its process was killed by signal {number} ({signal.Signals(number).name})"
    return f"its process exited with code {os.WEXITSTATUS(status)}"
