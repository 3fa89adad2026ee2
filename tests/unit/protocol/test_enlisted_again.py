"""A coordinator that enlists a table again where a quirk has refused an operation [110.quirk].

Requests for the key EVEN take 10 ms to their primary, where the schema changes after 5 ms.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import Enlisted, ReadExecuted, TxAborted, TxBegan, WriteExecuted
from ddlsim.model.reasons import Reason
from ddlsim.mutants.iep110 import whatever_ran
from ddlsim.protocol.design import quirk_rules
from ddlsim.protocol.design.flows import enlist_once
from ddlsim.protocol.messages import Answer, Mismatch, Operate, Operated
from ddlsim.protocol.strategy import CoordinatorPart, Strategy
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.strategies.b9_coordinator_retry import B9_COORDINATOR_RETRY
from ddlsim.strategies.iep import IEP
from ddlsim.units import timestamp
from tests.support.protocol import ADD, DROP, LONG_AGO_MS, Sent, T, catalog_of
from tests.support.session import EVEN, ODD, Session, reason_of

TU = timestamp(5)
LATE = 10_000
VIEW = "CREATE VIEW w AS SELECT id FROM t"


def delayed(*kinds: type) -> Callable[[Sent], Sequence[int]]:
    return lambda sent: (LATE,) if type(sent.payload) in kinds and sent.to != "n1" else (0,)


def begun(strategy: Strategy = B9_COORDINATOR_RETRY, *more: Any, **changes: Any) -> Session:
    """Transaction t1 has begun; what is sent to n2 takes its time from now on."""
    session = Session(*more, strategy=strategy, **changes)
    session.begin("t1")
    session.wire.fate = delayed(Operate)
    return session


def crossed(
    session: Session, change: str = ADD, action: str = "put", *, tx: str = "t1", **more: Any
) -> Any:
    """The answer to an operation that the change overtakes."""
    row = {"value": 5} if action == "put" else {}
    waiting = session.send(tx, action, EVEN, **row, **more)
    session.alter(change, TU)
    session.later(25)
    assert waiting.done, "it waits still"
    return waiting.value


def enlisted(session: Session) -> list[tuple[int, int]]:
    return [(one.object_id, one.version) for one in session.of(Enlisted)]


# --- the rule ------------------------------------------------------------------------------------


def test_by_the_text_the_client_retries() -> None:
    assert not any(quirk_rules.client_retry(ran) for ran in (0, 1, 2))
    assert IEP.enlists_again is quirk_rules.client_retry
    session = begun(IEP)
    assert reason_of(crossed(session)) is Reason.SCHEMA_CHANGED
    assert session.node.probes["reenlisted"] == 0


def test_the_coordinator_retries_where_nothing_ran() -> None:
    assert [quirk_rules.coordinator_retry(ran) for ran in (0, 1, 2)] == [True, False, False]
    assert B9_COORDINATOR_RETRY.header.claims == IEP.header.claims


# --- once more -----------------------------------------------------------------------------------


def test_a_refused_operation_goes_on_under_the_version_of_a_second_enlistment() -> None:
    """The client encodes its row anew, in the same transaction, and sees nothing else."""
    session = begun()
    reply = crossed(session)
    assert type(reply) is Mismatch
    assert reply.table.version == 2
    assert enlisted(session) == [(1, 1), (1, 2)]
    assert type(session.put("t1", EVEN, client_version=2, row=(EVEN, 5, 7))) is Answer
    assert type(session.commit("t1")) is Answer
    session.later(30)
    assert session.stored(EVEN) == [(EVEN, 5, 7)]
    assert (session.of(TxAborted), session.at_rest) == ([], True)
    assert session.node.probes["reenlisted"] == 1


def test_the_second_enlist_ts_is_beyond_op_ts_of_the_refusal() -> None:
    """So the version that the primary saw is found, also if its clock is ahead."""
    session = begun()
    session["n2"].node.ahead_ms = 50
    waiting = session.send("t1", "get", EVEN)
    session.alter(ADD, timestamp(40))
    session.later(25)
    assert type(waiting.value) is Mismatch
    [refused] = [one for one in session.wire.payloads(Operated) if one.reason is not None]
    assert refused.op_ts > timestamp(40)
    assert session.of(Enlisted)[-1].enlist_ts > refused.op_ts


def test_participants_and_their_leases_stay() -> None:
    session = begun()
    crossed(session)
    tx = session.coordinator.transactions["t1"]
    assert (list(tx.participants), tx.commit_place) == ([(1, 0)], (1, 0))


def test_a_view_that_changed_alone_is_sent_again_without_its_client() -> None:
    """Its rows are of the same version, so nothing is encoded anew."""
    outer = "CREATE VIEW x AS SELECT id FROM w"
    made = catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS), (outer, LONG_AGO_MS))
    session = begun(B9_COORDINATOR_RETRY, made)
    reply = crossed(session, "ALTER VIEW w RENAME TO y", "get", table="x")
    assert type(reply) is Answer
    assert enlisted(session) == [(3, 1), (2, 1), (1, 1), (3, 1), (2, 2), (1, 1)]
    assert [one.op for one in session.wire.payloads(Operate)] == ["op1", "op1"]


def test_a_table_is_forgotten_under_all_its_names() -> None:
    made = catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS))
    session = begun(B9_COORDINATOR_RETRY, made)
    assert type(session.do("t1", "get", EVEN, table="w", client_version=0)) is Mismatch
    crossed(session)
    assert list(session.coordinator.transactions["t1"].by_name) == ["t"]
    assert list(session.coordinator.transactions["t1"].by_id) == [1]


def test_a_name_that_means_nothing_any_more_is_said_so() -> None:
    """As to a transaction that uses it for the first time now."""
    session = begun()
    assert reason_of(crossed(session, "ALTER TABLE t RENAME TO u")) is Reason.TABLE_NOT_FOUND
    assert [one.reason for one in session.of(TxAborted)] == ["TABLE_NOT_FOUND"]


def test_a_scan_that_every_partition_refused_is_enlisted_again() -> None:
    session = begun()
    session.wire.fate = lambda sent: (LATE,) if type(sent.payload) is Operate else (0,)
    assert type(crossed(session, action="scan")) is Mismatch


# --- not once something ran ----------------------------------------------------------------------


def test_not_once_an_operation_has_run() -> None:
    session = begun()
    assert type(session.do("t1", "get", ODD)) is Answer
    assert reason_of(crossed(session)) is Reason.SCHEMA_CHANGED
    assert enlisted(session) == [(1, 1)]
    assert session.of(WriteExecuted) == []


def test_not_once_columns_were_shown() -> None:
    session = begun()
    assert session.do("t1", "get", ODD, metadata=True).columns == ("id", "v")
    assert reason_of(crossed(session)) is Reason.SCHEMA_CHANGED


def test_not_while_another_operation_is_under_way() -> None:
    """It may run, or have run: its answer is still to come."""
    session = begun()
    slow = {"op2": 15_000}
    session.wire.fate = lambda sent: (
        (slow.get(getattr(sent.payload, "op", ""), LATE),)
        if type(sent.payload) is Operate
        else (0,)
    )
    first, second = session.send("t1", "get", EVEN), session.send("t1", "get", EVEN + 2)
    session.alter(ADD, TU)
    session.later(30)
    assert [reason_of(one.value) for one in (first, second)] == [Reason.SCHEMA_CHANGED] * 2
    assert session.node.probes["reenlisted"] == 0


def test_not_where_a_partition_of_a_scan_has_run() -> None:
    """n1 serves the other one, at once."""
    session = begun()
    assert reason_of(crossed(session, action="scan")) is Reason.SCHEMA_CHANGED
    assert len(session.of(ReadExecuted)) == 1


@pytest.mark.parametrize("action", ["get", "put"])
def test_not_where_a_copy_of_the_message_has_run(action: str) -> None:
    """The first copy runs before the change, and its answer is lost; the second one is refused."""
    session = begun()

    def fate(sent: Sent) -> Sequence[int]:
        if type(sent.payload) is Operate:
            return (0, LATE)
        return () if type(sent.payload) is Operated and sent.payload.reason is None else (0,)

    session.wire.fate = fate
    assert reason_of(crossed(session, action=action)) is Reason.SCHEMA_CHANGED
    [refused] = [one for one in session.wire.payloads(Operated) if one.reason is not None]
    assert refused.ran
    assert session.node.probes["reenlisted"] == 0


def test_a_mutant_forgets_what_has_run() -> None:
    session = begun(replace(B9_COORDINATOR_RETRY, enlists_again=whatever_ran))
    assert type(session.do("t1", "get", ODD)) is Answer
    assert type(crossed(session)) is Mismatch


# --- what is left out ----------------------------------------------------------------------------


def test_an_implicit_transaction_is_tried_again_as_a_whole() -> None:
    session = begun()
    crossed(session, tx="i", implicit=True)
    assert [one.reason for one in session.of(TxAborted)] == ["SCHEMA_CHANGED"]
    assert [one.tx for one in session.of(TxBegan) if one.implicit] == ["i", "ir1"]
    assert session.node.probes["reenlisted"] == 0


def test_a_table_that_is_gone_is_no_quirk() -> None:
    session = begun()
    assert reason_of(crossed(session, "DROP TABLE t")) is not None
    assert enlisted(session) == [(1, 1)]


def test_the_same_version_is_not_sent_again() -> None:
    """So nothing goes round for ever, whatever a design's look-ups give."""
    kept: list[Enlistment | Reason] = []

    async def stale(
        coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
    ) -> Enlistment | Reason:
        if not kept:
            kept.append(await enlist_once(coordinator, tx, name, op))
        return kept[0]

    session = begun(replace(B9_COORDINATOR_RETRY, enlist=stale))
    assert reason_of(crossed(session)) is Reason.SCHEMA_CHANGED
    assert len(session.wire.payloads(Operate)) == 1


# --- marks ---------------------------------------------------------------------------------------


def test_a_mark_does_not_end_what_may_enlist_anew() -> None:
    """The change is incompatible, and active while the operation is under way [110.valid.3]."""
    session = begun()
    assert type(crossed(session, DROP)) is Mismatch
    assert session.node.probes["marked-rollback"] == 0
    assert session.coordinator.transactions["t1"].bound_ts is None
    assert type(session.put("t1", EVEN, client_version=2, row=(EVEN,))) is Answer
    assert type(session.commit("t1")) is Answer


def test_the_bound_of_another_table_stays() -> None:
    """u has been read, on n2; t is enlisted anew."""
    made = catalog_of((T, LONG_AGO_MS), (T.replace("TABLE t", "TABLE u"), LONG_AGO_MS))
    session = begun(B9_COORDINATOR_RETRY, made)
    assert type(session.do("t1", "get", ODD, table="u")) is Answer
    waiting = session.send("t1", "put", EVEN, 5)
    session.alter(DROP, timestamp(15))
    session.alter("ALTER TABLE u DROP COLUMN v", timestamp(200))
    session.later(9)
    assert session.coordinator.transactions["t1"].bound_ts == timestamp(15)
    session.later(9)
    assert type(waiting.value) is Mismatch
    assert session.coordinator.transactions["t1"].bound_ts == timestamp(200)


def test_what_has_run_is_rolled_back_at_the_activation() -> None:
    session = begun()
    session.wire.fate = lambda _: (0,)
    assert type(session.put("t1", EVEN)) is Answer
    session.alter(DROP, TU)
    session.later(10)
    assert [one.reason for one in session.of(TxAborted)] == ["ROLLBACK_ONLY"]
