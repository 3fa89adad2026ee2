"""The kernel against bare SimPy, as a ratio within one process; seconds are printed, not judged."""

import gc
import time
from collections.abc import Callable

import pytest
import simpy

from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Lognormal, quantiles
from tests.bench.engine_price import PublicLoop
from tests.bench.figures import show
from tests.bench.test_transaction_bench import transaction_us

pytestmark = pytest.mark.bench

ROUND_TRIPS = 40_000
ROUNDS = 5


class Ping:
    __slots__ = ()


class Pong:
    __slots__ = ()


def bare_event_us() -> float:
    """One SimPy `Timeout` with a callback that makes the next: the unit of the ratios."""
    env = simpy.Environment()
    left = 100_000

    def again(_: simpy.Event) -> None:
        nonlocal left
        left -= 1
        if left:
            env.timeout(5).callbacks.append(again)

    env.timeout(5).callbacks.append(again)
    began = time.perf_counter()
    env.run()
    return (time.perf_counter() - began) / 100_000 * 1e6


def world(loop: Loop | None = None) -> tuple[Loop, Host, Host]:
    loop = loop or Loop()
    network = Network(loop, seed=1)
    network.configure(LinkProfile(latency=quantiles(Lognormal(1, 8))))
    a, b = (Host(loop, network, name, PhysicalClock(loop)) for name in "ab")
    return loop, a, b


def per_call_us(loop: Loop) -> float:
    began = time.perf_counter()
    loop.run()
    return (time.perf_counter() - began) / ROUND_TRIPS * 1e6


def round_trip_us(on: Loop | None = None) -> float:
    """Request, async handler that does not wait, reply, resume."""
    loop, a, b = world(on)
    ping, pong = Ping(), Pong()

    async def serve(sender: str, payload: Ping) -> Pong:
        return pong

    async def client() -> None:
        for _ in range(ROUND_TRIPS):
            assert await a.request("b", ping, timeout_us=10_000_000) is pong

    b.on(Ping, serve)
    a.spawn(client())
    return per_call_us(loop)


def waiting_round_trip_us() -> float:
    """The same with a handler that sleeps once."""
    loop, a, b = world()
    ping, pong = Ping(), Pong()

    async def serve(sender: str, payload: Ping) -> Pong:
        await b.sleep(50)
        return pong

    async def client() -> None:
        for _ in range(ROUND_TRIPS):
            assert await a.request("b", ping, timeout_us=10_000_000) is pong

    b.on(Ping, serve)
    a.spawn(client())
    return per_call_us(loop)


def one_way_us() -> float:
    """Messages without reply, handled by a plain function."""
    loop, a, b = world()
    ping = Ping()
    left = ROUND_TRIPS

    def serve(sender: str, payload: Ping) -> None:
        nonlocal left
        left -= 1
        if left:
            (a if left % 2 else b).send("b" if left % 2 else "a", ping)

    a.on(Ping, serve)
    b.on(Ping, serve)
    a.send("b", ping)
    return per_call_us(loop)


def timer_us() -> float:
    loop = Loop()
    left = ROUND_TRIPS

    def again() -> None:
        nonlocal left
        left -= 1
        if left:
            loop.call_later(5, again)

    again()
    return per_call_us(loop)


def sleep_us() -> float:
    loop = Loop()

    async def sleeper() -> None:
        for _ in range(ROUND_TRIPS):
            await loop.sleep(5)

    loop.spawn(sleeper())
    return per_call_us(loop)


@pytest.mark.parametrize(
    ("measure", "bound"),
    [
        (round_trip_us, 12),
        (waiting_round_trip_us, 18),
        (one_way_us, 6),
        (timer_us, 3),
        (sleep_us, 4),
    ],
)
def test_costs_in_bare_events(measure: Callable[[], float], bound: float) -> None:
    """The smallest of several ratios, each of two neighbours in time: noise only ever adds."""
    gc.collect()
    pairs = [(measure(), bare_event_us()) for _ in range(ROUNDS)]
    ours, bare = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    show(measure.__name__, ours / bare, most=bound)


def test_price_of_simpys_public_interface() -> None:
    """A round trip on `env.timeout` and `env.step` over one on the private queue."""
    pairs = [(round_trip_us(PublicLoop()), round_trip_us()) for _ in range(2 * ROUNDS)]
    public, private = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    show("a round trip by SimPy's public interface over ours", public / private, least=1)


def test_price_of_simpys_public_interface_in_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a committed transaction."""
    public, private = [], []
    for _ in range(ROUNDS):
        private.append(transaction_us(recording=True))
        with monkeypatch.context() as patched:
            patched.setattr("ddlsim.cluster.cluster.Loop", PublicLoop)
            public.append(transaction_us(recording=True))
    show("a transaction by SimPy's public interface", min(public) / min(private), least=1)
