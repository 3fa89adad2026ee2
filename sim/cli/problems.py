"""What can go wrong on the command line, and what its user is told: one line and an exit code."""

import sys
from difflib import get_close_matches
from typing import Final

BAD_INPUT: Final = 2
CRASHED: Final = 4
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


class InputError(ValueError):
    """What was asked for cannot be done; the message is one line and ends in a remedy."""


def near(name: str, known: list[str]) -> str:
    """A remedy for a name that is not known."""
    found = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(found)}?" if found else f"known: {', '.join(known)}"


def is_bad_input(error: Exception) -> bool:
    """Whether an exception says that the input cannot be used, as against a defect of ours.

    Whoever raised one of them has loaded its module; the others need not be loaded to be told from
    it.
    """
    kinds = (
        ("sim.world.problems", "ScenarioError"),
        ("sim.world.run", "BadDesign"),
        ("sim.history.codec", "BadHistory"),
        ("sim.registry", "BadPluginError"),
        ("sim.registry", "UnknownPluginError"),
        ("sim.sql", "SqlError"),
    )
    if isinstance(error, InputError):
        return True
    modules = ((sys.modules.get(module), name) for module, name in kinds)
    return any(isinstance(error, getattr(module, name, ())) for module, name in modules if module)


def note(text: str) -> None:
    """Tell something beside the result: on stderr."""
    print(f"ddlsim: {text}", file=sys.stderr, flush=True)
