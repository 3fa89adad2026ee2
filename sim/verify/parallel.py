"""Many seeds on all cores; their rows come back sorted by seed, whichever process ran them.

Seeds are run in this process at first, so that a few quick ones never pay for starting others;
after a second the rest is cut into chunks for as many processes as there are cores.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import Final

from ddlsim.verify import workers
from ddlsim.verify.campaign import (
    Job,
    Runner,
    RunRow,
)

ALONE_S: Final = 1.0
CHUNK_MOST: Final = 8
CHUNKS_EACH: Final = 8
AHEAD: Final = 4
"""How many chunks, or trials of a suite, each process has before it."""


Watch = Callable[[Sequence[RunRow]], None]
"""Told of every few rows as they come in, in no particular order."""


def run_seeds(
    job: Job,
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    watch: Watch = lambda rows: None,
    alone_s: float = ALONE_S,
) -> list[RunRow]:
    """The rows of all seeds, sorted by seed."""
    processes = jobs or workers.cores()
    runner = Runner(job)
    rows: list[RunRow] = []
    until = time.monotonic() + alone_s
    for place, seed in enumerate(seeds):
        if processes > 1 and place and time.monotonic() > until:
            rows += _in_processes(job, seeds[place:], processes, watch)
            break
        rows += runner.rows([seed])
        watch(rows[-1:])
    return sorted(rows, key=lambda row: row.seed)


def _in_processes(job: Job, seeds: Sequence[int], processes: int, watch: Watch) -> list[RunRow]:
    """The rows of these seeds; a few chunks for each process are made at a time, not all."""
    rows: list[RunRow] = []
    size = min(max(len(seeds) // (processes * CHUNKS_EACH), 1), CHUNK_MOST)
    chunks = (seeds[at : at + size] for at in range(0, len(seeds), size))
    with workers.pool(min(processes, -(-len(seeds) // size)), _begin, job) as pool:

        def begun(count: int) -> set[Future[list[RunRow]]]:
            return {pool.submit(_chunk, chunk) for chunk in islice(chunks, count)}

        under_way = begun(processes * AHEAD)
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for each in done:
                rows += each.result()
                watch(each.result())
            under_way |= begun(len(done))
    return rows


_runners: list[Runner] = []


def _begin(job: Job) -> None:
    _runners.append(Runner(job))


def _chunk(seeds: Sequence[int]) -> list[RunRow]:
    return _runners[-1].rows(seeds)
