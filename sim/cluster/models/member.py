"""The model of a member of a group: what Raft demands of each step (Ongaro 2014, 3.4, 3.5, 9.6).

It keeps what a member was sent since it last changed its role or term: the votes for it, and up to
where each peer stores its log. With that, what it had before a step, and the message decide what it
must have, send and promise behind the step:

* An append of an old term, or whose previous entry is not there, is refused, and every other one
  that brings entries or a heartbeat is confirmed as far as it goes; its entries are then logged.
* A vote is given once in a term, to a log that is not behind, and not by a leader or candidate; a
  pre-vote is given only where no leader is heard. Each request is answered.
* A majority of votes makes a leader, and one of pre-votes a candidate.
* A leader commits what a majority stores, if it is of its term, and every member is sent the news;
  a member that refuses an append is sent another one.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from ddlsim.cluster.models.divergence import Models
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.log import Mark, RaftLog
from ddlsim.protocol.raft.messages import (
    AppendEntries,
    AppendReply,
    InstallSnapshot,
    RaftMessage,
    RequestVote,
    SnapshotReply,
    TimeoutNow,
    VoteReply,
)
from ddlsim.protocol.raft.replication import CANDIDATE, FOLLOWER, LEADER, PRE_CANDIDATE, Role
from ddlsim.units import Timestamp

BUSY: Final = (CANDIDATE, LEADER)
"""What a member is that votes for no other one."""


class Before(NamedTuple):
    """A member before a step; `hears` is whether it hears a leader, or is one."""

    term: int
    role: Role
    commit: int
    vote: str | None
    logged: tuple[int, int]
    hears: bool
    prev_term: int | None


class ModelledMember(Member):
    """A member that compares its steps, and the calls of its driver that send something."""

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
        self._stored_by: dict[str, int] = {}
        self._voted: dict[str, None] = {}
        self._of: tuple[object, int] = (None, 0)
        self._writing = 0  # writes that the disk has begun and not ended
        self._sent: list[tuple[str, RaftMessage]] = []
        self._to_promise: list[tuple[str, RaftMessage]] = []
        super().__init__(name, voters, learners, log, leader=leader)

    # --- steps --------------------------------------------------------------------------------

    def step(self, sender: str, message: RaftMessage) -> None:
        if self._divergence.is_known:
            super().step(sender, message)
            return
        self._renew()
        before = self._state(sender, message)
        self._count(sender, message, before)
        out, promised = len(self.outbox), len(self._promised)
        super().step(sender, message)
        self._sent = self.outbox[out:]
        self._to_promise = self._promised[promised:]
        self.CHECKS[type(message)](self, sender, message, before)
        if self.log.term < before.term or self.commit_index < before.commit:
            self._divergence.found(f"its term or its commit index fell behind {before!r}")

    def _state(self, sender: str, message: RaftMessage) -> Before:
        log = self.log
        prev_term = None
        if type(message) is AppendEntries:
            prev_term = log.term_at(message.prev_index)
        return Before(
            log.term,
            self.role,
            self.commit_index,
            log.voted_for if message.term <= log.term else None,
            (log.last_term, log.last_index),
            self.role is LEADER or (self.leader is not None and self.hears_leader()),
            prev_term,
        )

    def _count(self, sender: str, message: RaftMessage, before: Before) -> None:
        """Note what a peer stores, and the votes for this member."""
        if type(message) is AppendReply:
            if before.role is LEADER and message.term == before.term and message.success:
                stored = self._stored_by.get(sender, 0)
                self._stored_by[sender] = max(stored, message.match_index)
        elif isinstance(message, VoteReply) and message.granted:
            wanted = PRE_CANDIDATE if message.pre else CANDIDATE
            is_due = before.role is wanted and message.term == before.term + message.pre
            if is_due and sender in self._voters:
                self._voted[sender] = None

    def _renew(self) -> None:
        """Forget what was sent to another role or in another term."""
        now = (self.role, self.log.term)
        if now != self._of:
            self._of = now
            self._stored_by, self._voted = {}, {self.name: None}

    def _answer(self, sender: str, kind: type) -> Any:
        """The one answer of a kind to the sender; None, and a difference, if there is none."""
        found = [one for to, one in self._sent if to == sender and type(one) is kind]
        found += [one for to, one in self._to_promise if to == sender and type(one) is kind]
        if len(found) != 1:
            self._divergence.found(f"it left {len(found)} times {kind.__name__} for {sender}")
            return None
        return found[0]

    def _appended(self, sender: str, append: AppendEntries, before: Before) -> None:
        log, prev, term = self.log, append.prev_index, before.term
        if append.term < term:
            reply = self._answer(sender, AppendReply)
            if reply is not None and (reply.success or reply.term != term):
                self._divergence.found(f"it took an append of term {append.term} in term {term}")
            return
        if self.role is not FOLLOWER or self.leader != sender:
            self._divergence.found(f"it does not follow {sender}, which leads term {append.term}")
        if prev >= log.base_index and before.prev_term != append.prev_term:
            reply = self._answer(sender, AppendReply)
            if reply is not None and (reply.success or reply.match_index >= prev):
                self._divergence.found(f"it took an append behind index {prev}, which it has not")
            return
        matched = prev + len(append.entries)
        if append.entries or append.round:
            reply = self._answer(sender, AppendReply)
            if reply is not None and not (reply.success and reply.match_index == matched):
                self._divergence.found(f"it stored up to {matched}, and answered {reply!r}")
        self._stored_up_to(matched, append)

    def _stored_up_to(self, matched: int, append: AppendEntries) -> None:
        log = self.log
        is_logged = append.entries and matched > log.base_index
        if is_logged and log.term_at(matched) != append.entries[-1].term:
            self._divergence.found(f"what was appended up to {matched} is not in its log")
        known = min(append.commit_index, matched, log.synced_index)
        if not self.needs_sync and not self._writing and self.commit_index < known:
            self._divergence.found(f"it has committed {self.commit_index} and knows of {known}")
        if self.commit_index > max(log.synced_index, log.base_index):
            self._divergence.found(f"it committed {self.commit_index}, which its disk lacks")

    def _confirmed(self, sender: str, reply: AppendReply, before: Before) -> None:
        if before.role is not LEADER or reply.term != before.term:
            return
        if not reply.success:
            if all(to != sender for to, _ in self._sent):
                self._divergence.found(f"{sender} refused an append and is sent no other one")
            return
        log = self.log
        stored = sorted(
            log.synced_index if voter == self.name else self._stored_by.get(voter, 0)
            for voter in self._voters
        )
        index = stored[len(stored) - (len(stored) // 2 + 1)]
        if index <= before.commit or log.term_at(index) != log.term:
            if self.commit_index != before.commit:
                self._divergence.found(f"it committed {self.commit_index}, which no majority has")
        elif self.role is LEADER:
            self._has_committed(index)

    def _has_committed(self, index: int) -> None:
        if self.commit_index != index:
            self._divergence.found(f"a majority has {index}; {self.commit_index} is committed")
        news = {to: None for to, one in self._sent if isinstance(one, AppendEntries)}
        for peer in self.peers:
            if peer not in news and self._stored_by.get(peer, 0) >= self.log.base_index:
                self._divergence.found(f"{peer} is not sent that {index} is committed")

    def _requested(self, sender: str, request: RequestVote, before: Before) -> None:
        fresh = (request.last_term, request.last_index) >= before.logged
        if request.pre:
            granted = fresh and request.term > before.term and not before.hears
            self._pre_voted(sender, request, granted=granted)
            return
        standing = before.role in BUSY and request.term <= before.term
        granted = fresh and request.term >= before.term and before.vote in (None, sender)
        self._has_voted(sender, granted=granted and self._votes_here and not standing)

    def _pre_voted(self, sender: str, request: RequestVote, *, granted: bool) -> None:
        reply = self._answer(sender, VoteReply)
        if reply is None:
            return
        if not reply.pre or reply.granted is not granted:
            self._divergence.found(f"the answer to {request!r} should be {granted}: {reply!r}")
        if reply.term != (request.term if granted else self.log.term):
            self._divergence.found(f"the answer to {request!r} has another term: {reply!r}")

    def _has_voted(self, sender: str, *, granted: bool) -> None:
        reply = self._answer(sender, VoteReply)
        if reply is None:
            return
        if reply.granted is not granted or reply.term != self.log.term:
            self._divergence.found(f"the vote for {sender} should be {granted}: {reply!r}")
        if granted and (self.log.voted_for != sender or self.role is not FOLLOWER):
            self._divergence.found(f"it voted for {sender} and is {self.role.value}")
        if granted and (sender, reply) not in self._to_promise:
            self._divergence.found(f"it gave a vote to {sender} that its disk does not have")

    def _elected(self, _sender: str, reply: VoteReply, before: Before) -> None:
        role, term = before.role, before.term
        enough = len(self._voted) >= len(self._voters) // 2 + 1
        if reply.pre and role is PRE_CANDIDATE and self.log.term <= term + 1:
            if enough:
                self._stands("has a majority of pre-votes", forced=False)
            elif self.role is CANDIDATE:
                self._divergence.found("it stands for election without a majority of pre-votes")
        elif not reply.pre and role is CANDIDATE and self.log.term == term:
            if enough and self.log.has_safe_term and self.role is not LEADER:
                self._divergence.found("it has a majority of votes and does not lead")
            elif not enough and self.role is LEADER:
                self._divergence.found("it leads without a majority of votes")

    def _stands(self, why: str, *, forced: bool) -> None:
        """It asks every other voter for a vote in its own new term."""
        asked = {
            to
            for to, one in self._promised
            if isinstance(one, RequestVote)
            and (one.term, one.pre, one.forced) == (self.log.term, False, forced)
        }
        others = {one for one in self._voters if one != self.name}
        if self.role is not CANDIDATE or self.log.voted_for != self.name or asked != others:
            self._divergence.found(f"it {why} and stands for no election")

    def _took_snapshot(self, sender: str, snapshot: InstallSnapshot, before: Before) -> None:
        if snapshot.term < before.term:
            return
        index = max(snapshot.last_index, before.commit)
        reply = self._answer(sender, SnapshotReply)
        if reply is not None and reply.match_index != index:
            self._divergence.found(f"it has everything up to {index} and answered {reply!r}")
        if self.commit_index != index or self.log.last_index < index:
            self._divergence.found(f"it has committed {self.commit_index} and not {index}")

    def _handed_over(self, _sender: str, order: TimeoutNow, before: Before) -> None:
        if order.term >= before.term and self._votes_here:
            self._stands("was handed the group", forced=True)

    def _is_silent(self, _sender: str, _reply: SnapshotReply, _before: Before) -> None:
        """Nothing is demanded."""

    CHECKS: ClassVar[dict[type, Callable[..., None]]] = {
        AppendEntries: _appended,
        AppendReply: _confirmed,
        RequestVote: _requested,
        VoteReply: _elected,
        InstallSnapshot: _took_snapshot,
        SnapshotReply: _is_silent,
        TimeoutNow: _handed_over,
    }
    """What is demanded behind each kind of message."""

    # --- calls of the driver ------------------------------------------------------------------

    def propose(self, command: object) -> int:
        out = len(self.outbox)
        index: int = super().propose(command)
        reached = {to for to, _ in self.outbox[out:]}
        for peer in self.peers:
            if peer in self._voters and peer not in reached:
                self._divergence.found(f"{peer} is not sent index {index}")
        return index

    def heartbeat(self) -> None:
        out = len(self.outbox)
        super().heartbeat()
        for peer in self.peers:
            beats = [
                one
                for to, one in self.outbox[out:]
                if to == peer and isinstance(one, AppendEntries) and one.round
            ]
            if not beats:
                self._divergence.found(f"{peer} gets no heartbeat")

    def election_timeout(self) -> None:
        leads, out = self.role is LEADER, len(self.outbox)
        super().election_timeout()
        self._of = (None, 0)  # what was answered to an earlier request for pre-votes is void
        asked = {to for to, one in self.outbox[out:] if isinstance(one, RequestVote)}
        others = {one for one in self._voters if one != self.name}
        if not leads and self._votes_here and others and asked != others:
            self._divergence.found("it heard no leader and does not ask every voter")

    def transfer_to(self, peer: str, payload: Callable[[], Timestamp] | None) -> None:
        super().transfer_to(peer, payload)
        for to, one in self.outbox:
            if isinstance(one, TimeoutNow) and (one.payload is None) != (payload is None):
                self._divergence.found(f"{to} is handed the group without the clock of its leader")

    def begin_sync(self) -> tuple[Mark, list[tuple[str, RaftMessage]]]:
        self._writing += 1
        return super().begin_sync()

    def end_sync(self, begun: tuple[Mark, list[tuple[str, RaftMessage]]]) -> None:
        self._writing -= 1
        super().end_sync(begun)

    def sync_now(self) -> None:
        super().sync_now()
        if self.commit_index < min(self._known_commit, self.log.synced_index):
            self._divergence.found(f"it has stored {self._known_commit}, and not committed it")
