"""I7: what clients meant, what was written, read and kept."""

from typing import Any, NamedTuple

import pytest

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import (
    Encoded,
    Failed,
    Invoked,
    Ok,
    RowRead,
    TxBegan,
    WriteExecuted,
)
from ddlsim.history.world_events import NeverCompleted
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column, text, ts
from tests.support.judging import anomalies

V = Column(1, "v", INT)


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("data_matches_schema", story)]


# --- writes and reads -----------------------------------------------------------------------------


def test_a_row_encoded_under_one_version_and_written_under_another() -> None:
    """B0-T1: the client encodes (id, v), the primary takes the values for (id, w)."""
    story = Story()
    t = story.table()
    story.ddl("D", t, ddl.ColumnDropped(V), add_column(2, "w"), tu=5)
    story.write(
        "T", t, 7, 10, version=2, meant_version=1, row=((0, 7), (1, 70)), written=((0, 7), (2, 70))
    )
    story.commit("T", 20)
    [anomaly] = anomalies("data_matches_schema", story)
    assert anomaly.kind == "misdecoded-write"
    assert "w should be null and is 70" in anomaly.summary


def test_a_row_that_was_upgraded_on_the_way_is_fine() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w", default=9), tu=5)
    story.write(
        "T",
        t,
        7,
        10,
        version=2,
        meant_version=1,
        row=((0, 7), (1, 70)),
        written=((0, 7), (1, 70), (2, 9)),
    )
    story.commit("T", 20)
    assert kinds(story) == []


def test_a_row_encoded_under_a_newer_version_loses_what_the_older_one_lacks() -> None:
    """The values that both have are right, so only the versions tell."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=5)
    story.write(
        "T",
        t,
        7,
        10,
        version=1,
        meant_version=2,
        row=((0, 7), (1, 70), (2, 5)),
        written=((0, 7), (1, 70)),
    )
    story.commit("T", 20)
    assert "truncated-write" in kinds(story)


@pytest.mark.parametrize(("aborted", "found"), [(12, []), (14, ["truncated-write"])])
def test_a_write_of_an_aborted_try_was_encoded_before_the_abort(
    aborted: int, found: list[str]
) -> None:
    """The client encodes its operation anew at 13, for the next try if this one has ended."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=5)
    story.add(10, TxBegan, "T", "n1", ts(10), implicit=True, read_ts=None)
    story.add(10, Encoded, "c", "c.1", t, 1, ((0, 7), (1, 70)))
    story.add(13, Encoded, "c", "c.1", t, 2, ((0, 7), (1, 70), (2, None)))
    story.add(15, WriteExecuted, "n1", "T", "c.1", t, 0, 7, ts(11), 1, ((0, 7), (1, 70)))
    story.abort("T", aborted)
    assert [kind for kind in kinds(story) if kind == "truncated-write"] == found


def test_a_row_encoded_for_another_table() -> None:
    """Both tables have a version 1: the name was dropped and created again."""
    from ddlsim.history.events import Encoded

    story = Story()
    t, u = story.table(), story.table("u")
    story.write("T", t, 7, 10, row=((0, 7), (1, 70)))
    story.commit("T", 20)
    history = story.history()
    for at, event in enumerate(history.events):
        if type(event) is Encoded:
            history.events[at] = Encoded(event.at_us, event.client, event.op, u, 1, event.row)
    assert [one.kind for one in CHECKERS.get("data_matches_schema").check(Case(history))] == [
        "foreign-row"
    ]


def test_only_the_last_encoding_counts() -> None:
    """B0-T3: bounced once for its old version, the client encodes anew."""
    from ddlsim.history.events import Encoded

    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=5)
    story.add(9, Encoded, "client of T", "put", t, 1, ((0, 7), (1, 1)))
    story.write("T", t, 7, 10, version=2, op="put", row=((0, 7), (1, 2), (2, 3)))
    story.commit("T", 20)
    assert kinds(story) == []


def shown(cells: tuple[tuple[int, Any], ...], *, decoded: int = 1) -> Story:
    """T wrote (7, 70) under v1; U reads it under v2, which added w DEFAULT 9."""
    story = Story()
    t = story.table()
    story.write("T", t, 7, 1, row=((0, 7), (1, 70)))
    story.commit("T", 2)
    story.ddl("D", t, add_column(2, "w", default=9), tu=5)
    story.read("U", t, 7, 10, "T", version=2, row=RowRead(7, "T", 1, decoded, cells))
    story.commit("U", 20)
    return story


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (((0, 7), (1, 70), (2, 9)), []),
        (((0, 7), (1, 70), (2, None)), ["misread-row"]),
        (((0, 7), (1, 71), (2, 9)), ["misread-row"]),
        (((0, 7), (1, 70)), ["misread-row"]),
        (((0, 7), (1, 70), (2, 9), (3, 1)), ["misread-row"]),
    ],
)
def test_a_read_shows_the_upgrade_of_what_was_meant(cells: Any, kind: list[str]) -> None:
    """A column added later shows the default that it was added with."""
    assert kinds(shown(cells)) == kind


def test_a_row_decoded_with_another_version_than_its_own() -> None:
    assert kinds(shown(((0, 7), (1, 70), (2, 9)), decoded=2)) == ["wrong-version-decoded"]


@pytest.mark.parametrize(
    ("value", "version", "kind"),
    [
        ("abc", 1, ["newer-type-shown"]),
        ("70", 1, ["newer-type-shown"]),
        (None, 1, []),
        ("abc", 2, []),
        ("abc", 3, []),
    ],
)
def test_a_row_of_a_later_type_is_none_under_the_earlier_one(
    value: Any, version: int, kind: list[str]
) -> None:
    """v is VARCHAR from version 2 on; whatever the bytes are said to be decoded with."""
    story = Story()
    t = story.table()
    story.ddl("D", t, ddl.ColumnAltered(V, Column(1, "v", text(20))), tu=5)
    story.ddl("E", t, add_column(2, "w"), tu=6)
    cells = ((0, 7), (1, value))
    story.write("T", t, 7, 10, version=2, row=cells)
    story.commit("T", 11)
    row = (*cells, (2, None)) if version == 3 else cells
    story.read("U", t, 7, 20, "T", version=version, row=RowRead(7, "T", 2, 2, row))
    story.commit("U", 21)
    assert kinds(story) == kind


def test_a_default_changed_later_does_not_show_in_old_rows() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, 7, 1, row=((0, 7), (1, 70)))
    story.commit("T", 2)
    added = add_column(2, "w", default=9)
    changed = Column(2, "w", INT, default=8, initial_default=9)
    story.ddl("D", t, added, tu=5)
    story.ddl("E", t, ddl.ColumnAltered(added.column, changed), tu=6)
    story.read("U", t, 7, 10, "T", version=3, row=RowRead(7, "T", 1, 1, ((0, 7), (1, 70), (2, 9))))
    story.commit("U", 20)
    assert kinds(story) == []


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (((0, 7), (1, "70"), (2, "9")), []),
        (((0, 7), (1, 70), (2, "9")), ["misread-row"]),
        (((0, 7), (1, "70"), (2, 9)), ["misread-row"]),
    ],
)
def test_a_varchar_column_shows_texts(cells: Any, kind: list[str]) -> None:
    """Whether the value or the default was given before the column became one."""
    story = Story()
    t = story.table()
    story.write("T", t, 7, 1, row=((0, 7), (1, 70)))
    story.commit("T", 2)
    added = add_column(2, "w", default=9)
    retyped = Column(2, "w", text(11), default=9, initial_default=9)
    story.ddl("D", t, added, tu=5)
    story.ddl("E", t, ddl.ColumnAltered(V, Column(1, "v", text(11))), tu=6)
    story.ddl("F", t, ddl.ColumnAltered(added.column, retyped), tu=7)
    story.read("U", t, 7, 10, "T", version=4, row=RowRead(7, "T", 1, 1, cells))
    story.commit("U", 20)
    assert kinds(story) == kind


def test_an_intermediate_row_is_left_to_i3() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, 7, 10)
    first = story.found(t, 7, "T", 1)
    story.write("T", t, 7, 11)
    story.commit("T", 12)
    story.read("U", t, 7, 20, "T", row=first)
    story.commit("U", 22)
    assert kinds(story) == []


def test_a_null_in_a_not_null_column_is_illegal() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, 7, 10, row=((0, None), (1, 70)))
    assert kinds(story) == []
    story.commit("T", 12)
    assert kinds(story) == ["illegal-row"]


# --- writes that a read misses --------------------------------------------------------------------


def missed(*, op_ts: int = 20, commit_ts: int = 12, finder: str | None = None) -> Story:
    story = Story()
    t = story.table()
    story.write("T0", t, 7, 1)
    story.commit("T0", 2)
    story.write("T1", t, 7, 10)
    story.commit("T1", 12, commit_ts=commit_ts)
    story.read("T2", t, 7, 20, finder or "T0", op_ts=op_ts)
    story.commit("T2", 22)
    return story


@pytest.mark.parametrize(
    ("op_ts", "commit_ts", "kind"),
    [(20, 12, ["write-missed"]), (20, 20, ["write-missed"]), (20, 21, []), (11, 12, [])],
)
def test_a_read_may_not_miss_what_was_committed_before_it(
    op_ts: int, commit_ts: int, kind: list[str]
) -> None:
    """Before it in the history, and not above its op_ts."""
    assert kinds(missed(op_ts=op_ts, commit_ts=commit_ts)) == kind
    assert kinds(missed(op_ts=op_ts, commit_ts=commit_ts, finder="T1")) == []


def test_a_scan_may_not_miss_a_row() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.write("T1", t, 8, 10, partition=1)
    story.commit("T1", 12)
    story.scan("T2", t, 20, {})
    story.commit("T2", 22)
    [anomaly] = anomalies("data_matches_schema", story)
    assert "found nothing, though T1 had written it and committed at 12" in anomaly.summary


def test_a_deleted_row_need_not_be_found() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10, row=None)
    story.commit("T1", 12)
    story.scan("T2", t, 20, {})
    story.commit("T2", 22)
    assert kinds(story) == []


# --- what clients were told -----------------------------------------------------------------------


def test_an_acknowledged_commit_that_no_node_stored_is_lost() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, 7, 10)
    story.commit("T", 12, stored=False)
    assert kinds(story) == ["lost-commit"]


@pytest.mark.parametrize(
    ("reason", "kind"), [("SCHEMA_CHANGED", ["phantom-commit"]), ("TX_FINISHED", [])]
)
def test_a_commit_that_failed_for_its_client_must_not_be_stored(
    reason: str, kind: list[str]
) -> None:
    story = Story()
    t = story.table()
    story.write("T", t, 7, 10)
    story.commit("T", 12, outcome=Failed, reason=reason)
    assert kinds(story) == kind


class Told(NamedTuple):
    """How an operation ends for its client."""

    kind: Any
    more: tuple[Any, ...] = ()


def alone(*, ends: str, answer: Told, tries: int) -> Story:
    """A put, or what may find nothing to do, that is a transaction of its own; `ends`: the last."""
    story = Story()
    t = story.table()
    story.add(9, Invoked, "c", "op", None, "n1", "put", "t", 7)
    for number in range(tries):
        tx = f"op{number}"
        story.add(10 + number, TxBegan, tx, "n1", ts(10 + number), implicit=True)
        story.write(tx, t, 7, 10 + number, op="op", implicit=True, ok=False)
        if ends == "committed" and number == tries - 1:
            story.commit(tx, 10 + number, implicit=True)
        else:
            story.abort(tx, 10 + number)
    story.add(20, answer.kind, "c", "op", *answer.more)
    return story


@pytest.mark.parametrize(
    ("ends", "answer", "kind"),
    [
        ("committed", Told(Ok), []),
        ("aborted", Told(Ok), ["lost-commit"]),
        ("aborted", Told(Ok, (False,)), []),
        ("aborted", Told(Failed, ("LOCK_CONFLICT",)), []),
        ("committed", Told(Failed, ("LOCK_CONFLICT",)), ["phantom-commit"]),
    ],
)
@pytest.mark.parametrize("tries", [1, 2])
def test_so_must_an_operation_that_is_a_transaction_of_its_own(
    ends: str, answer: Told, kind: list[str], tries: int
) -> None:
    assert kinds(alone(ends=ends, answer=answer, tries=tries)) == kind


# --- the final state ------------------------------------------------------------------------------


def ended(*, writer: str = "T2", row: Any = ..., stuck: bool = False, drop: bool = False) -> Story:
    """T1 and T2 wrote 7; T1 committed last by commit_ts, though it was stored first."""
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.write("T2", t, 7, 11)
    story.write("T1", t, 8, 12)
    story.commit("T1", 20, commit_ts=30)
    story.commit("T2", 21, commit_ts=25)
    if drop:
        story.ddl("D", t, ddl.ObjectDropped(), tu=50)
    if stuck:
        story.add(99, NeverCompleted, "c", "op", "a lock")
    more = {} if row is ... else {"row": row}
    story.kept(t, 7, writer, 30, 100, **more)
    story.kept(t, 8, "T1", 30, 100)
    return story


def test_the_last_write_by_commit_ts_is_kept() -> None:
    assert kinds(ended(writer="T1")) == []
    assert kinds(ended(writer="T2")) == ["lost-write"]


def test_a_kept_row_is_the_one_that_was_written() -> None:
    assert kinds(ended(writer="T1", row=((0, 7), (1, "else")))) == ["corrupt-row"]


def test_an_earlier_write_that_is_kept_for_the_last_one_is_a_lost_write() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10, row=((0, 7), (1, 5)))
    story.write("T1", t, 7, 12, row=((0, 7), (1, 6)))
    story.commit("T1", 20)
    story.kept(t, 7, "T1", 20, 100, row=((0, 7), (1, 5)))
    assert kinds(story) == ["lost-write"]


def test_rows_of_dropped_tables_vanish() -> None:
    assert kinds(ended(writer="T2", drop=True)) == []


def test_a_run_that_is_stuck_has_no_final_state() -> None:
    assert kinds(ended(writer="T2", stuck=True)) == []


def test_a_committed_key_missing_at_the_end_is_lost() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.write("T1", t, 8, 10)
    story.write("T1", t, 9, 10, row=None)
    story.commit("T1", 12)
    story.kept(t, 7, "T1", 12, 100)
    assert kinds(story) == ["lost-write"]


def test_a_row_of_an_aborted_transaction_must_not_stay() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.abort("T1", 12)
    story.kept(t, 7, "T1", 12, 100)
    assert kinds(story) == ["uncommitted-row"]


def test_an_empty_final_state_says_nothing() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.commit("T1", 12)
    assert kinds(story) == []


def test_a_row_without_a_mandatory_value_in_the_end() -> None:
    """B12-T1: the table was empty when somebody looked, and not when the DDL activated."""
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.commit("T1", 18)
    story.ddl("D", t, add_column(2, "w", nullable=False), tu=20)
    story.kept(t, 7, "T1", 18, 100)
    assert kinds(story) == ["missing-value", "illegal-row"]
