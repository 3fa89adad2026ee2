"""Schedules: how the delays of messages are chosen within the latency of their link.

Without a schedule each delay is drawn by itself. `FixedPriorities` is PCT (Burckhardt et al., A
Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, 2010) with time: the messages of
one kind on one link all take one drawn quantile of its latency, and at a few drawn instants a node
is demoted for a while, so that what it sends takes the largest latency. `NearInstants` moves some
arrivals next to instants that matter to the protocol, such as the activation of a schema. No
schedule leaves the bounds of a link's latency.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import Final

from ddlsim.kernel.channel import Channel
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import TABLE_SHIFT, mix, name_id, pick, threshold
from ddlsim.units import US_PER_MS

PRIORITY, AIM, INSTANT, OFFSET = map(name_id, ("priority", "aim", "instant", "offset"))
OFFSETS_US: Final = (-US_PER_MS, -1, 0, 1, US_PER_MS)
"""How far from an instant messages arrive: clocks show milliseconds."""


class FixedPriorities:
    """A quantile for each link and kind of message; a demoted node's messages take the largest."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._demoted: dict[str, int] = {}
        network.schedule = self

    def settle(self, channel: Channel) -> None:
        """Make the channel's delay constant."""
        if not channel.loopback:
            rank = mix(channel.key, PRIORITY) >> TABLE_SHIFT
            demoted = self._demoted.get(channel.sender, 0)
            channel.constant_us = channel.table[-1 if demoted else rank]

    def delay_us(self, channel: Channel, label: int) -> int:
        """Never called for a channel with a latency: its delay is constant."""
        return pick(channel.table, mix(channel.key, label))

    def demote(self, node: str, by: int) -> None:
        """Begin (`by` 1) or end (-1) a demotion of a node; they may overlap."""
        self._demoted[node] = self._demoted.get(node, 0) + by
        self._network.settle_sender(node)


class NearInstants:
    """Moves a share of the arrivals next to instants that clocks will show."""

    def __init__(self, network: Network, clocks: Mapping[str, PhysicalClock], share: float) -> None:
        self._clocks = clocks
        self._limit = threshold(share)
        self._instants_ms: list[int] = []
        network.schedule = self

    def add(self, clock_ms: int) -> None:
        """An instant, as clocks show it, near which messages may arrive from now on."""
        at = bisect_left(self._instants_ms, clock_ms)
        if self._instants_ms[at : at + 1] != [clock_ms]:
            insort(self._instants_ms, clock_ms)

    def settle(self, channel: Channel) -> None:
        """Have the network call `delay_us` for messages to a node, unless latency is constant."""
        if channel.constant_us is None and channel.to in self._clocks:
            channel.plain = False

    def delay_us(self, channel: Channel, label: int) -> int:
        """The drawn delay, or one by which the message arrives next to an instant in reach."""
        drawn_us = pick(channel.table, mix(channel.key, label))
        clock = self._clocks.get(channel.to)
        if clock is None or mix(channel.key ^ AIM, label) >= self._limit:
            return drawn_us
        shown_us, table = clock.read_us(), channel.table
        first = bisect_left(self._instants_ms, (shown_us + table[0]) // US_PER_MS)
        last = bisect_left(self._instants_ms, (shown_us + table[-1]) // US_PER_MS + 2)
        if first == last:
            return drawn_us
        instant_ms = self._instants_ms[first + mix(channel.key ^ INSTANT, label) % (last - first)]
        offset_us = OFFSETS_US[mix(channel.key ^ OFFSET, label) % len(OFFSETS_US)]
        wanted_us = instant_ms * US_PER_MS - shown_us + offset_us
        return min(max(wanted_us, table[0]), table[-1])
