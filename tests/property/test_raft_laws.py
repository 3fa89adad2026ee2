"""For any order of messages, any loss, any copies: one log, in order, and nothing of it is lost."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.helpers_raft import Group

PLACES = st.integers(0, 200)


class Replication(RuleBasedStateMachine):
    """A group with a fixed leader whose messages are delivered, copied or lost at will."""

    def __init__(self) -> None:
        super().__init__()
        self.group = Group()
        self.proposed = 0
        self.promised: list[int] = []

    @initialize(voters=st.integers(1, 5), learners=st.integers(0, 2))
    def build(self, voters: int, learners: int) -> None:
        names = tuple("abcdefg"[: voters + learners])
        self.group = Group(names[:voters], names[voters:])

    # --- what happens ----------------------------------------------------------------------------

    @rule()
    def propose(self) -> None:
        self.proposed += 1
        assert self.group.propose(self.proposed) == self.proposed

    @precondition(lambda self: self.group.on_the_way)
    @rule(place=PLACES)
    def deliver(self, place: int) -> None:
        self.group.deliver(place % len(self.group.on_the_way))

    @precondition(lambda self: self.group.on_the_way)
    @rule(place=PLACES)
    def deliver_a_copy(self, place: int) -> None:
        self.group.deliver(place % len(self.group.on_the_way), keep=True)

    @precondition(lambda self: self.group.on_the_way)
    @rule(place=PLACES)
    def lose(self, place: int) -> None:
        del self.group.on_the_way[place % len(self.group.on_the_way)]

    @rule()
    def lose_everything(self) -> None:
        self.group.lose()

    @rule(name=st.sampled_from("abcdefg"))
    def cut_off(self, name: str) -> None:
        self.group.lose(name)

    @rule()
    def resend(self) -> None:
        self.group.resend()

    # --- what must hold --------------------------------------------------------------------------

    @invariant()
    def everybody_applies_the_same(self) -> None:
        """A prefix of what was proposed, in that order, once."""
        for applied in self.group.applied.values():
            assert applied == list(range(1, len(applied) + 1))

    @invariant()
    def what_is_committed_is_stored_by_a_majority_and_stays(self) -> None:
        """Of the voters; by the leader above all."""
        leader = self.group[self.group.leader]
        now = leader.commit_index
        assert len(leader.log) == self.proposed
        voters = [name for name in self.group.members if name in self.group.voters]
        stored = [name for name in voters if len(self.group[name].log) >= now]
        assert 2 * len(stored) > len(voters)
        assert all(member.commit_index <= now for member in self.group.members.values())

    @invariant()
    def logs_agree_as_far_as_they_go(self) -> None:
        """There is one leader, so nobody ever holds anything else."""
        for member in self.group.members.values():
            held = [entry.command for entry in member.log]
            assert held == list(range(1, len(held) + 1))

    def teardown(self) -> None:
        """Once messages arrive, everybody catches up: by resending, and with the next command."""
        group = self.group
        while group.resend():
            group.settle()
        self.proposed += 1
        group.propose(self.proposed)
        group.settle()
        everything = list(range(1, self.proposed + 1))
        assert group.applied == dict.fromkeys(group.members, everything)
        assert not group.resend()


Replication.TestCase.settings = settings(stateful_step_count=60)
TestReplication = Replication.TestCase
