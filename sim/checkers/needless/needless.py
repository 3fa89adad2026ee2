"""What a judge of needless aborts finds: a cause, and why nothing asked for it."""

from typing import NamedTuple


class Needless(NamedTuple):
    """An abort that nothing asked for: its cause, and why it was not needed."""

    cause: str
    why: str
