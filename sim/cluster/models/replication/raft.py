"""The model of a member of a group: Raft (Ongaro 2014, 3.4 to 3.10, 4.1, 9.6), written plainly.

* A leader sends what it appends to the voters at once, pipelined, and to learners what is
  committed; it commits what a majority stores, if that is of its term, and sends the news to all.
* An append of an old term, or behind an entry that is not there, is refused, with the index to go
  back to; every other one that brings entries or a heartbeat is confirmed.
* A vote is given once in a term, to a log that is not behind, by no leader and no candidate; a
  pre-vote only where no leader is heard. What a vote or a confirmation promises is on the disk.
* A majority of pre-votes makes a candidate, one of votes a leader.
* A member behind the start of the log is sent the snapshot.
* A leader that hands over does so once the successor has the whole log, and leads no more.
"""

from collections.abc import Callable
from typing import ClassVar, Final

from ddlsim.cluster.models.replication.disk import Disk, Write
from ddlsim.protocol.raft.messages import (
    AppendEntries,
    AppendReply,
    Entry,
    InstallSnapshot,
    RaftMessage,
    RequestVote,
    SnapshotReply,
    TimeoutNow,
    VoteReply,
)
from ddlsim.units import Timestamp

FOLLOWER: Final = "follower"
PRE_CANDIDATE: Final = "pre-candidate"
CANDIDATE: Final = "candidate"
LEADER: Final = "leader"

Payload = Callable[[], Timestamp] | None


class Peer:
    """At the leader: up to where another member stores the log, and what it is sent next."""

    def __init__(self, following: int) -> None:
        self.match = 0
        self.following = following
        self.due = 0


class RaftModel:
    """A member; `sent`, `committed`, `lost` and `installed` are of the last call."""

    def __init__(
        self, name: str, voters: tuple[str, ...], learners: tuple[str, ...], disk: Disk
    ) -> None:
        self.name = name
        self.voters = voters
        self.disk = disk
        self.role = FOLLOWER
        self.led_term = 0
        self.leader: str | None = None
        self.commit = self.known = disk.snapshot[0]
        self.unwritten = False
        self.promised: list[tuple[str, RaftMessage]] = []
        self.hears_leader: Callable[[], bool] = lambda: False
        self._others = [one for one in (*voters, *learners) if one != name]
        self._peers: dict[str, Peer] = {}
        self._votes: dict[str, None] = {}
        self._round = 0
        self._successor: tuple[str, Payload] | None = None
        self.sent: list[tuple[str, RaftMessage]] = []
        self.committed: list[tuple[int, Entry]] = []
        self.lost: list[tuple[int, Entry]] = []
        self.installed: tuple[int, object] | None = None

    def begin(self) -> None:
        """A call begins."""
        if self.sent:
            self.sent = []
        if self.committed:
            self.committed = []
        if self.lost:
            self.lost = []
        self.installed = None

    def born(self, leader: str) -> None:
        """The group begins with a leader, in its first term."""
        self.disk.term, self.leader = 1, leader
        self.disk.write_now()
        if leader == self.name:
            self._lead()

    def restored(self, index: int) -> None:
        """What an earlier incarnation has applied is committed."""
        self.commit = self.known = max(index, self.commit)

    # --- what its driver asks for -------------------------------------------------------------

    def propose(self, entry: Entry) -> int:
        """Append an entry at the leader."""
        self.disk.add(entry)
        self.unwritten = True
        for peer in self._peers:
            if peer in self.voters:
                self._append_to(peer)
        return self.disk.last

    def append_alone(self, entry: Entry) -> int:
        """Append where there is no other member, on a disk that takes no time."""
        self.disk.add(entry)
        self.commit = self.known = self.disk.safe.index = self.disk.last
        return self.disk.last

    def election_timeout(self) -> None:
        """No leader was heard."""
        if self.role == LEADER or self.name not in self.voters:
            return
        self.role, self.leader, self._votes = PRE_CANDIDATE, None, {self.name: None}
        if self._is_majority(1):
            self._stand(forced=False)
            return
        disk = self.disk
        asks = RequestVote(disk.term + 1, disk.last, disk.term_at(disk.last) or 0, pre=True)
        self.sent += [(voter, asks) for voter in self.voters if voter != self.name]

    def heartbeat(self) -> None:
        """Let all others answer, and tell how far what they surely have is committed."""
        self._round += 1
        disk = self.disk
        for name, peer in self._peers.items():
            match = peer.match if peer.match >= disk.base else 0
            term, commit = disk.term_at(match) or 0, min(self.commit, match)
            beat = AppendEntries(disk.term, match, term, (), commit, self._round)
            self.sent.append((name, beat))

    def resend(self) -> bool:
        """Send again what was due at the last call; whether anything is not confirmed."""
        behind = False
        for name, peer in self._peers.items():
            if peer.match < peer.due:
                peer.following = peer.match + 1
                self._append_to(name)
            peer.due = self.goal(name)
            behind = behind or peer.match < peer.due
        return behind

    def step_down(self) -> None:
        """Lead no more."""
        if self.role == LEADER:
            self._follow(self.disk.term, None)

    def transfer_to(self, peer: str, payload: Payload) -> None:
        """Hand over to a voter as soon as it has the whole log."""
        if self.role == LEADER and peer != self.name:
            self._successor = (peer, payload)
            self._hand_over()

    def compact(self, index: int, state: object, keep: int) -> None:
        """Drop the log before a snapshot, unless it ends there."""
        if index <= self.disk.last:
            self.disk.compact(index, state, keep)

    def goal(self, peer: str) -> int:
        """Up to where another member is to store the log."""
        return self.disk.last if peer in self.voters else self.commit

    def level_peers(self) -> list[str]:
        """The members that store the log as far as they are to."""
        return [name for name, peer in self._peers.items() if peer.match >= self.goal(name)]

    def is_settled(self) -> bool:
        """Whether all store and know all of the log."""
        last = self.disk.last
        return self.commit == last and all(one.match == last for one in self._peers.values())

    def begin_sync(self) -> tuple[Write, list[tuple[str, RaftMessage]]]:
        """Begin to write; what depends on it waits."""
        promised, self.promised = self.promised, []
        self.unwritten = False
        return self.disk.begin(), promised

    def end_sync(self, write: Write, promised: list[tuple[str, RaftMessage]]) -> None:
        """A write has ended: what it promised is sent, unless its term is over."""
        self.disk.end(write)
        self.sent += [each for each in promised if each[1].term == self.disk.term]
        self._stored()

    def sync_now(self) -> None:
        """Write at once."""
        self.unwritten = False
        self.disk.write_now()
        self.sent += self.promised
        self.promised = []
        self._stored()

    def _stored(self) -> None:
        if self.role == LEADER:
            self._commit_majority()
        elif self.role == CANDIDATE:
            self._count()
        if self.known > self.commit:
            self._commit_known()

    # --- elections ----------------------------------------------------------------------------

    def _is_majority(self, number: int) -> bool:
        return 2 * number > len(self.voters)

    def _follow(self, term: int, leader: str | None) -> None:
        if term > self.disk.term:
            self.disk.term, self.disk.vote = term, None
            self.unwritten = True
        self.role, self.led_term, self.leader = FOLLOWER, 0, leader
        self._peers, self._successor = {}, None

    def _stand(self, *, forced: bool) -> None:
        disk = self.disk
        disk.term += 1
        disk.vote = self.name
        self.unwritten = True
        self.role, self.led_term, self.leader = CANDIDATE, 0, None
        self._peers, self._successor, self._votes = {}, None, {self.name: None}
        asks = RequestVote(disk.term, disk.last, disk.term_at(disk.last) or 0, forced=forced)
        self.promised += [(voter, asks) for voter in self.voters if voter != self.name]

    def _count(self) -> None:
        """A candidate leads once its own vote is on its disk and a majority votes for it."""
        if self._is_majority(len(self._votes)) and self.disk.safe.term == self.disk.term:
            self._lead()

    def _lead(self) -> None:
        self.role, self.led_term, self.leader = LEADER, self.disk.term, self.name
        self._peers = {one: Peer(self.disk.last + 1) for one in self._others}
        self._successor = None
        self.heartbeat()

    def _on_request(self, sender: str, asks: RequestVote) -> None:
        disk = self.disk
        fresh = (asks.last_term, asks.last_index) >= (disk.term_at(disk.last) or 0, disk.last)
        if asks.pre:
            hears = self.role == LEADER or (self.leader is not None and self.hears_leader())
            granted = fresh and asks.term > disk.term and not hears
            term = asks.term if granted else disk.term
            self.sent.append((sender, VoteReply(term, granted, pre=True)))
            return
        granted = fresh and asks.term == disk.term and disk.vote in (None, sender)
        if not granted or self.role in (CANDIDATE, LEADER) or self.name not in self.voters:
            self.sent.append((sender, VoteReply(disk.term, granted=False)))
            return
        disk.vote, self.role, self.unwritten = sender, FOLLOWER, True
        self.promised.append((sender, VoteReply(disk.term, granted=True)))

    def _on_vote(self, sender: str, reply: VoteReply) -> None:
        wanted = PRE_CANDIDATE if reply.pre else CANDIDATE
        if self.role != wanted or reply.term != self.disk.term + reply.pre or not reply.granted:
            return
        if sender in self.voters:
            self._votes[sender] = None
        if not reply.pre:
            self._count()
        elif self._is_majority(len(self._votes)):
            self._stand(forced=False)

    def _on_order(self, _sender: str, order: TimeoutNow) -> None:
        if order.term == self.disk.term and self.name in self.voters:
            self._stand(forced=True)

    # --- the leader's side --------------------------------------------------------------------

    def _append_to(self, name: str) -> None:
        disk, peer = self.disk, self._peers[name]
        prev = peer.following - 1
        if prev < disk.base:
            index, term, state = disk.snapshot
            peer.following = index + 1
            self.sent.append((name, InstallSnapshot(disk.term, index, term, state)))
            return
        entries = tuple(disk.entries[prev - disk.base :])
        peer.following = disk.last + 1
        append = AppendEntries(disk.term, prev, disk.term_at(prev) or 0, entries, self.commit)
        self.sent.append((name, append))

    def _on_reply(self, sender: str, reply: AppendReply) -> None:
        if self.role != LEADER or reply.term != self.disk.term:
            return
        peer = self._peers[sender]
        if reply.success:
            self._stores(sender, reply.match_index)
            return
        peer.following = max(peer.match, reply.match_index) + 1
        self._append_to(sender)

    def _on_snapshot_reply(self, sender: str, reply: SnapshotReply) -> None:
        if self.role == LEADER and reply.term == self.disk.term:
            peer = self._peers[sender]
            peer.following = max(peer.following, reply.match_index + 1)
            self._stores(sender, reply.match_index)

    def _stores(self, name: str, index: int) -> None:
        peer = self._peers[name]
        if index <= peer.match:
            return
        peer.match, peer.following = index, max(peer.following, index + 1)
        if index > self.commit:
            self._commit_majority()
        if self._successor is not None and self._successor[0] == name:
            self._hand_over()

    def _commit_majority(self) -> None:
        disk = self.disk
        stored = [one.match for name, one in self._peers.items() if name in self.voters]
        stored = sorted([*stored, disk.safe.index], reverse=True)
        index = stored[len(self.voters) // 2]
        if index <= self.commit or disk.term_at(index) != disk.term:
            return
        self._commit_to(index)
        for name, peer in self._peers.items():
            term = disk.term_at(peer.following - 1)
            if name not in self.voters:
                self._append_to(name)
            elif term is not None:
                news = AppendEntries(disk.term, peer.following - 1, term, (), self.commit)
                self.sent.append((name, news))

    def _hand_over(self) -> None:
        assert self._successor is not None, "no successor was chosen"
        name, payload = self._successor
        if self._peers[name].match == self.disk.last:
            order = TimeoutNow(self.disk.term, None if payload is None else payload())
            self.sent.append((name, order))
            self._follow(self.disk.term, None)

    # --- every member's side ------------------------------------------------------------------

    def _on_append(self, sender: str, append: AppendEntries) -> None:
        disk, prev, number = self.disk, append.prev_index, append.round
        if append.term < disk.term:
            self.sent.append((sender, AppendReply(disk.term, success=False, match_index=0)))
            return
        if self.role != FOLLOWER or self.leader != sender:
            self._follow(append.term, sender)
        if prev >= disk.base and disk.term_at(prev) != append.prev_term:
            refusal = AppendReply(
                disk.term, success=False, match_index=self._back_to(prev), round=number
            )
            self.sent.append((sender, refusal))
            return
        self._take(prev, append.entries)
        matched = prev + len(append.entries)
        reply = AppendReply(disk.term, success=True, match_index=matched, round=number)
        if append.entries:
            self.unwritten = True
            self.promised.append((sender, reply))
        elif number:
            self.sent.append((sender, reply))
        known = min(append.commit_index, matched)
        if known > self.known:
            self.known = known
            if not self.unwritten:
                self._commit_known()

    def _back_to(self, prev: int) -> int:
        """Behind what the logs may agree: before all entries of the term that differs."""
        disk, term = self.disk, self.disk.term_at(prev)
        index = min(disk.last, prev - 1)
        while term is not None and index > self.commit and disk.term_at(index) == term:
            index -= 1
        return index

    def _take(self, prev: int, entries: tuple[Entry, ...]) -> None:
        disk = self.disk
        for index, entry in enumerate(entries, prev + 1):
            if index <= disk.base:
                continue
            if index <= disk.last:
                if disk.term_at(index) == entry.term:
                    continue
                for dropped in range(index, min(self.commit, disk.last) + 1):
                    self.lost.append((dropped, disk.entries[dropped - disk.base - 1]))
                disk.cut(index - 1)
            disk.add(entry)

    def _on_snapshot(self, sender: str, snapshot: InstallSnapshot) -> None:
        disk, index = self.disk, snapshot.last_index
        if snapshot.term < disk.term:
            return
        if self.role != FOLLOWER or self.leader != sender:
            self._follow(snapshot.term, sender)
        if index > self.commit:
            disk.replace(index, snapshot.last_term, snapshot.state)
            self.commit = self.known = index
            self.installed = (index, snapshot.state)
        self.unwritten = True
        self.promised.append((sender, SnapshotReply(disk.term, self.commit)))

    def _commit_known(self) -> None:
        known = min(self.known, self.disk.safe.index)
        if known > self.commit:
            self._commit_to(known)

    def _commit_to(self, index: int) -> None:
        base = self.disk.base
        for each in range(self.commit + 1, index + 1):
            self.committed.append((each, self.disk.entries[each - base - 1]))
        self.commit = index

    # --- messages -----------------------------------------------------------------------------

    STEPS: ClassVar[dict[type, Callable[..., None]]] = {
        AppendEntries: _on_append,
        AppendReply: _on_reply,
        RequestVote: _on_request,
        VoteReply: _on_vote,
        InstallSnapshot: _on_snapshot,
        SnapshotReply: _on_snapshot_reply,
        TimeoutNow: _on_order,
    }

    def step(self, sender: str, message: RaftMessage) -> None:
        """Take a message; a pre-vote names a term that has not begun."""
        pre = type(message) is RequestVote and message.pre
        pre = pre or (type(message) is VoteReply and message.pre and message.granted)
        if message.term > self.disk.term and not pre:
            self._follow(message.term, None)
        self.STEPS[type(message)](self, sender, message)
