"""The streams of a command: one that is closed at its start, and one whose reader has gone.

Neither is a verdict. Where stdout was closed before the start nothing is printed and the command's
own code is left; where the reader of a pipe goes away the code is that of the signal for it.
"""

import contextlib
import os
import sys
from typing import Final, TextIO

STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def opened() -> None:
    """Put the null device where a stream is closed, so that no file of ours takes its number."""
    for name, mode in STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def silence(stream: TextIO) -> None:
    """Write nowhere what the stream still holds: Python would complain of it once more at exit."""
    with contextlib.suppress(OSError, ValueError):  # a stream of a test may have no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
