"""What follows something is stamped behind it: each rule broken by one tick, and kept."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import (
    DdlDecided,
    Invoked,
    ReadExecuted,
    RowRead,
    TxBegan,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import ClockSet, CommandLogged
from tests.support.history import Story, ts
from tests.support.judging import anomalies

Told = tuple[Any, ...]
BROKEN = ["stamped-before-its-cause"]
TABLES = ((1, 1, 1),)


def kinds(*events: Told, **rules: str) -> list[str]:
    story = Story()
    story.design = replace(story.design, rules=rules)
    story.table("t")
    for at, (kind, *fields) in enumerate(events):
        story.add(at, kind, *fields)
    known = [one.kind for one in anomalies("machinery", story)]
    return [kind for kind in known if kind in {*BROKEN, "read-at-another-time"}]


def began(tx: str, begin: int, read_ts: int | None = None) -> Told:
    return (TxBegan, tx, "n1", begin, False, read_ts)


def wrote(tx: str, op_ts: int, op: str = "op") -> Told:
    return (WriteExecuted, "n1", tx, op, 1, 0, 7, op_ts, 1, None)


def read(tx: str, op_ts: int, writer: str | None) -> Told:
    rows = (RowRead(7, writer, 1, 1, None),)
    return (ReadExecuted, "n2", tx, f"{tx}.read", 1, 0, op_ts, 1, False, rows)


def committed(tx: str, commit_ts: int) -> Told:
    return (TxCommitted, "n1", tx, commit_ts, TABLES)


@pytest.mark.parametrize(("op_ts", "found"), [(20, BROKEN), (21, [])])
def test_an_operation_is_stamped_behind_the_begin_of_its_transaction(
    op_ts: int, found: list[str]
) -> None:
    assert kinds(began("T1", 20), wrote("T1", op_ts)) == found


@pytest.mark.parametrize(("commit_ts", "found"), [(21, BROKEN), (22, [])])
def test_a_commit_is_stamped_behind_its_operations(commit_ts: int, found: list[str]) -> None:
    assert kinds(began("T1", 20), wrote("T1", 21), committed("T1", commit_ts)) == found


def test_a_design_without_the_checks_that_take_the_stamps_is_not_judged() -> None:
    broken = (began("T1", 20), wrote("T1", 21), committed("T1", 21))
    assert kinds(*broken, check_operation_when="ARRIVAL_AND_AFTER_LOCKS") == BROKEN
    assert kinds(*broken, check_operation_when="ARRIVAL_ONLY") == []
    assert kinds(*broken, before_commit_ts="stamp_at_once") == []


def test_a_copy_of_an_operation_may_be_stamped_behind_the_commit() -> None:
    copy = wrote("T1", 40)
    assert kinds(began("T1", 20), wrote("T1", 21), committed("T1", 30), copy) == []
    later = wrote("T1", 40, "another op")
    assert kinds(began("T1", 20), wrote("T1", 21), committed("T1", 30), later) == BROKEN


@pytest.mark.parametrize(("op_ts", "found"), [(30, BROKEN), (31, [])])
def test_what_finds_or_replaces_a_version_is_stamped_behind_its_commit(
    op_ts: int, found: list[str]
) -> None:
    before = (began("T1", 20), wrote("T1", 21), committed("T1", 30), began("T2", 22))
    assert kinds(*before, read("T2", op_ts, "T1")) == found
    assert kinds(*before, wrote("T2", op_ts, "op2")) == found
    assert kinds(*before, read("T2", op_ts, None)) == []


def test_a_read_only_transaction_reads_at_its_timestamp() -> None:
    before = (began("T1", 20), wrote("T1", 21), committed("T1", 30))
    past = began("T2", 50, 25)
    assert kinds(*before, past, read("T2", 25, None)) == []
    assert kinds(*before, past, read("T2", 26, None)) == ["read-at-another-time"]


@pytest.mark.parametrize(("message_ts", "found"), [(30, BROKEN), (31, [])])
def test_an_update_is_stamped_behind_what_its_statement_looked_up(
    message_ts: int, found: list[str]
) -> None:
    stamps = (message_ts, ts(100))
    assert (
        kinds(
            (Invoked, "c1", "d", None, "n1", "ddl", None, None, "DROP TABLE t"),
            (UpdateLogged, "n1", "d", 2, 2, *stamps, 0, (), 1),
            (DdlDecided, "n1", "d", "installed", 2, ts(100), ts(100), None, 30),
        )
        == found
    )


# --- ahead of every physical clock ----------------------------------------------------------------

HYBRID = {"clock": "hybrid_clock", "takes_part_ts": "once_the_limit_has_come"}


def ahead(*events: Told, rules: dict[str, str] = HYBRID) -> list[str]:
    """The events come at 10 ms; the clock of n2 is 3 ms ahead of true time from 5 ms on."""
    story = Story()
    story.design = replace(story.design, rules=rules)
    story.table("t")
    story.settings |= {"n1": {}, "n2": {}}
    story.add(5, ClockSet, "n2", 3_000, 0)
    for kind, *fields in events:
        story.add(10, kind, *fields)
    found = [one for one in anomalies("machinery", story) if one.kind == AHEAD]
    return [one.summary for one in found]


AHEAD = "stamped-ahead-of-all-clocks"


def test_no_timestamp_is_ahead_of_every_physical_clock() -> None:
    """[98.x.7]"""
    assert ahead(began("T1", ts(13))) == []
    assert ahead(began("T1", ts(13) + 9)) == []
    assert ahead(began("T1", ts(14))) == [
        "at 10 ms n1 had stamped something at 14, and no physical clock had shown more than 13 ms"
    ]
    assert len(ahead(began("T1", ts(12)), wrote("T1", ts(14)), committed("T1", ts(15)))) == 1
    assert len(ahead(began("T1", ts(12)), committed("T1", ts(14)))) == 1
    update = (UpdateLogged, "n1", "d", 2, 2, ts(14), ts(15), 1, ())
    assert len(ahead(update)) == 1


@pytest.mark.parametrize(("count", "found"), [(32_767, 1), (32_768, 0), (65_535, 0)])
def test_a_clock_that_counts_to_its_end_goes_on_in_the_next_millisecond(
    count: int, found: int
) -> None:
    logged = (CommandLogged, "n2", "1/0", 7, 1, ts(13) + count)
    assert len(ahead(logged, began("T1", ts(14)))) == found
    assert len(ahead(began("T1", ts(14)), logged)) == 1


def test_a_reader_and_a_design_without_these_clocks_may_be_ahead() -> None:
    reader = (began("T1", ts(14), ts(14)), read("T1", ts(14), None))
    assert ahead(*reader) == []
    assert ahead(began("T1", ts(14)), rules=HYBRID | {"clock": "physical_clock"}) == []
    assert ahead(began("T1", ts(14)), rules={"clock": "hybrid_clock"}) == []
