"""I5: one version of a table, and one table under a name, as far as a transaction can see.

[110.req.1]
"""

import pytest

from ddlsim.model import ddl
from tests.support.history import Story, add_column, drop_constraint
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("single_schema", story)]


def test_two_writes_under_two_versions() -> None:
    """B1-T1: what only the strict graph shows of I3."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, drop_constraint(), tu=20)
    story.write("T", t, "y", 30, version=2)
    story.commit("T", 40)
    assert kinds(story) == ["two-versions"]


def test_an_aborted_transaction_has_seen_it_too() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, drop_constraint(), tu=20)
    story.read("T", t, "y", 30, None, version=2)
    story.abort("T", 40)
    assert kinds(story) == ["two-versions"]


def test_operations_after_a_ddl_under_the_old_version_are_one_schema() -> None:
    """B11-T1: only a metadata query could reveal the switch."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, add_column(2, "w"), tu=20)
    story.write("T", t, "y", 30)
    story.commit("T", 40)
    assert kinds(story) == []


def test_two_lists_of_columns_that_differ() -> None:
    """B11-T3"""
    story = Story()
    t = story.table()
    story.metadata("T", t, 12)
    story.ddl("D", t, add_column(2, "w"), tu=20)
    story.metadata("T", t, 32, version=2)
    [anomaly] = anomalies("single_schema", story)
    assert "was shown the columns (id, v) of version 1 of t" in anomaly.summary


def test_two_transactions_may_see_two_versions() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, add_column(2, "w"), tu=20)
    story.write("U", t, "y", 30, version=2)
    assert kinds(story) == []


def renamed(*, used: bool) -> Story:
    """B5-T4: a means the old table at 10; RENAME a TO b, CREATE a; then a means the new one."""
    story = Story()
    old = story.table("a")
    op = story.write("T", old, "x", 10)
    story.resolve("T", old, 10, 1, op=op, purpose="enlist", name="a")
    story.ddl("D", old, ddl.ObjectRenamed("a", "b"), tu=15)
    new = story.created("E", "a", tu=17, submit=16, ack=18)
    story.resolve("T", new, 20, 1, purpose="enlist", name="a")
    if used:
        story.write("T", new, "y", 20)
    return story


def test_two_tables_under_one_name() -> None:
    assert kinds(renamed(used=True)) == ["two-tables"]


def test_a_table_that_was_never_used_is_not_observed() -> None:
    assert kinds(renamed(used=False)) == []


@pytest.mark.parametrize(("renamed_from", "clause"), [(40, "98.past.2"), (70, None)])
def test_a_name_that_is_in_force_again_and_means_two_things_is_told_so(
    renamed_from: int, clause: str | None
) -> None:
    """Its table got another name behind the change of 50, which activated later."""
    story = Story()
    one, other = story.table("t"), story.table("u")
    story.ddl("D", one, add_column(2, "w"), tu=50, submit=1)
    story.ddl("E", one, ddl.ObjectRenamed("t", "s"), tu=renamed_from, submit=2)
    story.ddl("F", other, ddl.ObjectRenamed("u", "t"), tu=52, submit=3)
    story.resolve("T", one, 55, 2, purpose="enlist", name="t")
    [found] = anomalies("single_schema", story)
    assert found.kind == "two-meanings"
    assert found.clauses == ("110.req.1", clause or "110.later.3")
