"""Snapshots, one message at a time: what they replace, what they leave, what is answered."""

from typing import Any

from sim.protocol.raft import (
    AppendEntries,
    AppendReply,
    Entry,
    InstallSnapshot,
    Member,
    RaftLog,
    SnapshotReply,
)

VOTERS = ("a", "b", "c")


def leading(entries: int, *, compacted: int = 0) -> Member:
    """Leader a, whose log has so many entries, all committed by b, the first in a snapshot."""
    leader = Member("a", VOTERS, (), RaftLog(), leader="a")
    for number in range(entries):
        leader.propose(number)
    leader.sync_now()
    leader.step("b", AppendReply(1, success=True, match_index=entries))
    leader.outbox.clear()
    leader.committed.clear()
    if compacted:
        leader.compact(compacted, "state", 0)
    return leader


def following(*terms: int, commit: int = 0) -> Member:
    """Follower b, whose log has entries of these terms, some of them committed."""
    follower = Member("b", VOTERS, (), RaftLog(), leader="a")
    entries = tuple(Entry(term, None) for term in terms)
    follower.step("a", AppendEntries(max(terms, default=1), 0, 0, entries, commit))
    follower.sync_now()
    follower.outbox.clear()
    follower.committed.clear()
    return follower


def said(member: Member) -> list[tuple[str, Any]]:
    """What a member has said since the last call."""
    outbox, member.outbox = member.outbox, []
    return outbox


def terms(member: Member) -> list[int]:
    """The terms of the entries that a log still has."""
    return [entry.term for entry in member.log.entries]


def test_what_was_committed_before_its_time_is_said_to_be_stored_once_it_is() -> None:
    """A leader that was deposed may have applied more than its own disk holds."""
    former = Member("a", VOTERS, (), RaftLog(), leader="a")
    former.propose("x")
    writing = former.begin_sync()
    former.step("b", AppendReply(1, success=True, match_index=1))
    former.step("c", AppendReply(1, success=True, match_index=1))
    assert (former.commit_index, former.log.synced_index) == (1, 0)
    former.outbox.clear()
    former.step("b", InstallSnapshot(2, 1, 1, "state"))
    assert (said(former), former.needs_sync) == ([], True)
    second = former.begin_sync()
    former.end_sync(writing)
    assert said(former) == []
    former.end_sync(second)
    assert said(former) == [("b", SnapshotReply(2, 1))]
