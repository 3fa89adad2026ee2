"""What can go wrong on the command line, and what its user is told: one line and an exit code."""

import sys
from difflib import get_close_matches
from typing import Final

from ddlsim.cli import streams
from ddlsim.escape import one_line

BAD_INPUT: Final = 2
CRASHED: Final = 4
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


class InputError(ValueError):
    """What was asked for cannot be done; the message is one line and ends in a remedy."""


def near(name: str, known: list[str], cutoff: float = 0.5) -> str:
    """A remedy for a name that is not known; capitals do not count."""
    plain = {one.casefold(): one for one in known}
    found = [plain[one] for one in get_close_matches(name.casefold(), plain, 3, cutoff)]
    return f"did you mean {' or '.join(found)}?" if found else f"known: {', '.join(known)}"


def is_bad_input(error: Exception) -> bool:
    """Whether an exception says that the input cannot be used, as against a defect of ours."""
    if isinstance(error, InputError):
        return True
    if _is_of_the_pipeline(error):
        return True
    from ddlsim.cluster.designs import BadDesignError
    from ddlsim.files import WriteError
    from ddlsim.foreign.readers.problems import ForeignError
    from ddlsim.history.codec import BadHistory
    from ddlsim.registry import BadPluginError, UnknownPluginError
    from ddlsim.scenario.problems import ScenarioError

    bad_files = (ScenarioError, BadHistory, ForeignError, WriteError)
    return isinstance(error, (*bad_files, BadDesignError, BadPluginError, UnknownPluginError))


def _is_of_the_pipeline(error: Exception) -> bool:
    """The same of a sweep; asked only where its modules are there, as they are if one raised."""
    kinds = {
        "ddlsim.analysis.sweep.store": "DirectoryError",
        "ddlsim.analysis.sweep.cells": "CellsError",
        "ddlsim.analysis.sweep.chunks": "DamagedPartError",
        "ddlsim.analysis.spark.java": "NoJavaError",
        "ddlsim.analysis.spark.session": "BadMasterError",
        "ddlsim.analysis.spark.spread": "NotSharedError WorkersDieError",
        "ddlsim.analysis.sweep.until": "BadTargetError",
    }
    loaded = [
        getattr(sys.modules[module], name)
        for module, names in kinds.items()
        if module in sys.modules
        for name in names.split()
    ]
    return isinstance(error, tuple(loaded))


def note(text: str) -> None:
    """Tell something beside the result: on stderr, as one line of at most 300 characters.

    Where the reader of stderr has gone, or there is no room for it, it goes nowhere.
    """
    try:
        print(one_line(f"ddlsim: {text}"), file=sys.stderr, flush=True)
    except OSError:
        streams.silence(sys.stderr)
