"""The graph's edges on rows, in real time and over several objects."""

from typing import Any

import pytest

from ddlsim.history.events import Failed, Unknown
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column
from tests.support.judging import cycles, found, kinds, write_skew

V = Column(1, "v", INT)
COMPATIBLE = add_column(2, "w")
INCOMPATIBLE = ddl.ColumnDropped(V)

# --- rows -----------------------------------------------------------------------------------------


def test_write_skew_is_g2_item() -> None:
    assert kinds(write_skew()) == ["G2-item"]


def test_a_lost_update_is_named_so() -> None:
    story = Story()
    t = story.table()
    for tx, at in (("T1", 10), ("T2", 11)):
        story.read(tx, t, "x", at, None)
        story.write(tx, t, "x", at + 2)
    story.commit("T1", 20)
    story.commit("T2", 21)
    assert kinds(story) == ["lost-update"]


def test_a_circle_of_reads_is_g1c() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.write("T2", t, "y", 10)
    story.read("T1", t, "y", 12, "T2")
    story.read("T2", t, "x", 12, "T1")
    story.commit("T1", 20)
    story.commit("T2", 21)
    assert kinds(story) == ["G1c"]


def test_scans_that_miss_each_others_rows_are_g2_predicate() -> None:
    story = Story()
    t = story.table()
    story.scan("T1", t, 10, {})
    story.scan("T2", t, 11, {})
    story.write("T1", t, "x", 12)
    story.write("T2", t, "y", 13)
    story.commit("T1", 20)
    story.commit("T2", 21)
    assert kinds(story) == ["G2-predicate"]


@pytest.mark.parametrize(("partition", "convicted"), [(0, True), (1, False)])
def test_a_scan_reads_the_absence_of_keys_of_its_partition_only(
    partition: int, convicted: bool
) -> None:
    """A missed insert: T1 ended before T2 began, and T2 did not find its row."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10, partition=partition)
    story.commit("T1", 12)
    story.scan("T2", t, 20, {})
    story.commit("T2", 22)
    assert kinds(story) == (["G-single-realtime"] if convicted else [])


def test_a_scan_that_omits_a_deleted_row_saw_the_deletion() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.commit("T1", 12)
    story.write("T2", t, "x", 13, row=None)
    story.commit("T2", 14)
    story.scan("T3", t, 20, {})
    story.commit("T3", 22)
    assert found(story, strict=True) == []


def test_a_scan_does_not_miss_what_its_own_transaction_had_deleted() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.commit("T1", 12)
    story.write("T2", t, "x", 20, row=None)
    story.scan("T2", t, 21, {})
    story.commit("T2", 22)
    assert found(story, strict=True) == []


# --- real time ------------------------------------------------------------------------------------


def stale(**commit: Any) -> Story:
    """T2 reads x as it was before T1, whose client has been told that it is committed."""
    story = Story()
    t = story.table()
    story.write("T0", t, "x", 1)
    story.commit("T0", 2)
    story.write("T1", t, "x", 10)
    story.commit("T1", 12, **commit)
    story.read("T2", t, "x", 20, "T0")
    story.commit("T2", 22)
    return story


def test_a_stale_read_is_a_cycle_with_real_time() -> None:
    assert kinds(stale()) == ["G-single-realtime"]


def test_real_time_counts_where_timestamps_run_against_it() -> None:
    """T1 has the larger commit_ts: only real time goes down in rank."""
    assert kinds(stale(commit_ts=30)) == ["G-single-realtime"]


def test_timestamps_against_real_time_are_no_anomaly_in_themselves() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.commit("T1", 12, commit_ts=30)
    story.write("T2", t, "y", 20)
    story.commit("T2", 22)
    assert found(story, strict=True) == []


def test_without_an_answer_there_is_no_real_time_after_it() -> None:
    assert found(stale(outcome=Unknown)) == []
    assert found(stale(outcome=None)) == []


def test_transactions_that_overlap_in_real_time_have_no_edge() -> None:
    assert found(stale(told=21)) == []


def test_an_implicit_operation_is_a_transaction_in_real_time() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10, implicit=True, ok_at=13)
    story.commit("T1", 12, implicit=True)
    story.read("T2", t, "x", 20, None, implicit=True)
    story.commit("T2", 20, implicit=True)
    assert kinds(story) == ["G-single-realtime"]


def c15(*, ack: float | None = 25, skew: int = 0, **end: Any) -> Story:
    """T runs under v1 although D was acknowledged before it began."""
    story = Story(settings={"": {"max_clock_skew_ms": 10}})
    t = story.table()
    story.clock("n2", skew)
    story.ddl("D", t, INCOMPATIBLE, tu=20, ack=ack, **end)
    story.write("T", t, "x", 30)
    story.commit("T", 40)
    return story


def test_a_ddl_precedes_transactions_begun_after_its_acknowledgement() -> None:
    """The known bug of C15 as a cycle of two, and what it rests on."""
    [anomaly] = found(c15())
    assert anomaly.kind == "schema-G-single-realtime"
    assert anomaly.summary == "a cycle: D2 < T < D2"
    assert anomaly.assumes == ("skew<=CSmax",)


def test_a_failed_ddl_that_took_effect_has_ended_too() -> None:
    assert found(c15(end=Failed, reason=("OBJECT_EXISTS",)))


def test_a_ddl_without_an_answer_precedes_no_transaction() -> None:
    assert found(c15(ack=None)) == []
    assert found(c15(end=Unknown, reason=("NODE_UNREACHABLE",))) == []


def test_a_cycle_that_does_without_the_real_time_of_a_ddl_is_told_so() -> None:
    """D < T by real time and by a row: the argument that needs no assumption is taken."""
    story = Story()
    t = story.table()
    story.ddl("D", t, INCOMPATIBLE, tu=20, submit=15, ack=25)
    story.write("T2", t, "z", 26, version=2)
    story.commit("T2", 28)
    story.read("T", t, "z", 30, "T2")
    story.commit("T", 40)
    [anomaly] = found(story)
    assert anomaly.assumes == ()
    assert anomaly.kind == "schema-G-single"


# --- several objects ------------------------------------------------------------------------------


def test_the_drop_of_a_table_ends_its_last_version() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, ddl.ObjectDropped(), tu=20, submit=15, ack=25)
    story.write("T", t, "x", 30)
    story.commit("T", 40)
    assert cycles(story) == ["D2 < T < D2"]


def test_a_change_of_another_table_has_no_edge() -> None:
    """[110.compat.scope]"""
    story = Story()
    a, b = story.table("a"), story.table("b")
    story.write("T", a, "x", 10)
    story.ddl("D", b, INCOMPATIBLE, tu=20, submit=15, ack=25)
    story.write("T2", a, "z", 26)
    story.commit("T2", 28)
    story.read("T", a, "z", 30, "T2")
    story.commit("T", 40)
    assert found(story, strict=True) == []


def test_ddls_are_ordered_among_themselves_in_real_time() -> None:
    """E came after D in the log, but E was acknowledged before D was asked for."""
    story = Story()
    t = story.table()
    story.ddl("D", t, COMPATIBLE, tu=20, submit=15, ack=40)
    story.ddl("E", t, add_column(3, "x"), tu=30, submit=16, ack=17)
    assert found(story) == []
    assert kinds(ddls_in_reverse()) == ["schema-G0-realtime"]


def ddls_in_reverse() -> Story:
    story = Story()
    t = story.table()
    story.ddl("D", t, COMPATIBLE, tu=20, submit=18, ack=40)
    story.ddl("E", t, add_column(3, "x"), tu=30, submit=5, ack=10)
    return story
