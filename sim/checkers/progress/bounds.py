"""How long things may take where nothing is wrong, from the settings and from the run itself.

*Spread* is the distance from the slowest that any clock of the run ever was to the fastest: no
hybrid clock is further ahead of any physical clock. *Reach* is how long a command of the meta
storage took at most from the first node that published its safe time to another, over nodes that
were healthy all the while; never configured, it is measured.

*The completeness bound* is spread + CSmax + H + 3 reach + 4 resends, each setting the largest that
any node had at any time. Proof: a healthy node that looks up at Top waits, in any design known
here, at most for a safe time of Top + CSmax, and Top is at most its true time plus the fastest
clock's offset. After another spread + CSmax of true time every clock, and so the meta storage
leader's, shows more than that. An idle leader stamps its next command within H of it, and the node
publishes that within the reach; what may have been lost on the way is sent again, a few times in a
row. What was measured is no upper bound: hence the factors.

*The bound of an operation* without its waits for locks and schemas, which are judged by themselves,
is four times the longest that any operation of its kind took while every node was healthy, plus ten
reaches and thirty resends: retries back off exponentially, so four messages lost in a
row cost that much. *A read at a timestamp* waits besides until its replica knows everything up to
there: an idle partition's leader is silent for `partition_idle_ms` at most, and its clock may be
behind. *The
bound of a DDL* is the same plus DD + CSmax + spread, for which its acknowledgement waits, and twice
reach and resend again for each update that was logged meanwhile and may have won the race against
it.
"""

from collections.abc import Iterable
from functools import cached_property

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.progress.faulty_nodes import FaultyNodes
from ddlsim.history.events import SafeTimeAdvanced, UpdateLogged
from ddlsim.history.world_events import SettingChanged
from ddlsim.units import US_PER_MS

SETTLING_RESENDS = 3
"""Resends that a node needs to recover from a fault, beside a completeness wait."""


class Bounds:
    """The bounds of one run, in microseconds."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._changes = [change for _, change in case.of(SettingChanged)]
        self.skew_us = case.once(Clocks).spread_us() + self._largest("max_clock_skew_ms")
        self.interval_us = self._largest("safe_time_interval_ms")
        self.resend_us = self._largest("resend_ms")
        settling_us = self.skew_us + self.interval_us + SETTLING_RESENDS * self.resend_us
        self.faulty = FaultyNodes(case, settling_us)
        self.least_us = self.skew_us + self.interval_us + 4 * self.resend_us
        """The completeness bound if messages took no time."""
        self._updates = [update.at_us for _, update in case.of(UpdateLogged)]

    def _largest(self, name: str) -> int:
        """The largest value that any node had at any time."""
        values = self._case.settings(name)
        values += [change.value for change in self._changes if change.key == name]
        return max(values, default=0) * US_PER_MS

    @property
    def completeness_us(self) -> int:
        """How long a healthy node waits at most for its metadata to be complete."""
        return self.least_us + 3 * self.reach_us

    @cached_property
    def reach_us(self) -> int:
        """How long a command took at most to reach a healthy node."""
        first: dict[int, int] = {}
        reach_us = 0
        for _, event in self._case.of(SafeTimeAdvanced):
            since_us = first.setdefault(event.safe_ts, event.at_us)
            lag_us = event.at_us - since_us
            if lag_us > reach_us and not self.faulty.during(event.node, since_us, event.at_us):
                reach_us = lag_us
        return reach_us

    def quick_us(self, healthy_us: Iterable[int]) -> int:
        """What no bound of an operation is below."""
        return 4 * max(healthy_us) + 30 * self.resend_us

    def operation_us(self, healthy_us: Iterable[int]) -> int:
        """The bound of a data operation or a commit, waits for locks and schemas apart."""
        return self.quick_us(healthy_us) + 10 * self.reach_us

    def read_only_us(self, healthy_us: Iterable[int]) -> int:
        """The bound of an operation that reads at a timestamp."""
        return self.operation_us(healthy_us) + self._largest("partition_idle_ms") + self.skew_us

    def ddl_us(self, healthy_us: Iterable[int], from_us: int, until_us: int) -> int:
        """The bound of a DDL that lasted from one instant to another."""
        races = sum(from_us <= at_us <= until_us for at_us in self._updates)
        waits_us = self._largest("delay_duration_ms") + self.skew_us
        again_us = 2 * races * (self.reach_us + self.resend_us)
        return self.operation_us(healthy_us) + waits_us + again_us
