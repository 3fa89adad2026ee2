"""The default flows, each by itself over the parts it is given."""

from typing import Any

from ddlsim.history.events import Enlisted, SchemaResolved, TxAborted
from ddlsim.kernel.engine import Loop
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design import flows
from ddlsim.protocol.messages import ClientOperation
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.transaction import commit_check
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.strategies.iep import IEP
from ddlsim.units import timestamp
from tests.support.primary import OLD
from tests.support.protocol import (
    ADD,
    DROP,
    LONG_AGO_MS,
    FakeNode,
    Stage,
    T,
    Wire,
    catalog_of,
    change,
    result_of,
    two_versions,
)

U = "CREATE TABLE u (id INT PRIMARY KEY)"


class Desk(Stage):
    """The coordinator of a stage, and transactions that the test adds."""

    def __init__(self, *args: Any, **changes: Any) -> None:
        super().__init__(*args, **changes)
        self.coordinator = self["n1"].coordinator
        self.node = self["n1"].node
        self.tx = Transaction(OLD, 0)

    def run(self, flow: Any) -> Any:
        return result_of(self.loop, flow)

    def enlist(self, name: str) -> Any:
        return self.run(flows.enlist_once(self.coordinator, self.tx, name, "op"))


# --- resolving -----------------------------------------------------------------------------------


def test_a_snapshot_is_taken_once_the_metadata_is_complete_for_it() -> None:
    """Waiting for Top - DD, looking up at Top [98.flow.3]."""
    loop = Loop()
    node = FakeNode("n1", Wire(loop))
    sync = SchemaSync(node, IEP, two_versions(at_ms=150))
    sync.advance_safe_time(timestamp(50))
    found = [result_of(loop, flows.wait_then_look_up(sync, ts)).version for ts in (
        timestamp(149), timestamp(150)
    )]  # fmt: skip
    assert found == [1, 2]
    loop.call_later(5_000, sync.advance_safe_time, timestamp(60))
    assert result_of(loop, flows.wait_then_look_up(sync, timestamp(160))).version == 2
    assert loop.now_us == 5_000


# --- enlisting -----------------------------------------------------------------------------------


def test_a_table_is_enlisted_at_its_first_use_and_once() -> None:
    """At the coordinator's own now [110.flow.2-4]."""
    desk = Desk()
    first = desk.enlist("t")
    desk.alter(ADD, timestamp(20))
    desk.later(30)
    assert desk.enlist("t") is first
    assert type(first) is Enlistment
    assert (first.version, first.object_id, first.views) == (1, 1, ())
    assert desk.tx.by_name == {"t": first}
    assert desk.tx.by_id == {1: first}
    assert len(desk.of(Enlisted)) == len(desk.of(SchemaResolved)) == 1


def test_tables_of_one_transaction_are_enlisted_each_at_its_own_time() -> None:
    """A later one has the version of then [110.req.3]."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), (U, LONG_AGO_MS)))
    first = desk.enlist("t")
    desk.alter("ALTER TABLE u ADD COLUMN w INT", timestamp(20))
    desk.later(30)
    second = desk.enlist("u")
    assert (first.version, second.version) == (1, 2)
    assert second.enlist_ts > first.enlist_ts


def test_what_is_not_there_cannot_be_enlisted() -> None:
    """And leaves no trace: it may be created later."""
    desk = Desk()
    assert desk.enlist("u") is Reason.TABLE_NOT_FOUND
    desk.alter(U, timestamp(20))
    desk.later(30)
    assert type(desk.enlist("u")) is Enlistment


# --- the commit ----------------------------------------------------------------------------------


def test_every_enlisted_object_is_judged_and_reported() -> None:
    """The verdict is of the first that is incompatible; the report is of all."""
    desk = Desk(catalog_of((T, LONG_AGO_MS), (U, LONG_AGO_MS)))
    for name in ("t", "u"):
        desk.enlist(name)

    def judged() -> Any:
        asked = commit_check.schema_at_commit_ts(desk.coordinator, desk.tx, timestamp(60))
        return desk.run(asked)

    assert judged() == (None, ((1, 1, 1), (2, 1, 1)))
    desk.alter(ADD, timestamp(60))
    assert judged() == (None, ((1, 1, 2), (2, 1, 1)))
    desk.alter("ALTER TABLE t DROP COLUMN w", timestamp(60))
    desk.alter("ALTER TABLE u ADD COLUMN w INT", timestamp(60))
    assert judged() == (Reason.SCHEMA_INCOMPATIBLE, ((1, 1, 3), (2, 1, 2)))
    desk.alter("DROP TABLE u", timestamp(60, 1))
    assert judged() == (Reason.SCHEMA_INCOMPATIBLE, ((1, 1, 3), (2, 1, 2)))


def test_a_table_that_is_gone_at_the_commit_counts_as_version_0() -> None:
    """And is incompatible [110.table.drop]."""
    desk = Desk()
    desk.enlist("t")
    desk.alter("DROP TABLE t", timestamp(60))
    asked = commit_check.schema_at_commit_ts(desk.coordinator, desk.tx, timestamp(60))
    assert desk.run(asked) == (Reason.SCHEMA_INCOMPATIBLE, ((1, 1, 0),))


def test_the_operations_under_way_are_awaited() -> None:
    """All of them, also one that begins meanwhile [110.x.2]; without any there is no wait."""
    desk = Desk()
    desk.run(flows.await_outstanding_operations(desk.coordinator, desk.tx))
    desk.tx.outstanding = 1

    def another() -> None:
        desk.tx.outstanding += 1
        desk.tx.operation_ended()

    desk.loop.call_later(3_000, another)
    desk.loop.call_later(7_000, desk.tx.operation_ended)
    desk.run(flows.await_outstanding_operations(desk.coordinator, desk.tx))
    assert (desk.loop.now_us, desk.tx.outstanding) == (7_000, 0)


def test_an_operation_that_begins_at_the_last_moment_is_awaited_too() -> None:
    """The wait looks again when it is woken."""
    desk = Desk()
    desk.tx.outstanding = 1

    def last_and_next() -> None:
        desk.tx.operation_ended()
        desk.tx.outstanding += 1

    desk.loop.call_later(3_000, last_and_next)
    desk.loop.call_later(7_000, desk.tx.operation_ended)
    desk.run(flows.await_outstanding_operations(desk.coordinator, desk.tx))
    assert desk.loop.now_us == 7_000


def test_the_text_alone_awaits_nothing() -> None:
    """Whatever is under way."""
    desk = Desk()
    desk.tx.outstanding = 1
    desk.run(flows.stamp_at_once(desk.coordinator, desk.tx))
    assert desk.tx.outstanding == 1


# --- marks ---------------------------------------------------------------------------------------


def test_mark_at_activation_marks_again_at_tu() -> None:
    """No transaction has enlisted the table when its change is known; one may until Tu."""
    desk = Desk()
    incompatible = change(desk.catalog, DROP, timestamp(40))
    desk.run(flows.mark_at_activation(desk.coordinator, incompatible))
    assert desk.loop.now_us == 40_000
    assert desk.of(TxAborted) == []


def test_a_doomed_transaction_is_bounded_at_once_and_rolled_back_at_the_activation() -> None:
    """Both by the coordinator's clock [110.valid.3]; left unmarked it just goes on."""
    for flow, ended_us in ((flows.mark_at_activation, 40_000), (flows.leave_unmarked, 0)):
        desk = Desk()
        desk.asked(ClientOperation("o", "t1", "get", "t", 1, None, 1, 1, begins=True))
        update = change(desk.catalog, DROP, timestamp(40))
        marked = desk.coordinator.marks.mark_incompatible(update)
        assert [(tx.id.label, tx.bound_ts) for tx in marked] == [("t1", timestamp(40))]
        desk.run(flow(desk.coordinator, update))
        assert desk.loop.now_us == ended_us
        assert len(desk.of(TxAborted)) == (ended_us > 0)
