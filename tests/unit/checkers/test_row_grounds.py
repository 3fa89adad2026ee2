"""I11: what a refusal because of a column, a row or a key must have behind it."""

from typing import Any

import pytest

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.extent import extents
from ddlsim.checkers.judge import judge
from ddlsim.history.events import (
    Enlisted,
    Failed,
    Invoked,
    LockWaited,
    Named,
    ReadExecuted,
    RowRead,
    UpdateLogged,
)
from ddlsim.history.world_events import LeaseBegan
from ddlsim.model import ddl
from ddlsim.model.schema import Column, View
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies

COLUMNS = (
    Column(0, "id", INT, nullable=False),
    Column(1, "v", INT),
    Column(2, "n", INT, nullable=False),
    Column(3, "d", INT, nullable=False, default=7),
)


def world(*, tells: bool = True) -> Story:
    return Story(settings={"": {"tells_names": int(tells), "calm": 1}, "n1": {}, "n2": {}})


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


# --- columns -------------------------------------------------------------------------------------


def named(*columns: str, version: int = 1, tells: bool = True, names: bool = True) -> Story:
    """T asks for these columns of t, of which it has enlisted a version; version 2 has `w`."""
    story = world(tells=tells)
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=5, submit=1)
    story.begin("T", 10)
    story.add(11, Invoked, "client of T", "T.s", "T", "n1", "scan", table="t")
    if names:
        story.add(11, Named, "client of T", "T.s", columns)
    story._enlist("T", t, 12, version)
    story.abort("T", 13, "COLUMN_NOT_FOUND")
    return story


def test_a_column_is_missing_in_the_version_that_is_enlisted() -> None:
    assert kinds(named("v", "w")) == []
    assert kinds(named("v", "w", version=2)) == ["column-exists"]
    assert kinds(named("id", "v")) == ["column-exists"]
    assert kinds(named("x", version=2)) == []


def test_what_names_no_column_misses_none() -> None:
    assert kinds(named(names=False)) == ["no-column-named"]


def test_histories_without_names_leave_reasons_undecided() -> None:
    story = named(names=False, tells=False)
    assert kinds(story) == []
    (extent,) = [one for one in extents(Case(story.history())) if one.checker == "precision"]
    assert extent.amounts["of them not judged"] == 1
    told = named(names=False)
    (extent,) = [one for one in extents(Case(told.history())) if one.checker == "precision"]
    assert extent.amounts["of them not judged"] == 0


@pytest.mark.parametrize(("column", "found"), [("v", ["column-exists"]), ("x", [])])
def test_a_view_has_the_columns_of_its_table(column: str, found: list[str]) -> None:
    story = world()
    t = story.table()
    view = View(9, "w", 1, "SELECT * FROM t", (t,))
    made = (ddl.ObjectChange(9, "view", "w", 1, view, (ddl.ObjectCreated(),)),)
    story.add(1, UpdateLogged, "n1", "D", 9, 9, ts(1), ts(1), 0, made)
    story.add(11, Invoked, "c", "T.s", "T", "n1", "scan", table="w")
    story.add(11, Named, "c", "T.s", (column,))
    story.add(12, Enlisted, "T", "n1", 9, "w", ts(12), 1)
    story.add(12, Enlisted, "T", "n1", t, "t", ts(12), 1)
    story.abort("T", 13, "COLUMN_NOT_FOUND")
    assert kinds(story) == found


# --- rows ----------------------------------------------------------------------------------------


def unfit(
    kind: str, values: dict[str, Any] | None, *, key: Any = 1, by_client: bool = True
) -> list[str]:
    """A row of T is called unfit, by its client or at its primary."""
    story = world()
    t = story.table(columns=COLUMNS)
    story.begin("T", 10)
    story.add(11, Invoked, "c", "T.w", "T", "n1", kind, table="t", key=key)
    if values is not None:
        story.add(11, Named, "c", "T.w", (), values)
    story._enlist("T", t, 12, 1)
    if by_client:
        story.add(14, Failed, "c", "T.w", "BAD_ROW")
    story.abort("T", 13, "ROLLED_BACK" if by_client else "BAD_ROW")
    found = kinds(story)
    assert judge(story.history()).measures.needless_aborts == ({"row-fits": 1} if found else {})
    return found


@pytest.mark.parametrize("by_client", [True, False])
@pytest.mark.parametrize(
    ("kind", "values", "key", "found"),
    [
        ("put", {"n": 1}, 1, ["row-fits"]),
        ("insert", {"v": None, "n": 1, "d": 2}, 1, ["row-fits"]),
        ("replace", None, 1, ["row-fits"]),
        ("put", {"v": 1}, 1, []),
        ("put", {"n": None}, 1, []),
        ("put", {"n": 1, "d": None}, 1, []),
        ("put", {"n": 1, "x": 1}, 1, []),
        ("put", {"n": 1}, None, []),
        ("put", {"n": 1}, (1, 2), []),
        ("put", {"n": 1}, "k1", []),
        ("update", {"v": None}, 1, ["row-fits"]),
        ("update", {"n": None}, 1, []),
        ("update", {"id": 2}, 1, []),
        ("update", {"x": 2}, 1, []),
    ],
)
def test_bad_row_needs_a_row_that_does_not_fit(
    kind: str, values: Any, key: Any, found: list[str], *, by_client: bool
) -> None:
    assert unfit(kind, values, key=key, by_client=by_client) == found


@pytest.mark.parametrize(
    ("looks_up", "found"), [("u", []), ("w", ["row-fits"]), (None, ["row-fits"])]
)
def test_a_table_that_is_known_by_another_name_keeps_its_enlistment(
    looks_up: str | None, found: list[str]
) -> None:
    """It was renamed meanwhile, and its old name has ended: a look-up alone tells the new one."""
    story = world()
    t = story.table(columns=COLUMNS)
    story.begin("T", 10)
    story._enlist("T", t, 11, 1)
    story.add(12, Invoked, "c", "T.w", "T", "n1", "put", table="u", key=1)
    story.add(12, Named, "c", "T.w", (), {"v": 1})
    if looks_up is not None:
        story.resolve("T", t, 13, 2, purpose="enlist", name=looks_up, op="T.w")
    story.add(14, Failed, "c", "T.w", "BAD_ROW")
    story.abort("T", 15, "ROLLED_BACK")
    assert kinds(story) == found


def test_a_client_may_find_its_row_unfit_for_what_another_version_asks() -> None:
    """It tried again after a refusal that told it a later version."""
    story = world()
    t = story.table(columns=COLUMNS)
    needs = add_column(4, "w", nullable=False)
    story.ddl("D", t, needs, tu=5, submit=1)
    for tx, version in (("T", 1), ("U", 2)):
        story.add(11, Invoked, "c", f"{tx}.w", tx, "n1", "put", table="t", key=1)
        story.add(11, Named, "c", f"{tx}.w", (), {"n": 1})
        story._enlist(tx, t, 12, version)
        story.add(13, Failed, "c", f"{tx}.w", "BAD_ROW")
        story.abort(tx, 13, "ROLLED_BACK")
    assert [one.summary.split()[0] for one in anomalies("precision", story)] == ["T.w"]


@pytest.mark.parametrize(
    ("found", "sets", "needless"),
    [
        (None, {"v": 1}, []),
        (None, {"n": 1}, ["row-fits"]),
        (3, {"v": 1}, ["row-fits"]),
    ],
)
def test_an_update_is_unfit_by_a_null_that_it_keeps(
    found: int | None, sets: dict[str, Any], needless: list[str]
) -> None:
    """n, column 2, is NOT NULL; the row was written before it was."""
    story = world()
    story.table(columns=COLUMNS)
    story.begin("T", 10)
    story.add(11, Invoked, "c", "T.w", "T", "n1", "update", table="t", key=1)
    story.add(11, Named, "c", "T.w", (), sets)
    story._enlist("T", 1, 12, 1)
    row = RowRead(1, "S", 1, 1, ((0, 1), (1, 2), (2, found), (3, 7)))
    story.add(12, ReadExecuted, "n1", "T", "T.w", 1, 0, ts(12), 1, False, (row,))
    story.abort("T", 13, "BAD_ROW")
    assert kinds(story) == needless


# --- keys ----------------------------------------------------------------------------------------


def taken(
    *, row: bool = True, commits: float | None = 8, kind: str = "insert", own: bool = False
) -> list[str]:
    """T's insert is told that a row of W's, or its own, is there."""
    story = world()
    t = story.table()
    writer = "T" if own else "W"
    if own:
        story.begin("T", 4)
    story.write(writer, t, "x", 5)
    if commits is not None and not own:
        story.commit("W", commits)
    story.add(10, Invoked, "c", "T.i", "T", "n1", kind, table="t", key="x")
    found = story.found(t, "x", writer, 1) if row else RowRead("x", None, 0, 0, None)
    story.add(12, ReadExecuted, "n1", "T", "T.i", t, 0, ts(12), 1, False, (found,))
    story.abort("T", 13, "KEY_EXISTS")
    return kinds(story)


def test_key_exists_needs_an_earlier_row() -> None:
    assert taken() == []
    assert taken(own=True) == []
    assert taken(row=False) == ["no-such-row"]
    assert taken(commits=None) == ["no-such-row"]
    assert taken(commits=12.5) == ["no-such-row"]
    assert taken(kind="get") == ["no-such-row"]


# --- locks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refused", "tells", "found"),
    [(False, True, ["no-lock-refused"]), (False, False, []), (True, True, ["no-lock-holder"])],
)
def test_lock_conflict_needs_a_refused_lock(
    refused: bool,
    tells: bool,
    found: list[str],
) -> None:
    """Also where nothing was waited for."""
    story = world(tells=tells)
    t = story.table()
    story.begin("T", 10)
    story.add(11, Invoked, "c", "T.w", "T", "n1", "put", table="t", key="x")
    if refused:
        story.add(12, LockWaited, "n1", "T", "T.w", t, "x", 0, False)
    story.abort("T", 13)
    assert kinds(story) == found


@pytest.mark.parametrize(
    ("moves", "key", "found"),
    [(True, "x", []), (True, "y", ["no-lock-holder"]), (False, "x", ["no-lock-holder"])],
)
def test_an_intent_without_its_lock_is_in_the_way_of_the_older_too(
    key: str, found: list[str], *, moves: bool
) -> None:
    """Locks go with their lease, intents stay; without a new lease they stay together."""
    story = world()
    t = story.table()
    story.begin("T", 4)
    story.begin("Y", 5)
    story.write("Y", t, "x", 6, node="n2")
    story.add(1, LeaseBegan, "n1", f"{t}/0", "n2", ts(0), ts(50))
    if moves:
        story.add(8, LeaseBegan, "n1", f"{t}/0", "n1", ts(7), ts(90))
    story.add(11, Invoked, "c", "T.w", "T", "n1", "put", table="t", key=key)
    story.add(12, LockWaited, "n1", "T", "T.w", t, key, 500, False)
    story.abort("T", 13)
    assert kinds(story) == found
