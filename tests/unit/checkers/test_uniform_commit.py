"""I2: one version per table on all nodes, and rows that may exist at commit_ts. [98.one]"""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import TxCommitted
from ddlsim.model import ddl
from ddlsim.model.schema import Column, Comparison, Constraint
from tests.support.history import BIGINT, INT, Story, add_column, ts
from tests.support.judging import anomalies

INCOMPATIBLE = ddl.ColumnDropped(Column(1, "v", INT))


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("uniform_commit", story)]


def test_two_nodes_on_two_versions_are_a_mixed_commit() -> None:
    """A0-T1, with a change that is forward-compatible in itself."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=5)
    story.write("T", t, "x", 10, node="A", version=2)
    story.write("T", t, "y", 12, node="B", version=1)
    story.commit("T", 15)
    [anomaly] = anomalies("uniform_commit", story)
    assert anomaly.kind == "mixed-commit"
    assert "version 2 of t on node A" in anomaly.summary
    assert "version 1 on node B" in anomaly.summary


def test_uniform_commit_judges_committed_transactions_only() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=5)
    story.write("T", t, "x", 10, version=2)
    story.write("T", t, "y", 12, version=1)
    story.abort("T", 15)
    assert kinds(story) == []


V, W = Column(1, "v", INT), Column(2, "w", INT)


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ((ddl.ColumnDropped(V), add_column(2, "v")), "110.compat.id"),
        ((add_column(2, "w"), ddl.ColumnDropped(Column(2, "w", INT))), "110.compat.id"),
        ((add_column(2, "w"), ddl.ColumnAltered(W, replace(W, default=7))), "110.compat.id"),
        ((ddl.ColumnDropped(V), add_column(2, "v", type=BIGINT)), "110.compat.id"),
        ((ddl.ColumnDropped(V), add_column(2, "v", default=7)), "110.fwd.1"),
        ((ddl.ColumnDropped(V), add_column(2, "w")), "110.fwd.1"),
        ((ddl.ColumnDropped(V),), "110.fwd.1"),
        ((ddl.ObjectRenamed("t", "u"),), "110.fwd.1"),
        ((ddl.ObjectDropped(),), "110.fwd.1"),
    ],
)
def test_it_is_told_where_columns_compared_by_name_would_do(
    changes: tuple[Any, ...], clause: str
) -> None:
    """F-12 is recognised by it."""
    story = Story()
    t = story.table()
    story.ddl("D", t, *changes, tu=20)
    story.write("T", t, "x", 10)
    story.commit("T", 30)
    [anomaly] = anomalies("uniform_commit", story)
    assert (anomaly.kind, anomaly.clauses) == ("inconsistent-row", ("98.one", clause))


def test_a_constraint_that_goes_with_its_column_would_do_by_name() -> None:
    bound = Constraint(9, "k", "check", "v > 0", (1,), Comparison(0, ">", 0))
    story = Story()
    t = story.table()
    story.ddl("D1", t, ddl.ConstraintAdded(bound), tu=5)
    gone = ddl.ColumnDropped(V), ddl.ConstraintDropped(bound)
    story.ddl("D2", t, *gone, add_column(2, "v"), tu=20)
    story.write("T", t, "x", 10, version=2)
    story.commit("T", 30)
    [anomaly] = anomalies("uniform_commit", story)
    assert anomaly.clauses == ("98.one", "110.compat.id")


@pytest.mark.parametrize(
    ("change", "commit", "kind"),
    [
        (INCOMPATIBLE, 19, []),
        (INCOMPATIBLE, 20, ["inconsistent-row"]),
        (add_column(2, "w"), 40, []),
        (ddl.ObjectDropped(), 40, ["inconsistent-row"]),
    ],
)
def test_a_row_may_exist_at_its_commit_ts_or_not(change: Any, commit: int, kind: list[str]) -> None:
    """commit_ts = Tu: the row already counts under the new schema."""
    story = Story()
    t = story.table()
    story.ddl("D", t, change, tu=20)
    story.write("T", t, "x", 10)
    story.commit("T", commit)
    assert kinds(story) == kind


def test_a_row_of_a_version_that_is_not_active_yet_is_inconsistent() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=1)
    story.write("T", t, "x", 10, version=2)
    story.commit("T", 19)
    assert kinds(story) == ["inconsistent-row"]


def test_reading_alone_leaves_no_row() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, INCOMPATIBLE, tu=20)
    story.read("T", t, "x", 10, None)
    story.commit("T", 40)
    assert kinds(story) == []


def test_a_participant_that_stamps_its_own_commit_ts() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.write("T", t, "y", 10)
    story.commit("T", 12)
    story.kept(t, "x", "T", 12, 100)
    assert kinds(story) == []
    story.kept(t, "y", "T", 13, 100)
    assert kinds(story) == ["several-commit-timestamps"]


def test_a_commit_that_is_stored_again_with_another_commit_ts() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.commit("T", 12)
    story.commit("T", 14, commit_ts=12, op="again")
    assert kinds(story) == []
    story.commit("T", 16, op="third")
    assert kinds(story) == ["several-commit-timestamps"]


def test_a_commit_names_the_tables_that_were_used_and_their_versions() -> None:
    def story(*tables: tuple[int, int, int]) -> Story:
        found = Story()
        t = found.table()
        found.write("T", t, "x", 10)
        found.add(12, TxCommitted, "n1", "T", ts(12), tables)
        return found

    assert kinds(story((1, 1, 1))) == []
    assert kinds(story((1, 1, 1), (2, 1, 1))) == []
    assert kinds(story()) == ["tables-not-as-used"]
    assert kinds(story((1, 2, 2))) == ["tables-not-as-used"]
