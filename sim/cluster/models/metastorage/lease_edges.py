"""Leases at the instants at which they end, asked beside each run.

No clock of a run shows the end of a lease to the tick while something asks for it. So beside each
run a lease is asked for one tick before each of its ends, at it, and behind it. It lasts until
before its `expiration_ts`: by the clock of its holder, and for an operation at its op_ts. For a
coordinator it lasts for CSmax less, and for the placement driver it is outdated only once it has
been over for more than CSmax. A holder that has restarted does not hold what began before.
"""

from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.execution import serves
from ddlsim.units import MIN_TIMESTAMP, Timestamp, plus_ms, show, timestamp

TICKS: Final = (-1, 0, 1)
CSMAX_MS: Final = 3
PLACE: Final = (3, 2)
LEASE: Final = Lease(PLACE, "n1", timestamp(10), timestamp(50))
END: Final = LEASE.expiration_ts
BEHIND: Final = timestamp(20)
"""The start of a later lease of the place."""


def compare_leases(divergence: Divergence, strategy: Strategy) -> None:
    """Ask for a lease around each of its ends, and around a restart of its holder."""
    for tick in TICKS:
        _compare_end(divergence, tick)
        _compare_driver(divergence, strategy, tick)
        now = Timestamp(plus_ms(END, -CSMAX_MS) + tick)
        found = _known(MIN_TIMESTAMP, now).valid_at(PLACE, now) is not None
        divergence.compare(f"whether it is sent to {tick} behind CSmax less", found, tick < 0)
        born = _known(Timestamp(LEASE.start_ts + tick), timestamp(30))
        found = born.is_of_this_life(LEASE.start_ts)
        divergence.compare(f"whether it is of a life that began {tick} behind it", found, tick < 0)
        for asked, name in ((born.held(PLACE), "held"), (_holds(born), "holds")):
            divergence.compare(f"{name}, of a life that began {tick} behind it", asked, tick < 0)


def _compare_end(divergence: Divergence, tick: int) -> None:
    """The holder has it until before its end, by the token of that lease alone."""
    now = Timestamp(END + tick)
    leases = _known(MIN_TIMESTAMP, now)
    divergence.compare(f"whether it is held {tick} behind its end", leases.held(PLACE), tick < 0)
    divergence.compare(f"whether one holds it {tick} behind its end", _holds(leases), tick < 0)
    for start_ts in (LEASE.start_ts, BEHIND):
        local: Any = SimpleNamespace(lease=LEASE)
        request: Any = SimpleNamespace(lease_start=start_ts)
        due = tick < 0 and start_ts == LEASE.start_ts
        what = f"whether what came under {show(start_ts)} is served {tick} behind its end"
        divergence.compare(what, serves(local, request, now), due)


def _compare_driver(divergence: Divergence, strategy: Strategy, tick: int) -> None:
    """Another holder is looked for behind CSmax; what has ended is not prolonged."""
    driver: Any
    for is_alive, fenced in product((True, False), repeat=2):
        driver = SimpleNamespace(
            node=SimpleNamespace(
                settings=SimpleNamespace(max_clock_skew_ms=CSMAX_MS, laggard_ms=1)
            ),
            not_renewed={PLACE: LEASE.start_ts} if fenced else {},
            _application=SimpleNamespace(joined={}),
            _strategy=strategy,
            _is_alive=lambda _, is_alive=is_alive: is_alive,
            _metastorage=SimpleNamespace(group=SimpleNamespace(behind_us=lambda _: 0)),
        )
        found = PlacementDriver._deserves(driver, LEASE, Timestamp(END + tick))
        what = f"whether it is prolonged {tick} behind its end, {is_alive=}, {fenced=}"
        divergence.compare(what, found, tick < 0 and is_alive and not fenced)
    settings = SimpleNamespace(max_clock_skew_ms=CSMAX_MS)
    driver = SimpleNamespace(node=SimpleNamespace(settings=settings), _strategy=strategy)
    over_ts = strategy.lease_outdated_ts(END, CSMAX_MS)
    found = PlacementDriver.is_outdated(driver, LEASE, Timestamp(over_ts + tick))
    divergence.compare(f"whether it is outdated {tick} behind CSmax more", found, tick > 0)


def _known(born_ts: Timestamp, now: Timestamp) -> Leases:
    """The leases of a node whose life began then, by its clock of now, with this one."""
    node: Any = SimpleNamespace(
        name="n1",
        settings=SimpleNamespace(max_clock_skew_ms=CSMAX_MS),
        clock=SimpleNamespace(now=lambda: born_ts, current=lambda: now),
        recording=False,
    )
    leases = Leases(node, restarted=born_ts != MIN_TIMESTAMP)
    leases.begin(LEASE)
    return leases


def _holds(leases: Leases) -> bool:
    return leases.holds(PLACE, LEASE.start_ts)
