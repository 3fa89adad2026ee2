"""What faults may touch: each lever works, and is undone by its own release and no other."""

from typing import Any

import pytest

from ddlsim.cluster.cluster import Cluster
from ddlsim.cluster.levers import ClusterLevers
from ddlsim.history.world_events import ClockSet
from ddlsim.nemesis.roles import NobodyError
from ddlsim.units import Micros, ms
from tests.unit.scenario.worlds import built


class Ping:
    """A message without content."""


class Pong:
    """Another one."""


class Numbered:
    """One of several."""

    def __init__(self, number: int) -> None:
        self.number = number


class Grip:
    """A cluster whose nodes write down what reaches them when, and the levers of one fault."""

    def __init__(self, text: str = "[network]\nlatency_ms = 1\n") -> None:
        self.cluster: Cluster = built(text)
        self.loop = self.cluster.loop
        self.levers = ClusterLevers(self.cluster)
        self.arrived: list[tuple[str, str, int]] = []
        for name, host in self.cluster.hosts.items():
            for kind in (Ping, Pong):
                host.on(kind, self._listener(name))

    def _listener(self, to: str) -> Any:
        return lambda sender, _: self.arrived.append((sender, to, self.loop.now_us))

    def other(self) -> ClusterLevers:
        """The levers of another fault."""
        return ClusterLevers(self.cluster)

    def send(self, sender: str = "n1", to: str = "n2", payload: Any = None) -> None:
        self.cluster.hosts[sender].send(to, payload or Ping())

    def later(self, by_ms: int) -> list[tuple[str, str, int]]:
        """What has arrived since, after a while."""
        before = len(self.arrived)
        self.loop.run(until_us=self.loop.now_us + ms(by_ms))
        return self.arrived[before:]


ANY: dict[str, Any] = {"sender": None, "to": None, "kind": None}


def test_roles_are_resolved_when_they_are_asked_for() -> None:
    """Nodes by their names, the leader, the primary of a partition."""
    levers = Grip("[cluster]\npartitions = 2\n").levers
    assert tuple(levers.nodes()) == ("n1", "n2", "n3")
    roles = ("n3", "meta storage leader", "primary of t", "primary of t/0", "primary of t/1")
    assert [levers.resolve(role) for role in roles] == ["n3", "n1", "n2", "n2", "n3"]
    assert [levers.resolve(f"leader of t{part}") for part in ("", "/1")] == ["n2", "n3"]
    with pytest.raises(AssertionError, match="no node or role is called 'n9'"):
        levers.resolve("n9")
    for role in ("primary of u", "leader of u/0"):
        with pytest.raises(NobodyError):
            levers.resolve(role)


def test_a_coordinator_is_whom_a_client_has_asked_last() -> None:
    """The first node, if it has asked nobody yet."""
    grip = Grip()
    assert grip.levers.resolve("coordinator of c") == "n1"
    grip.cluster.asked["c"] = "n3"
    assert grip.levers.resolve("coordinator of c") == "n3"


def test_traffic_can_be_delayed() -> None:
    """What matches takes so much longer, until it is released."""
    grip = Grip()
    grip.levers.delay_traffic(sender=None, to="n2", kind="ping", by_us=ms(20))
    grip.send()
    grip.send("n1", "n3")
    grip.send(payload=Pong())
    assert grip.later(30) == [("n1", "n3", 1_000), ("n1", "n2", 1_000), ("n1", "n2", 21_000)]
    grip.levers.release()
    grip.send()
    assert grip.later(30) == [("n1", "n2", 31_000)]


def test_traffic_can_be_held_back() -> None:
    """Released, it arrives in order."""
    grip = Grip()
    grip.levers.hold_traffic(sender="n1", to=None, kind=None)
    for to in ("n2", "n3", "n2"):
        grip.send(to=to)
    grip.send("n2", "n3")
    assert grip.later(10) == [("n2", "n3", 1_000)]
    grip.levers.release()
    assert [(to, at) for _, to, at in grip.later(10)] == [
        ("n2", 10_000),
        ("n3", 10_000),
        ("n2", 10_000),
    ]


def test_traffic_can_be_blocked() -> None:
    """What is sent meanwhile is lost for ever."""
    grip = Grip()
    grip.levers.block_traffic(sender="n1", to="n2", kind=None)
    grip.send()
    grip.send("n2", "n1")
    assert grip.later(10) == [("n2", "n1", 1_000)]
    grip.levers.release()
    assert grip.later(10) == []
    grip.send()
    assert grip.later(10) == [("n1", "n2", 21_000)]


@pytest.mark.parametrize(("profile", "copies"), [({"loss": 1.0}, 0), ({"duplication": 1.0}, 2)])
def test_the_profile_can_be_changed(profile: dict[str, float], copies: int) -> None:
    """For messages that match; it leaves the latency alone."""
    grip = Grip()
    grip.levers.set_link_profile(sender="n1", to="n2", kind=None, **profile)
    grip.send()
    grip.send("n2", "n1")
    arrived = grip.later(10)
    assert arrived.count(("n1", "n2", 1_000)) == copies
    assert arrived.count(("n2", "n1", 1_000)) == 1
    grip.levers.release()
    grip.send()
    assert grip.later(10) == [("n1", "n2", 11_000)]


def test_messages_can_overtake_each_other() -> None:
    """Out of line, what is quick does not wait behind what is slow; released, it does."""
    for out_of_line in (True, False):
        grip = Grip("[network]\nlatency_ms = { distribution = 'uniform', low = 1, high = 9 }\n")
        grip.levers.set_link_profile(sender="n1", to="n2", kind=None, reordering=1.0)
        if not out_of_line:
            grip.levers.release()
        order: list[int] = []
        grip.cluster.hosts["n2"].on(Numbered, lambda _, told, into=order: into.append(told.number))
        for number in range(20):
            grip.send(payload=Numbered(number))
        grip.later(20)
        assert sorted(order) == list(range(20))
        assert (order != sorted(order)) == out_of_line


def test_nodes_can_be_cut_off_and_come_back_one_by_one() -> None:
    """Each of them hears nobody; whoever is left comes back with the release."""
    grip = Grip()
    grip.levers.cut_off("n2")
    grip.levers.cut_off("n3")
    grip.send("n1", "n2")
    grip.send("n3", "n1")
    grip.send("n2", "n3")
    assert grip.later(10) == []
    grip.levers.reconnect("n2")
    grip.send("n1", "n2")
    grip.send("n2", "n3")
    assert grip.later(10) == [("n1", "n2", 11_000)]
    grip.levers.release()
    grip.send("n2", "n3")
    assert grip.later(10) == [("n2", "n3", 21_000)]


def test_what_is_due_later_is_not_done_after_the_release() -> None:
    """It would outlast the fault."""
    grip, done = Grip(), []
    grip.levers.later(ms(5), lambda: done.append("first"))
    grip.levers.later(ms(15), lambda: done.append("second"))
    grip.later(10)
    grip.levers.release()
    grip.later(10)
    assert done == ["first"]


@pytest.mark.parametrize(("by_us", "offset_us"), [(3_000, 10_000), (-3_000, -10_000)])
def test_a_clock_can_leave_the_bound(by_us: int, offset_us: int) -> None:
    """CSmax is 7 ms here; wherever the clock was before, and it gets back there."""
    grip = Grip("[clocks.nodes.n2]\noffset_ms = 2\n")
    clock = grip.cluster.hosts["n2"].clock
    grip.levers.clock_beyond("n2", by_us)
    assert clock.read_us() == offset_us
    grip.levers.release()
    assert clock.read_us() == 2_000


def test_a_setting_can_be_changed() -> None:
    """Of two values the later one counts as long as it lasts; then the other, then the first."""
    for first_ends_first in (True, False):
        grip = Grip()
        settings = grip.cluster.settings_of("n2")
        one, other = grip.levers, grip.other()
        one.set_setting("n2", "delay_duration_ms", 20)
        other.set_setting("n2", "delay_duration_ms", 30)
        assert settings.delay_duration_ms == 30
        (one if first_ends_first else other).release()
        assert settings.delay_duration_ms == (30 if first_ends_first else 20)
        (other if first_ends_first else one).release()
        assert settings.delay_duration_ms == 100
        assert grip.cluster.settings_of("n1").delay_duration_ms == 100


def test_a_clock_can_jump_and_jump_back() -> None:
    """Or stay where it is; both are recorded."""
    for returns, after in ((True, 50_000), (False, 56_000)):
        grip = Grip()
        grip.levers.clock_step("n2", 6_000, returns=returns)
        grip.later(50)
        assert grip.cluster.hosts["n2"].clock.read_us() == 56_000
        grip.levers.release()
        assert grip.cluster.hosts["n2"].clock.read_us() == after
        told = [e for e in grip.cluster.recorder.history.events if type(e) is ClockSet]
        assert [event.offset_us for event in told[3:]] == ([6_000, 0] if returns else [6_000])


def test_a_clock_can_run_at_another_rate() -> None:
    """It keeps what it gained; afterwards it has the rate that it was built with."""
    grip = Grip("[clocks.nodes.n2]\ndrift_ppm = 30\n")
    clock = grip.cluster.hosts["n2"].clock
    grip.levers.clock_drift("n2", 10_000)
    grip.later(100)
    grip.levers.release()
    assert (clock.read_us(), clock.pieces[-1].drift_ppm) == (101_000, 30)


def test_a_node_can_stand_still() -> None:
    """What is sent to it waits."""
    grip = Grip()
    grip.levers.pause("n2")
    grip.send()
    assert grip.later(10) == []
    grip.levers.release()
    assert grip.later(10) == [("n1", "n2", 10_000)]


@pytest.mark.parametrize("stage", ["log", "catalog", "listener"])
def test_a_stage_can_be_slow(stage: str) -> None:
    """By so much more than it is anyway."""
    grip = Grip(f'[[apply]]\nnode = "n2"\nstage = "{stage}"\ndelay_ms = 5\n')
    delays = grip.cluster.delays("n2")
    grip.levers.slow_apply("n2", stage, Micros(40_000))
    assert getattr(delays, stage) == 45_000
    grip.levers.release()
    assert getattr(delays, stage) == 5_000


def test_a_release_undoes_everything_once() -> None:
    """A second one changes nothing."""
    grip = Grip()
    grip.levers.block_traffic(**ANY)
    grip.levers.clock_step("n2", 6_000, returns=True)
    grip.levers.pause("n3")
    for _ in range(2):
        grip.levers.release()
    grip.send(to="n3")
    assert grip.later(10) == [("n1", "n3", 1_000)]
    assert grip.cluster.hosts["n2"].clock.read_us() == 10_000


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_faults_that_overlap_leave_each_other_alone(first_ends_first: bool) -> None:
    """In whichever order they end, everything is as before in the end."""
    grip = Grip()
    one, other = grip.levers, grip.other()
    for levers, scale in ((one, 1), (other, 2)):
        levers.slow_apply("n2", "log", Micros(scale * 10_000))
        levers.clock_drift("n2", scale * 100)
        levers.pause("n2")
        levers.block_traffic(sender="n1", to="n2", kind=None)
    delays = grip.cluster.delays("n2")
    clock = grip.cluster.hosts["n2"].clock
    assert (delays.log, clock.pieces[-1].drift_ppm) == (30_000, 200)
    first, second = (one, other) if first_ends_first else (other, one)
    first.release()
    assert delays.log == (20_000 if first_ends_first else 10_000)
    assert clock.pieces[-1].drift_ppm == 100
    grip.send()
    grip.send("n3", "n2")
    assert grip.later(10) == []
    second.release()
    assert (delays.log, clock.pieces[-1].drift_ppm) == (0, 0)
    assert grip.later(10) == [("n3", "n2", 10_000)]
    grip.send()
    assert grip.later(10) == [("n1", "n2", 21_000)]
