"""The ports, answered by the kernel: waits for a clock, what is recorded, pauses."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.adapters import ClockWaiters, NodePort, Pauses, Recorder
from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Future, Loop
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Constant, quantiles
from ddlsim.model.hlc import HybridClock
from ddlsim.model.physical import PhysicalTimestamps
from ddlsim.units import Timestamp, timestamp
from tests.support.protocol import settings
from tests.support.worlds import empty_history


class Machine:
    """A host with its clock, and the instants at which its waiters were let go."""

    def __init__(
        self,
        offset_us: int = 0,
        drift_ppm: int = 0,
        clock: Callable[..., HybridClock] = HybridClock,
    ) -> None:
        self.loop = Loop()
        network = Network(self.loop, 1)
        network.configure(LinkProfile(latency=quantiles(Constant(1))))
        self.physical = PhysicalClock(self.loop, offset_us, drift_ppm)
        self.host = Host(self.loop, network, "n1", self.physical)
        self.clock = clock(self.physical.read_ms)
        self.waiters = ClockWaiters(self.host, self.clock)
        self.woken: list[tuple[str, int]] = []

    def wait(self, name: str, ts: Timestamp) -> None:
        """Begin to wait now."""

        async def waited() -> None:
            await self.waiters.passes(ts)
            self.woken.append((name, self.loop.now_us))

        self.host.spawn(waited())

    def at(self, us: int, what: Any, *args: Any) -> None:
        """Something happens at an instant."""
        self.loop.call_at(us, what, *args)

    def until(self, us: int) -> list[tuple[str, int]]:
        """The waits that have ended by then, and when."""
        self.loop.run(until_us=us)
        return self.woken


# --- waiting for a clock -------------------------------------------------------------------------


def test_passes_is_done_for_what_the_clock_shows_already() -> None:
    """Its present reading, or whatever was merged."""
    machine = Machine(offset_us=5_000)
    assert machine.waiters.passes(timestamp(5)).done
    assert not machine.waiters.passes(timestamp(5, 1)).done
    machine.clock.update(timestamp(90))
    assert machine.waiters.passes(timestamp(90)).done


@pytest.mark.parametrize(
    ("ts", "due_us"), [(timestamp(7), 7_000), (timestamp(7, 1), 8_000), (timestamp(7, 99), 8_000)]
)
def test_a_wait_ends_when_the_clock_shows_the_timestamp(ts: Timestamp, due_us: int) -> None:
    """A logical part is passed by the next millisecond."""
    machine = Machine()
    machine.wait("a", ts)
    assert machine.until(due_us - 1) == []
    assert machine.until(20_000) == [("a", due_us)]


def test_passes_waits_for_the_nodes_own_clock() -> None:
    """One that is ahead is done with it earlier, one that runs slower later."""
    ahead, slow = Machine(offset_us=2_500), Machine(drift_ppm=-500_000)
    ahead.wait("a", timestamp(7))
    slow.wait("a", timestamp(7))
    assert ahead.until(20_000) == [("a", 4_500)]
    assert slow.until(20_000) == [("a", 14_000)]


def test_waits_end_in_the_order_of_their_timestamps() -> None:
    """Those for the same one in the order in which they began."""
    machine = Machine()
    for name, at in (("c", 9), ("a", 5), ("d", 9), ("b", 7)):
        machine.wait(name, timestamp(at))
    machine.at(3_000, machine.wait, "e", timestamp(4))
    assert machine.until(20_000) == [
        ("e", 4_000),
        ("a", 5_000),
        ("b", 7_000),
        ("c", 9_000),
        ("d", 9_000),
    ]


def test_a_merge_ends_the_waits_that_it_passes() -> None:
    """At once, and none of the others."""
    machine = Machine()
    for name, ts in (("a", timestamp(7)), ("b", timestamp(7, 3)), ("c", timestamp(7, 4))):
        machine.wait(name, ts)
    machine.at(2_000, machine.clock.update, timestamp(7, 3))
    assert machine.until(20_000) == [("a", 2_000), ("b", 2_000), ("c", 8_000)]


def test_a_step_forwards_ends_the_waits_that_it_passes() -> None:
    """And brings the others nearer."""
    machine = Machine()
    machine.wait("a", timestamp(7))
    machine.wait("b", timestamp(9))
    machine.at(2_000, machine.physical.step, 6_000)
    assert machine.until(20_000) == [("a", 2_000), ("b", 3_000)]


def test_a_step_back_prolongs_a_wait() -> None:
    """It does not end before the clock shows its timestamp again."""
    machine = Machine()
    machine.wait("a", timestamp(7))
    machine.at(6_000, machine.physical.step, -5_000)
    assert machine.until(20_000) == [("a", 12_000)]


def test_a_new_drift_moves_the_end_of_a_wait() -> None:
    """Either way."""
    for ppm, due_us in ((1_000_000, 4_500), (-500_000, 12_000), (0, 7_000)):
        machine = Machine()
        machine.wait("a", timestamp(7))
        machine.at(2_000, machine.physical.set_drift, ppm)
        assert machine.until(20_000) == [("a", due_us)]


def test_passes_works_after_earlier_waits_ended() -> None:
    """The clock is listened to anew."""
    machine = Machine()
    machine.wait("a", timestamp(3))
    machine.at(5_000, machine.wait, "b", timestamp(9))
    machine.at(6_000, machine.clock.update, timestamp(9))
    machine.at(6_500, machine.wait, "c", timestamp(20))
    machine.at(7_000, machine.physical.step, 20_000)
    assert machine.until(30_000) == [("a", 3_000), ("b", 6_000), ("c", 7_000)]


def test_waits_of_a_paused_node_end_when_it_is_resumed() -> None:
    """What it waited for has long passed by then."""
    machine = Machine()
    machine.wait("a", timestamp(7))
    machine.at(2_000, machine.host.pause)
    machine.at(15_000, machine.host.resume)
    assert machine.until(30_000) == [("a", 15_000)]


def test_passes_sets_one_timer_for_many_waits() -> None:
    """The queue does not fill up with timers that no wait needs."""
    machine = Machine()
    for number in range(100):
        machine.waiters.passes(timestamp(1000 + number))
    machine.until(999_000)
    assert machine.loop.events < 10


# --- recording -----------------------------------------------------------------------------------


def test_record_appends_to_the_history() -> None:
    """In order."""
    history = empty_history()
    recorder = Recorder(history, recording=True)
    events: list[Any] = ["a", "b", "c"]
    for event in events:
        recorder.record(event)
    assert history.events == events


def test_is_first_is_true_once_for_each_key() -> None:
    """Of all nodes together: so that one of them records the event."""
    recorder = Recorder(empty_history(), recording=True)
    keys = [("update", 1), ("update", 2), ("update", 1), ("update", 2)]
    assert [recorder.is_first(key) for key in keys] == [True, True, False, False]


def test_with_recording_off_only_probes_are_counted() -> None:
    """A scenario must know what it has reached all the same."""
    for recording in (True, False):
        history = empty_history()
        recorder = Recorder(history, recording=recording)
        recorder.record(object())
        recorder.probe("met")
        recorder.probe("met")
        assert len(history.events) == (1 if recording else 0)
        assert history.probes == {"met": 2}


# --- pauses --------------------------------------------------------------------------------------


def future() -> Future[Any]:
    return Loop().future()


def test_a_pause_stops_one_task_once() -> None:
    """The first that comes by that point of that node."""
    pauses, until = Pauses(), future()
    assert not pauses
    pauses.add("n1", "here", None, until)
    assert pauses
    assert pauses.take("n2", "here", "t1") is None
    assert pauses.take("n1", "there", "t1") is None
    assert pauses.take("n1", "here", "t1") is until
    assert pauses.take("n1", "here", "t1") is None


def test_a_pause_may_be_for_one_transaction() -> None:
    """Others pass; of several that fit, the one planned first is taken."""
    pauses, first, second = Pauses(), future(), future()
    pauses.add("n1", "here", "t2", first)
    pauses.add("n1", "here", None, second)
    assert pauses.take("n1", "here", "t1") is second
    assert pauses.take("n1", "here", "t1") is None
    assert pauses.take("n1", "here", "t2") is first


# --- the port ------------------------------------------------------------------------------------


class Port(Machine):
    """A machine with the port of a protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.history = empty_history()
        self.pauses = Pauses()
        recorder = Recorder(self.history, recording=True)
        self.settings = settings()
        self.port = NodePort(self.host, self.settings, recorder, self.pauses, HybridClock)


def test_node_port_has_name_clock_settings_and_disk() -> None:
    """Its name, its clock, its disk, its settings, the time."""
    machine = Port()
    port = machine.port
    machine.until(1_234)
    assert (port.name, port.watch.now_us, port.recording) == ("n1", 1_234, True)
    assert port.disk is machine.host.disk
    assert port.settings is machine.settings
    assert port.clock.now() == timestamp(1)


def test_a_wait_for_a_physical_clock_goes_on_after_a_step_back() -> None:
    """Until it shows again what it was to show."""
    machine = Machine(clock=PhysicalTimestamps)
    machine.wait("a", timestamp(5))
    machine.wait("b", timestamp(5, 1))
    machine.at(4_000, machine.physical.step, -3_000)
    machine.at(4_500, machine.clock.update, timestamp(100))
    assert machine.until(20_000) == [("a", 8_000), ("b", 9_000)]


def test_node_port_sleeps_and_calls_later() -> None:
    """On the machine's own clock, and as long as the machine lives."""
    machine = Port()
    port, done = machine.port, list[tuple[str, int]]()

    async def work() -> None:
        await port.sleep(500)
        done.append(("slept", machine.loop.now_us))
        await port.clock_passes(timestamp(3))
        done.append(("passed", machine.loop.now_us))
        await port.clock_passes(timestamp(50))
        done.append(("never", machine.loop.now_us))

    port.spawn(work())
    port.call_later(2_000, done.append, ("called", 2_000))
    port.call_later(1_000, done.append, ("cancelled", 0)).cancel()
    machine.at(20_000, machine.host.crash)
    machine.until(100_000)
    assert done == [("slept", 500), ("called", 2_000), ("passed", 3_000)]


def test_a_scripted_pause_is_counted_as_reached() -> None:
    """Where there is none, the protocol goes on without a wait."""
    machine = Port()
    assert machine.port.pause_at("before-commit-ts", "t1") is None
    until = future()
    machine.pauses.add("n1", "before-commit-ts", "t1", until)
    assert machine.port.pause_at("before-commit-ts", "t2") is None
    assert machine.port.pause_at("before-commit-ts", "t1") is until
    assert machine.history.probes == {"paused-before-commit-ts": 1}


def test_what_a_port_records_is_in_the_history() -> None:
    """Events and probes."""
    machine = Port()
    event: Any = "event"
    machine.port.record(event)
    machine.port.probe("met")
    assert machine.history.events == ["event"]
    assert (machine.port.is_first(1), machine.port.is_first(1)) == (True, False)
    assert machine.history.probes == {"met": 1}
