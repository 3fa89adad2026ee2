"""Each fault action works and is undone by its own `undo` alone; what overlaps is counted."""

from typing import Any

import pytest

from ddlsim.cluster.cluster import Cluster
from ddlsim.cluster.faults import ClusterFaults, FaultInProgress
from ddlsim.cluster.group_faults import GroupFaults
from ddlsim.history.world_events import ClockSet, LeaderElected, NodeCrashed, NodeRestarted
from ddlsim.model.hlc import CLOCK_LIMIT
from ddlsim.nemesis.roles import VacantRoleError
from ddlsim.protocol.raft import RaftLog
from ddlsim.protocol.raft.messages import Entry
from ddlsim.protocol.replication.state_machine import disk_name
from ddlsim.units import Micros, ms, timestamp
from tests.support.worlds import built


class Ping:
    """A message without content."""


class Pong:
    """Another one."""


class Numbered:
    """One of several."""

    def __init__(self, number: int) -> None:
        self.number = number


class Struck:
    """A cluster whose nodes write down what reaches them when, and the actions of one fault."""

    def __init__(self, text: str = "[network]\nlatency_ms = 1\n") -> None:
        self.cluster: Cluster = built(text)
        self.loop = self.cluster.loop
        self.faults = ClusterFaults(self.cluster, GroupFaults(self.cluster))
        self.actions = FaultInProgress(self.faults)
        self.arrived: list[tuple[str, str, int]] = []
        for name, host in self.cluster.hosts.items():
            for kind in (Ping, Pong):
                host.on(kind, self._listener(name))

    def _listener(self, to: str) -> Any:
        return lambda sender, _: self.arrived.append((sender, to, self.loop.now_us))

    def other(self) -> FaultInProgress:
        """The actions of another fault."""
        return FaultInProgress(self.faults)

    def events(self, *kinds: type) -> list[Any]:
        """The events of these kinds so far."""
        return [each for each in self.cluster.recorder.history.events if type(each) in kinds]

    def send(self, sender: str = "n1", to: str = "n2", payload: Any = None) -> None:
        self.cluster.hosts[sender].send(to, payload or Ping())

    def later(self, by_ms: int) -> list[tuple[str, str, int]]:
        """What has arrived since, after a while."""
        before = len(self.arrived)
        self.loop.run(until_us=self.loop.now_us + ms(by_ms))
        return self.arrived[before:]


def unsynced_log(struck: Struck, entries: int) -> RaftLog:
    """A log on the disk of n3 that belongs to no group, with entries that are not synced."""
    log = RaftLog()
    log.entries += [Entry(1, None)] * entries
    struck.cluster.hosts["n3"].disk[disk_name("spare")] = log
    return log


ANY: dict[str, Any] = {"sender": None, "to": None, "kind": None}


def test_resolve_gives_the_node_that_plays_a_role_now() -> None:
    """Nodes by their names, the leader, the primary of a partition."""
    actions = Struck("[cluster]\npartitions = 2\n").actions
    assert tuple(actions.nodes()) == ("n1", "n2", "n3")
    roles = ("n3", "meta storage leader", "primary of t", "primary of t/0", "primary of t/1")
    assert [actions.resolve(role) for role in roles] == ["n3", "n1", "n2", "n2", "n3"]
    assert [actions.resolve(f"leader of t{part}") for part in ("", "/1")] == ["n2", "n3"]
    with pytest.raises(AssertionError, match="no node or role is called 'n9'"):
        actions.resolve("n9")
    for role in ("primary of u", "leader of u/0"):
        with pytest.raises(VacantRoleError):
            actions.resolve(role)


def test_resolve_coordinator_is_the_node_of_the_clients_last_request() -> None:
    """The first node, if it has sent none yet."""
    struck = Struck()
    assert struck.actions.resolve("coordinator of c") == "n1"
    struck.cluster.asked["c"] = "n3"
    assert struck.actions.resolve("coordinator of c") == "n3"


def test_delay_traffic_delays_matching_messages_until_undone() -> None:
    """Only messages that match take longer."""
    struck = Struck()
    struck.actions.delay_traffic(sender=None, to="n2", kind="ping", by_us=ms(20))
    struck.send()
    struck.send("n1", "n3")
    struck.send(payload=Pong())
    assert struck.later(30) == [("n1", "n3", 1_000), ("n1", "n2", 1_000), ("n1", "n2", 21_000)]
    struck.actions.undo()
    struck.send()
    assert struck.later(30) == [("n1", "n2", 31_000)]


def test_hold_traffic_delivers_in_order_when_undone() -> None:
    """Messages that do not match are delivered meanwhile."""
    struck = Struck()
    struck.actions.hold_traffic(sender="n1", to=None, kind=None)
    for to in ("n2", "n3", "n2"):
        struck.send(to=to)
    struck.send("n2", "n3")
    assert struck.later(10) == [("n2", "n3", 1_000)]
    struck.actions.undo()
    assert [(to, at) for _, to, at in struck.later(10)] == [
        ("n2", 10_000),
        ("n3", 10_000),
        ("n2", 10_000),
    ]


def test_block_traffic_loses_messages_for_good() -> None:
    """What is sent meanwhile is lost for ever."""
    struck = Struck()
    struck.actions.block_traffic(sender="n1", to="n2", kind=None)
    struck.send()
    struck.send("n2", "n1")
    assert struck.later(10) == [("n2", "n1", 1_000)]
    struck.actions.undo()
    assert struck.later(10) == []
    struck.send()
    assert struck.later(10) == [("n1", "n2", 21_000)]


@pytest.mark.parametrize(("profile", "copies"), [({"loss": 1.0}, 0), ({"duplication": 1.0}, 2)])
def test_set_link_profile_changes_matching_links_until_undone(
    profile: dict[str, float], copies: int
) -> None:
    """For messages that match; it leaves the latency alone."""
    struck = Struck()
    struck.actions.set_link_profile(sender="n1", to="n2", kind=None, **profile)
    struck.send()
    struck.send("n2", "n1")
    arrived = struck.later(10)
    assert arrived.count(("n1", "n2", 1_000)) == copies
    assert arrived.count(("n2", "n1", 1_000)) == 1
    struck.actions.undo()
    struck.send()
    assert struck.later(10) == [("n1", "n2", 11_000)]


def test_set_link_profile_reordering_lets_messages_overtake() -> None:
    """Out of line, what is quick does not wait behind what is slow; released, it does."""
    for out_of_line in (True, False):
        struck = Struck("[network]\nlatency_ms = { distribution = 'uniform', low = 1, high = 9 }\n")
        struck.actions.set_link_profile(sender="n1", to="n2", kind=None, reordering=1.0)
        if not out_of_line:
            struck.actions.undo()
        order: list[int] = []
        struck.cluster.hosts["n2"].on(
            Numbered, lambda _, told, into=order: into.append(told.number)
        )
        for number in range(20):
            struck.send(payload=Numbered(number))
        struck.later(20)
        assert sorted(order) == list(range(20))
        assert (order != sorted(order)) == out_of_line


def test_cut_off_and_reconnect_concern_one_node_each() -> None:
    """`undo` reconnects the nodes that are still cut off."""
    struck = Struck()
    struck.actions.cut_off("n2")
    struck.actions.cut_off("n3")
    struck.send("n1", "n2")
    struck.send("n3", "n1")
    struck.send("n2", "n3")
    assert struck.later(10) == []
    struck.actions.reconnect("n2")
    struck.send("n1", "n2")
    struck.send("n2", "n3")
    assert struck.later(10) == [("n1", "n2", 11_000)]
    struck.actions.undo()
    struck.send("n2", "n3")
    assert struck.later(10) == [("n2", "n3", 21_000)]


def test_later_calls_nothing_after_undo() -> None:
    """It would outlast the fault."""
    struck, done = Struck(), []
    struck.actions.later(ms(5), lambda: done.append("first"))
    struck.actions.later(ms(15), lambda: done.append("second"))
    struck.later(10)
    struck.actions.undo()
    struck.later(10)
    assert done == ["first"]


@pytest.mark.parametrize(("by_us", "offset_us"), [(3_000, 10_000), (-3_000, -10_000)])
def test_clock_beyond_leaves_csmax_and_undo_restores_the_offset(by_us: int, offset_us: int) -> None:
    """CSmax is 7 ms here; wherever the clock was before, and it gets back there."""
    struck = Struck("[clocks.nodes.n2]\noffset_ms = 2\n")
    clock = struck.cluster.hosts["n2"].clock
    struck.actions.clock_beyond("n2", by_us)
    assert clock.read_us() == offset_us
    struck.actions.undo()
    assert clock.read_us() == 2_000


def test_set_setting_overlaps_and_ends_in_any_order() -> None:
    """Of two values the later one counts as long as it lasts; then the other, then the first."""
    for first_ends_first in (True, False):
        struck = Struck()
        settings = struck.cluster.settings_of("n2")
        one, other = struck.actions, struck.other()
        one.set_setting("n2", "delay_duration_ms", 20)
        other.set_setting("n2", "delay_duration_ms", 30)
        assert settings.delay_duration_ms == 30
        (one if first_ends_first else other).undo()
        assert settings.delay_duration_ms == (30 if first_ends_first else 20)
        (other if first_ends_first else one).undo()
        assert settings.delay_duration_ms == 100
        assert struck.cluster.settings_of("n1").delay_duration_ms == 100


def test_clock_step_is_undone_only_where_it_returns() -> None:
    """Or stay where it is; both are recorded."""
    for returns, after in ((True, 50_000), (False, 56_000)):
        struck = Struck()
        struck.actions.clock_step("n2", 6_000, returns=returns)
        struck.later(50)
        assert struck.cluster.hosts["n2"].clock.read_us() == 56_000
        struck.actions.undo()
        assert struck.cluster.hosts["n2"].clock.read_us() == after
        told = [e for e in struck.cluster.recorder.history.events if type(e) is ClockSet]
        assert [event.offset_us for event in told[3:]] == ([6_000, 0] if returns else [6_000])


def test_clock_drift_undone_restores_the_rate_and_keeps_the_gain() -> None:
    """It keeps what it gained; afterwards it has the rate that it was built with."""
    struck = Struck("[clocks.nodes.n2]\ndrift_ppm = 30\n")
    clock = struck.cluster.hosts["n2"].clock
    struck.actions.clock_drift("n2", 10_000)
    struck.later(100)
    struck.actions.undo()
    assert (clock.read_us(), clock.pieces[-1].drift_ppm) == (101_000, 30)


def test_pause_postpones_deliveries_until_undone() -> None:
    """What is sent to it waits."""
    struck = Struck()
    struck.actions.pause("n2")
    struck.send()
    assert struck.later(10) == []
    struck.actions.undo()
    assert struck.later(10) == [("n1", "n2", 10_000)]


@pytest.mark.parametrize("stage", ["log", "catalog", "listener"])
def test_slow_apply_adds_to_the_delay_of_a_stage(stage: str) -> None:
    """By so much more than it is anyway."""
    struck = Struck(f'[[apply]]\nnode = "n2"\nstage = "{stage}"\ndelay_ms = 5\n')
    delays = struck.cluster.delays("n2")
    struck.actions.slow_apply("n2", stage, Micros(40_000))
    assert getattr(delays, stage) == 45_000
    struck.actions.undo()
    assert getattr(delays, stage) == 5_000


def test_undo_takes_everything_back_once() -> None:
    """A second one changes nothing."""
    struck = Struck()
    struck.actions.block_traffic(**ANY)
    struck.actions.clock_step("n2", 6_000, returns=True)
    struck.actions.pause("n3")
    for _ in range(2):
        struck.actions.undo()
    struck.send(to="n3")
    assert struck.later(10) == [("n1", "n3", 1_000)]
    assert struck.cluster.hosts["n2"].clock.read_us() == 10_000


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_undo_leaves_overlapping_faults_alone(first_ends_first: bool) -> None:
    """In whichever order they end, everything is as before in the end."""
    struck = Struck()
    one, other = struck.actions, struck.other()
    for actions, scale in ((one, 1), (other, 2)):
        actions.slow_apply("n2", "log", Micros(scale * 10_000))
        actions.clock_drift("n2", scale * 100)
        actions.pause("n2")
        actions.block_traffic(sender="n1", to="n2", kind=None)
    delays = struck.cluster.delays("n2")
    clock = struck.cluster.hosts["n2"].clock
    assert (delays.log, clock.pieces[-1].drift_ppm) == (30_000, 200)
    first, second = (one, other) if first_ends_first else (other, one)
    first.undo()
    assert delays.log == (20_000 if first_ends_first else 10_000)
    assert clock.pieces[-1].drift_ppm == 100
    struck.send()
    struck.send("n3", "n2")
    assert struck.later(10) == []
    second.undo()
    assert (delays.log, clock.pieces[-1].drift_ppm) == (0, 0)
    assert struck.later(10) == [("n3", "n2", 10_000)]
    struck.send()
    assert struck.later(10) == [("n1", "n2", 21_000)]


# --- overlapping faults on one node, lease or setting ---------------------------------------------


def test_crash_restarts_the_node_when_the_last_overlapping_crash_ends() -> None:
    struck = Struck()
    faults = [struck.actions, struck.other(), struck.other()]
    for each in faults:
        each.crash("n3", torn=None)
    faults[1].crash("n2", torn=None)
    assert struck.events(NodeCrashed) == [NodeCrashed(0, "n3"), NodeCrashed(0, "n2")]
    for each in faults[:2]:
        each.undo()
    assert struck.events(NodeRestarted) == [NodeRestarted(0, "n2", 2)]
    assert not struck.cluster.hosts["n3"].alive
    faults[2].undo()
    assert struck.events(NodeRestarted)[1:] == [NodeRestarted(0, "n3", 2)]
    assert struck.cluster.hosts["n3"].alive
    struck.later(10)


def crashed(limit_ms: int) -> Struck:
    """At 10 ms n3 has crashed, with this limit of its hybrid clock on its disk."""
    struck = Struck()
    struck.later(10)
    struck.actions.crash("n3", torn=None)
    struck.cluster.hosts["n3"].disk[CLOCK_LIMIT] = timestamp(limit_ms, 7)
    return struck


def restarts_ms(struck: Struck) -> list[float]:
    """When nodes restarted."""
    return [event.at_us / 1000 for event in struck.events(NodeRestarted)]


@pytest.mark.parametrize(("limit_ms", "at_ms"), [(9, 10), (10, 10), (11, 11), (25, 25)])
def test_crash_restarts_the_node_once_its_clock_shows_its_limit(limit_ms: int, at_ms: int) -> None:
    """[98.x.7]"""
    struck = crashed(limit_ms)
    struck.actions.undo()
    assert struck.cluster.hosts["n3"].alive == (at_ms == 10)
    struck.later(40)
    assert restarts_ms(struck) == [at_ms]


@pytest.mark.parametrize(("step_ms", "at_ms"), [(-8, 33), (4, 21), (12, 15)])
def test_crash_restarts_the_node_by_its_clock_however_that_is_set(step_ms: int, at_ms: int) -> None:
    struck = crashed(25)
    struck.actions.undo()
    struck.later(5)
    struck.cluster.step_clock("n3", ms(step_ms))
    struck.later(40)
    assert restarts_ms(struck) == [at_ms]


@pytest.mark.parametrize(("for_ms", "at_ms"), [(2, 25), (30, 45)])
def test_crash_of_a_node_that_waits_to_restart_is_one_crash(for_ms: int, at_ms: int) -> None:
    struck = crashed(25)
    other = struck.other()
    struck.actions.undo()
    struck.later(5)
    other.crash("n3", torn=None)
    struck.later(for_ms)
    other.undo()
    struck.later(40)
    assert restarts_ms(struck) == [at_ms]
    assert struck.events(NodeCrashed) == [NodeCrashed(ms(10), "n3")]


@pytest.mark.parametrize(
    ("torn", "left"),
    [((None,), 3), ((5,), 3), ((2,), 2), ((None, 5, 1), 1), ((1, 5), 1), ((0,), 0)],
)
def test_crash_keeps_the_fewest_unsynced_entries_of_overlapping_crashes(
    torn: tuple[int | None, ...], left: int
) -> None:
    struck = Struck()
    log = unsynced_log(struck, entries=3)
    faults = [struck.other() for _ in torn]
    for each, kept in zip(faults, torn, strict=True):
        each.crash("n3", torn=kept)
    for each in faults:
        each.undo()
    assert log.last_index == left
    struck.later(10)


def test_crash_loses_nothing_because_an_earlier_one_did() -> None:
    struck = Struck()
    struck.actions.crash("n3", torn=0)
    struck.actions.undo()
    log = unsynced_log(struck, entries=3)
    struck.actions.crash("n3", torn=None)
    struck.actions.undo()
    assert log.last_index == 3
    struck.later(10)


def test_slow_disk_adds_up_and_survives_a_restart() -> None:
    struck = Struck()
    one, other, crash = struck.actions, struck.other(), struck.other()
    one.slow_disk("n2", Micros(30))
    other.slow_disk("n2", Micros(20))
    assert struck.cluster.ports["n2"].disk_delay_us == 50
    crash.crash("n2", torn=None)
    one.undo()
    crash.undo()
    assert struck.cluster.ports["n2"].disk_delay_us == 20
    other.undo()
    assert struck.cluster.ports["n2"].disk_delay_us == 0
    struck.later(10)


def test_pause_resumes_the_node_when_the_last_overlapping_pause_ends() -> None:
    struck = Struck()
    one, other = struck.actions, struck.other()
    for each in (one, other):
        each.pause("n2")
    one.undo()
    assert struck.cluster.hosts["n2"].incarnation.paused
    other.undo()
    assert not struck.cluster.hosts["n2"].incarnation.paused


def test_expire_lease_renews_again_when_the_last_overlapping_one_ends() -> None:
    struck = Struck()
    one, other = struck.actions, struck.other()
    driver = struck.cluster.servers["n1"].driver
    one.expire_lease("t")
    other.expire_lease("t/0")
    place = struck.cluster.place_of("t/0")
    assert list(driver.not_renewed) == [place]
    one.undo()
    assert list(driver.not_renewed) == [place]
    other.undo()
    assert list(driver.not_renewed) == []


def test_set_setting_of_three_values_the_latest_that_lasts_counts() -> None:
    struck = Struck()
    settings = struck.cluster.settings_of("n1")
    faults = [struck.actions, struck.other(), struck.other()]
    for each, value in zip(faults, (1, 2, 3), strict=True):
        each.set_setting("n1", "delay_duration_ms", value)
    seen = []
    for number in (1, 2, 0):
        faults[number].undo()
        seen.append(settings.delay_duration_ms)
    assert seen == [3, 1, 100]
    faults[0].set_setting("n1", "delay_duration_ms", 7)
    faults[0].undo()
    assert settings.delay_duration_ms == 100


VOTERS = "[network]\nlatency_ms = 1\n[cluster]\nvoters = 3\n"


def standing(struck: Struck) -> list[str]:
    """The nodes whose members of the meta storage have entered a second term."""
    groups = [(name, struck.cluster.member_of("meta", name)) for name in ("n1", "n2", "n3")]
    return [name for name, group in groups if group is not None and group.term == 2]


@pytest.mark.parametrize(("rival", "name"), [(1, "n2"), (2, "n3"), (3, "n2")])
def test_re_elect_makes_the_leader_and_a_rival_stand_at_one_instant(rival: int, name: str) -> None:
    """Rivals are counted around; one of them is elected in the end."""
    struck = Struck(VOTERS)
    struck.actions.re_elect("meta", rival)
    assert standing(struck) == ["n1", name]
    struck.later(2_000)
    assert len(struck.events(LeaderElected)) >= 1


def test_re_elect_leaves_a_rival_alone_that_is_down() -> None:
    struck = Struck(VOTERS)
    struck.actions.crash("n2", torn=None)
    struck.actions.re_elect("meta", 1)
    assert standing(struck) == ["n1"]
