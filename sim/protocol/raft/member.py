"""One member of a replication group, as a step machine: a message in, messages and commits out.

A `Member` never waits, never sends, throws no dice and never reads a clock. Its driver calls
`propose`, `step`, `election_timeout`, `heartbeat` and `resend`, and then carries out what they have
left: `outbox` must be sent; while `needs_sync`, the disk must be written, which lets out what
depends on it; `committed` must be applied in order, `installed` put in its place; `lost` is what it
had committed and had to drop, which no leader that won its votes asks for. That makes it a
plain object that a property test can drive through any order of messages, losses and crashes.

The rules are Raft's (Ongaro and Ousterhout, 2014): a candidate without all committed entries gets
no majority (5.4.1); a member votes once in a term, crashes included. Before it raises its term a
member asks whether it would be elected (pre-vote; Ongaro's thesis, 9.6), so that one that was cut
off does not depose a leader that all others hear. Learners never vote. `replication` has the rest.
"""

from collections.abc import Callable

from ddlsim.protocol.raft.log import Mark, RaftLog
from ddlsim.protocol.raft.messages import (
    AppendEntries,
    AppendReply,
    Entry,
    InstallSnapshot,
    RaftMessage,
    RequestVote,
    SnapshotReply,
    VoteReply,
)
from ddlsim.protocol.raft.replication import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PRE_CANDIDATE,
    Progress,
    Replication,
)
from ddlsim.units import Timestamp


class Member(Replication):
    """One member; a group that is born with a leader needs no first election."""

    def __init__(
        self,
        name: str,
        voters: tuple[str, ...],
        learners: tuple[str, ...],
        log: RaftLog,
        *,
        leader: str | None = None,
    ) -> None:
        super().__init__(name, voters, learners, log, leader=leader)
        if leader == name:
            self._become_leader()

    # --- what the driver asks for -----------------------------------------------------------------

    def propose(self, command: object) -> int:
        """Append a command at the leader and send it to the voters; its index in the log."""
        assert self.role is LEADER, f"{self.name} proposes but {self.leader} leads"
        log = self.log
        log.entries.append(Entry(log.term, command))
        self.needs_sync = True
        sent: AppendEntries | None = None
        for peer in self._progress:
            if peer in self._voters:
                sent = self._send_append(peer, sent)
        return log.base_index + len(log.entries)

    def append_alone(self, command: object) -> int:
        """Append in a group of one, whose disk takes no time: it is committed with that."""
        assert not self._progress, f"{self.name} is not alone"
        log = self.log
        log.entries.append(Entry(log.term, command))
        index = log.base_index + len(log.entries)
        log.synced_index = self.commit_index = self._known_commit = index
        return index

    def step(self, sender: str, message: RaftMessage) -> None:
        """Take one message."""
        if type(message) is AppendEntries:
            self._take_append(sender, message)
            return
        if message.term > self.log.term and self._enters(message):
            self._follow(message.term, None)
        if type(message) is AppendReply:
            self._take_reply(sender, message)
        elif isinstance(message, RequestVote):
            self._take_request(sender, message)
        elif isinstance(message, VoteReply):
            self._take_vote(sender, message)
        elif isinstance(message, InstallSnapshot):
            self._take_snapshot(sender, message)
        elif isinstance(message, SnapshotReply):
            self._take_snapshot_reply(sender, message)
        elif message.term == self.log.term and self._votes_here:  # `TimeoutNow`
            self._campaign(forced=True)

    @staticmethod
    def _enters(message: RaftMessage) -> bool:
        """Whether a message's term has begun: a pre-vote names the next term, which has not."""
        if isinstance(message, RequestVote):
            return not message.pre
        return not (isinstance(message, VoteReply) and message.pre and message.granted)

    def election_timeout(self) -> None:
        """No leader was heard for long enough: ask whether to stand for election."""
        if self.role is LEADER or not self._votes_here:
            return
        self.role, self.leader = PRE_CANDIDATE, None
        self._votes = {self.name: None}
        if self._quorum == 1:
            self._campaign(forced=False)
            return
        log = self.log
        self._ask_voters(RequestVote(log.term + 1, log.last_index, log.last_term, pre=True))

    def heartbeat(self) -> None:
        """Let everyone hear from the leader, and answer."""
        assert self.role is LEADER, f"{self.name} does not lead"
        self._round += 1
        for peer in self._progress:
            self._send_empty(peer, self._round)

    def resend(self) -> bool:
        """Send again what was sent before the last call and is still not confirmed.

        To be called at intervals; gives whether anyone is behind, and so whether to call again.
        """
        behind = False
        for peer, progress in self._progress.items():
            if progress.match_index < progress.due_index:
                progress.next_index = progress.match_index + 1
                self._send_append(peer)
            goal = self.goal(peer)
            behind = behind or progress.match_index < goal
            progress.due_index = goal
        return behind

    def step_down(self) -> None:
        """Stop leading: a majority no longer answers."""
        if self.role is LEADER:
            self._follow(self.log.term, None)

    def transfer_to(self, peer: str, payload: Callable[[], Timestamp] | None) -> None:
        """Hand the group over to a voter as soon as it has the whole log; `payload` is called then.

        Until then this leader goes on stamping, so an earlier time would be below its last stamps.
        """
        assert peer in self._voters, f"{peer} does not vote"
        if self.role is LEADER and peer != self.name:
            self._transfer = (peer, payload)
            self._hand_over()

    def compact(self, index: int, state: object, keep: int) -> None:
        """Keep the state after `index` instead of the log up to `keep` entries before it.

        A log that has lost what was committed, and ends before `index`, stays as it is.
        """
        if index <= self.log.last_index:
            self.log.compact(index, state, keep)

    def is_level(self, peer: str) -> bool:
        """At the leader: whether the peer is known to store the log as far as it is to."""
        return self._progress[peer].match_index >= self.goal(peer)

    def level_peers(self) -> list[str]:
        """At the leader: the peers that are level."""
        voters, commit, last = self._voters, self.commit_index, self.log.last_index
        return [
            peer
            for peer, progress in self._progress.items()
            if progress.match_index >= (last if peer in voters else commit)
        ]

    def is_settled(self) -> bool:
        """At the leader: whether everything is committed, and stored by everyone."""
        last_index = self.log.base_index + len(self.log.entries)
        if self.commit_index < last_index:
            return False
        for progress in self._progress.values():  # noqa: SIM110 - at each reply; `all` costs twice
            if progress.match_index < last_index:
                return False
        return True

    # --- the disk ---------------------------------------------------------------------------------

    def begin_sync(self) -> tuple[Mark, list[tuple[str, RaftMessage]]]:
        """Begin to write; what depends on it is said once it has ended."""
        promised, self._promised = self._promised, []
        self.needs_sync = False
        return self.log.mark(), promised

    def end_sync(self, begun: tuple[Mark, list[tuple[str, RaftMessage]]]) -> None:
        """A write has ended."""
        mark, promised = begun
        self.log.sync(mark)
        # What was promised in an earlier term may have been overwritten since.
        self.outbox += [each for each in promised if each[1].term == self.log.term]
        self._stored()

    def sync_now(self) -> None:
        """Write with a disk that takes no time."""
        self.needs_sync = False
        self.log.sync_now()
        if self._promised:
            self.outbox += self._promised
            self._promised = []
        self._stored()

    def _stored(self) -> None:
        """More is on this disk than before: it may count, and it may be applied."""
        log = self.log
        if self.role is LEADER:
            self._advance_commit()
        elif self.role is CANDIDATE and len(self._votes) >= self._quorum and log.has_safe_term:
            self._become_leader()
        if self._known_commit > self.commit_index:
            self._commit_known()

    # --- elections --------------------------------------------------------------------------------

    def _ask_voters(self, request: RequestVote) -> None:
        box = self.outbox if request.pre else self._promised
        for voter in self._voters:
            if voter != self.name:
                box.append((voter, request))

    def _campaign(self, *, forced: bool) -> None:
        """Enter the next term as its candidate; the own vote counts once it is on the disk."""
        assert self._votes_here, f"{self.name} is a learner"
        log = self.log
        log.term += 1
        log.voted_for = self.name
        self.needs_sync = True
        self.role, self.led_term, self.leader = CANDIDATE, 0, None
        self._progress, self._transfer = {}, None
        self._votes = {self.name: None}
        self._ask_voters(RequestVote(log.term, log.last_index, log.last_term, forced=forced))

    def _take_request(self, sender: str, request: RequestVote) -> None:
        log = self.log
        fresh = (request.last_term, request.last_index) >= (log.last_term, log.last_index)
        if request.pre:
            granted = fresh and request.term > log.term and not self._clings()
            term = request.term if granted else log.term
            self.outbox.append((sender, VoteReply(term, granted, pre=True)))
            return
        free = log.voted_for in (None, sender) and request.term == log.term
        if not (free and fresh and self._votes_here) or self.role in (CANDIDATE, LEADER):
            self.outbox.append((sender, VoteReply(log.term, granted=False)))
            return
        log.voted_for = sender
        self.role = FOLLOWER
        self.needs_sync = True
        self._promised.append((sender, VoteReply(log.term, granted=True)))

    def _clings(self) -> bool:
        """Whether this member hears a leader, or is one."""
        return self.role is LEADER or (self.leader is not None and self.hears_leader())

    def _take_vote(self, sender: str, reply: VoteReply) -> None:
        wanted = PRE_CANDIDATE if reply.pre else CANDIDATE
        term = self.log.term + 1 if reply.pre else self.log.term
        if self.role is not wanted or reply.term != term or not reply.granted:
            return
        if sender in self._voters:
            self._votes[sender] = None
        if len(self._votes) < self._quorum:
            return
        if reply.pre:
            self._campaign(forced=False)
        elif self.log.has_safe_term:
            self._become_leader()

    def _become_leader(self) -> None:
        self.role, self.led_term, self.leader = LEADER, self.log.term, self.name
        next_index = self.log.last_index + 1
        self._progress = {peer: Progress(next_index) for peer in self.peers}
        self._transfer = None
        self.heartbeat()
