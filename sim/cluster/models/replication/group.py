"""The model of what drives a member of a group: its timers, its log, its proposals.

* Whatever a step leaves is carried out before the call ends: sent, written, installed, applied in
  the order of the log; each proposal that waits gets the result of its own entry, or `NOT_LEADER`.
* A follower that votes asks for an election once it has heard no leader for an election timeout and
  a span of its own; a leader that a majority has not answered for that long leads no more.
* A leader that has sent nothing for as long as a heartbeat takes sends one; what is not confirmed
  is sent again at intervals, until it is.
* The last stamp is the largest of the log, of the snapshot, and of what was before it.
* A log is compacted when it holds twice the entries that are to be kept.
* A member that starts again brings its machine to where the log was applied: the snapshot, and each
  entry behind it up to there, in order.
"""

from itertools import zip_longest
from typing import Any, ClassVar, cast

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.replication.member import ModelledMember
from ddlsim.cluster.models.words import words
from ddlsim.protocol.raft import AppendEntries, InstallSnapshot, RaftMessage, TimeoutNow
from ddlsim.protocol.raft.messages import AppendReply
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.replication.state_machine import NOT_LEADER, Applied, Pending, StateMachine
from ddlsim.units import MIN_TIMESTAMP, US_PER_MS, Timestamp


class GroupModel:
    """When a member last heard each other one, when it last spoke, and the largest stamp."""

    def __init__(self, now_us: int) -> None:
        self.leader_heard_us = now_us
        self.spoke_us = now_us
        self.heard_us: dict[str, int] = {}
        self.level_us: dict[str, int] = {}
        self.last_stamp: Timestamp = MIN_TIMESTAMP
        self.proposed: dict[int, tuple[Pending, int]] = {}

    def lead(self, others: tuple[str, ...], now_us: int) -> None:
        """The member leads from now on; it has heard all others."""
        self.heard_us = dict.fromkeys(others, now_us)
        self.level_us = dict.fromkeys(others, now_us)

    def majority_heard_us(self, name: str, voters: tuple[str, ...], now_us: int) -> int:
        """The latest instant since which a majority was heard."""
        times = [now_us if voter == name else self.heard_us[voter] for voter in voters]
        return sorted(times, reverse=True)[len(times) // 2]

    def stamp(self, stamps: list[Timestamp]) -> None:
        """These stamps are in the log."""
        for stamp in stamps:
            self.last_stamp = max(self.last_stamp, stamp)


class Restoring:
    """A machine that is being restored; `done` is what is made of it, in order."""

    def __init__(self, machine: StateMachine, done: list[tuple[object, ...]]) -> None:
        self._machine = machine
        self._done = done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def restoring(self) -> None:
        """It begins."""
        self._done.append(("restoring",))
        self._machine.restoring()

    def restored(self) -> None:
        """It ends."""
        self._done.append(("restored",))
        self._machine.restored()

    def install(self, state: object) -> None:
        """A snapshot."""
        self._done.append((state,))
        self._machine.install(state)

    def restore(self, index: int, term: int, command: object) -> None:
        """An entry of the log."""
        self._done.append((index, term, command))
        self._machine.restore(index, term, command)


class ModelledGroup(Group):
    """A group that compares its timers, its stamps, and what is left to do."""

    models: ClassVar[Models]

    def __init__(self, node: Any, name: str, machine: Any, **named: Any) -> None:
        self._model = GroupModel(node.watch.now_us)
        self._divergence = self.models.divergence("group", node.name)
        self._waits_us: list[int] = []
        super().__init__(node, name, machine, **named)
        assert isinstance(self.member, ModelledMember), f"{name} has no modelled member"
        self._levels = self.member

    def _now_us(self) -> int:
        return self.models.loop.now_us

    # --- what each call leaves ----------------------------------------------------------------

    def _restore(self) -> None:
        machine, log = self.machine, self._log
        done: list[tuple[object, ...]] = []
        self.machine = cast("StateMachine", Restoring(machine, done))
        applied = log.applied  # what lies behind it may never be committed
        super()._restore()
        self.machine = machine
        at = log.base_index
        held = [(index, one.term, one.command) for index, one in enumerate(log.entries, at + 1)]
        due: list[tuple[object, ...]] = [("restoring",)]
        due += [] if log.snapshot_state is None else [(log.snapshot_state,)]
        due += [one for one in held if log.snapshot_index < one[0] <= applied]
        due.append(("restored",))
        if done != due:
            wrong = next((one for one, other in zip_longest(done, due) if one != other), None)
            self._divergence.found(
                f"at its start it restores {len(done) - 2} things, not {len(due) - 2}: "
                f"{words(wrong)}"
            )

    def start(self) -> None:
        super().start()
        log, machine = self._log, self.machine
        self._model.stamp([machine.stamp_of(entry.command) for entry in log.entries])
        if log.snapshot_state is not None:
            self._model.stamp([machine.stamp_of_state(log.snapshot_state)])
        self._is_done("its start")

    def propose(self, command: object) -> int:
        self._model.stamp([self.machine.stamp_of(command)])
        index: int = super().propose(command)
        if not self._busy:
            self._is_done("a proposal")
        if self._resend is None and not self.is_alone:
            self._divergence.found(f"index {index} is not confirmed, and will not be sent again")
        return index

    def proposed(self, command: object) -> Applied[object] | Pending:
        log = self._log
        stamp = self.machine.stamp_of(command)
        self._model.stamp([stamp])
        attempt: Applied[object] | Pending = super().proposed(command)
        if isinstance(attempt, Pending):
            self._model.proposed[log.last_index] = (attempt, log.term)
        elif self._log.applied != log.base_index + len(log.entries) or stamp > self.last_stamp:
            self._divergence.found(f"{words(command)} counts as applied, and is not")
        return attempt

    def receive(self, sender: str, message: RaftMessage) -> None:
        takes, resends = self._takes(message), self._resend is not None
        if takes:
            steps = self._levels.steps
            super().receive(sender, message)
            if self._levels.steps == steps:
                self._divergence.found(f"it did not take {words(message)} of {sender}")
            self._heard(sender, message)
        else:
            before = (self._log.last_index, self.member.commit_index, self.member.term)
            super().receive(sender, message)
            if before != (self._log.last_index, self.member.commit_index, self.member.term):
                self._divergence.found(f"it took {words(message)}, which it cannot decode yet")
        self._is_done("a message")
        is_answer = resends and self.member.led_term and type(message) is AppendReply
        if is_answer and (self._resend is None) is not self._levels.settles():
            self._divergence.found(f"whether all is confirmed is {self._levels.settles()}")

    def _takes(self, message: RaftMessage) -> bool:
        """Whether the node knows the catalog versions that a message needs."""
        machine = self.machine
        if type(message) is AppendEntries:
            entries = message.entries
            return not entries or all(machine.may_store(entry.command) for entry in entries)
        return not isinstance(message, InstallSnapshot) or machine.may_install(message.state)

    def _heard(self, sender: str, message: RaftMessage) -> None:
        """Note the sender as heard; a clock that is handed over, and stamps, are merged."""
        model, now_us = self._model, self.models.loop.now_us
        if type(message) is AppendEntries:
            if message.entries:
                model.stamp([self.machine.stamp_of(entry.command) for entry in message.entries])
            if self.member.leader == sender:
                model.leader_heard_us = now_us
            return
        model.heard_us[sender] = now_us
        if isinstance(message, InstallSnapshot) and self.member.leader == sender:
            model.leader_heard_us = now_us
        shown = message.payload if isinstance(message, TimeoutNow) else None
        if shown is not None and self.node.clock.current() < shown:
            self._divergence.found("it was handed the group and did not merge the clock")

    def _is_done(self, what: str) -> None:
        """Nothing is left to do, and what is committed is applied."""
        member = self.member
        if (
            member.outbox
            or member.committed
            or member.needs_sync
            or self._led_term != member.led_term
            or self._log.applied != member.commit_index
        ):
            self._divergence.found(f"behind {what} it has not done all that it should")
        if self.last_stamp != self._model.last_stamp:
            self._divergence.compare(
                f"the last stamp behind {what}", self.last_stamp, self._model.last_stamp, Timestamp
            )

    def _apply_next(self) -> None:
        member = self.member
        index, entry = member.committed[0]
        applied = self._log.applied
        super()._apply_next()
        if member.lost or member.installed is not None:
            self._divergence.found(f"index {index} is applied before what was to be done")
        if self._log.applied != applied + 1 or index != applied + 1:
            self._divergence.found(f"behind index {applied} it applied {index}")
        log, kept = self._log, self.node.settings.snapshot_entries
        is_new = self.machine.applied_index > log.snapshot_index
        if is_new and index - log.base_index > 2 * kept:
            self._divergence.found(f"its log holds {log.last_index - log.base_index} entries")
        self._compare_result(index, entry.term)

    def _compare_result(self, index: int, term: int) -> None:
        """A proposal gets the result of its own entry, and never that of another one there."""
        pending, own_term = self._model.proposed.pop(index, (None, 0))
        if pending is None:
            return
        future: Any = pending.future
        expected = self._last_result[1] if term == own_term else NOT_LEADER
        is_due = term != own_term or term == self.member.term
        if is_due and (not future.done or future.value is not expected):
            self._divergence.found(f"the proposal at {index} has another result")

    def _compact(self) -> None:
        log, machine = self._log, self.machine
        due, base = machine.applied_index > log.snapshot_index, log.base_index
        super()._compact()
        kept = max(machine.applied_index - self.node.settings.snapshot_entries, base)
        if due and log.base_index != kept and machine.applied_index <= log.last_index:
            self._divergence.compare("up to where the log is dropped", log.base_index, kept)

    def _install_in_machine(self, state: object) -> None:
        super()._install_in_machine(state)
        self._model.stamp([self.machine.stamp_of_state(state)])

    # --- leading ------------------------------------------------------------------------------

    def _lead(self) -> None:
        self._model.lead(self.member.peers, self._now_us())
        super()._lead()

    def _stop_leading(self, term: int) -> None:
        super()._stop_leading(term)
        self._model.leader_heard_us = self._now_us()
        proposed, self._model.proposed = self._model.proposed, {}
        for index, (pending, _) in proposed.items():
            future: Any = pending.future
            if not future.done or (index > self._log.applied and future.value is not NOT_LEADER):
                self._divergence.found(f"the proposal at {index} waits behind the end of its term")
        if self._look is not None or (len(self.voters) > 1 and not self._election_armed):
            self._divergence.found(f"term {term} is over; it does not await another leader")

    def _says_something(self) -> None:
        model, now_us = self._model, self._now_us()
        model.spoke_us = now_us
        for peer in self._levels.levels():
            model.level_us[peer] = now_us
        super()._says_something()
        if self._level_us != model.level_us:
            self._divergence.compare("since when others are level", self._level_us, model.level_us)
        if self._look is None:
            self._divergence.found("it leads, and no heartbeat is due")

    def _arm_look(self) -> None:
        super()._arm_look()
        due_us = self._due_us()
        if self._look_due_us != due_us:
            self._divergence.compare("when it looks again", self._look_due_us, due_us)

    def _due_us(self) -> int:
        """When a heartbeat is due, or the silence of a majority has lasted too long."""
        model, now_us = self._model, self._now_us()
        heard_us = model.majority_heard_us(self.node.name, self.voters, now_us)
        settings = self.node.settings
        idle_ms = self._idle_ms()
        often = idle_ms is None or idle_ms > settings.election_timeout_ms
        beat_ms = settings.heartbeat_ms if often else settings.heartbeat_idle_ms
        timeout_us = settings.election_timeout_ms * US_PER_MS
        return max(now_us, min(heard_us + timeout_us, model.spoke_us + beat_ms * US_PER_MS))

    def _looked(self) -> None:
        model, now_us, leads = self._model, self._now_us(), bool(self.member.led_term)
        due_us = self._due_us() if leads else now_us
        timeout_us = self.node.settings.election_timeout_ms * US_PER_MS
        silent = leads and now_us - timeout_us >= model.majority_heard_us(
            self.node.name, self.voters, now_us
        )
        beats = leads and not silent and due_us == now_us
        if beats:
            model.spoke_us = now_us
        round_before = self.member._round
        super()._looked()
        if not leads:
            return
        if silent == bool(self.member.led_term):
            self._divergence.found(f"whether a majority was silent for too long is not {silent}")
        if self.member._round - round_before != beats:
            self._divergence.found(f"whether a heartbeat was due is {beats}")

    def silent_us(self, peer: str) -> int:
        found: int = super().silent_us(peer)
        expected = self._now_us() - self._model.heard_us.get(peer, 0)
        self._divergence.compare(f"for how long {peer} was silent", found, expected)
        return found

    def behind_us(self, peer: str) -> int:
        found: int = super().behind_us(peer)
        level = peer == self.node.name or peer in self._levels.levels()
        expected = 0 if level else self._now_us() - self._model.level_us.get(peer, 0)
        self._divergence.compare(f"for how long {peer} is behind", found, expected)
        return found

    # --- following ----------------------------------------------------------------------------

    def _hears_leader(self) -> bool:
        found: bool = super()._hears_leader()
        timeout_us = self.node.settings.election_timeout_ms * US_PER_MS
        expected = self._model.leader_heard_us + timeout_us > self._now_us()
        self._divergence.compare("whether it hears a leader", found, expected)
        return found

    def _arm_election(self, wait_us: int) -> None:
        self._waits_us.append(wait_us)
        super()._arm_election(wait_us)

    def _election_due(self, extra_us: int) -> None:
        timeout_us = self.node.settings.election_timeout_ms * US_PER_MS
        silent_us = self._now_us() - self._model.leader_heard_us
        leads, self._waits_us = bool(self.member.led_term), []
        term = (self.member.term, self.member.role)
        super()._election_due(extra_us)
        if leads:
            if self._election_armed:
                self._divergence.found("it leads, and awaits a leader")
            return
        stands = silent_us >= timeout_us + extra_us
        wait_us = timeout_us if stands else max(timeout_us - silent_us, 0)
        self._divergence.compare("when it looks for a leader", self._waits_us[:1], [wait_us])
        if not stands and term != (self.member.term, self.member.role):
            self._divergence.found(f"it stands for election, {silent_us} us behind its leader")
        if stands and self.member.leader is not None and not self.member.led_term:
            self._divergence.found(f"it has not heard a leader for {silent_us} us, and follows one")

    def _arm_resend(self) -> None:
        if self._resend is None:
            self._resend_due_us = self._now_us() + self.node.settings.resend_us
        super()._arm_resend()

    def _resent(self) -> None:
        if self._now_us() < self._resend_due_us:
            self._divergence.found(
                f"it sends again before {self._resend_due_us} us, when it is due"
            )
        super()._resent()
        behind = self.member.led_term and len(self._levels.levels()) < len(self.member.peers)
        if behind and self._resend is None:
            self._divergence.found("what is not confirmed will not be sent again")
