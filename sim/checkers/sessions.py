"""What a client with a causal token had ended before it began a read-only transaction.

A read-only transaction reads the past, so real time puts nothing before it. The token of its own
client does: what that client has seen answered, it must find again.
"""

from collections.abc import Iterator

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.edges import BeforeInRealTime, Edge, Node
from ddlsim.graph.edges import PROCESS


def session_edges(case: Case, nodes: list[Node]) -> Iterator[Edge]:
    """From the last writer, DDL or reader of a client that had ended to its read-only ones.

    What its client ended still earlier comes before that one in real time, and needs no edge.
    """
    readers = [
        number
        for number, node in enumerate(nodes)
        if _reads_the_past(node) and node.tx is not None and node.tx.session and not node.tx.chosen
    ]
    if not readers:
        return
    ended: dict[str, list[tuple[int, int]]] = {}
    for number, node in enumerate(nodes):
        client = client_of(case, node)
        if node.ends_at is not None and client is not None:
            ended.setdefault(client, []).append((node.ends_at, number))
    for number in readers:
        tx = nodes[number].tx
        assert tx is not None, number
        if tx.begins_at is None or tx.client is None:
            continue
        latest: dict[bool, tuple[int, int]] = {}
        for ends_at, earlier in sorted(ended.get(tx.client, ())):
            if ends_at < tx.begins_at:
                latest[_reads_the_past(nodes[earlier])] = (ends_at, earlier)
        for ends_at, earlier in latest.values():
            yield Edge(earlier, number, PROCESS, BeforeInRealTime(ends_at, tx.begins_at))


def client_of(case: Case, node: Node) -> str | None:
    """Whose transaction or statement a node is."""
    if node.tx is not None:
        return node.tx.client
    op = None if node.update is None else node.update.op
    if node.statement is not None:
        op = node.statement.decided.op
    operation = None if op is None else case.operations.get(op)
    invoked = None if operation is None else operation.invoked
    return None if invoked is None else invoked.client


def _reads_the_past(node: Node) -> bool:
    return node.tx is not None and node.tx.read_ts is not None
