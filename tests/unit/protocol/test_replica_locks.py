"""The primary: locks, the end of a transaction, and messages that come late or twice."""

from typing import Any

import pytest

from ddlsim.history.events import LockWaited, TxCommitted, WriteExecuted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.messages import Cleanup, Finish, Finished, Operate
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import LAST, OLD, PLACE, YOUNG, Primary

# --- locks ---------------------------------------------------------------------------------------


def test_readers_share_and_writers_do_not() -> None:
    """The older one waits until the younger has ended."""
    primary = Primary()
    assert primary.do(YOUNG, "get").reason is None
    assert primary.do(OLD, "get").reason is None
    waiting = primary.send(OLD, "put", 1, (1, 5))
    primary.later(5)
    assert not waiting.done
    primary.end(YOUNG)
    primary.later(0)
    assert waiting.value.reason is None
    [waited] = primary.node.of(LockWaited)
    assert waited == LockWaited(5_000, "n1", "tx1", "op3", 1, 1, 5_000, granted=True)
    assert primary.node.probes["lock-wait"] == 1


@pytest.mark.parametrize(
    ("first", "second"), [("scan", "put"), ("put", "scan"), ("delete", "scan")]
)
def test_a_scan_and_a_write_exclude_each_other(first: str, second: str) -> None:
    """Whatever the key: a scan sees no row come or go."""
    primary = Primary()
    rows: dict[str, Any] = {"put": (9, (9, 0)), "delete": (9, None), "scan": (None, None)}
    primary.do(YOUNG, first, *rows[first])
    waiting = primary.send(OLD, second, *rows[second])
    primary.later(5)
    assert not waiting.done
    primary.end(YOUNG)
    primary.later(0)
    assert waiting.value.reason is None


def test_writers_of_different_keys_do_not_meet() -> None:
    """Though both write to one partition."""
    primary = Primary()
    assert primary.put(OLD, 1, 5).reason is None
    assert primary.put(YOUNG, 2, 5).reason is None


@pytest.mark.parametrize(("ends_after_ms", "reason"), [(9, None), (11, Reason.LOCK_CONFLICT)])
def test_a_refused_lock_is_tried_again_a_few_times(
    ends_after_ms: int, reason: Reason | None
) -> None:
    """Twice here, 5 ms apart; then the younger transaction has to die."""
    primary = Primary(lock_retries=2)
    primary.put(OLD, 1, 5)
    waiting = primary.send(YOUNG, "get")
    primary.later(ends_after_ms)
    primary.end(OLD)
    primary.later(5)
    assert waiting.value.reason is reason
    assert primary.node.probes["lock-retry"] == 2
    assert primary.node.probes["wait-die-abort"] == (reason is not None)
    [waited] = primary.node.of(LockWaited)
    assert (waited.waited_us, waited.granted) == (10_000, reason is None)


def test_a_copy_of_a_refused_one_phase_write_is_answered_without_its_locks() -> None:
    """At once, while the first message was answered after two retries."""
    primary = Primary(lock_retries=2)
    primary.put(OLD, 1, 5)
    write: dict[str, Any] = {"op": "w", "one_phase": True}
    first = primary.send(YOUNG, "put", 1, (1, 6), **write)
    primary.later(11)
    assert first.value.reason is Reason.LOCK_CONFLICT
    copy = primary.do(YOUNG, "put", 1, (1, 6), **write)
    assert (copy.reason, copy.ended) == (Reason.LOCK_CONFLICT, True)


def test_without_retries_the_younger_dies_at_once() -> None:
    """Nothing was waited for, but what was refused is recorded all the same."""
    primary = Primary(lock_retries=0)
    primary.put(OLD, 1, 5)
    assert primary.do(YOUNG, "put", 1, (1, 6)).reason is Reason.LOCK_CONFLICT
    [refused] = primary.node.of(LockWaited)
    assert (refused.key, refused.waited_us, refused.granted) == (1, 0, False)


# --- the end of a transaction --------------------------------------------------------------------


def finish(who: TxId, commit_ts: Timestamp, *participants: PartitionId) -> Finish:
    return Finish(Timestamp(0), who, commit_ts, PLACE, participants or (PLACE,), ((1, 1, 1),))


def test_a_finish_is_the_commit_point() -> None:
    """The outcome is stored, intents become rows, locks are released."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    assert type(primary.asked(finish(OLD, timestamp(90)))) is Finished
    [committed] = primary.node.of(TxCommitted)
    assert committed == TxCommitted(0, "n1", "tx1", timestamp(90), ((1, 1, 1),))
    [row] = primary.partition.rows[1]
    assert (row.writer, row.commit_ts, row.row) == ("tx1", timestamp(90), (1, 5))
    assert not primary.replica.has_open_work


def test_an_abort_leaves_nothing_behind() -> None:
    """No row, no intent, no lock."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    assert primary.replica.has_open_work
    primary.end(OLD, None)
    assert not primary.replica.has_open_work
    assert primary.do(YOUNG, "get").rows == ()


def test_a_finish_and_a_cleanup_that_come_twice_change_nothing() -> None:
    """They are answered all the same."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    for _ in range(2):
        assert type(primary.asked(finish(OLD, timestamp(90)))) is Finished
        primary.end(OLD, timestamp(90))
    assert len(primary.node.of(TxCommitted)) == 1
    assert len(primary.partition.rows[1]) == 1


def test_a_late_cleanup_does_not_touch_what_others_wrote_since() -> None:
    """It belongs to a transaction that is long gone."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    primary.end(OLD, timestamp(90))
    primary.put(YOUNG, 1, 6)
    primary.end(OLD, timestamp(90))
    assert primary.partition.intents[1].tx == YOUNG
    assert primary.replica.has_open_work


def test_outcome_is_resent_until_participants_confirm() -> None:
    """However often it takes, with the same commit timestamp."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    primary.wire.fate = lambda sent: () if type(sent.payload) is Cleanup else (0,)
    primary.asked(finish(OLD, timestamp(90), PLACE, (3, 0)))
    primary.later(50)
    primary.wire.fate = lambda _: (0,)
    primary.later(50)
    said = primary.wire.payloads(Cleanup)
    assert [(cleanup.tx, cleanup.commit_ts) for cleanup in said] == [(OLD, timestamp(90))] * 3
    assert {sent.to for sent in primary.wire.sent if type(sent.payload) is Cleanup} == {"n2"}
    assert primary.node.probes["cleanup-resent"] == 2


def test_the_first_end_counts() -> None:
    """Whatever is said of the transaction afterwards."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    primary.ended(OLD, timestamp(90))
    primary.ended(OLD, None)
    [row] = primary.partition.rows[1]
    assert row.commit_ts == timestamp(90)
    told = [primary.asked(finish(YOUNG, timestamp(ms))).commit_ts for ms in (90, 91)]
    assert told == [timestamp(90)] * 2


# --- operations that come late, or twice ---------------------------------------------------------


@pytest.mark.parametrize("commit_ts", [None, timestamp(90)])
@pytest.mark.parametrize("action", ["get", "put", "scan"])
def test_an_operation_of_an_ended_transaction_is_refused(
    action: str, commit_ts: Timestamp | None
) -> None:
    """It takes no lock, which would never be released."""
    primary = Primary()
    primary.end(OLD, commit_ts)
    assert primary.do(OLD, action, 1, (1, 5)).reason is Reason.TX_FINISHED
    assert not primary.replica.has_open_work


def test_a_transaction_that_ends_while_it_waits_for_a_lock_gets_none() -> None:
    """Also if the lock comes at the same instant."""
    for ending in ([OLD], [OLD, YOUNG], [YOUNG, OLD]):
        primary = Primary()
        primary.put(YOUNG, 1, 5)
        waiting = primary.send(OLD, "put", 1, (1, 6))
        primary.later(5)
        for who in ending:
            primary.ended(who, None)
        primary.later(0)
        assert waiting.value.reason is Reason.TX_FINISHED
        assert primary.partition.intents.keys() <= {1}
        primary.ended(YOUNG, None)
        assert not primary.replica.has_open_work


def test_a_transaction_that_ends_between_two_tries_gets_no_lock() -> None:
    """The next try finds it ended."""
    primary = Primary()
    primary.put(OLD, 1, 5)
    waiting = primary.send(YOUNG, "get")
    primary.later(2)
    primary.end(YOUNG)
    primary.end(OLD)
    primary.later(5)
    assert waiting.value.reason is Reason.TX_FINISHED
    assert not primary.replica.has_open_work


def test_an_operation_that_comes_twice_at_once_runs_once() -> None:
    """Both copies wait for the same lock; the row is written once."""
    primary = Primary()
    primary.put(LAST, 1, 4)
    primary.wire.fate = lambda sent: (0, 0) if type(sent.payload) is Operate else (0,)
    waiting = primary.send(OLD, "put", 1, (1, 5))
    primary.later(1)
    primary.end(LAST)
    primary.later(0)
    assert waiting.value.reason is None
    assert len([e for e in primary.node.of(WriteExecuted) if e.tx == OLD.label]) == 1
    primary.end(OLD, timestamp(90))
    assert not primary.replica.has_open_work
    assert len(primary.partition.rows[1]) == 1


def test_a_copy_that_comes_late_does_not_undo_what_was_written_since() -> None:
    """The transaction's last write of a key counts, not the last message that arrives."""
    primary = Primary()
    primary.wire.fate = lambda sent: (0, 3_000) if type(sent.payload) is Operate else (0,)
    primary.put(OLD, 1, 5)
    primary.wire.fate = lambda _: (0,)
    primary.put(OLD, 1, 6)
    primary.later(5)
    assert primary.do(OLD, "get").rows == ((1, ((1, 1), (2, 6))),)


def test_a_copy_of_a_read_changes_nothing() -> None:
    """It sees what was written since; its answer is not awaited."""
    primary = Primary()
    primary.wire.fate = lambda sent: (0, 3_000) if type(sent.payload) is Operate else (0,)
    first = primary.do(OLD, "get")
    primary.wire.fate = lambda _: (0,)
    primary.put(OLD, 1, 6)
    primary.later(5)
    assert first.rows == ()
    primary.end(OLD, timestamp(90))
    assert not primary.replica.has_open_work


def test_an_operation_of_a_transaction_that_has_ended_meanwhile_keeps_no_locks() -> None:
    """It retried a refused lock when the clean-up came, and was granted it after that."""
    primary = Primary(lock_retries=1, lock_retry_ms=5)
    primary.put(OLD, 1, 5)
    primary.send(YOUNG, "put", 1, (1, 6))
    primary.later(1)
    primary.replica.participant.release(YOUNG)
    primary.ended(OLD)
    primary.later(20)
    assert not primary.replica.locks.any_held
