"""Rows by version and write intents of one partition."""

import pytest

from sim.protocol.messages import TxId
from sim.protocol.storage import Intent, Partition, RowVersion
from sim.units import Timestamp, timestamp

ONE, TWO = TxId(Timestamp(1), 0, "one"), TxId(Timestamp(2), 0, "two")
NEVER_WRITTEN = (None, 0, None)


def committed(tx: TxId, key: int, version: int, row: tuple[int, ...] | None, at: int) -> Partition:
    """A partition with one committed row."""
    partition = Partition()
    partition.write(tx, key, version, row)
    partition.finish(tx, key, timestamp(at))
    return partition


def test_what_was_never_written_has_no_writer() -> None:
    """Nor a version."""
    assert Partition().read(ONE, 7) == NEVER_WRITTEN


def test_a_transaction_sees_its_own_intent_and_nobody_elses() -> None:
    """Locks keep others away; storage would show them the committed row."""
    partition = committed(ONE, 7, 1, (7, 0), 10)
    partition.write(TWO, 7, 2, (7, 5, 5))
    assert partition.read(TWO, 7) == ("two", 2, (7, 5, 5))
    assert partition.read(ONE, 7) == ("one", 1, (7, 0))


def test_the_newest_committed_version_is_read() -> None:
    """All versions are kept, each with its writer, commit timestamp and schema version."""
    partition = committed(ONE, 7, 1, (7, 0), 10)
    partition.write(TWO, 7, 2, (7, 5))
    partition.finish(TWO, 7, timestamp(20))
    assert partition.read(ONE, 7) == ("two", 2, (7, 5))
    assert partition.rows[7] == [
        RowVersion("one", timestamp(10), 1, (7, 0)),
        RowVersion("two", timestamp(20), 2, (7, 5)),
    ]
    assert partition.intents == {}


def test_an_aborted_intent_is_gone() -> None:
    """As if it had never been."""
    partition = Partition()
    partition.write(ONE, 7, 1, (7, 0))
    partition.finish(ONE, 7, None)
    assert partition.read(ONE, 7) == NEVER_WRITTEN
    assert (partition.rows, partition.intents) == ({}, {})


def test_a_transaction_may_write_a_key_again() -> None:
    """The last write counts."""
    partition = Partition()
    partition.write(ONE, 7, 1, (7, 0))
    partition.write(ONE, 7, 1, None)
    assert partition.intents == {7: Intent(ONE, 1, None)}
    partition.finish(ONE, 7, timestamp(10))
    assert partition.rows[7] == [RowVersion("one", timestamp(10), 1, None)]


def test_a_deletion_can_be_told_from_a_row_that_never_was() -> None:
    """Its reader knows whose deletion it saw."""
    partition = committed(ONE, 7, 1, None, 10)
    assert partition.read(TWO, 7) == ("one", 1, None)


def test_all_keys_that_a_transaction_can_see_are_scanned() -> None:
    """In the order of the first write: committed ones, deleted ones too, then its own new ones."""
    partition = committed(ONE, 9, 1, (9, 0), 10)
    for key, row in ((4, None), (5, (5, 0))):
        partition.write(ONE, key, 1, row)
        partition.finish(ONE, key, timestamp(10))
    partition.write(TWO, 9, 1, (9, 1))
    partition.write(TWO, 2, 1, (2, 0))
    partition.write(ONE, 1, 1, (1, 0))
    assert partition.keys(TWO) == [9, 4, 5, 2]
    assert partition.keys(ONE) == [9, 4, 5, 1]


def test_two_intents_under_one_key_are_a_defect() -> None:
    """The exclusive lock excludes them."""
    partition = Partition()
    partition.write(ONE, 7, 1, (7, 0))
    with pytest.raises(AssertionError, match="two writes over"):
        partition.write(TWO, 7, 1, (7, 1))
    with pytest.raises(AssertionError, match="two finishes an intent of one"):
        partition.finish(TWO, 7, timestamp(10))


def test_finishing_nothing_is_a_defect() -> None:
    """So is finishing twice."""
    partition = committed(ONE, 7, 1, (7, 0), 10)
    with pytest.raises(AssertionError, match="no intent under 7"):
        partition.finish(ONE, 7, timestamp(10))
