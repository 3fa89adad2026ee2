"""The timers of a group's member, and what its leader knows of the others.

One timer for each member: a follower's looks whether a leader was heard meanwhile, a leader's lets
the others hear from it, every `heartbeat_ms`, and sees whether a majority answers.
"""

from collections.abc import Callable

from ddlsim.history.world_events import LeaderSteppedDown
from ddlsim.model.ports import (
    Future,
    Node,
    Timer,
)
from ddlsim.protocol.raft import Member
from ddlsim.protocol.replication.state_machine import NOT_LEADER
from ddlsim.units import US_PER_MS, Micros


class Timed:
    """A member's timers."""

    node: Node
    name: str
    voters: tuple[str, ...]
    member: Member
    is_alone: bool
    on_deposed: Callable[[int], None] | None
    _waiting: dict[int, Future[object]]
    _heard_us: dict[str, int]
    _level_us: dict[str, int]
    _leader_heard_us: int
    _heartbeat: Timer | None
    _election_armed: bool
    _resend_armed: bool

    def _after(self) -> None:
        """Carry out what the step machine decided."""
        raise NotImplementedError

    def _stop_leading(self, term: int) -> None:
        node = self.node
        if node.recording:
            node.record(LeaderSteppedDown(node.watch.now_us, node.name, self.name, term))
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
        interval_us = Micros(self.node.settings.heartbeat_ms * US_PER_MS)
        self._heartbeat = self.node.call_later(interval_us, self._beat)

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
        spread_us = Micros(self.node.settings.election_spread_ms * US_PER_MS)
        extra_us = self.node.spread(f"election {self.name}", spread_us)
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
