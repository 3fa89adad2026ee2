"""The placement driver: prolongation, outdated leases, candidates, races."""

from typing import Any

from ddlsim.kernel.engine import Loop
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.meta_commands import LeaseUpdate
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver
from ddlsim.protocol.replica_messages import LeaseAccepted, LeaseFenced, LeaseGrant
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, timestamp
from tests.support import log_group
from tests.support.protocol import FakeNode, Sent, Wire, run_until

PLACE = (1, 0)
START = timestamp(0, 1)
LASTS_MS, SKEW_MS = 400, 10


class Driven:
    """A meta storage of three whose leader's driver looks after one partition.

    Leases last 400 ms and are looked after every 50; `ready` are the nodes that accept a grant.
    """

    def __init__(self, replicas: tuple[str, ...] = ("a", "b", "c"), until_ms: int = 400) -> None:
        self.group = log_group.Group(
            lease_duration_ms=LASTS_MS, lease_check_ms=50, election_timeout_ms=100
        )
        self.loop: Loop = self.group.loop
        self.wire: Wire = self.group.wire
        self.cut: set[str] = set()
        self.ready = {"a", "b", "c"}
        self.grants: list[tuple[str, LeaseGrant]] = []
        self.wire.fate = self._fate
        self.drivers: dict[str, PlacementDriver] = {}
        for name, part in self.group.parts.items():
            part.node.on(LeaseGrant, self._grant_at(part.node))
            driver = PlacementDriver(part.node, IEP, part.meta, lambda: {PLACE: replicas})
            self.drivers[name] = driver
            part.meta.on_elected = driver.start
            if until_ms:
                part.meta.leases.begin(Lease(PLACE, replicas[0], START, timestamp(until_ms)))
        self.drivers["a"].start(1)

    def _fate(self, sent: Sent) -> tuple[int, ...]:
        if {sent.sender, sent.to} & self.cut:
            return ()
        return (0,) if sent.sender == sent.to else (1000,)

    def _grant_at(self, node: FakeNode) -> Any:
        def granted(sender: str, request: LeaseGrant) -> LeaseAccepted:
            del sender
            self.grants.append((node.name, request))
            return LeaseAccepted(node.clock.now(), node.name in self.ready)

        return granted

    def meta(self, name: str = "a") -> MetaStorage:
        return self.group[name].meta

    def until(self, at_ms: float) -> None:
        run_until(self.loop, at_ms)

    def lease(self, name: str = "a") -> Lease:
        found = self.meta(name).leases.of(PLACE)
        assert found is not None, "no node is primary"
        return found

    def updates(self) -> list[LeaseUpdate]:
        """The lease updates in the leader's log."""
        commands = [stamped.command for stamped in self.group["a"].log]
        return [command for command in commands if isinstance(command, LeaseUpdate)]


def test_lease_of_live_node_is_prolonged() -> None:
    """Its token stays; every node applies it."""
    driven = Driven()
    driven.until(2_000)
    for name in "abc":
        lease = driven.lease(name)
        assert (lease.holder, lease.start_ts) == ("a", START)
        assert lease.expiration_ts > timestamp(2_000 + LASTS_MS // 4)
    assert driven.grants == []


def test_a_lease_under_which_its_group_takes_no_write_is_not_prolonged() -> None:
    """Another one is granted once it has ended."""
    driven = Driven()
    report = LeaseFenced(timestamp(100), PLACE, START)
    driven.loop.call_at(100_000, driven.group["b"].node.send, "a", report)
    driven.until(2_000)
    assert driven.lease().start_ts > timestamp(400 + SKEW_MS)


def test_a_lease_is_left_alone_while_it_has_half_its_time() -> None:
    """Not with every look."""
    driven = Driven()
    driven.until(190)
    assert driven.updates() == []
    driven.until(260)
    assert len(driven.updates()) == 1


def test_the_lease_of_a_node_that_is_gone_ends_and_another_one_gets_it() -> None:
    """After it has expired on every clock, and not before."""
    driven = Driven(("b", "c", "a"))
    driven.cut = {"b"}
    driven.until(800)
    lease = driven.lease()
    assert lease.holder == "c"
    assert lease.start_ts > timestamp(400 + SKEW_MS)
    [(name, grant)] = driven.grants
    assert (name, grant.start_ts) == ("c", lease.start_ts)


def test_no_candidate_before_the_lease_is_outdated() -> None:
    """CSmax beyond its expiration."""
    driven = Driven(("b", "c", "a"), until_ms=349)
    driven.cut = {"b"}
    driver = driven.drivers["a"]
    last = driven.lease()
    assert not driver.is_outdated(last, timestamp(349 + SKEW_MS))
    assert driver.is_outdated(last, Timestamp(timestamp(349 + SKEW_MS) + 1))
    driven.until(355)  # looked at 350: it has expired, and not on every clock
    assert driven.grants == []
    driven.until(410)
    assert [name for name, _ in driven.grants] == ["c"]


def test_candidate_that_is_not_ready_is_passed_over() -> None:
    """The others are asked in turn, and again."""
    driven = Driven(("b", "c", "a"))
    driven.cut, driven.ready = {"b"}, {"a"}
    driven.until(900)
    assert driven.lease().holder == "a"
    assert [name for name, _ in driven.grants][:2] == ["c", "a"]


def test_silent_candidate_is_passed_over() -> None:
    """After half a lease."""
    driven = Driven(("b", "c", "a"))
    driven.until(100)
    lost = driven.wire.fate
    driven.wire.fate = lambda sent: (
        () if type(sent.payload) is LeaseGrant and sent.to == "c" else lost(sent)
    )
    driven.cut = {"b"}
    driven.until(1_500)
    assert driven.lease().holder == "a"


def test_the_last_holder_may_have_it_again_under_another_token() -> None:
    """Where no other node holds a replica; its locks are gone all the same."""
    driven = Driven(("b",))
    driven.cut = {"b"}
    driven.until(700)
    assert driven.lease().expiration_ts < timestamp(700)
    driven.cut = set()
    driven.until(1_200)
    assert driven.lease().holder == "b"
    assert driven.lease().start_ts > START


def test_a_partition_without_a_lease_gets_one() -> None:
    """Its first replica is asked."""
    driven = Driven(until_ms=0)
    driven.until(100)
    assert driven.lease().holder == "a"
    assert driven.lease().expiration_ts == timestamp(50 + LASTS_MS)


def test_a_node_that_was_away_since_its_lease_began_is_not_prolonged() -> None:
    """Its locks are gone: it needs another token."""
    driven = Driven(("b", "c", "a"))
    for name in "abc":
        driven.meta(name).application.joined["b"] = timestamp(20)
    driven.until(800)
    assert driven.lease().holder == "c"


def test_a_lease_that_is_not_to_be_renewed_runs_out() -> None:
    """And its token never comes back."""
    driven = Driven(("b", "c", "a"))
    driven.drivers["a"].not_renewed[PLACE] = START
    driven.until(800)
    assert driven.lease().holder == "c"


def test_only_the_leaders_driver_works() -> None:
    """Another node's begins when it leads, and this one's ends."""
    driven = Driven(("c", "b", "a"))
    driven.cut = {"a"}
    driven.until(1_500)
    leaders = [name for name in "bc" if driven.meta(name).group.is_leader]
    assert len(leaders) == 1
    assert driven.lease("c").expiration_ts > timestamp(1_500)
    assert driven.lease("a").expiration_ts == timestamp(LASTS_MS)


def test_of_two_updates_upon_the_same_leases_one_takes_effect() -> None:
    """Two nodes may both believe that they lead."""
    driven = Driven()
    for holder in "bc":
        lease = Lease(PLACE, holder, timestamp(5), timestamp(900))
        driven.meta().propose_leases(LeaseUpdate(0, (lease,)))
    driven.until(20)
    assert [driven.lease(name).holder for name in "abc"] == ["b"] * 3
    assert driven.group["c"].node.probes["lease-cas-lost"] == 1


def test_prolonged_lease_is_not_granted_to_another_node() -> None:
    """The candidate was ready; the last holder is primary still."""
    driven = Driven(("b", "c", "a"), until_ms=45)
    driven.until(62)  # outdated at the look at 100 at the latest
    prolonged = Lease(PLACE, "b", START, timestamp(5_000))
    slow = driven.wire.fate
    driven.wire.fate = lambda sent: (30_000,) if type(sent.payload) is LeaseAccepted else slow(sent)
    driven.until(105)
    assert driven.grants
    version = driven.meta().application.lease_version
    driven.meta().propose_leases(LeaseUpdate(version, (prolonged,)))
    driven.until(900)
    assert (driven.lease().holder, driven.lease().start_ts) == ("b", START)
