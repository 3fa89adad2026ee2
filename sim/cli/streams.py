"""The streams of a command: what its result goes to, one that is closed, one without a reader.

Stdout is for the result alone: what plug-ins print, at import or in a run, goes to stderr, else no
program could read a JSON document. A closed stream is no verdict. Where stdout was closed before
the start nothing is printed and the command's own code is left; where the reader of a pipe goes
away the code is that of the signal for it.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Final, TextIO

STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
_kept: list[TextIO] = []
"""Stdout, while `sys.stdout` is stderr."""


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Send what is printed in the block to stderr; `result` stays stdout."""
    _kept.append(sys.stdout)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = _kept.pop()


def result() -> TextIO:
    """The stream that a command's result goes to: stdout."""
    return _kept[-1] if _kept else sys.stdout


def write(text: str, end: str = "\n") -> None:
    """Write a text of the result."""
    print(text, end=end, file=result())


def opened() -> None:
    """Put the null device where a stream is closed, so that no file of ours takes its number."""
    for name, mode in STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def silence(stream: TextIO) -> None:
    """Write nowhere what the stream still holds: Python would complain of it once more at exit."""
    with contextlib.suppress(OSError, ValueError):  # a stream of a test may have no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
