"""Graphs that are brought as arrays: their cycles, and what is said when the budget ends."""

from typing import Any

import numpy as np
import pytest

from ddlsim.graph import residue
from ddlsim.graph.classify import other_names
from ddlsim.graph.cycles import Search, find_cycles
from ddlsim.graph.edges import PROCESS, RW, WR, WW, Edges, Link, edges
from ddlsim.graph.history import WRITE, ColumnHistory, make
from ddlsim.graph.judge import judge
from ddlsim.graph.residue import labels_of, pack
from ddlsim.graph.words import Words


def graph(*links: tuple[int, int, int]) -> Edges:
    source, target, kind = (np.asarray(column) for column in zip(*links, strict=True))
    return edges(source.astype(np.int32), target.astype(np.int32), kind.astype(np.uint16))


def ring(size: int) -> Edges:
    nodes = np.arange(size, dtype=np.int32)
    return edges(nodes, np.roll(nodes, -1), WW)


def found(n: int, block: Edges | list[Edges], **more: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(cycle.type, cycle.txns) for cycle in find_cycles(n, block, **more).cycles]


def test_a_cycle_begins_with_its_smallest_node_whatever_the_order() -> None:
    block = graph((2, 1, WW), (1, 3, WR), (3, 2, WW))
    assert found(4, block) == [("G1c", (1, 3, 2))]
    assert found(4, block, rank=np.asarray([3, 2, 0, 1])) == [("G1c", (1, 3, 2))]
    assert found(4, [block, graph((0, 1, RW))]) == [("G1c", (1, 3, 2))]


def test_the_shortest_cycle_of_each_type_is_told() -> None:
    block = graph((0, 1, WW), (1, 2, WW), (2, 0, WW), (2, 1, WW), (0, 3, RW), (3, 0, WR))
    assert found(4, block) == [("G-single", (0, 3)), ("G0", (1, 2))]


def test_real_time_closes_a_cycle_only_between_those_that_it_concerns() -> None:
    begin, end = np.asarray([0, 5]), np.asarray([4, 9])
    block = graph((1, 0, WW))
    assert found(2, block, begin=begin, end=end) == [("G0-realtime", (0, 1))]
    assert found(2, block, begin=begin, end=end, model="serializable") == []
    assert found(2, block, begin=begin, end=np.asarray([5, 9])) == []
    assert found(2, block, begin=begin, end=np.asarray([-1, 9])) == []
    assert found(2, block, begin=np.asarray([0, -1]), end=end) == []


def test_processes_count_from_their_models_on() -> None:
    block = graph((0, 1, PROCESS), (1, 0, RW))
    assert found(2, block) == [("G-single-process", (0, 1))]
    assert found(2, block, model="strong-session-snapshot-isolation") == [
        ("G-single-process", (0, 1))
    ]
    assert found(2, block, model="serializable") == []


def test_a_ddl_gives_its_name_to_the_cycle() -> None:
    block = graph((0, 1, RW), (1, 2, WR), (2, 0, WR))
    assert found(3, block, ddl=np.asarray([0, 1, 0], np.bool_)) == [("schema-G-single", (0, 1, 2))]


def test_snapshot_isolation_allows_what_has_two_anti_dependencies_in_a_row() -> None:
    skew = graph((0, 1, RW), (1, 0, RW))
    assert found(2, skew, model="serializable") == [("G2-item", (0, 1))]
    assert found(2, skew, model="snapshot-isolation") == []
    apart = graph((0, 1, RW), (1, 2, WR), (2, 3, RW), (3, 0, WW))
    assert found(4, apart, model="snapshot-isolation") == [("G-nonadjacent", (0, 1, 2, 3))]
    assert found(4, apart, model="read-committed") == []


@pytest.mark.parametrize("shorter", [[(1, 0, RW)], [(1, 4, RW), (4, 0, WW)]])
def test_a_shorter_cycle_that_is_allowed_does_not_hide_one_that_is_not(
    shorter: list[tuple[int, int, int]],
) -> None:
    block = graph((0, 1, RW), (1, 2, WR), (2, 3, RW), (3, 0, WW), (3, 1, WW), *shorter)
    assert found(5, block, model="snapshot-isolation") == [
        ("G-nonadjacent", (0, 1, 2, 3)),
        ("G-single", (1, 2, 3)),
    ]


def test_a_way_that_meets_itself_is_no_cycle() -> None:
    """The detour over 2 would part the two anti-dependencies, at the price of passing 1 twice."""
    block = graph((0, 1, RW), (1, 2, WR), (2, 1, WW), (1, 3, RW), (3, 0, WW))
    assert found(4, block) == [("G1c", (1, 2)), ("G2-item", (0, 1, 3))]


def search(size: int, budget: int) -> Search:
    return find_cycles(size, ring(size), budget=budget)


def test_a_search_cut_short_says_so_and_still_shows_a_cycle() -> None:
    whole, cut = search(300, 10**6), search(300, 50)
    assert [cycle.txns for cycle in whole.cycles] == [tuple(range(300))]
    assert whole.notes == ()
    assert [cycle.txns for cycle in cut.cycles] == [tuple(range(300))]
    assert len(cut.notes) == 1
    assert "a component of 300 transactions was searched in part" in cut.notes[0]


@pytest.mark.parametrize(
    ("model", "type_"),
    [("strict-serializable", "G2-item-realtime"), ("snapshot-isolation", "G-nonadjacent")],
)
def test_a_cycle_that_cannot_be_shown_is_told_all_the_same(model: str, type_: str) -> None:
    lost = find_cycles(300, ring(300), budget=1, model=model)
    assert [(cycle.type, cycle.links) for cycle in lost.cycles] == [(type_, ())]
    assert [part.tolist() for part in lost.components] == [list(range(300))]
    said = Words(_ring_history(300)).cycle(lost.cycles[0])
    assert "none short enough to be shown was found" in said.explanation


def _ring_history(size: int) -> ColumnHistory:
    """Each transaction writes before the next one; the last one before the first."""
    tx = np.repeat(np.arange(size), 2)
    key = (np.arange(2 * size) + 1) // 2 % size
    return make(
        transactions={"begin": np.zeros(size), "end": np.full(size, 9)},
        operations={"tx": tx, "key": key, "kind": [WRITE] * 2 * size, "version": [2, 1] * size},
    )


def test_components_beyond_the_budget_are_counted() -> None:
    pairs = graph(*((a, a ^ 1, WW) for a in range(2000)))
    some = find_cycles(2000, pairs, budget=10)
    assert 0 < len(some.cycles) < 1000
    assert len(some.components) == 1000
    assert some.notes[-1] == (
        f"{1000 - len(some.cycles)} more components with cycles were not searched; the largest "
        "has 2 transactions"
    )


def test_a_ring_of_writes_is_found_by_the_judge() -> None:
    verdict = judge(_ring_history(50))
    assert [(one.type, len(one.txns)) for one in verdict.anomalies] == [("G0", 50)]


def test_edges_that_stand_twice_do_not_hang_the_search() -> None:
    dice = np.random.default_rng(1)
    for _ in range(200):
        source, target = dice.integers(0, 40, (2, 300))
        labels = labels_of(40, pack(source, target))
        once = np.unique(np.stack([source, target]), axis=1)
        assert labels.tolist() == labels_of(40, pack(*once)).tolist()


def test_components_of_a_small_graph_are_those_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(2)
    for count in (0, 10, 35, 60, 120):
        for _ in range(60):
            packed = pack(*dice.integers(0, 40, (2, count)))
            here = labels_of(40, packed.copy())
            with monkeypatch.context() as patch:
                patch.setattr(residue, "FEW", 0)
                there = labels_of(40, packed.copy())
            assert np.array_equal(here[:, None] == here, there[:, None] == there)


def test_a_long_way_is_no_deep_recursion() -> None:
    nodes = np.arange(20_000)
    ring = labels_of(20_000, pack(nodes, (nodes + 1) % 20_000))
    assert len(set(ring.tolist())) == 1
    chain = labels_of(20_000, pack(nodes[:-1], nodes[1:]))
    assert len(set(chain.tolist())) == 20_000


def test_cycles_that_share_a_node_are_both_shown_where_snapshot_isolation_is_asked_for() -> None:
    """Node 1 is on both; with no two anti-dependencies in a row no way leads from one to other."""
    steps = [(0, 1, WR), (1, 0, RW), (1, 2, WR), (2, 1, RW)]
    for model in ("snapshot-isolation", "strong-session-snapshot-isolation"):
        search = find_cycles(3, graph(*steps), model=model)
        assert [one.tolist() for one in search.components] == [[0, 1, 2]]
        assert [(one.type, len(one.links)) for one in search.cycles] == [("G-single", 2)]
        assert not search.notes


def test_the_order_of_a_process_counts_beside_an_anti_dependency() -> None:
    """Write skew of one client: it did not see its own write."""
    steps = [(0, 1, RW), (1, 0, RW), (0, 1, PROCESS)]
    search = find_cycles(2, graph(*steps), model="strong-session-snapshot-isolation")
    [cycle] = search.cycles
    assert cycle.type == "G-single-process"
    assert [link.kind for link in cycle.links] == [PROCESS, RW]
    assert not search.notes


def test_only_a_fork_over_two_keys_is_a_long_fork() -> None:
    links = [Link(0, 1, RW, 0), Link(1, 2, WR, 1), Link(2, 3, RW, 2), Link(3, 0, WR, 3)]
    assert other_names(links, lambda link: link.why) == ("long-fork",)
    assert other_names(links, lambda _: "one key") == ()
