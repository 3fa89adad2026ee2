"""One node's member of a replication group: its timers, its disk, its messages, its machine.

The step machine of `raft` decides; this drives it: it carries messages out, arms the timers, writes
to the disk, and hands what is committed to the group's state machine, in the order of the log.

A follower that hears nothing from a leader for an election timeout stands for election; so that
not all do so at once, each adds a span of its own, up to as much again. What a leader sends them
anyway counts: it sends heartbeats only after `heartbeat_ms` of silence; or `heartbeat_idle_ms` if
its owner proposes idle commands within an election timeout (`idle_ms()`; None: it does not): then
the idle commands are the heartbeats, and one message that is lost starts no election. A leader
steps down when it has not heard from a majority for an election timeout. A group of one has no
timers and no messages: what is proposed is applied at once.

    follower --silence--> candidate --votes--> leader --no majority, or a higher term--> follower
    (`member` has the role; `_led_term` is the term that this driver leads, 0 while it does not)

* `member`: the step machine; only `_after` carries out what it leaves in its boxes. `_busy` guards
  that: what a machine's callback proposes is carried out by the turn that is under way.
* `_log.applied`: here alone, before the machine applies. A node that dies comes back to it.
* `last_stamp`: the largest stamp in the log, also of entries that are not committed or only in a
  snapshot: a new leader stamps above it, else two commands would change places in time.
* `_waiting`: futures by index. Of an index that another leader's entry takes, `NOT_LEADER`: it is
  unknown whether the proposed command is in the log, so it must be proposed again.
* `_look` (due when a heartbeat is, or when a majority was silent for too long), `_election_armed`,
  `_resend`: one timer each; `_heard_us`, `_level_us` and `_spoke_us` are the leader's alone,
  `_leader_heard_us` every member's.
* `_compact_at`: for a group of one, whose log would else be copied at every command.
"""

from collections.abc import Callable, Iterable

from ddlsim.history.world_events import (
    CommandLogged,
    EntryLost,
    LeaderElected,
    LeaderSteppedDown,
    SnapshotInstalled,
)
from ddlsim.model.ports import Future, Node, Timer
from ddlsim.protocol.raft import (
    AppendEntries,
    AppendReply,
    Entry,
    InstallSnapshot,
    Mark,
    Member,
    RaftLog,
    RaftMessage,
    TimeoutNow,
)
from ddlsim.protocol.replication.state_machine import (
    NOT_LEADER,
    Applied,
    Pending,
    StateMachine,
    disk_name,
)
from ddlsim.units import MIN_TIMESTAMP, US_PER_MS, Micros, Timestamp


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
        wrap: Callable[[RaftMessage], object] | None = None,
        member_class: type[Member] = Member,
        idle_ms: Callable[[], int | None] = lambda: None,
    ) -> None:
        assert node.name in (*voters, *learners), f"{node.name} is no member of {name}"
        self.node = node
        self.name = name
        self.machine = machine
        self.voters = voters
        self.last_stamp: Timestamp = MIN_TIMESTAMP
        self.on_elected: Callable[[int], None] | None = None
        self.on_deposed: Callable[[int], None] | None = None
        self.is_alone = len(voters) == 1 and not learners
        self._wrap = wrap
        self._idle_ms = idle_ms
        key = disk_name(name)
        restored = key in node.disk
        log = node.disk.setdefault(key, RaftLog())
        assert isinstance(log, RaftLog), f"{log} is no log"
        self._log = log
        born_with = None if restored else leader or voters[0]
        self.member = member_class(node.name, voters, learners, self._log, leader=born_with)
        self._led_term = self.member.led_term
        self._waiting: dict[int, Future[object]] = {}
        self._last_result: tuple[int, object] = (0, None)
        self._busy = False
        self._compact_at = self._log.base_index + 2 * node.settings.snapshot_entries
        self._heard_us: dict[str, int] = {}
        self._level_us: dict[str, int] = {}
        self._leader_heard_us = self._spoke_us = node.watch.now_us
        self._look: Timer | None = None
        self._look_armed_us = self._look_due_us = 0
        self._election_armed = False
        self._resend: Timer | None = None
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
            self._install_in_machine(log.snapshot_state)
        for index in range(log.snapshot_index + 1, min(log.applied, log.last_index) + 1):
            entry = log.entry(index)
            machine.restore(index, entry.term, entry.command)
        self.member.restored(min(log.applied, log.last_index))
        machine.restored()
        stamps = [machine.stamp_of(entry.command) for entry in log.entries]
        self.last_stamp = max([self.last_stamp, *stamps])

    @property
    def is_leader(self) -> bool:
        """Whether this member leads its group."""
        return self.member.led_term != 0

    @property
    def leader(self) -> str | None:
        """The leader of the latest term, None if this member has not heard of one."""
        return self.member.leader

    @property
    def term(self) -> int:
        """The latest term that this member has seen."""
        return self.member.term

    # --- proposing --------------------------------------------------------------------------------

    def propose(self, command: object) -> int:
        """Append a command at the leader and send it to the voters; its index in the log."""
        stamp = self.machine.stamp_of(command)
        self.last_stamp = max(self.last_stamp, stamp)
        if not self.is_alone:
            self._says_something()
        index = self.member.propose(command)
        self._after()
        if not self.is_alone:
            self._arm_resend()
        return index

    def proposed(self, command: object) -> Applied[object] | Pending:
        """Propose at the leader; a group of one over a disk that takes no time applies it now."""
        assert self.member.is_leader, f"{self.node.name} does not lead {self.name}"
        log = self._log
        through = self.is_alone and log.applied == log.base_index + len(log.entries)
        if through and not self.node.disk_delay_us and not self._busy:
            # no other member has to store it, nothing comes before it, and this disk takes no time
            log.applied = index = self.member.append_alone(command)
            self.last_stamp = self.machine.stamp_of(command)
            result = self.machine.apply(index, log.term, command)
            if index > self._compact_at:
                self._compact()
                # each copy of the state costs more than the last: one per doubling is enough
                behind = log.base_index + 2 * self.node.settings.snapshot_entries
                self._compact_at = max(behind, 2 * index)
            return Applied(result)
        index = self.propose(command)
        assert index not in self._waiting, f"{self.name} has two proposals at {index}"
        applied, result = self._last_result
        if applied == index:
            return Applied(result)
        waiting: Future[object] = self.node.future()
        self._waiting[index] = waiting
        return Pending(waiting)

    def transfer_to(self, peer: str) -> None:
        """Hand the group over to another voter, and this node's clock as it is then."""
        self.member.transfer_to(peer, self.node.clock.now)
        self._after()

    def re_elect(self) -> None:
        """Stand for election at once, in a new term; a leader steps down for it."""
        self.member.step(self.node.name, TimeoutNow(self.member.term, None))
        self._after()

    # --- messages ---------------------------------------------------------------------------------

    def receive(self, sender: str, message: RaftMessage) -> None:
        """Take a message of the group."""
        assert sender != self.node.name, f"{sender} writes to itself"
        member = self.member
        if type(message) is AppendEntries:
            if message.entries and not self._may_store(message.entries):
                return
            member.step(sender, message)
            self._after()
            if member.leader == sender:
                self._leader_heard_us = self.node.watch.now_us
            return
        if type(message) is not AppendReply:
            if type(message) is InstallSnapshot and not self.machine.may_install(message.state):
                self.node.probe("catalog-version-awaited")
                return
            if type(message) is TimeoutNow and message.payload is not None:
                self.node.clock.update(message.payload)
        self._heard_us[sender] = self.node.watch.now_us
        member.step(sender, message)
        self._after()
        if self._resend is not None and member.led_term and member.is_settled():
            self._resend.cancel()  # the last one that was behind has answered
            self._resend = None
        if type(message) is InstallSnapshot and member.leader == sender:
            self._leader_heard_us = self.node.watch.now_us

    def _may_store(self, entries: Iterable[Entry]) -> bool:
        """Whether this node knows the catalog version that each entry needs; notes their stamps."""
        machine, last_stamp = self.machine, self.last_stamp
        for entry in entries:
            if not machine.may_store(entry.command):
                self.node.probe("catalog-version-awaited")
                return False
            stamp = machine.stamp_of(entry.command)
            if stamp > last_stamp:  # noqa: PLR1730 - for each entry; `max` costs five times as much
                last_stamp = stamp
        self.last_stamp = last_stamp
        return True

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
            if member.lost:
                self._lose()
            if member.committed:
                self._apply_next()
                continue
            if self._led_term != member.led_term:
                self._change_role()
                continue
            if not member.outbox and not member.needs_sync:
                break
        self._busy = False

    def _send_all(self) -> None:
        member, node, wrap = self.member, self.node, self._wrap
        send, outbox, member.outbox = node.send, member.outbox, []
        for to, message in outbox:
            send(to, message if wrap is None else wrap(message))

    def _apply_next(self) -> None:
        index, entry = self.member.committed.popleft()
        node, machine = self.node, self.machine
        self._log.applied = index
        if node.recording and not self.is_alone:
            stamp, term = machine.stamp_of(entry.command), entry.term
            if node.is_first((self.name, index, term, stamp)):
                now_us = node.watch.now_us
                node.record(CommandLogged(now_us, node.name, self.name, index, term, stamp))
        result = machine.apply(index, entry.term, entry.command)
        self._last_result = (index, result)
        if self._waiting:
            waiting = self._waiting.pop(index, None)
            if waiting is not None:
                own = entry.term == self._led_term == self.member.term  # else it took the place
                waiting.set(result if own else NOT_LEADER)
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
        self._install_in_machine(state)

    def _install_in_machine(self, state: object) -> None:
        self.machine.install(state)
        self.last_stamp = max(self.last_stamp, self.machine.stamp_of_state(state))

    def _lose(self) -> None:
        """Write down what was committed and is in the log no more: a judge will read it."""
        lost, self.member.lost = self.member.lost, []
        node, machine = self.node, self.machine
        for index, entry in lost if node.recording else ():
            stamp = machine.stamp_of(entry.command)
            node.record(
                EntryLost(node.watch.now_us, node.name, self.name, index, entry.term, stamp)
            )

    # --- the disk ---------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Write to the disk: at once, or for as long as the disk takes."""
        assert self.member.needs_sync, f"{self.name} has nothing to write"
        delay_us = self.node.disk_delay_us
        if not delay_us:
            self.member.sync_now()
            return
        self.node.probe("slow-disk")
        self.node.call_later(Micros(delay_us), self._synced, self.member.begin_sync())

    def _synced(self, begun: tuple[Mark, list[tuple[str, RaftMessage]]]) -> None:
        self.member.end_sync(begun)
        self._after()

    # --- leading and following --------------------------------------------------------------------

    def _change_role(self) -> None:
        """Elected, deposed, or both in a row."""
        member, node = self.member, self.node
        assert self._busy, "a role changes within `_after` only"
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
        node = self.node
        assert not self._led_term, f"{node.name} still leads {self.name}"
        if node.recording:
            node.record(LeaderSteppedDown(node.watch.now_us, node.name, self.name, term))
        if self._look is not None:
            self._look.cancel()
            self._look = None
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.set(NOT_LEADER)
        self._leader_heard_us = self.node.watch.now_us
        self._await_leader()
        if self.on_deposed is not None:
            self.on_deposed(term)

    def _lead(self) -> None:
        """Let the others hear from this leader, and see whether they answer."""
        assert self.member.is_leader, f"{self.node.name} does not lead {self.name}"
        if self.is_alone:
            return
        now = self.node.watch.now_us
        self._heard_us = dict.fromkeys(self.member.peers, now)
        self._level_us = dict.fromkeys(self.member.peers, now)
        self._says_something()

    def _says_something(self) -> None:
        """A command is about to be sent: no heartbeat is due for a while.

        The timer moves only where more of its wait is over than left: in a busy group, seldom.
        """
        self._spoke_us = now = self.node.watch.now_us
        for peer in self.member.level_peers():
            self._level_us[peer] = now
        if self._look is None or self._look_due_us - now < now - self._look_armed_us:
            self._arm_look()

    def _beat_us(self) -> int:
        """After how much silence a heartbeat is due."""
        settings, idle_ms = self.node.settings, self._idle_ms()
        if idle_ms is None or idle_ms > settings.election_timeout_ms:
            return settings.heartbeat_ms * US_PER_MS
        return settings.heartbeat_idle_ms * US_PER_MS

    def _arm_look(self) -> None:
        if self._look is not None:
            self._look.cancel()
        now = self.node.watch.now_us
        too_long_us = self._majority_heard_us() + self._timeout_us()
        self._look_armed_us = now
        self._look_due_us = due_us = max(now, min(too_long_us, self._spoke_us + self._beat_us()))
        self._look = self.node.call_later(Micros(due_us - now), self._looked)

    def _majority_heard_us(self) -> int:
        """The latest instant since which a majority has answered; the leader counts as now."""
        now, mine = self.node.watch.now_us, self.node.name
        heard = [now if voter == mine else self._heard_us[voter] for voter in self.voters]
        heard.sort()
        return heard[(len(heard) - 1) // 2]

    def _looked(self) -> None:
        self._look = None
        member, now = self.member, self.node.watch.now_us
        assert not self.is_alone, f"{self.name} has one member and needs no heartbeat"
        if not member.is_leader:
            return
        if now - self._majority_heard_us() >= self._timeout_us():
            self.node.probe("quorum-lost")
            member.step_down()
        else:
            if now - self._spoke_us >= self._beat_us():
                self._spoke_us = now
                member.heartbeat()
            self._arm_look()
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
        spread_us = Micros(self.node.settings.election_spread_ms * US_PER_MS)
        extra_us = self.node.spread(f"election {self.name}", spread_us)
        self.node.call_later(Micros(wait_us + extra_us), self._election_due, extra_us)

    def _election_due(self, extra_us: int) -> None:
        member = self.member
        assert self._election_armed, f"{self.name} has a second election timer"
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

    # --- members that are behind or silent --------------------------------------------------------

    def silent_us(self, peer: str) -> int:
        """At the leader: how long ago a member was last heard."""
        return self.node.watch.now_us - self._heard_us.get(peer, 0)

    def behind_us(self, peer: str) -> int:
        """At the leader: how long ago a member last had all of the log; 0 for itself."""
        if peer == self.node.name or self.member.is_level(peer):
            return 0
        return self.node.watch.now_us - self._level_us.get(peer, 0)

    def _arm_resend(self) -> None:
        """While a member has not confirmed everything, look again after a while."""
        if self._resend is None:
            self._resend = self.node.call_later(self.node.settings.resend_us, self._resent)

    def _resent(self) -> None:
        self._resend = None
        if not self.member.is_leader:
            return
        behind = self.member.resend()
        if self.member.outbox:
            self.node.probe("append-resent")
            self._after()
        if behind:
            self._arm_resend()
