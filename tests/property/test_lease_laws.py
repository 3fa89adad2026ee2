"""For any clocks within CSmax: at every instant a partition has one primary at most."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ddlsim.protocol.leases import Lease, Leases
from ddlsim.strategies.iep import IEP
from ddlsim.units import timestamp
from tests.support.protocol import FakeNode, Loop, Wire, run_until
from tests.unit.protocol.test_placement_driver import Driven

PLACE = (1, 0)
SKEW_MS = 10
"""CSmax of the fakes."""

CLOCKS = st.tuples(*[st.integers(0, SKEW_MS)] * 3)
"""By how much the clocks of two holders and of the driver are ahead of true time."""


def known_at(lease: Lease, at_ms: int, ahead_ms: int, name: str) -> Leases:
    """What a node knows that has heard of a lease; its loop shows true time."""
    node = FakeNode(name, Wire(Loop()))
    node.ahead_ms = ahead_ms
    leases = Leases(node, restarted=False)
    leases.begin(lease)
    run_until(node.loop, at_ms)
    return leases


@given(st.integers(1, 200), st.integers(0, 250), st.integers(1, 100), CLOCKS)
def test_the_old_primary_has_ended_when_the_next_lease_is_granted(
    until_ms: int, granted_ms: int, lasts_ms: int, clocks: tuple[int, int, int]
) -> None:
    """A lease is granted once the one before is outdated by the driver's clock."""
    one_ahead, other_ahead, driver_ahead = clocks
    now = timestamp(granted_ms + driver_ahead)
    first = Lease(PLACE, "a", timestamp(0, 1), timestamp(until_ms))
    assume(IEP.lease_outdated_ts(first.expiration_ts, SKEW_MS) < now)
    second = Lease(PLACE, "b", now, timestamp(granted_ms + driver_ahead + lasts_ms))
    for at_ms in (granted_ms, granted_ms + 1, granted_ms + lasts_ms):
        one = known_at(first, at_ms, one_ahead, "a")
        other = known_at(second, at_ms, other_ahead, "b")
        assert not (one.held(PLACE) and other.held(PLACE))


@given(st.integers(0, 400), st.integers(0, 3), CLOCKS)
def test_the_primary_that_others_route_to_is_primary_by_its_own_clock(
    at_ms: int, logical: int, clocks: tuple[int, int, int]
) -> None:
    """At that instant, by whichever clock the others look."""
    asker_ahead, holder_ahead, _ = clocks
    lease = Lease(PLACE, "a", timestamp(0, 1), timestamp(200))
    asker = known_at(lease, at_ms, asker_ahead, "c")
    if asker.valid_at(PLACE, timestamp(at_ms + asker_ahead, logical)) is not None:
        assert known_at(lease, at_ms, holder_ahead, "a").held(PLACE)


@settings(max_examples=25, deadline=None)
@given(CLOCKS, st.lists(st.tuples(st.sets(st.sampled_from("abc"), max_size=2), st.integers(1, 12))))
def test_whatever_is_cut_off_two_nodes_are_never_primary_at_once(
    clocks: tuple[int, int, int], cuts: list[tuple[set[str], int]]
) -> None:
    """By their own clocks, and under whichever leader of the meta storage."""
    driven = Driven(("b", "c", "a"))
    parts = driven.group.parts
    for part, ahead_ms in zip(parts.values(), clocks, strict=True):
        part.node.ahead_ms = ahead_ms
    at_ms = 0
    for cut, steps in [*cuts, (set[str](), 40)]:
        driven.cut = cut
        for _ in range(steps):
            at_ms += 23
            driven.until(at_ms)
            holders = [name for name, part in parts.items() if part.meta.leases.held(PLACE)]
            assert len(holders) <= 1, f"{holders} at {at_ms} ms"
    assert any(part.meta.leases.held(PLACE) for part in parts.values())
