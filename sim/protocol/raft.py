"""Log replication as a step machine: a message or a proposal in, messages and commits out.

A `Member` never waits, never sends and never reads a clock. `propose`, `step` and `resend` change
its state and leave what must be sent in `outbox` and what has become committed in `committed`; its
driver carries both out. That makes it a plain object that a property test can drive through any
order of messages.

The rules are Raft's (Ongaro and Ousterhout, 2014): entries carry the term of the leader that made
them; an append names the entry before its own and is refused where the logs do not match there
(log matching); an entry is committed once a majority of the voters stores it and it is of the
leader's term (5.4.2). Learners receive the log like everyone and never count. Followers hear of a
commit with the next append, or with an empty one when there is none.

The leader is given from outside and stays; terms are kept and compared all the same, so that an
election can be put in without touching what stands here.
"""

from collections import deque
from typing import Any

from sim.model.records import Record


class Entry(Record, frozen=True):
    """One entry of the log."""

    term: int
    command: Any


class AppendEntries(Record, frozen=True):
    """Entries that follow the one at `prev_index`, and how far the log is committed."""

    term: int
    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit_index: int


class AppendReply(Record, frozen=True):
    """`match_index`: up to where the logs agree (success), or where to try again (refusal)."""

    term: int
    success: bool
    match_index: int


class Progress:
    """What the leader knows of one other member."""

    __slots__ = ("due_index", "match_index", "next_index")

    def __init__(self, next_index: int) -> None:
        self.match_index = 0
        self.next_index = next_index
        self.due_index = 0


class Member:
    """One member of a replication group; indexes start at 1, 0 is the empty log's end."""

    def __init__(
        self, name: str, voters: tuple[str, ...], learners: tuple[str, ...], leader: str
    ) -> None:
        assert leader in voters, f"{leader} leads but does not vote"
        self.name = name
        self.leader = leader
        self.term = 1
        self.log: list[Entry] = []
        self.commit_index = 0
        self.outbox: list[tuple[str, AppendEntries | AppendReply]] = []
        self.committed: deque[tuple[int, Entry]] = deque()
        self._voters = voters
        self._quorum = len(voters) // 2 + 1
        peers = [peer for peer in (*voters, *learners) if peer != name]
        self._progress = {peer: Progress(1) for peer in peers} if name == leader else {}

    @property
    def is_leader(self) -> bool:
        """Whether this member leads its group."""
        return self.name == self.leader

    def propose(self, command: object) -> int:
        """Append a command at the leader and send it to everyone; its index in the log."""
        assert self.is_leader, f"{self.name} proposes but {self.leader} leads"
        self.log.append(Entry(self.term, command))
        for peer in self._progress:
            self._send_append(peer)
        self._advance_commit()
        return len(self.log)

    def step(self, sender: str, message: AppendEntries | AppendReply) -> None:
        """Take one message."""
        if message.term < self.term:
            return
        if type(message) is AppendEntries:
            self._take_append(sender, message)
        elif type(message) is AppendReply and self.is_leader:
            self._take_reply(sender, message)

    def resend(self) -> bool:
        """Send again what was sent before the last call and is still not confirmed.

        To be called at intervals; gives whether anyone is behind, and so whether to call again.
        """
        behind = False
        for peer, progress in self._progress.items():
            if progress.match_index < progress.due_index:
                progress.next_index = progress.match_index + 1
                self._send_append(peer)
            behind = behind or progress.match_index < len(self.log)
            progress.due_index = len(self.log)
        return behind

    # --- the leader's side ------------------------------------------------------------------------

    def _send_append(self, peer: str) -> None:
        """Send the peer everything from its next index on, and expect it to arrive (pipelining)."""
        progress = self._progress[peer]
        prev_index = progress.next_index - 1
        entries = tuple(self.log[prev_index:])
        progress.next_index = len(self.log) + 1
        self.outbox.append((peer, self._append(prev_index, entries)))

    def _append(self, prev_index: int, entries: tuple[Entry, ...]) -> AppendEntries:
        prev_term = self.log[prev_index - 1].term if prev_index else 0
        return AppendEntries(self.term, prev_index, prev_term, entries, self.commit_index)

    def _take_reply(self, sender: str, reply: AppendReply) -> None:
        progress = self._progress[sender]
        if not reply.success:
            # The member lacks what lay before these entries: go back to where it says it ends.
            progress.next_index = max(progress.match_index, reply.match_index) + 1
            self._send_append(sender)
            return
        if reply.match_index > progress.match_index:
            progress.match_index = reply.match_index
            self._advance_commit()

    def _advance_commit(self) -> None:
        """Commit what a majority of voters stores, if it is of this term, and tell everyone."""
        stored = sorted(
            len(self.log) if voter == self.name else self._progress[voter].match_index
            for voter in self._voters
        )
        index = stored[len(stored) - self._quorum]
        if index <= self.commit_index or self.log[index - 1].term != self.term:
            return
        self._commit_to(index)
        for peer, progress in self._progress.items():
            sent = progress.next_index - 1
            self.outbox.append((peer, self._append(sent, ())))

    # --- every member's side ----------------------------------------------------------------------

    def _take_append(self, sender: str, append: AppendEntries) -> None:
        self.term = append.term
        prev = append.prev_index
        if prev > len(self.log) or (prev and self.log[prev - 1].term != append.prev_term):
            hint = min(len(self.log), prev - 1)
            self.outbox.append((sender, AppendReply(self.term, success=False, match_index=hint)))
            return
        for offset, entry in enumerate(append.entries):
            index = prev + offset
            if index < len(self.log) and self.log[index].term != entry.term:
                assert index >= self.commit_index, f"{self.name} would drop a committed entry"
                del self.log[index:]
            if index >= len(self.log):
                self.log.append(entry)
        matched = prev + len(append.entries)
        if append.entries:
            self.outbox.append((sender, AppendReply(self.term, success=True, match_index=matched)))
        self._commit_to(min(append.commit_index, matched))

    def _commit_to(self, index: int) -> None:
        while self.commit_index < index:
            self.commit_index += 1
            self.committed.append((self.commit_index, self.log[self.commit_index - 1]))
