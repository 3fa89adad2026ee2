"""What is asked for, measured before anything is run; more than a bound is refused.

Counts have bounds of their own, so that reading a scenario neither hangs nor eats memory. What a
run will need is estimated from them, by figures that were measured and rounded up (README.md): one
that would need more memory than it may take is refused with the estimate.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sim.world import config
from sim.world.positions import Path
from sim.world.problems import Origin, ScenarioError
from sim.world.workloads import WorkloadEntry

MEMORY_MIB: Final = 8_192
"""What a command may need by its estimate, unless its user names another amount."""
NODES_MOST: Final = 1_000
PARTITIONS_MOST: Final = 10_000
CLIENTS_MOST: Final = 100_000
OPERATIONS_MOST: Final = 10_000_000
KEYS_MOST: Final = 10_000_000

EVENTS_AN_OPERATION: Final = 12
EVENTS_A_NODE_AND_SECOND: Final = 7
"""What leases and idle commands record where nothing else happens."""
EVENTS_A_MIB: Final = 300
"""Recorded events that a MiB holds while they are judged."""
STREAMED_A_MIB: Final = 4_000
"""Events that are written to a file for each MiB that the run's cluster takes."""
BYTES_A_KEY: Final = 80
KIB_A_ROW: Final = 8
"""A run's result, until all are told."""
RUNS_MOST: Final = 10_000_000
"""Of a sweep, whose rows are on the disk."""


class Estimate(NamedTuple):
    """What a run will come to: recorded events, MiB while they are judged, and MiB while they are
    written to a file and not judged."""

    events: int
    memory_mib: int
    streamed_mib: int = 0


def check_cluster(cluster: config.Cluster, origin: Origin) -> None:
    """Refuse more nodes or partitions than anything is made for."""
    nodes = cluster.nodes if isinstance(cluster.nodes, int) else len(cluster.nodes)
    _check(nodes, NODES_MOST, "nodes", origin, ("cluster", "nodes"))
    _check(cluster.partitions, PARTITIONS_MOST, "partitions", origin, ("cluster", "partitions"))


def checked(entries: tuple[WorkloadEntry, ...], origin: Origin) -> tuple[WorkloadEntry, ...]:
    """The same; refuse more clients, operations or keys than a plan can hold."""
    clients = operations = 0
    for index, entry in enumerate(entries):
        path: Path = ("workload", index)
        clients += entry.workload.clients
        operations += entry.workload.operations_most()
        _check(clients, CLIENTS_MOST, "clients", origin, (*path, "clients"))
        _check(operations, OPERATIONS_MOST, "operations", origin, path)
        keys = getattr(entry.workload, "keys", 0)
        _check(keys, KEYS_MOST, "keys", origin, (*path, "keys"))
    return entries


def _check(count: int, most: int, what: str, origin: Origin, path: Path) -> None:
    if count > most:
        raise origin.error(path, f"{count:,} {what} are more than {most:,}; take fewer")


def estimate(nodes: int, load_ms: float | None, entries: Sequence[WorkloadEntry]) -> Estimate:
    """What a run of these nodes and workloads will come to."""
    operations = sum(entry.workload.operations_most() for entry in entries)
    seconds = (load_ms or 0) / 1_000
    events = operations * EVENTS_AN_OPERATION + nodes * seconds * EVENTS_A_NODE_AND_SECOND
    keys = sum(getattr(entry.workload, "keys", 0) for entry in entries)
    for_keys = keys * BYTES_A_KEY / 2**20
    judged, streamed = events / EVENTS_A_MIB + for_keys, events / STREAMED_A_MIB + for_keys
    return Estimate(round(events), round(judged), round(streamed))


def check_run(
    name: str, found: Estimate, memory_mib: int | None, *, unjudged: bool = False
) -> None:
    """Refuse a run that by its estimate needs more memory than `MEMORY_MIB`, or than its user
    allows where that is more; one that is `unjudged` holds none of its events."""
    most = max(memory_mib or 0, MEMORY_MIB)
    needed = found.streamed_mib if unjudged else found.memory_mib
    if needed > most:
        what = f"up to {found.events:,} events and {needed:,} MiB"
        raise ScenarioError(
            f"{name}: a run is estimated at {what}, more than {most:,} MiB; "
            "take fewer operations or a shorter load, or say --memory"
        )


def check_seeds(verb: str, runs: int) -> None:
    """Refuse more runs than there is memory for their results."""
    needed = runs * KIB_A_ROW // 1024
    if needed > MEMORY_MIB:
        raise ScenarioError(
            f"{verb}: the results of {runs:,} runs are estimated at {needed:,} MiB, more than "
            f"{MEMORY_MIB:,} MiB; take fewer seeds, or `ddlsim sweep`, which keeps them on the disk"
        )


def check_sweep(name: str, cells: int, seeds: int) -> None:
    """Refuse more runs than a table is made for."""
    if cells * seeds > RUNS_MOST:
        raise ScenarioError(
            f"{name}: {cells:,} cells x {seeds:,} seeds are {cells * seeds:,} runs, more than "
            f"{RUNS_MOST:,}; take fewer seeds, or several sweeps"
        )
