"""How passes offer candidates, and the search that most of them use.

A pass is a generator: it yields a candidate and is sent whether that was kept. So the next one can
rest on it.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from ddlsim.shrink.data import Data

T = TypeVar("T")
Candidates = Generator[Data, bool | None, None]


def fewer(
    items: Sequence[T], make: Callable[[list[T]], Data], parts: int | None = None
) -> Generator[Data, bool | None, list[T]]:
    """Try to do with fewer items: none, then without each half, quarter, ..., single one.

    Delta debugging by complements (Zeller and Hildebrandt 2002), from the last item to the first:
    what comes late depends on what comes early more often than the other way round. `make` gives
    the candidate that has only these items. With `parts` no smaller share than one of so many is
    tried. Returns the items that are left.
    """
    left = list(items)
    size = len(left)
    least = 1 if parts is None else max(size // parts, 1)
    while size >= least:
        end = len(left)
        while end > 0:
            start = max(end - size, 0)
            rest = left[:start] + left[end:]
            if (yield make(rest)):
                left = rest
            end = start
        size //= 2
    return left


def each(candidates: Sequence[Data]) -> Candidates:
    """Try candidates that exclude each other: the first one that is kept ends it."""
    for data in candidates:
        if (yield data):
            return


def every(data: Data, edits: Sequence[Callable[[Data], Data | None]]) -> Candidates:
    """Try one edit after the other, each on what was kept before; None is no candidate."""
    for edit in edits:
        changed = edit(data)
        if changed is not None and (yield changed):
            data = changed
