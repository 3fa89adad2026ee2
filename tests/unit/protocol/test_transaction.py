"""What a transaction remembers while it lives."""

import pytest

from sim.kernel.loop import Loop
from sim.protocol.messages import TxId
from sim.protocol.transaction import State, Transaction
from sim.units import Timestamp

ID = TxId(Timestamp(1), 0, "t1")


def test_it_begins_active_and_knows_nothing() -> None:
    """No table, no participant, no bound."""
    tx = Transaction(ID)
    assert (tx.id, tx.state, tx.reason, tx.bound_ts) == (ID, State.ACTIVE, None, None)
    assert (tx.by_name, tx.by_id, tx.participants, tx.commit_partition) == ({}, {}, {}, None)


def test_the_first_participant_holds_the_commit_partition() -> None:
    """Each participant is listed once, in the order of coming."""
    tx = Transaction(ID)
    for node in ("n2", "n1", "n2", "n3"):
        tx.touched(node)
    assert tx.commit_partition == "n2"
    assert list(tx.participants) == ["n2", "n1", "n3"]


def test_who_waits_for_its_operations_is_told_when_the_last_has_ended() -> None:
    """Not before."""
    tx = Transaction(ID)
    tx.outstanding = 2
    idle = tx.idle = Loop().future()
    tx.operation_ended()
    assert not idle.done
    tx.operation_ended()
    assert idle.done
    assert tx.idle is None


def test_operations_end_without_anybody_waiting() -> None:
    """And another wait begins anew."""
    tx = Transaction(ID)
    tx.outstanding = 1
    tx.operation_ended()
    assert tx.outstanding == 0


def test_more_ends_than_beginnings_are_a_defect() -> None:
    """An operation would be missing from the count."""
    with pytest.raises(AssertionError, match="t1: more operations ended than began"):
        Transaction(ID).operation_ended()


def test_older_transactions_compare_smaller() -> None:
    """By begin timestamp, then by the coordinator's number, never by the client's name."""
    assert TxId(Timestamp(1), 9, "z") < TxId(Timestamp(2), 0, "a")
    assert TxId(Timestamp(2), 0, "z") < TxId(Timestamp(2), 1, "a")
