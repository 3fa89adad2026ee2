"""For all waits, for safe time or for a clock: never too early, never too late, never for ever."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.kernel.clock import Piece
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.strategies.iep import IEP
from ddlsim.units import MIN_TIMESTAMP, Timestamp, timestamp
from tests.support.protocol import FakeNode, Wire, two_versions
from tests.unit.cluster.test_adapters import Machine

STAMPS = st.builds(timestamp, st.integers(0, 12), st.integers(0, 2))


class Publish(NamedTuple):
    """Safe time moves, or does not."""

    ts: Timestamp


class Wait(NamedTuple):
    """Somebody waits."""

    ts: Timestamp


@given(st.lists(st.one_of(st.builds(Publish, STAMPS), st.builds(Wait, STAMPS)), max_size=40))
def test_a_wait_for_safe_time_ends_when_it_is_reached(
    script: list[Publish | Wait],
) -> None:
    """In the order of the timestamps, then of their coming; it never goes back."""
    loop = Loop()
    sync = SchemaSync(FakeNode("n1", Wire(loop)), IEP, two_versions())
    woken: list[int] = []
    waiting: list[tuple[Timestamp, int]] = []
    largest = MIN_TIMESTAMP

    async def wait(number: int, ts: Timestamp) -> None:
        await sync.safe_time_reaches(ts)
        woken.append(number)

    for number, action in enumerate(script):
        before = len(woken)
        if isinstance(action, Publish):
            sync.advance_safe_time(action.ts)
            largest = max(largest, action.ts)
        else:
            waiting.append((action.ts, number))
            sync.node.spawn(wait(number, action.ts))
        loop.run()
        due = sorted(one for one in waiting if one[0] <= largest)
        waiting = [one for one in waiting if one[0] > largest]
        assert woken[before:] == [number for _, number in due]
        assert sync.safe_time == largest


class Act(NamedTuple):
    """Something happens a while after what happened before."""

    after_us: int
    what: str
    number: int


SPANS = st.integers(0, 4_000)
ACTS = st.lists(
    st.one_of(
        st.builds(Act, SPANS, st.just("wait"), st.integers(0, 40)),
        st.builds(Act, SPANS, st.just("wait"), st.integers(0, 40)),
        st.builds(Act, SPANS, st.just("wait for a logical part"), st.integers(0, 40)),
        st.builds(Act, SPANS, st.just("step"), st.integers(-9_000, 9_000)),
        st.builds(Act, SPANS, st.just("drift"), st.integers(-900_000, 900_000)),
        st.builds(Act, SPANS, st.just("merge"), st.integers(0, 40)),
    ),
    max_size=25,
)


class Watch:
    """A machine whose waiters write down from when to when they waited for what."""

    def __init__(self, offset_us: int, drift_ppm: int) -> None:
        self.machine = Machine(offset_us, drift_ppm)
        self.merged: list[tuple[int, Timestamp]] = []
        self.waits: list[tuple[Timestamp, int, int]] = []
        self.begun = 0

    async def wait(self, ts: Timestamp) -> None:
        began_us = self.machine.loop.now_us
        await self.machine.waiters.passes(ts)
        assert self.machine.clock.current() >= ts, "too early"
        self.waits.append((ts, began_us, self.machine.loop.now_us))

    def do(self, act: Act) -> None:
        match act:
            case Act(_, "step", by_us):
                self.machine.physical.step(by_us)
            case Act(_, "drift", ppm):
                self.machine.physical.set_drift(ppm)
            case Act(_, "merge", ms):
                self.merged.append((self.machine.loop.now_us, timestamp(ms, 1)))
                self.machine.clock.update(timestamp(ms, 1))
            case Act(_, what, ms):
                self.begun += 1
                ts = timestamp(ms, 3) if "logical" in what else timestamp(ms)
                self.machine.host.spawn(self.wait(ts))

    def shown(self, at_us: int) -> Timestamp:
        """What the clock showed in the course of an instant, all that happened in it left out."""
        piece = [Piece(*one) for one in self.machine.physical.pieces if one[0] <= at_us][-1]
        merged = [ts for us, ts in self.merged if us <= at_us]
        return max([timestamp(piece.shows_us(at_us) // 1000), *merged])


@given(st.integers(-5_000, 5_000), st.integers(-300_000, 300_000), ACTS)
def test_a_wait_for_a_clock_ends_when_the_timestamp_is_shown(
    offset_us: int, drift_ppm: int, acts: list[Act]
) -> None:
    """Through steps, changes of rate and merges; nobody sleeps for ever."""
    watch = Watch(offset_us, drift_ppm)
    at_us = 0
    for act in acts:
        at_us += act.after_us
        watch.machine.loop.call_at(at_us, watch.do, act)
    watch.machine.loop.run(until_us=at_us)
    watch.machine.physical.set_drift(0)
    watch.machine.loop.run(until_us=at_us + 400_000)
    assert len(watch.waits) == watch.begun, "for ever"
    for ts, began_us, ended_us in watch.waits:
        if ended_us > began_us:
            assert watch.shown(ended_us - 1) < ts, "too late"
