"""Certificate, components and a plain networkx search agree; every cycle told is one.

`DDLSIM_CASES=100000 pytest tests/property/test_graph_laws.py` runs so many random histories.
"""

import os
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.graph import cycles, residue, ways
from ddlsim.graph.certificate import Order, in_real_time, rank_of, spans_of, unsettled
from ddlsim.graph.classify import type_of
from ddlsim.graph.component import Component
from ddlsim.graph.cycles import find_cycles
from ddlsim.graph.edges import (
    NAMES,
    PROCESS,
    REALTIME,
    RW,
    WR,
    WW,
    Edges,
    Link,
    data_edges,
    process_edges,
)
from ddlsim.graph.history import PREDICATE, READ, Array, ColumnHistory, HistoryError
from ddlsim.graph.judge import judge
from ddlsim.graph.models import MODELS, Model
from ddlsim.graph.reads import fractured_reads, suspects
from ddlsim.graph.versions import versions_of
from ddlsim.graph.ways import Ways
from tests.support.column_histories import PLANTS, Shape, history, plant
from tests.support.columns_reference import (
    DATA,
    Reference,
    components,
    graph,
    has_cycle,
    random_history,
    read,
)

CASES = int(os.environ.get("DDLSIM_CASES", "200"))
THROUGH = {"G0": ("ww", ["ww"]), "G1c": ("wr", ["ww", "wr"]), "G-single": ("rw", ["ww", "wr"])}
SINGLE = {
    "internal", "G1a", "G1b", "garbage-read", "dirty-update", "future-read", "missed-own-write",
    "incompatible-order",
}  # fmt: skip


class Drawn(NamedTuple):
    """A random history, its edges and spans."""

    found: ColumnHistory
    blocks: list[Edges]
    span: tuple[Array, Array]


@lru_cache(CASES)
def drawn(seed: int) -> Drawn:
    """What every model and fault is tried on; raises `HistoryError` where versions contradict."""
    found = random_history(seed)
    versions = versions_of(found)
    blocks = [*data_edges(found, versions), process_edges(found, versions)]
    return Drawn(found, blocks, spans_of(found, versions.node))


def settles(order: Order, blocks: list[Edges], begin: Array, end: Array) -> bool:
    """Whether an order is found in which every edge and real time point forward."""
    left = unsettled(order, blocks, begin, end)
    return left is not None and not any(map(len, left))


def compare(found: ColumnHistory) -> None:
    """The judge and the plain reading of one history, under every model."""
    reference = read(found)
    versions = versions_of(found)
    blocks = [*data_edges(found, versions), process_edges(found, versions)]
    begin, end = spans_of(found, versions.node)
    order = Order(rank_of(found))
    search = find_cycles(found.transactions, blocks, begin, end, rank=rank_of(found))
    whole = graph(reference, *DATA, "process", "realtime")
    assert {frozenset(map(int, part)) for part in search.components} == components(whole)
    if order.forward(blocks) and in_real_time(order, begin, end):
        assert nx.is_directed_acyclic_graph(whole)
        assert settles(Order(order.place), blocks, begin, end)
    for guess in (rank_of(found), np.zeros(found.transactions, np.int64)):
        acyclic = nx.is_directed_acyclic_graph(whole)
        assert acyclic or not settles(Order(guess), blocks, begin, end)
    for cycle in search.cycles:
        is_cycle(cycle.links, cycle.type, reference.edges)
    shortest(found, reference)
    for name, model in MODELS.items():
        if name == "read-uncommitted":
            continue
        verdict = judge(found, name)
        assert set(verdict.types) & SINGLE == reference.dirty & model.forbids, name
        wrong = has_cycle(reference, name)
        assert verdict.valid is not (wrong or bool(reference.dirty & model.forbids)), name
        weaker = [MODELS[other] for other in ("read-committed", "read-atomic")]
        for other in filter(model.implies, weaker):
            broken = has_cycle(reference, other.name) or bool(reference.dirty & other.forbids)
            assert (other.name in verdict.ruled_out) is broken, (name, other.name)


def is_cycle(links: tuple[Link, ...], type_: str, edges: set[tuple[int, int, str]]) -> None:
    """Each link is an edge of the plain graph, and together they close; the type is theirs."""
    assert links
    kinds: list[str] = []
    for link, following in zip(links, [*links[1:], links[0]], strict=True):
        assert link.target == following.source
        kind = NAMES[link.kind & (WW | WR | RW | PROCESS | REALTIME)]
        assert (link.source, link.target, kind) in edges
        kinds.append(kind)
    assert type_.removeprefix("schema-") in named(kinds)
    assert type_of(links) == type_


def named(kinds: list[str]) -> tuple[str, ...]:
    """What a cycle of these edges may be called, by Adya's definitions."""
    time = "-realtime" if "realtime" in kinds else "-process" if "process" in kinds else ""
    around = "".join({"rw": "r", "wr": "w"}.get(kind, ".") for kind in kinds)
    anti = around.count("r")
    if anti > 1:
        in_a_row = "rr" in around + around[0]
        bases = ("G2-item", "G2-predicate") if in_a_row else ("G-nonadjacent",)
    else:
        bases = ("G-single",) if anti else ("G1c",) if "w" in around else ("G0",)
    return tuple(base + time for base in bases)


def shortest(found: ColumnHistory, reference: Reference) -> None:
    """Of the cycles of data with at most one anti-dependency none is shorter than those told.

    Where plain reads and predicates are mixed, the search prefers a longer cycle of plain reads.
    """
    if {READ, PREDICATE} <= set(found.kind.tolist()):
        return
    versions = versions_of(found)
    search = find_cycles(found.transactions, data_edges(found, versions), model="serializable")
    for name, (through, steps) in THROUGH.items():
        told = [len(one.links) for one in search.cycles if one.type == name]
        ways = dict(nx.all_pairs_shortest_path_length(graph(reference, *steps)))
        exist = [
            1 + ways[b][a]
            for a, b, kind in reference.edges
            if kind == through and a in ways.get(b, {})
        ]
        assert min(told, default=0) == min(exist, default=0), name


@given(st.integers(0, 2**40))
def test_the_judge_and_the_plain_reading_agree(seed: int) -> None:
    compare(random_history(seed))


def test_they_agree_on_many() -> None:
    for seed in range(CASES):
        try:
            compare(random_history(seed))
        except (AssertionError, HistoryError) as wrong:
            raise AssertionError(f"seed {seed}") from wrong


@given(
    st.integers(0, 2**30),
    st.integers(1, 40),
    st.sampled_from([0, 30, 300]),
    st.lists(st.sampled_from(sorted(PLANTS)), max_size=3, unique=True),
)
def test_they_agree_on_what_was_planted(
    seed: int, transactions: int, skew: int, planted: list[str]
) -> None:
    clean = history(seed, Shape(transactions, sessions=5, skew=skew, partitions=3))
    for name in MODELS:
        assert judge(clean, name).valid is True, name
    found = plant(clean, *planted)
    compare(found)
    assert set(planted) <= set(judge(found).types)


@pytest.mark.parametrize("seed", range(3))
def test_the_numbering_of_transactions_does_not_matter(seed: int) -> None:
    dice = np.random.default_rng(seed)
    found = plant(history(seed, Shape(50, skew=100)), "G2-item", "G-single-realtime")
    turned = renumbered(found, dice.permutation(found.transactions))
    assert dict(judge(turned).counts) == dict(judge(found).counts)


def renumbered(found: ColumnHistory, number: "np.typing.NDArray[np.int64]") -> ColumnHistory:
    """The same history with other numbers for its transactions."""
    from ddlsim.graph.history import OF_OPERATIONS, OF_TRANSACTIONS, make

    old = np.argsort(number)
    order = np.argsort(number[found.tx], kind="stable")
    operations = {name: getattr(found, name)[order] for name in OF_OPERATIONS}
    operations["tx"] = number[operations["tx"]]
    return make(
        transactions={name: getattr(found, name)[old] for name in OF_TRANSACTIONS},
        operations=operations,
    )


def looked_near(seed: int, model: str) -> tuple[bool, bool]:
    """Search as in a large history with one bad read, and as in a small one: the same verdict.

    Whether only nodes near few edges were searched, and whether only a stretch of the order was.
    """
    found, blocks, span = drawn(seed)
    plain = judge(found, model)
    cut: list[int] = []
    on_ways_back = residue.on_ways_back
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "LARGE", 0)
        patch.setattr(cycles, "SHORT", 0)
        patch.setattr(cycles, "NEAR", 3)
        search = find_cycles(found.transactions, blocks, *span, rank=rank_of(found), model=model)
        verdict = judge(found, model)
        patch.setattr(cycles, "LARGE", 10**9)
        patch.setattr(residue, "WORTH_CUTTING", 1)
        patch.setattr(
            residue,
            "on_ways_back",
            lambda *of, **more: cut.append(1) or on_ways_back(*of, **more),
        )
        in_stretches = judge(found, model)
    for cycle in search.cycles:
        is_cycle(cycle.links, cycle.type, read(found).edges)
    assert verdict.valid is plain.valid
    assert in_stretches.counts == plain.counts
    lost = [dict(one.counts).get("lost-update", 0) for one in (verdict, plain)]
    assert lost[0] == lost[1]
    return any("within some steps" in note for note in search.notes), bool(cut)


@pytest.mark.parametrize("model", MODELS)
def test_looking_near_few_edges_that_go_back_gives_the_same_verdict(model: str) -> None:
    looked = [0, 0]
    for seed in range(CASES // 2):
        try:
            near, cut = looked_near(seed, model)
        except HistoryError:
            continue
        looked = [looked[0] + near, looked[1] + cut]
    least = CASES // 80
    assert looked[0] > least
    assert looked[1] > least or MODELS[model].level > 1


def near_cycles(model: str) -> list[tuple[int, list[tuple[int, ...]]]]:
    """The cycles found near few edges that go back, of every history of a sample."""
    found = []
    for seed in range(CASES):
        try:
            one, blocks, _ = drawn(seed)
        except HistoryError:
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cycles, "LARGE", 0)
            patch.setattr(cycles, "SHORT", 0)
            search = find_cycles(one.transactions, blocks, rank=rank_of(one), model=model)
        if any("within some steps" in note for note in search.notes):
            found.append((seed, [cycle.txns for cycle in search.cycles]))
    return found


def on_cycles(part: Component, model: Model) -> Component:
    """What is needed without a look at weights."""
    return part.on_cycles(apart=cycles._apart(model))


def same_near(model: str) -> bool:
    """Whether what is cut away for lack of weight changes no cycle that is found."""
    cut = near_cycles(model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "_on_lightest", on_cycles)
        whole = near_cycles(model)
    assert len(whole) > CASES // 40
    return cut == whole


NEAR_MODELS = ["serializable", "snapshot-isolation", "strong-session-serializable"]


@pytest.mark.parametrize("model", NEAR_MODELS)
def test_nodes_on_the_lightest_ways_hold_the_same_cycles_as_the_whole_component(model: str) -> None:
    assert same_near(model)


def test_a_node_lost_from_the_lightest_ways_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    through = Ways.nodes_through
    monkeypatch.setattr(Ways, "nodes_through", lambda *of: set(sorted(through(*of))[:-1]))
    assert not all(map(same_near, NEAR_MODELS))


def test_ways_of_least_weight_that_ignore_anti_dependencies_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ways, "weight_of", lambda _: 1)
    assert not all(map(same_near, NEAR_MODELS))


def same_fractures() -> bool:
    """Whether the reads of suspects alone show all fractured reads of histories with few."""
    seen = 0
    for seed in range(CASES // 2):
        found = plant(history(seed, Shape(40, keys=6)), "fractured-read")
        reads = np.flatnonzero((found.kind == READ) & (found.version > 0))
        version = found.version.copy()
        version[reads[seed % len(reads)]] -= 1
        found = replace(found, version=version)
        versions = versions_of(found)
        order = Order(rank_of(found))
        back = [one.take(order.backward(one)) for one in data_edges(found, versions)]
        whole = fractured_reads(found, versions.node)
        if fractured_reads(found, versions.node, suspects(found, versions, back)) != whole:
            return False
        seen += bool(whole)
    assert seen > CASES // 40
    return True


def test_the_reads_of_suspects_show_all_fractured_reads() -> None:
    assert same_fractures()


def test_a_suspect_that_is_passed_over_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        globals(), "suspects", lambda history, *_: np.zeros(history.transactions, np.bool_)
    )
    assert not same_fractures()
