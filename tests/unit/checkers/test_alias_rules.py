"""Old names before the judges: who may commit by one, when one may end, and what one may mean."""

import pytest
from msgspec.structs import replace

from ddlsim.checkers.argument import party_of
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.graph.graph import graph_of
from ddlsim.history.events import Enlisted, UpdateLogged
from ddlsim.model import ddl
from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import ObjectChange, ObjectCreated, ObjectDropped, SimpleChange
from ddlsim.model.schema import Alias, SchemaObject
from tests.support.history import Story, ts
from tests.support.judging import anomalies

T, OLD, OTHER = 1, 2, 3
"""The table, its old name, and another table that takes that name."""
WINDOW_MS = 40


def logged(story: Story, number: int, tu: int, *objects: ObjectChange) -> None:
    story.add(tu, UpdateLogged, "n1", f"d{number}", number, number, ts(tu), ts(tu), 0, objects)


def change(
    object_id: int, kind: str, version: int, found: SchemaObject | None, simple: SimpleChange
) -> ObjectChange:
    return ObjectChange(object_id, kind, "s" if object_id == T else "t", version, found, (simple,))


def renamed(until: int | None = 60) -> Story:
    """t is s from 20 on; the old name, for which 40 ms were promised, ends at `until`."""
    story = Story()
    story.table("t")
    new = replace(story.definition(T, 1), name="s", version=2)
    alias = Alias(OLD, "t", 1, "", (T,), WINDOW_MS)
    story.add_version(T, new)
    logged(
        story,
        2,
        20,
        change(T, "table", 2, new, ObjectAliased("t", "s", OLD)),
        change(OLD, "alias", 1, alias, ObjectCreated()),
    )
    if until is not None:
        logged(story, 3, until, change(OLD, "alias", 2, None, ObjectDropped()))
    return story


def kinds(checker: str, story: Story) -> list[str]:
    return [one.kind for one in anomalies(checker, story)]


# --- I8: who may commit ---------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "found"), [(20, []), (59, []), (60, ["incompatible-commit"])])
def test_a_writer_before_a_rename_may_commit_until_the_alias_ends(
    at: int, found: list[str]
) -> None:
    story = renamed()
    story.write("W", T, "x", 10)
    story.commit("W", at)
    assert kinds("forward_compatible", story) == found
    assert kinds("uniform_commit", story) == ["inconsistent-row" for _ in found]


def test_a_user_of_the_new_name_may_commit_after_the_alias_ends() -> None:
    story = renamed()
    story.write("W", T, "x", 30, version=2)
    story.commit("W", 90)
    assert kinds("forward_compatible", story) == kinds("uniform_commit", story) == []


def test_a_user_of_the_alias_may_not_commit_after_its_end() -> None:
    for at, found in ((59, []), (60, ["incompatible-commit"])):
        story = renamed()
        story.write("W", T, "x", 30, version=2)
        story.commit("W", at, tables=((T, 2, 2), (OLD, 1, 1)))
        assert kinds("forward_compatible", story) == found


def test_the_steps_by_time_and_for_ever() -> None:
    schemas = Case(renamed().history()).schemas
    assert [step.object_id for step in schemas.steps_at(T, 1, ts(59))] == [T]
    assert [step.object_id for step in schemas.steps_at(T, 1, ts(60))] == [T, OLD]
    assert [step.object_id for step in schemas.steps_at(T, 1, None)] == [T, OLD]
    assert schemas.steps_at(T, 2, None) == schemas.steps_at(T, 1, ts(19)) == []


@pytest.mark.parametrize(("at", "found"), [(59, ["compatible-change"]), (60, [])])
def test_an_abort_for_a_rename_is_needless_while_the_old_name_stays(
    at: int, found: list[str]
) -> None:
    story = renamed()
    story.write("W", T, "x", 10)
    story.resolve("W", T, at, 2, purpose="commit")
    story.abort("W", at, "SCHEMA_INCOMPATIBLE")
    assert kinds("precision", story) == found


@pytest.mark.parametrize(("at", "found"), [(59, ["marked-too-early"]), (60, [])])
def test_a_mark_is_for_the_end_of_the_old_name_though_a_later_change_is_worse(
    at: int, found: list[str]
) -> None:
    story = renamed()
    gone = ddl.ColumnDropped(story.definition(T, 2).columns[-1])
    later = replace(story.definition(T, 2), version=3)
    story.add_version(T, later)
    logged(story, 4, 100, change(T, "table", 3, later, gone))
    story.write("W", T, "x", 10)
    story.abort("W", at, "ROLLBACK_ONLY")
    assert kinds("precision", story) == found


# --- I12: when it may end -------------------------------------------------------------------------


@pytest.mark.parametrize(("until", "found"), [(None, []), (59, ["alias-ended-early"]), (60, [])])
def test_the_window_is_kept(until: int | None, found: list[str]) -> None:
    assert kinds("machinery", renamed(until)) == found


@pytest.mark.parametrize(("together", "found"), [(True, []), (False, ["alias-of-nothing"])])
def test_an_alias_ends_with_its_table(together: bool, found: list[str]) -> None:
    story = renamed(None)
    gone = [change(T, "table", 3, None, ObjectDropped())]
    if together:
        gone.append(change(OLD, "alias", 2, None, ObjectDropped()))
    logged(story, 3, 30, *gone)
    assert kinds("machinery", story) == found


def test_an_alias_that_has_ended_is_not_left_by_a_later_drop() -> None:
    story = renamed(60)
    logged(story, 4, 70, change(T, "table", 3, None, ObjectDropped()))
    assert kinds("machinery", story) == []


# --- I5: what it may mean -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("created", "at", "found"), [(30, 40, ["two-meanings"]), (30, 60, []), (60, 70, [])]
)
def test_a_name_means_one_thing_at_a_time(created: int, at: int, found: list[str]) -> None:
    """Whichever of the two is found: here the new one."""
    story = renamed()
    other = replace(story.definition(T, 1), id=OTHER, name="t")
    logged(story, 4, created, change(OTHER, "table", 1, other, ObjectCreated()))
    story.resolve("W", OTHER, at, 1, purpose="enlist", name="t")
    assert kinds("single_schema", story) == found


def test_a_transaction_that_holds_on_to_an_alias_sees_no_other_table_under_its_name() -> None:
    """An alias has no rows: what is observed is the table behind it."""
    story = renamed()
    other = replace(story.definition(T, 1), id=OTHER, name="t")
    logged(story, 4, 60, change(OTHER, "table", 1, other, ObjectCreated()))
    op = story.write("W", T, "x", 30, version=2)
    story.resolve("W", OLD, 30, 1, op=op, purpose="enlist", name="t")
    assert kinds("single_schema", story) == []
    story.add_version(OTHER, other)
    op = story.write("W", OTHER, "x", 70)
    story.resolve("W", OTHER, 70, 1, op=op, purpose="enlist", name="t")
    assert kinds("single_schema", story) == ["two-tables"]


# --- I3: before what it comes ---------------------------------------------------------------------


def test_users_of_an_alias_precede_its_end_in_the_graph() -> None:
    story = renamed()
    story.write("W", T, "x", 30, version=2)
    story.add(30, Enlisted, "W", "n1", OLD, "t", ts(30), 1)
    story.commit("W", 40)
    graph = graph_of(Case(story.history()))
    labels = [node.label for node in graph.nodes]
    edges = [(labels[edge.source], labels[edge.target]) for edge in graph.edges]
    assert ("W", "D3") in edges
    assert ("D3", "W") not in edges


def test_an_update_that_no_client_asked_for_is_told_by_its_name() -> None:
    case = Case(renamed().history())
    assert [party_of(case, name).did for name in ("D1", "D3")] == ["the initial schema", "d3"]
