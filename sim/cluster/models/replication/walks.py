"""A group of members beside a run, driven through an arbitrary order of steps.

A run's groups elect few leaders, and its network seldom turns the order of their messages round. So
beside each run a small group of its own takes some steps in an order that follows from the run's
seed: messages are delivered in any order, twice or never, timers fire at any time, disks are slow,
and machines die. Another group has one leader after the other, each of which appends what only some
members receive. Each member is compared with its model; nothing else sees them.
"""

from typing import Any, Final, cast

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.replication.member import ModelledMember
from ddlsim.kernel.rng import mix
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.log import RaftLog
from ddlsim.protocol.raft.messages import (
    InstallSnapshot,
    RaftMessage,
    RequestVote,
    TimeoutNow,
)

STEPS: Final = 200
"""How many steps a group takes beside a run."""
RECENT: Final = 6
"""How many messages were sent last: mostly one of them is delivered next."""
KEPT: Final = 2
"""How many entries a snapshot leaves in the log before it."""
TERMS: Final = 10
"""How many members of another group stand for election, one after the other."""
APPENDED: Final = 5 * KEPT
"""How much each of them appends at most."""
TALKS: Final = 60
"""How many messages members exchange at most before others take part again."""


class Driven:
    """One member, its disk, and the writes that are under way."""

    def __init__(self, member: ModelledMember, log: RaftLog) -> None:
        self.member = member
        self.log = log
        self.writes: list[Any] = []


class Walk:
    """A group, `members`, and the messages between them; every choice follows from a number."""

    def __init__(self, models: Models, number: int) -> None:
        own = Models(models.record, models.loop)
        self._class: type[ModelledMember] = type("Member", (ModelledMember,), {"models": own})
        self._number, self._drawn = number, 0
        names = ("a", "b", "c", "d", "e")[: 3 + 2 * self._below(2)]
        self._voters, self._learners = names, ("l",) * self._below(2)
        self._leader = self._voters[0] if self._below(2) else None
        self._messages: list[tuple[str, str, RaftMessage]] = []
        self._hears = False
        self.members = {name: self._born(name, RaftLog()) for name in (*names, *self._learners)}
        for driven in self.members.values():
            self._carry_out(driven)

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def _born(self, name: str, log: RaftLog, leader: str | None = None) -> Driven:
        leader = leader or (self._leader if not log.term else None)
        member = self._class(name, self._voters, self._learners, log, leader=leader)
        member.hears_leader = lambda: self._hears
        return Driven(member, log)

    def take(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            self._hears = self._below(3) == 0
            names = list(self.members)
            driven = self.members[names[self._below(len(names))]]
            if self._messages and self._below(100) < 60:
                self._deliver()
            elif self._below(4) == 0:
                self._ask_for_a_vote(driven)
            else:
                self._do(driven)

    def contend(self, terms: int) -> None:
        """Begin some terms one after the other; what others were sent before a term is lost.

        The leader of the term before is mostly cut off. So two leaders leave entries that
        contradict each other, and a later leader, or its snapshot, comes upon as many of them as it
        has itself, or more, and of a later term.
        """
        last = ""
        for _ in range(terms):
            self._messages = []
            last = self._begin_term(last if self._below(4) else "")
            if not self._below(4):
                self._talk(set(self.members))

    def _begin_term(self, cut_off: str) -> str:
        """A majority elects a leader, which appends something that only some members receive."""
        voters = [name for name in self._voters if name != cut_off]
        driven = self.members[voters[self._below(len(voters))]]
        name = driven.member.name
        driven.member.step(self._voters[0], TimeoutNow(driven.log.term, None))
        self._write(driven)
        self._talk(self._some_of(voters, name, len(self._voters) // 2 + 1))
        if driven.member.is_leader:
            for _ in range(APPENDED - self._below(APPENDED)):
                driven.member.propose(f"command {self._drawn}")
                self._write(driven)
            self._talk(self._some_of(voters, name, 1) if self._below(2) else {name})
        return name

    def _some_of(self, voters: list[str], name: str, least: int) -> set[str]:
        """A member, and some more of these voters: at least so many in all."""
        found, first = {name}, self._below(len(voters))
        count = least + self._below(len(voters) - least + 1)
        for voter in voters[first:] + voters[:first]:
            if len(found) < count:
                found.add(voter)
        return found | (set(self._learners) if self._below(2) else set())

    def _talk(self, among: set[str]) -> None:
        """Deliver what some members send each other, in order; what others are sent is late."""
        for _ in range(TALKS):
            at = next((n for n, one in enumerate(self._messages) if {*one[:2]} <= among), None)
            if at is None:
                return
            sender, to, message = self._messages.pop(at)
            self.members[to].member.step(sender, message)
            self._write(self.members[to])

    def _write(self, driven: Driven) -> None:
        """Carry out what a member has left, and let its disk become ready with that."""
        self._carry_out(driven)
        while driven.writes:
            driven.member.end_sync(driven.writes.pop(0))
            self._carry_out(driven)

    def _deliver(self) -> None:
        """One of the messages: delivered, lost, or delivered and kept."""
        count, fate = len(self._messages), self._below(20)
        at = count - 1 - self._below(min(count, RECENT)) if self._below(4) else self._below(count)
        sender, to, message = self._messages[at]
        if fate > 1:
            del self._messages[at]
        if fate:
            driven = self.members[to]
            driven.member.step(sender, message)
            self._carry_out(driven)

    def _ask_for_a_vote(self, driven: Driven) -> None:
        """A request as of an old candidate, whose log ends beside that of the member asked."""
        log, sender = driven.log, self._voters[self._below(len(self._voters))]
        if sender == driven.member.name:
            return
        term, index, last = log.term + self._below(3) - 1, self._below(3) - 1, self._below(3) - 1
        ends = (max(log.last_index + index, 0), max(log.last_term + last, 0))
        pre, forced = self._below(2) == 0, self._below(4) == 0
        driven.member.step(sender, RequestVote(term, *ends, pre=pre, forced=forced and not pre))
        self._carry_out(driven)

    def _do(self, driven: Driven) -> None:
        """What a member's driver, or its machine, does by itself."""
        member, what = driven.member, self._below(20)
        if what < (4 if driven.writes else 1):  # mostly while its disk writes
            self._die(driven)
            return
        if what < 7:
            if driven.writes:
                member.end_sync(driven.writes.pop(0))
        elif not member.is_leader:
            if what > 15:
                member.election_timeout()
        elif what < 10:
            member.heartbeat()
        elif what < 16:
            member.propose(f"command {self._drawn}")
        elif what < 18:
            member.resend()
        elif what < 19:
            member.step_down()
        else:
            member.transfer_to(self._voters[self._below(len(self._voters))], None)
        self._carry_out(driven)

    def _die(self, driven: Driven) -> None:
        """A machine dies and starts again with what its disk holds."""
        log, name = driven.log, driven.member.name
        if self._below(3):
            log.lose_unsynced(self._below(3))
        log.sync_now()  # what has survived is on the disk
        born = self.members[name] = self._born(name, log)
        born.member.restored(min(log.applied, log.last_index))
        self._carry_out(born)

    def die_behind_a_snapshot(self) -> None:
        """A voter takes over a snapshot of a later term, and dies while its disk writes that.

        The snapshot is on the disk by then, with the term of its end; the term alone is not.
        """
        driven = self.members[self._voters[1]]
        member, log, sender = driven.member, driven.log, self._voters[0]
        term, index = log.term + 1 + self._below(3), log.last_index + 1 + self._below(3)
        member.step(sender, InstallSnapshot(term, index, term, f"state {index}"))
        member.begin_sync()
        member.outbox = []
        log.applied, member.installed = index, None
        log.lose_unsynced(0)
        log.sync_now()
        self._born(member.name, log).member.restored(min(log.applied, log.last_index))

    def _carry_out(self, driven: Driven) -> None:
        """Do what a member has left for its driver."""
        member, log = cast("Member", driven.member), driven.log
        while True:
            if member.needs_sync:
                if self._below(2):
                    member.sync_now()
                else:
                    driven.writes.append(member.begin_sync())
            for to, message in member.outbox:
                self._messages.append((member.name, to, message))
            member.outbox = []
            if member.installed is not None:
                log.applied, member.installed = member.installed[0], None
            member.lost = []
            while member.committed:
                log.applied = member.committed.popleft()[0]
            if log.applied - log.base_index > 2 * KEPT and log.applied > log.snapshot_index:
                member.compact(log.applied, f"state {log.applied}", KEPT)
            if not member.outbox and not member.needs_sync:
                return


def walk(models: Models, seed: int) -> None:
    """Compare two groups beside the run of this seed."""
    Walk(models, mix(seed, 1)).take(STEPS)
    contended = Walk(models, mix(seed, 7))
    contended.contend(TERMS)
    contended.die_behind_a_snapshot()
