"""Part of I7: what clients are shown, against what was executed for them."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import Invoked, Named, Ok, ReadExecuted, RowRead, WriteExecuted
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies

V = Column(1, "v", INT)


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("data_matches_schema", story)]


# --- reads ----------------------------------------------------------------------------------------


def with_rows() -> tuple[Story, int]:
    """7 and 8 hold 70 and 80, as T left them."""
    story = Story()
    table = story.table()
    for key in (7, 8):
        story.write("T", table, key, 10, row=((0, key), (1, 10 * key)))
    story.commit("T", 12)
    return story, table


ROWS = [{"id": 7, "v": 70}, {"id": 8, "v": 80}]


@pytest.mark.parametrize(
    ("value", "due"),
    [
        ({"id": 7, "v": 70}, []),
        ({"v": 70, "id": 7}, []),
        ({"id": 7, "v": 71}, ["shown-otherwise"]),
        ({"id": 7, "v": 70.0}, ["shown-otherwise"]),
        ({"id": 7}, ["shown-otherwise"]),
        ({"id": 7, "w": 70}, ["shown-otherwise"]),
        ({"id": 7, "v": 70, "w": None}, ["shown-otherwise"]),
        (None, ["shown-otherwise"]),
        ("7", ["shown-otherwise"]),
    ],
)
def test_a_get_shows_the_row_that_was_found(value: Any, due: list[str]) -> None:
    story, table = with_rows()
    story.read("R", table, 7, 20, "T", value=value)
    assert kinds(story) == due


def test_a_get_of_no_row_shows_nothing() -> None:
    for value, due in ((None, []), ({"id": 9, "v": None}, ["shown-otherwise"])):
        story, table = with_rows()
        story.read("R", table, 9, 20, None, value=value)
        assert kinds(story) == due


@pytest.mark.parametrize(
    ("value", "due"),
    [
        (ROWS, []),
        (ROWS[::-1], []),
        (ROWS[:1], ["shown-otherwise"]),
        ([*ROWS, ROWS[0]], ["shown-otherwise"]),
        ([], ["shown-otherwise"]),
        (None, ["shown-otherwise"]),
    ],
)
def test_a_scan_shows_every_row_that_was_found(value: Any, due: list[str]) -> None:
    story, table = with_rows()
    story.scan("R", table, 20, {7: "T", 8: "T"}, value=value)
    assert kinds(story) == due


def executed_again(partition: int, cells: Any, value: Any) -> Story:
    """A scan that found 7 in partition 0, and once more something in a partition."""
    story, table = with_rows()
    op = story.scan("R", table, 20, {7: "T"}, value=value)
    [event] = [one for one in story.history().of(ReadExecuted) if one.op == op]
    rows = () if cells is None else (replace(event.rows[0], key=cells[0][1], row=cells),)
    again = replace(event, at_us=event.at_us, partition=partition, rows=rows)
    story.add(20, lambda _: again)
    return story


EIGHT = ((0, 8), (1, 80))


@pytest.mark.parametrize(
    ("partition", "cells", "value", "due"),
    [
        (1, EIGHT, ROWS, []),
        (1, EIGHT, ROWS[:1], ["shown-otherwise"]),
        (1, None, ROWS[:1], []),
        (0, EIGHT, ROWS[:1], []),
        (0, EIGHT, ROWS[1:], []),
        (0, EIGHT, ROWS, ["shown-otherwise"]),
        (0, None, [], []),
    ],
)
def test_all_partitions_are_shown_and_one_execution_of_each(
    partition: int, cells: Any, value: Any, due: list[str]
) -> None:
    found = kinds(executed_again(partition, cells, value))
    assert [one for one in found if one == "shown-otherwise"] == due


@pytest.mark.parametrize(
    ("value", "due"),
    [({"v": 70}, []), ({"id": 7, "v": 70}, ["shown-otherwise"]), ({}, ["shown-otherwise"])],
)
def test_columns_that_are_asked_for_are_shown_alone(value: Any, due: list[str]) -> None:
    story, table = with_rows()
    op = story.read("R", table, 7, 20, "T", value=value)
    story.add(20, Named, "client of R", op, ("v",))
    assert kinds(story) == due


def test_a_query_by_values_shows_the_rows_that_have_them() -> None:
    for value, due in ((ROWS[:1], []), (ROWS, ["shown-otherwise"]), ([], ["shown-otherwise"])):
        story, table = with_rows()
        op = story.scan("R", table, 20, {7: "T", 8: "T"}, value=value)
        story.add(20, Named, "client of R", op, (), {"v": 70})
        assert kinds(story) == due


def test_a_row_is_shown_under_the_version_that_was_used_or_enlisted() -> None:
    """Columns have the names of that version; under another one nothing says what they mean."""
    for value, enlisted, due in (
        ({"id": 7, "w": 70}, 2, []),
        ({"id": 7, "v": 70}, 2, ["shown-otherwise"]),
        ({"id": 7, "v": 70}, 1, []),
    ):
        story, table = with_rows()
        story.ddl("D", table, ddl.ColumnAltered(V, replace(V, name="w")), tu=15)
        story.read("R", table, 7, 20, "T", version=2, initial=enlisted, value=value)
        assert kinds(story) == due


# --- operations that were not executed ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["get", "scan", "put", "delete", "insert"])
@pytest.mark.parametrize("tx", ["T", None])
def test_what_succeeds_was_executed(kind: str, tx: str | None) -> None:
    story, _ = with_rows()
    story.add(11, Invoked, "client of T", "op9", tx, "n1", kind, table="t", key=9)
    story.add(11, Ok, "client of T", "op9", [] if kind == "scan" else True)
    assert kinds(story) == ["acknowledged-not-executed"]


def test_a_commit_that_is_acknowledged_has_all_its_writes() -> None:
    """Also where nothing at all of it was executed."""
    story = Story()
    story.table()
    story.begin("T", 9)
    story.add(10, Invoked, "client of T", "op9", "T", "n1", "put", table="t", key=9)
    story.add(11, Ok, "client of T", "op9")
    assert kinds(story) == []
    story.commit("T", 12, stored=False)
    assert kinds(story) == ["acknowledged-not-executed"]


def conditional(kind: str, *, value: Any, found: bool, writes: bool) -> Story:
    """An operation on 7 or 9, which has no row, that said `value`."""
    story, table = with_rows()
    key, writer = (7, "T") if found else (9, None)
    op = story.read("C", table, key, 20, writer, op="op9", value=value)
    event = next(event for _, _, event in story._events if isinstance(event, Invoked)
                 and event.op == op)  # fmt: skip
    story._events = [
        (at, place, replace(one, kind=kind, key=key) if one is event else one)
        for at, place, one in story._events
    ]
    if writes:
        story.add(20, WriteExecuted, "n1", "C", op, table, 0, key, ts(20), 1, ((0, key), (1, 1)))
    story.commit("C", 30)
    return story


@pytest.mark.parametrize(
    ("kind", "value", "found", "writes", "due"),
    [
        ("insert", True, False, True, []),
        ("insert", False, True, False, []),
        ("insert", True, True, True, ["untrue-result"]),
        ("insert", False, False, False, ["untrue-result"]),
        ("update", True, True, True, []),
        ("update", False, False, False, []),
        ("replace", False, True, False, ["untrue-result"]),
        ("update", True, False, True, ["untrue-result"]),
        ("update", False, False, True, ["untrue-result"]),
        ("update", True, True, False, ["acknowledged-not-executed"]),
    ],
)
def test_what_may_write_nothing_says_whether_it_wrote(
    kind: str, *, value: bool, found: bool, writes: bool, due: list[str]
) -> None:
    assert kinds(conditional(kind, value=value, found=found, writes=writes)) == due


def test_what_was_looked_up_for_a_unique_index_says_nothing_of_the_own_row() -> None:
    """An insert found its own row, in the other partition there is none with its values."""
    for elsewhere in ((), (RowRead(9, None, 0, 0, None),)):
        story = conditional("insert", value=True, found=True, writes=True)
        table = next(iter(story._versions))
        story.add(21, ReadExecuted, "n1", "C", "op9", table, 1, ts(21), 1, False, elsewhere)
        assert kinds(story) == ["untrue-result"]


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "due"),
    [
        (((0, 7), (1, 5), (2, 9)), []),
        (((0, 7), (1, 6), (2, 9)), ["written-otherwise"]),
        (((0, 7), (1, 5), (2, None)), ["written-otherwise"]),
    ],
)
@pytest.mark.parametrize("encoded", [True, False])
def test_a_put_by_name_writes_what_it_names_and_defaults(
    cells: Any, due: list[str], *, encoded: bool
) -> None:
    """Whether its client encoded the row, or a process of a layer."""
    story = Story()
    table = story.table()
    story.ddl("D", table, add_column(2, "w", default=9), tu=5)
    story._versions[table][-1] = replace(
        story._versions[table][-1], columns=(*story._versions[table][0].columns,
                                             Column(2, "w", INT, default=9)))  # fmt: skip
    [at] = [n for n, (_, _, one) in enumerate(story._events)
            if type(one).__name__ == "UpdateLogged" and one.op == "D"]  # fmt: skip
    when, place, logged = story._events[at]
    change = replace(logged.objects[0], definition=story._versions[table][-1])
    story._events[at] = (when, place, replace(logged, objects=(change,)))
    op = story.write("T", table, 7, 10, version=2, row=cells)
    if not encoded:
        story._events = [one for one in story._events if type(one[2]).__name__ != "Encoded"]
    story.add(10, Named, "client of T", op, (), {"v": 5})
    assert kinds(story) == due


@pytest.mark.parametrize(
    ("cells", "due"),
    [
        (((0, 7), (1, 5), (2, 80)), []),
        (((0, 7), (1, 5), (2, 5)), ["written-otherwise"]),
        (((0, 7), (1, 70), (2, 80)), ["written-otherwise"]),
    ],
)
@pytest.mark.parametrize("looks_up", [True, False])
def test_an_update_sets_what_it_names_and_keeps_the_rest(
    cells: Any, due: list[str], *, looks_up: bool
) -> None:
    """Also where it finds a row with its values in another partition, for a unique index."""
    story = Story()
    columns = (Column(0, "id", INT, nullable=False), V, Column(2, "w", INT))
    table = story.table(columns=columns)
    story.write("T", table, 7, 10, row=((0, 7), (1, 70), (2, 80)))
    story.commit("T", 12)
    story.read("U", table, 7, 20, "T", op="op9", value=True)
    [at] = [n for n, (_, _, one) in enumerate(story._events)
            if isinstance(one, Invoked) and one.op == "op9"]  # fmt: skip
    when, place, asked = story._events[at]
    story._events[at] = (when, place, replace(asked, kind="update", key=7))
    story.add(20, Named, "client of U", "op9", (), {"v": 5})
    story.add(20, WriteExecuted, "n1", "U", "op9", table, 0, 7, ts(20), 1, cells)
    if looks_up:
        story.write("V", table, 8, 10, row=((0, 8), (1, 5), (2, 3)))
        story.commit("V", 12)
        other = RowRead(8, "V", 1, 1, ((0, 8), (1, 5), (2, 3)))
        story.add(21, ReadExecuted, "n1", "U", "op9", table, 1, ts(21), 1, False, (other,))
    story.commit("U", 30)
    assert kinds(story) == due
