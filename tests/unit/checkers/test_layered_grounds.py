"""I11 where SQL is a layer on a store: what an abort must have in the history."""

from typing import Any

import pytest

from ddlsim.history.events import Failed, Invoked, Named, TxAborted, TxBegan
from ddlsim.history.world_events import FaultBegan
from ddlsim.model import ddl
from ddlsim.model.schema import PUBLIC, Comparison, Constraint
from tests.support.history import add_column, ts
from tests.support.judging import anomalies
from tests.support.layered import Layered

CONFLICT = {"aborts": "TX_CONFLICT"}


def calm() -> Layered:
    story = Layered()
    story.settings = {"": {"calm": 1, "tells_names": 1}, "p1": {"tx_timeout_ms": 5000}}
    return story


def told(story: Layered) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


def test_a_conflict_with_nothing() -> None:
    story = calm()
    story.run("A", 10, 20, ("put", "s", 1))
    story.run("T", 30, 40, ("get", "r"), ("put", "q", 1), **CONFLICT)
    story.run("B", 35, 38, ("put", "s", 2))
    assert told(story) == ["no-conflict"]


@pytest.mark.parametrize(
    "does",
    [
        (("get", "s"), ("put", "q", 1)),
        (("put", "s", 5),),
        (("scan",), ("put", "q", 1)),
    ],
)
def test_a_conflict_with_a_row_that_another_wrote_meanwhile(does: tuple[Any, ...]) -> None:
    story = calm()
    story.run("T", 30, 40, *does, **CONFLICT)
    story.run("B", 34, 38, ("put", "s", 2))
    assert told(story) == []


@pytest.mark.parametrize(("resolvers", "kinds"), [(1, ["no-conflict"]), (2, []), (None, [])])
def test_a_conflict_with_what_another_tried_to_write(
    resolvers: int | None, kinds: list[str]
) -> None:
    """A resolver alone takes in nothing of what aborts; older histories do not tell how many."""
    story = calm()
    story.settings[""] |= {} if resolvers is None else {"resolvers": resolvers}
    story.run("T", 30, 40, ("get", "s"), ("put", "q", 1), **CONFLICT)
    story.run("B", 34, 38, ("put", "s", 2), aborts="TX_TOO_OLD")
    assert told(story) == kinds


def test_a_conflict_with_the_schema_needs_a_change_of_it() -> None:
    outdated = {"aborts": "SCHEMA_CONFLICT"}
    story = calm()
    story.run("T", 30, 40, ("get", "s"), ("put", "q", 1), **outdated)
    story.run("B", 34, 38, ("put", "s", 2))
    assert told(story) == ["no-change"], "what another wrote is no ground for it"
    story = calm()
    story.run("T", 30, 40, ("get", "s"), ("put", "q", 1), **outdated)
    story.index("D", 35, ack=36)
    assert told(story) == []


def test_a_conflict_with_an_entry_of_the_values_that_it_looked_for() -> None:
    story = calm()
    story.index("D", 1, ack=2)
    story.run("T", 30, 40, ("find", 7), ("put", "q", 1), v=2, **CONFLICT)
    story.run("B", 34, 38, ("put", "s", 2), v=2)
    assert told(story) == ["no-conflict"]
    story = calm()
    story.index("D", 1, ack=2)
    story.run("T", 30, 40, ("find", 7), ("put", "q", 1), v=2, **CONFLICT)
    story.run("B", 34, 38, ("put", "s", 7), v=2)
    assert told(story) == []


def test_c11_t4_a_statement_that_was_cancelled_fences_without_need() -> None:
    """It had registered its activation at 100; what crosses that is aborted all the same."""
    story = calm()
    story.add(10, Invoked, "c", "D", None, "p1", "ddl", sql="ALTER TABLE t")
    story.add(20, Failed, "c", "D", "DDL_REFUSED")
    story.run("T", 95, 105, ("put", "r", 1), **CONFLICT)
    assert told(story) == ["no-conflict"]


@pytest.mark.parametrize("way", ["behind", "in force later", "under way", "old schema"])
def test_a_conflict_with_the_schema(way: str) -> None:
    story = calm()
    if way == "behind":
        story.ddl("D", story.t, add_column(2, "w"), tu=35)
    elif way == "in force later":
        story.ddl("D", story.t, add_column(2, "w"), tu=35, tm=10, submit=5, ack=12)
    elif way == "under way":
        story.add(25, Invoked, "c", "D", None, "p1", "ddl", sql="ALTER TABLE t")
    else:
        story.ddl("D", story.t, add_column(2, "w"), tu=20, submit=15, ack=21)
    story.run("T", 30, 40, ("put", "r", 1), **CONFLICT)
    assert told(story) == []


def test_a_conflict_where_something_was_broken_is_not_judged() -> None:
    story = calm()
    story.run("T", 30, 40, ("put", "r", 1), **CONFLICT)
    story.add(5, FaultBegan, "pause", "proxy1", ("proxy1",))
    assert told(story) == []


@pytest.mark.parametrize(("name", "due"), [("t", ["name-exists"]), ("u", [])])
def test_a_name_that_was_there(name: str, due: list[str]) -> None:
    story = calm()
    story.add(30, Invoked, "c", "T", None, "p1", "scan", table=name)
    story.add(31, TxBegan, "T", "p1", ts(30), implicit=True)
    story.add(32, TxAborted, "p1", "T", "TABLE_NOT_FOUND")
    assert told(story) == due


def test_a_name_that_two_operations_gave_is_said_once() -> None:
    story = calm()
    story.add(29, TxBegan, "T", "p1", ts(29), implicit=False)
    for op in ("o1", "o2"):
        story.add(30, Invoked, "c", op, "T", "p1", "scan", table="t")
    story.add(32, TxAborted, "p1", "T", "TABLE_NOT_FOUND")
    (found,) = anomalies("precision", story)
    assert "but 't' was there at" in found.summary


def refused(
    story: Layered,
    reason: str,
    values: dict[str, Any] | None,
    *before: tuple[Any, ...],
    v: int,
) -> list[str]:
    """T names values for the row `r` and is refused for a reason; what it did before."""
    story.run("T", 30, 40, *(before or [("get", "q")]), v=v, aborts=reason)
    story.add(39, Invoked, "client of T", "named", "T", "p1", "put", table="t", key="r")
    story.add(39, Named, "client of T", "named", (), values)
    return told(story)


@pytest.mark.parametrize(
    ("values", "due"), [({"v": 1}, ["checks-hold"]), ({"v": -1}, []), (None, [])]
)
def test_a_check_that_holds(values: dict[str, Any] | None, due: list[str]) -> None:
    story = calm()
    check = Constraint(8, "positive", "check", "v > 0", (1,), Comparison(0, ">", 0))
    story.ddl("D", story.t, ddl.ConstraintAdded(check), tu=1)
    assert refused(story, "CHECK_VIOLATED", values, v=2) == due


@pytest.mark.parametrize(
    ("values", "due"), [({"v": 1}, ["no-equal-row"]), ({"v": 5}, []), (None, [])]
)
def test_a_unique_index_in_which_nothing_is_equal(
    values: dict[str, Any] | None, due: list[str]
) -> None:
    story = calm()
    story.index("D", 1, unique=True)
    story.run("A", 10, 20, ("put", "s", 5), v=2)
    story.run("B", 32, 35, ("put", "u", 1), v=2)
    assert refused(story, "UNIQUE_VIOLATED", values, v=2) == due


@pytest.mark.parametrize(
    ("state", "due"),
    [("delete_only", ["no-equal-row"]), ("write_only", []), ("reorganization", []), (PUBLIC, [])],
)
def test_a_unique_index_refuses_from_the_state_on_in_which_entries_are_added(
    state: str, due: list[str]
) -> None:
    story = calm()
    story.index("D", 1, unique=True, state=state)
    story.run("A", 10, 20, ("put", "s", 5), v=2)
    assert refused(story, "UNIQUE_VIOLATED", {"v": 5}, v=2) == due


@pytest.mark.parametrize(
    ("before", "due"),
    [
        ([("delete", "s")], ["no-equal-row"]),
        ([("put", "s", 6)], ["no-equal-row"]),
        ([("put", "q", 5), ("put", "s", 6)], []),
        ([("put", "s", 6), ("put", "s", 5)], []),
        ([("delete", "q")], []),
    ],
)
def test_a_unique_index_on_a_row_that_the_transaction_has_changed_itself(
    before: list[tuple[Any, ...]], due: list[str]
) -> None:
    story = calm()
    story.index("D", 1, unique=True)
    story.run("A", 10, 20, ("put", "s", 5), v=2)
    assert refused(story, "UNIQUE_VIOLATED", {"v": 5}, *before, v=2) == due


def test_a_statement_that_finds_two_equal_rows_is_not_judged_by_names() -> None:
    """A chunk whose first row has the values of one before it has written nothing yet."""
    story = calm()
    story.add(30, TxBegan, "D/0.2", "p1", ts(30), implicit=False)
    story.add(31, TxAborted, "p1", "D/0.2", "UNIQUE_VIOLATED")
    assert told(story) == []


@pytest.mark.parametrize("reason", ["METADATA_LATE", "TX_TIMED_OUT", "NODE_UNREACHABLE"])
def test_what_the_store_or_a_lease_ended_is_not_judged(reason: str) -> None:
    story = calm()
    story.run("T", 30, 40, ("put", "r", 1), aborts=reason)
    assert told(story) == []
