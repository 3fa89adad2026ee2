"""The primary: schema checks at its own timestamp, reads and writes."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import ReadExecuted, SchemaResolved, WriteExecuted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design.schema_rules import ARRIVAL_ONLY
from ddlsim.protocol.leases import Lease
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import OLD, PLACE, YOUNG, Primary
from tests.support.protocol import (
    ADD,
    FIRST_LEASE,
    LONG_AGO_MS,
    NEVER,
    T,
    catalog_of,
    two_versions,
)

VIEW = "CREATE VIEW w AS SELECT id FROM t"


# --- reading and writing -------------------------------------------------------------------------


def test_what_is_put_is_read_by_key_and_by_scan() -> None:
    """By its own transaction at once, by others after the commit."""
    primary = Primary()
    row = (1, ((1, 1), (2, 5)))
    primary.put(OLD, 1, 5)
    assert primary.do(OLD, "get").rows == (row,)
    assert primary.do(OLD, "scan", None).rows == (row,)
    primary.end(OLD, timestamp(9))
    assert primary.do(YOUNG, "get").rows == (row,)


def test_what_is_deleted_is_read_no_more() -> None:
    """Its absence is an observation of the deleter."""
    primary = Primary()
    primary.committed(1, (1, 5))
    primary.do(OLD, "delete")
    assert primary.do(OLD, "get").rows == ()
    primary.end(OLD, timestamp(9))
    assert primary.do(YOUNG, "get").rows == ()
    [(read,)] = [e.rows for e in primary.node.of(ReadExecuted) if e.tx == YOUNG.label]
    assert (read.key, read.writer, read.row_version, read.row) == (1, OLD.label, 1, None)


def test_a_key_that_was_never_written_is_read_as_such() -> None:
    """Without a writer."""
    primary = Primary()
    assert primary.do(OLD, "get", 9).rows == ()
    [(read,)] = [e.rows for e in primary.node.of(ReadExecuted)]
    assert (read.key, read.writer, read.row_version, read.row) == (9, None, 0, None)


def test_reads_and_writes_are_recorded_with_their_timestamp_and_version() -> None:
    """A scan is a predicate read of its whole partition."""
    primary = Primary()
    put = primary.put(OLD, 1, 5)
    scan = primary.do(OLD, "scan", None)
    [wrote], [read] = primary.node.of(WriteExecuted), primary.node.of(ReadExecuted)
    assert (wrote.tx, wrote.key, wrote.op_ts, wrote.version) == ("tx1", 1, put.op_ts, 1)
    assert wrote.row == ((1, 1), (2, 5))
    assert (read.tx, read.op_ts, read.predicate, len(read.rows)) == ("tx1", scan.op_ts, True, 1)
    assert (read.rows[0].writer, read.rows[0].decoded_version) == ("tx1", 1)


def test_with_recording_off_the_answers_are_the_same() -> None:
    """And nothing is written down."""
    primary = Primary()
    before = len(primary.node.events)
    primary.node.recording = False
    primary.put(OLD, 1, 5)
    assert primary.do(OLD, "scan", None).rows == ((1, ((1, 1), (2, 5))),)
    assert len(primary.node.events) == before


def test_the_primarys_timestamp_lies_after_the_senders() -> None:
    """It merges what the request carries, and its answer lies after that."""
    primary = Primary()
    reply = primary.do(OLD, "get", sent_ts=timestamp(700))
    assert timestamp(700) < reply.op_ts <= reply.sent_ts


# --- schema checks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activation_ts", "reason"),
    [(timestamp(60, 1), Reason.SCHEMA_CHANGED), (timestamp(60, 3), None)],
)
def test_the_schema_at_the_operation_must_be_the_initial_one(
    activation_ts: Timestamp, reason: Reason | None
) -> None:
    """At Tu the new version holds [98.def.1]; the first check is at (60, 1), the second later."""
    primary = Primary()
    primary.alter(ADD, activation_ts)
    assert primary.do(OLD, "get", sent_ts=timestamp(60)).reason is reason


def test_a_version_that_activates_between_the_two_checks_is_caught_by_the_second() -> None:
    """The lock was granted at once, and yet the timestamp is another."""
    primary = Primary()
    primary.alter(ADD, timestamp(60, 2))
    assert primary.do(OLD, "get", sent_ts=timestamp(60)).reason is Reason.SCHEMA_CHANGED
    purposes = [(e.purpose, e.version) for e in primary.node.of(SchemaResolved)]
    assert purposes == [("arrival", 1), ("after-locks", 2)]


def test_a_table_that_is_gone_fails_the_operation() -> None:
    """Now, and not only the commit [110.table.exists]."""
    primary = Primary()
    primary.alter("DROP TABLE t", timestamp(60))
    assert primary.do(OLD, "get", sent_ts=timestamp(60)).reason is Reason.TABLE_DROPPED


def test_a_change_of_another_table_does_not_matter() -> None:
    """A table is judged by its own versions [110.compat.scope]."""
    primary = Primary()
    primary.alter("CREATE TABLE u (id INT PRIMARY KEY)", timestamp(50))
    assert primary.do(OLD, "get", sent_ts=timestamp(60)).reason is None


def test_the_views_between_name_and_table_are_judged_too() -> None:
    """By their own versions [110.view]."""
    primary = Primary(catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS)))
    views = ((2, 1),)
    assert primary.do(OLD, "scan", None, views=views).reason is None
    primary.alter("ALTER VIEW w RENAME TO v", timestamp(60))
    late = timestamp(60)
    assert primary.do(OLD, "get", views=views, sent_ts=late).reason is Reason.SCHEMA_CHANGED
    assert primary.do(OLD, "get", sent_ts=late).reason is None


def test_a_change_while_an_operation_waits_for_its_lock_is_noticed() -> None:
    """It is checked again once the locks are granted [110.x.1], at a timestamp taken then."""
    primary = Primary()
    primary.put(YOUNG, 1, 5)
    waiting = primary.send(OLD, "get")
    primary.alter(ADD, timestamp(40))
    primary.later(50)
    primary.end(YOUNG)
    primary.later(0)
    assert waiting.value.reason is Reason.SCHEMA_CHANGED
    assert waiting.value.op_ts >= timestamp(50)


@pytest.mark.parametrize("mutant", [False, True])
def test_of_two_writes_at_once_the_one_that_runs_later_has_the_later_timestamp(
    *, mutant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first waited behind its check; its intent stays, for it has seen the second's."""
    primary = Primary()
    sync = primary.replica.sync
    until, look_up = primary.loop.future(), sync.object_at

    async def waiting(ts: Timestamp, tx: str, op: str, purpose: str, object_id: int) -> Any:
        if (op, purpose) == ("op1", "after-locks"):
            await until
        return await look_up(ts, tx, op, purpose, object_id)

    monkeypatch.setattr(sync, "object_at", waiting)
    if mutant:
        monkeypatch.setattr(primary.replica, "_is_overtaken", lambda *_: False)
    first = primary.send(OLD, "put", 1, (1, 5))
    second = primary.put(OLD, 1, 6)
    until.set(None)
    primary.later(0)
    left = primary.partition.intents[1]
    assert (first.value.op_ts > second.op_ts) is not mutant
    assert left.row == ((1, 6) if mutant else (1, 5))
    written = [event.op for event in primary.node.of(WriteExecuted)]
    assert written == ["op2", "op1"]


def test_the_text_alone_checks_on_arrival_only() -> None:
    """Then the operation runs, under a schema that is no more."""
    primary = Primary(strategy=replace(IEP, check_operation_when=ARRIVAL_ONLY))
    primary.put(YOUNG, 1, 5)
    waiting = primary.send(OLD, "get")
    primary.alter(ADD, timestamp(40))
    primary.later(50)
    primary.end(YOUNG)
    primary.later(0)
    assert waiting.value.reason is None
    assert waiting.value.op_ts < timestamp(40)


def test_a_row_of_a_newer_schema_aborts_its_reader() -> None:
    """Every change is backward-incompatible [110.back]; a scan meets it as well."""
    primary = Primary(two_versions(at_ms=LONG_AGO_MS))
    primary.committed(1, (1, 5, 6), version=2)
    rules = replace(IEP, check_operation=lambda *_: None)  # so that it can be met at all
    primary.replica.strategy = rules
    for action, key in (("get", 1), ("scan", None)):
        assert primary.do(OLD, action, key).reason is Reason.NEWER_ROW_VERSION
    assert primary.node.probes["newer-row-met"] == 2


def test_a_row_of_an_older_schema_is_decoded_with_it_and_shown_under_the_readers() -> None:
    """Upgraded by column id [110.flow.5]."""
    primary = Primary()
    primary.committed(1, (1, 5))
    primary.alter("ALTER TABLE t ADD COLUMN w INT DEFAULT 9", Timestamp(1))
    reply = primary.do(OLD, "get", initial=2)
    assert reply.rows == ((1, ((1, 1), (2, 5), (3, 9))),)
    [(read,)] = [e.rows for e in primary.node.of(ReadExecuted)]
    assert (read.row_version, read.decoded_version) == (1, 1)


def test_a_scripted_pause_stops_an_operation_after_its_first_check() -> None:
    """Then it goes on to its locks."""
    primary = Primary()
    until = primary.node.pauses["after-arrival-check"] = primary.loop.future()
    waiting = primary.send(OLD, "put", 1, (1, 5))
    primary.later(5)
    assert (waiting.done, primary.replica.has_open_work) == (False, False)
    assert [e.purpose for e in primary.node.of(SchemaResolved)] == ["arrival"]
    until.set(None)
    primary.later(0)
    assert waiting.value.reason is None


# --- leases --------------------------------------------------------------------------------------

NEXT_LEASE = Timestamp(FIRST_LEASE + 5)


@pytest.mark.parametrize(
    ("holder", "start_ts", "reason"),
    [
        ("n1", NEXT_LEASE, None),
        ("n2", NEXT_LEASE, Reason.PRIMARY_EXPIRED),
        ("n1", Timestamp(NEXT_LEASE + 1), Reason.PRIMARY_EXPIRED),
    ],
)
def test_an_operation_waits_for_the_lease_that_it_names_or_a_later_one(
    holder: str, start_ts: Timestamp, reason: Reason | None
) -> None:
    primary = Primary()
    answer = primary.send(OLD, "get", lease_start=NEXT_LEASE)
    between = Timestamp(NEXT_LEASE - 1)
    for lease in (Lease(PLACE, "n1", between, NEVER), Lease(PLACE, holder, start_ts, NEVER)):
        primary.later(50)
        assert not answer.done
        primary["n1"].leases.begin(lease)
    primary.later(0)
    assert answer.value.reason is reason
    assert primary.node.probes["lease-awaited"] == 2


def test_an_operation_under_an_earlier_lease_is_refused_at_once() -> None:
    primary = Primary()
    primary["n1"].leases.begin(Lease(PLACE, "n1", NEXT_LEASE, NEVER))
    assert primary.do(OLD, "get").reason is Reason.PRIMARY_EXPIRED


def test_an_operation_that_waits_beyond_its_lease_is_refused() -> None:
    """Also where it keeps the op_ts of before the wait: a later primary has written since."""
    primary = Primary(strategy=replace(IEP, check_operation_when=ARRIVAL_ONLY))
    primary["n1"].leases.begin(Lease(PLACE, "n1", NEXT_LEASE, timestamp(40)))
    primary.put(YOUNG, 1, 5, lease_start=NEXT_LEASE)
    waiting = primary.send(OLD, "get", lease_start=NEXT_LEASE)
    primary.later(50)
    primary.end(YOUNG)
    primary.later(0)
    assert waiting.value.op_ts < timestamp(40)
    assert waiting.value.reason is Reason.PRIMARY_EXPIRED
