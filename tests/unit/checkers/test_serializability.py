"""I3: the schedules of strategies.md that must be convicted, and those that must not.

[110.lin] [110.border]
"""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.edges import ReadFrom
from ddlsim.checkers.graph.graph import graph_of
from ddlsim.graph.edges import WR
from ddlsim.model import ddl
from ddlsim.model.schema import Column, Index
from tests.support.history import BIGINT, INT, Story, add_column, drop_constraint
from tests.support.judging import cycles, found, kinds
from tests.support.layered import Layered

V = Column(1, "v", INT)
COMPATIBLE = add_column(2, "w")
INCOMPATIBLE = ddl.ColumnDropped(V)


# --- family B: the three options, and the checks of the third ------------------------------------


def b1_t1(change: Any) -> Story:
    """Option 1: T writes x under v1, D activates, T writes y under v2."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, change, tu=20)
    story.write("T", t, "y", 30, version=2)
    story.commit("T", 40)
    return story


def b2_t1(change: Any) -> Story:
    """Option 2: the client of T issues D, and T still runs under v1."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10, client="c")
    story.ddl("D", t, change, tu=20, submit=15, ack=25, client="c")
    story.write("T", t, "y", 30, client="c")
    story.commit("T", 40, client="c")
    return story


def b2_t2(change: Any, **more: Any) -> Story:
    """Option 2: T2 begins after D, writes z under v2 and commits; T reads z under v1."""
    story = Story(**more)
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, change, tu=20, submit=15, ack=25)
    story.write("T2", t, "z", 26, version=2)
    story.commit("T2", 28)
    story.read("T", t, "z", 30, "T2")
    story.commit("T", 40)
    return story


def b7_t1() -> Story:
    """The lock-wait back door: T1 passed the check on arrival and then waited behind T2."""
    story = Story()
    t = story.table()
    story.begin("T1", 0)
    story.write("T0", t, "z", 6)
    story.write("T1", t, "q", 5)
    story.ddl("D", t, COMPATIBLE, tu=10)
    story.commit("T0", 10.5, commit_ts=11)
    story.write("T2", t, "z", 12, version=2)
    story.commit("T2", 14)
    story.read("T1", t, "z", 15, "T2", op_ts=9)
    story.commit("T1", 20)
    return story


def b9_t2() -> Story:
    """The quirk "fixed" by trusting the enlistment: T runs under v1 after T2 ran under v2."""
    story = Story()
    t = story.table()
    story.ddl("D", t, COMPATIBLE, tu=102)
    story.write("T2", t, "x", 103, version=2)
    story.commit("T2", 103.5, commit_ts=104)
    story.read("T", t, "x", 104, "T2", op_ts=104)
    story.commit("T", 110)
    return story


@pytest.mark.parametrize("change", [COMPATIBLE, INCOMPATIBLE])
def test_a_row_of_after_the_ddl_read_under_the_version_before_it_is_a_cycle(change: Any) -> None:
    """B2-T2, B7-T0: convicted in both modes, whatever the change."""
    assert cycles(b2_t2(change)) == ["D2 < T2 < T < D2"]
    assert kinds(b2_t2(change)) == ["schema-G-single"]


@pytest.mark.parametrize("story", [b7_t1, b9_t2])
def test_the_back_door_and_the_mended_quirk_are_cycles(story: Callable[[], Story]) -> None:
    """B7-T1 and B9-T2."""
    [anomaly] = found(story())
    assert {step.source for step in anomaly.steps} >= {"D2", "T2"}
    assert len(anomaly.steps) == 3


@pytest.mark.parametrize("change", [COMPATIBLE, INCOMPATIBLE])
def test_option_2_alone_has_no_cycle_even_in_the_strict_graph(change: Any) -> None:
    """B2-T1: the checker must not report what is a matter of I4."""
    assert found(b2_t1(change), strict=True) == []


def test_two_versions_in_one_transaction_are_a_cycle_of_the_strict_graph() -> None:
    """B1-T1: a compatible change; the relaxed graph leaves it to I5."""
    assert cycles(b1_t1(drop_constraint()), strict=True) == ["D2 < T < D2"]
    assert found(b1_t1(drop_constraint())) == []


def test_two_versions_across_an_incompatible_change_are_a_cycle_in_both() -> None:
    assert cycles(b1_t1(INCOMPATIBLE)) == ["D2 < T < D2"]


@pytest.mark.parametrize("mixed", [True, False])
def test_a_commit_of_two_nodes_on_two_versions_is_a_cycle(mixed: bool) -> None:
    """A0-T1: node A ran v2 and node B still v1 of one table."""
    story = Story()
    t = story.table()
    story.ddl("D", t, INCOMPATIBLE, tu=5, submit=0)
    story.write("T", t, "x", 10, node="A", version=2)
    story.write("T", t, "y", 12, node="B", version=1 if mixed else 2)
    story.commit("T", 15)
    assert cycles(story) == (["D2 < T < D2"] if mixed else [])


# --- what the relaxed graph drops, and what it must not ------------------------------------------


def across_tables(change: Any, *, query: bool = False) -> Story:
    """T ran under v1 of a, then reads from b what T2 wrote after the change of a."""
    story = Story()
    a, b = story.table("a"), story.table("b")
    if query:
        story.metadata("T", a, 9)
    story.write("T", a, "x", 10)
    story.ddl("D", a, change, tu=20)
    story.write("T2", a, "z", 26, version=2)
    story.write("T2", b, "k", 27)
    story.commit("T2", 28)
    story.read("T", b, "k", 30, "T2")
    story.commit("T", 40)
    return story


def test_a_compatible_step_that_nobody_can_notice_is_dropped() -> None:
    assert found(across_tables(COMPATIBLE)) == []
    [anomaly] = found(across_tables(COMPATIBLE), strict=True)
    assert anomaly.strict_only
    assert anomaly.summary == "a cycle: D3 < T2 < T < D3"


def test_an_incompatible_step_is_never_dropped() -> None:
    assert cycles(across_tables(INCOMPATIBLE)) == ["D3 < T2 < T < D3"]


def test_a_metadata_query_of_the_table_keeps_the_edge() -> None:
    """B7-T3: a transaction that was shown the columns can tell."""
    [anomaly] = found(across_tables(COMPATIBLE, query=True))
    assert [step.edge for step in anomaly.steps][-1] == "rw-schema[metadata]"


def test_a_metadata_query_of_another_table_does_not() -> None:
    story = Story()
    a, b = story.table("a"), story.table("b")
    story.metadata("T", b, 9)
    story.write("T", a, "x", 10)
    story.ddl("D", a, COMPATIBLE, tu=20)
    story.write("T2", a, "z", 26, version=2)
    story.write("T2", b, "k", 27)
    story.commit("T2", 28)
    story.read("T", b, "k", 30, "T2")
    story.commit("T", 40)
    assert found(story) == []


@pytest.mark.parametrize(
    ("rule", "change", "convicted"),
    [
        ("forbid_all", COMPATIBLE, True),
        ("off", COMPATIBLE, True),
        ("by_change_type", COMPATIBLE, False),
        ("by_change_type", ddl.ColumnRenamed(1, "v", "u"), False),
        ("by_change_type", drop_constraint(), True),
        ("by_change_type", ddl.ColumnAltered(V, Column(1, "v", BIGINT)), True),
        ("by_table_version", COMPATIBLE, True),
        ("by_table_version", ddl.IndexCreated(Index(9, "i", (1,))), False),
        ("forbid_all", ddl.IndexCreated(Index(9, "i", (1,))), True),
        ("by_tuple", COMPATIBLE, False),
        ("by_tuple", drop_constraint(), True),
    ],
)
def test_the_designs_backward_rule_decides_on_newer_rows(
    rule: str, change: Any, convicted: bool
) -> None:
    """B7-T2: what the rule allows, only the strict graph shows; `off` is no rule."""
    story = b2_t2(change, backward=rule)
    assert bool(found(story)) == convicted
    assert found(story, strict=True)


@pytest.mark.parametrize(("value", "convicted"), [(1 << 31, True), (7, False)])
def test_by_tuple_looks_at_the_row(value: int, convicted: bool) -> None:
    story = Story(backward="by_tuple")
    t = story.table()
    story.write("T", t, 1, 10)
    story.ddl("D", t, ddl.ColumnAltered(V, Column(1, "v", BIGINT)), tu=20)
    story.write("T2", t, 2, 26, version=2, row=((0, 2), (1, value)))
    story.commit("T2", 28)
    story.read("T", t, 2, 30, "T2")
    story.commit("T", 40)
    assert bool(found(story)) == convicted


def test_an_incompatible_ddl_behind_a_dropped_step_still_counts() -> None:
    """T may be taken to have run after the first DDL, never after the second."""
    story = Story()
    a, b = story.table("a"), story.table("b")
    story.write("T", a, "x", 10)
    story.ddl("D", a, COMPATIBLE, tu=20)
    story.ddl("E", a, INCOMPATIBLE, tu=22)
    story.write("T2", a, "z", 26, version=3)
    story.write("T2", b, "k", 27)
    story.commit("T2", 28)
    story.read("T", b, "k", 30, "T2")
    story.commit("T", 40)
    assert cycles(story) == ["D4 < T2 < T < D4"]


@pytest.mark.parametrize(("at", "convicted"), [(21, True), (20, False)])
def test_a_version_counts_from_its_activation_on(at: int, convicted: bool) -> None:
    """commit_ts = Tu: who commits then on the new version is after the DDL, and no cycle."""
    story = Story()
    t = story.table()
    story.ddl("D", t, INCOMPATIBLE, tu=20, submit=5, ack=30)
    story.write("T", t, "x", 20, version=2)
    story.commit("T", 20)
    story.write("U", t, "y", at, version=1 if convicted else 2)
    story.read("U", t, "x", at, "T", version=1 if convicted else 2)
    story.commit("U", at)
    assert bool(found(story)) == convicted


def test_the_words_name_versions_values_and_nodes() -> None:
    [anomaly] = found(b2_t2(COMPATIBLE))
    said = " ".join(step.because for step in anomaly.steps)
    assert "T2 wrote row 'z' under version 2 of t at 26 on n1, which D2 had installed" in said
    assert "T read t['z'] = ('z', 'T2:op2.1', 'T2:op2.2') of T2 at 30 on n1" in said
    assert "forbid_all" in said


# --- queries by an index --------------------------------------------------------------------------


def looked_up(*does: tuple[Any, ...], cv: int | None = 20, rv: int = 10) -> Layered:
    """r has the value 5, s had it; then A runs, and B took r out of 5 and puts q into 5 at 21."""
    story = Layered()
    story.index("D", 1)
    story.run("W", 2, 3, ("put", "r", 5), ("put", "s", 5), v=2)
    story.run("V", 4, 5, ("put", "s", 7), v=2)
    story.run("A", rv, cv, *does, v=2)
    story.run("B", 10, 21, ("find", 6), ("put", "r", 8), ("put", "q", 5), v=2)
    return story


@pytest.mark.parametrize(
    ("does", "due"),
    [
        ((("find", 7), ("put", "p", 6)), []),
        ((("find", 8), ("put", "p", 6)), ["G2-predicate"]),
        ((("find", 5), ("put", "p", 6)), ["G2-predicate"]),
        ((("find", 9), ("put", "p", 6)), []),
        ((("find", 8), ("put", "p", 9)), []),
        ((("put", "q", 8), ("find", 8), ("put", "p", 9)), []),
    ],
)
def test_a_query_by_an_index_reads_what_it_does_not_find(
    does: tuple[tuple[Any, ...], ...], due: list[str]
) -> None:
    """Write skew by values: each puts in what the other has looked for and not found."""
    assert kinds(looked_up(*does)) == due


def test_a_row_that_has_left_an_answer_comes_before_the_query() -> None:
    """V took s out of 5, so that A, which found r alone there, follows it; the words say how."""
    [edge] = [
        one
        for one in graph_of(Case(looked_up(("find", 5)).history())).edges
        if isinstance(one.reason, ReadFrom) and one.reason.row is None
    ]
    story = looked_up(("find", 8), ("put", "p", 6))
    [cycle] = found(story)
    assert edge.kind == WR
    assert any("A asked by an index at 10 on" in step.because for step in cycle.steps)
