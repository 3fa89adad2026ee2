"""A world for Raft members: a network that misbehaves, disks that lose, and what must hold.

Every step is one of a few moves, chosen by a source of numbers; after each of them the safety
properties of Raft (Ongaro and Ousterhout, 2014, figure 3) are looked at.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from ddlsim.protocol.raft import Entry, Member, RaftLog
from ddlsim.protocol.raft.replication import Role


@dataclass
class Machine:
    """A machine with a member: its log, and what was applied."""

    name: str
    log: RaftLog
    member: Member
    applied: list[Entry] = field(default_factory=list)
    up: bool = True
    writing: list[Any] = field(default_factory=list)


class BrokenLawError(AssertionError):
    """A property of Raft does not hold."""


def law(holds: bool, what: str) -> None:
    """Demand that something holds."""
    if not holds:
        raise BrokenLawError(what)


class World:
    """Members of one group, messages under way, and the whole cluster's memory."""

    def __init__(
        self, random: Random, voters: int, learners: int, member: type[Member] = Member
    ) -> None:
        self.random = random
        self.voters = tuple(f"v{number}" for number in range(voters))
        self.learners = tuple(f"l{number}" for number in range(learners))
        self.member_class = member
        self.network: list[tuple[str, str, Any]] = []
        self.cut: dict[str, None] = {}
        self.leaders: dict[int, str] = {}
        self.truth: list[Entry] = []
        self.commands = 0
        self.terms: dict[str, int] = {}
        self.slow = random.choice([0.0, 0.3, 0.9])
        self.weights = {
            "deliver": 55,
            "propose": 15,
            "stand": random.choice([2, 6, 15]),
            "beat": 8,
            "finish_writing": 4,
            "crash": random.choice([0, 3, 9]),
            "restart": random.choice([4, 12]),
            "compact": random.choice([0, 2]),
            "hand_over": 1,
            "cut_off": random.choice([0, 1]),
            "heal_cut": 1,
        }
        self.machines: dict[str, Machine] = {}
        for name in (*self.voters, *self.learners):
            log = RaftLog()
            made = member(name, self.voters, self.learners, log, leader="v0")
            made.hears_leader = lambda: False
            self.machines[name] = Machine(name, log, made)
            self.leaders[1] = "v0"
        for machine in self.machines.values():
            self.after(machine)

    # --- driving ----------------------------------------------------------------------------------

    def after(self, machine: Machine, *, slow: bool = False) -> None:
        """Carry out what the member decided."""
        member = machine.member
        while member.needs_sync or member.outbox or member.committed or member.installed:
            if member.needs_sync and slow:
                machine.writing.append(member.begin_sync())
            elif member.needs_sync:
                member.sync_now()
            for to, message in member.outbox:
                self.network.append((machine.name, to, message))
            member.outbox = []
            self.apply(machine)
        self.look(machine)

    def apply(self, machine: Machine) -> None:
        """Install and apply; what is applied anywhere is the truth everywhere."""
        member = machine.member
        if member.installed is not None:
            index, state = member.installed
            member.installed = None
            machine.applied = list(state)
            law(len(machine.applied) == index, "a snapshot ends where it says")
            law(machine.applied == self.truth[:index], "state machine safety, by snapshot")
            machine.log.applied = index
        while member.committed:
            index, entry = member.committed.popleft()
            law(index == len(machine.applied) + 1, "entries are applied in order, without gaps")
            machine.applied.append(entry)
            machine.log.applied = index
            if index > len(self.truth):
                self.truth.append(entry)
            law(self.truth[index - 1] == entry, f"state machine safety at {index}")

    def look(self, machine: Machine) -> None:
        """What must hold of one member at any time."""
        member, log = machine.member, machine.log
        law(member.term >= self.terms.get(machine.name, 0) or not machine.up, "terms only grow")
        self.terms[machine.name] = member.term
        led_term = member.term if member.role is Role.LEADER else 0
        law(member.led_term == led_term, f"{member.role} leads term {member.led_term}")
        if member.is_leader:
            law(machine.name in self.voters, "learners never lead")
            known = self.leaders.setdefault(member.term, machine.name)
            law(known == machine.name, f"election safety: {known} and {machine.name}")
            for index, entry in enumerate(self.truth, 1):
                if index > log.base_index:
                    holds = index <= log.last_index and log.entry(index) == entry
                    law(holds or entry.term > member.term, f"leader completeness at {index}")
        law(log.last_index >= member.commit_index, "what is committed is in the log")

    def matching(self) -> None:
        """Log matching: the same term at an index means the same log up to there."""
        machines = list(self.machines.values())
        for one in machines:
            for other in machines:
                last = min(one.log.last_index, other.log.last_index)
                first = max(one.log.base_index, other.log.base_index)
                for index in range(last, first, -1):
                    if one.log.term_at(index) == other.log.term_at(index):
                        same = [
                            one.log.entry(i) == other.log.entry(i)
                            for i in range(first + 1, index + 1)
                        ]
                        law(all(same), "log matching")
                        break

    # --- moves ------------------------------------------------------------------------------------

    def move(self) -> None:
        """One thing happens; what is frequent differs from world to world."""
        machine = self.machines[self.random.choice(list(self.machines))]
        [name] = self.random.choices(list(self.weights), list(self.weights.values()))
        if name == "deliver":
            self.deliver()
        elif machine.up or name in ("restart", "heal_cut"):
            getattr(self, name)(machine)

    def stand(self, machine: Machine) -> None:
        """A follower has waited for long enough."""
        machine.member.election_timeout()
        self.after(machine, slow=self.is_slow())

    def beat(self, machine: Machine) -> None:
        """A leader lets the others hear from it."""
        if machine.member.is_leader:
            machine.member.heartbeat()
            machine.member.resend()
            self.after(machine)

    def hand_over(self, machine: Machine) -> None:
        """A leader gives up its place."""
        if machine.member.is_leader:
            machine.member.transfer_to(self.random.choice(self.voters), None)
            self.after(machine)

    def cut_off(self, machine: Machine) -> None:
        """A machine can talk only to others that are cut off as well."""
        self.cut[machine.name] = None

    def heal_cut(self, machine: Machine) -> None:
        """Everybody can talk to everybody."""
        del machine
        self.cut.clear()

    def is_slow(self) -> bool:
        """Whether a disk is still writing when the next thing happens."""
        return self.random.random() < self.slow

    def deliver(self) -> None:
        """A message arrives, in any order; it may be lost, or arrive again."""
        if not self.network:
            return
        random = self.random
        sender, to, message = self.network.pop(random.randrange(len(self.network)))
        fate = random.random()
        if fate < 0.08:
            return
        if fate < 0.14:
            self.network.append((sender, to, message))
        machine = self.machines[to]
        if machine.up and not (to in self.cut) ^ (sender in self.cut):
            machine.member.step(sender, message)
            self.after(machine, slow=self.is_slow())

    def propose(self, machine: Machine) -> None:
        """A client's command reaches a leader."""
        if machine.up and machine.member.is_leader:
            self.commands += 1
            machine.member.propose(self.commands)
            self.after(machine, slow=self.is_slow())

    def finish_writing(self, machine: Machine) -> None:
        """The oldest write of a slow disk ends."""
        if machine.up and machine.writing:
            machine.member.end_sync(machine.writing.pop(0))
            self.after(machine)

    def crash(self, machine: Machine) -> None:
        """A machine dies, perhaps with writes under way."""
        if not machine.up:
            return
        machine.up = False
        machine.writing = []
        if self.random.random() < 0.7:
            machine.log.lose_unsynced(self.random.choice([0, 0, 1, 2]))
        else:
            machine.log.sync_now()

    def restart(self, machine: Machine) -> None:
        """It comes back with its disk, and applies again what it had applied."""
        if machine.up:
            return
        log = machine.log
        machine.up = True
        member = self.member_class(machine.name, self.voters, self.learners, log)
        member.hears_leader = lambda: False
        machine.member = member
        machine.applied = list(log.snapshot_state or [])
        for index in range(len(machine.applied) + 1, min(log.applied, log.last_index) + 1):
            machine.applied.append(log.entry(index))
        member.restored(len(machine.applied))
        law(machine.applied == self.truth[: len(machine.applied)], "what is restored was committed")
        self.terms[machine.name] = 0
        self.after(machine)

    def compact(self, machine: Machine) -> None:
        """A log is cut behind a snapshot."""
        index = len(machine.applied)
        if machine.up and index > machine.log.snapshot_index:
            keep = self.random.choice([0, 1, 3])
            machine.member.compact(index, tuple(machine.applied), keep)
            self.look(machine)

    def heal(self, rounds: int = 60) -> None:
        """Everything works from now on: somebody leads, and all agree."""
        self.cut.clear()
        for machine in self.machines.values():
            self.restart(machine)
            while machine.writing:
                self.finish_writing(machine)
        for number in range(rounds):
            leaders = [m for m in self.machines.values() if m.member.is_leader]
            newest = max(leaders, key=lambda m: m.member.term, default=None)
            if newest is None:
                standing = self.machines[self.voters[number % len(self.voters)]]
                standing.member.election_timeout()
                self.after(standing)
            else:
                self.propose(newest)
                newest.member.heartbeat()
                newest.member.resend()
                self.after(newest)
            for _ in range(2000):
                if not self.network:
                    break
                sender, to, message = self.network.pop(0)
                self.machines[to].member.step(sender, message)
                self.after(self.machines[to])
        self.matching()
        law(
            all(m.applied == self.truth for m in self.machines.values()), "everybody has everything"
        )
        law(bool(self.truth), "something was committed")
