"""For any physical clock and any merges: what a hybrid clock gives rises, looking is free."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ddlsim.model.hlc import HybridClock
from ddlsim.units import LOGICAL_MASK, Timestamp, timestamp

NEAR = st.builds(timestamp, st.integers(-20, 20), st.sampled_from([0, 1, 5, LOGICAL_MASK]))


class Ticking(RuleBasedStateMachine):
    """One clock whose physical clock goes where it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.physical = 0
        self.clock = HybridClock(lambda: self.physical)
        self.seen: list[Timestamp] = []
        self.jumps = 0
        self.clock.on_jump(self.jumped)

    def jumped(self) -> None:
        self.jumps += 1

    @property
    def largest(self) -> Timestamp:
        """The largest timestamp that was given or merged."""
        return max(self.seen, default=timestamp(-(10**6)))

    @rule(by=st.integers(-15, 15))
    def physical_clock_moves(self, by: int) -> None:
        self.physical += by

    @rule(times=st.integers(1, 4))
    def now(self, times: int) -> None:
        """Strictly larger than anything before, and no larger than that needs."""
        for _ in range(times):
            jumps, before = self.jumps, self.largest
            given = self.clock.now()
            assert given > before
            assert given == max(timestamp(self.physical), before + 1)
            assert self.jumps == jumps
            self.seen.append(given)

    @rule(ts=NEAR)
    def update(self, ts: Timestamp) -> None:
        """Whoever listens is told just if the clock moves."""
        jumps, moves = self.jumps, ts > self.largest
        self.clock.update(ts)
        assert self.jumps == jumps + moves
        self.seen.append(ts)

    @invariant()
    def looking_changes_nothing(self) -> None:
        """It shows the physical time, or the largest timestamp that was given or merged."""
        shown = [self.clock.current() for _ in range(3)]
        assert shown == [max(timestamp(self.physical), self.largest)] * 3


Ticking.TestCase.settings = settings(stateful_step_count=40)
TestTicking = Ticking.TestCase


class Talking(RuleBasedStateMachine):
    """Three nodes that tell each other the time: what follows a message is later than it."""

    def __init__(self) -> None:
        super().__init__()
        self.physical = [0, -7, 9]
        self.clocks = [HybridClock(lambda n=n: self.physical[n]) for n in range(3)]
        self.known = [timestamp(-(10**6))] * 3
        self.given: dict[int, list[Timestamp]] = {0: [], 1: [], 2: []}

    @rule(node=st.integers(0, 2), by=st.integers(0, 3))
    def time_passes(self, node: int, by: int) -> None:
        self.physical[node] += by

    @rule(sender=st.integers(0, 2), to=st.integers(0, 2))
    def tell(self, sender: int, to: int) -> None:
        sent = self.clocks[sender].now()
        self.given[sender].append(sent)
        self.clocks[to].update(sent)
        received = self.clocks[to].now()
        self.given[to].append(received)
        assert received > sent

    @invariant()
    def each_clock_gives_every_timestamp_once_and_in_order(self) -> None:
        for given in self.given.values():
            assert given == sorted(set(given))

    @invariant()
    def nobody_is_further_ahead_than_the_fastest_physical_clock(self) -> None:
        """But for the ticks that were counted on top of it."""
        ticks = sum(len(given) for given in self.given.values())
        for clock in self.clocks:
            assert clock.current() <= timestamp(max(self.physical)) + ticks


Talking.TestCase.settings = settings(stateful_step_count=40)
TestTalking = Talking.TestCase
