"""Estimates the size of runs before anything is run, and refuses what exceeds a bound.

Counts have bounds of their own, so that reading a scenario neither hangs nor eats memory. What a
run will need is estimated from them, by figures that were measured and rounded up
(docs/how-to/large-runs.md): one that would need more memory than it may take is refused with the
estimate.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ddlsim.scenario import config
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, ScenarioError
from ddlsim.scenario.workloads import WorkloadEntry

MEMORY_MIB: Final = 8_192
"""MiB that a run may need by its estimate, unless `--memory` allows more."""
NODES_MOST: Final = 1_000
PARTITIONS_MOST: Final = 10_000
CLIENTS_MOST: Final = 100_000
OPERATIONS_MOST: Final = 10_000_000
KEYS_MOST: Final = 10_000_000

EVENTS_AN_OPERATION: Final = 12
EVENTS_A_NODE_AND_SECOND: Final = 7
"""Events of leases and idle commands in an idle cluster."""
EVENTS_A_GROUP: Final = 3
EVENTS_A_GROUP_AND_SECOND: Final = 1
"""Leases of a partition's group: at its beginning, and while it runs."""
EVENTS_A_PARTITION_SCANNED: Final = 4
"""Events of a scan for each partition of its table."""
EVENTS_A_MIB: Final = 300
"""Recorded events that a MiB holds while they are judged."""
STREAMED_A_MIB: Final = 4_000
"""Events that are written to a file for each MiB that the run's cluster takes."""
BYTES_A_KEY: Final = 80
BYTES_A_MEMBER: Final = 8_192
"""A replica of a partition, with its log."""
KIB_A_ROW: Final = 8
"""Memory of a run's result, until all are printed."""
RUNS_MOST: Final = 10_000_000
"""Runs of a sweep, which writes its rows to the disk."""


class Estimate(NamedTuple):
    """The size of a run: recorded events, MiB to judge them, and MiB to write them to a file
    without judging."""

    events: int
    memory_mib: int
    streamed_mib: int = 0


def check_cluster(cluster: config.Cluster, origin: Origin) -> None:
    """Raise `ScenarioError` for more nodes or partitions than the bounds."""
    nodes = cluster.nodes if isinstance(cluster.nodes, int) else len(cluster.nodes)
    _check(nodes, NODES_MOST, "nodes", origin, ("cluster", "nodes"))
    _check(cluster.partitions, PARTITIONS_MOST, "partitions", origin, ("cluster", "partitions"))


def checked(entries: tuple[WorkloadEntry, ...], origin: Origin) -> tuple[WorkloadEntry, ...]:
    """The workloads; raises `ScenarioError` for too many clients, operations or keys."""
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


class Size(NamedTuple):
    """A cluster and how long it runs: seconds of load, the interval of idle commands, and of each
    table how many partitions it has and how many replicas each of these."""

    nodes: int
    seconds: float
    idle_s: float
    tables: Sequence[tuple[int, int]]


def estimate(size: Size, entries: Sequence[WorkloadEntry]) -> Estimate:
    """The estimated size of a run of these nodes, tables and workloads."""
    operations = sum(entry.workload.operations_most() for entry in entries)
    events = float(operations * EVENTS_AN_OPERATION)
    events += size.nodes * size.seconds * EVENTS_A_NODE_AND_SECOND
    events += sum(_events_of_table(size, *one) for one in size.tables)
    widest = max((partitions for partitions, _ in size.tables), default=1)
    whole = sum(entry.workload.operations_most() * entry.workload.scans() for entry in entries)
    events += whole * EVENTS_A_PARTITION_SCANNED * (widest - 1)
    keys = sum(getattr(entry.workload, "keys", 0) for entry in entries)
    members = sum(partitions * replicas for partitions, replicas in size.tables)
    held = (keys * BYTES_A_KEY + members * BYTES_A_MEMBER) / 2**20
    judged, streamed = events / EVENTS_A_MIB + held, events / STREAMED_A_MIB + held
    return Estimate(round(events), round(judged), round(streamed))


def _events_of_table(size: Size, partitions: int, replicas: int) -> float:
    """What the groups of a table's partitions record whatever is done with it: leases, and, where
    a group has several members, an idle command for each interval and a safe time at each member.

    One partition of one replica is a part of what a node records.
    """
    leases = (partitions - 1) * (EVENTS_A_GROUP + EVENTS_A_GROUP_AND_SECOND * size.seconds)
    if replicas == 1:
        return leases
    return leases + partitions * (replicas + 1) * size.seconds / size.idle_s


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
    """Raise `ScenarioError` for more runs than there is memory for their results."""
    needed = runs * KIB_A_ROW // 1024
    if needed > MEMORY_MIB:
        raise ScenarioError(
            f"{verb}: the results of {runs:,} runs are estimated at {needed:,} MiB, more than "
            f"{MEMORY_MIB:,} MiB; take fewer seeds, or `ddlsim sweep`, which keeps them on the disk"
        )


def check_sweep(name: str, cells: int, seeds: int) -> None:
    """Raise `ScenarioError` for more runs than the bound."""
    if cells * seeds > RUNS_MOST:
        raise ScenarioError(
            f"{name}: {cells:,} cells x {seeds:,} seeds are {cells * seeds:,} runs, more than "
            f"{RUNS_MOST:,}; take fewer seeds, or several sweeps"
        )
