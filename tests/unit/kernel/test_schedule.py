"""Schedules choose delays within the latency of the link: fixed quantiles, and near instants."""

from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.rng import Uniform, quantiles
from ddlsim.kernel.schedule import OFFSETS_US, FixedPriorities, NearInstants
from tests.support.engine import Note, Small

LATENCY = Uniform(1, 9)
TABLE = quantiles(LATENCY)


def delays(small: Small, count: int = 40) -> list[int]:
    """How long each of some messages takes that `a` sends to `b`, one every 20 ms."""
    small.listen(small.b)
    found = []
    for number in range(count):
        small.loop.run(number * 20_000)
        small.a.send("b", Note(number))
        small.loop.run((number + 1) * 20_000 - 1)
        found.append(small.arrived[-1][0] - number * 20_000)
    return found


def test_fixed_priorities_give_each_link_one_quantile_that_differs_by_seed() -> None:
    found = []
    for seed in range(12):
        small = Small(seed=seed, latency=LATENCY)
        FixedPriorities(small.network)
        found.append(delays(small, 5))
    assert all(len(set(one)) == 1 for one in found)
    assert all(TABLE[0] <= one[0] <= TABLE[-1] for one in found)
    assert len({one[0] for one in found}) > 8


def test_fixed_priorities_hold_where_messages_are_traced() -> None:
    """A trace takes the path with care, and must not change a delay."""
    plain, traced = Small(seed=3, latency=LATENCY), Small(seed=3, latency=LATENCY)
    for small in (plain, traced):
        FixedPriorities(small.network)
    traced.network.trace = lambda what, at_us, envelope: None
    assert delays(plain, 5) == delays(traced, 5)


def test_demote_gives_a_sender_the_largest_latency_until_each_demotion_ends() -> None:
    small = Small(seed=3, latency=LATENCY)
    priorities = FixedPriorities(small.network)
    for at_ms, by in ((100, 1), (200, 1), (300, -1), (400, -1)):
        small.loop.call_at(at_ms * 1_000, priorities.demote, "a", by)
    found = delays(small)
    assert set(found[5:20]) == {TABLE[-1]}
    assert TABLE[-1] not in found[:5] + found[20:]


def test_demote_leaves_other_senders_as_they_are() -> None:
    demoted, calm = Small(seed=3, latency=LATENCY), Small(seed=3, latency=LATENCY)
    FixedPriorities(demoted.network).demote("b", 1)
    FixedPriorities(calm.network)
    assert delays(demoted, 5) == delays(calm, 5)


def near(share: float, instants_ms: list[int], offset_us: int = 0) -> list[int]:
    """The arrivals at `b`, whose clock shows true time plus an offset."""
    small = Small(seed=5, latency=LATENCY)
    clock = PhysicalClock(small.loop, offset_us)
    schedule = NearInstants(small.network, {"b": clock}, share)
    for instant_ms in instants_ms:
        schedule.add(instant_ms)
    return [number * 20_000 + delay for number, delay in enumerate(delays(small))]


def test_near_instants_moves_arrivals_next_to_what_the_receivers_clock_shows() -> None:
    instants_ms = [at * 20 + 5 for at in range(40)]
    for offset_us in (0, 1_500):
        arrivals = near(1.0, instants_ms, offset_us)
        distances = {at + offset_us - 20_000 * (at // 20_000) - 5_000 for at in arrivals}
        assert distances == set(OFFSETS_US)


def test_near_instants_stays_within_the_latency() -> None:
    for at, arrival in enumerate(near(1.0, [number * 20 + 10 for number in range(40)])):
        assert at * 20_000 + TABLE[0] <= arrival <= at * 20_000 + TABLE[-1]


def test_near_instants_leaves_all_but_its_share_and_what_no_instant_is_near() -> None:
    plain = delays(Small(seed=5, latency=LATENCY))
    everywhere = [at * 20 + 5 for at in range(40)]
    assert near(0.0, everywhere) == near(1.0, []) == near(1.0, [5_000_000])
    assert near(0.0, everywhere) == [n * 20_000 + delay for n, delay in enumerate(plain)]
    moved = [a != b for a, b in zip(near(0.4, everywhere), near(0.0, everywhere), strict=True)]
    assert 8 <= sum(moved) <= 24
