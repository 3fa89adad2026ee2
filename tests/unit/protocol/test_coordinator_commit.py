"""The coordinator: which schema judges a commit, what it waits for, that its outcome is kept."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import TxAborted, TxCommitted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design import flows
from ddlsim.protocol.design.flows import stamp_at_once
from ddlsim.protocol.messages import Answer, ClientCommit, Finish, Finished, Operated
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, timestamp
from tests.support.protocol import ADD, DROP
from tests.support.session import EVEN, ODD, Session, reason_of


@pytest.fixture
def session() -> Session:
    """Table t in one version; transaction t1 has begun."""
    session = Session()
    session.begin("t1")
    return session


@pytest.mark.parametrize(
    ("asked", "activation_ts", "reason"),
    [
        (DROP, timestamp(60, 1), Reason.ROLLBACK_ONLY),
        (DROP, timestamp(60, 2), None),
        (ADD, timestamp(60, 1), None),
    ],
)
def test_a_commit_is_judged_by_the_schema_at_its_own_timestamp(
    session: Session, asked: str, activation_ts: Timestamp, reason: Reason | None
) -> None:
    """At Tu itself by the new one [98.def.1]; commit_ts here is (60, 1)."""
    session.put("t1", EVEN)
    session.alter(asked, activation_ts)
    assert reason_of(session.commit("t1", timestamp(60))) is reason
    assert session.stored(EVEN) == ([] if reason else [(EVEN, 5)])


@pytest.mark.parametrize(
    ("flow", "reason"),
    [
        (flows.mark_at_activation, Reason.ROLLBACK_ONLY),
        (flows.leave_unmarked, Reason.SCHEMA_INCOMPATIBLE),
    ],
)
def test_without_marks_the_outcome_is_the_same(flow: Any, reason: Reason) -> None:
    """Only the reason differs, also where the table was enlisted after its change was known."""
    session = Session(strategy=replace(IEP, on_activated=flow))
    session.begin("t1")
    session.alter(DROP, timestamp(60, 1))
    session.put("t1", EVEN)
    assert reason_of(session.commit("t1", timestamp(60))) is reason


def test_a_commit_is_recorded_with_the_versions_that_it_was_judged_by(session: Session) -> None:
    """Object, initial version, version at commit_ts."""
    session.put("t1", EVEN)
    session.alter(ADD, timestamp(60))
    session.commit("t1", timestamp(60))
    [committed] = session.of(TxCommitted)
    assert (committed.tables, committed.node) == (((1, 1, 2),), "n2")
    assert committed.commit_ts == timestamp(60, 1)
    assert session.node.probes["transborder-commit"] == 1


def test_a_commit_lies_after_every_operation(session: Session) -> None:
    """Also after those of a primary whose clock is ahead [110.x.2]."""
    session["n2"].node.ahead_ms = 70
    session.put("t1", EVEN)
    session.commit("t1")
    [operated] = session.wire.payloads(Operated)
    [finish] = session.wire.payloads(Finish)
    assert timestamp(70) <= operated.op_ts < finish.commit_ts


def test_a_commit_waits_for_the_operations_under_way(session: Session) -> None:
    """Then it lies after them, and commits them too [110.x.2]."""
    until = session["n2"].node.pauses["after-arrival-check"] = session.loop.future()
    session.send("t1", "put", EVEN, 5)
    session.later(10)
    session.loop.call_later(20_000, until.set, None)
    assert type(session.commit("t1")) is Answer
    [operated], [finish] = session.wire.payloads(Operated), session.wire.payloads(Finish)
    assert operated.op_ts < finish.commit_ts
    assert session.stored(EVEN) == [(EVEN, 5)]


def test_the_text_alone_does_not_wait_for_them() -> None:
    """Then an operation under way comes too late."""
    session = Session(strategy=replace(IEP, before_commit_ts=stamp_at_once))
    session.begin("t1")
    session.put("t1", EVEN)
    until = session["n2"].node.pauses["after-arrival-check"] = session.loop.future()
    waiting = session.send("t1", "put", EVEN, 6)
    session.later(10)
    assert type(session.commit("t1")) is Answer
    until.set(None)
    session.later(10)
    assert waiting.value.reason is Reason.TX_FINISHED
    assert session.stored(EVEN) == [(EVEN, 5)]


def test_an_operation_that_fails_while_the_commit_waits_fails_the_commit(session: Session) -> None:
    """Else the client would be told that an operation failed of a transaction that commits."""
    session.begin("t2")
    session.put("t1", EVEN)
    waiting = session.send("t2", "put", EVEN, 6)
    session.later(1)
    assert reason_of(session.commit("t2")) is Reason.LOCK_CONFLICT
    assert reason_of(waiting.value) is Reason.LOCK_CONFLICT
    assert [aborted.tx for aborted in session.of(TxAborted)] == ["t2"]


def test_a_finish_is_repeated_until_it_is_confirmed(session: Session) -> None:
    """With the same commit timestamp; whether it was lost or its confirmation."""
    for number, lost in enumerate((Finish, Finished)):
        tx = f"x{number}"
        session.begin(tx)
        session.put(tx, EVEN)
        session.wire.fate = lambda sent, lost=lost: () if type(sent.payload) is lost else (0,)
        session.loop.call_later(50_000, setattr, session.wire, "fate", lambda _: (0,))
        said = len(session.wire.payloads(Finish))
        assert type(session.commit(tx)) is Answer
        repeated = session.wire.payloads(Finish)[said:]
        assert len(repeated) == 3  # each after a longer wait
        assert len({finish.commit_ts for finish in repeated}) == 1
    assert [committed.tx for committed in session.of(TxCommitted)] == ["x0", "x1"]
    assert session.node.probes["finish-resent"] == 4


def test_operation_during_commit_is_refused(session: Session) -> None:
    """It neither joins the transaction nor undoes it."""
    session.put("t1", EVEN)
    until = session.node.pauses["after-commit-check"] = session.loop.future()
    commit = session.ask(ClientCommit("c", "t1"))
    session.later(1)
    replies = [session.put("t1", ODD), session.roll_back("t1"), session.commit("t1")]
    assert [reason_of(reply) for reply in replies] == [Reason.TX_FINISHED] * 3
    until.set(None)
    session.later(1)
    assert type(commit.value) is Answer
    assert (session.stored(EVEN), session.stored(ODD)) == ([(EVEN, 5)], [])


def test_rollback_while_commit_waits_aborts(session: Session) -> None:
    """At the point before commit_ts it can still be marked; then the mark counts."""
    session.put("t1", EVEN)
    until = session.node.pauses["before-commit-ts"] = session.loop.future()
    commit = session.ask(ClientCommit("c", "t1"))
    session.later(1)
    session.alter(DROP, timestamp(20))
    session.later(30)
    assert not commit.done
    until.set(None)
    session.later(1)
    assert reason_of(commit.value) is Reason.ROLLBACK_ONLY
    assert session.stored(EVEN) == []
