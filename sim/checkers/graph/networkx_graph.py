"""The serialization graph as networkx has it, for questions that no checker asks."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.edges import KIND_NAMES, BeforeInRealTime, Edge, Node, Words
from ddlsim.checkers.graph.graph import Graph, graph_of
from ddlsim.graph.edges import PROCESS, REALTIME


def networkx_graph(case: Case) -> Any:
    """A `MultiDiGraph` of the labels of all nodes (`T1`, `D2`).

    Nodes have `kind` (transaction, ddl, statement), `ts` and `sql` (of ddl, else empty); edges
    `kind`, `name`, `because` and `strict_only`. Real time is there in its least form: what follows
    from other real-time edges is left out.
    """
    import networkx as nx

    graph = graph_of(case)
    words = Words(case, graph.nodes)
    found: Any = nx.MultiDiGraph()
    for node in graph.nodes:
        kind, sql = _kind(case, node)
        found.add_node(node.label, kind=kind, ts=node.ts, sql=sql)
    for edge in (*graph.edges, *real_time(graph)):
        ends = (graph.nodes[edge.source].label, graph.nodes[edge.target].label)
        argued = {"name": words.edge(edge), "because": words.because(edge)}
        found.add_edge(*ends, kind=KIND_NAMES[edge.kind], strict_only=edge.strict_only, **argued)
    return found


def _kind(case: Case, node: Node) -> tuple[str, str]:
    if node.update is not None:
        return "ddl", case.statement(node.update.op)
    return ("transaction" if node.statement is None else "statement"), ""


def real_time(graph: Graph) -> Iterator[Edge]:
    """From each node to those that began after its end, and before any of them had ended."""
    placed = enumerate(graph.nodes)
    begun = sorted((n.begins_at, number) for number, n in placed if n.begins_at is not None)
    begins = [at for at, _ in begun]
    soonest: list[float] = [float("inf")]
    for _, number in reversed(begun):
        ends_at = graph.nodes[number].ends_at
        soonest.append(min(soonest[-1], float("inf") if ends_at is None else ends_at))
    soonest.reverse()
    for source, node in enumerate(graph.nodes):
        if node.ends_at is None:
            continue
        low = bisect_right(begins, node.ends_at)
        for begins_at, target in begun[low : bisect_left(begins, soonest[low])]:
            own = (
                graph.clients[source] is not None and graph.clients[source] == graph.clients[target]
            )
            reason = BeforeInRealTime(node.ends_at, begins_at)
            yield Edge(source, target, PROCESS if own else REALTIME, reason)
