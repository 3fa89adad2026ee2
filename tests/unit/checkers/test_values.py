"""Values that clients name, and the times that they choose: judged apart from the protocol."""

from typing import Any

import pytest

from ddlsim.checkers.case.rows import is_value_of
from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.history.events import ReadTimeChosen
from ddlsim.history.history import History
from ddlsim.model.ops import Get, Insert, Operation, Put, Update
from ddlsim.model.schema import ColumnType, Value
from ddlsim.protocol.schema import rows
from ddlsim.protocol.schema.column_types import holds
from ddlsim.protocol.transaction import client
from ddlsim.units import ms
from tests.support.worlds import planned, program, statement, transaction

TYPES = (
    *map(ColumnType, ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "BOOLEAN")),
    *map(ColumnType, ("DATE", "TIME", "TIMESTAMP", "UUID", "VARCHAR", "VARBINARY", "DECIMAL")),
    ColumnType("VARCHAR", length=4),
    ColumnType("VARBINARY", length=2),
    ColumnType("DECIMAL", precision=5, scale=2),
    ColumnType("TIMESTAMP WITH LOCAL TIME ZONE", precision=3),
)
VALUES: tuple[Value, ...] = (
    None, True, 0, 127, 128, -129, 40_000, 1 << 31, -(1 << 63), 1 << 63, 7.5, 1e300, 10**400,
    "", "wrong", "long" * 20, "1", "-1.50", "1.505", "999.99", "1000", "2026-02-28", "2026-13-01",
    "12:30:00", "12:30:00.5", "24:00:00", "2026-02-28 12:30:00", "2026-02-28 12:30:00.25Z",
    "00000000-0000-0000-0000-00000000000a", "0000", "000000",
)  # fmt: skip


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_clients_and_judges_agree_on_the_values_of_a_type(type_: ColumnType) -> None:
    """Two computations of it; each of the types has some values and refuses others."""
    held = [holds(type_, value) for value in VALUES]
    assert held == [is_value_of(value, type_) for value in VALUES]
    assert set(held) == {True, False}


WRITES: tuple[Operation, ...] = (
    Put("t", 1, {"v": "wrong"}),
    Insert("t", 1, {"v": 1 << 31}),
    Update("t", 1, {"v": 7.5}),
)


def kinds(history: History) -> list[str]:
    return [one.kind for one in judge(history).violations]


def ran_with(*operations: Operation) -> History:
    items = (transaction(Put("t", 1, {"v": 1})), *map(transaction, operations))
    return run(planned(programs=(program(*items),), load_until_us=ms(1_000)))


@pytest.mark.parametrize("write", WRITES)
def test_a_value_of_another_type_is_refused(write: Operation) -> None:
    history = ran_with(write)
    assert [event.reason for event in history.events if type(event).__name__ == "Failed"] == [
        "BAD_ROW"
    ]
    assert kinds(history) == []


@pytest.mark.parametrize("write", WRITES[::2])
def test_i7_convicts_clients_that_let_values_of_other_types_pass(
    write: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rows, client):
        monkeypatch.setattr(module, "holds", lambda *_: True)
    assert kinds(ran_with(write)) == ["illegal-row"]


def test_i11_convicts_clients_that_refuse_values_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "holds", lambda *_: False)
    assert set(kinds(ran_with())) == {"row-fits"}


def chosen() -> History:
    """A session changes and writes t, then reads long before, at a time that it chooses."""
    late: dict[str, Any] = {"read_only": True, "as_of_ms": -1_900, "pause_us": ms(1_700)}
    items = (
        transaction(Put("t", 1, {"v": 1})),
        statement("ALTER TABLE t ADD COLUMN w INT"),
        transaction(Get("t", 1), **late),
    )
    programs = (program(*items, session=True),)
    return run(planned(programs=programs, load_until_us=ms(4_000)))


def test_a_session_owes_nothing_to_a_read_at_a_chosen_time() -> None:
    """Planted: without the event that says so, three judges accuse it."""
    history = chosen()
    assert kinds(history) == []
    history.events[:] = [one for one in history.events if not isinstance(one, ReadTimeChosen)]
    assert set(kinds(history)) >= {
        "session-missed-ddl",
        "session-missed-write",
        "reads-too-far-back",
    }
