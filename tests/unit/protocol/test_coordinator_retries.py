"""The coordinator: implicit transactions, and the marks that an activation leaves."""

from dataclasses import replace

import pytest

from ddlsim.history.events import TxAborted, TxBegan, TxCommitted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design.failure_rules import never_in_one_phase
from ddlsim.protocol.design.flows import leave_unmarked
from ddlsim.protocol.messages import Answer, ClientCommit, Mismatch, Operate, Operated
from ddlsim.protocol.transaction_record import COMMITTING
from ddlsim.strategies.iep import IEP
from ddlsim.units import timestamp
from tests.support.protocol import ADD, DROP, LONG_AGO_MS, two_versions
from tests.support.session import EVEN, ODD, Session, reason_of


@pytest.fixture
def session() -> Session:
    """Table t in one version, and nothing begun."""
    return Session()


# --- implicit transactions -----------------------------------------------------------------------


def test_an_implicit_transaction_is_one_operation_that_commits(session: Session) -> None:
    """The answer tells the rows, and under which name it committed."""
    session.put("a", EVEN, implicit=True)
    reply = session.do("b", "get", EVEN, implicit=True)
    assert (reply.rows, reply.tx) == (((EVEN, ((1, EVEN), (2, 5))),), "b")
    assert [(e.tx, e.implicit) for e in session.of(TxBegan)] == [("a", True), ("b", True)]
    assert sorted(e.tx for e in session.of(TxCommitted)) == ["a", "b"]
    session.later(50)
    assert session.at_rest


def test_retriable_failure_is_retried_as_another_transaction(session: Session) -> None:
    """Without bothering the client: a younger one, under another name."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.loop.call_later(25_000, session.ask, ClientCommit("c", "t1"))
    reply = session.put("a", EVEN, 6, implicit=True)
    assert reply.tx == "ar2"
    assert [e.tx for e in session.of(TxAborted)] == ["a", "ar1"]
    assert {e.reason for e in session.of(TxAborted)} == {"LOCK_CONFLICT"}
    assert session.stored(EVEN) == [(EVEN, 5), (EVEN, 6)]
    begins = [e.begin_ts for e in session.of(TxBegan)]
    assert begins == sorted(set(begins))


def test_last_attempt_returns_the_failure() -> None:
    """It may retry then, as it likes."""
    session = Session(lock_retries=0)
    session.begin("t1")
    session.put("t1", EVEN)
    reply = session.put("a", EVEN, 6, implicit=True)
    assert reply.reason is Reason.LOCK_CONFLICT
    assert [e.tx for e in session.of(TxAborted)] == ["a", *(f"ar{n}" for n in range(1, 10))]
    assert session.node.probes["implicit-retry"] == 9


def test_no_attempt_begins_when_the_time_of_the_first_one_is_up() -> None:
    """A transaction may take 40 ms; the last attempt is the first that ends after them."""
    session = Session(tx_timeout_ms=40)
    session.begin("t1")
    session.put("t1", EVEN)
    session.coordinator.transactions["t1"].state = COMMITTING  # so that it does not time out itself
    reply = session.put("a", EVEN, 6, implicit=True)
    assert reply.reason is Reason.LOCK_CONFLICT
    begun = [e.at_us for e in session.of(TxBegan) if e.tx.startswith("a")]
    ended = [e.at_us - begun[0] for e in session.of(TxAborted)]
    assert 1 < len(begun) < 10
    assert ended[-2] < 40_000 <= ended[-1]
    assert session.node.probes["implicit-retry-over"] == 1


def test_not_retriable_failure_is_returned_at_once(session: Session) -> None:
    """It would only happen again."""
    reply = session.do("a", "get", table="nowhere", implicit=True)
    assert reply.reason is Reason.TABLE_NOT_FOUND
    assert len(session.of(TxBegan)) == 1


def test_implicit_transaction_stays_open_after_mismatch(session: Session) -> None:
    """It keeps the version of the `Mismatch`, whatever happens meanwhile [110.flow.2]."""
    assert type(session.put("a", EVEN, client_version=0, implicit=True)) is Mismatch
    session.later(10)
    assert type(session.put("a", EVEN, implicit=True)) is Answer
    assert [e.tx for e in session.of(TxBegan)] == ["a"]
    assert [e.tx for e in session.of(TxCommitted)] == ["a"]


def test_encoding_that_reaches_a_restarted_node_begins_a_transaction_of_another_name(
    session: Session,
) -> None:
    """The one before the restart may have an outcome under the operation's own name."""
    assert type(session.put("a", EVEN, client_version=0, implicit=True)) is Mismatch
    session.coordinator._refreshing.clear()  # what a restart loses
    session.coordinator.transactions.clear()
    reply = session.put("a", EVEN, implicit=True, label=1)
    assert reply.tx == "a~1"
    assert [e.tx for e in session.of(TxBegan)] == ["a", "a~1"]


def test_attempts_after_a_restart_and_a_mismatch_have_names_of_their_own() -> None:
    """Also those behind an encoding that it asked for: `ar1` may be an attempt of before."""
    session = Session()
    session.begin("t1")
    session.put("t1", EVEN)
    assert type(session.put("a", EVEN, client_version=0, implicit=True, label=1)) is Mismatch
    reply = session.put("a", EVEN, 6, implicit=True, label=2)
    assert reply.reason is Reason.LOCK_CONFLICT
    begun = [e.tx for e in session.of(TxBegan) if e.tx.startswith("a")]
    assert begun == ["a~1", *(f"a~1r{number}" for number in range(1, 10))]


def test_a_commit_that_fails_is_retried_as_well() -> None:
    """The change is incompatible; the next transaction enlists the new version."""
    rules = {"on_activated": leave_unmarked, "in_one_phase": never_in_one_phase}
    session = Session(strategy=replace(IEP, **rules))
    until = session.node.pauses["before-commit-ts"] = session.loop.future()
    waiting = session.send("a", "put", EVEN, 5, implicit=True)
    session.later(1)
    session.alter(DROP, timestamp(5))
    session.later(10)
    until.set(None)
    session.later(10)
    assert type(waiting.value) is Mismatch
    assert waiting.value.table.version == 2
    assert [e.reason for e in session.of(TxAborted)] == ["SCHEMA_INCOMPATIBLE"]
    reply = session.put("a", EVEN, client_version=2, row=(EVEN,), implicit=True)
    assert reply.tx == "ar1"
    assert session.stored(EVEN) == [(EVEN,)]


def test_rollback_during_refresh_is_retried(session: Session) -> None:
    """The version that it told its client is no more."""
    assert type(session.put("a", EVEN, client_version=0, implicit=True)) is Mismatch
    session.alter(DROP, timestamp(20))
    session.later(30)
    assert [e.reason for e in session.of(TxAborted)] == ["ROLLBACK_ONLY"]
    reply = session.put("a", EVEN, client_version=1, implicit=True)
    assert type(reply) is Mismatch
    reply = session.put("a", EVEN, client_version=2, row=(EVEN,), implicit=True)
    assert reply.tx == "ar1"


# --- rollback-only marks [110.valid.3] -----------------------------------------------------------


def test_an_activation_rolls_back_what_it_dooms(session: Session) -> None:
    """When the coordinator's clock has passed it; until then the transaction goes on."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(DROP, timestamp(20))
    session.later(19)
    assert type(session.put("t1", ODD)) is Answer
    session.later(2)
    assert [(e.tx, e.reason) for e in session.of(TxAborted)] == [("t1", "ROLLBACK_ONLY")]
    assert session.at_rest
    assert reason_of(session.commit("t1")) is Reason.ROLLBACK_ONLY
    assert session.node.probes["marked-rollback"] == 1


def test_a_transaction_that_enlists_the_old_version_later_is_rolled_back_too(
    session: Session,
) -> None:
    """Known at 0, active at 20, enlisted at 10: the old version, and doomed."""
    session.alter(DROP, timestamp(20))
    session.later(10)
    session.begin("t1")
    assert type(session.put("t1", EVEN)) is Answer
    assert session.coordinator.transactions["t1"].bound_ts == timestamp(20)
    session.later(11)
    assert [(e.tx, e.reason) for e in session.of(TxAborted)] == [("t1", "ROLLBACK_ONLY")]
    assert session.at_rest


def test_answer_after_a_mark_is_dropped_and_the_transaction_retried() -> None:
    """The operation ran before Tu, its transaction was ended at Tu: nothing of it is committed."""
    session = Session(strategy=replace(IEP, in_one_phase=never_in_one_phase))
    session.wire.fate = lambda sent: (30_000,) if type(sent.payload) is Operated else (0,)
    reply = session.send("t1", "put", EVEN, 5, implicit=True)
    session.alter(DROP, timestamp(20))
    session.later(100)
    assert [(e.tx, e.reason) for e in session.of(TxAborted)] == [("t1", "ROLLBACK_ONLY")]
    assert session.stored(EVEN) == []
    assert type(reply.value) is Mismatch  # it is tried again, and has to be encoded anew


def test_a_mark_does_not_end_what_is_being_committed_in_one_phase() -> None:
    """Whether it commits is decided by the partition's leader, and may be so already."""
    session = Session()
    session.wire.fate = lambda sent: (30_000,) if type(sent.payload) is Operated else (0,)
    reply = session.send("t1", "put", EVEN, 5, implicit=True)
    session.alter(DROP, timestamp(20))
    session.later(100)
    assert session.of(TxAborted) == []
    assert (type(reply.value), session.stored(EVEN)) == (Answer, [(EVEN, 5)])


def test_rolling_back_what_a_mark_has_ended_succeeds(session: Session) -> None:
    """It has left nothing, and that is what was asked for; what has committed is refused."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(DROP, timestamp(20))
    session.later(21)
    assert [e.reason for e in session.of(TxAborted)] == ["ROLLBACK_ONLY"]
    assert type(session.roll_back("t1")) is Answer
    assert type(session.roll_back("t1")) is Answer
    session.begin("t2")
    assert type(session.commit("t2")) is Answer
    assert reason_of(session.roll_back("t2")) is Reason.TX_FINISHED


def test_a_transaction_that_commits_before_the_activation_is_not_touched(session: Session) -> None:
    """A mark is a bound on commit_ts and nothing else."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(DROP, timestamp(20))
    assert type(session.commit("t1")) is Answer
    session.later(30)
    assert session.of(TxAborted) == []


def test_a_commit_timestamp_that_is_fixed_is_never_undone(session: Session) -> None:
    """Though the activation passes while the commit is under way."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(DROP, timestamp(20))
    until = session.node.pauses["after-commit-check"] = session.loop.future()
    commit = session.ask(ClientCommit("c", "t1"))
    session.later(50)
    until.set(None)
    session.later(1)
    assert type(commit.value) is Answer
    assert session.stored(EVEN) == [(EVEN, 5)]


@pytest.mark.parametrize(
    "asked", [ADD, "CREATE TABLE u (id INT PRIMARY KEY)", "CREATE INDEX i ON t (v)"]
)
def test_compatible_change_marks_no_transaction(asked: str, session: Session) -> None:
    """Compatible changes, changes of other tables."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(asked, timestamp(20))
    session.later(30)
    assert session.of(TxAborted) == []
    assert type(session.commit("t1")) is Answer


def test_user_of_the_new_version_is_not_marked() -> None:
    """The change is no change for it; the catalog knew it before."""
    session = Session(two_versions(DROP, LONG_AGO_MS))
    session.begin("t1", "t2")
    session.put("t1", EVEN, row=(EVEN,), client_version=2)
    session.alter("CREATE UNIQUE INDEX i ON t (id)", timestamp(20))
    session.later(30)
    assert [e.tx for e in session.of(TxAborted)] == ["t1"]
    session.put("t2", EVEN, row=(EVEN,), client_version=3)
    session.later(30)
    assert type(session.commit("t2")) is Answer


def test_of_two_activations_the_first_is_the_bound(session: Session) -> None:
    """In whichever order they become known."""
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(DROP, timestamp(60))
    session.alter("DROP TABLE t", timestamp(40))
    assert reason_of(session.commit("t1", timestamp(45))) is Reason.ROLLBACK_ONLY


def test_operation_in_flight_is_refused_after_mark(session: Session) -> None:
    """One that waits for a lock gets none, and its client the reason [110.flow.7]."""
    session.begin("t1", "t2")
    session.put("t2", EVEN)
    waiting = session.send("t1", "put", EVEN, 6)
    session.later(10)
    assert not waiting.done
    session.put("t1", ODD)
    session.alter("CREATE UNIQUE INDEX i ON t (id)", timestamp(20))
    session.later(30)
    assert reason_of(waiting.value) is Reason.ROLLBACK_ONLY
    assert session.at_rest


def test_late_operate_of_ended_transaction_is_refused(session: Session) -> None:
    """It takes no locks then."""
    session.begin("t1")
    session.put("t1", ODD)
    session.wire.fate = lambda sent: (30_000,) if type(sent.payload) is Operate else (0,)
    waiting = session.send("t1", "put", EVEN, 6)
    session.alter(DROP, timestamp(20))
    session.later(50)
    assert reason_of(waiting.value) in (Reason.TX_FINISHED, Reason.SCHEMA_CHANGED)
    assert session.at_rest


def test_leave_unmarked_commits_fail_at_validation() -> None:
    """At the commit, with the same outcome."""
    session = Session(strategy=replace(IEP, on_activated=leave_unmarked))
    session.begin("t1")
    session.put("t1", EVEN)
    session.alter(DROP, timestamp(20))
    session.later(30)
    assert session.of(TxAborted) == []
    assert reason_of(session.commit("t1")) is Reason.SCHEMA_INCOMPATIBLE
