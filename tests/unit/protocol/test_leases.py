"""Leases on one node: holder, end, and by which clock."""

import pytest

from ddlsim.history.world_events import LeaseBegan
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.units import timestamp
from tests.support.protocol import FakeNode, Loop, Wire, run_until

PLACE, OTHER = (1, 0), (1, 1)


def lease(holder: str = "a", start_ms: int = 100, until_ms: int = 200) -> Lease:
    return Lease(PLACE, holder, timestamp(start_ms), timestamp(until_ms))


def known_at(*leases: Lease, ahead_ms: int = 0, restarted_ms: int | None = None) -> Leases:
    """What node a knows whose clock may be ahead; the instant in ms is its loop's."""
    node = FakeNode("a", Wire(Loop()))
    node.ahead_ms = ahead_ms
    if restarted_ms is not None:
        run_until(node.loop, restarted_ms)
    known = Leases(node, restarted=restarted_ms is not None)
    for each in leases:
        known.begin(each)
    return known


def at(known: Leases, at_ms: float) -> Leases:
    run_until(known.node.loop, at_ms)  # type: ignore[attr-defined]  # a fake has a loop
    return known


@pytest.mark.parametrize(("at_ms", "valid"), [(100, True), (189, True), (190, False), (200, False)])
def test_a_lease_counts_while_it_lasts_for_more_than_csmax(at_ms: int, valid: bool) -> None:
    """Its holder's clock may be that much ahead of the asking node's."""
    found = known_at(lease()).valid_at(PLACE, timestamp(at_ms))
    assert (found is not None) is valid


def test_a_place_without_a_lease_has_no_primary() -> None:
    """Whatever others have."""
    known = known_at(lease())
    assert known.of(OTHER) is None
    assert known.valid_at(OTHER, timestamp(100)) is None
    assert not known.holds(OTHER, timestamp(100))
    assert not known.held(OTHER)


@pytest.mark.parametrize(("at_ms", "holds"), [(150, True), (199, True), (200, False), (250, False)])
def test_holder_is_primary_until_its_clock_reaches_expiration(at_ms: int, holds: bool) -> None:
    """At the expiration it is over."""
    known = at(known_at(lease()), at_ms)
    assert known.holds(PLACE, timestamp(100)) is known.held(PLACE) is holds


def test_only_the_token_and_the_name_that_a_lease_was_granted_for_hold() -> None:
    """A token of an earlier lease of the same node does not."""
    mine, others = known_at(lease()), known_at(lease("b"))
    assert not mine.holds(PLACE, timestamp(99))
    assert not others.holds(PLACE, timestamp(100))
    assert not others.held(PLACE)


def test_lease_of_earlier_incarnation_does_not_hold() -> None:
    """Its locks are gone; one that begins after the restart counts."""
    known = at(known_at(lease(start_ms=100), restarted_ms=120), 130)
    assert not known.is_of_this_life(timestamp(100))
    assert not known.holds(PLACE, timestamp(100))
    assert not known.held(PLACE)
    known.begin(lease(start_ms=125))
    assert known.holds(PLACE, timestamp(125))
    assert known.held(PLACE)


def test_the_latest_lease_takes_the_place_of_the_one_before() -> None:
    """Watchers hear of both, in order, and each is recorded once."""
    known = known_at()
    heard: list[tuple[Lease | None, Lease]] = []
    known.watch(lambda before, now: heard.append((before, now)))
    first, second = lease(), lease("b", 300, 400)
    for each in (first, second, second):
        known.begin(each)
    assert heard == [(None, first), (first, second), (second, second)]
    assert known.of(PLACE) == second
    assert known.all() == {PLACE: second}
    recorded = known.node.of(LeaseBegan)  # type: ignore[attr-defined]  # a fake's
    assert [(event.holder, event.start_ts) for event in recorded] == [
        ("a", timestamp(100)),
        ("b", timestamp(300)),
    ]
