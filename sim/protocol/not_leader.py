"""What a proposal comes to that has no leader, or no longer the one it was made to."""

from typing import Final


class NotLeaderType:
    """The type of `NOT_LEADER`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_LEADER"


NOT_LEADER: Final = NotLeaderType()
"""What a proposal comes to when another leader's entry took its place, or may have."""
