"""Whether all work of a cluster has ended, and what its storage holds then."""

from collections.abc import Callable, Mapping

from ddlsim.history.event import Cells
from ddlsim.history.events import RowFinal
from ddlsim.history.index_events import IndexFinal
from ddlsim.kernel.host import Host
from ddlsim.model.schema import Table
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.schema.rows import decode
from ddlsim.protocol.server import Server
from ddlsim.units import Micros


def alive(servers: Mapping[str, Server], hosts: Mapping[str, Host]) -> dict[str, Server]:
    """The servers of the nodes that have not crashed."""
    return {name: server for name, server in servers.items() if hosts[name].alive}


def has_open_work(servers: Mapping[str, Server], hosts: Mapping[str, Host]) -> bool:
    """Whether some node does not run, or has locks or intents left."""
    running = alive(servers, hosts)
    if len(running) < len(servers):
        return True
    return any(
        server.replica.has_open_work
        or server.alias_ends.has_open_work
        or server.index_states.has_open_work
        or server.backfill.has_open_work
        for server in running.values()
    )


def replicas_agree(servers: Mapping[str, Server]) -> bool:
    """Whether all replicas of each partition hold the same; idle commands may be under way."""
    first: dict[PartitionId, Partition] = {}
    for server in servers.values():
        for place, partition in server.replica.partitions.items():
            other = first.setdefault(place, partition)
            if other.applied_index != partition.applied_index and not _hold_the_same(
                other, partition
            ):
                return False
    return True


def _hold_the_same(one: Partition, other: Partition) -> bool:
    """Whether two replicas differ in nothing but their stamps."""
    return (
        one.rows == other.rows
        and one.intents == other.intents
        and one.ended == other.ended
        and one.outcomes == other.outcomes
        and one.uncleaned == other.uncleaned
        and one.index.entries == other.index.entries
    )


def read_back(
    servers: Mapping[str, Server], record: Callable[[RowFinal | IndexFinal], None], now: Micros
) -> None:
    """Record what every replica holds now, row by row, and entry by entry."""
    for name, server in servers.items():
        for (table_id, number), partition in server.replica.partitions.items():
            for key, versions in partition.rows.items():
                newest = versions[-1]
                table = server.catalog.definition(table_id, newest.version)
                cells: Cells | None = None
                if isinstance(table, Table) and newest.row is not None:
                    cells = decode(table, newest.row)
                record(
                    RowFinal(
                        now,
                        name,
                        table_id,
                        number,
                        key,
                        newest.writer,
                        newest.commit_ts,
                        newest.version,
                        cells,
                    )
                )
            for index_id, values, key in partition.index.held():
                record(IndexFinal(now, name, table_id, index_id, values, key))
