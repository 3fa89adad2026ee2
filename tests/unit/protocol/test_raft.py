"""Log replication, one message at a time."""

import pytest

from ddlsim.protocol.raft import AppendEntries, AppendReply, Entry, Member, RaftLog
from tests.support.raft import Group


def commands(member: Member) -> list[object]:
    """What stands in a member's log."""
    return [entry.command for entry in member.log.entries]


def append(
    *entries: tuple[int, object], prev: tuple[int, int] = (0, 0), term: int = 1, commit: int = 0
) -> AppendEntries:
    """An append of (term, command) pairs after the entry at (index, term)."""
    made = tuple(Entry(*entry) for entry in entries)
    return AppendEntries(term, prev[0], prev[1], made, commit)


def follower(*entries: tuple[int, object], term: int = 1) -> Member:
    """Member b, which holds some entries already."""
    member = Member("b", ("a", "b", "c"), (), RaftLog(), leader="a")
    member.log.entries = [Entry(*entry) for entry in entries]
    member.log.term = term
    member.sync_now()
    return member


def leading(name: str, voters: tuple[str, ...], learners: tuple[str, ...] = ()) -> Member:
    """The leader of a group that was just born, its first heartbeat sent."""
    member = Member(name, voters, learners, RaftLog(), leader=name)
    member.outbox.clear()
    return member


def answer(member: Member, message: AppendEntries) -> AppendReply:
    """What a member says to an append."""
    member.step("a", message)
    if member.needs_sync:
        member.sync_now()
    [(to, reply)] = member.outbox
    member.outbox.clear()
    assert to == "a"
    assert type(reply) is AppendReply
    return reply


# --- committing ----------------------------------------------------------------------------------


def test_an_entry_is_committed_once_a_majority_stores_it() -> None:
    """Two of three, the leader counting itself."""
    group = Group()
    assert group.propose("x") == 1
    assert group.applied["a"] == []
    group.deliver_to("b")
    assert group.applied["a"] == []
    group.deliver_to("a")
    assert group.applied["a"] == ["x"]


@pytest.mark.parametrize(("voters", "needed"), [("a", 0), ("ab", 1), ("abcd", 2), ("abcde", 2)])
def test_a_majority_is_more_than_half(voters: str, needed: int) -> None:
    """Of one, two, four and five voters."""
    group = Group(tuple(voters))
    group.propose("x")
    for number, voter in enumerate(voters[1:]):
        assert (group.applied["a"] == ["x"]) == (number >= needed)
        group.deliver_to(voter)
        group.deliver_to("a")
    assert group.applied["a"] == ["x"]


def test_learners_get_committed_entries_and_never_count() -> None:
    """However many of them there are; one message each."""
    group = Group(learners=("d", "e", "f"))
    group.propose("x")
    assert [letter.to for letter in group.on_the_way] == ["b", "c"]
    group.deliver_to("b")
    group.deliver_to("a")
    to_learners = [letter for letter in group.on_the_way if letter.to in "def"]
    assert [(letter.to, letter.message.commit_index) for letter in to_learners] == [
        ("d", 1), ("e", 1), ("f", 1),
    ]  # fmt: skip
    for name in "def":
        group.deliver_to(name)
    assert group.applied["d"] == ["x"]
    group.settle()
    assert group.applied == {name: ["x"] for name in "abcdef"}


def test_a_learners_answer_commits_nothing() -> None:
    """A leader that hears of it from learners alone has no majority."""
    group = Group(learners=("d", "e", "f"))
    group.propose("x")
    group.lose()
    for name in "def":
        group["a"].step(name, AppendReply(1, success=True, match_index=1))
    assert group["a"].commit_index == 0


def test_an_answer_that_comes_twice_counts_once() -> None:
    """Of five voters one cannot be the majority by saying so twice."""
    group = Group(tuple("abcde"))
    group.propose("x")
    group.deliver_to("b")
    reply = next(i for i, letter in enumerate(group.on_the_way) if letter.to == "a")
    group.deliver(reply, keep=True)
    group.deliver(reply)
    assert group.applied["a"] == []


def test_followers_get_the_commit_index_without_another_entry() -> None:
    """With an append that carries nothing else."""
    group = Group()
    group.propose("x")
    group.deliver_to("b")
    group.deliver_to("a")
    assert group.applied["b"] == []
    group.deliver_to("b")
    assert group.applied["b"] == ["x"]
    assert all(not letter.message.entries for letter in group.on_the_way if letter.to == "b")


def test_each_entry_is_committed_once_and_in_order() -> None:
    """Also when one message commits several."""
    group = Group()
    for command in "xyz":
        group.propose(command)
    group.settle()
    assert group.applied == {name: ["x", "y", "z"] for name in "abc"}


def test_a_follower_commits_no_further_than_its_log_is_known_to_agree() -> None:
    """What it holds beyond the append may not be the leader's."""
    member = follower((1, "x"), (1, "y"))
    member.step("a", append((1, "x"), commit=2))
    member.sync_now()
    assert member.commit_index == 1


def test_an_entry_of_an_older_term_is_not_committed_by_counting() -> None:
    """Only together with one of the leader's own term (Raft, 5.4.2)."""
    leader = leading("a", ("a", "b", "c"))
    leader.log.entries = [Entry(1, "old")]
    leader.log.term = 2
    leader.sync_now()
    leader.step("b", AppendReply(2, success=True, match_index=1))
    assert leader.commit_index == 0
    leader.propose("new")
    leader.step("b", AppendReply(2, success=True, match_index=2))
    leader.sync_now()
    assert [entry.command for _, entry in leader.committed] == ["old", "new"]


# --- log matching --------------------------------------------------------------------------------


def test_what_follows_a_gap_is_refused() -> None:
    """With the end of the log as a hint where to try again."""
    member = follower((1, "x"))
    reply = answer(member, append((1, "z"), prev=(2, 1)))
    assert (reply.success, reply.match_index) == (False, 1)
    assert commands(member) == ["x"]


def test_what_follows_another_entry_is_refused() -> None:
    """The entry before must be of the term that the leader says; the hint skips all of its term."""
    member = follower((1, "x"), (1, "y"), term=2)
    reply = answer(member, append((2, "z"), prev=(2, 2), term=2))
    assert (reply.success, reply.match_index) == (False, 0)
    assert commands(member) == ["x", "y"]


def test_a_suffix_that_conflicts_is_replaced() -> None:
    """All of it, and nothing before it."""
    member = follower((1, "x"), (1, "y"), (1, "z"))
    reply = answer(member, append((1, "x"), (2, "w"), term=2))
    assert (reply.success, reply.match_index, reply.term) == (True, 2, 2)
    assert commands(member) == ["x", "w"]
    assert [entry.term for entry in member.log.entries] == [1, 2]


def test_replaced_committed_entry_is_recorded() -> None:
    """Only a leader that should not have been elected asks for it: a judge has to see it."""
    member = follower()
    member.step("a", append((1, "x"), (1, "y"), (1, "z"), commit=3))
    member.sync_now()
    member.step("a", append((2, "w"), prev=(1, 1), term=2))
    assert [(index, entry.command) for index, entry in member.lost] == [(2, "y"), (3, "z")]
    assert commands(member) == ["x", "w"]
    member.compact(3, "state", keep=0)
    assert commands(member) == ["x", "w"]
    member = follower()
    member.step("a", append((1, "x"), (1, "y"), commit=1))
    member.sync_now()
    member.step("a", append((2, "w"), prev=(1, 1), term=2))
    assert commands(member) == ["x", "w"]
    assert member.lost == []


def test_an_append_that_comes_twice_changes_nothing() -> None:
    """It is answered in the same way."""
    member = follower()
    once, again = (answer(member, append((1, "x"), (1, "y"))) for _ in range(2))
    assert once == again
    assert commands(member) == ["x", "y"]


def test_an_older_append_that_comes_late_cuts_nothing_off() -> None:
    """What was appended since stays."""
    member = follower()
    answer(member, append((1, "x"), (1, "y"), (1, "z"), commit=2))
    reply = answer(member, append((1, "x")))
    assert reply.match_index == 1
    assert commands(member) == ["x", "y", "z"]
    assert member.commit_index == 2


def test_a_leader_goes_back_to_where_the_follower_ends() -> None:
    """And sends everything from there in one message."""
    group = Group(("a", "b"))
    for command in "xyz":
        group.propose(command)
        if command != "z":
            group.lose("b")
    group.deliver_to("b")
    group.deliver_to("a")
    [letter] = group.on_the_way
    assert type(letter.message) is AppendEntries
    assert [entry.command for entry in letter.message.entries] == ["x", "y", "z"]
    group.settle()
    assert group.applied["b"] == ["x", "y", "z"]


def test_a_refusal_that_comes_late_sends_nothing_that_is_confirmed() -> None:
    """The leader has newer answers by then."""
    leader = leading("a", ("a", "b"))
    for command in "xyz":
        leader.propose(command)
    leader.step("b", AppendReply(1, success=True, match_index=2))
    leader.outbox.clear()
    leader.step("b", AppendReply(1, success=False, match_index=0))
    [(_, again)] = leader.outbox
    assert type(again) is AppendEntries
    assert (again.prev_index, [entry.command for entry in again.entries]) == (2, ["z"])


def test_each_proposal_sends_only_what_is_new() -> None:
    """The leader does not wait for answers (pipelining)."""
    group = Group(("a", "b"))
    group.propose("x")
    group.propose("y")
    sent = [letter.message for letter in group.on_the_way]
    assert [(m.prev_index, len(m.entries)) for m in sent] == [(0, 1), (1, 1)]


# --- terms ---------------------------------------------------------------------------------------


def test_what_a_former_leader_sends_is_ignored() -> None:
    """It takes no entry, and tells the sender that its term is over."""
    member = follower((1, "x"), term=2)
    reply = answer(member, append((1, "y"), prev=(1, 1), term=1, commit=1))
    assert (reply.success, reply.term) == (False, 2)
    assert (commands(member), member.commit_index) == (["x"], 0)


def test_answers_of_a_former_term_are_ignored() -> None:
    """They were about another log."""
    leader = leading("a", ("a", "b"))
    leader.log.term = 2
    leader.propose("x")
    leader.step("b", AppendReply(1, success=True, match_index=1))
    assert leader.commit_index == 0


def test_a_follower_takes_over_the_leaders_term() -> None:
    """And answers under it."""
    member = follower()
    assert answer(member, append((3, "x"), term=3)).term == 3
    assert member.term == 3


# --- resending -----------------------------------------------------------------------------------


def test_what_was_sent_just_now_is_given_time() -> None:
    """It is sent again if it is not confirmed by the next call but one."""
    group = Group(("a", "b"))
    group.propose("x")
    group.lose()
    assert group.resend()
    assert group.on_the_way == []
    assert group.resend()
    assert [letter.to for letter in group.on_the_way] == ["b"]
    group.settle()
    assert group.applied["b"] == ["x"]


def test_no_member_is_behind_once_all_have_confirmed() -> None:
    """Then nothing is sent, and no timer is armed."""
    group = Group(learners=("d",))
    group.propose("x")
    group.settle()
    assert not group.resend()
    assert not group.resend()
    assert group.on_the_way == []


def test_a_learner_that_is_behind_is_sent_to_again_as_well() -> None:
    """Though no reader waits for it."""
    group = Group(learners=("d",))
    group.propose("x")
    group.lose("d")
    for name in ("b", "a"):
        group.deliver_to(name)
    group.lose("d")
    group.settle()
    assert group.resend()
    assert group.resend()
    assert [letter.to for letter in group.on_the_way] == ["d"]
    group.settle()
    assert group.applied["d"] == ["x"]


def test_only_what_is_not_confirmed_is_sent_again() -> None:
    """From the first entry that is missing."""
    group = Group(("a", "b"))
    group.propose("x")
    group.settle()
    group.propose("y")
    group.propose("z")
    group.lose()
    group.resend()
    group.resend()
    [letter] = group.on_the_way
    assert [entry.command for entry in letter.message.entries] == ["y", "z"]


# --- roles ---------------------------------------------------------------------------------------


def test_the_leader_votes_and_only_the_leader_proposes() -> None:
    """Anything else is a defect of the model."""
    with pytest.raises(AssertionError, match="leads but does not vote"):
        Member("a", ("a", "b"), ("d",), RaftLog(), leader="d")
    with pytest.raises(AssertionError, match="proposes but a leads"):
        follower().propose("x")
    assert leading("a", ("a",)).is_leader
    assert not follower().is_leader


def test_a_follower_takes_no_answers() -> None:
    """It sent no request."""
    member = follower((1, "x"))
    member.step("c", AppendReply(1, success=True, match_index=1))
    assert (member.commit_index, member.outbox) == (0, [])
