"""Checks of several keys together: clusters, settings, clocks, links, groups, expectations.

A check raises `ScenarioError` with file, line and key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ddlsim.kernel.rng import Constant, Uniform
from ddlsim.model import probes
from ddlsim.model.groups import META
from ddlsim.model.reasons import Reason
from ddlsim.model.settings import DEFAULTS, PRESETS, REQUIRED, SETTINGS
from ddlsim.nemesis.roles import place_of
from ddlsim.scenario import config
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, convert, few, near
from ddlsim.scenario.script import EVENT
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.scenario.vocabulary import check_kind

# --- nodes ---------------------------------------------------------------------------------------


def nodes_of(cluster: config.Cluster, origin: Origin) -> tuple[str, ...]:
    """The names of the nodes, n1 and so on where the file only counts them."""
    if isinstance(cluster.nodes, int):
        return tuple(f"n{number}" for number in range(1, cluster.nodes + 1))
    for index, name in enumerate(cluster.nodes):
        if name in cluster.nodes[:index]:
            raise origin.error(("cluster", "nodes", index), f"two nodes are called {name!r}")
    if not cluster.nodes:
        raise origin.error(("cluster", "nodes"), "a cluster has at least one node")
    return tuple(cluster.nodes)


def voters_of(cluster: config.Cluster, nodes: tuple[str, ...], origin: Origin) -> tuple[str, ...]:
    """The first nodes vote, up to three of them where the file does not say; the rest learn."""
    count = min(3, len(nodes)) if cluster.voters is None else cluster.voters
    if count > len(nodes):
        what = f"{count} voters, but only {len(nodes)} nodes; raise cluster.nodes"
        raise origin.error(("cluster", "voters"), what)
    if cluster.replicas > len(nodes):
        what = f"{cluster.replicas} replicas, but only {len(nodes)} nodes; raise cluster.nodes"
        raise origin.error(("cluster", "replicas"), what)
    return nodes[:count]


def leader_of(table: ScenarioTable, voters: tuple[str, ...], origin: Origin) -> str:
    """The meta storage's first leader: [[leader]] at 0, else [cluster], else the first node."""
    starts = [e.node for e in table.leader if e.group == META and e.at_ms == 0]
    stated = table.cluster.leader
    if stated is not None:
        must_vote(stated, voters, origin, ("cluster", "leader"))
        if starts and starts[-1] != stated:
            what = f"{stated} here, but [[leader]] says {starts[-1]}; keep one of them"
            raise origin.error(("cluster", "leader"), what)
    return starts[-1] if starts else stated or voters[0]


def must_vote(node: str, voters: tuple[str, ...], origin: Origin, path: Path) -> None:
    """Check that a node votes: only a voter can lead the meta storage."""
    if node not in voters:
        what = f"{node} cannot lead the meta storage: it does not vote; voters: {', '.join(voters)}"
        raise origin.error(path, what)


def must_exist(node: str | None, nodes: Sequence[str], origin: Origin, path: Path) -> None:
    """Check that a named node exists."""
    if node is not None and node not in nodes:
        raise origin.error(path, f"no node is called {node!r}; nodes: {', '.join(nodes)}")


def must_be_client(client: str, nodes: Sequence[str], origin: Origin, path: Path) -> None:
    """Check that a client does not have the name of a node."""
    if client in nodes:
        raise origin.error(path, f"{client} is a node; a client needs another name")


# --- [protocol], [clocks], [network] -------------------------------------------------------------


def protocol_numbers(table: ScenarioTable, origin: Origin) -> dict[str, int]:
    """The cluster's settings: defaults, over them the preset, over that what the file says.

    On a plane without the protocol what has no default need not be given: it is the least.
    """
    protocol, needed = table.protocol, table.cluster.plane == "ignite"
    preset = protocol.preset
    if preset is not None and preset not in PRESETS:
        what = f"no preset is called {preset!r}; {near(preset, PRESETS)}"
        raise origin.error(("protocol", "preset"), what)
    numbers = {**DEFAULTS, **PRESETS.get(preset or "", {}), **config.given(protocol)}
    for key in REQUIRED:
        if not needed:
            numbers.setdefault(key, SETTINGS[key].least)
        if key not in numbers:
            what = f'{key} is missing; give it, or preset = "ignite3_defaults"'
            raise origin.error(("protocol",), what)
    return numbers


def node_tables(
    tables: dict[str, dict[str, Any]], kind: Any, part: str, nodes: Sequence[str], origin: Origin
) -> dict[str, Any]:
    """`[protocol.nodes.n3]` or `[clocks.nodes.n3]`, each as its record."""
    found = {}
    for node, table in tables.items():
        must_exist(node, nodes, origin, (part, "nodes", node))
        found[node] = convert(table, kind, origin, (part, "nodes", node))
    return found


def check_clocks(clocks: config.Clocks, origin: Origin) -> None:
    """Check that offsets come from a distribution or from a bound on the skew, not from both."""
    if clocks.offset_ms is not None and clocks.max_skew_ms is not None:
        what = "offset_ms and max_skew_ms both say what the offsets are; keep one of them"
        raise origin.error(("clocks", "max_skew_ms"), what)
    check_not_negative(clocks.max_skew_ms, origin, ("clocks", "max_skew_ms"))


def check_network(network: config.Network, nodes: Sequence[str], origin: Origin) -> None:
    """Check that latencies are not negative and links name nodes that exist, and say something."""
    for key in ("latency_ms", "client_latency_ms"):
        check_not_negative(getattr(network, key), origin, ("network", key))
    for index, link in enumerate(network.links):
        path: Path = ("network", "links", index)
        check_not_negative(link.latency_ms, origin, (*path, "latency_ms"))
        must_exist(link.sender, nodes, origin, (*path, "from"))
        must_exist(link.to, nodes, origin, (*path, "to"))
        check_kind(link.kind, origin, (*path, "kind"))
        if link.sender is not None and link.sender == link.to:
            raise origin.error((*path, "to"), f"is {link.to} itself; such messages take no time")
        said = (link.latency_ms, link.loss, link.duplication, link.reordering)
        if said == (None,) * len(said):
            raise origin.error(path, "give latency_ms, loss, duplication or reordering")


def check_not_negative(number: Any, origin: Origin, path: Path) -> None:
    """Check that a duration, where it is drawn, is never negative."""
    match number:
        case Constant(value=least) | Uniform(low=least) if least < 0:
            raise origin.error(path, f"must not be negative, but may be {least:g}")


# --- groups, events, expectations ----------------------------------------------------------------


QUOTED: Final = """ (a name with a space or a slash in quotes: '"a b"/0')"""


def check_group(
    group: str, partitions: Mapping[str, int], origin: Origin, path: Path, *, meta: bool = True
) -> None:
    """Check that a group is `meta` (if allowed) or a partition of a known table: `t/0`, `t`.

    `partitions` are the tables by name, each with its number of partitions.
    """
    if meta and group == META:
        return
    place = place_of(group)
    if place is None:
        what = "not a partition; say which, as in"
        if meta:
            what = 'not a group; say "meta", or a table and its partition:'
        hint = QUOTED if set(' \t"') & set(group) or group.count("/") > 1 else ""
        raise origin.error(path, f'{group!r} is {what} "t/0"{hint}')
    check_place(place, partitions, origin, path)


def check_place(
    place: tuple[str, int], partitions: Mapping[str, int], origin: Origin, path: Path
) -> None:
    """Check that a table is known and has a partition of this number."""
    table, number = place
    if table not in partitions:
        raise origin.error(path, f"no table is called {table!r}; {near(table, partitions)}")
    if number >= partitions[table]:
        what = f"{table} has {partitions[table]} partition(s), numbered from 0"
        raise origin.error(path, f"{what}; see cluster.partitions")


def check_event(event: str | None, ids: Sequence[str], origin: Origin, path: Path) -> None:
    """Check that an event is an outcome of a step that exists: `r1.ok`."""
    if event is None:
        return
    match = EVENT.match(event)
    if match is None:
        step = event.partition(".")[0]
        what = f'{event!r} is not an event; use "{step}.ok", .failed, .done (either) or .invoked'
        raise origin.error(path, what)
    check_step(match.group(1), ids, origin, path)


def check_step(step: str | None, ids: Sequence[str], origin: Origin, path: Path) -> None:
    """Check that a step exists."""
    if step is not None and step not in ids:
        raise origin.error(path, f"no step has the id {step!r}; {near(step, ids)}")


def check_probes(names: Sequence[str], origin: Origin, key: str) -> None:
    """Check that probes exist; those of plug-ins were added as they were loaded."""
    for index, probe in enumerate(names):
        known = [one.name for one in probes.known()]
        if probe not in known:
            what = f"no probe is called {probe!r}; {few(probe, known, 'ddlsim list probes')}"
            raise origin.error((key, index), what)


def check_reason(name: Any, origin: Origin, path: Path) -> None:
    """Check that a reason is one of the closed list."""
    codes = [reason.name for reason in Reason]
    if name not in codes:
        raise origin.error(path, f"no reason is called {name!r}; {near(str(name), codes)}")
