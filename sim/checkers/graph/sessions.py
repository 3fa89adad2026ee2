"""What a client with a causal token had ended before it began a read-only transaction.

A read-only transaction reads the past, so real time puts nothing before it. The token of its own
client does: what that client has seen answered, it must find again.
"""

from collections.abc import Iterator

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.edges import BeforeInRealTime, Edge, Node
from ddlsim.graph.edges import PROCESS


def session_edges(case: Case, nodes: list[Node]) -> Iterator[Edge]:
    """From the last writers, DDLs and readers of a client that had ended to its read-only ones.

    What its client ended before one of these began comes before that one in real time, and needs
    no edge. A client may have had several under way at once, such as a DDL within a transaction.
    """
    readers = [number for number, node in enumerate(nodes) if _follows_its_session(node)]
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
        before = [one for one in ended.get(tx.client, ()) if one[0] < tx.begins_at]
        for ends_at, earlier in sorted(_last(nodes, before)):
            yield Edge(earlier, number, PROCESS, BeforeInRealTime(ends_at, tx.begins_at))


def _last(nodes: list[Node], ended: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Those that had not ended when another began that comes after all that had."""
    for past in (False, True):
        alike = [one for one in ended if _reads_the_past(nodes[one[1]]) is past]
        began = max((follows_from(nodes[number]) for _, number in alike), default=-1)
        yield from (one for one in alike if one[0] > began)


def follows_from(node: Node) -> int:
    """Where a node begins to which all leads that its client had ended by then; -1: nothing does.

    To one that reads the past only its session leads.
    """
    if not _reads_the_past(node):
        return -1 if node.begins_at is None else node.begins_at
    begins_at = None if node.tx is None else node.tx.begins_at
    return -1 if begins_at is None or not _follows_its_session(node) else begins_at


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


def _follows_its_session(node: Node) -> bool:
    """Whether a node is a reader of the past that owes something to its client's session."""
    tx = node.tx
    return tx is not None and tx.read_ts is not None and tx.session and not tx.chosen
