"""For any log: every replica of a partition comes to the same, by the log or by a snapshot."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import (
    Cleaned,
    CleanUp,
    FinishTx,
    FullWrite,
    PrimaryChange,
    SafeTimeSync,
    StampedCommand,
    WriteIntent,
)
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.partition.partition import Partition
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp
from tests.support.protocol import FakeNode, Loop, Wire

PLACE, OTHER = (1, 0), (2, 0)
TXS = st.integers(0, 3).map(lambda number: TxId(Timestamp(number), 0, f"t{number}"))
KEYS = st.integers(0, 2)
TOKENS = st.sampled_from([Timestamp(10), Timestamp(20)])
TIMES = st.integers(100, 140).map(Timestamp)
ENDS = st.none() | TIMES

COMMANDS = st.one_of(
    st.builds(
        WriteIntent,
        tx=TXS,
        op=st.sampled_from("abc"),
        op_ts=TIMES,
        key=KEYS,
        version=st.just(1),
        row=st.none() | st.tuples(KEYS),
        lease_start=TOKENS,
        commit_place=st.just(PLACE),
        catalog_version=st.integers(0, 2),
    ),
    st.builds(
        FullWrite,
        tx=TXS,
        op=st.sampled_from("abc"),
        op_ts=TIMES,
        key=KEYS,
        version=st.just(1),
        row=st.tuples(KEYS),
        lease_start=TOKENS,
        catalog_version=st.integers(0, 2),
    ),
    st.builds(FinishTx, tx=TXS, commit_ts=ENDS, participants=st.just((PLACE, OTHER))),
    st.builds(CleanUp, tx=TXS, commit_ts=ENDS),
    st.builds(Cleaned, tx=TXS),
    st.builds(PrimaryChange, lease_start=TOKENS, holder=st.just("n1")),
    st.just(SafeTimeSync()),
)
LOGS = st.lists(COMMANDS, max_size=25)


def replica() -> Partition:
    """An empty one, born under the first token."""
    node = FakeNode("n1", Wire(Loop()))
    return Partition(node, IEP, PLACE, Timestamp(10), lambda version: version < 2)


def carried_out(partition: Partition, log: list[Any], first: int = 0) -> list[Any]:
    """Apply a log, stamped in its order; what each command came to."""
    return [
        partition.apply(index + 1, 1, StampedCommand(Timestamp(1000 + index), command))
        for index, command in enumerate(log[first:], first)
    ]


def state(partition: Partition) -> Any:
    return partition.snapshot()


@given(LOGS)
def test_the_same_log_makes_the_same_replica(log: list[Any]) -> None:
    """And tells its proposers the same."""
    one, other = replica(), replica()
    assert carried_out(one, log) == carried_out(other, log)
    assert state(one) == state(other)
    assert one.safe_ts == (1000 + len(log) - 1 if log else one.safe_ts)


@given(LOGS, st.integers(0, 25))
def test_a_snapshot_stands_for_the_log_before_it(log: list[Any], cut: int) -> None:
    """Wherever it was taken; and what happens later does not change it."""
    whole, first = replica(), replica()
    cut = min(cut, len(log))
    carried_out(first, log[:cut])
    taken = first.snapshot()
    carried_out(first, log, cut)
    second = replica()
    second.install(taken)
    assert carried_out(second, log, cut) == carried_out(whole, log)[cut:]
    assert state(second) == state(first) == state(whole)


@given(LOGS)
def test_a_command_that_comes_twice_at_once_changes_nothing(log: list[Any]) -> None:
    """Whatever it is."""
    once, twice = replica(), replica()
    carried_out(once, log)
    carried_out(twice, [command for command in log for _ in range(2)])
    kept = ("rows", "intents", "outcomes", "uncleaned", "lease_start")
    stripped = [
        {name: _without_stamps(getattr(each, name), log) for name in kept} for each in (once, twice)
    ]
    assert stripped[0] == stripped[1]


def _without_stamps(value: Any, log: list[Any]) -> Any:
    """Rows without the commit timestamps that are stamps of the log: those differ."""
    del log
    if not isinstance(value, dict):
        return value
    return {
        key: [(v.writer, v.row) for v in found] if isinstance(found, list) else found
        for key, found in value.items()
    }


@given(LOGS, LOGS, TXS)
def test_what_has_ended_stays_ended(before: list[Any], after: list[Any], tx: TxId) -> None:
    """With the same timestamp, and without an intent, whatever still arrives of it."""
    partition = replica()
    carried_out(partition, [*before, CleanUp(tx, Timestamp(150))])
    ended = partition.ended[tx]
    results = carried_out(partition, [*before, CleanUp(tx, None), *after], len(before) + 1)
    assert partition.ended[tx] == ended
    assert tx not in partition.open_transactions
    for command, result in zip(after, results, strict=True):
        if isinstance(command, WriteIntent) and command.tx == tx:
            assert result is Reason.TX_FINISHED


@given(LOGS, LOGS)
def test_what_comes_under_a_lease_that_is_over_leaves_nothing(
    before: list[Any], after: list[Any]
) -> None:
    """Neither a row nor an intent: the next primary's locks know nothing of it."""
    partition = replica()
    log = [*before, PrimaryChange(Timestamp(30), "n2"), *after]
    carried_out(partition, log[: len(before) + 1])
    intents = dict(partition.intents)
    for index, command in enumerate(after, len(before) + 1):
        writes = isinstance(command, WriteIntent | FullWrite)
        known = writes and command.tx in partition.ended
        stamped = StampedCommand(Timestamp(1000 + index), command)
        result = partition.apply(index + 1, 1, stamped)
        if writes and not known:
            assert result is Reason.PRIMARY_EXPIRED
    assert partition.intents.items() <= intents.items()


@given(LOGS)
def test_an_older_version_of_a_row_never_covers_a_newer_one(log: list[Any]) -> None:
    """Versions lie in the order of their commit timestamps, however late some came."""
    partition = replica()
    carried_out(partition, log)
    for versions in partition.rows.values():
        stamps = [version.commit_ts for version in versions]
        assert stamps == sorted(stamps)


def test_a_snapshot_contains_overwritten_writes_too() -> None:
    """Their coordinator may still ask whether they are stored."""
    source, target = replica(), replica()
    tx = TxId(Timestamp(1), 0, "t")
    for number, op in enumerate("ab"):
        stamp = Timestamp(100 + number)
        write = WriteIntent(tx, op, stamp, 1, 1, (number,), Timestamp(10), PLACE, 0)
        carried_out(source, [write])
    target.install(source.snapshot())
    assert list(target.ops_of(tx)) == ["a", "b"]


def test_a_one_phase_commit_takes_the_place_of_its_own_intent() -> None:
    """One that an attempt has left of which nobody heard; it stays in nobody's way."""
    partition = replica()
    tx = TxId(Timestamp(1), 0, "t")
    write = WriteIntent(tx, "a", Timestamp(100), 1, 1, (1,), Timestamp(10), PLACE, 0)
    at_once = FullWrite(tx, "a", Timestamp(101), 1, 1, (1,), Timestamp(10), 0)
    assert carried_out(partition, [write, at_once]) == [None, 1001]
    assert (partition.intents, partition.open_transactions) == ({}, ())
    assert partition.ended == {tx: 1001}
    assert [version.commit_ts for version in partition.rows[1]] == [1001]


def test_a_replica_without_a_rows_version_does_not_store_it() -> None:
    """Neither as an entry nor in a snapshot."""
    partition = replica()
    tx = TxId(Timestamp(1), 0, "t")
    for version, may in ((1, True), (2, False)):
        command = FullWrite(tx, "a", Timestamp(100), 1, 1, (1,), Timestamp(10), version)
        assert partition.may_store(StampedCommand(Timestamp(1000), command)) is may
        source = replica()
        carried_out(source, [command])
        assert partition.may_install(source.snapshot()) is may
