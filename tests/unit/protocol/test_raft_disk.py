"""What a member may say while its disk is writing, and what a crash leaves of it."""

from typing import Any, NamedTuple

from sim.kernel.loop import Loop
from sim.protocol.group import Group
from sim.protocol.raft import (
    AppendEntries,
    Entry,
    Member,
    RaftLog,
    RequestVote,
    TimeoutNow,
    VoteReply,
)
from tests.helpers_protocol import FakeNode, Wire, run_until


def append(*terms: int, after: tuple[int, int] = (0, 0), term: int, commit: int = 0) -> Any:
    """A leader's append of entries of these terms."""
    entries = tuple(Entry(each, None) for each in terms)
    return AppendEntries(term, after[0], after[1], entries, commit)


def follower() -> Member:
    """Member b of three voters; a leads from the beginning."""
    return Member("b", ("a", "b", "c"), (), RaftLog(), leader="a")


def said(member: Member) -> list[tuple[str, Any]]:
    """What a member has said since the last call."""
    outbox, member.outbox = member.outbox, []
    return outbox


def test_a_later_write_that_ends_first_covers_the_earlier_one() -> None:
    """A disk that has become faster meanwhile: the earlier end takes no vote back."""
    voter = follower()
    voter.step("a", append(1, term=1))
    earlier = voter.begin_sync()
    voter.step("c", RequestVote(2, 1, 1))
    voter.end_sync(voter.begin_sync())
    assert said(voter) == [("c", VoteReply(2, granted=True))]
    voter.end_sync(earlier)
    voter.log.lose_unsynced(0)
    assert (voter.log.term, voter.log.voted_for, voter.log.last_index) == (2, "c", 1)


def test_a_group_of_one_leads_only_once_its_new_vote_is_safe() -> None:
    """The end of a write that began before the vote is not enough."""
    alone = Member("a", ("a",), ("d",), RaftLog(), leader="a")
    alone.propose("x")
    earlier = alone.begin_sync()
    alone.step("a", TimeoutNow(1))
    vote = alone.begin_sync()
    alone.end_sync(earlier)
    assert (alone.is_leader, alone.term) == (False, 2)
    alone.end_sync(vote)
    assert alone.is_leader


# --- the driver of a group of one --------------------------------------------------------------


class Notes:
    """A state machine that remembers what was applied."""

    def __init__(self) -> None:
        self.applied_index = self.applied_term = 0
        self.applied: list[tuple[int, str]] = []

    def apply(self, index: int, term: int, command: Any) -> str:
        """Note it down; the result names it."""
        self.applied_index, self.applied_term = index, term
        self.applied.append((index, command.text))
        return f"{command.text} applied"

    def stamp_of(self, command: Any) -> int:
        """Every command bears its stamp."""
        stamp: int = command.safe_ts
        return stamp

    def restoring(self) -> None:
        """Nothing has to be forgotten."""

    def restored(self) -> None:
        """Nothing was kept."""


class Note(NamedTuple):
    """A command with a stamp."""

    text: str
    safe_ts: int


def test_a_disk_that_becomes_fast_does_not_overtake_what_it_is_writing() -> None:
    """In a group of one what is proposed then waits its turn; nothing is left out."""
    node: Any = FakeNode("a", Wire(Loop()))
    notes: Any = Notes()
    group = Group(node, "g", notes, voters=("a",))
    group.start()
    node.disk_delay_us = 1000
    first = group.proposed(Note("x", 1))
    node.disk_delay_us = 0
    assert group.proposed(Note("y", 2)) == "y applied"
    run_until(node.loop, 2)
    assert notes.applied == [(1, "x"), (2, "y")]
    assert first.future.value == "x applied"
