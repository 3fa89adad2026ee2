"""One node's member of a replication group: its timers, its disk, its messages, its machine.

The step machine of `raft` decides; this drives it: it carries messages out, arms the timers, writes
to the disk, and hands what is committed to the group's state machine, in the order of the log.

A follower that hears nothing from a leader for an election timeout stands for election; so that
not all do so at once, each adds a span of its own, up to as much again. A leader lets its followers
hear from it ten times in an election timeout, and steps down when it has not heard from a majority
for one. A group of one has no timers and no messages: what is proposed is applied at once.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from sim.history.events import CommandLogged, LeaderElected, SnapshotInstalled
from sim.model.ports import Future, Node, Timer
from sim.protocol.raft import AppendEntries, InstallSnapshot, Member, RaftLog, TimeoutNow
from sim.units import MIN_TIMESTAMP, US_PER_MS, Micros, Timestamp

HEARTBEATS: Final = 10
"""How often a leader is heard in an election timeout."""


class NotLeaderType:
    """The type of `NOT_LEADER`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_LEADER"


NOT_LEADER: Final = NotLeaderType()
"""What a proposal comes to when another leader's entry took its place, or may have."""


class Pending:
    """A result that is still to come; awaited, `future` gives it, or `NOT_LEADER`."""

    __slots__ = ("future",)

    def __init__(self, future: Future[Any]) -> None:
        self.future = future


def disk_name(group: str) -> str:
    """Where a node's disk holds its log of a group."""
    return f"raft/{group}"


class StateMachine(Protocol):
    """What a group replicates."""

    applied_index: int
    applied_term: int

    def apply(self, index: int, term: int, command: Any) -> Any:
        """Carry out a committed command; the result is what its proposer gets."""

    def restore(self, index: int, term: int, command: Any) -> None:
        """Carry out a command again that was applied before the node died."""

    def restoring(self) -> None:
        """What was applied before the node died is about to come back, a piece at a time."""

    def restored(self) -> None:
        """Everything that was applied before the node died is back."""

    def stamp_of(self, command: Any) -> Timestamp:
        """The timestamp that the leader stamped on a command."""

    def may_store(self, command: Any) -> bool:
        """Whether this node knows enough to store a command; if not, it is sent again later."""

    def may_install(self, state: Any) -> bool:
        """Whether this node knows enough to install a snapshot; if not, it is sent again later."""

    def snapshot(self) -> Any:
        """The whole state up to `applied_index`, as a copy that later commands do not change."""

    def install(self, state: Any) -> None:
        """Replace the state by a snapshot."""


class Group:
    """A member of one replication group on one node."""

    def __init__(
        self,
        node: Node,
        name: str,
        machine: StateMachine,
        *,
        voters: tuple[str, ...],
        learners: tuple[str, ...] = (),
        leader: str | None = None,
        wrap: Callable[[object], object] | None = None,
        member_class: type[Member] = Member,
    ) -> None:
        self.node = node
        self.name = name
        self.machine = machine
        self.voters = voters
        self.last_stamp: Timestamp = MIN_TIMESTAMP
        self.on_elected: Callable[[int], None] | None = None
        self.on_deposed: Callable[[int], None] | None = None
        self.is_alone = len(voters) == 1 and not learners
        self._wrap = wrap
        key = disk_name(name)
        restored = key in node.disk
        self._log: RaftLog = node.disk.setdefault(key, RaftLog())
        born_with = None if restored else leader or voters[0]
        self.member = member_class(node.name, voters, learners, self._log, leader=born_with)
        self._led_term = self.member.term if self.member.is_leader else 0
        self._waiting: dict[int, Future[Any]] = {}
        self._last_result: tuple[int, Any] = (0, None)
        self._busy = False
        self._compact_at = self._log.base_index + 2 * node.settings.snapshot_entries
        self._heard_us: dict[str, int] = {}
        self._leader_heard_us = node.watch.now_us
        self._level_us: dict[str, int] = {}
        self._heartbeat: Timer | None = None
        self._election_armed = False
        self._resend_armed = False
        self.member.hears_leader = self._hears_leader

    # --- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Restore what was applied before, then take part."""
        self._restore()
        if self.voters == (self.node.name,) and not self.member.is_leader:
            self.member.election_timeout()  # it is its own majority
        if self.member.is_leader:
            self._lead()
        elif self.node.name in self.voters:
            self._await_leader()
        self._after()

    def _restore(self) -> None:
        """Bring the machine to where it was when the node died."""
        log, machine = self._log, self.machine
        machine.restoring()
        if log.snapshot_state is not None:
            machine.install(log.snapshot_state)
        for index in range(log.snapshot_index + 1, min(log.applied, log.last_index) + 1):
            entry = log.entry(index)
            machine.restore(index, entry.term, entry.command)
        self.member.restored(min(log.applied, log.last_index))
        machine.restored()
        self._note_stamps(entry.command for entry in log.entries)

    @property
    def is_leader(self) -> bool:
        """Whether this member leads its group."""
        return self.member.is_leader

    @property
    def leader(self) -> str | None:
        """Who leads, as far as this member knows."""
        return self.member.leader

    @property
    def term(self) -> int:
        """The latest term that this member knows of."""
        return self.member.term

    # --- proposing --------------------------------------------------------------------------------

    def propose(self, command: object) -> int:
        """Append a command at the leader and send it to everyone; its index in the log."""
        stamp = self.machine.stamp_of(command)
        self.last_stamp = max(self.last_stamp, stamp)
        index = self.member.propose(command)
        self._after()
        if not self.is_alone:
            self._arm_resend()
        return index

    def proposed(self, command: object) -> Any:
        """Propose at the leader: the result where it is applied at once, else a `Pending`."""
        fast = self.is_alone and not self.node.disk_delay_us and not self._busy
        if fast and self.member.commit_index == self._log.last_index:  # nothing is being written
            return self._applied_at_once(command)
        index = self.propose(command)
        applied, result = self._last_result
        if applied == index:
            return result
        waiting: Future[Any] = self.node.future()
        self._waiting[index] = waiting
        return Pending(waiting)

    def _applied_at_once(self, command: Any) -> Any:
        """Nobody else has to store it, and this disk takes no time."""
        log = self._log
        index = self.member.append_alone(command)
        self.last_stamp = command.safe_ts
        log.applied = index
        result = self.machine.apply(index, log.term, command)
        if index > self._compact_at:
            self._compact()
            self._compact_at = log.base_index + 2 * self.node.settings.snapshot_entries
        return result

    def transfer_to(self, peer: str) -> None:
        """Hand the group over to another voter, and this node's clock with it."""
        self.member.transfer_to(peer, self.node.clock.now())
        self._after()

    def re_elect(self) -> None:
        """Step down and stand for election at once, in a new term."""
        self.member.step(self.node.name, TimeoutNow(self.member.term, None))
        self._after()

    # --- messages ---------------------------------------------------------------------------------

    def receive(self, sender: str, message: Any) -> None:
        """Take a message of the group."""
        kind = type(message)
        if kind is AppendEntries:
            entries = message.entries
            if entries and not self._may_store(entries):
                return
            self._step(sender, message)
            if self.member.leader == sender:
                self._leader_heard_us = self.node.watch.now_us
            return
        if kind is InstallSnapshot and not self.machine.may_install(message.state):
            self.node.probe("catalog-version-awaited")
            return
        if kind is TimeoutNow and message.payload is not None:
            self.node.clock.update(message.payload)
        self._heard_us[sender] = self.node.watch.now_us
        self._step(sender, message)
        if kind is InstallSnapshot and self.member.leader == sender:
            self._leader_heard_us = self.node.watch.now_us

    def _may_store(self, entries: Iterable[Any]) -> bool:
        """Whether this node knows the catalog version that each entry needs."""
        may_store = self.machine.may_store
        for entry in entries:
            if not may_store(entry.command):
                self.node.probe("catalog-version-awaited")
                return False
        return True

    def _step(self, sender: str, message: Any) -> None:
        if type(message) is AppendEntries:
            self._note_stamps(entry.command for entry in message.entries)
        self.member.step(sender, message)
        self._after()

    def _note_stamps(self, commands: Iterable[Any]) -> None:
        stamp_of = self.machine.stamp_of
        for command in commands:
            stamp = stamp_of(command)
            self.last_stamp = max(self.last_stamp, stamp)

    # --- what the step machine decided ------------------------------------------------------------

    def _after(self) -> None:
        """Carry it out, and what follows from it, until nothing is left to do."""
        if self._busy:
            return
        self._busy = True
        member = self.member
        while True:
            if member.needs_sync:
                self._sync()
            if member.outbox:
                self._send_all()
            if member.installed is not None:
                self._install()
            if member.committed:
                self._apply_next()
                continue
            if member.is_leader != bool(self._led_term) or (
                member.is_leader and member.term != self._led_term
            ):
                self._change_role()
                continue
            if not member.outbox and not member.needs_sync:
                break
        self._busy = False

    def _send_all(self) -> None:
        member, node, wrap = self.member, self.node, self._wrap
        outbox, member.outbox = member.outbox, []
        for to, message in outbox:
            node.send(to, message if wrap is None else wrap(message))

    def _apply_next(self) -> None:
        index, entry = self.member.committed.popleft()
        node, machine = self.node, self.machine
        self._log.applied = index
        if node.recording and not self.is_alone:
            stamp = machine.stamp_of(entry.command)
            node.record_once(
                (self.name, index, entry.term, stamp),
                CommandLogged(node.watch.now_us, node.name, self.name, index, entry.term, stamp),
            )
        result = machine.apply(index, entry.term, entry.command)
        self._last_result = (index, result)
        if self._waiting:
            waiting = self._waiting.pop(index, None)
            if waiting is not None:
                led = self._led_term and entry.term == self.member.term
                waiting.set(result if led else NOT_LEADER)
        if index - self._log.base_index > 2 * node.settings.snapshot_entries:
            self._compact()

    def _compact(self) -> None:
        """Drop the log behind a snapshot, but for what members that lag a little still need."""
        machine = self.machine
        if machine.applied_index > self._log.snapshot_index:
            self.node.probe("log-compacted")
            keep = self.node.settings.snapshot_entries
            self.member.compact(machine.applied_index, machine.snapshot(), keep)

    def _install(self) -> None:
        assert self.member.installed is not None, f"{self.name} has no snapshot to install"
        index, state = self.member.installed
        self.member.installed = None
        node = self.node
        node.probe("snapshot-install")
        if node.recording:
            node.record(SnapshotInstalled(node.watch.now_us, node.name, self.name, index))
        self._log.applied = index
        self.machine.install(state)

    # --- the disk ---------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Write to the disk: at once, or for as long as the disk takes."""
        delay_us = self.node.disk_delay_us
        if not delay_us:
            self.member.sync_now()
            return
        self.node.probe("slow-disk")
        self.node.call_later(Micros(delay_us), self._synced, self.member.begin_sync())

    def _synced(self, begun: Any) -> None:
        self.member.end_sync(begun)
        self._after()

    # --- leading and following --------------------------------------------------------------------

    def _change_role(self) -> None:
        """Elected, deposed, or both in a row."""
        member, node = self.member, self.node
        if self._led_term:
            term, self._led_term = self._led_term, 0
            self._stop_leading(term)
        if member.is_leader:
            self._led_term = member.term
            node.probe("election")
            if node.recording:
                node.record(LeaderElected(node.watch.now_us, node.name, self.name, member.term))
            self._lead()
            if self.on_elected is not None:
                self._busy = False
                self.on_elected(member.term)
                self._busy = True

    def _stop_leading(self, term: int) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            self._heartbeat = None
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.set(NOT_LEADER)
        self._leader_heard_us = self.node.watch.now_us
        self._await_leader()
        if self.on_deposed is not None:
            self.on_deposed(term)

    def _lead(self) -> None:
        """Let the others hear from this leader, and see whether they answer."""
        if self.is_alone:
            return
        now = self.node.watch.now_us
        self._heard_us = dict.fromkeys(self.member.peers, now)
        self._level_us = dict.fromkeys(self.member.peers, now)
        self._arm_heartbeat()

    def _arm_heartbeat(self) -> None:
        interval_us = self._timeout_us() // HEARTBEATS
        self._heartbeat = self.node.call_later(Micros(interval_us), self._beat)

    def _beat(self) -> None:
        member, now = self.member, self.node.watch.now_us
        if not member.is_leader:
            self._heartbeat = None
            return
        timeout_us, mine = self._timeout_us(), self.node.name
        heard = sum(
            voter == mine or now - self._heard_us.get(voter, 0) < timeout_us
            for voter in self.voters
        )
        if 2 * heard <= len(self.voters):
            self.node.probe("quorum-lost")
            member.step_down()
        else:
            member.heartbeat()
            for peer in member.peers:
                if member.is_level(peer):
                    self._level_us[peer] = now
            self._arm_heartbeat()
        self._after()

    def _hears_leader(self) -> bool:
        return self.node.watch.now_us - self._leader_heard_us < self._timeout_us()

    def _timeout_us(self) -> int:
        return self.node.settings.election_timeout_ms * US_PER_MS

    def _await_leader(self) -> None:
        """One timer; when it fires, it looks whether a leader was heard meanwhile."""
        if not self._election_armed and len(self.voters) > 1:
            self._election_armed = True
            self._arm_election(self._timeout_us())

    def _arm_election(self, wait_us: int) -> None:
        extra_us = self.node.spread(f"election {self.name}", Micros(self._timeout_us()))
        self.node.call_later(Micros(wait_us + extra_us), self._election_due, extra_us)

    def _election_due(self, extra_us: int) -> None:
        member = self.member
        if member.is_leader:
            self._election_armed = False
            return
        silent_us = self.node.watch.now_us - self._leader_heard_us
        timeout_us = self._timeout_us()
        if silent_us < timeout_us + extra_us:
            self._arm_election(timeout_us - min(silent_us, timeout_us))
            return
        self.node.probe("election-timeout")
        member.election_timeout()
        self._arm_election(timeout_us)
        self._after()

    # --- who is behind, who is silent -------------------------------------------------------------

    def silent_us(self, peer: str) -> int:
        """At the leader: how long ago a member was last heard."""
        return self.node.watch.now_us - self._heard_us.get(peer, 0)

    def behind_us(self, peer: str) -> int:
        """At the leader: how long ago a member last had all of the log; 0 for itself."""
        if peer == self.node.name:
            return 0
        return self.node.watch.now_us - self._level_us.get(peer, 0)

    def _arm_resend(self) -> None:
        """While a member has not confirmed everything, look again after a while."""
        if not self._resend_armed:
            self._resend_armed = True
            self.node.call_later(self.node.settings.resend_us, self._resend)

    def _resend(self) -> None:
        self._resend_armed = False
        if not self.member.is_leader:
            return
        behind = self.member.resend()
        if self.member.outbox:
            self.node.probe("append-resent")
            self._after()
        if behind:
            self._arm_resend()
