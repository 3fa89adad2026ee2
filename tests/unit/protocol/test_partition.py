"""One replica of a partition: writes, outcomes, reads at timestamps, records."""

from typing import Any

import pytest

from ddlsim.history.events import TxCommitted
from ddlsim.history.world_events import PartitionSafeTime, TxRecovered
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import (
    Cleaned,
    CleanUp,
    FinishTx,
    FullWrite,
    Outcome,
    SafeTimeSync,
    StampedCommand,
)
from ddlsim.protocol.partition.partition import Partition, RowVersion
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp
from tests.support.primary import LAST, OLD, PLACE, YOUNG
from tests.support.protocol import FIRST_LEASE, FakeNode, Loop, Wire
from tests.support.trio import intent

OTHER = (2, 0)


class One:
    """A replica and its log so far; stamps are 100, 101 and so on."""

    def __init__(self) -> None:
        self.node = FakeNode("n1", Wire(Loop()))
        self.partition = Partition(self.node, IEP, PLACE, FIRST_LEASE, lambda _: True)
        self.index = 0

    def run(self, *commands: Any) -> Any:
        """Carry commands out; what the last one came to."""
        result: Any = None
        for command in commands:
            self.index += 1
            stamped = StampedCommand(Timestamp(99 + self.index), command)
            result = self.partition.apply(self.index, 1, stamped)
        return result


def write(who: Any, value: int = 5, op: str = "w", op_ts: int = 10, **more: Any) -> Any:
    return intent(who, value=value, op=op, op_ts=Timestamp(op_ts), **more)


# --- intents --------------------------------------------------------------------------------------


def test_the_later_write_counts_in_whichever_order_they_come() -> None:
    """By their op_ts; both are known to be stored."""
    for order in ((10, 11), (11, 10)):
        one = One()
        for op_ts in order:
            one.run(write(OLD, value=op_ts, op=f"w{op_ts}", op_ts=op_ts))
        assert one.partition.intents[1].row == (1, 11)
        assert set(one.partition.ops_of(OLD)) == {"w10", "w11"}


def test_a_copy_of_an_overwritten_write_changes_nothing() -> None:
    """However late it comes."""
    one = One()
    first, second = write(OLD, 5, "w1", 10), write(OLD, 6, "w2", 11)
    one.run(first, second, first)
    assert one.partition.intents[1].row == (1, 6)


def test_an_end_turns_intents_into_rows_or_drops_them() -> None:
    """All of them, and no others."""
    for commit_ts, rows in ((Timestamp(90), {1: (1, 5), 2: (2, 6)}), (None, {})):
        one = One()
        one.run(write(OLD), write(OLD, 6, "x", key=2), write(YOUNG, 7, key=3))
        one.run(CleanUp(OLD, commit_ts))
        newest = {key: one.partition.newest(key) for key in one.partition.rows}
        assert {key: version.row for key, version in newest.items() if version} == rows
        assert list(one.partition.intents) == [3]
        assert one.partition.open_transactions == (YOUNG,)
        assert one.partition.ops_of(OLD) == {}


@pytest.mark.parametrize("commit_ts", [None, Timestamp(90)])
def test_a_write_of_an_ended_transaction_is_refused(commit_ts: Timestamp | None) -> None:
    """Of both kinds; a copy of a one-phase write gets its commit_ts."""
    one = One()
    one.run(CleanUp(OLD, commit_ts))
    assert one.run(write(OLD)) is Reason.TX_FINISHED
    at_once = FullWrite(OLD, "w", Timestamp(10), 1, 1, (1, 5), FIRST_LEASE, 1)
    assert one.run(at_once) == (commit_ts or Reason.TX_FINISHED)
    assert one.partition.rows == {}


def test_a_one_phase_write_is_stamped_within_its_lease() -> None:
    """By any leader, at any time: the locks are held no longer than that."""
    one = One()
    late = FullWrite(OLD, "w", Timestamp(10), 1, 1, (1, 5), FIRST_LEASE, 1, (), Timestamp(1))
    assert one.run(late) is Reason.PRIMARY_EXPIRED
    assert one.partition.rows == {}
    in_time = FullWrite(YOUNG, "w", Timestamp(10), 1, 1, (1, 5), FIRST_LEASE, 1)
    assert type(one.run(in_time)) is not Reason


# --- rows -----------------------------------------------------------------------------------------


def test_what_was_in_force_when() -> None:
    """From its commit_ts on, itself included, until the next one's."""
    one = One()
    for who, commit_ts in ((OLD, 50), (LAST, 70), (YOUNG, 60)):  # the last one out of turn
        one.run(write(who, commit_ts), CleanUp(who, Timestamp(commit_ts)))
    assert [version.commit_ts for version in one.partition.rows[1]] == [50, 60, 70]
    found = {ts: one.partition.as_of(1, Timestamp(ts)) for ts in (49, 50, 59, 60, 69, 70, 99)}
    rows = {ts: None if version is None else version.row for ts, version in found.items()}
    assert rows == {
        49: None,
        50: (1, 50),
        59: (1, 50),
        60: (1, 60),
        69: (1, 60),
        70: (1, 70),
        99: (1, 70),
    }
    assert one.partition.newest(1) == RowVersion("tx3", Timestamp(70), 1, (1, 70))
    assert one.partition.newest(2) is None


def test_a_deletion_is_a_version_too() -> None:
    """The read records the transaction that deleted it."""
    one = One()
    one.run(write(OLD), CleanUp(OLD, Timestamp(50)))
    one.run(write(YOUNG, row=None), CleanUp(YOUNG, Timestamp(60)))
    gone = one.partition.newest(1)
    assert gone is not None
    assert (gone.writer, gone.row) == ("tx2", None)


# --- ends and events ------------------------------------------------------------------------------


def test_uncleaned_outcome_is_kept_until_cleaned() -> None:
    """Where there are others."""
    one = One()
    one.run(FinishTx(OLD, Timestamp(50), (PLACE, OTHER)), FinishTx(YOUNG, None, (PLACE,)))
    assert list(one.partition.uncleaned) == [OLD]
    one.run(Cleaned(OLD), Cleaned(YOUNG))
    assert one.partition.uncleaned == {}
    assert one.partition.outcomes[OLD].commit_ts == 50


@pytest.mark.parametrize("recovered", [True, False])
def test_what_has_ended_without_an_outcome_gets_no_other_end(recovered: bool) -> None:
    """A write in one phase may be applied before the abort of a recovery that did not find it."""
    one = One()
    place = (PLACE, OTHER)
    at_once = FullWrite(OLD, "w", Timestamp(10), 1, 1, (1, 5), FIRST_LEASE, 1)
    finish = FinishTx(OLD, None if recovered else Timestamp(60), place, by_recovery=recovered)
    found = one.run(at_once if recovered else CleanUp(OLD, None), finish)
    assert found == Outcome(Timestamp(100) if recovered else None, ())
    assert one.partition.outcomes == one.partition.uncleaned == {}
    assert not one.node.of(TxRecovered)


def test_a_commit_is_recorded_where_it_is_decided_and_a_cleanup_is_none() -> None:
    """So is an abort by recovery; one by the coordinator is its own affair."""
    one = One()
    one.run(FinishTx(OLD, Timestamp(50), (PLACE, OTHER), ((1, 1, 2),)))
    one.run(FinishTx(YOUNG, None, (PLACE,), by_recovery=True), FinishTx(LAST, None, (PLACE,)))
    one.run(CleanUp(intent(OLD).tx, Timestamp(50)))
    [committed] = one.node.of(TxCommitted)
    assert (committed.tx, committed.commit_ts, committed.tables) == ("tx1", 50, ((1, 1, 2),))
    assert [event.tx for event in one.node.of(TxRecovered)] == ["tx2"]


def test_safe_time_is_the_last_stamp_and_never_goes_back() -> None:
    """`on_safe_time` is called, but not while a restart restores the log."""
    one = One()
    heard: list[Timestamp] = []
    one.partition.on_safe_time = heard.append
    one.run(SafeTimeSync(), write(OLD))
    one.partition.restoring()
    one.run(SafeTimeSync())
    assert heard == [100, 101]
    one.partition.restored()
    assert heard == [100, 101, 102]
    one.partition.apply(9, 1, StampedCommand(Timestamp(50), SafeTimeSync()))
    assert one.partition.safe_ts == 102
    one.partition.record_safe_time(Timestamp(102))
    [event] = one.node.of(PartitionSafeTime)
    assert (event.group, event.ts) == ("1/0", 102)
