"""The garbage collector looks less often while little of what is built is garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

COLLECT_AFTER: Final = 100_000
"""How many new objects make the collector look meanwhile."""


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Within the block the collector looks after `COLLECT_AFTER` new objects, not after 700."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
