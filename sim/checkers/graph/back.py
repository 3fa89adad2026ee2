"""Which edges of a cycle lead back in the order of timestamps, and how far.

A transaction stands at its commit_ts, a read-only one at its read_ts, a DDL at its Tu. In real time
a transaction is reached when it begins, at its begin_ts. One that used a version which a DDL ended
is left for that DDL at the timestamp of whatever comes before it on the cycle: that it committed
later says nothing of its use.
"""

from collections.abc import Sequence

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.edges import Edge, InstalledThenUsed, Node, UsedThenReplaced
from ddlsim.graph.edges import PROCESS, REALTIME
from ddlsim.history.events import ReadExecuted, WriteExecuted
from ddlsim.units import Timestamp, physical_ms


def back_ms(case: Case, nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[int | None, ...]:
    """For each edge of a cycle by how many whole milliseconds it leads back; None: it does not."""
    found: list[int | None] = []
    for at, edge in enumerate(edges):
        left_ts, reached_ts = nodes[edge.source].ts, _reached_ts(case, nodes, edge)
        if isinstance(edge.reason, UsedThenReplaced) and not _in_the_past(nodes[edge.source]):
            left_ts = _before_ts(case, nodes, edges[at - 1])
        back = left_ts > reached_ts or (
            left_ts == reached_ts and isinstance(edge.reason, UsedThenReplaced)
        )
        ms = physical_ms(Timestamp(left_ts)) - physical_ms(Timestamp(reached_ts))
        found.append(ms if back else None)
    return tuple(found)


def _reached_ts(case: Case, nodes: Sequence[Node], edge: Edge) -> int:
    target = nodes[edge.target]
    began = None if target.tx is None else case.began.get(target.tx.name)
    if began is None or not _in_time(nodes, edge):
        return target.ts
    return min(target.ts, began[1].begin_ts)


def _in_the_past(node: Node) -> bool:
    return node.tx is not None and node.tx.read_ts is not None


def _in_time(nodes: Sequence[Node], edge: Edge) -> bool:
    """Whether it leads in real time to a transaction that does not read the past."""
    tx = nodes[edge.target].tx
    return edge.kind in (REALTIME, PROCESS) and tx is not None and tx.read_ts is None


def _before_ts(case: Case, nodes: Sequence[Node], edge: Edge) -> int:
    """Of the edge before: where it left, in real time where it arrived."""
    if _in_time(nodes, edge):
        return _reached_ts(case, nodes, edge)
    left_ts = nodes[edge.source].ts
    if isinstance(edge.reason, InstalledThenUsed):
        event = edge.reason.use.event
        if isinstance(event, ReadExecuted | WriteExecuted):
            return min(left_ts, event.op_ts)
    return left_ts
