"""A crash as what a run shows: known by the kind of its first error and where that was raised.

The engine says which task has failed, by an error whose cause is the one of the task: it would be
of one kind and from one place whatever is broken.
"""

import re
import traceback
from typing import Final

from ddlsim.checkers.judge import Violation
from ddlsim.checkers.signature import CRASH
from ddlsim.kernel.engine import SimulationCrashed

NUMBER: Final = re.compile(r"\d+")


def crash_of(error: Exception) -> Violation:
    """What a run shows that has raised; its only part is the file and the function that raised."""
    first = first_of(error)
    what = str(error).partition("\n")[0]
    return Violation(
        invariant="",
        checker=CRASH,
        kind=type(first).__name__,
        severity="safety",
        status=CRASH,
        strict_only=False,
        summary=what,
        clauses=(_place(first),),
    )


def first_of(error: BaseException) -> BaseException:
    """The error that the others were raised for."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _place(error: BaseException) -> str:
    """The file and the function that raised; of a run that the engine ended, why it did."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "no place"
    file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
    if isinstance(error, SimulationCrashed):
        return f"{file}, {NUMBER.sub('N', str(error).partition(',')[0])}"
    return f"{file} {frames[-1].name}"
