"""For any order of messages, any loss, any crash: one log, in order, and nothing of it is lost.

The five properties of Raft (Ongaro and Ousterhout, 2014, figure 3) are looked at after every step
of a world that loses, copies and reorders messages, cuts machines off, kills them while they write,
compacts logs and hands leadership over; then it heals, and everybody must come to agree.
"""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.protocol.raft import AppendEntries, Member, RequestVote, VoteReply
from tests.support.raft_world import BrokenLawError, World

SEEDS = st.integers(0, 10**9)


def live(seed: int, member: type[Member] = Member) -> World:
    """A world's life from its birth to its healing."""
    random = Random(seed)
    world = World(random, random.choice([1, 2, 3, 3, 5]), random.choice([0, 1, 2]), member)
    for _ in range(random.choice([100, 300, 600])):
        world.move()
    world.matching()
    world.heal()
    return world


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_raft_keeps_its_laws_in_random_worlds(seed: int) -> None:
    """Election safety, log matching, leader completeness, state machine safety, and an end."""
    live(seed)


def test_the_worlds_have_something_in_them() -> None:
    """Elections, snapshots and lost writes happen: else the laws would say little."""
    worlds = [live(seed) for seed in range(20)]
    assert sum(max(world.leaders) for world in worlds) > 40
    assert sum(len(world.truth) for world in worlds) > 400
    assert any(m.log.snapshot_index for world in worlds for m in world.machines.values())


# --- a law that cannot be broken says nothing -----------------------------------------------------


class VotesTwice(Member):
    """Forgets whom it voted for."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        self.log.voted_for = None
        super()._take_request(sender, request)


class VotesBeforeItWrites(Member):
    """Promises its vote while the disk is still writing."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        super()._take_request(sender, request)
        self.outbox += self._promised
        self._promised = []


class VotesForAnyone(Member):
    """Does not ask whether the candidate's log is as long as its own."""

    def _take_request(self, sender: str, request: RequestVote) -> None:
        super()._take_request(
            sender,
            RequestVote(request.term, 10**6, 10**6, request.pre, request.forced),
        )


class CountsOldTerms(Member):
    """Commits entries of earlier terms by counting them."""

    def _advance_commit(self) -> None:
        stored = sorted(
            self.log.synced_index if voter == self.name else self._progress[voter].match_index
            for voter in self._voters
        )
        index = stored[len(stored) - self._quorum]
        if index > self.commit_index:
            self._commit_to(index)


class CountsLearners(Member):
    """Takes a learner's copy for a voter's."""

    def _advance_commit(self) -> None:
        voters, self._voters = self._voters, (*self.peers, self.name)
        super()._advance_commit()
        self._voters = voters


class AcknowledgesBeforeItWrites(Member):
    """Says that entries are stored before they are."""

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        super()._take_append(sender, append)
        self.outbox += self._promised
        self._promised = []


class CountsItselfBeforeItWrites(Member):
    """A leader that counts its own copy before it is on the disk."""

    def _advance_commit(self) -> None:
        synced, self.log.synced_index = self.log.synced_index, self.log.last_index
        super()._advance_commit()
        self.log.synced_index = synced


class KeepsConflicts(Member):
    """Does not replace entries that contradict the leader's."""

    def _store(self, entries: Any, first: int) -> None:
        super()._store(entries[max(self.log.last_index - first + 1, 0) :], self.log.last_index + 1)


class MatchesAnything(Member):
    """Takes entries without looking what comes before them."""

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        term = self.log.term_at(append.prev_index)
        if term is not None:
            append = AppendEntries(
                append.term,
                append.prev_index,
                term,
                append.entries,
                append.commit_index,
                append.round,
            )
        super()._take_append(sender, append)


class TakesOldTerms(Member):
    """Accepts entries of leaders whose term is over."""

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        if append.term < self.log.term and not self.is_leader:
            append = AppendEntries(
                self.log.term,
                append.prev_index,
                append.prev_term,
                append.entries,
                append.commit_index,
                append.round,
            )
        super()._take_append(sender, append)


class CommitsToTheLeadersIndex(Member):
    """Commits up to the leader's index, whatever its own log is known to agree with."""

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        super()._take_append(sender, append)
        if append.term == self.log.term and not self.needs_sync:
            self._known_commit = min(append.commit_index, self.log.last_index)
            self._commit_known()


class CountsForeignVotes(Member):
    """Takes a learner's vote, and its own twice."""

    def _take_vote(self, sender: str, reply: VoteReply) -> None:
        self._votes["a learner"] = None
        super()._take_vote(sender, reply)


FAULTS: dict[type[Member], int] = {
    VotesTwice: 29,
    VotesBeforeItWrites: 491,
    VotesForAnyone: 7,
    CountsOldTerms: 0,
    CountsLearners: 0,
    AcknowledgesBeforeItWrites: 52,
    CountsItselfBeforeItWrites: 14,
    KeepsConflicts: 6,
    MatchesAnything: 7,
    TakesOldTerms: 978,
    CommitsToTheLeadersIndex: 7,
    CountsForeignVotes: 132,
}
"""The first world in which each of them breaks a law; the search begins there."""
WORLDS = 1_500


@pytest.mark.parametrize(("member", "first"), FAULTS.items())
def test_a_faulty_member_breaks_a_law_in_some_world(member: type[Member], first: int) -> None:
    for number in range(WORLDS):
        try:
            live((first + number) % WORLDS, member)
        except (BrokenLawError, AssertionError):
            return
    pytest.fail(f"{member.__name__} broke no law in {WORLDS} worlds")
