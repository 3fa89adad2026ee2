"""The field's names for anomalies, each on the smallest history that deserves it."""

from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.findings import signature
from ddlsim.checkers.graph.cycles import name_of_cycle
from ddlsim.checkers.graph.edges import Edge, Node, Words
from ddlsim.checkers.graph.graph import graph_of
from ddlsim.graph import names, tangle
from ddlsim.graph.edges import PROCESS, REALTIME, RW
from ddlsim.history.events import Ok
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column
from tests.support.judging import circle_of_reads, found, kinds, two_ways, write_skew

DROPPED = ddl.ColumnDropped(Column(1, "v", INT))


def read_two(story: Story, t: int, tx: str, at: float, x: Any, y: Any) -> None:
    story.read(tx, t, "x", at, x)
    story.read(tx, t, "y", at + 0.1, y)
    story.commit(tx, at + 30, commit_ts=int(at) + 30)


def fractured() -> Story:
    """T2 saw T1's x and not its y."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T1", t, "y", 11)
    story.commit("T1", 12)
    read_two(story, t, "T2", 10.5, "T1", None)
    return story


def long_fork() -> Story:
    """T3 saw T1 and not T2; T4 saw T2 and not T1."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T2", t, "y", 10)
    story.commit("T1", 30)
    story.commit("T2", 31)
    read_two(story, t, "T3", 11, "T1", None)
    read_two(story, t, "T4", 12, None, "T2")
    return story


def apart() -> Story:
    """As a long fork, where T4 knows of T2 by what T2 overwrote: no two rw in a row."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T2", t, "y", 10)
    story.commit("T1", 30)
    story.commit("T2", 31)
    read_two(story, t, "T3", 11, "T1", None)
    story.read("T4", t, "x", 12, None)
    story.write("T4", t, "y", 13)
    story.commit("T4", 42)
    return story


def overwritten() -> Story:
    """T1 and T2 wrote x and y in opposite orders: nobody read anything."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T2", t, "x", 11)
    story.commit("T1", 20)
    story.commit("T2", 21)
    return story


def half_lost() -> Story:
    """T2 wrote without having read: not two updates."""
    story = Story()
    t = story.table()
    story.read("T1", t, "x", 10, None)
    story.write("T2", t, "x", 11)
    story.commit("T2", 20)
    story.write("T1", t, "x", 12)
    story.commit("T1", 21)
    return story


def stale(client: str, *, session: bool = False) -> Story:
    """T2 reads x as it was before T1, which had ended for its own client, or another's."""
    story = Story()
    t = story.table()
    story.begin("T1", 9, client="c1", session=session)
    story.write("T1", t, "x", 10, client="c1")
    story.commit("T1", 12, client="c1")
    story.begin("T2", 20, client=client, session=session)
    story.read("T2", t, "x", 21, None, client=client)
    story.commit("T2", 22, client=client)
    return story


def past_a_ddl() -> Story:
    """T2 ran on the version before the DDL, whose acknowledgement it had awaited."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=15, ack=25)
    story.begin("T", 30)
    story.write("T", t, "x", 31)
    story.commit("T", 40)
    return story


NAMED = {
    "G1c": circle_of_reads,
    "G2-item": write_skew,
    "fractured-read": fractured,
    "long-fork": long_fork,
    "G-nonadjacent": apart,
    "G-single": half_lost,
}


@pytest.mark.parametrize("name", NAMED)
def test_an_anomaly_has_the_fields_name(name: str) -> None:
    assert kinds(NAMED[name]()) == [name]


def test_writes_in_one_order_are_no_anomaly() -> None:
    assert kinds(overwritten()) == []


@pytest.mark.parametrize(
    ("client", "session", "form", "edge"),
    [
        ("c1", True, "process", "process"),
        ("c1", False, "process", "rt"),
        ("c2", False, "realtime", "rt"),
    ],
)
def test_names_say_whether_real_time_or_a_process_closes_a_cycle(
    client: str, session: bool, form: str, edge: str
) -> None:
    """The order of a client without a token is an edge of real time."""
    [anomaly] = found(stale(client, session=session))
    assert anomaly.kind == f"G-single-{form}"
    assert {step.edge for step in anomaly.steps} == {"rw-row", edge}


def test_an_edge_says_that_its_operation_was_under_way_when_its_commit_was_asked_for() -> None:
    """Of T1's writes the first is answered before, the second after; T2 misses both."""
    story = Story()
    t = story.table()
    for op, key, answered in (("w1", "x", 11), ("w2", "y", 14)):
        story.write("T1", t, key, 10, client="c1", op=op, ok=False)
        story.add(answered, Ok, "c1", op)
    story.commit("T1", 12, client="c1", told=13)
    read_two(story, t, "T2", 20, None, None)
    case = Case(story.history())
    graph = graph_of(case)
    words = Words(case, graph.nodes)
    edges = sorted(words.edge(edge) for edge in graph.edges)
    assert [edge for edge in edges if "row" in edge] == ["rw-row", "rw-row[under way at commit]"]


def test_a_clients_own_order_is_real_time_to_a_finding_about_a_ddl() -> None:
    """Where there is none, it is not: a token brings less than real time does (F-6)."""
    [own], [others] = found(stale("c1", session=True)), found(stale("c2"))
    assert signature(own) != signature(others)
    ddl = Step("D", "T", "D(column-added)", "wr-schema", "so")
    after = [structs.replace(one, steps=(ddl, *one.steps), back_ms=()) for one in (own, others)]
    assert signature(after[0]) == signature(after[1])


def test_a_cycle_past_a_ddl_says_so() -> None:
    [anomaly] = found(past_a_ddl(), strict=True)
    assert anomaly.kind.startswith("schema-G-single-")
    assert names.split(anomaly.kind)[0] == "G-single"


@pytest.mark.parametrize("name", NAMED)
def test_without_the_search_for_gaps_the_same_cycles_are_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It chooses among cycles that are there anyway."""
    monkeypatch.setattr(tangle, "adjacent", lambda _: False)
    assert len(kinds(NAMED[name]())) == 1


@pytest.mark.parametrize("kind", ["schema-G2-item-realtime", "G2-item-process", "G2-item"])
def test_the_plain_name(kind: str) -> None:
    assert names.split(kind)[0] == "G2-item"


def test_one_predicate_makes_a_g2_of_them() -> None:
    """T1 scanned without x; T2 read y before T1 wrote it."""
    story = Story()
    t = story.table()
    story.write("T0", t, "y", 1)
    story.commit("T0", 2)
    story.scan("T1", t, 10, {"y": "T0"})
    story.read("T2", t, "y", 11, "T0")
    story.write("T1", t, "y", 12)
    story.write("T2", t, "x", 13)
    story.commit("T1", 20)
    story.commit("T2", 21)
    assert kinds(story) == ["G2-predicate"]


@pytest.mark.parametrize(
    ("edges", "form"),
    [
        ((RW, REALTIME), "-realtime"),
        ((RW, PROCESS), "-process"),
        ((RW, PROCESS, REALTIME), "-realtime"),
    ],
)
def test_anybodys_time_outweighs_one_clients(edges: tuple[str, ...], form: str) -> None:
    nodes: Any = [Node(f"T{n}", "T", n, None, None, None, None) for n in range(len(edges))]
    around: Any = [Edge(at, (at + 1) % len(edges), kind, None) for at, kind in enumerate(edges)]
    assert name_of_cycle(nodes, around) == f"G-single{form}"


def test_the_order_of_one_client_past_its_own_ddl_is_assumed_too() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, DROPPED, tu=20, submit=15, ack=25, client="c1")
    story.write("T", t, "x", 30, client="c1")
    story.commit("T", 40, client="c1")
    [anomaly] = found(story)
    assert anomaly.kind == "schema-G-single-process"
    assert anomaly.assumes == ("skew<=CSmax",)


def test_of_two_ways_the_one_without_two_in_a_row_is_told() -> None:
    assert "G-nonadjacent" in kinds(two_ways())


def test_a_dirty_update() -> None:
    """T2 read what T1 wrote, which was aborted, and wrote the row itself."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T2", t, "x", 11, "T1")
    story.write("T2", t, "x", 12)
    story.abort("T1", 13)
    story.commit("T2", 14)
    assert kinds(story) == ["G1a", "dirty-update"]
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T2", t, "x", 10.5)
    story.read("T2", t, "y", 11, None)
    story.abort("T1", 13)
    story.commit("T2", 14)
    assert kinds(story) == []
