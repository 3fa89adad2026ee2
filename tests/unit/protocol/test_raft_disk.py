"""What a member may say while its disk is writing, and what a crash leaves of it."""

from typing import Any, NamedTuple

from ddlsim.kernel.engine import Loop
from ddlsim.protocol.raft import (
    AppendEntries,
    AppendReply,
    Entry,
    Member,
    RaftLog,
    RequestVote,
    TimeoutNow,
    VoteReply,
)
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.replication.state_machine import Applied
from tests.support.protocol import FakeNode, Wire, run_until


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


def test_vote_and_candidacy_are_sent_once_synced() -> None:
    """The end of a write that began before is not enough."""
    voter = follower()
    voter.step("a", append(1, term=1))
    earlier = voter.begin_sync()
    voter.step("c", RequestVote(2, 1, 1))
    assert (said(voter), voter.needs_sync) == ([], True)
    vote = voter.begin_sync()
    voter.end_sync(earlier)
    assert said(voter) == []
    voter.end_sync(vote)
    assert said(voter) == [("c", VoteReply(2, granted=True))]
    voter.step("c", TimeoutNow(2))
    assert said(voter) == []
    voter.end_sync(voter.begin_sync())
    assert [to for to, _ in said(voter)] == ["a", "c"]


def test_a_write_makes_safe_only_what_there_was_when_it_began() -> None:
    """What came meanwhile needs another, and a crash may take it."""
    member = follower()
    member.step("a", append(1, term=1, commit=1))
    first = member.begin_sync()
    member.step("a", append(1, after=(1, 1), term=1, commit=2))
    member.step("a", append(term=3))
    member.end_sync(first)
    assert (member.log.synced_index, member.log.last_index, member.needs_sync) == (1, 2, True)
    assert [index for index, _ in member.committed] == [1]
    member.log.lose_unsynced(0)
    assert (member.log.last_index, member.log.term) == (1, 1)


def test_promise_of_earlier_term_is_dropped() -> None:
    """The entries may have been replaced since, and the vote is void."""
    member = follower()
    member.step("a", append(1, 1, term=1))
    first = member.begin_sync()
    member.step("c", append(2, term=2))
    second = member.begin_sync()
    member.end_sync(first)
    assert (said(member), member.log.synced_index) == ([], 0)
    member.end_sync(second)
    assert said(member) == [("c", AppendReply(2, success=True, match_index=1))]
    member.step("a", RequestVote(3, 9, 9))
    vote = member.begin_sync()
    member.step("c", RequestVote(4, 0, 0))
    member.outbox.clear()
    member.end_sync(vote)
    assert said(member) == []


def test_a_write_of_what_was_dropped_meanwhile_makes_its_successor_no_safer() -> None:
    """The place is the same, the entry is another."""
    log = RaftLog()
    log.entries = [Entry(1, "x"), Entry(1, "y")]
    writing = log.mark()
    log.truncate(2)
    log.entries.append(Entry(2, "z"))
    log.sync(writing)
    assert log.synced_index == 1
    log.lose_unsynced(0)
    assert [entry.command for entry in log.entries] == ["x"]


def test_what_takes_the_place_of_a_safe_entry_is_not_safe_itself() -> None:
    """It has to be written like any other."""
    log = RaftLog()
    log.entries = [Entry(1, "x"), Entry(1, "y")]
    log.sync_now()
    log.truncate(2)
    log.entries.append(Entry(2, "z"))
    assert log.synced_index == 1
    log.lose_unsynced(0)
    assert [entry.command for entry in log.entries] == ["x"]


def test_a_torn_tail_keeps_the_first_of_what_was_being_written() -> None:
    """And the term, which was written before the entries; without any the term is lost as well."""
    for torn, terms, term in ((0, [1], 1), (1, [1, 2], 2), (2, [1, 2, 2], 2), (5, [1, 2, 2], 2)):
        member = follower()
        member.step("a", append(1, term=1))
        member.sync_now()
        member.step("c", append(2, 2, after=(1, 1), term=2))
        member.begin_sync()
        member.log.lose_unsynced(torn)
        assert ([entry.term for entry in member.log.entries], member.log.term) == (terms, term)


def test_what_a_snapshot_holds_is_applied_also_where_its_entries_are_lost() -> None:
    """A follower may apply what a majority has stored before its own disk has it."""
    for keep, torn, last, applied in ((3, 0, 1, 4), (3, 2, 3, 4), (3, 4, 5, 4), (0, 0, 4, 4)):
        log = RaftLog()
        log.entries = [Entry(1, "v")]
        log.sync_now()
        log.entries += [Entry(1, word) for word in "wxyz"]
        log.applied = 4
        log.compact(4, "vwxy", keep)
        log.lose_unsynced(torn)
        assert (log.last_index, log.applied) == (last, applied)


def test_a_snapshot_keeps_the_term_of_its_last_entry() -> None:
    """A log never ends in a later term than its member's; the vote of that term is lost."""
    log = RaftLog()
    log.term = 1
    log.sync_now()
    log.term, log.voted_for, log.entries = 2, "b", [Entry(2, "w")]
    log.compact(1, "w", 0)
    log.lose_unsynced(0)
    assert (log.term, log.voted_for, log.last_term) == (2, None, 2)


def test_a_leader_counts_its_own_copy_once_its_disk_has_it() -> None:
    """The others may have it earlier, and are then the majority."""
    leader = Member("a", ("a", "b", "c"), (), RaftLog(), leader="a")
    leader.propose("x")
    writing = leader.begin_sync()
    leader.step("b", AppendReply(1, success=True, match_index=1))
    assert leader.commit_index == 0
    leader.end_sync(writing)
    assert leader.commit_index == 1
    leader.propose("y")
    leader.step("b", AppendReply(1, success=True, match_index=2))
    leader.step("c", AppendReply(1, success=True, match_index=2))
    assert (leader.commit_index, leader.log.synced_index) == (2, 1)


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
    assert group.proposed(Note("y", 2)) == Applied("y applied")
    run_until(node.loop, 2)
    assert notes.applied == [(1, "x"), (2, "y")]
    assert first.future.value == "x applied"
