"""Signals that ask a command to end: they do what an interrupt does, with codes of their own."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from ddlsim.cli.problems import INTERRUPTED

ASKING: Final = {"SIGTERM": "terminated", "SIGHUP": "hung up"}
"""The signals beside SIGINT, and what is printed about them; a system need not have all."""
SIGNALLED: Final = 128
"""What is added to a signal's number to make an exit code."""


class EndedError(KeyboardInterrupt):
    """Another signal than SIGINT asks the command to end; cleaned up after as an interrupt is."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def code(self) -> int:
        """The exit code: 143 of SIGTERM."""
        return SIGNALLED + self.number

    def __str__(self) -> str:
        return ASKING[signal.Signals(self.number).name]


def code_of(interrupt: KeyboardInterrupt) -> int:
    """What a command ends with that was interrupted: 130, or the code of another signal."""
    return interrupt.code if isinstance(interrupt, EndedError) else INTERRUPTED


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Raise `EndedError` where one of these signals comes; one that was ignored before stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may ask for signals
        return
    numbers = [getattr(signal, name) for name in ASKING if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    raise EndedError(number)
