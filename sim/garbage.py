"""The garbage collector looks seldom while little of what is built is garbage, and behind a run."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

COLLECT_AFTER: Final = 1_000_000
"""How many new objects make the collector look meanwhile; Python's own number is 700.

Most runs leave fewer behind. With 100,000 it looked through the histories of most runs, which took
5 to 12 % of the CPU time of runs and judges; with 1,000,000 a process has up to 110 MB more.
"""


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Within the block the collector looks after `COLLECT_AFTER` new objects, not after 700.

    Where it looks more seldom already, that stays.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(COLLECT_AFTER, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def collect_seldom(after: int = COLLECT_AFTER) -> None:
    """Have the collector look after so many new objects in all of this process, not at its end.

    For a process that is the program's own. What is imported lives as long as its process: to look
    through it takes a third of the CPU time in which a short command imports what it needs.
    """
    gc.set_threshold(after, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def collect_young() -> None:
    """Collect what was made since the collector last looked: of a run that is over, its cluster.

    A cluster is a circle of objects. To collect it at once takes a third of the CPU time that it
    takes later, when its objects have left the processor's caches; and a process that runs many
    keeps one of them, and not 100 MB and more.
    """
    gc.collect(0)


def collect_at_end() -> None:
    """Have the collector look at the end of the process after all, as Python does by itself.

    For modules that nanobind binds: they print each object that is left at the end.
    """
    atexit.unregister(gc.freeze)
