"""What a transaction remembers while it lives."""

import pytest

from ddlsim.kernel.engine import Loop
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.transaction_record import State, Transaction
from ddlsim.units import Timestamp

ID = TxId(Timestamp(1), 0, "t1")


def test_new_transaction_is_active_and_empty() -> None:
    """No table, no participant, no bound."""
    tx = Transaction(ID, 0)
    assert (tx.id, tx.state, tx.reason, tx.bound_ts) == (ID, State.ACTIVE, None, None)
    assert (tx.by_name, tx.by_id, tx.participants, tx.commit_place) == ({}, {}, {}, None)


def test_the_first_participant_is_the_commit_partition() -> None:
    """Each partition is listed once, in the order of coming, with the lease that it came under."""
    tx = Transaction(ID, 0)
    for number in (2, 1, 2, 3):
        tx.touched((1, number), lease(number))
    assert tx.commit_place == (1, 2)
    assert tx.participants == {(1, number): lease(number) for number in (2, 1, 3)}


def lease(number: int) -> Lease:
    return Lease((1, number), f"n{number}", Timestamp(5), Timestamp(90))


def test_a_write_that_was_answered_early_is_awaited() -> None:
    """Whichever comes first, the answer or the news; and what could not be replicated dooms it."""
    tx = Transaction(ID, 0)
    tx.answered_early("a", (1, 1))
    tx.replicated("b", None)
    tx.answered_early("b", (1, 1))
    assert tx.unreplicated == {"a": (1, 1)}
    idle = tx.idle = Loop().future()
    tx.replicated("a", Reason.PRIMARY_EXPIRED)
    assert idle.done
    assert (tx.unreplicated, tx.reason) == ({}, Reason.PRIMARY_EXPIRED)


def test_last_operation_wakes_the_waiting_commit() -> None:
    """Not before."""
    tx = Transaction(ID, 0)
    tx.outstanding = 2
    idle = tx.idle = Loop().future()
    tx.operation_ended()
    assert not idle.done
    tx.operation_ended()
    assert idle.done
    assert tx.idle is None


def test_operation_ended_without_waiter() -> None:
    """And another wait begins anew."""
    tx = Transaction(ID, 0)
    tx.outstanding = 1
    tx.operation_ended()
    assert tx.outstanding == 0


def test_more_ends_than_beginnings_are_a_defect() -> None:
    """An operation would be missing from the count."""
    with pytest.raises(AssertionError, match="t1: more operations ended than began"):
        Transaction(ID, 0).operation_ended()


def test_older_transactions_compare_smaller() -> None:
    """By begin timestamp, then by the coordinator's number, never by the client's name."""
    assert TxId(Timestamp(1), 9, "z") < TxId(Timestamp(2), 0, "a")
    assert TxId(Timestamp(2), 0, "z") < TxId(Timestamp(2), 1, "a")
