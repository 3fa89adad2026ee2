"""The machines of a plan: each node's settings and clock, and the profiles of its links."""

from itertools import permutations

from ddlsim.kernel.rng import Spread, Streams, pick, quantiles
from ddlsim.model.settings import complete
from ddlsim.plan.records import (
    BoundaryPlan,
    Demotion,
    LinkPlan,
    NodePlan,
    PctPlan,
    StorePlan,
)
from ddlsim.scenario.config import Boundary, Empirical, Link, store_settings
from ddlsim.scenario.samples import latency
from ddlsim.scenario.scenario import Scenario
from ddlsim.units import US_PER_MS, Micros, ms
from ddlsim.workload.base import Die


def nodes(scenario: Scenario, streams: Streams) -> tuple[NodePlan, ...]:
    """Every node; what the scenario sets for a node by name is exact, the rest is drawn."""
    clocks = scenario.table.clocks
    skew_us = None
    if clocks.max_skew_ms is not None:
        skew_us = drawn_us(clocks.max_skew_ms, streams, "clocks", "skew bound")
    made = []
    for name in scenario.nodes:
        own = scenario.node_clocks.get(name)
        offset_us = _offset_us(scenario, name, skew_us, streams)
        drift_ppm = drawn_us(clocks.drift_ppm, streams, f"node {name}", "drift") // US_PER_MS
        if own is not None and own.offset_ms is not None:
            offset_us = ms(own.offset_ms)
        if own is not None and own.drift_ppm is not None:
            drift_ppm = own.drift_ppm
        votes = name in scenario.voters
        made.append(NodePlan(name, votes, settings(scenario, name), offset_us, drift_ppm))
    return tuple(made)


def store(scenario: Scenario) -> StorePlan | None:
    """The key-value store of the scenario, if its plane has one."""
    if not scenario.processes:
        return None
    table = scenario.table.fdb
    return StorePlan(scenario.processes, table.replicas, store_settings(table))


def settings(scenario: Scenario, node: str) -> dict[str, int]:
    """One node's settings: the cluster's, over them its own, and what follows from both."""
    return complete(scenario.numbers | scenario.node_protocols.get(node, {}))


def _offset_us(scenario: Scenario, node: str, skew_us: int | None, streams: Streams) -> int:
    """A node's offset from true time; under a bound S drawn from [-S/2, S/2]."""
    if skew_us is None:
        offset = scenario.table.clocks.offset_ms
        if isinstance(offset, Empirical):
            measured = quantiles(scenario.samples[offset.file].of(offset, (node,)))
            return pick(measured, _draw(streams, f"node {node}", "offset"))
        return drawn_us(0 if offset is None else offset, streams, f"node {node}", "offset")
    stream = streams.stream(f"node {node}", "offset")
    return int(stream.integers(0, skew_us, endpoint=True)) - skew_us // 2


def drawn_us(number: float | Spread, streams: Streams, component: str, purpose: str) -> int:
    """Milliseconds, given or drawn from a distribution, in whole microseconds."""
    if not isinstance(number, Spread):
        return ms(number)
    return pick(quantiles(number), _draw(streams, component, purpose))


def _draw(streams: Streams, component: str, purpose: str) -> int:
    return int(streams.stream(component, purpose).integers(0, 1 << 63)) << 1


def links(scenario: Scenario) -> tuple[LinkPlan, ...]:
    """Profiles of links: those with clients, then those between nodes, then the exceptions."""
    network = scenario.table.network
    names = (*scenario.nodes, *(name for _, name in scenario.processes))
    client_latency = latency(network.client_latency_ms, scenario.samples, ())
    with_clients = LinkPlan(None, None, None, client_latency, 0.0, 0.0, 0.0)
    everywhere = Link(
        latency_ms=network.latency_ms,
        loss=network.loss,
        duplication=network.duplication,
        reordering=network.reordering,
    )
    between_nodes = [
        _link(entry, sender, to, scenario)
        for entry in (everywhere, *network.links)
        for sender, to in _pairs(entry, names)
    ]
    return (with_clients, *between_nodes)


def _pairs(entry: Link, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Senders and receivers of an entry; one that it does not name means every node."""
    if entry.sender is not None and entry.to is not None:
        return [(entry.sender, entry.to)]
    return [
        (sender, to)
        for sender, to in permutations(names, 2)
        if entry.sender in (None, sender) and entry.to in (None, to)
    ]


def _link(entry: Link, sender: str, to: str, scenario: Scenario) -> LinkPlan:
    own = entry.latency_ms
    return LinkPlan(
        sender=sender,
        to=to,
        kind=entry.kind,
        latency=None if own is None else latency(own, scenario.samples, (sender, to)),
        loss=entry.loss,
        duplication=entry.duplication,
        reordering=entry.reordering,
    )


SHORTEST, LONGEST = 100, 10
"""A demotion lasts from a hundredth to a tenth of the load."""


def schedule(
    scenario: Scenario, streams: Streams, load_us: Micros
) -> PctPlan | BoundaryPlan | None:
    """How delays are chosen: PCT with its demotions drawn within the load, boundaries, or None."""
    asked = scenario.table.network.schedule
    if asked is None or isinstance(asked, Boundary):
        return None if asked is None else BoundaryPlan(asked.share)
    die = Die(streams.stream("network", "demotions"))
    demotions = []
    for _ in range(asked.depth - 1):
        node, from_us = die.pick(scenario.nodes), die.between(0, load_us)
        lasts_us = die.between(load_us // SHORTEST, load_us // LONGEST)
        demotions.append(Demotion(node, Micros(from_us), Micros(from_us + lasts_us)))
    return PctPlan(tuple(demotions))
