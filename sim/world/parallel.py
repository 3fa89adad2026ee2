"""Many seeds on all cores; their rows come back sorted by seed, whoever ran what.

Seeds are run in this process at first, so that a few quick ones never pay for starting others;
after a second the rest is cut into chunks for as many processes as there are cores. The processes
are started afresh, not forked: libraries may have threads by then.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from sim.world.campaign import Job, Runner, RunRow

ALONE_S: Final = 1.0
CHUNK_MOST: Final = 8
CHUNKS_EACH: Final = 8


class ProcessDiedError(RuntimeError):
    """A process that ran seeds is gone, without a word of Python."""

    def __str__(self) -> str:
        return "a process that ran seeds died, perhaps for want of memory; try --jobs 1"


Watch = Callable[[Sequence[RunRow]], None]
"""Told of every few rows as they come in, in no particular order."""


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_seeds(
    job: Job,
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    watch: Watch = lambda rows: None,
    alone_s: float = ALONE_S,
) -> list[RunRow]:
    """The rows of all seeds, sorted by seed."""
    processes = jobs or cores()
    runner = Runner(job)
    rows: list[RunRow] = []
    until = time.monotonic() + alone_s
    for place, seed in enumerate(seeds):
        if processes > 1 and place and time.monotonic() > until:
            rows += _in_processes(job, seeds[place:], processes, watch)
            break
        rows.append(runner.row(seed))
        watch(rows[-1:])
    return sorted(rows, key=lambda row: row.seed)


def _in_processes(job: Job, seeds: Sequence[int], processes: int, watch: Watch) -> list[RunRow]:
    rows: list[RunRow] = []
    size = min(max(len(seeds) // (processes * CHUNKS_EACH), 1), CHUNK_MOST)
    chunks = [seeds[at : at + size] for at in range(0, len(seeds), size)]
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(processes, len(chunks)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(job,),
    )
    try:
        for done in as_completed([pool.submit(_chunk, chunk) for chunk in chunks]):
            rows += done.result()
            watch(done.result())
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        if isinstance(error, BrokenProcessPool):
            raise ProcessDiedError from None
        raise
    pool.shutdown()
    return rows


_runners: list[Runner] = []


def _begin(job: Job) -> None:
    """What a process does first; an interrupt ends it without a word, the parent tells of it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _runners.append(Runner(job))


def _chunk(seeds: Sequence[int]) -> list[RunRow]:
    return [_runners[-1].row(seed) for seed in seeds]
