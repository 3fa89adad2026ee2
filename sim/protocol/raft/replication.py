"""Replication: how a leader's log comes to all members, and when an entry is committed.

Entries carry the term of the leader that made them; an append names the entry before its own and is
refused where the logs do not match there (log matching); an entry is committed once a majority of
the voters stores it *and* it is of the leader's term (Raft 5.4.2). Appends are pipelined: the next
one is sent before the last is confirmed. A member that lags behind the start of a compacted log is
sent the snapshot. Learners never count, so they are sent an entry only once it is committed: one
message for the entry and the news of its commit.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum

from ddlsim.protocol.raft.log import RaftLog
from ddlsim.protocol.raft.messages import (
    AppendEntries,
    AppendReply,
    Entry,
    InstallSnapshot,
    RaftMessage,
    SnapshotReply,
    TimeoutNow,
)
from ddlsim.units import Timestamp


class Role(Enum):
    """What a member is to its group."""

    FOLLOWER = "follower"
    PRE_CANDIDATE = "pre-candidate"
    CANDIDATE = "candidate"
    LEADER = "leader"


FOLLOWER, PRE_CANDIDATE, CANDIDATE, LEADER = Role


class Progress:
    """The leader's record of one other member: indexes confirmed, to be sent next, to be resent."""

    __slots__ = ("due_index", "match_index", "next_index")

    def __init__(self, next_index: int) -> None:
        self.match_index = 0
        self.next_index = next_index
        self.due_index = 0


class Replication:
    """A member as far as it replicates: what it stores, sends, commits and applies."""

    def __init__(
        self,
        name: str,
        voters: tuple[str, ...],
        learners: tuple[str, ...],
        log: RaftLog,
        *,
        leader: str | None = None,
    ) -> None:
        assert leader is None or leader in voters, f"{leader} leads but does not vote"
        self.name = name
        self.log = log
        self.role = FOLLOWER
        self.led_term = 0  # the term that this member leads; 0 while it does not
        self.leader: str | None = leader
        self.commit_index = log.snapshot_index
        self.outbox: list[tuple[str, RaftMessage]] = []
        self.committed: deque[tuple[int, Entry]] = deque()
        self.installed: tuple[int, object] | None = None
        self.lost: list[tuple[int, Entry]] = []
        self.needs_sync = False
        self.hears_leader: Callable[[], bool] = lambda: self.leader is not None
        self.peers = tuple(peer for peer in (*voters, *learners) if peer != name)
        self._voters = voters
        self._votes_here = name in voters
        self._quorum = len(voters) // 2 + 1
        self._progress: dict[str, Progress] = {}
        self._votes: dict[str, None] = {}
        self._promised: list[tuple[str, RaftMessage]] = []
        self._known_commit = 0
        self._round = 0
        self._transfer: tuple[str, Callable[[], Timestamp] | None] | None = None
        if leader is not None:
            log.term = 1
            log.sync_now()

    @property
    def is_leader(self) -> bool:
        """Whether this member leads its group."""
        return self.led_term != 0

    @property
    def term(self) -> int:
        """The latest term that this member has seen."""
        return self.log.term

    def restored(self, index: int) -> None:
        """The driver has applied up to here before the member's machine died."""
        self.commit_index = self._known_commit = max(index, self.commit_index)

    def _follow(self, term: int, leader: str | None) -> None:
        """Be a follower in this term."""
        if term > self.log.term:
            self.log.term, self.log.voted_for = term, None
            self.needs_sync = True
        self.role, self.led_term, self.leader = FOLLOWER, 0, leader
        if self._progress:
            self._progress = {}
        self._transfer = None

    # --- replication: the leader's side -----------------------------------------------------------

    def _send_append(self, peer: str, sent: AppendEntries | None = None) -> AppendEntries | None:
        """Send the peer everything from its next index on, and expect it to arrive (pipelining).

        Gives what was sent. `sent` is what another peer was sent just now: if this one lacks the
        same, it is the same message.
        """
        log, progress = self.log, self._progress[peer]
        next_index = progress.next_index
        assert progress.match_index < next_index, f"{peer} has what comes next"
        if sent is None or sent.prev_index != next_index - 1:
            prev_index = next_index - 1
            if prev_index < log.base_index:
                self._send_snapshot(peer)
                return sent
            entries, prev_term = log.since(prev_index), log.term_at(prev_index) or 0
            sent = AppendEntries(log.term, prev_index, prev_term, entries, self.commit_index)
        progress.next_index = next_index + len(sent.entries)
        self.outbox.append((peer, sent))
        return sent

    def _send_empty(self, peer: str, number: int) -> None:
        """Tell the peer how far the log is committed, as far as it surely has it."""
        log, match = self.log, self._progress[peer].match_index
        if match < log.base_index:
            match = 0
        prev_term = log.term_at(match) or 0
        commit = min(self.commit_index, match)
        self.outbox.append((peer, AppendEntries(log.term, match, prev_term, (), commit, number)))

    def _send_snapshot(self, peer: str) -> None:
        log = self.log
        self._progress[peer].next_index = log.snapshot_index + 1
        message = InstallSnapshot(
            log.term, log.snapshot_index, log.snapshot_term, log.snapshot_state
        )
        self.outbox.append((peer, message))

    def _take_reply(self, sender: str, reply: AppendReply) -> None:
        if self.role is not LEADER or reply.term != self.log.term:
            return
        if reply.success:
            self._matches(sender, reply.match_index)
            return
        # The member lacks what lay before these entries: go back to where it says it ends.
        progress = self._progress[sender]
        progress.next_index = max(progress.match_index, reply.match_index) + 1
        self._send_append(sender)

    def _take_snapshot_reply(self, sender: str, reply: SnapshotReply) -> None:
        if self.role is LEADER and reply.term == self.log.term:
            progress = self._progress[sender]
            progress.next_index = max(progress.next_index, reply.match_index + 1)
            self._matches(sender, reply.match_index)

    def _matches(self, sender: str, index: int) -> None:
        """A member is known to have stored everything up to an index."""
        progress = self._progress[sender]
        if index <= progress.match_index:
            return
        progress.match_index = index
        if progress.next_index <= index:
            progress.next_index = index + 1
        if index > self.commit_index:
            self._advance_commit()
        if self._transfer is not None and self._transfer[0] == sender:
            self._hand_over()

    def goal(self, peer: str) -> int:
        """At the leader: up to where a member is to store the log; a learner up to the commit."""
        return self.log.last_index if peer in self._voters else self.commit_index

    def _hand_over(self) -> None:
        """Let the chosen successor stand for election, once it has everything.

        The leader is none from then on: one more entry of its own, and the successor would lack it.
        """
        assert self._transfer is not None, "no successor was chosen"
        peer, payload = self._transfer
        if self._progress[peer].match_index == self.log.last_index:
            order = TimeoutNow(self.log.term, None if payload is None else payload())
            self.outbox.append((peer, order))
            self._follow(self.log.term, None)

    def _advance_commit(self) -> None:
        """Commit what a majority of voters stores, if it is of this term, and tell everyone."""
        log, progress, mine = self.log, self._progress, self.name
        if len(self._voters) == 1:
            index = log.synced_index
        else:
            stored = [
                log.synced_index if voter == mine else progress[voter].match_index
                for voter in self._voters
            ]
            stored.sort()
            index = stored[-self._quorum]
        if index <= self.commit_index or log.term_at(index) != log.term:
            return
        self._commit_to(index)
        news: AppendEntries | None = None
        sent: AppendEntries | None = None
        for peer, known in progress.items():
            if peer in self._voters:
                news = self._send_commit(peer, known, news)
            else:
                sent = self._send_append(peer, sent)

    def _send_commit(
        self, peer: str, known: Progress, sent: AppendEntries | None
    ) -> AppendEntries | None:
        """Send the news of a commit, behind whatever was sent to this peer; gives what was sent.

        `sent` is what another peer was sent just now: the same, where as much was sent to both.
        """
        log, prev_index = self.log, known.next_index - 1
        if sent is None or sent.prev_index != prev_index:
            prev_term = log.term_at(prev_index)
            if prev_term is None:
                return sent
            sent = AppendEntries(log.term, prev_index, prev_term, (), self.commit_index)
        self.outbox.append((peer, sent))
        return sent

    # --- replication: every member's side ---------------------------------------------------------

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        log = self.log
        if append.term < log.term:
            self.outbox.append((sender, AppendReply(log.term, success=False, match_index=0)))
            return
        if self.leader != sender or append.term > log.term:
            # a leader too gives way here: there are two of one term only where votes are broken
            self._follow(append.term, sender)
        matched, entries = append.prev_index, append.entries
        if matched >= log.base_index:
            term = log.term_at(matched)
            if term != append.prev_term:
                self._refuse(sender, matched, term, append.round)
                return
        if entries:
            self._store(entries, matched + 1)
            self.needs_sync = True
            matched += len(entries)
            reply = AppendReply(log.term, success=True, match_index=matched, round=append.round)
            self._promised.append((sender, reply))
        elif append.round:
            reply = AppendReply(log.term, success=True, match_index=matched, round=append.round)
            self.outbox.append((sender, reply))
        known = append.commit_index
        if known > matched:  # noqa: PLR1730 - for each message; `min` costs five times as much
            known = matched
        if known > self._known_commit:
            self._known_commit = known
            if not self.needs_sync:
                self._commit_known()

    def _store(self, entries: tuple[Entry, ...], first: int) -> None:
        """Take what is new; what contradicts it goes, and was never committed.

        Whether that holds is for a judge to say: what was, is in `lost`.
        """
        log = self.log
        held = log.entries
        if first > log.base_index + len(held):  # nearly always
            held += entries
            return
        for offset, entry in enumerate(entries, first):
            if offset <= log.base_index:  # it is in the snapshot
                continue
            term = log.term_at(offset)
            if term is not None and term != entry.term:
                last = min(self.commit_index, log.last_index)
                self.lost += [(index, log.entry(index)) for index in range(offset, last + 1)]
                log.truncate(offset)
                term = None
            if term is None:
                log.entries.append(entry)
                self.needs_sync = True

    def _refuse(self, sender: str, prev: int, term: int | None, number: int) -> None:
        """The logs do not match at `prev`: go back behind all entries of the conflicting term."""
        log = self.log
        hint = min(log.last_index, prev - 1)
        if term is not None:
            while hint > self.commit_index and log.term_at(hint) == term:
                hint -= 1
        refusal = AppendReply(log.term, success=False, match_index=hint, round=number)
        self.outbox.append((sender, refusal))

    def _take_snapshot(self, sender: str, snapshot: InstallSnapshot) -> None:
        log, index = self.log, snapshot.last_index
        if snapshot.term < log.term:
            return
        if self.role is not FOLLOWER or self.leader != sender:
            self._follow(snapshot.term, sender)
        if index <= self.commit_index:
            # An earlier leader may have committed what its own disk does not hold yet.
            self.needs_sync = True
            self._promised.append((sender, SnapshotReply(log.term, self.commit_index)))
            return
        log.replace(index, snapshot.last_term, snapshot.state)
        self.commit_index = self._known_commit = index
        self.installed = (index, snapshot.state)
        self.needs_sync = True
        self._promised.append((sender, SnapshotReply(log.term, index)))

    def _commit_known(self) -> None:
        """Apply what is known to be committed, as far as it is safe on this disk."""
        known, synced_index = self._known_commit, self.log.synced_index
        if known > synced_index:  # noqa: PLR1730 - for each entry; `min` costs five times as much
            known = synced_index
        if known > self.commit_index:
            self._commit_to(known)

    def _commit_to(self, index: int) -> None:
        commit_index = self.commit_index
        assert index > commit_index, f"{index} is committed already"
        if index == commit_index + 1:  # nearly always
            log = self.log
            assert commit_index >= log.base_index, f"{index} is in the snapshot"
            self.committed.append((index, log.entries[commit_index - log.base_index]))
        else:
            entries = self.log.between(commit_index, index)
            self.committed.extend(enumerate(entries, commit_index + 1))
        self.commit_index = index
