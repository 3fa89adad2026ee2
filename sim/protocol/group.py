"""One node's member of a replication group: its timers, its disk, its messages, its machine.

The step machine of `raft` decides; this drives it: it carries messages out, arms the timers, writes
to the disk, and hands what is committed to the group's state machine, in the order of the log.
A group of one needs none of that: what is proposed is committed and applied at once.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from sim.model.ports import Node
from sim.units import MIN_TIMESTAMP, Timestamp


class NotLeaderType:
    """The type of `NOT_LEADER`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_LEADER"


NOT_LEADER: Final = NotLeaderType()
"""What a proposal comes to when another leader's entry took its place, or may have."""


class StateMachine(Protocol):
    """What a group replicates."""

    def apply(self, index: int, term: int, command: Any) -> Any:
        """Carry out a committed command; the result is what its proposer gets."""

    def stamp_of(self, command: Any) -> Timestamp:
        """The timestamp that the leader stamped on a command."""

    def snapshot(self) -> Any:
        """The whole state, as a copy that later commands do not change."""

    def install(self, state: Any) -> None:
        """Replace the state by a snapshot."""


class Group:
    """A member of one replication group on one node."""

    def __init__(
        self,
        node: Node,
        name: str,
        machine: StateMachine,
        *,
        voters: tuple[str, ...],
        learners: tuple[str, ...] = (),
        leader: str | None = None,
        wrap: Callable[[object], object] | None = None,
    ) -> None:
        self.node = node
        self.name = name
        self.machine = machine
        self.voters = voters
        self.term = 1
        self.leader: str | None = leader or voters[0]
        self.last_stamp: Timestamp = MIN_TIMESTAMP
        self.on_elected: Callable[[int], None] | None = None
        self.on_deposed: Callable[[int], None] | None = None
        self._index = 0
        del learners, wrap

    @property
    def is_leader(self) -> bool:
        """Whether this member leads its group."""
        return self.leader == self.node.name

    @property
    def is_alone(self) -> bool:
        """Whether the group has no other member."""
        return len(self.voters) == 1

    def proposed(self, command: object) -> Any:
        """Propose at the leader: the result once applied, or an awaitable of it or `NOT_LEADER`."""
        assert self.is_leader, f"{self.node.name} proposes to {self.name}, but {self.leader} leads"
        self._index += 1
        self.last_stamp = max(self.last_stamp, self.machine.stamp_of(command))
        return self.machine.apply(self._index, self.term, command)

    def receive(self, sender: str, message: Any) -> None:
        """Take a message of the group."""
        raise AssertionError(f"{self.name} is a group of one, yet {sender} sent {message}")
