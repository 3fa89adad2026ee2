"""Inserts, replaces and updates: what they answer, what they leave, and what judges make of it."""

from typing import Any

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.history.events import Ok, ReadExecuted, TxAborted, WriteExecuted
from ddlsim.history.history import History
from ddlsim.history.world_events import NeverCompleted, StepMissed
from ddlsim.protocol.transaction import conditional, replica, row_constraints
from ddlsim.scenario.findings import known
from tests.unit.cluster.test_timeline import ALTER, hold, missed, steps

NOTHING: dict[str, Any] = {"rows": []}


def row(**cells: Any) -> dict[str, Any]:
    return {"rows": [cells]}


def alright(*made: dict[str, Any], **more: str) -> History:
    """A run in which every step came out as it says, and no judge has anything to say."""
    history = steps(*made, **more)
    assert missed(history) == []
    assert history.of(NeverCompleted) == []
    verdict = judge(history, findings=known())
    assert (verdict.outcome, verdict.violations) == (Outcome.OK, ())
    return history


INSERT = {"do": ["insert", "t", 1, {"v": 5}]}
REPLACE = {"do": ["replace", "t", 1, {"v": 6}]}
GET = {"do": ["get", "t", 1]}


def test_an_insert_writes_where_there_is_no_row_and_a_replace_where_there_is_one() -> None:
    history = alright(
        {**REPLACE, "expect": {"answer": False}},
        {**GET, "expect": NOTHING},
        {**INSERT, "expect": {"answer": True}},
        {**GET, "expect": row(id=1, v=5)},
        {"do": ["insert", "t", 1, {"v": 9}], "expect": {"answer": False}},
        {**REPLACE, "expect": {"answer": True}},
        {**GET, "expect": row(id=1, v=6)},
        {"do": ["delete", "t", 1]},
        {**REPLACE, "expect": {"answer": False}},
        {**INSERT, "expect": {"answer": True, "version": 1}},
    )
    told = [event.value for event in history.of(Ok) if type(event.value) is bool]
    assert told == [False, True, False, True, False, True]
    assert len(history.of(WriteExecuted)) == 4


def test_a_transaction_sees_its_own_row() -> None:
    alright(
        {**INSERT, "tx": "T", "expect": {"answer": True}},
        {"do": ["insert", "t", 1, {"v": 7}], "tx": "T", "expect": {"answer": False}},
        {**REPLACE, "tx": "T", "expect": {"answer": True}},
        {"do": "UPDATE t SET v = 8 WHERE id = 1", "tx": "T", "expect": {"answer": True}},
        {"do": "commit", "tx": "T", "expect": "ok"},
        {**GET, "expect": row(id=1, v=8)},
    )


def test_an_insert_of_sql_fails_where_there_is_a_row_and_ends_its_transaction() -> None:
    history = alright(
        {"do": "INSERT INTO t (v, id) VALUES (5, 1)", "expect": {"answer": True}},
        {"tx": "T", "do": "INSERT INTO t (id) VALUES (2)"},
        {"tx": "T", "do": "INSERT INTO t (id) VALUES (1)", "expect": {"aborts": "KEY_EXISTS"}},
        {"do": "SELECT * FROM t", "expect": row(id=1, v=5)},
    )
    assert [event.reason for event in history.of(TxAborted)] == ["KEY_EXISTS"]


def test_an_update_sets_some_columns_and_keeps_the_others() -> None:
    null = {"null": True}
    alright(
        {"do": "UPDATE t SET v = 1 WHERE id = 1", "expect": {"answer": False}},
        {**INSERT},
        {**ALTER, "ddl": "ALTER TABLE t ADD COLUMN w INT DEFAULT 7", "client": "d"},
        {"do": "UPDATE t SET v = 1 WHERE id = 1", "after": "s3.ok", "expect": {"version": 2}},
        {**GET, "expect": row(id=1, v=1, w=7)},
        {"do": "UPDATE t SET w = 8, v = NULL WHERE id = 1"},
        {"do": "SELECT * FROM t", "expect": row(id=1, v=null, w=8)},
        {"do": "UPDATE t SET nothing = 8 WHERE id = 1", "expect": {"aborts": "BAD_ROW"}},
        {"do": "UPDATE t SET id = 8 WHERE id = 1", "expect": {"aborts": "BAD_ROW"}},
        {"do": "DELETE FROM t WHERE id = 1", "expect": "ok"},
        {"do": "SELECT * FROM t", "expect": NOTHING},
    )


def test_a_row_of_a_newer_schema_ends_the_transaction_that_would_look_at_it() -> None:
    """The read that decides is a read as any other [110.back]; here it comes after Tu."""
    for do in (
        ["insert", "t", 2, {"v": 1}],
        ["replace", "t", 2],
        "UPDATE t SET v = 1 WHERE id = 2",
    ):
        alright(
            {**INSERT, "tx": "T"},
            {**ALTER, "client": "d"},
            {"client": "e", "after": "s2.ok", "do": ["put", "t", 2, {"w": 1}]},
            {"tx": "T", "after": "s3.ok", "do": do, "expect": {"aborts": "SCHEMA_CHANGED"}},
            head='[strategy]\nname = "iep"\n',
        )


def test_what_decides_is_in_the_history_as_a_read() -> None:
    history = alright({**INSERT}, {"do": ["insert", "t", 1], "expect": {"answer": False}})
    reads = [event for event in history.of(ReadExecuted) if event.op == "s2"]
    assert [(len(event.rows), event.rows[0].writer, event.predicate) for event in reads] == [
        (1, "s1", False)
    ]


def test_two_inserts_of_one_key_at_once_are_one() -> None:
    """The lock of a write is held while the row is looked for."""
    history = steps(
        {"at_ms": 5, **INSERT, "tx": "T1"},
        {"at_ms": 5, **INSERT, "client": "d", "node": "n2"},
        {"tx": "T1", "at_ms": 9, "do": "commit"},
    )
    told = sorted(str(event.value) for event in history.of(Ok) if type(event.value) is bool)
    assert told in (["False", "True"], ["True"])
    assert judge(history, findings=known()).outcome is Outcome.OK


def test_copies_of_its_message_do_not_write_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whichever answer comes first tells what became of the first of them."""
    again: list[bool] = []

    def repeated_answer(*words: Any) -> Any:
        answer = conditional.repeated_answer(*words)
        again.append(answer.done)
        return answer

    monkeypatch.setattr(replica, "repeated_answer", repeated_answer)
    network = "[network]\nlatency_ms = 1\nduplication = 1.0\n"
    history = alright(
        {**INSERT, "tx": "T", "expect": {"answer": True}},
        {"do": ["insert", "t", 1], "tx": "T", "expect": {"answer": False}},
        {"do": "commit", "tx": "T"},
        {**GET, "expect": row(id=1, v=5)},
        tail=network + hold(**{"from": "n2", "to": "n1", "kind": "operated", "until_ms": 40}),
    )
    assert len(history.of(WriteExecuted)) == 1
    assert again == [True, False]


def test_an_update_that_forgets_what_it_does_not_set_is_unmet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: the row that was found is not looked at."""
    monkeypatch.setattr(row_constraints, "column_ids", lambda table: (0,) * len(table.columns))
    history = steps(
        {**INSERT},
        {"do": "UPDATE t SET v = 6 WHERE id = 1"},
        {**GET, "expect": row(id=1, v=6)},
    )
    assert [event.step for event in history.of(StepMissed)] == ["s3"]
