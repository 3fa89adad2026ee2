"""The client's side: what it encodes with, what it does with another schema, what it remembers."""

from typing import Any
from zlib import crc32

import pytest

from ddlsim.history.events import Encoded
from ddlsim.kernel.engine import Loop
from ddlsim.model.ops import Begin, Delete, Get, Key, Put, Scan
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Column, ColumnType, Table, Value
from ddlsim.protocol.messages import (
    Answer,
    ClientCommit,
    ClientOperation,
    ClientRollback,
    Mismatch,
    Refusal,
)
from ddlsim.protocol.schema.column_types import Misfit, fit
from ddlsim.protocol.transaction.client import REFRESHES, Client, filled, key_values
from ddlsim.units import Micros, Timestamp
from tests.support.protocol import T, result_of
from tests.support.schemas import table_of

V1 = table_of(T)
V2 = table_of(f"{T}; ALTER TABLE t ADD COLUMN w VARCHAR(8)")
V3 = table_of(f"{T}; ALTER TABLE t ADD COLUMN w VARCHAR(8); ALTER TABLE t DROP COLUMN v")


class Line:
    """A connection whose answers are given beforehand; with none left it says nothing."""

    def __init__(self, *answers: Any) -> None:
        self.recording = True
        self.loop = Loop()
        self.answers = list(answers)
        self.asked: list[tuple[str, Any, int, int | None]] = []
        self.events: list[Any] = []
        self.takes_us = 0
        self._now_us = 77

    def request(self, to: str, payload: Any, timeout_us: Micros, label: int | None = None) -> Any:
        self.asked.append((to, payload, timeout_us, label))
        self._now_us += self.takes_us
        answer = self.loop.future()
        answer.set(self.answers.pop(0) if self.answers else NO_REPLY)
        return answer

    def elapsed_us(self) -> Micros:
        return Micros(self._now_us)

    def record(self, event: object) -> None:
        self.events.append(event)

    @property
    def requests(self) -> list[ClientOperation]:
        """The operations that were asked for."""
        return [payload for _, payload, _, _ in self.asked if type(payload) is ClientOperation]


class Talk:
    """One client on such a line."""

    def __init__(self, *answers: Any, session: bool = False, knows: Table | None = None) -> None:
        self.line = Line(*answers)
        self.client = Client("c1", self.line, Micros(9), session=session)
        if knows is not None:
            self.client.tables["t"] = knows

    def do(self, do: Any, **how: Any) -> Any:
        """Run one operation of transaction x, whose name is c1.o."""
        return result_of(self.line.loop, self.client.operate("n1", "c1.o", "x", do, **how))


def answer(token: int = 5) -> Answer:
    return Answer(Timestamp(token))


def mismatch(table: Table, token: int = 5) -> Mismatch:
    return Mismatch(Timestamp(token), table)


# --- versions ------------------------------------------------------------------------------------


def test_a_client_without_cached_schema_sends_version_0() -> None:
    """And no row; it caches the schema of the `Mismatch` and encodes [110.flow.1-2]."""
    talk = Talk(mismatch(V1), answer())
    assert talk.do(Put("t", 1, {"v": 5})) == answer()
    first, second = talk.line.requests
    assert (first.client_version, first.row) == (0, None)
    assert (second.client_version, second.row) == (1, (1, 5))


def test_mismatch_schema_is_cached() -> None:
    """For every later operation on the table."""
    talk = Talk(mismatch(V1), answer(), answer(), answer())
    for do in (Get("t", 1), Put("t", 1, {"v": 5}), Delete("t", 1)):
        talk.do(do)
    assert [request.client_version for request in talk.line.requests] == [0, 1, 1, 1]
    assert talk.client.tables == {"t": V1}


def test_a_row_is_encoded_anew_for_another_version() -> None:
    """And recorded each time, as the client meant it."""
    talk = Talk(mismatch(V2), answer(), knows=V1)
    talk.do(Put("t", 1, {"v": 5}))
    assert [request.row for request in talk.line.requests] == [(1, 5), (1, 5, None)]
    assert talk.line.events == [
        Encoded(77, "c1", "c1.o", 1, 1, ((1, 1), (2, 5))),
        Encoded(77, "c1", "c1.o", 1, 2, ((1, 1), (2, 5), (3, None))),
    ]


def test_with_recording_off_the_same_is_sent() -> None:
    """And nothing is written down."""
    talk = Talk(answer(), knows=V1)
    talk.line.recording = False
    talk.do(Put("t", 1, {"v": 5}))
    assert (talk.line.requests[0].row, talk.line.events) == ((1, 5), [])


def test_only_the_first_try_begins_the_transaction() -> None:
    """It lives on; the next try belongs to it."""
    talk = Talk(mismatch(V1), mismatch(V2), answer())
    talk.do(Get("t", 1), begin=Begin())
    assert [request.begins for request in talk.line.requests] == [True, False, False]
    assert {request.tx for request in talk.line.requests} == {"x"}
    talk = Talk(mismatch(V1), answer())
    talk.do(Get("t", 1), implicit=True)
    assert [(request.tx, request.implicit) for request in talk.line.requests] == [("x", True)] * 2


def test_every_try_has_a_label_of_its_own() -> None:
    """The same in every run; another one for another operation."""
    talk = Talk(mismatch(V1), answer(), answer())
    talk.do(Get("t", 1))
    labels = [request.label for request in talk.line.requests]
    assert labels[1] == labels[0] + 1
    assert labels == [label for *_, label in talk.line.asked]
    other = Talk(answer())
    result_of(other.line.loop, other.client.operate("n1", "c1.p", "x", Get("t", 1)))
    assert other.line.requests[0].label not in labels
    assert labels[0] == crc32(b"c1.o") << 8


def test_a_schema_that_changes_at_every_try_is_given_up() -> None:
    """After a few tries, in a way that is worth a retry of the whole transaction."""
    talk = Talk(*[mismatch(V1)] * REFRESHES)
    reply = talk.do(Get("t", 1))
    assert reply.reason is Reason.SCHEMA_CHANGED
    assert len(talk.line.requests) == REFRESHES


def test_all_tries_of_an_operation_share_its_time() -> None:
    """So that its client hears of it, or gives up, within one time limit; 9 us here."""
    talk = Talk(mismatch(V1), mismatch(V2), answer())
    talk.line.takes_us = 4
    talk.do(Get("t", 1))
    assert [timeout_us for _, _, timeout_us, _ in talk.line.asked] == [9, 5, 1]
    talk = Talk(*[mismatch(V1)] * REFRESHES, answer())
    talk.line.takes_us = 2
    talk.do(Get("t", 1))
    assert [timeout_us for _, _, timeout_us, _ in talk.line.asked] == [9, 7, 5, 3, 1, 1]


def test_operate_returns_any_other_reply() -> None:
    """A refusal, or silence."""
    refusal = Refusal(Timestamp(5), Reason.LOCK_CONFLICT)
    assert Talk(refusal).do(Get("t", 1)) is refusal
    assert Talk().do(Get("t", 1)) is NO_REPLY


# --- what is sent --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "action", "key", "metadata"),
    [
        (Get("t", 1), "get", 1, False),
        (Put("t", 1), "put", 1, False),
        (Delete("t", 1), "delete", 1, False),
        (Scan("t"), "scan", None, False),
        (Scan("t", metadata=True), "scan", None, True),
    ],
)
def test_operate_sends_the_action_tag(do: Any, action: str, key: Key, metadata: bool) -> None:
    """To the node and with the patience that the client was given."""
    talk = Talk(answer(), knows=V1)
    talk.do(do)
    [(to, request, timeout_us, _)] = talk.line.asked
    assert (to, timeout_us) == ("n1", 9)
    assert (request.op, request.action, request.table) == ("c1.o", action, "t")
    assert (request.key, request.metadata) == (key, metadata)
    assert (request.row is None) == (action != "put")


def test_the_key_is_part_of_the_row() -> None:
    """Whatever else is given; a key of several columns in their order."""
    talk = Talk(answer(), knows=V1)
    talk.do(Put("t", 1, {"v": 5, "id": 9}))
    assert talk.line.requests[0].row == (1, 5)
    double = table_of("CREATE TABLE t (a INT, v INT, b INT, PRIMARY KEY (b, a))")
    talk = Talk(answer(), knows=double)
    talk.do(Put("t", (1, 2), {"v": 5}))
    assert talk.line.requests[0].row == (2, 5, 1)
    assert (key_values(7), key_values((1, 2)), key_values("x")) == ((7,), (1, 2), ("x",))


def test_a_put_without_values_fills_every_column_of_its_version() -> None:
    """With values that tell the operation and the column."""
    first, second = Talk(answer(), knows=V2), Talk(answer(), knows=V2)
    first.do(Put("t", 1))
    asked = second.client.operate("n1", "c2.o", "x", Put("t", 1))
    result_of(second.line.loop, asked)
    one, other = first.line.requests[0].row, second.line.requests[0].row
    assert one is not None
    assert other is not None
    assert one[0] == other[0] == 1
    assert (one[1] != other[1], one[2] != other[2]) == (True, True)
    assert None not in one


# --- rows that do not fit ------------------------------------------------------------------------


def test_bad_row_requests_the_present_schema_first() -> None:
    """A column that was just added is found, however old the cache is [98.own]."""
    talk = Talk(mismatch(V2), answer(), knows=V1)
    assert type(talk.do(Put("t", 1, {"v": 5, "w": "x"}), begin=Begin())) is Answer
    first, second = talk.line.requests
    assert (first.row, first.client_version, first.table_id) == (None, 0, 0)
    assert (second.row, second.client_version, second.begins) == ((1, 5, "x"), 2, False)


@pytest.mark.parametrize("how", [{"begin": Begin()}, {"implicit": True}, {}])
@pytest.mark.parametrize("knows", [None, V3])
def test_a_transaction_whose_row_does_not_fit_is_rolled_back(
    knows: Table | None, how: dict[str, Any]
) -> None:
    """It is over for the client, so it must not stay open with its locks."""
    talk = Talk(mismatch(V3), answer(), knows=knows)
    reply = talk.do(Put("t", 1, {"v": 5}), **how)
    assert (reply.reason, reply.message) == (Reason.BAD_ROW, "table 't' has no column 'v'")
    rollback = talk.line.asked[-1][1]
    assert type(rollback) is ClientRollback
    assert rollback.tx == "x"


def test_a_transaction_that_is_given_up_is_rolled_back() -> None:
    """When its table changes at every try."""
    talk = Talk(*[mismatch(V1)] * REFRESHES, answer())
    assert talk.do(Get("t", 1)).reason is Reason.SCHEMA_CHANGED
    assert type(talk.line.asked[-1][1]) is ClientRollback


# --- the session's token -------------------------------------------------------------------------


def test_a_session_carries_the_latest_token_it_was_given() -> None:
    """By answers, mismatches and refusals; it never goes back."""
    late = Refusal(Timestamp(9), Reason.LOCK_CONFLICT)
    talk = Talk(mismatch(V1, 7), answer(6), late, answer(8), session=True)
    for _ in range(3):
        talk.do(Get("t", 1))
    tokens = [request.session_ts for request in talk.line.requests]
    assert tokens == [None, Timestamp(7), Timestamp(7), Timestamp(9)]
    assert talk.client.token_ts == Timestamp(9)


def test_other_requests_carry_tokens_back_too() -> None:
    """Commits, statements; silence carries none."""
    talk = Talk(answer(7), session=True)
    for _ in range(2):
        result_of(talk.line.loop, talk.client.ask("n2", ClientCommit("c", "x")))
    assert talk.client.token_ts == Timestamp(7)
    assert [to for to, *_ in talk.line.asked] == ["n2", "n2"]


def test_without_a_session_no_token_is_kept_or_carried() -> None:
    """Else skew would be hidden."""
    talk = Talk(answer(7), answer(8))
    for _ in range(2):
        talk.do(Get("t", 1))
    assert [request.session_ts for request in talk.line.requests] == [None, None]
    assert talk.client.token_ts is None


# --- values --------------------------------------------------------------------------------------

TYPES = [
    *(ColumnType(name) for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")),
    *(ColumnType(name) for name in ("REAL", "DOUBLE", "BOOLEAN", "UUID", "DATE")),
    ColumnType("VARCHAR", length=4),
    ColumnType("VARBINARY", length=3),
    ColumnType("DECIMAL", precision=4, scale=2),
    ColumnType("DECIMAL", precision=2, scale=2),
    ColumnType("TIME", precision=0),
    ColumnType("TIMESTAMP", precision=6),
    ColumnType("TIMESTAMP WITH LOCAL TIME ZONE", precision=6),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_values_of_every_type_fit(kind: ColumnType) -> None:
    """Whatever the operation is called."""
    for number in range(200):
        value = filled(f"c{number}.{number}", Column(3, "x", kind), 0)
        fitted = fit(value, kind)
        assert not isinstance(fitted, Misfit), (value, fitted)
        assert value is not None


@pytest.mark.parametrize("name", ["INTEGER", "BIGINT", "VARCHAR"])
def test_values_tell_operations_and_columns_apart(name: str) -> None:
    """Where the type has room for it."""
    length = 40 if name == "VARCHAR" else None
    seen: dict[Value, None] = {}
    for number in range(300):
        for column_id in (2, 3, 4):
            column = Column(column_id, "x", ColumnType(name, length=length))
            seen[filled(f"c{number % 10}.{number}", column, 0)] = None
    assert len(seen) == 900


def test_a_row_is_shown_by_the_names_of_the_day() -> None:
    """A column that the row lacks as NULL, one that the table lacks not at all."""
    talk = Talk(knows=V2)
    answer = Answer(Timestamp(1), ((7, ((1, 7), (9, 1), (3, "x"))),), shown_under=V2)
    talk.client.forget_schemas()
    assert talk.client.shown(Get("t", 1), answer) == [{"id": 7, "v": None, "w": "x"}]
