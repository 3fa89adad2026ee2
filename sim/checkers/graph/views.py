"""What a transaction that did not commit had read, as one more node of the serialization graph."""

from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.checkers.case.case import Case, Placed, Transaction
from ddlsim.checkers.graph.edges import Edge, Node
from ddlsim.checkers.graph.graph import Graph
from ddlsim.graph.edges import PROCESS, REALTIME
from ddlsim.history.events import ReadExecuted
from ddlsim.history.world_events import LeaseBegan, NodeCrashed, TxRecovered


class View(NamedTuple):
    """A transaction with only what it did while its locks held."""

    tx: Transaction

    @property
    def reads(self) -> list[Placed[ReadExecuted]]:
        """What it read."""
        return self.tx.reads

    def node(self, case: Case) -> Node:
        """As a node of the graph, at its last read; nothing ends it and nothing follows.

        It is behind what it read, which is committed later than op_ts where that is taken on
        arrival and a lock is waited for then.
        """
        stamps = [read.op_ts for _, read in self.reads]
        for writer in {row.writer: None for _, read in self.reads for row in read.rows}:
            tx = None if writer is None else case.transactions.get(writer)
            if tx is not None and tx.committed is not None:
                stamps.append(tx.committed.commit_ts + 1)
        return Node(self.tx.name, "T", max(stamps), None, None, self.tx, None)


def judged_reads(case: Case, tx: Transaction) -> Iterator[View]:
    """A transaction up to its abort or the loss of a lock; nothing if it had read nothing by then.

    A lock is lost when the node that holds it dies, or the lease under which it was granted is
    followed by another one. A participant that has no answer of the coordinator aborts it, too, and
    the coordinator finds that when it is to commit.
    """
    if not tx.reads:
        return
    until = tx.aborted_at if tx.aborted is not None else len(case.history.events)
    until = min(until, _locks_lost_at(case, tx, until))
    view = Transaction(tx.name)
    view.reads = [placed for placed in tx.reads if placed[0] < until]
    view.writes = [placed for placed in tx.writes if placed[0] < until]
    view.metadata = [placed for placed in tx.metadata if placed[0] < until]
    view.enlisted, view.resolved = tx.enlisted, tx.resolved
    view.forgotten, view.given_up = tx.forgotten, tx.given_up
    if view.reads:
        yield View(view)


def _locks_lost_at(case: Case, tx: Transaction, until: int) -> int:
    deaths, leases = case.of(NodeCrashed), case.of(LeaseBegan)
    recovered = [at for at, event in case.of(TxRecovered) if event.tx == tx.name]
    until = min(recovered, default=until)
    if not deaths and not leases:
        return until
    first: dict[str, int] = {}
    for position, read in tx.reads:
        first.setdefault(read.node, position)
        first.setdefault(f"{read.object_id}/{read.partition}", position)
    lost = [at for at, death in deaths if at > first.get(death.node, until)]
    starts: dict[str, int] = {}
    for at, lease in leases:
        changed = starts.setdefault(lease.group, lease.start_ts) < lease.start_ts
        starts[lease.group] = max(lease.start_ts, starts[lease.group])
        if changed and at > first.get(lease.group, until):
            lost.append(at)
    return min([until, *lost])


def loop(graph: Graph, view: View) -> list[Edge]:
    """A shortest cycle through a view, past no DDL if there is one; none where there is no cycle.

    In rank, writers that it read from are below those that overwrote them, unless something is
    wrong. Only then is a path back searched, between the two ranks and along edges on data.
    """
    number = len(graph.nodes)
    sources: dict[int, Edge] = {}
    targets: dict[int, Edge] = {}
    for edge in graph.of_reader(view.tx):
        if edge.target == number:
            sources[edge.source] = edge
        elif not edge.strict_only:
            targets[edge.target] = edge
    if not sources or not targets or max(sources) < min(targets):
        return []
    rows = (_without_ddl(graph, sources), _without_ddl(graph, targets))
    return _search(graph, *rows, past_ddl=False) or _search(graph, sources, targets, past_ddl=True)


def _without_ddl(graph: Graph, ends: dict[int, Edge]) -> dict[int, Edge]:
    return {number: edge for number, edge in ends.items() if graph.nodes[number].update is None}


def _search(
    graph: Graph, sources: dict[int, Edge], targets: dict[int, Edge], *, past_ddl: bool
) -> list[Edge]:
    if not sources or not targets:
        return []
    low, high = min(targets), max(sources)
    came: dict[int, Edge | None] = dict.fromkeys(sorted(targets))
    reached = list(came)
    for node in reached:
        if node in sources:
            return [*_way(node, came, targets), sources[node]]
        for edge in graph.after.get(node, ()):
            target = edge.target
            if edge.kind in (REALTIME, PROCESS) or not low <= target <= high or target in came:
                continue
            if past_ddl or graph.nodes[target].update is None:
                came[target] = edge
                reached.append(target)
    return []


def _way(node: int, came: dict[int, Edge | None], targets: dict[int, Edge]) -> list[Edge]:
    """From the view to a node, by the edges that reached it."""
    way: list[Edge] = []
    edge = came[node]
    while edge is not None:
        way.append(edge)
        node = edge.source
        edge = came[node]
    return [targets[node], *reversed(way)]
