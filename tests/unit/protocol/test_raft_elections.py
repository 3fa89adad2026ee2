"""Elections and transfers of a Raft member, one message at a time."""

from typing import Any

import pytest

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
from ddlsim.units import Timestamp

VOTERS, LEARNERS = ("a", "b", "c"), ("d", "e")


def member(*terms: int, name: str = "b") -> Member:
    """A member whose log has entries of these terms; it hears no leader."""
    log = RaftLog()
    log.entries = [Entry(term, None) for term in terms]
    log.term = max(terms, default=1)
    log.sync_now()
    return Member(name, VOTERS, LEARNERS, log)


def leader() -> Member:
    """Leader a of a group that was just born, its first heartbeat sent."""
    born = Member("a", VOTERS, LEARNERS, RaftLog(), leader="a")
    born.outbox.clear()
    return born


def said(who: Member) -> list[tuple[str, Any]]:
    """What a member has said since the last call, its disk taking no time."""
    if who.needs_sync:
        who.sync_now()
    outbox, who.outbox = who.outbox, []
    return outbox


# --- votes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize(
    ("index", "term", "granted"), [(2, 2, True), (3, 2, True), (1, 3, True), (1, 2, False)]
)
def test_a_vote_goes_to_a_log_that_ends_no_earlier(
    index: int, term: int, granted: bool, pre: bool
) -> None:
    """The later term wins, however short its log is; then the longer log (5.4.1)."""
    voter = member(1, 2)
    voter.step("c", RequestVote(4, index, term, pre=pre))
    [(_, reply)] = said(voter)
    assert (type(reply), reply.granted) == (VoteReply, granted)


@pytest.mark.parametrize("pre", [False, True])
def test_a_longer_log_of_an_older_term_gets_no_vote(pre: bool) -> None:
    """Length alone says nothing: its entries may be of leaders that were replaced."""
    voter = member(1, 2)
    voter.step("c", RequestVote(4, 9, 1, pre=pre))
    [(_, reply)] = said(voter)
    assert not reply.granted


def test_a_voter_votes_once_in_a_term_also_after_a_crash() -> None:
    """For the same candidate again, since the answer may have been lost; for no other."""
    voter = member(1)
    voter.step("a", RequestVote(2, 1, 1))
    assert said(voter) == [("a", VoteReply(2, granted=True))]
    voter.log.lose_unsynced(0)
    again = Member("b", VOTERS, LEARNERS, voter.log)
    again.step("c", RequestVote(2, 1, 1))
    again.step("a", RequestVote(2, 1, 1))
    replies = dict(said(again))
    assert (replies["c"].granted, replies["a"].granted) == (False, True)


def test_request_of_old_term_gets_the_newer_term() -> None:
    """Its term is refused, and the newer one named."""
    voter = member(3)
    voter.step("c", RequestVote(2, 9, 9))
    assert said(voter) == [("c", VoteReply(3, granted=False))]


def test_a_learner_never_votes_and_never_stands() -> None:
    """Whatever it is asked, and however long it waits."""
    learner = member(1, name="d")
    learner.step("a", RequestVote(2, 9, 9))
    assert said(learner) == [("a", VoteReply(2, granted=False))]
    learner.step("a", TimeoutNow(2))
    learner.election_timeout()
    assert (said(learner), learner.term, learner.log.voted_for) == ([], 2, None)


def test_learners_do_not_count_in_votes() -> None:
    """Neither before a candidate stands nor when it does; a stray answer changes nothing."""
    candidate = member(1)
    candidate.election_timeout()
    assert [to for to, _ in said(candidate)] == ["a", "c"]
    for learner in LEARNERS:
        candidate.step(learner, VoteReply(2, granted=True, pre=True))
    assert candidate.term == 1
    candidate.step("a", VoteReply(2, granted=True, pre=True))
    assert [to for to, _ in said(candidate)] == ["a", "c"]
    for learner in LEARNERS:
        candidate.step(learner, VoteReply(2, granted=True))
    assert not candidate.is_leader
    candidate.step("a", VoteReply(2, granted=True))
    assert candidate.is_leader


def test_a_refusal_is_no_vote_and_neither_is_an_answer_of_another_term() -> None:
    """Nor the answer to the question that was asked before."""
    candidate = member(1)
    candidate.step("a", TimeoutNow(1))
    said(candidate)
    for stray in (
        VoteReply(2, granted=False),
        VoteReply(1, granted=True),
        VoteReply(2, granted=True, pre=True),
        VoteReply(3, granted=True, pre=True),
    ):
        candidate.step("c", stray)
    assert (candidate.is_leader, candidate.term) == (False, 2)


@pytest.mark.parametrize("voter", [leader(), Member("b", VOTERS, (), RaftLog(), leader="a")])
def test_member_with_a_leader_refuses_pre_votes(voter: Member) -> None:
    """A pre-vote that is refused changes nothing at all (thesis, 9.6)."""
    voter.step("c", RequestVote(2, 9, 9, pre=True))
    assert said(voter) == [("c", VoteReply(1, granted=False, pre=True))]
    assert (voter.term, voter.leader, voter.log.voted_for) == (1, "a", None)


# --- a leader whose time is over ------------------------------------------------------------------


@pytest.mark.parametrize("entries", [(), (Entry(1, "late"),)])
def test_former_leader_steps_down_on_newer_term(entries: Any) -> None:
    """With its next heartbeat or append; what it sent is not taken."""
    former, follower = leader(), member(2)
    follower.step("a", AppendEntries(1, 0, 0, entries, 0, 1))
    [(to, reply)] = said(follower)
    assert (to, reply.term, reply.success) == ("a", 2, False)
    assert [entry.term for entry in follower.log.entries] == [2]
    former.step("b", reply)
    assert (former.is_leader, former.term, former.leader) == (False, 2, None)


@pytest.mark.parametrize("prev", [2, 3, 4, 5, 6, 9])
def test_a_refusal_names_a_place_before_the_one_that_was_refused(prev: int) -> None:
    """And one that the log reaches: else the leader would try for ever."""
    follower = member(1, 1, 2, 2, 2)
    follower.step("c", AppendEntries(4, prev, 3, (Entry(4, None),), 0))
    [(_, reply)] = said(follower)
    assert (reply.success, reply.term) == (False, 4)
    assert reply.match_index == {2: 0, 3: 2, 4: 2, 5: 2}.get(prev, 5)


# --- handing over ---------------------------------------------------------------------------------


def orders(who: Member) -> list[tuple[str, Any]]:
    """To whom a member has handed over since the last call."""
    return [each for each in said(who) if type(each[1]) is TimeoutNow]


def test_a_leader_hands_over_only_to_one_that_has_everything() -> None:
    """Also what was proposed since it was asked to; from then on it leads no more."""
    group = leader()
    group.propose("x")
    group.transfer_to("b", lambda: Timestamp(len(group.log.entries)))
    assert orders(group) == []
    group.propose("y")
    group.step("b", AppendReply(1, success=True, match_index=1))
    assert (orders(group), group.is_leader) == ([], True)
    group.step("c", AppendReply(1, success=True, match_index=2))
    assert (orders(group), group.is_leader) == ([], True)
    group.step("b", AppendReply(1, success=True, match_index=2))
    assert orders(group) == [("b", TimeoutNow(1, Timestamp(2)))]
    assert (group.is_leader, group.leader) == (False, None)
    with pytest.raises(AssertionError, match="proposes but None leads"):
        group.propose("z")


def test_transfer_to_complete_member_is_immediate() -> None:
    """A later answer does not repeat it."""
    group = leader()
    group.propose("x")
    group.step("b", AppendReply(1, success=True, match_index=0))
    group.step("b", AppendReply(1, success=True, match_index=1))
    group.transfer_to("b", None)
    assert len(orders(group)) == 1
    group.step("b", AppendReply(1, success=True, match_index=1))
    assert orders(group) == []


def test_transfer_waits_for_a_successful_append_reply() -> None:
    """A member that says where it ends does not say that the logs agree."""
    group = leader()
    group.propose("x")
    group.transfer_to("b", None)
    group.step("b", AppendReply(1, success=False, match_index=1))
    assert (orders(group), group.is_leader) == ([], True)


def test_an_order_to_stand_that_comes_late_is_ignored() -> None:
    """The term in which it was given is over."""
    follower = member(2)
    follower.step("a", TimeoutNow(1))
    assert (follower.term, said(follower)) == (2, [])
