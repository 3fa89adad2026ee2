"""Real time in the graph for networkx: whole, and in its least form, sessions included."""

from random import Random
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

from ddlsim.checkers.graph.edges import Node
from ddlsim.checkers.graph.networkx_graph import least_edges
from ddlsim.checkers.graph.sessions import session_edges


def drawn(dice: Random) -> Any:
    """Transactions of three clients, one after the other or not; half of them read the past."""
    nodes = []
    instants = dice.sample(range(1_000), 40)
    for number in range(20):
        begins, ends = sorted((instants.pop(), instants.pop()))
        past, client = dice.random() < 0.5, f"c{dice.randrange(3)}"
        tx: Any = SimpleNamespace(
            name=f"T{number}", client=client, begins_at=begins, read_ts=1 if past else None,
            session=dice.random() < 0.7, chosen=False,
        )  # fmt: skip
        ended = ends if dice.random() < 0.9 else None
        nodes.append(Node(tx.name, "T", number, None if past else begins, ended, tx, None))
    case: Any = SimpleNamespace(operations={})  # of transactions it asks nothing more
    edges = [*session_edges(case, nodes)]
    clients = [one.tx.client for one in nodes if one.tx is not None]
    return SimpleNamespace(nodes=nodes, edges=edges, clients=clients)


def comes_before(one: Node, other: Node) -> bool:
    """In real time; and a reader of the past behind what its client had ended, with a token."""
    assert one.tx is not None
    assert other.tx is not None
    ended, began = one.ends_at, other.tx.begins_at
    if ended is None or began is None or ended >= began:
        return False
    return other.tx.read_ts is None or (other.tx.session and one.tx.client == other.tx.client)


@pytest.mark.parametrize("seed", range(20))
def test_real_time_and_sessions_are_whole_and_in_their_least_form(seed: int) -> None:
    graph = drawn(Random(seed))
    least = nx.DiGraph([(one.source, one.target) for one in least_edges(graph)])
    pairs = [
        (a, b)
        for a, one in enumerate(graph.nodes)
        for b, other in enumerate(graph.nodes)
        if comes_before(one, other)
    ]
    assert set(nx.transitive_closure(least).edges) == set(
        nx.transitive_closure(nx.DiGraph(pairs)).edges
    )
    assert set(nx.transitive_reduction(least).edges) == set(least.edges)
