"""Runs a suite on all cores until it is done or its time is up.

Trials are run in this process at first, as `parallel` does; after a second they go to as many
processes as there are cores, a few at a time, so that a mutant rests soon after it was convicted.
When time is up nothing more is begun and what is under way is waited for.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from ddlsim.verify import workers
from ddlsim.verify.parallel import AHEAD, ALONE_S
from ddlsim.verify.suite import (
    Case,
    Schedule,
    Stand,
    Trial,
)

Watch = Callable[[Case, Trial], None]
"""Told of every trial as it comes in, in no particular order."""


def run_suite(
    cases: Sequence[Case],
    seeds: Sequence[int],
    *,
    time_s: float | None = None,
    jobs: int | None = None,
    watch: Watch = lambda case, trial: None,
    alone_s: float = ALONE_S,
) -> list[list[Trial]]:
    """The trials of each case, by seed."""
    processes = jobs or workers.cores()
    schedule = Schedule(cases, seeds)
    began = time.monotonic()
    ends = None if time_s is None else began + time_s
    stand = Stand(cases)
    while not _over(ends) and (turn := schedule.next()) is not None:
        trial = stand.trial(*turn)
        schedule.take(turn[0], trial)
        watch(cases[turn[0]], trial)
        if processes > 1 and time.monotonic() - began > alone_s:
            _in_processes(cases, schedule, processes, ends, watch)
            break
    return schedule.result()


def _over(ends: float | None) -> bool:
    return ends is not None and time.monotonic() >= ends


def _in_processes(
    cases: Sequence[Case], schedule: Schedule, processes: int, ends: float | None, watch: Watch
) -> None:
    under_way: dict[Future[Trial], int] = {}
    with workers.pool(processes, _begin, list(cases)) as pool:
        while True:
            while len(under_way) < processes * AHEAD and not _over(ends):
                turn = schedule.next()
                if turn is None:
                    break
                under_way[pool.submit(_trial, *turn)] = turn[0]
            if not under_way:
                break
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                at = under_way.pop(done)
                schedule.take(at, done.result())
                watch(cases[at], done.result())


_stands: list[Stand] = []


def _begin(cases: Sequence[Case]) -> None:
    _stands.append(Stand(cases))


def _trial(at: int, seed: int) -> Trial:
    return _stands[-1].trial(at, seed)
