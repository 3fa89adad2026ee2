"""What can be wrong with a file of an external history."""

from pathlib import Path
from typing import Final, NamedTuple

from ddlsim import files
from ddlsim.problems import BadInputError

MOST: Final = 8


class ForeignError(BadInputError):
    """A file that cannot be judged at all; the message has the line and the remedy."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path = path
        self.line = line


def contents(path: str, format_: str) -> bytes:
    """What a file holds; `ForeignError` if it cannot be read, or is not to be."""
    try:
        if (why := files.unfit(path, files.HISTORY_MOST)) is not None:
            raise ForeignError(path, 0, why)
        return Path(path).read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ForeignError(path, 0, f"cannot be read ({why}); give a {format_}") from error


class Trouble(NamedTuple):
    """A part that cannot be read or used; the rest can still be judged.

    `hides_writes`: what was lost may have written something; `line` is 0 for the whole file.
    """

    line: int
    what: str
    hides_writes: bool = True


def trouble_lines(troubles: list[Trouble], path: str) -> tuple[str, ...]:
    """The first troubles, each with its place, and how many more there are."""
    lines = [f"{path}:{one.line}: {one.what}" if one.line else one.what for one in troubles[:MOST]]
    if len(troubles) > MOST:
        lines.append(f"... and {len(troubles) - MOST} more such entries")
    return tuple(lines)
