"""The serialization graph as networkx has it, for questions that no checker asks."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.edges import KIND_NAMES, BeforeInRealTime, Edge, Node, Words
from ddlsim.checkers.graph.graph import Graph, graph_of
from ddlsim.checkers.graph.sessions import follows_from
from ddlsim.graph.edges import PROCESS, REALTIME


def networkx_graph(case: Case) -> Any:
    """A `MultiDiGraph` of the labels of all nodes (`T1`, `D2`).

    Nodes have `kind` (transaction, ddl, statement), `ts` and `sql` (of ddl, else empty); edges
    `kind`, `name`, `because` and `strict_only`. Real time is there in its least form: what follows
    from other real-time edges, those of sessions too, is left out.
    """
    import networkx as nx

    graph = graph_of(case)
    words = Words(case, graph.nodes)
    found: Any = nx.MultiDiGraph()
    for node in graph.nodes:
        kind, sql = _kind(case, node)
        found.add_node(node.label, kind=kind, ts=node.ts, sql=sql)
    for edge in least_edges(graph):
        ends = (graph.nodes[edge.source].label, graph.nodes[edge.target].label)
        argued = {"name": words.edge(edge), "because": words.because(edge)}
        found.add_edge(*ends, kind=KIND_NAMES[edge.kind], strict_only=edge.strict_only, **argued)
    return found


def _kind(case: Case, node: Node) -> tuple[str, str]:
    if node.update is not None:
        return "ddl", case.statement(node.update.op)
    return ("transaction" if node.statement is None else "statement"), ""


def least_edges(graph: Graph) -> Iterator[Edge]:
    """All edges, those of sessions and real time without what follows from others of these."""
    implied = set(_implied(graph))
    yield from (edge for number, edge in enumerate(graph.edges) if number not in implied)
    yield from real_time(graph)


def _implied(graph: Graph) -> Iterator[int]:
    """The numbers of edges of sessions that follow from others: between the two comes a third."""
    into: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        if edge.kind == PROCESS:
            into[edge.target].append(edge.source)
    for number, edge in enumerate(graph.edges):
        ends_at = graph.nodes[edge.source].ends_at
        if edge.kind == PROCESS and ends_at is not None:
            others = (follows_from(graph.nodes[one]) for one in into[edge.target])
            if max(others) > ends_at:
                yield number


def _soonest_led(graph: Graph) -> dict[int, float]:
    """Where the first reader of the past ends to which the session of a node leads."""
    found: dict[int, float] = defaultdict(lambda: float("inf"))
    for edge in graph.edges:
        ends_at = graph.nodes[edge.target].ends_at
        if edge.kind == PROCESS and ends_at is not None:
            found[edge.source] = min(found[edge.source], ends_at)
    return found


def real_time(graph: Graph) -> Iterator[Edge]:
    """From each node to those that began after its end, and before any of them had ended.

    Those are also the readers of the past to which its session leads.
    """
    placed = enumerate(graph.nodes)
    begun = sorted((n.begins_at, number) for number, n in placed if n.begins_at is not None)
    begins = [at for at, _ in begun]
    soonest: list[float] = [float("inf")]
    for _, number in reversed(begun):
        ends_at = graph.nodes[number].ends_at
        soonest.append(min(soonest[-1], float("inf") if ends_at is None else ends_at))
    soonest.reverse()
    led = _soonest_led(graph)
    for source, node in enumerate(graph.nodes):
        if node.ends_at is None:
            continue
        low = bisect_right(begins, node.ends_at)
        for begins_at, target in begun[low : bisect_left(begins, min(soonest[low], led[source]))]:
            own = (
                graph.clients[source] is not None and graph.clients[source] == graph.clients[target]
            )
            reason = BeforeInRealTime(node.ends_at, begins_at)
            yield Edge(source, target, PROCESS if own else REALTIME, reason)
