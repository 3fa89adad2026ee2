"""What is reached, what is near and what is lightest, against plain searches in random graphs."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest

from ddlsim.graph import cycles, nearby, reach
from ddlsim.graph.certificate import Order
from ddlsim.graph.chains import weight_of
from ddlsim.graph.component import Component, by_part, topological
from ddlsim.graph.cycles import find_cycles
from ddlsim.graph.edges import (
    PREDICATE_EDGE,
    PROCESS,
    RW,
    STRICT_ONLY,
    WR,
    WW,
    Edges,
    Link,
    edges,
    joined,
)
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.models import MODELS
from ddlsim.graph.nearby import Surroundings
from ddlsim.graph.reach import on_ways_back
from ddlsim.graph.tangle import links_of

KINDS = (WW, WR, RW, PROCESS, RW, RW | PREDICATE_EDGE, RW | STRICT_ONLY)
GRAPHS = 100


def forward(seed: int, back: int = 1) -> tuple[int, Edges]:
    """A graph of edges that go forward, most of them short, and of some that go back."""
    dice = np.random.default_rng(seed)
    nodes, count = int(dice.integers(4, 60)), int(dice.integers(10, 200))
    source = dice.integers(0, nodes - 1, count)
    target = np.minimum(source + dice.integers(1, 2 + nodes // 4, count), nodes - 1)
    low = dice.integers(0, nodes // 2, back)
    high = low + dice.integers(1, nodes // 2, back)
    ends = np.append(source, high), np.append(target, low)
    kinds = dice.choice(KINDS[: int(dice.integers(1, len(KINDS) + 1))], count + back)
    kinds = np.where(np.arange(count + back) < count, kinds, dice.choice(KINDS[:3]))
    order = dice.permutation(count + back) if dice.random() < 0.7 else np.lexsort(ends[::-1])
    columns = [column[order].astype(np.int32) for column in ends]
    numbers = np.arange(count + back)
    return nodes, edges(columns[0], columns[1], kinds[order].astype(np.uint16), numbers)


State = tuple[int, bool]
"""A node, and whether it was reached by an anti-dependency."""


def steps(link: Link, *, apart: bool) -> list[tuple[State, State]]:
    """The steps along an edge; `apart`: an anti-dependency does not follow another one."""
    anti = apart and bool(link.kind & RW)
    return [
        ((link.source, came), (link.target, anti)) for came in ((False,) if anti else (False, True))
    ]


@cache
def on_ways_there_and_back(seed: int, *, apart: bool) -> tuple[int, ...]:
    """The nodes on ways ahead from the end of an edge back to its beginning, by networkx."""
    links = list(links_of(random_graph(seed)[1]))
    ahead: nx.DiGraph[State] = nx.DiGraph()
    for link in links:
        ahead.add_nodes_from((node, came) for node in link[:2] for came in (False, True))
        if link.source < link.target:
            ahead.add_edges_from(steps(link, apart=apart))
    found, leads = set[State](), set[State]()
    for link in links:
        if link.source > link.target:
            for begin, end in steps(link, apart=apart):
                found |= {end} | nx.descendants(ahead, end)
                leads |= {begin} | nx.ancestors(ahead, begin)
    return tuple(sorted({node for node, _ in found & leads}))


def random_graph(seed: int) -> tuple[int, Edges]:
    """A graph with up to three edges that go back."""
    return forward(seed, 1 + seed % 3)


@pytest.fixture(params=[(0, 16), (0, 1), (10**6, 16)])
def _follow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In sweeps, in one sweep and then one by one, and one by one."""
    few, sweeps = request.param
    monkeypatch.setattr(reach, "FEW", few)
    monkeypatch.setattr(reach, "SWEEPS", sweeps)


@pytest.mark.usefixtures("_follow")
@pytest.mark.parametrize("apart", [False, True])
def test_what_lies_on_ways_back_is_what_networkx_reaches(apart: bool) -> None:
    seen = 0
    for seed in range(GRAPHS):
        nodes, block = random_graph(seed)
        kept, _ = on_ways_back(np.arange(nodes), [block], apart=apart)
        due = on_ways_there_and_back(seed, apart=apart)
        assert tuple(kept.tolist()) == due, seed
        seen += bool(due)
    assert seen > GRAPHS // 4


@pytest.fixture(params=[0, 6, 10**6])
def _look_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are looked up in a mask, few are compared, all are compared."""
    monkeypatch.setattr(nearby, "ONE_BY_ONE", request.param)


@pytest.mark.usefixtures("_look_up")
def test_what_is_near_is_what_so_many_steps_reach() -> None:
    for seed in range(GRAPHS):
        nodes, block = forward(seed)
        halves = [block.take(np.arange(at, len(block), 2)) for at in (0, 1)]
        around = Surroundings(nodes, halves)
        after, before = np.asarray([seed % nodes]), np.asarray([seed * 7 % nodes])
        due = {int(after[0])}, {int(before[0])}
        known = 0
        while known < len(due[0] | due[1]) < 12:
            known = len(due[0] | due[1])
            links = list(links_of(block))
            steps = [{one.target for one in links if one.source in due[0]},
                     {one.source for one in links if one.target in due[1]}]  # fmt: skip
            due = due[0] | steps[0], due[1] | steps[1]
        found = around.near(after, before, 12)
        assert found.tolist() == sorted(due[0] | due[1]), seed
        (whole,) = by_part(nodes, halves, [found])
        assert sorted(links_of(around.among(found))) == sorted(links_of(whole)), seed


@pytest.mark.usefixtures("_look_up")
@pytest.mark.parametrize("numbered", [True, False])
def test_between_two_places_is_what_lies_there_however_blocks_are_sorted(numbered: bool) -> None:
    """Blocks with missing ends, sorted by either end or none; the order is that of the numbers."""
    for seed in range(GRAPHS):
        nodes, block = forward(seed)
        missing = edges(np.asarray([0, nodes, nodes]), np.asarray([NONE, nodes - 1, NONE]), WR)
        block = joined([block, missing])
        thirds = [block.take(np.arange(at, len(block), 3)) for at in range(3)]
        blocks = [
            thirds[0].take(np.argsort(thirds[0].source)),
            thirds[1].take(np.argsort(thirds[1].target)),
            thirds[2],
        ]
        rank = np.arange(nodes) if numbered else np.random.default_rng(seed).permutation(nodes)
        low, high = nodes // 5, nodes // 5 + nodes // (2 + seed % 3)
        inside = {node for node in range(nodes) if low <= rank[node] <= high}
        after, before = np.asarray([min(inside)]), np.asarray([max(inside)])
        found = Surroundings(nodes, blocks).between(Order(rank), low, high)
        graph = nx.DiGraph()
        graph.add_nodes_from(inside)
        graph.add_edges_from(
            link[:2] for link in links_of(block) if {link.source, link.target} <= inside
        )
        due = {min(inside), max(inside)} | nx.descendants(graph, min(inside))
        due |= nx.ancestors(graph, max(inside))
        assert set(found.near(after, before, nodes).tolist()) == due, seed


@pytest.mark.usefixtures("_look_up")
@pytest.mark.parametrize("apart", [False, True])
def test_no_way_back_is_said_only_where_there_is_none(apart: bool) -> None:
    said = [0, 0]
    for seed in range(GRAPHS):
        nodes, block = forward(seed)
        [only] = [link for link in links_of(block) if link.source > link.target]
        kept, _ = on_ways_back(np.arange(nodes), [block], apart=apart)
        around = Surroundings(nodes, [block])
        for crowd in (0, 10**6):
            none = around.no_way_back(only, Order(np.arange(nodes)), crowd, apart=apart)
            assert not none or not len(kept), seed
            said[none] += 1
            assert crowd == 0 or none is not bool(len(kept)), seed
    assert min(said) > GRAPHS // 10


def searches(budget: int) -> Iterator[Any]:
    for seed in range(GRAPHS):
        nodes, block = forward(seed)
        for model in MODELS:
            yield seed, model, find_cycles(nodes, block, model=model, budget=budget)


@pytest.mark.parametrize("budget", [cycles.BUDGET, 300])
def test_weights_leave_out_no_edge_whose_cycle_is_reported(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through one edge back: as if all edges on cycles were searched, whatever the budget."""
    few = list(searches(budget))
    monkeypatch.setattr(Component, "only_back", lambda _: None)
    types = set()
    for (seed, model, found), (_, _, due) in zip(few, searches(budget), strict=True):
        assert replace(found, components=()) == replace(due, components=()), (seed, model)
        types |= {cycle.type for cycle in found.cycles}
    assert {"G0", "G1c", "G-single", "G-nonadjacent", "G2-item", "G2-predicate"} <= types


def test_a_topological_order_is_found_unless_edges_close_a_cycle() -> None:
    for seed in range(GRAPHS):
        nodes, block = forward(seed, back=seed % 3)
        whole = nx.DiGraph([*zip(block.source.tolist(), block.target.tolist(), strict=True)])
        columns = block.source.tolist(), block.target.tolist()
        place = topological(*columns, np.random.default_rng(seed).permutation(nodes).tolist())
        assert (place is not None) is nx.is_directed_acyclic_graph(whole), seed
        if place is not None:
            assert sorted(place) == list(range(nodes))
            assert all(place[one] < place[other] for one, other in zip(*columns, strict=True))
    assert topological([2, 1], [0, 0], [5, 6, 4]) == [2, 1, 0]
    assert topological([], [], [5, 6, 4]) == [1, 2, 0]


@pytest.mark.parametrize("back", [1, 2])
def test_other_places_change_no_weight_of_a_cycle(
    back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An order in which many edges go back, as clients' do under skewed clocks."""
    unwound, alone = Component.unwound, list[bool]()

    def noted(part: Component) -> Component:
        found = unwound(part)
        alone.append(found is not part and found.only_back() is not None)
        return found

    monkeypatch.setattr(Component, "unwound", noted)
    for seed in range(GRAPHS):
        nodes, block = forward(seed, back)
        rank = np.arange(nodes) + np.random.default_rng(seed).normal(0, 3, nodes)
        found = [weights(nodes, block, rank, model) for model in ONE_OF_EACH]
        with monkeypatch.context() as other:
            other.setattr(Component, "unwound", lambda part: part)
            assert found == [weights(nodes, block, rank, model) for model in ONE_OF_EACH], seed
    assert sum(alone) > GRAPHS // 4


ONE_OF_EACH = ("strong-session-serializable", "serializable", "snapshot-isolation")


def weights(nodes: int, block: Edges, rank: Array, model: str) -> dict[str, int]:
    """What the reported cycle of each type weighs."""
    found = find_cycles(nodes, block, rank=rank, model=model)
    return {one.type: sum(weight_of(link.kind) for link in one.links) for one in found.cycles}
