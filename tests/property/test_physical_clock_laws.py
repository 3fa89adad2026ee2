"""For any physical clock: its timestamps follow it, and rise for as long as it does not go back."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ddlsim.model.physical import PhysicalTimestamps
from ddlsim.units import LOGICAL_MASK, Timestamp, physical_ms, timestamp

NEAR = st.builds(timestamp, st.integers(-20, 20), st.sampled_from([0, 1, 5, LOGICAL_MASK]))


class Following(RuleBasedStateMachine):
    """A clock that goes where it likes, and a twin that no message ever reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.physical = 0
        self.clock = PhysicalTimestamps(lambda: self.physical)
        self.alone = PhysicalTimestamps(lambda: self.physical)
        self.last: tuple[int, Timestamp] | None = None

    @rule(by=st.integers(-15, 15))
    def physical_clock_moves(self, by: int) -> None:
        self.physical += by

    @rule(ts=NEAR)
    def a_message_arrives(self, ts: Timestamp) -> None:
        self.clock.update(ts)

    @rule(times=st.integers(1, 4), ts=st.none() | NEAR)
    def now(self, times: int, ts: Timestamp | None) -> None:
        """Of the millisecond that the clock shows; larger than the last unless that went back."""
        for _ in range(times):
            given = self.clock.now() if ts is None else self.clock.beyond(ts)
            assert physical_ms(given) == self.physical
            assert given == self.alone.now()
            if self.last is not None:
                shown, before = self.last
                assert (given > before) == (self.physical >= shown)
            self.last = (self.physical, given)

    @invariant()
    def looking_changes_nothing(self) -> None:
        """It shows a time of this millisecond that the next timestamp does not lie below."""
        shown = [self.clock.current() for _ in range(3)]
        assert shown == [self.alone.current()] * 3
        assert physical_ms(shown[0]) == self.physical


Following.TestCase.settings = settings(stateful_step_count=40)
TestFollowing = Following.TestCase
