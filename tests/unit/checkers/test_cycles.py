"""The search for cycles: against a naive construction, on random histories, and on a large one."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.writes import Writes
from ddlsim.checkers.graph import cycles
from ddlsim.checkers.graph.cycles import Cycle, find
from ddlsim.checkers.graph.edges import KIND_NAMES, Edge
from ddlsim.checkers.graph.graph import Graph
from ddlsim.graph.edges import PROCESS, REALTIME, RW
from ddlsim.graph.names import SCHEMA
from tests.support.history import Story, add_column
from tests.support.random_histories import CHAOS, STEPS, chaos, graph_of, serial

DDLS = st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=2)


def convictions(story: Story) -> list[str]:
    checker = CHECKERS.get("serializability")
    return [anomaly.summary for anomaly in checker.check(Case(story.history()))]


# --- random histories -----------------------------------------------------------------------------


@given(STEPS, st.sampled_from([0, 5, 25]))
def test_a_serial_history_is_always_accepted(steps: list[Any], slack: int) -> None:
    """Also in the strict graph, and where spans in real time overlap."""
    assert convictions(serial(steps, slack=slack).story) == []


@given(STEPS, st.data())
def test_a_stale_read_in_a_serial_history_is_always_convicted(steps: list[Any], data: Any) -> None:
    made = serial(steps)
    changed = {(tx, key) for tx, key, _ in made.overwritten}
    stale = [
        number
        for number, (tx, key, writer) in enumerate(made.reads)
        if writer is not None and writer != tx and (writer, key) in changed
    ]
    assume(stale)
    chosen = data.draw(st.sampled_from(stale))
    assert convictions(serial(steps, stale=chosen).story)


# --- against a naive construction -----------------------------------------------------------------


def naive(graph: Graph, *, strict: bool, rt: bool = True, ddl_rt: bool = True) -> Any:
    """Every edge at once, real time between each pair of nodes."""
    whole: Any = nx.DiGraph()
    whole.add_edges_from((e.source, e.target) for e in graph.edges if strict or not e.strict_only)
    for a, before in enumerate(graph.nodes):
        for b, after in enumerate(graph.nodes):
            ends, begins = before.ends_at, after.begins_at
            ordered = ends is not None and begins is not None and ends < begins
            if rt and ordered and (ddl_rt or before.update is None):
                whole.add_edge(a, b)
    return whole


def has_cycle(whole: Any) -> bool:
    return not nx.is_directed_acyclic_graph(whole)


@given(CHAOS, DDLS)
def test_the_search_agrees_with_a_naive_one(transactions: Any, ddls: Any) -> None:
    _, graph = graph_of(chaos(transactions, ddls))
    relaxed, strict = find(graph, strict=False), find(graph, strict=True)
    assert relaxed.unexamined == strict.unexamined == 0
    assert bool(relaxed.cycles) == has_cycle(naive(graph, strict=False))
    assert bool(relaxed.cycles or strict.cycles) == has_cycle(naive(graph, strict=True))
    assert all(cycle.strict_only for cycle in strict.cycles)
    for cycle in (*relaxed.cycles, *strict.cycles):
        assert_is_cycle(graph, cycle.edges)


@given(CHAOS, DDLS)
def test_the_search_returns_the_strongest_cycle(transactions: Any, ddls: Any) -> None:
    """If some cycle does without real time, without a DDL's, without rw, then one told does."""
    _, graph = graph_of(chaos(transactions, ddls))
    found = find(graph, strict=False).cycles
    timeless = has_cycle(naive(graph, strict=False, rt=False))
    assert timeless == any(
        all(edge.kind not in (REALTIME, PROCESS) for edge in cycle.edges) for cycle in found
    )
    unassuming = has_cycle(naive(graph, strict=False, ddl_rt=False))
    assert unassuming == any(not cycle.needs_ddl_time for cycle in found)
    direct = nx.DiGraph([(e.source, e.target) for e in graph.edges if e.kind != RW])
    assert has_cycle(direct) == any(_base(cycle.name) in {"G0", "G1c"} for cycle in found)


def in_time(cycle: Cycle) -> bool:
    return any(edge.kind in (REALTIME, PROCESS) for edge in cycle.edges)


def _base(name: str) -> str:
    return name.removeprefix(SCHEMA)


def assert_is_cycle(graph: Graph, edges: tuple[Edge, ...]) -> None:
    for edge, following in zip(edges, edges[1:] + edges[:1], strict=True):
        assert edge.target == following.source
        if edge.kind in (REALTIME, PROCESS):
            ends, begins = graph.nodes[edge.source].ends_at, graph.nodes[edge.target].begins_at
            assert ends is not None
            assert begins is not None
            assert ends < begins
    assert len({edge.source for edge in edges}) == len(edges)


@given(CHAOS, DDLS)
def test_the_edges_are_those_of_the_definition(transactions: Any, ddls: Any) -> None:
    """Adya's edges and the schema's, written down pair by pair."""
    case, graph = graph_of(chaos(transactions, ddls))
    names = [node.label for node in graph.nodes]
    built = {
        (names[edge.source], names[edge.target], KIND_NAMES[edge.kind])
        for edge in graph.edges
        if not _is_moved(graph, edge)
    }
    assert built == set(by_definition(case))


def _is_moved(graph: Graph, edge: Edge) -> bool:
    """The relaxed graph's edge to a later DDL, where it drops the one to the next."""
    step = getattr(edge.reason, "step", None)
    use = getattr(edge.reason, "use", None)
    return step is not None and use is not None and step.version != use.version + 1


def by_definition(case: Case) -> Iterator[tuple[str, str, str]]:
    orders: dict[Any, list[str]] = {}
    for tx in case.committed:
        for key in dict.fromkeys(event.key for _, event in tx.writes):
            orders.setdefault(key, []).append(tx.name)
    ddls = [f"D{number}" for number in range(1, 1 + len(case.schemas.updates))]
    yield from ((one, other, "ww") for one, other in pairwise(ddls))
    for order in orders.values():
        yield from ((one, other, "ww") for one, other in pairwise(order))
    for tx in case.committed:
        for use in tx.uses():
            yield ddls[use.version - 1], tx.name, "wr"
            if use.version < len(ddls):
                yield tx.name, ddls[use.version], "rw"
        for _, read in tx.reads:
            [row] = read.rows
            order = orders.get(row.key, [])
            if row.writer is not None and row.writer != tx.name:
                yield row.writer, tx.name, "wr"
            at = -1 if row.writer is None else order.index(row.writer)
            own = row.writer == tx.name or at + 1 == len(order) or order[at + 1] == tx.name
            if not own:
                yield tx.name, order[at + 1], "rw"


# --- large histories ------------------------------------------------------------------------------


def large(transactions: int, *, skew: int) -> Story:
    """Serial transactions over many keys, a DDL now and then, commit_ts off by up to `skew`."""
    story = Story(settings={"": {"max_clock_skew_ms": 10}})
    table = story.table()
    newest: dict[int, str] = {}
    version = 1
    for number in range(transactions):
        at = 100 + number * 10
        if number % 500 == 250:
            column = add_column(10 + number, f"c{number}")
            story.ddl(f"D{number}", table, column, tu=at, ack=at + 2)
            version += 1
        tx, read, written = f"T{number}", number * 7 % 997, number * 13 % 997
        story.read(tx, table, read, at + 3, newest.get(read), version=version)
        off = 0
        if number % 3 == 0:
            off = skew * (number % 2)  # a reader only: its commit_ts orders nothing
        else:
            story.write(tx, table, written, at + 4, version=version)
            newest[written] = tx
        story.commit(tx, at + 5, commit_ts=at + 5 + off)
    return story


@pytest.mark.slow
@pytest.mark.parametrize("skew", [0, 30, 5_000])
def test_ten_thousand_transactions_with_skewed_timestamps_have_no_cycle(skew: int) -> None:
    """With skewed timestamps the certificate fails, and the search has to tell; with large skew
    on one stretch of everything. Each transaction has a client of its own."""
    history = large(10_000, skew=skew).history()
    case = Case(history)
    graph = Graph(case, Writes(case))
    found = find(graph, strict=True)
    assert found.cycles == ()


def test_a_component_beyond_the_budget_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "SEARCH_BUDGET", 0)
    story = Story()
    table = story.table()
    for number in range(30):
        story.read(f"T{number}", table, "x", 10 + number / 100, None)
        story.write(f"T{number}", table, "x", 11 + number / 100)
        story.commit(f"T{number}", 12 + number / 100, commit_ts=20 + number)
    found = convictions(story)
    assert any("too large to be searched in full" in summary for summary in found)
