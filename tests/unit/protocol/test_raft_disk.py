"""What a member may say while its disk is writing, and what a crash leaves of it."""

from typing import Any

from sim.protocol.raft import (
    AppendEntries,
    Entry,
    Member,
    RaftLog,
    RequestVote,
    TimeoutNow,
    VoteReply,
)


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
