"""From when on nothing disturbs a run, and how long things take at most then; for I9.

A run is *calm* from an instant on if no fault begins or ends after it, no clock and no setting is
changed, nothing is lost or held back by a script, no leader hands over by a script, every node
lives, and everything that the last fault left has had time to settle. Whether time limits are long
enough for the latencies is decided here from the settings: elsewhere no run is calm at all, since a
slow network may then be taken for a dead one. With *s* the largest latency of a message, *skew* the
distance of the slowest clock from the fastest and CSmax:

* A leader stays: its heartbeats come every `heartbeat_ms` or `heartbeat_idle_ms`, each is heard and
  answered within 2 s, and that is less than an election timeout.
* A lease stays or is replaced: it lasts longer than two looks of the placement driver, the skew
  twice and 20 s, and a candidate becomes ready within `lease_grant_ms` >= 12 s.
* To settle takes: the election of a leader (at most `ROUNDS` rounds of an election timeout and its
  spread: candidates that split the votes draw again; the phase begins behind the last election in
  that span, and behind one round), the messages that a fault delayed, the command that one made
  slow to apply, the end of a lease of a dead holder on every clock, two looks, a grant; and 50 ms
  by which the clock of a restarted node may be ahead.

Where one message follows another, their number is counted generously: bounds are for what never
comes, and not for what comes late.
"""

from functools import cached_property
from typing import Final

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.progress.faulty_nodes import slow_apply_us
from ddlsim.history.world_events import (
    ClockSet,
    LeaderElected,
    LeaderSteppedDown,
    PartitionSafeTime,
    SettingChanged,
    TrafficDelayed,
)
from ddlsim.units import US_PER_MS

ROUNDS: Final = 20
"""Rounds of an election: each ends without a winner with a chance of less than a half."""
CLOCK_LIMIT_US: Final = 50 * US_PER_MS
"""How far a restarted node's hybrid clock may be ahead of its physical one."""
TICKS_US: Final = 3 * US_PER_MS
"""What whole milliseconds of clocks and timers add up to."""


class Calm:
    """`from_us`: from when on the run is calm, None: never; and bounds. All in microseconds."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._changes = [change for _, change in case.of(SettingChanged)]
        self.slowest_us = case.of_cluster.get("slowest_us", 0)
        self.spread_us = case.once(Clocks).spread_us()
        self.skew_us = self.spread_us + self.largest_us("max_clock_skew_ms")
        self.resend_us = 2 * self.largest_us("resend_ms") + self.largest_us("retry_ms")
        self.completeness_us = (
            self.skew_us
            + self.largest_us("safe_time_interval_ms")
            + 8 * self.slowest_us
            + TICKS_US
            + self.resend_us
        )
        """For metadata to be complete at a timestamp of now: H, and a command's way through."""
        self.command_us = 8 * self.slowest_us + TICKS_US
        """For a command to come to every member: there, back, again; twice more out of order."""
        self.submit_us = 32 * self.slowest_us + self.resend_us
        """For a command to go through a log and be answered, though each request is repeated."""
        self.place_us = 2 * self.skew_us + 2 * self.largest_us("lease_check_ms") + self.submit_us
        """For a partition to have a primary, behind the end of a lease that was not prolonged."""
        self.leases_last = self._leases_last()
        self.from_us = self._from_us() if self._is_fair() else None

    def _values(self, name: str) -> list[int]:
        changed = [change.value for change in self._changes if change.key == name]
        return self._case.settings(name) + changed

    def largest_us(self, name: str) -> int:
        """The largest value that a setting had on any node at any time, in microseconds."""
        return max(self._values(name), default=0) * US_PER_MS

    def smallest_us(self, name: str) -> int:
        """The smallest one."""
        return min(self._values(name), default=0) * US_PER_MS

    # --- whether settings suffice -----------------------------------------------------------------

    def _is_fair(self) -> bool:
        """Whether messages are lost or held back by nothing, and elections wait long enough."""
        case = self._case
        recorded = case.of_cluster.get("calm") and "slowest_us" in case.of_cluster
        if not recorded or case.dead or not any(case.header.settings):
            return False
        alone = case.of_cluster.get("voters", 1) == 1 and not self.replicated
        return alone or self.leaders_stay

    @property
    def leaders_stay(self) -> bool:
        """Whether a heartbeat and its answer come within an election timeout."""
        beat_us = max(self.largest_us("heartbeat_ms"), self.largest_us("heartbeat_idle_ms"))
        return beat_us + 2 * self.slowest_us < self.smallest_us("election_timeout_ms")

    @cached_property
    def electing(self) -> dict[str, None]:
        """The groups in which elections have no end: no leader need stay, and none did.

        Or none was elected any more since the last leader stepped down.
        """
        if self.leaders_stay:
            return {}
        since_us = self._case.history.end_us - ROUNDS * self._round_us
        elected = {event.group: (at, event.at_us) for at, event in self._case.of(LeaderElected)}
        found = {group: None for group, (_, at_us) in elected.items() if at_us >= since_us}
        for at, stepped in self._case.of(LeaderSteppedDown):
            if at > elected.get(stepped.group, (-1, 0))[0]:
                found[stepped.group] = None
        return found

    @property
    def _round_us(self) -> int:
        """The longest round of an election, without its messages."""
        return self.largest_us("election_timeout_ms") + self.largest_us("election_spread_ms")

    @cached_property
    def replicated(self) -> dict[str, dict[str, None]]:
        """The partitions with several replicas, and the nodes that hold these."""
        found: dict[str, dict[str, None]] = {}
        for _, moved in self._case.of(PartitionSafeTime):
            found.setdefault(moved.group, {})[moved.node] = None
        return {group: nodes for group, nodes in found.items() if len(nodes) > 1}

    def _leases_last(self) -> bool:
        needed_us = 2 * (self.largest_us("lease_check_ms") + self.skew_us) + 20 * self.slowest_us
        granted = self.smallest_us("lease_grant_ms") >= 12 * self.slowest_us
        return granted and self.smallest_us("lease_duration_ms") >= needed_us

    @property
    def answers_come(self) -> bool:
        """Whether a coordinator waits for a primary's answer for longer than two messages take.

        One that never does asks for the outcome of a one-phase write again and again.
        """
        limits = self._values("operation_timeout_ms")
        return not limits or min(limits) * US_PER_MS > 2 * self.slowest_us + TICKS_US

    @property
    def leases_are_seen(self) -> bool:
        """Whether a coordinator with the fastest clock ever finds a lease that lasts.

        A lease is prolonged at a look of the placement driver, by its clock, and comes to the
        others through the log of the meta storage. A coordinator uses one that lasts CSmax longer
        by its own clock. Without such a lease a partition has no primary, and what is left there
        stays.
        """
        lost_us = self.skew_us + self.largest_us("lease_check_ms") + self.command_us
        return self.smallest_us("lease_duration_ms") > lost_us

    # --- when the last disturbance is over --------------------------------------------------------

    @property
    def disturbed_us(self) -> int | None:
        """When the last fault, clock step, change of a setting or hand-over was; None: never."""
        case = self._case
        disturbed = [event.at_us for event in case.faults]
        disturbed += [event.at_us for _, event in case.of(ClockSet) if event.at_us]
        disturbed += [change.at_us for change in self._changes]
        if (handed_over_us := case.of_cluster.get("handed_over_us")) is not None:
            disturbed.append(handed_over_us)
        return max(disturbed, default=None)

    def _from_us(self) -> int:
        case, last_us = self._case, self.disturbed_us
        if last_us is None:
            return 0
        delayed_us = max((event.by_us for _, event in case.of(TrafficDelayed)), default=0)
        last_us += max(delayed_us, slow_apply_us(case))
        settled_us = (
            self._elected_us(last_us)
            + self.largest_us("lease_duration_ms")
            + self.place_us
            + self.completeness_us
            + CLOCK_LIMIT_US
        )
        return max(settled_us, last_us + self._round_us + 4 * self.slowest_us)

    def _elected_us(self, last_us: int) -> int:
        """The last election within the rounds that may be needed; a later one has no cause."""
        limit_us = last_us + ROUNDS * (self._round_us + 4 * self.slowest_us)
        elected = [event.at_us for _, event in self._case.of(LeaderElected)]
        return max([last_us, *(at_us for at_us in elected if at_us <= limit_us)])
