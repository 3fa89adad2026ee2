"""What can be wrong with a foreign file."""

from typing import Final, NamedTuple

from ddlsim.problems import BadInputError

MOST: Final = 8


class ForeignError(BadInputError):
    """A file that cannot be judged at all; the message tells the line and the remedy."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path = path
        self.line = line


class Trouble(NamedTuple):
    """A part that could not be read or made sense of: what remains can still be judged.

    `hides_writes` tells that what was lost may have written something; `line` is 0 for all of it.
    """

    line: int
    what: str
    hides_writes: bool = True


def told(troubles: list[Trouble], path: str) -> tuple[str, ...]:
    """The first troubles, each with its place, and how many more there are."""
    lines = [f"{path}:{one.line}: {one.what}" if one.line else one.what for one in troubles[:MOST]]
    if len(troubles) > MOST:
        lines.append(f"... and {len(troubles) - MOST} more such entries")
    return tuple(lines)
