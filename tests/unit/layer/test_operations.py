"""Operations of a process of the layer, and the constraints that they keep."""

from typing import Any

import pytest

from ddlsim.history.events import (
    Enlisted,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.index_events import IndexRead, IndexWritten
from ddlsim.layer.transaction import LayerTx, State
from ddlsim.model.ops import ANY_INDEX
from ddlsim.model.reasons import Reason
from tests.support.layer import DROP, INDEX, UNIQUE, T, World, answer_or, shown


def world(*schema: str) -> World:
    return World("c1_schema", "a", "b", schema=(T, *schema))


def test_rows_are_written_read_and_deleted() -> None:
    w = world()
    w.put("a", None, 1, v=5)
    w.put("a", None, 2, v=6)
    assert w.get("b", None, 1) == {"id": 1, "v": 5}
    assert shown(w.ask("b", "scan", None)) == [{"id": 1, "v": 5}, {"id": 2, "v": 6}]
    w.ask("b", "delete", None, 1)
    assert w.get("a", None, 1) is None
    assert w.rows() == {2: (2, 6)}


def test_a_put_without_values_is_filled_in() -> None:
    w = world()
    w.put("a", None, 1)
    assert isinstance(w.rows()[1][1], int)


@pytest.mark.parametrize(
    ("action", "key", "done", "left"),
    [
        ("insert", 1, False, 5),
        ("insert", 2, True, 9),
        ("replace", 1, True, 9),
        ("replace", 2, False, None),
        ("update", 1, True, 9),
        ("update", 2, False, None),
    ],
)
def test_a_conditional_write_looks_at_the_row(
    action: str, key: int, done: bool, left: int | None
) -> None:
    w = world()
    w.put("a", None, 1, v=5)
    assert w.ask("b", action, None, key, values={"v": 9}).done is done
    assert w.rows().get(key, (key, None))[1] == left


def test_a_strict_insert_fails_where_there_is_a_row() -> None:
    w = world()
    w.put("a", None, 1, v=5)
    assert answer_or(w.ask("a", "insert", None, 1, strict=True)) is Reason.KEY_EXISTS


def test_a_transaction_reads_its_own_writes_and_others_do_not() -> None:
    w = world()
    w.put("a", "T", 1, v=5)
    assert w.get("a", "T", 1) == {"id": 1, "v": 5}
    assert w.get("b", None, 1) is None
    w.commit("a", "T")
    assert w.get("b", None, 1) == {"id": 1, "v": 5}


def test_of_two_transactions_that_read_and_write_a_row_one_commits() -> None:
    w = world()
    for name, tx in (("a", "T1"), ("b", "T2")):
        w.get(name, tx, 1)
        w.put(name, tx, 1, v=5)
    assert answer_or(w.commit("a", "T1")) is None
    assert answer_or(w.commit("b", "T2")) is Reason.TX_CONFLICT
    assert answer_or(w.commit("b", "T2")) is Reason.TX_CONFLICT, "it is over"


def test_a_read_only_transaction_reads_one_version_and_writes_nothing() -> None:
    w = world()
    w.begin("a", "R", read_only=True)
    assert w.get("a", "R", 1) is None
    w.put("b", None, 1, v=5)
    assert w.get("a", "R", 1) is None
    assert answer_or(w.commit("a", "R")) is None
    w.begin("a", "S", read_only=True)
    assert answer_or(w.put("a", "S", 1, v=6)) is Reason.READ_ONLY


def test_a_rolled_back_transaction_leaves_nothing() -> None:
    w = world()
    w.put("a", "T", 1, v=5)
    assert answer_or(w.roll_back("a", "T")) is None
    assert w.rows() == {}
    assert answer_or(w.commit("a", "T")) is Reason.ROLLED_BACK


def test_a_transaction_is_over_after_its_time_limit() -> None:
    w = World("c1_schema", "a", tx_timeout_ms=50)
    w.put("a", "T", 1, v=5)
    w.run_ms(60)
    assert answer_or(w.commit("a", "T")) is Reason.TX_TIMED_OUT
    assert answer_or(w.roll_back("a", "T")) is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"w": 1}, Reason.BAD_ROW),
        ({"v": "text"}, Reason.BAD_ROW),
        ({"v": -1}, Reason.CHECK_VIOLATED),
    ],
)
def test_a_row_must_fit_its_table(values: dict[str, object], reason: Reason) -> None:
    w = world("ALTER TABLE t ADD CONSTRAINT c CHECK (v > 0)")
    assert answer_or(w.ask("a", "put", None, 1, values=values)) is reason


def test_an_unknown_table_or_column_is_refused() -> None:
    w = world()
    assert answer_or(w.ask("a", "get", None, 1, table="u")) is Reason.TABLE_NOT_FOUND
    assert answer_or(w.ask("a", "get", None, 1, columns=("w",))) is Reason.COLUMN_NOT_FOUND
    assert answer_or(w.ask("a", "find", None, values={"w": 1})) is Reason.COLUMN_NOT_FOUND


# --- indexes --------------------------------------------------------------------------------------


def test_entries_follow_the_rows() -> None:
    w = world(INDEX)
    w.put("a", None, 1, v=5)
    w.put("a", None, 2, v=5)
    assert w.entries() == [(5, 1), (5, 2)]
    w.ask("a", "update", None, 1, values={"v": 6})
    assert w.entries() == [(5, 2), (6, 1)]
    w.put("a", None, 2, v=7)
    w.ask("a", "delete", None, 1)
    assert w.entries() == [(7, 2)]
    assert w.wrong_entries() == ([], [])


def test_a_query_reads_by_the_index_if_it_is_public_else_every_row() -> None:
    w = world(INDEX)
    for key, v in ((1, 5), (2, 6), (3, 5)):
        w.put("a", None, key, v=v)
    assert w.find("b", None, v=5) == [1, 3]
    assert [one.keys for one in w.events(IndexRead)] == [(1, 3)]
    assert w.find("b", None, index="j", v=5) == [1, 3]
    assert len(w.events(IndexRead)) == 1
    assert w.find("b", None, index=ANY_INDEX, v=5) == [1, 3]
    assert len(w.events(IndexRead)) == 2


def test_nothing_equals_null_by_an_index_as_by_reading_every_row() -> None:
    w = world(INDEX)
    w.ask("a", "put", None, 1, values={"v": None})
    assert w.find("b", None, v=None) == []
    assert w.find("b", None, index="j", v=None) == []
    assert w.events(IndexRead) == []


def test_a_unique_index_refuses_a_second_row_of_the_same_values() -> None:
    w = world(UNIQUE)
    w.put("a", None, 1, v=5)
    assert answer_or(w.put("b", None, 2, v=5)) is Reason.UNIQUE_VIOLATED
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert answer_or(w.put("b", None, 3, v=None)) is None
    assert answer_or(w.put("b", None, 4, v=None)) is None, "NULLs are distinct"


def test_two_transactions_cannot_enter_the_same_values_of_a_unique_index() -> None:
    w = world(UNIQUE)
    w.put("a", "T1", 1, v=5)
    w.put("b", "T2", 2, v=5)
    assert answer_or(w.commit("a", "T1")) is None
    assert answer_or(w.commit("b", "T2")) is Reason.TX_CONFLICT


def test_a_unique_constraint_has_entries_too() -> None:
    w = world("ALTER TABLE t ADD CONSTRAINT u UNIQUE (v)")
    w.put("a", None, 1, v=5)
    assert w.entries() == [(5, 1)]
    assert answer_or(w.put("b", None, 2, v=5)) is Reason.UNIQUE_VIOLATED


# --- DDL ------------------------------------------------------------------------------------------


def test_a_new_column_shows_its_default_in_old_rows_and_its_value_in_new_ones() -> None:
    w = world()
    w.put("a", None, 1, v=5)
    assert answer_or(w.ddl("a", "ALTER TABLE t ADD COLUMN w INT DEFAULT 7")) is None
    assert w.get("b", None, 1) == {"id": 1, "v": 5, "w": 7}
    w.put("b", None, 2, v=6, w=8)
    assert w.get("a", None, 2) == {"id": 2, "v": 6, "w": 8}


def test_a_new_index_has_entries_of_all_rows_and_a_dropped_one_none() -> None:
    w = world()
    for key in (1, 2):
        w.put("a", None, key, v=5)
    w.ddl("a", INDEX)
    assert w.entries() == [(5, 1), (5, 2)]
    w.ddl("b", DROP)
    assert w.entries() == []


def test_a_unique_index_over_equal_rows_is_refused_and_leaves_nothing() -> None:
    w = world()
    for key in (1, 2):
        w.put("a", None, key, v=5)
    assert answer_or(w.ddl("a", UNIQUE)) is Reason.UNIQUE_VIOLATED
    assert w.entries() == []
    assert w.ddl("a", "DROP INDEX IF EXISTS i") is not None
    assert len(w.events(UpdateLogged)) == 1, "only the initial schema"


def test_a_statement_is_refused_as_on_the_other_plane() -> None:
    w = world()
    assert answer_or(w.ddl("a", T)) is Reason.OBJECT_EXISTS
    assert answer_or(w.ddl("a", "DROP TABLE u")) is Reason.OBJECT_NOT_FOUND


def test_a_dropped_table_is_gone_and_one_of_its_name_is_another() -> None:
    w = world()
    w.put("a", None, 1, v=5)
    w.ddl("a", "DROP TABLE t")
    assert w.get("b", None, 1) is Reason.TABLE_NOT_FOUND
    assert w.rows() == {}
    w.ddl("a", T)
    assert w.get("b", None, 1) is None


def test_statements_of_one_process_come_one_after_the_other() -> None:
    w = world()
    answers: list[object] = []

    async def asked(text: str) -> None:
        answers.append(answer_or(await w.asks("a", text)))

    w.loop.spawn(asked("ALTER TABLE t ADD COLUMN w INT"))
    w.loop.spawn(asked("ALTER TABLE t ADD COLUMN x INT"))
    w.run_ms(100)
    assert answers == [None, None]
    assert [one.catalog_version for one in w.events(UpdateLogged)] == [1, 2, 3]
    assert not w.processes["a"].has_open_work


# --- what is recorded -----------------------------------------------------------------------------


def test_events_carry_the_read_version_and_the_commit_version() -> None:
    w = world(INDEX)
    w.passes(200)
    w.put("a", "T", 1, v=5)
    w.passes(300)
    w.commit("a", "T")
    at = w.processes["a"].part.stamp
    assert [one.begin_ts for one in w.events(TxBegan)] == [at(200)]
    assert [one.enlist_ts for one in w.events(Enlisted)] == [at(200)]
    assert [one.op_ts for one in w.events(WriteExecuted)] == [at(200)]
    assert [(one.values, one.key, one.added) for one in w.events(IndexWritten)] == [((5,), 1, True)]
    assert [one.commit_ts for one in w.events(TxCommitted)] == [at(301)]
    assert [one.tables for one in w.events(TxCommitted)] == [((1, 2, 2),)]
    resolved = [(one.purpose, one.ts, one.version) for one in w.events(SchemaResolved)]
    assert resolved == [("enlist", at(200), 2), ("commit", at(301), 2)]


def test_a_read_shows_what_deleted_a_row() -> None:
    w = world()
    w.put("a", "T1", 1, v=5)
    w.commit("a", "T1")
    w.ask("a", "delete", "T2", 1)
    w.commit("a", "T2")
    w.get("b", None, 1)
    w.get("b", None, 2)
    found = [one.rows[0] for one in w.events(ReadExecuted)]
    assert [(one.writer, one.row) for one in found] == [("T2", None), (None, None)]


def test_an_aborted_transaction_is_recorded_as_such() -> None:
    w = world()
    w.get("a", "T", 1)
    w.roll_back("a", "T")
    assert [one.reason for one in w.events(TxAborted)] == ["ROLLED_BACK"]


@pytest.mark.parametrize(("kind", "value"), [("VARCHAR", "5"), ("DOUBLE", 5.0), ("REAL", 5.0)])
def test_a_column_of_another_type_changes_the_entries_of_its_index(kind: str, value: Any) -> None:
    """5 and 5.0 are equal, and their entries have keys of their own."""
    w = world(INDEX)
    w.put("a", None, 1, v=5)
    assert answer_or(w.ddl("a", f"ALTER TABLE t ALTER COLUMN v SET DATA TYPE {kind}")) is None
    assert [repr(one) for one in w.entries()] == [repr((value, 1))]
    assert w.find("b", None, v=value) == [1]


def test_a_column_set_not_null_needs_a_value_in_every_row() -> None:
    w = world()
    w.put("a", None, 1, v=None)
    asked = "ALTER TABLE t ALTER COLUMN v SET NOT NULL"
    assert answer_or(w.ddl("a", asked)) is Reason.DDL_REFUSED
    w.put("a", None, 1, v=5)
    assert answer_or(w.ddl("a", asked)) is None


@pytest.mark.parametrize("asked", ["DROP TABLE t", "ALTER TABLE t DROP COLUMN v"])
def test_entries_go_with_what_they_belong_to(asked: str) -> None:
    w = world("ALTER TABLE t ADD CONSTRAINT u UNIQUE (v)")
    w.put("a", None, 1, v=5)
    assert answer_or(w.ddl("a", asked)) is None
    assert w.entries() == []


def test_a_transaction_whose_read_version_comes_after_its_end_is_not_in_the_history() -> None:
    w = world()
    node = w.nodes["a"]
    version = node.future()

    class Late:
        async def read_version(self) -> int:
            await version
            return 7

    late: Any = Late()
    tx = LayerTx(node, "T", late, 1000)
    read = tx.read_version()
    read.send(None)
    tx.state = State.ABORTED
    tx.aborted(Reason.TX_TIMED_OUT)
    version.set(None)
    with pytest.raises(StopIteration):
        read.send(None)
    assert w.events(TxBegan) == w.events(TxAborted) == []
