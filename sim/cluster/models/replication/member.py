"""A member of a group beside its model: each call leaves the same state and messages."""

from collections.abc import Callable
from typing import ClassVar

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.replication.disk import Disk, Write
from ddlsim.cluster.models.replication.raft import RaftModel
from ddlsim.cluster.models.words import words
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.log import Mark, RaftLog
from ddlsim.protocol.raft.messages import RaftMessage
from ddlsim.units import Timestamp


class ModelledMember(Member):
    """A member that compares what each call of its driver has done.

    Its model's disk is that of the model of an earlier incarnation, less what a crash has lost.
    """

    models: ClassVar[Models]

    def __init__(
        self,
        name: str,
        voters: tuple[str, ...],
        learners: tuple[str, ...],
        log: RaftLog,
        *,
        leader: str | None = None,
    ) -> None:
        self._divergence = self.models.divergence("member", name)
        self._writes: list[tuple[Mark, Write, list[tuple[str, RaftMessage]]]] = []
        self._left: int | None = None
        self._depth = 1  # calls within calls are parts of those
        self.steps = 0
        disk = self.models.disks.setdefault(log, Disk())
        self._compare_disk(log, disk)
        super().__init__(name, voters, learners, log, leader=leader)
        self._depth = 0
        self._model = RaftModel(name, voters, learners, disk)
        self._model.hears_leader = self._is_heard
        if leader is not None:
            self._model.born(leader)
        self._compare("its birth", 0)

    def _is_heard(self) -> bool:
        return self.hears_leader()  # its driver sets this later

    def _compare_disk(self, log: RaftLog, disk: Disk) -> None:
        """A crash loses at most what was not synced: entries at the end, a term, a vote.

        A term is written before its entries.
        """
        last, at_least = log.last_index, max(disk.safe.index, disk.base)
        kept = disk.entries[: max(last - disk.base, 0)]
        whole = log.base_index == disk.base and at_least <= last <= disk.last
        promises = ((disk.term, disk.vote), disk.promised())
        in_order = log.last_term <= log.term
        if not (whole and in_order and log.entries == kept) or (
            (log.term, log.voted_for) not in promises
        ):
            self._divergence.found(f"the disk holds {last} entries of {disk.last}, not what it had")
        disk.entries, disk.last, disk.writing = kept, disk.base + len(kept), []
        disk.term, disk.vote = log.term, log.voted_for
        if log.synced_index == last and log.has_safe_term:  # all was written before the crash
            disk.write_now()

    def _begins(self) -> int | None:
        """How much was to be sent before a call; None for one that is not compared.

        A call that leaves something to be written is compared together with the write.
        """
        if self._depth or self._divergence.is_known:
            return None
        self._depth = 1
        left, self._left = self._left, None
        if left is not None:
            return left
        self._model.begin()
        return len(self.outbox)

    def _compare(self, what: object, out: int) -> None:
        """Compare what a call has left with what the model's has."""
        self._depth = 0
        model, log = self._model, self.log
        if self.needs_sync and model.unwritten and not self._divergence.is_known:
            self._left = out
            return
        disk = model.disk
        if (
            self.commit_index != model.commit
            or len(log.entries) != len(disk.entries)
            or log.synced_index != disk.safe.index
            or self.needs_sync != model.unwritten
            or self.led_term != model.led_term
            or log.term != disk.term
            or self.leader != model.leader
            or log.voted_for != disk.vote
            or self.role._value_ != model.role
        ):
            self._describe(what)
        if self.outbox[out:] != model.sent:
            self._divergence.compare(f"behind {what} what is sent", self.outbox[out:], model.sent)
        if self._promised != model.promised:
            self._divergence.compare(
                f"behind {what} what is promised", self._promised, model.promised
            )
        if log.entries and disk.entries and log.entries[-1] is not disk.entries[-1]:
            self._divergence.found(f"behind {what} another entry is the last one")
        if model.committed and list(self.committed)[-len(model.committed) :] != model.committed:
            self._divergence.found(f"behind {what} other entries are committed")
        if model.installed is not None and self.installed != model.installed:
            self._divergence.found(f"behind {what} the snapshot is not installed")
        if model.lost and len(self.lost) < len(model.lost):
            self._divergence.found(f"behind {what} committed entries are gone and not in `lost`")

    def _describe(self, what: object) -> None:
        """Name what differs in the state."""
        model, disk, log = self._model, self._model.disk, self.log
        here = (log.term, log.voted_for, log.base_index, log.last_index, log.synced_index)
        there = (disk.term, disk.vote, disk.base, disk.last, disk.safe.index)
        more = (self.role.value, self.leader, self.led_term, self.commit_index, self.needs_sync)
        others = (model.role, model.leader, model.led_term, model.commit, model.unwritten)
        self._divergence.compare(f"behind {what} the state", (*here, *more), (*there, *others))

    # --- calls that leave something -----------------------------------------------------------

    def step(self, sender: str, message: RaftMessage) -> None:
        begun = self._begins()
        self.steps += 1
        super().step(sender, message)
        if begun is not None:
            self._model.step(sender, message)
            self._compare(message, begun)

    def propose(self, command: object) -> int:
        begun = self._begins()
        index: int = super().propose(command)
        if begun is not None:
            entry = self.log.entries[-1]
            if entry.command is not command or entry.term != self._model.disk.term:
                self._divergence.found(f"{words(entry)} was appended for {words(command)}")
            expected = self._model.propose(entry)
            self._compare("a proposal", begun)
            if index != expected:
                self._divergence.compare("the index of a proposal", index, expected)
        return index

    def append_alone(self, command: object) -> int:
        index: int = super().append_alone(command)
        if not self._divergence.is_known:
            expected, log = self._model.append_alone(self.log.entries[-1]), self.log
            if not index == expected == self.commit_index == log.synced_index == log.last_index:
                self._divergence.found(f"index {expected} was appended, and {index} returned")
        return index

    def election_timeout(self) -> None:
        begun = self._begins()
        super().election_timeout()
        if begun is not None:
            self._model.election_timeout()
            self._compare("an election timeout", begun)

    def heartbeat(self) -> None:
        begun = self._begins()
        super().heartbeat()
        if begun is not None:
            self._model.heartbeat()
            self._compare("a heartbeat", begun)

    def resend(self) -> bool:
        begun = self._begins()
        behind: bool = super().resend()
        if begun is not None:
            self._divergence.compare("whether one is behind", behind, self._model.resend())
            self._compare("a repetition", begun)
        return behind

    def step_down(self) -> None:
        begun = self._begins()
        super().step_down()
        if begun is not None:
            self._model.step_down()
            self._compare("the end of its lead", begun)

    def transfer_to(self, peer: str, payload: Callable[[], Timestamp] | None) -> None:
        begun = self._begins()
        given: list[Timestamp] = []

        def remembered() -> Timestamp:
            assert payload is not None, "no clock is handed over"
            given.append(payload())
            return given[-1]

        super().transfer_to(peer, None if payload is None else remembered)
        if begun is not None:
            shown = None if payload is None else lambda: given[-1]
            self._model.transfer_to(peer, shown)
            self._compare(f"the transfer to {peer}", begun)

    def restored(self, index: int) -> None:
        super().restored(index)
        self._model.restored(index)

    def compact(self, index: int, state: object, keep: int) -> None:
        begun = self._begins()
        super().compact(index, state, keep)
        if begun is not None:
            self._model.compact(index, state, keep)
            self._compare(f"a snapshot at {index}", begun)
            log = self.log
            kept = (log.snapshot_index, log.snapshot_term, log.base_term)
            disk = self._model.disk
            self._divergence.compare("the snapshot", kept, (*disk.snapshot[:2], disk.base_term))

    # --- the disk -----------------------------------------------------------------------------

    def begin_sync(self) -> tuple[Mark, list[tuple[str, RaftMessage]]]:
        before = self._begins()
        begun: tuple[Mark, list[tuple[str, RaftMessage]]] = super().begin_sync()
        if before is not None:
            self._writes.append((begun[0], *self._model.begin_sync()))
            self._compare("the beginning of a write", before)
        return begun

    def end_sync(self, begun: tuple[Mark, list[tuple[str, RaftMessage]]]) -> None:
        before = self._begins()
        super().end_sync(begun)
        if before is not None:
            at = next(at for at, one in enumerate(self._writes) if one[0] is begun[0])
            _, write, promised = self._writes.pop(at)
            self._model.end_sync(write, promised)
            self._compare("a write", before)

    def sync_now(self) -> None:
        begun = self._begins()
        super().sync_now()
        if begun is not None:
            self._model.sync_now()
            self._compare("a write", begun)

    # --- what the driver looks at -------------------------------------------------------------

    def is_level(self, peer: str) -> bool:
        found: bool = super().is_level(peer)
        if not self._divergence.is_known:
            level = self._model.level_peers()
            self._divergence.compare(f"whether {peer} is level", found, peer in level)
        return found

    def levels(self) -> list[str]:
        """The members that are level, as the model has it."""
        return self._model.level_peers()

    def settles(self) -> bool:
        """Whether everything is stored and committed, as the model has it."""
        return self._model.is_settled()
