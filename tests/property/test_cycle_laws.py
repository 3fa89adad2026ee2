"""The search for cycles against a plain one, on random graphs with and without planted cycles.

A graph is drawn from a seed as nodes at their ranks, with spans in real time and clients, and edges
of every kind, some of the strict graph only. The plain search has an edge for each pair that real
time orders, and looks at every simple cycle. A hundred thousand such graphs were compared once;
here is a sample.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ddlsim.checkers.graph.cycles import Cycle, find
from ddlsim.checkers.graph.edges import Edge, Node
from ddlsim.checkers.graph.graph import Graph
from ddlsim.graph import residue, tangle
from ddlsim.graph.certificate import Order
from ddlsim.graph.chains import ANTI, DDL_TIME, LONGER, PREDICATE, STRICT, weight_of
from ddlsim.graph.edges import PROCESS, REALTIME, RW, WR, WW, edges

SEEDS = st.integers(0, 2**40)


def drawn(seed: int) -> Graph:
    """A small graph: mostly upwards, with real time that may run against rank."""
    dice = Random(seed)
    count = dice.randint(1, 7)
    backwards = dice.choice((0.0, 0.1, 0.5))
    skew = dice.choice((0, 0, 4, 30))
    graph: Any = Graph.__new__(Graph)
    graph.nodes = [a_node(dice, number, skew) for number in range(count)]
    graph.clients = [dice.choice(("c1", "c2", None)) for _ in range(count)]
    graph.edges = []
    for _ in range(dice.randint(0, 3 * count)):
        source, target = sorted((dice.randrange(count), dice.randrange(count)))
        if source == target:
            continue
        if dice.random() < backwards:
            source, target = target, source
        kind = dice.choice((WW, WR, RW))
        graph.edges.append(Edge(source, target, kind, None, dice.random() < 0.2))
    if dice.random() < 0.3 and count > 1:
        planted = dice.sample(range(count), dice.randint(2, count))
        for source, target in zip(planted, planted[1:] + planted[:1], strict=True):
            graph.edges.append(Edge(source, target, dice.choice((WW, WR, RW)), None))
    found: Graph = graph
    return found


def a_node(dice: Random, number: int, skew: int) -> Node:
    begins_at = 2 * (10 * number + dice.randint(-skew, skew))
    ends_at = begins_at + 2 * dice.randint(0, 40) + 1  # no event both begins and ends anything
    if dice.random() < 0.2:
        return Node(f"D{number}", "D(any)", number, begins_at, ends_at, None, UPDATE)
    told = dice.random() < 0.9
    return Node(f"T{number}", "T", number, begins_at, ends_at if told else None, TRANSACTION, None)


UPDATE: Any = object()
TRANSACTION: Any = object()
"""All that is asked of either is whether there is one."""


def plain(graph: Graph, *, strict: bool) -> Any:
    """The lightest edge between each two nodes, real time between each pair."""
    whole: Any = nx.DiGraph()

    def add(source: int, target: int, weight: int) -> None:
        known = whole.get_edge_data(source, target)
        if known is None or weight < known["weight"]:
            whole.add_edge(source, target, weight=weight)

    for edge in graph.edges:
        if strict or not edge.strict_only:
            weight = LONGER + (ANTI if edge.kind == RW else 0)
            add(edge.source, edge.target, weight + (STRICT if edge.strict_only else 0))
    for source, target in in_time(graph):
        ddl = DDL_TIME if graph.nodes[source].update is not None else 0
        client = graph.clients[source]
        own = client is not None and client == graph.clients[target]
        add(source, target, weight_of(PROCESS if own else REALTIME) + ddl)
    return whole


def in_time(graph: Graph) -> Iterator[tuple[int, int]]:
    for source, before in enumerate(graph.nodes):
        for target, after in enumerate(graph.nodes):
            ends, begins = before.ends_at, after.begins_at
            if ends is not None and begins is not None and ends < begins:
                yield source, target


def lightest(whole: Any) -> int | None:
    """The weight of the lightest simple cycle."""
    return min(
        (
            sum(whole[a][b]["weight"] for a, b in zip(way, way[1:] + way[:1], strict=True))
            for way in nx.simple_cycles(whole)
        ),
        default=None,
    )


def compare(seed: int) -> bool:
    """Certificate, search and plain search agree on a graph; whether it has a cycle."""
    graph = drawn(seed)
    relaxed, strict = find(graph, strict=False), find(graph, strict=True)
    assert relaxed.unexamined == strict.unexamined == 0
    due = lightest(plain(graph, strict=False))
    assert min((cycle.weight for cycle in relaxed.cycles), default=None) == due
    every = [*relaxed.cycles, *strict.cycles]
    due = lightest(plain(graph, strict=True))
    assert min((cycle.weight for cycle in every), default=None) == due
    assert all(cycle.strict_only for cycle in strict.cycles)
    for cycle in every:
        assert_holds(graph, cycle)
    return due is not None


def assert_holds(graph: Graph, cycle: Cycle) -> None:
    """Its edges are those of the graph, or of real time, and it visits nothing twice."""
    ordered = set(in_time(graph))
    for at, edge in enumerate(cycle.edges):
        assert edge.source == cycle.edges[at - 1].target
        timed = edge.kind in (REALTIME, PROCESS)
        assert ((edge.source, edge.target) in ordered) if timed else (edge in graph.edges)
        if edge.kind == PROCESS:
            assert graph.clients[edge.source] == graph.clients[edge.target]
    assert len({edge.source for edge in cycle.edges}) == len(cycle.edges)


@settings(max_examples=500)
@given(SEEDS)
def test_the_lightest_cycle_is_found_and_no_other_claimed(seed: int) -> None:
    """Of cycles through one edge the lightest: names may prefer another of equal strength."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(tangle, "adjacent", lambda _: False)
        compare(seed)


@given(SEEDS)
def test_scipy_and_networkx_agree(seed: int) -> None:
    """Also where a tangle is large enough for scipy."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(tangle, "adjacent", lambda _: False)
        monkeypatch.setattr(residue, "FEW", 0)
        compare(seed)


@example(27)  # where a way without two in a row visits a node twice
@example(671)
@settings(max_examples=500)
@given(SEEDS)
def test_a_cycle_without_two_in_a_row_is_as_strong_else(seed: int) -> None:
    """Whether its anti-dependencies are apart changes neither whether it counts nor whose time."""
    graph = drawn(seed)
    for strict in (False, True):
        free = find(graph, strict=strict).cycles
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(tangle, "adjacent", lambda _: False)
            bound = find(graph, strict=strict).cycles
        assert bool(free) == bool(bound)
        for cycle in free:
            assert_holds(graph, cycle)
        tops = [{c.weight // PREDICATE for c in found} for found in (free, bound)]
        assert tops[0] == tops[1]


@given(SEEDS)
def test_the_parts_are_those_of_networkx(seed: int) -> None:
    dice = Random(seed)
    count, size = dice.randint(1, 30), dice.randint(0, 60)
    ends = [(dice.randrange(count), dice.randrange(count)) for _ in range(size)]
    ends = [one for one in ends if one[0] != one[1]]
    whole: Any = nx.DiGraph(ends)
    due = sorted(sorted(one) for one in nx.strongly_connected_components(whole) if len(one) > 1)
    source, target = np.array(ends, np.int32).reshape(-1, 2).T
    for few in (0, residue.FEW):  # by scipy, and without
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(residue, "FEW", few)
            parts = residue.tangles(Order(np.arange(count)), [edges(source, target, WW)], None)
        assert sorted(part.tolist() for part in parts) == due


def test_random_graphs_have_cycles_and_have_none() -> None:
    """The sample shows both, and each form of them."""
    graphs = [drawn(seed) for seed in range(400)]
    shown = [find(graph, strict=False).cycles for graph in graphs]
    assert 100 < sum(map(bool, shown)) < 300
    names = {cycle.name for found in shown for cycle in found}
    forms = (
        "G0",
        "G1c",
        "G-single",
        "G-nonadjacent",
        "G2-item",
        "-process",
        "-realtime",
        "schema-",
    )
    assert all(any(form in name for name in names) for form in forms)


def test_a_detour_that_keeps_them_apart_is_taken() -> None:
    """0 -rw-> 1 -rw-> 3 is shorter than past 2, and weaker."""
    steps = [(3, 0, WW), (0, 1, RW), (1, 3, RW), (1, 2, WW), (2, 3, RW)]
    [cycle] = find(of_steps(steps), strict=False).cycles
    assert cycle.name == "G-nonadjacent"
    assert [edge.source for edge in cycle.edges] == [0, 1, 2, 3]
    del steps[3]
    [cycle] = find(of_steps(steps), strict=False).cycles
    assert cycle.name == "G2-item"


def of_steps(steps: list[tuple[int, int, int]]) -> Graph:
    """Four nodes without any time, and these edges."""
    graph: Any = Graph.__new__(Graph)
    graph.nodes = [Node(f"T{number}", "T", number, None, None, None, None) for number in range(4)]
    graph.clients = [None] * 4
    graph.edges = [Edge(source, target, kind, None) for source, target, kind in steps]
    found: Graph = graph
    return found
