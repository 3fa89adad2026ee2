"""A replication group driven by hand: every message waits until a test delivers or loses it."""

from typing import Any, NamedTuple

from ddlsim.protocol.raft import AppendEntries, AppendReply, Member, RaftLog


class Letter(NamedTuple):
    """A message between members."""

    sender: str
    to: str
    message: AppendEntries | AppendReply


class Group:
    """Members by name, what is on its way between them, and what each has committed."""

    def __init__(
        self,
        voters: tuple[str, ...] = ("a", "b", "c"),
        learners: tuple[str, ...] = (),
        kind: type[Member] = Member,
    ) -> None:
        self.voters = voters
        self.leader = voters[0]
        self.members = {
            name: kind(name, voters, learners, RaftLog(), leader=self.leader)
            for name in (*voters, *learners)
        }
        for member in self.members.values():
            member.outbox.clear()  # the first heartbeat
        self.on_the_way: list[Letter] = []
        self.applied: dict[str, list[Any]] = {name: [] for name in self.members}

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def propose(self, command: object) -> int:
        """Have the leader append a command."""
        index = self.members[self.leader].propose(command)
        self._collect(self.leader)
        return index

    def resend(self) -> bool:
        """The leader's time has come to look who is behind."""
        behind = self.members[self.leader].resend()
        self._collect(self.leader)
        return behind

    def deliver(self, number: int = 0, *, keep: bool = False) -> Letter:
        """Let a message arrive; with `keep` another copy of it is still on its way."""
        letter = self.on_the_way[number] if keep else self.on_the_way.pop(number)
        self.members[letter.to].step(letter.sender, letter.message)
        self._collect(letter.to)
        return letter

    def deliver_to(self, name: str) -> None:
        """Let everything that is on its way to a member now arrive, in order."""
        for letter in [letter for letter in self.on_the_way if letter.to == name]:
            self.deliver(self.on_the_way.index(letter))

    def lose(self, name: str | None = None) -> None:
        """Lose what is on its way to a member, or to anybody."""
        self.on_the_way = [a for a in self.on_the_way if name is not None and a.to != name]

    def settle(self) -> None:
        """Let everything arrive, and all that follows from it."""
        for _ in range(1000):
            if not self.on_the_way:
                return
            self.deliver()
        raise AssertionError("it does not settle")

    def _collect(self, name: str) -> None:
        member = self.members[name]
        if member.needs_sync:
            member.sync_now()
        for to, message in member.outbox:
            self.on_the_way.append(Letter(name, to, message))
        member.outbox.clear()
        while member.committed:
            index, entry = member.committed.popleft()
            assert index == len(self.applied[name]) + 1, f"{name} commits {index} out of order"
            self.applied[name].append(entry.command)
