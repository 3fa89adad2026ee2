"""I7, entries of indexes: orphans, missing entries, what queries found, what storage holds."""

import pytest
from msgspec.structs import replace

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.history.index_events import IndexFinal, IndexWritten
from ddlsim.history.world_events import LeftOpen, NeverCompleted, NodeCrashed
from ddlsim.model import ddl
from ddlsim.model.schema import PUBLIC, Column, Constraint
from tests.support.history import BIGINT, INT
from tests.support.judging import anomalies
from tests.support.layered import INDEX, Layered


def kinds(story: Layered) -> list[str]:
    return [one.kind for one in anomalies("index_contents", story)]


def indexed() -> Layered:
    """A table with an index that has been public from the beginning."""
    story = Layered()
    story.index("D", 1)
    return story


def test_rows_and_entries_that_agree_are_fine() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), ("put", "s", None), v=2)
    story.run("B", 25, 30, ("find", 5), ("put", "r", 6), ("find", 5), ("find", 6), v=2)
    story.run("C", 35, 40, ("delete", "r"), ("put", "s", 7), v=2)
    story.run("Q", 45, None, ("find", 5), ("find", 6), ("find", 7), ("find", None), v=2)
    story.read_back(50)
    assert kinds(story) == []


def test_a_row_without_its_entry_is_found_at_its_commit() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=1)
    (found,) = anomalies("index_contents", story)
    assert found.kind == "missing-entry"
    assert found.summary == (
        "at 20 the index i of version 2 of t (public) has no entry (5) of row 'r'; A wrote the "
        "row under version 1 of t and committed at 20"
    )


@pytest.mark.parametrize("state", ["delete_only", "write_only", "reorganization"])
def test_an_index_that_is_not_public_may_lack_entries(state: str) -> None:
    story = Layered()
    story.run("A", 1, 2, ("put", "r", 5))
    story.index("D", 5, state=state)
    assert kinds(story) == []


@pytest.mark.parametrize("state", ["delete_only", "write_only", "reorganization", PUBLIC])
def test_an_entry_without_its_row_is_an_orphan_in_every_state(state: str) -> None:
    story = Layered()
    story.index("D", 1, state=state)
    story.run("A", 10, 20, ("put", "r", 5), ("entry", "r", 5, True), v=2)
    story.run("B", 25, 30, ("delete", "r"), v=1)
    (found,) = anomalies("index_contents", story)
    assert found.kind == "orphan-entry"
    assert "put there by A; B deleted the row under version 1 of t" in found.summary


def test_an_entry_with_the_old_values_of_a_row_is_an_orphan_and_the_new_one_is_missing() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    story.run("B", 25, 30, ("put", "r", 6), v=1)
    assert kinds(story) == ["orphan-entry", "missing-entry"]


def test_an_index_is_judged_from_its_activation_on() -> None:
    story = Layered()
    story.run("A", 1, 2, ("put", "r", 5))
    story.index("D", 10)
    assert kinds(story) == ["missing-entry"]
    filled = Layered()
    filled.run("A", 1, 2, ("put", "r", 5))
    filled.index("D", 10)
    filled.run("D.fill", 9, 10, ("fill",))
    assert kinds(filled) == []


def test_what_is_repaired_was_wrong_all_the_same_and_is_told_once() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=1)
    story.run("B", 25, 30, ("put", "s", 1), v=2)
    story.run("C", 35, 40, ("put", "r", 5), v=2)
    story.read_back(50)
    assert kinds(story) == ["missing-entry"]


def test_values_are_compared_by_what_they_mean() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    altered = ddl.ColumnAltered(Column(1, "v", INT), Column(1, "v", BIGINT))
    story.ddl("E", story.t, altered, tu=30)
    story.run("Q", 35, None, ("find", 5), v=3)
    story.read_back(40)
    assert kinds(story) == []


# --- queries --------------------------------------------------------------------------------------


def test_a_query_that_finds_an_orphan_or_misses_a_row() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), ("put", "s", 7), v=2)
    story.run("B", 25, 30, ("put", "r", 6), v=1)
    story.run("Q", 35, 40, ("find", 5), ("find", 6), ("find", 7), ("put", "x", 1), v=2)
    found = [one for one in anomalies("index_contents", story) if "Q asked" in one.summary]
    assert [one.kind for one in found] == ["orphan-found", "row-not-found"]
    assert "did not find row 'r', which B had written under version 1" in found[1].summary


def test_a_query_sees_what_its_own_transaction_wrote_before_and_not_after() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), ("put", "s", 5), v=2)
    story.run(
        "B",
        25,
        30,
        ("delete", "r"),
        ("put", "n", 5),
        ("find", 5),
        ("put", "s", 6),
        ("find", 6),
        v=2,
    )
    assert kinds(story) == []


def test_a_query_that_was_executed_before_the_writes_of_its_transaction() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    story.run("B", 25, 30, ("find", 5), ("delete", "r"), ("find", 5), v=2)
    assert kinds(story) == []


@pytest.mark.parametrize("ends", [None, 40], ids=["a read-only one", "one that wrote nothing"])
def test_a_reader_under_another_version_is_judged_by_opacity(ends: int | None) -> None:
    """The index was dropped and erased; a reader that does not see that finds nothing."""
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    story.drop_index("E", 30)
    story.run("E.erase", 30, 35, ("erase",), v=3)
    story.run("Q", 40, ends, ("find", 5), v=2)
    story.read_back(50)
    assert kinds(story) == []
    assert "row-not-found" in [one.kind for one in anomalies("opacity", story)]
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    story.drop_index("E", 30)
    story.run("E.erase", 30, 35, ("erase",), v=3)
    story.run("Q", 40, 45, ("find", 5), ("put", "s", 1), v=2)
    assert kinds(story) == ["row-not-found"]


def test_queries_of_transactions_that_did_not_commit_are_left_alone() -> None:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=1)
    story.run("B", 25, 30, ("find", 5), v=2, aborts="CONFLICT")
    assert kinds(story) == ["missing-entry"]


def test_queries_of_a_read_only_transaction_are_judged_whatever_its_end() -> None:
    """[110.req.1] As its reads of rows are: it reads at one timestamp, commit or not."""
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), v=1)
    story.run("Q", 25, None, ("find", 5), v=2, aborts="TX_TIMED_OUT")
    assert kinds(story) == ["missing-entry", "row-not-found"]


# --- in the end -----------------------------------------------------------------------------------


def without(story: Layered, kind: type, **fields: object) -> list[str]:
    """What is found in a history that lacks the events of a kind with these fields."""
    history = story.history()
    history.events = [
        one
        for one in history.events
        if type(one) is not kind
        or any(getattr(one, name) != value for name, value in fields.items())
    ]
    return [one.kind for one in CHECKERS.get("index_contents").check(Case(history))]


def told() -> Layered:
    story = indexed()
    story.run("A", 10, 20, ("put", "r", 5), ("put", "s", 6), v=2)
    story.run("B", 25, 30, ("delete", "s"), v=2)
    story.read_back(50)
    return story


def test_an_entry_that_storage_lost() -> None:
    assert without(told(), IndexFinal, key="r") == ["entry-lost", "missing-entry"]


def test_an_entry_that_storage_kept_though_it_was_taken_out() -> None:
    assert without(told(), IndexWritten, tx="B") == ["orphan-entry", "entry-lost"]
    story = told()
    story.add(50, IndexFinal, "s1", story.t, INDEX, (6,), "s")
    assert kinds(story) == ["entry-not-written", "orphan-entry"]


def test_an_entry_that_no_transaction_wrote_of_a_row_that_is_there() -> None:
    assert without(told(), IndexWritten, tx="A", key="r") == ["missing-entry", "entry-not-written"]


def test_storage_is_judged_only_where_it_was_read_back_and_all_has_ended() -> None:
    story = told()
    story.add(60, NeverCompleted, "c", "op", "something")
    assert without(story, IndexFinal, key="r") == []
    assert without(told(), IndexFinal) == ["entry-lost", "missing-entry"]


@pytest.mark.parametrize("way", ["erased", "left", "cut short", "died"])
def test_nothing_is_left_of_an_index_that_was_dropped(way: str) -> None:
    story = told()
    story.drop_index("E", 40)
    if way == "erased":
        story.run("E.erase", 41, 45, ("erase",), v=3)
    if way == "cut short":
        story.add(50, LeftOpen, "p1", "E", "entries to be erased")
    if way == "died":
        story.add(46, NodeCrashed, "p1")
    assert kinds(story) == (["orphan-entry"] if way == "left" else [])


def test_what_is_left_of_a_table_that_was_dropped_is_not_judged() -> None:
    story = told()
    story.ddl("E", story.t, ddl.ObjectDropped(), tu=40)
    assert kinds(story) == []


# --- unique indexes, and other planes -------------------------------------------------------------


def duplicates(story: Layered) -> list[str]:
    found = anomalies("data_matches_schema", story)
    return [one.kind for one in found if one.kind == "unique-violated"]


def test_a_unique_index_that_is_made_public_over_two_equal_rows() -> None:
    story = Layered()
    story.index("D", 5, state="write_only", unique=True)
    story.run("A", 10, 20, ("put", "r", 5), v=1)
    story.run("B", 25, 30, ("put", "s", 5), v=1)
    assert duplicates(story) == []
    story.set_state("E", PUBLIC, 40)
    assert duplicates(story) == ["unique-violated"]


def test_a_unique_constraint_has_entries_unless_it_covers_the_key() -> None:
    covered, unique = (Constraint(8, "u", "unique", "", columns) for columns in ((0, 1), (1,)))
    story = Layered()
    story.ddl("D", story.t, ddl.ConstraintAdded(covered), tu=1)
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    assert kinds(story) == []
    story = Layered()
    story.ddl("D", story.t, ddl.ConstraintAdded(unique), tu=1)
    story.run("A", 10, 20, ("put", "r", 5), v=2)
    assert kinds(story) == ["missing-entry"]


def test_indexes_of_other_planes_leave_no_entries() -> None:
    story = told()
    story.design = replace(story.design, plane="ignite")
    assert without(story, IndexWritten) == []
