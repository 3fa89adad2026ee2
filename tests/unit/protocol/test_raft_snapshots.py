"""Snapshots, one message at a time: what they replace, what they leave, what is answered."""

from typing import Any

import pytest

from ddlsim.protocol.raft import (
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


def test_snapshot_of_unsynced_entries_is_confirmed_once_synced() -> None:
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


# --- the member's side ----------------------------------------------------------------------------


def test_a_snapshot_that_comes_late_takes_nothing_back() -> None:
    """What is committed beyond it stays, and is what is answered."""
    follower = following(1)
    follower.step("a", InstallSnapshot(1, 5, 1, "five"))
    follower.sync_now()
    follower.outbox.clear()
    for late in (3, 5):
        follower.step("a", InstallSnapshot(1, late, 1, "late"))
        follower.sync_now()
        assert said(follower) == [("a", SnapshotReply(1, 5))]
    assert follower.installed == (5, "five")
    assert (follower.log.snapshot_index, follower.log.base_index) == (5, 5)
    assert (follower.commit_index, follower.log.last_index) == (5, 5)


def test_a_snapshot_leaves_what_follows_it_if_the_logs_agree() -> None:
    """The entry at its end is the same; what comes behind may be acknowledged already (7)."""
    follower = following(1, 1, 2, 2)
    follower.step("a", InstallSnapshot(2, 3, 2, "state"))
    assert (follower.log.base_index, terms(follower), follower.commit_index) == (3, [2], 3)
    follower.sync_now()
    assert said(follower) == [("a", SnapshotReply(2, 3))]


def test_a_snapshot_replaces_a_log_that_contradicts_it() -> None:
    """All of it: what followed the wrong entry was never committed."""
    follower = following(1, 1, 1, 1, commit=1)
    follower.step("a", InstallSnapshot(2, 3, 2, "state"))
    assert (follower.log.base_index, terms(follower), follower.commit_index) == (3, [], 3)
    assert (follower.log.last_term, follower.log.synced_index) == (2, 3)


def test_a_snapshot_is_answered_once_it_is_on_the_disk_and_no_further_than_it_reaches() -> None:
    """What follows it in this log is not known to be the leader's."""
    follower = following(1, 1, 1, 1)
    follower.step("a", InstallSnapshot(1, 2, 1, "state"))
    assert (said(follower), follower.needs_sync) == ([], True)
    follower.end_sync(follower.begin_sync())
    assert said(follower) == [("a", SnapshotReply(1, 2))]


def test_a_snapshot_of_a_former_leader_is_not_taken() -> None:
    """Its term is over."""
    follower = following(1, 2)
    follower.step("c", InstallSnapshot(1, 9, 1, "state"))
    assert (follower.installed, follower.commit_index, terms(follower)) == (None, 0, [1, 2])


def test_entries_that_are_in_the_snapshot_are_skipped() -> None:
    """An append that begins before it brings only what lies behind."""
    follower = following(1)
    follower.step("a", InstallSnapshot(1, 2, 1, "state"))
    entries = tuple(Entry(1, number) for number in range(1, 5))
    follower.step("a", AppendEntries(1, 0, 0, entries, 4))
    follower.sync_now()
    assert [entry.command for entry in follower.log.entries] == [3, 4]
    assert [index for index, _ in follower.committed] == [3, 4]


# --- the leader's side ----------------------------------------------------------------------------


def test_lagging_member_gets_snapshot_then_entries() -> None:
    """The snapshot's end is what its answer confirms."""
    leader = leading(4, compacted=3)
    leader.step("c", AppendReply(1, success=False, match_index=1))
    assert said(leader) == [("c", InstallSnapshot(1, 3, 1, "state"))]
    leader.step("c", SnapshotReply(1, 3))
    leader.resend()
    leader.resend()
    [(to, append)] = said(leader)
    assert (to, append.prev_index, append.prev_term, len(append.entries)) == ("c", 3, 1, 1)


def test_no_snapshot_for_a_log_that_reaches_the_first_index() -> None:
    """The term of the last entry that was dropped is still known."""
    leader = leading(4, compacted=3)
    leader.step("c", AppendReply(1, success=False, match_index=3))
    [(_, append)] = said(leader)
    assert (type(append), append.prev_index, append.prev_term) == (AppendEntries, 3, 1)


def test_snapshot_reply_confirms_up_to_its_index() -> None:
    """Entries behind it are not counted for that member."""
    leader = Member("a", ("a", "b", "c", "d", "e"), (), RaftLog(), leader="a")
    for number in range(3):
        leader.propose(number)
    leader.sync_now()
    leader.step("b", AppendReply(1, success=True, match_index=3))
    leader.step("c", SnapshotReply(1, 2))
    assert leader.commit_index == 2
    leader.step("d", SnapshotReply(1, 3))
    assert leader.commit_index == 3


def test_a_state_is_never_replaced_by_an_older_one() -> None:
    """Compacting goes forward only, and keeps as much of the log as it is told."""
    leader = leading(4)
    leader.compact(3, "state", 3)
    with pytest.raises(AssertionError, match="would go back to 2"):
        leader.compact(2, "older", 0)
    leader.compact(4, "state", 1)
    assert (leader.log.base_index, len(leader.log.entries)) == (3, 1)
