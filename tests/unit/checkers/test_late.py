"""How late a transaction used a version, and that one between two changes is no part of a cycle.

[110.valid.2] [110.x.1] [98.past.2]
"""

from typing import Any

import pytest

from ddlsim.checkers.findings import explained_by
from ddlsim.history.events import DdlDecided, Enlisted, Invoked, Ok, UpdateLogged
from ddlsim.model import ddl
from ddlsim.model.schema import Column, View
from ddlsim.scenario import findings
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import cycles, found
from tests.support.schemas import statement

VIEW = 2
FIRST, SECOND = add_column(2, "w"), add_column(3, "x")


def edges(story: Story) -> list[str]:
    return [step.edge for one in found(story, strict=True) for step in one.steps]


def reads_at(op_ts: int, **seen: Any) -> Story:
    """T reads z at op_ts under version 1, which T2 wrote under version 2, in force since 20."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, FIRST, tu=20)
    story.write("T2", t, "z", 26, version=2, **seen)
    story.commit("T2", 28)
    story.read("T", t, "z", 30, "T2", op_ts=op_ts)
    story.commit("T", 40)
    return story


@pytest.mark.parametrize(("op_ts", "late"), [(30, "late"), (19, "late, newer version read")])
def test_a_use_is_late_by_its_timestamp_or_by_the_rows_that_it_came_upon(
    op_ts: int, late: str
) -> None:
    assert f"rw-schema[newer-row, {late}]" in edges(reads_at(op_ts))
    assert f"rw-schema[newer-row, {late}, nothing found]" in edges(reads_at(op_ts, row=None))


def test_a_use_behind_newer_commits_is_told_from_one_that_reads_a_newer_version() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, FIRST, tu=20)
    story.write("T2", t, "z", 26, version=2)
    story.commit("T2", 28)
    story.write("T", t, "z", 30, op_ts=19)
    story.commit("T", 40)
    assert "rw-schema[compatible, late, judged in time]" in edges(story)


@pytest.mark.parametrize(
    ("before", "late"),
    [
        (("delete",), "late, nothing found"),
        (("put", "delete"), "late, nothing found"),
        (("put",), "late"),
        (("delete", "put"), "late"),
    ],
)
def test_a_late_delete_finds_nothing_where_its_transaction_had_deleted_the_row(
    before: tuple[str, ...], late: str
) -> None:
    """A row of before these is found by the first of them, while version 1 is in force."""
    story = Story()
    t = story.table()
    story.write("T0", t, "z", 2)
    story.commit("T0", 4)
    story.ddl("D", t, FIRST, tu=20)
    for at, kind in enumerate(before, 10):
        story.write("T", t, "z", at, **({"row": None} if kind == "delete" else {}))
    story.read("T2", t, "z", 26, "T0", version=2)
    story.commit("T2", 28)
    story.write("T", t, "z", 30, row=None)
    story.commit("T", 40)
    assert f"rw-schema[compatible, {late}]" in edges(story)


@pytest.mark.parametrize(
    ("top", "looked_up", "late"),
    [(19, 1, "late, judged in time"), (19, 2, "late"), (20, 2, "late"), (None, 1, "late")],
)
def test_a_write_that_was_looked_up_in_time_and_stamped_later_was_judged_in_time(
    top: int | None, looked_up: int, late: str
) -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, FIRST, tu=20)
    story.write("T2", t, "z", 26, version=2)
    story.commit("T2", 28)
    if top is not None:
        story.resolve("T", t, top, looked_up, op="put", at=29)
    story.write("T", t, "z", 30, op="put")
    story.resolve("T", t, 33, 2, op="put", at=33)  # of a copy of its message
    story.commit("T", 40)
    assert f"rw-schema[compatible, {late}]" in edges(story)


@pytest.mark.parametrize(
    ("top", "looked_up", "late"),
    [
        (30, 1, "late, by a wrong look-up"),
        (29, 1, "late, by a wrong look-up"),  # and its op_ts is taken behind that
        (19, 1, "late, newer version read"),
        (30, 2, "late"),
    ],
)
def test_a_use_that_its_node_had_looked_up_so_is_late_by_a_wrong_look_up(
    top: int, looked_up: int, late: str
) -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, FIRST, tu=20)
    story.write("T2", t, "z", 26, version=2)
    story.commit("T2", 28)
    story.resolve("T", t, top, looked_up, op="get", at=29)
    story.read("T", t, "z", 30, "T2", op="get")
    story.commit("T", 40)
    assert f"rw-schema[newer-row, {late}]" in edges(story)


@pytest.mark.parametrize(
    ("top", "looked_up", "mark"),
    [(30, 1, ", committed by a wrong look-up"), (19, 1, ""), (30, 2, "")],
)
def test_a_commit_that_a_wrong_look_up_let_pass_is_told_from_one_that_no_check_stopped(
    top: int, looked_up: int, mark: str
) -> None:
    """T used column v before it was dropped, and then reads what T2 left behind that."""
    story = Story()
    t, u = story.table(), story.table("u")
    story.write("T", t, "x", 10)
    story.ddl("D", t, ddl.ColumnDropped(Column(1, "v", INT)), tu=20)
    story.write("T2", t, "z", 24, version=2)
    story.write("T2", u, "z", 26)
    story.commit("T2", 28)
    story.read("T", u, "z", 29, "T2")
    story.resolve("T", t, top, looked_up, purpose="commit", at=30)
    story.commit("T", 30)
    (edge,) = [one for one in edges(story) if one.startswith("rw-schema")]
    assert edge == f"rw-schema[110.column.drop{mark}]"


WRONG_LOOK_UP = ", late, by a wrong look-up"


def uses_a_view(*, read_at: int | None = None) -> tuple[Story, int]:
    """A view that is dropped from 20 on, answered at 24, and used by T after that."""
    story = Story()
    t, view = story.table(), View(VIEW, "av", 1, "SELECT * FROM t", (1,))
    made = ddl.ObjectChange(VIEW, "view", "av", 1, view, (ddl.ObjectCreated(),))
    gone = ddl.ObjectChange(VIEW, "view", "av", 2, None, (ddl.ObjectDropped(),))
    story.add(0, UpdateLogged, "n1", None, 2, 2, ts(0), ts(0), 0, (made,))
    story.add(5, Invoked, "ddl", "d", None, "n1", "ddl", sql="DROP VIEW av")
    story.add(5, UpdateLogged, "n1", "d", 3, 3, ts(5), ts(20), 0, (gone,))
    story.add(24, Ok, "ddl", "d")
    if read_at is not None:
        story.write("T2", t, "x", 25)
        story.commit("T2", 26)
        story.begin("T", 28, read_at=read_at)
    story.add(29, Enlisted, "T", "n1", VIEW, "av", ts(29), 1)
    return story, t


@pytest.mark.parametrize(
    ("top", "looked_up", "late"), [(25, 1, WRONG_LOOK_UP), (19, 1, ""), (25, 2, "")]
)
def test_a_view_that_was_looked_up_wrongly_is_used_late(
    top: int, looked_up: int, late: str
) -> None:
    story, t = uses_a_view()
    story.resolve("T", VIEW, top, looked_up, op="get", at=29)
    story.read("T", t, "x", 29, None, op="get", named="av")
    story.commit("T", 40)
    assert f"rw-schema[110.view{late}]" in edges(story)


@pytest.mark.parametrize(
    ("purpose", "top", "looked_up", "late"),
    [
        ("enlist", 27, 1, WRONG_LOOK_UP),
        ("enlist", 19, 1, ""),
        ("enlist", 27, 2, ""),
        ("commit", 27, 1, ""),
    ],
)
def test_in_the_past_a_view_is_looked_up_by_its_name(
    purpose: str, top: int, looked_up: int, late: str
) -> None:
    """A reader that saw what was written after the view was dropped has used it."""
    story, t = uses_a_view(read_at=27)
    story.resolve("T", VIEW, top, looked_up, op="get", at=29, purpose=purpose)
    story.read("T", t, "x", 29, "T2", op="get", named="av")
    story.commit("T", 40)
    assert f"rw-schema[110.view{late}]" in edges(story)


def test_in_the_present_the_primary_decides_and_not_where_the_name_was_looked_up() -> None:
    story, t = uses_a_view()
    story.resolve("T", VIEW, 27, 1, op="get", at=29, purpose="enlist")
    story.read("T", t, "x", 29, None, op="get", named="av")
    story.commit("T", 40)
    assert "rw-schema[110.view]" in edges(story)


@pytest.mark.parametrize(("named", "executed"), [("t", False), ("av", True), ("u", True)])
def test_a_view_is_not_used_by_an_operation_that_a_commit_overtook(
    named: str, *, executed: bool
) -> None:
    """Its name was looked up; what was executed named the table."""
    story, t = uses_a_view()
    story.resolve("T", VIEW, 27, 1, op="other", at=29, purpose="enlist")
    story.read("T", t, "x", 29, None, op="get", named=named)
    story.commit("T", 40)
    assert ("rw-schema[110.view]" in edges(story)) is executed


def in_reverse(*, again_from: int) -> Story:
    """Version 3 is in force from 40 on, version 2 from `again_from`; T uses that at 55."""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story.ddl("D", t, FIRST, tu=again_from, submit=1)
    story.ddl("E", t, SECOND, tu=40, submit=2)
    story.write("T2", t, "z", 45, version=3)
    story.write("T2", u, "k", 46)
    story.commit("T2", 48)
    story.read("T", t, "y", 55, None, version=2)
    story.read("T", u, "k", 56, "T2")
    story.commit("T", 60)
    return story


@pytest.mark.parametrize(
    ("again_from", "late"), [(30, "late, nothing found"), (50, "late, in force again")]
)
def test_a_version_that_a_later_one_activated_before_is_in_force_again(
    again_from: int, late: str
) -> None:
    assert f"rw-schema[compatible, {late}]" in edges(in_reverse(again_from=again_from))


@pytest.mark.parametrize(
    ("other", "since", "early"),
    [
        (True, 25, "[in force early]"),
        (True, 30, "[in force early]"),  # which is the timestamp of the use
        (True, 31, ""),
        (False, 25, ""),  # in which there is a newer one
    ],
)
@pytest.mark.parametrize("shown", [False, True])
def test_a_version_is_in_force_early_in_a_later_version_of_the_whole_catalog(
    other: bool, since: int, early: str, shown: bool
) -> None:
    """The update of version 2 activates at 50; the one behind it, of another table, at `since`."""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story.ddl("D", t, FIRST, tu=50, submit=1)
    story.ddl("E", u if other else t, SECOND, tu=since, submit=2)
    story.read("T", t, "z", 30, None, version=1 if shown else 2)
    if shown:
        story.metadata("T", t, 30, version=2)
    story.commit("T", 32)
    story.write("T2", t, "z", 35)
    story.commit("T2", 36)
    assert f"wr-schema{early}" in edges(story)


@pytest.mark.parametrize(("since", "early"), [(20, ", in force early"), (61, "")])
def test_a_statement_uses_early_what_a_later_version_of_the_catalog_holds(
    since: int, early: str
) -> None:
    """S finds t as D leaves it at 60, in a version active from `since` on; T uses t as before."""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story.ddl("D", t, FIRST, tu=60, submit=1)
    story.ddl("E", u, FIRST, tu=since, submit=2)
    asked = statement("ALTER TABLE t DROP COLUMN IF EXISTS none")
    story.add(10, Invoked, "c", "S", None, "n1", "ddl", sql="S")
    story.add(10, DdlDecided, "n1", "S", "noop", 3, ts(since), ts(10), asked, ts(10))
    story.add(11, Ok, "c", "S")
    story.write("T", t, "x", 25)
    story.commit("T", 26)
    [found_one] = [one for one in found(story, strict=True) if one.steps]
    assert f"wr-schema[statement{early}]" in [step.edge for step in found_one.steps]
    assert explained_by("I3", found_one, findings.known()) == ("F-23" if early else "F-18")


def between(change: Any = SECOND) -> Story:
    """T ran before the first change and reads what T2 left after the second; L ran late between."""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story.write("T", t, "x", 10)
    story.ddl("D", t, FIRST, tu=20)
    story.ddl("E", t, change, tu=30)
    story.read("L", t, "y", 35, None, version=2)
    story.commit("L", 36)
    story.write("T2", t, "z", 37, version=3)
    story.write("T2", u, "k", 38)
    story.commit("T2", 39)
    story.read("T", u, "k", 45, "T2")
    story.commit("T", 50)
    return story


def test_a_transaction_between_two_changes_of_its_table_is_no_part_of_a_cycle() -> None:
    """The two changes are in that order anyway, and the rest is a cycle by itself."""
    assert cycles(between(), strict=True) == ["D3 < D4 < T2 < T < D3"]
    incompatible = between(ddl.ColumnDropped(add_column(2, "w").column))
    assert all("L" not in cycle for cycle in cycles(incompatible, strict=True))
