"""What a group replicates, and what a command comes to that was proposed to it."""

from typing import Final, Generic, Protocol, TypeVar

from ddlsim.model.ports import Future
from ddlsim.model.records import Record
from ddlsim.units import Timestamp

R = TypeVar("R")


class NotLeaderType:
    """The type of `NOT_LEADER`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_LEADER"


NOT_LEADER: Final = NotLeaderType()
"""What a proposal comes to when another leader's entry took its place, or may have."""


class BusyType:
    """The type of `BUSY`."""

    __slots__ = ()


BUSY: Final = BusyType()
"""What a one-phase write comes to whose leader does not know the schema at its stamp yet."""


class Applied(Record, Generic[R], frozen=True):
    """What a command came to, known at once: it was applied here, or refused before the log."""

    result: R


class Pending:
    """A command that was appended; awaited, `future` gives its result, or `NOT_LEADER`."""

    __slots__ = ("future",)

    def __init__(self, future: Future[object]) -> None:
        self.future = future


def disk_name(group: str) -> str:
    """Where a node's disk holds its log of a group."""
    return f"raft/{group}"


class StateMachine(Protocol):
    """What a group replicates."""

    applied_index: int
    applied_term: int

    def apply(self, index: int, term: int, command: object) -> object:
        """Carry out a committed command; the result is what its proposer gets."""

    def restore(self, index: int, term: int, command: object) -> None:
        """Carry out a command again that was applied before the node died."""

    def restoring(self) -> None:
        """What was applied before the node died is about to come back, a piece at a time."""

    def restored(self) -> None:
        """Everything that was applied before the node died is back."""

    def stamp_of(self, command: object) -> Timestamp:
        """The timestamp that the leader stamped on a command."""

    def stamp_of_state(self, state: object) -> Timestamp:
        """The stamp of the last command that a snapshot contains."""

    def may_store(self, command: object) -> bool:
        """Whether this node knows enough to store a command; if not, it is sent again later."""

    def may_install(self, state: object) -> bool:
        """Whether this node knows enough to install a snapshot; if not, it is sent again later."""

    def snapshot(self) -> object:
        """The whole state up to `applied_index`, as a copy that later commands do not change."""

    def install(self, state: object) -> None:
        """Replace the state by a snapshot."""
