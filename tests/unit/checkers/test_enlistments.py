"""Which enlistments count, and what the judges make of a second one [110.quirk]."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.enlistments import COORDINATOR_RETRY
from ddlsim.checkers.judge import judge
from ddlsim.history.events import Enlisted, Invoked, Ok, Unknown, UpdateLogged
from ddlsim.model import ddl
from ddlsim.model.schema import Column, View
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies

VIEW, INNER = 7, 8


def enlist(story: Story, at: float, object_id: int, version: int, name: str = "t") -> None:
    story.add(at, Enlisted, "T", "n1", object_id, name, ts(int(at)), version)


def look_up(story: Story, at: int, object_id: int, version: int, name: str | None = "t") -> None:
    story.resolve("T", object_id, at, version, purpose="enlist", name=name, op="op")


def view(story: Story, id_: int, name: str, reads: int, *, at: int = 0, version: int = 1) -> None:
    made = View(id_, name, version, "", (reads,))
    change: Any = ddl.ObjectCreated() if version == 1 else ddl.ObjectRenamed("v", name)
    update = ddl.ObjectChange(id_, "view", name, version, made, (change,))
    story._catalog += 1
    catalog, top = story._catalog, ts(at)
    story.add(at, UpdateLogged, "n1", None, catalog, catalog, top, top, 0, (update,))


def counted(story: Story) -> list[tuple[int, int]]:
    tx = Case(story.history()).transactions["T"]
    return [(event.object_id, event.version) for _, event in tx.enlisted]


def twice(*, named: bool = True) -> tuple[Story, int]:
    """A table that is enlisted at 10, before its change at 20, and behind that at 30."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=1)
    for at, version in ((10, 1), (30, 2)):
        look_up(story, at, t, version, "t" if named else None)
        enlist(story, at, t, version)
    story._enlisted["T"] = {t: 2}
    return story, t


@pytest.mark.parametrize("named", [True, False])
def test_the_last_of_two_enlistments_counts_if_nothing_had_run(*, named: bool) -> None:
    story, t = twice(named=named)
    story.write("T", t, "x", 40, 2)
    assert counted(story) == [(t, 2)]
    story.commit("T", 50)
    assert [anomalies(name, story) for name in ("single_schema", "uniform_commit")] == [[], []]


def test_an_enlistment_behind_the_abort_takes_no_place() -> None:
    """An operation that waited for metadata comes to it late: the mark rests on the first one."""
    story = Story()
    t = story.table()
    story.ddl("D", t, ddl.ColumnDropped(Column(1, "v", INT)), tu=20, submit=1)
    for at, version in ((10, 1), (30, 2)):
        look_up(story, at, t, version)
        enlist(story, at, t, version)
        if version == 1:
            story.abort("T", 25, "ROLLBACK_ONLY")
    assert counted(story) == [(t, 1), (t, 2)]
    assert anomalies("precision", story) == []


def test_an_enlistment_hides_nothing_once_something_had_run() -> None:
    """By what was executed, and not by what a design says: I2 and I5 convict it."""
    story, t = twice()
    story.read("T", t, "x", 15, None)
    story.write("T", t, "x", 40, 2)
    assert counted(story) == [(t, 1), (t, 2)]
    story.commit("T", 50)
    [two] = anomalies("single_schema", story)
    [mixed] = anomalies("uniform_commit", story)
    assert (two.kind, mixed.kind) == ("two-versions", "mixed-commit")


def test_an_enlistment_hides_nothing_that_runs_under_the_first_one_later() -> None:
    story, t = twice()
    story.write("T", t, "x", 40, 1)
    assert counted(story) == [(t, 1), (t, 2)]


def test_shown_columns_are_a_use() -> None:
    story, t = twice()
    story.metadata("T", t, 15)
    assert counted(story) == [(t, 1), (t, 2)]


def test_the_same_version_twice_counts_once() -> None:
    """A view has changed alone."""
    story = Story()
    t = story.table()
    for at in (10, 30):
        look_up(story, at, t, 1)
        enlist(story, at, t, 1)
    story._enlisted["T"] = {t: 1}
    story.write("T", t, "x", 40)
    assert counted(story) == [(t, 1)]


def viewed(*, used: bool = False) -> tuple[Story, int]:
    """A view of a table, which is renamed at 20; both are enlisted at 10 and at 30."""
    story = Story()
    t = story.table()
    view(story, VIEW, "v", t)
    view(story, VIEW, "y", t, at=20, version=2)
    for at, version in ((10, 1), (30, 2)):
        look_up(story, at, VIEW, version, "v" if version == 1 else "y")
        enlist(story, at, VIEW, version, "v" if version == 1 else "y")
        enlist(story, at, t, 1)
        story._enlisted["T"] = {t: 1}
        if version == 1 and used:
            story.read("T", t, "x", 15, None)
    return story, t


def test_a_view_is_forgotten_with_its_table_and_used_with_it() -> None:
    assert counted(viewed()[0]) == [(VIEW, 2), (1, 1)]
    assert counted(viewed(used=True)[0]) == [(VIEW, 1), (1, 1), (VIEW, 2), (1, 1)]


def test_a_table_that_is_enlisted_again_takes_its_views_along() -> None:
    """The first use was by a view, the second one is by the table's own name."""
    story = Story()
    t = story.table()
    view(story, VIEW, "v", t)
    look_up(story, 10, VIEW, 1, "v")
    enlist(story, 10, VIEW, 1, "v")
    enlist(story, 10, t, 1)
    look_up(story, 30, t, 1)
    enlist(story, 30, t, 1)
    assert counted(story) == [(t, 1)]


def test_a_view_beside_a_table_that_is_enlisted_hides_nothing() -> None:
    story = Story()
    t = story.table()
    view(story, VIEW, "v", t)
    look_up(story, 10, t, 1)
    enlist(story, 10, t, 1)
    look_up(story, 30, VIEW, 1, "v")
    enlist(story, 30, VIEW, 1, "v")
    assert counted(story) == [(t, 1), (VIEW, 1)]


def test_a_name_that_means_another_table_later_was_not_used_before() -> None:
    """I5 takes a view as used where its name was looked up; not one that was given up unused."""
    story = Story()
    t, u = story.table(), story.table("u")
    view(story, VIEW, "v", t)
    view(story, VIEW, "old", t, at=20, version=2)
    view(story, INNER, "v", u, at=21)
    look_up(story, 10, VIEW, 1, "v")
    enlist(story, 10, VIEW, 1, "v")
    enlist(story, 10, t, 1)
    look_up(story, 30, INNER, 1, "v")
    enlist(story, 30, INNER, 1, "v")
    enlist(story, 30, u, 1)
    assert counted(story) == [(INNER, 1), (u, 1)]
    assert list(Case(story.history()).transactions["T"].forgotten) == [VIEW, t]
    assert [one.kind for one in anomalies("single_schema", story)] == []


@pytest.mark.parametrize(
    ("ops", "at_primary", "counts"),
    [
        (("one", "other", "other"), None, [1]),  # what the first one found was refused by nothing
        (("one", "one", "one"), None, []),
        (("one", "other", "one"), None, []),
        (("one", "other"), None, [1]),
        (("one", "other"), "other", []),  # it had used what the first one found
        (("one", "other"), "one", [1]),
    ],
)
def test_a_look_up_takes_the_place_of_what_its_own_operation_had_before(
    ops: tuple[str, ...], at_primary: str | None, counts: list[int]
) -> None:
    """Two operations look up one name, which means a new table for the one that comes later."""
    story = Story()
    t, u = story.table(), story.table("u")
    for place, op in enumerate(ops):
        at, table = 10 * (place + 1), u if place else t
        story.resolve("T", table, at, 1, purpose="enlist", name="t", op=op)
        enlist(story, at, table, 1)
        if at_primary is not None and not place:
            story.resolve("T", t, 15, 1, op=at_primary)
    assert (t, u) == (1, 2)
    assert counted(story) == [*((one, 1) for one in counts), (u, 1)]


@pytest.mark.parametrize("runs_before", [False, True])
def test_what_a_name_meant_before_it_was_given_up_may_be_used_by_another_name(
    *, runs_before: bool
) -> None:
    """Two tables swap their names between the enlistment of one and that of the other."""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story._enlisted["T"] = {t: 1, u: 1}
    for at, table, name in ((10, t, "t"), (30, u, "t"), (40, t, "u")):
        look_up(story, at, table, 1, name)
        enlist(story, at, table, 1, name)
        if runs_before and at == 10:
            story.read("T", t, "x", 11, None)
    for at, table in ((41, u), (42, t)):
        story.read("T", table, "x", at, None)
    found = [one.kind for one in anomalies("single_schema", story)]
    assert found == (["two-tables"] if runs_before else [])


def test_what_runs_later_by_a_name_that_means_another_table_now_was_used() -> None:
    """The table itself was not enlisted again, so what ran was of the first meaning: I5."""
    story = Story()
    t, u = story.table(), story.table("u")
    view(story, VIEW, "v", t)
    view(story, VIEW, "old", t, at=20, version=2)
    view(story, INNER, "v", u, at=21)
    for at, view_id, table in ((10, VIEW, t), (30, INNER, u)):
        look_up(story, at, view_id, 1, "v")
        enlist(story, at, view_id, 1, "v")
        enlist(story, at, table, 1)
    story._enlisted["T"] = {t: 1, u: 1}
    for at, table in ((40, t), (41, u)):
        story.read("T", table, "x", at, None)
    assert counted(story) == [(VIEW, 1), (t, 1), (INNER, 1), (u, 1)]
    assert [one.kind for one in anomalies("single_schema", story)] == ["two-tables"]


# --- the quirk -----------------------------------------------------------------------------------


def refused(
    rule: str = COORDINATOR_RETRY,
    *,
    other: float | None = None,
    kind: str = "put",
    gave_up: bool = False,
) -> Any:
    """The first operation on a table, which a change overtakes; another one is under way."""
    story = Story()
    story.design = replace(story.design, rules={"enlists_again": rule})
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=1)
    story.add(18, Invoked, "c", "op", "T", "n1", kind, table="t", key="x")
    if other is not None:
        story.add(18, Invoked, "c2", "other", "T", "n1", "get", table="u", key="x")
        ended: Any = (
            (Unknown, "c2", "other", "NODE_UNREACHABLE") if gave_up else (Ok, "c2", "other")
        )
        story.add(other, *ended)
    story._enlist("T", t, 19, 1)
    story.resolve("T", t, 20, 1, op="op")
    story.abort("T", 21, "SCHEMA_CHANGED")
    found = [one.kind for one in anomalies("precision", story)]
    return found, judge(story.history()).measures.needless_aborts


def test_the_quirk_is_needless_where_the_design_enlists_again() -> None:
    assert refused() == (["not-enlisted-again"], {"not-enlisted-again": 1})
    assert refused("client_retry") == ([], {"quirk": 1})


def test_what_the_design_leaves_out_stays_a_quirk() -> None:
    """Another operation under way, also if its client gave up; a scan of several partitions."""
    assert refused(other=30) == ([], {"quirk": 1})
    assert refused(other=17.5)[0] == ["not-enlisted-again"]
    assert refused(other=17.5, gave_up=True)[1] == {"quirk": 1}
    assert refused(kind="scan") == ([], {"quirk": 1})


@pytest.mark.parametrize(("version", "found"), [(1, []), (2, ["nothing-changed"])])
def test_a_request_of_the_version_before_is_refused_with_need(
    version: int, found: list[str]
) -> None:
    """Option 1: two operations are under way, and the second has gone on to version 2 at 21."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=1)
    for op, at, known in (("late", 19 if version == 1 else 20, version), ("next", 21, 2)):
        story.add(at, Invoked, "c", op, "T", "n1", "put", table="t", key="x")
        story.resolve("T", t, at, known, op=op, purpose="enlist")
        if at != 20:
            story.add(at, Enlisted, "T", "n1", t, "t", ts(at), known)
    story.read("T", t, "x", 22, None, version=2)
    story.resolve("T", t, 23, 2, op="late")
    story.abort("T", 24, "SCHEMA_CHANGED")
    assert [one.kind for one in anomalies("precision", story)] == found
