"""I8: from I to C, step by step at commit_ts. [110.valid.1] [110.compat.steps]"""

from typing import Any

import pytest

from ddlsim.history.events import TxCommitted, UpdateLogged
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import BIGINT, INT, Story, add_column, drop_constraint, ts
from tests.support.judging import anomalies
from tests.unit.checkers.test_enlistments import VIEW, enlist, view

V = Column(1, "v", INT)


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("forward_compatible", story)]


def crossing(*changes: Any, commit: int = 40) -> Story:
    """T runs under v1 at 10 and commits; one DDL a change, from 20 on."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    for at, change in enumerate(changes):
        story.ddl(f"D{at}", t, *change, tu=20 + at)
    story.commit("T", commit)
    return story


@pytest.mark.parametrize(
    ("commit", "kind"), [(19, []), (20, ["incompatible-commit"]), (40, ["incompatible-commit"])]
)
def test_a_dropped_column_at_commit(commit: int, kind: list[str]) -> None:
    """B3-T2, B3-T3, B3-T4: whatever was validated, commit_ts >= Tu decides."""
    assert kinds(crossing((ddl.ColumnDropped(V),), commit=commit)) == kind


@pytest.mark.parametrize(
    "change",
    [add_column(2, "w"), drop_constraint(), ddl.ColumnAltered(V, Column(1, "v", BIGINT))],
)
def test_compatible_steps_pass(change: Any) -> None:
    assert kinds(crossing((change,))) == []


def test_each_step_counts_even_if_the_ends_are_equal() -> None:
    """B6-T1, B6-T3: ADD then DROP, SET DEFAULT and back."""
    back = Column(1, "v", INT, default=5)
    assert kinds(crossing((add_column(2, "w"),), (ddl.ColumnDropped(Column(2, "w", INT)),)))
    assert kinds(crossing((ddl.ColumnAltered(V, back),), (ddl.ColumnAltered(back, V),)))


@pytest.mark.parametrize("order", [1, -1])
def test_one_incompatible_change_decides_a_compound_change(order: int) -> None:
    """B6-T4: DROP c1, ADD c2, in either order."""
    changes = (ddl.ColumnDropped(V), add_column(2, "w"))[::order]
    [anomaly] = anomalies("forward_compatible", crossing(changes))
    assert anomaly.clauses == ("110.valid.1", "110.column.drop")


def test_a_column_dropped_and_added_again_is_another_one() -> None:
    """B6-T2: ids, never names [110.compat.id]."""
    assert kinds(crossing((ddl.ColumnDropped(V),), (add_column(2, "v"),)))


def test_a_transaction_that_only_read_is_judged_too() -> None:
    story = Story()
    t = story.table()
    story.read("T", t, "x", 10, None)
    story.ddl("D", t, ddl.ColumnDropped(V), tu=20)
    story.commit("T", 40)
    assert kinds(story) == ["incompatible-commit"]


def test_the_log_decides_and_not_what_the_validator_saw() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, ddl.ColumnDropped(V), tu=20)
    story.commit("T", 40, tables=((t, 1, 1),))
    assert kinds(story) == ["incompatible-commit"]


def test_another_tables_change_is_compatible() -> None:
    story = Story()
    a, b = story.table("a"), story.table("b")
    story.write("T", a, "x", 10)
    story.ddl("D", b, ddl.ObjectDropped(), tu=20)
    story.commit("T", 40)
    assert kinds(story) == []


def test_a_version_from_the_future_has_no_way_to_the_commit_schema() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=1)
    story.write("T", t, "x", 10, version=2)
    story.commit("T", 19)
    assert kinds(story) == ["not-yet-active"]


def test_aborted_transactions_never_count() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, ddl.ColumnDropped(V), tu=20)
    story.abort("T", 40)
    assert kinds(story) == []


@pytest.mark.parametrize(("at", "found"), [(21, ["incompatible-commit"]), (19, [])])
@pytest.mark.parametrize("runs", [True, False])
def test_the_view_of_an_operation_counts_though_no_commit_check_names_it(
    runs: bool, at: int, found: list[str]
) -> None:
    """The view is dropped at 20; its table stays as it is."""
    story = Story()
    t = story.table()
    view(story, VIEW, "v", t)
    drop = ddl.ObjectChange(VIEW, "view", "v", 2, None, (ddl.ObjectDropped(),))
    story.add(20, UpdateLogged, "n1", None, 9, 9, ts(20), ts(20), 0, (drop,))
    enlist(story, 10, VIEW, 1, "v")
    if runs:
        story.write("T", t, "x", 11)
    story.add(at, TxCommitted, "n1", "T", ts(at), ())
    assert kinds(story) == (found if runs else [])
