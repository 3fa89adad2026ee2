"""What can go wrong on the command line, and what is printed: one line and an exit code."""

import sys
from difflib import get_close_matches
from typing import Final

from ddlsim.cli import streams
from ddlsim.escape import one_line
from ddlsim.problems import BadInputError

BAD_INPUT: Final = 2
CRASHED: Final = 4
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


class InputError(BadInputError):
    """What was asked for cannot be done; the message is one line and ends in a remedy."""


def near(name: str, known: list[str], cutoff: float = 0.5) -> str:
    """A remedy for a name that is not known; capitals do not count."""
    plain = {one.casefold(): one for one in known}
    found = [plain[one] for one in get_close_matches(name.casefold(), plain, 3, cutoff)]
    return f"did you mean {' or '.join(found)}?" if found else f"known: {', '.join(known)}"


def unusable(error: OSError) -> str:
    """What is wrong with a file that an error names, and what to do."""
    return f"{error.filename}: {error.strerror}; name a file that can be used"


def note(text: str) -> None:
    """Tell something beside the result: on stderr, as one line of at most 300 characters.

    Where the reader of stderr has gone, or there is no room for it, it goes nowhere.
    """
    try:
        print(one_line(f"ddlsim: {text}"), file=sys.stderr, flush=True)
    except OSError:
        streams.silence(sys.stderr)
