"""A transaction: its own writes, conflict sets, limits, versionstamps, additions, read versions."""

from typing import Any

import pytest

from ddlsim.fdb.config import plain_config
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import LAST, Key
from ddlsim.fdb.messages import (
    Commit,
    Confirm,
    GetCommitted,
    GetReadVersion,
    ReadVersion,
    Resolve,
)
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.transaction import Transaction
from tests.support.fdb import FdbWorld

A, B, C, D = ((name,) for name in "abcd")
ALL: tuple[Key, Key] = (), (LAST,)


def small(clients: int = 2, **settings: Any) -> FdbWorld:
    """One process of each role, and two clients."""
    return FdbWorld(plain_config(FdbSettings(**settings)), clients=clients, tapped=True)


def put(world: FdbWorld, key: Key, value: object) -> int:
    """Commit one write; its version."""
    tx = world.tx()
    tx.set(key, value)
    version: int = world.do(tx.commit())
    return version


def read(world: FdbWorld, key: Key) -> object:
    return world.do(world.tx().get(key))


# --- its own writes -------------------------------------------------------------------------------


def test_a_transaction_reads_what_it_wrote() -> None:
    world = small()
    for key, value in ((A, 1), (B, 2), (C, 3)):
        put(world, key, value)
    tx = world.tx()
    tx.set(A, 10)
    tx.clear(B)
    tx.add(C, 4)
    tx.add(D, 5)
    assert [world.do(tx.get(key)) for key in (A, B, C, D)] == [10, None, 7, 5]
    assert world.do(tx.get_range(*ALL)) == [(A, 10), (C, 7), (D, 5)]
    tx.clear_range(A, C)
    tx.set(B, 6)
    tx.add(A, 7)
    assert world.do(tx.get_range(*ALL)) == [(A, 7), (B, 6), (C, 7), (D, 5)]
    world.do(tx.commit())
    assert world.do(world.tx().get_range(*ALL)) == [(A, 7), (B, 6), (C, 7), (D, 5)]


def test_a_range_with_a_limit_counts_what_is_there_with_the_own_writes() -> None:
    world = small()
    for number in range(6):
        put(world, ("k", number), number)
    tx = world.tx()
    tx.clear_range(("k", 0), ("k", 3))
    tx.set(("k", 4, "new"), 40)
    pairs = world.do(tx.get_range(*ALL, limit=3))
    assert pairs == [(("k", 3), 3), (("k", 4), 4), (("k", 4, "new"), 40)]


def test_the_conflict_of_a_range_with_a_limit_ends_behind_the_last_key_read() -> None:
    world = small()
    for number in range(6):
        put(world, ("k", number), number)
    tx, other = world.tx(), world.tx()
    assert len(world.do(tx.get_range(*ALL, limit=2))) == 2
    assert len(world.do(other.get_range(*ALL, limit=3))) == 3
    put(world, ("k", 2), "new")
    tx.set(A, 1)
    other.set(B, 1)
    assert world.do(tx.commit()) > 0
    assert world.do(other.commit()) is ErrorCode.NOT_COMMITTED


def test_to_read_what_the_transaction_set_is_no_conflict() -> None:
    world = small()
    tx = world.tx()
    world.do(tx.read_version())
    tx.set(A, 1)
    assert world.do(tx.get(A)) == 1
    put(world, A, 2)
    assert world.do(tx.commit()) > 0


# --- conflict sets --------------------------------------------------------------------------------


def old_transaction(world: FdbWorld, **options: Any) -> Transaction:
    """A transaction with a read version that has left the window."""
    tx = world.tx(**options)
    world.do(tx.read_version())
    for _ in range(8):
        world.run(1000)
        put(world, ("clock",), 1)
    return tx


def test_a_write_behind_the_window_is_too_old_by_its_self_conflict_key() -> None:
    world = small()
    tx = old_transaction(world)
    tx.set(A, 1)
    assert world.do(tx.commit()) is ErrorCode.TRANSACTION_TOO_OLD


def test_a_write_behind_the_window_without_read_conflicts_commits() -> None:
    world = small()
    tx = old_transaction(world, causal_write_risky=True)
    tx.set(A, 1)
    assert world.do(tx.commit()) > 0


def test_a_read_behind_the_window_is_too_old() -> None:
    world = small()
    assert world.do(old_transaction(world).get(A)) is ErrorCode.TRANSACTION_TOO_OLD


def test_conflict_keys_are_added_by_hand() -> None:
    world = small()
    reader, writer = world.tx(), world.tx()
    world.do(reader.read_version())
    reader.add_read_conflict_key(A)
    reader.set(B, 1)
    writer.add_write_conflict_key(A)
    assert world.do(writer.commit()) > 0
    assert world.do(reader.commit()) is ErrorCode.NOT_COMMITTED
    assert read(world, A) is None


def test_conflict_ranges_are_added_by_hand() -> None:
    world = small()
    reader = world.tx()
    world.do(reader.read_version())
    reader.add_read_conflict_range(A, C)
    reader.set(D, 1)
    put(world, B, 1)
    assert world.do(reader.commit()) is ErrorCode.NOT_COMMITTED


def test_additions_do_not_conflict_and_none_is_lost() -> None:
    world = small()
    first, second = world.tx(), world.tx("c2")
    world.do(first.read_version())
    world.do(second.read_version(), "c2")
    first.add(A, 2)
    second.add(A, 3)
    world.do(first.commit())
    world.do(second.commit(), "c2")
    assert read(world, A) == 5


def test_a_read_only_transaction_sends_nothing_at_commit() -> None:
    world = small()
    put(world, A, 1)
    tx = world.tx(read_only=True)
    world.do(tx.get(A))
    before = len(world.of(Commit)), len(world.of(Resolve))
    assert world.do(tx.commit()) == world.do(tx.read_version())
    assert (len(world.of(Commit)), len(world.of(Resolve))) == before


def test_a_blind_write_takes_its_read_version_at_commit() -> None:
    world = small()
    tx = world.tx()
    tx.set(A, 1)
    before = put(world, A, 2)
    world.arrived.clear()
    world.do(tx.commit())
    assert [request.risky for request in world.of(GetReadVersion)] == [True]
    assert world.of(Commit)[0].read_version >= before
    assert read(world, A) == 1


def test_a_read_only_transaction_must_not_write() -> None:
    world = small()
    tx = world.tx(read_only=True)
    tx.set(A, 1)
    with pytest.raises(Exception, match="has written"):
        world.do(tx.commit())


# --- versionstamps --------------------------------------------------------------------------------


def test_versionstamps_are_the_commit_version() -> None:
    world = small()
    tx = world.tx()
    tx.set_versionstamped_value(A, lambda version: ("at", version))
    tx.set_versionstamped_key(lambda version: ("log", version), "entry")
    version = world.do(tx.commit())
    assert world.do(world.tx().get_range(*ALL)) == [
        (A, ("at", version)),
        (("log", version), "entry"),
    ]


def test_a_versionstamped_value_cannot_be_read_before_the_commit() -> None:
    world = small()
    tx = world.tx()
    tx.set_versionstamped_value(A, lambda version: version)
    assert world.do(tx.get(A)) is ErrorCode.ACCESSED_UNREADABLE
    assert world.do(tx.get_range(*ALL)) is ErrorCode.ACCESSED_UNREADABLE
    tx.set(A, 1)
    assert world.do(tx.get(A)) == 1


def test_a_versionstamped_key_conflicts_with_a_read_of_its_range() -> None:
    world = small()
    for entries in range(3):
        reader, writer = world.tx(), world.tx()
        assert len(world.do(reader.get_range(("log",), ("log", LAST)))) == entries
        reader.set(A, 1)
        writer.set_versionstamped_key(lambda version: ("log", version), "entry")
        world.do(writer.commit())
        assert world.do(reader.commit()) is ErrorCode.NOT_COMMITTED


def test_transactions_of_one_batch_have_versions_of_their_own() -> None:
    world = small(clients=5, commit_batch_us=20_000)
    versions: list[int] = []

    async def commit(name: str) -> None:
        tx = world.tx(name)
        tx.set_versionstamped_key(lambda version: ("log", version), name)
        versions.append(await tx.commit())

    for name in world.clients:
        world.spawn(commit(name), name)
    world.run(100)
    assert [len(one.transactions) for one in world.of(Resolve)] == [5]
    assert sorted(versions) == list(range(min(versions), min(versions) + 5))
    assert len(world.do(world.tx().get_range(*ALL))) == 5


# --- read versions --------------------------------------------------------------------------------


def test_a_read_version_is_above_everything_committed_before() -> None:
    world = small()
    version = put(world, A, 1)
    assert world.do(world.tx("c2").read_version(), "c2") >= version


def test_a_cached_read_version_is_stale_for_its_time_and_no_longer() -> None:
    world = small(grv_cache_ms=100)
    old = world.do(world.tx(cached_read_version=True).read_version())
    put_by_other = world.tx("c2")
    put_by_other.set(A, 1)
    version = world.do(put_by_other.commit(), "c2")
    cached = world.tx(cached_read_version=True)
    assert world.do(cached.read_version()) == old < version
    world.run(110)
    assert world.do(world.tx(cached_read_version=True).read_version()) >= version


def test_a_cached_read_version_sees_what_its_own_client_has_committed() -> None:
    world = small(grv_cache_ms=100)
    world.do(world.tx(cached_read_version=True).read_version())
    world.run(50)
    version = put(world, A, 1)
    world.arrived.clear()
    for _ in range(2):
        cached = world.tx(cached_read_version=True)
        assert world.do(cached.get(A)) == 1
        assert world.do(cached.read_version()) == version
        world.run(70)
    assert world.of(GetReadVersion) == []
    assert world.do(world.tx(cached_read_version=True).read_version()) >= version
    assert len(world.of(GetReadVersion)) == 1


def test_a_commit_tells_of_the_end_of_its_batch_and_of_the_metadata_version_there() -> None:
    world = small(commit_batch_us=20_000)
    world.do(world.tx(cached_read_version=True).read_version())
    committed: dict[str, int] = {}

    async def commit(name: str) -> None:
        tx = world.tx(name)
        tx.set((name,), 1)
        if name == "c2":
            tx.bump_metadata_version()
        committed[name] = await tx.commit()

    world.do(world.tx("c2").read_version(), "c2")
    world.spawn(commit("c1"))
    world.run(5)
    world.spawn(commit("c2"), "c2")
    world.run(40)
    assert [len(one.transactions) for one in world.of(Resolve)] == [2]
    world.arrived.clear()
    cached = world.tx(cached_read_version=True)
    assert world.do(cached.metadata_version()) == committed["c2"] == committed["c1"] + 1
    assert world.do(cached.get_range(*ALL)) == [(("c1",), 1), (("c2",), 1)]
    assert world.of(GetReadVersion) == []


def test_an_older_version_that_comes_late_does_not_make_a_newer_one_older() -> None:
    connection = small(grv_cache_ms=100).databases["c1"].connection
    connection._keeps = True
    for version, taken_ms in ((5, 10), (7, 4), (6, 12)):
        connection._remember(ReadVersion(version, 0), taken_ms)
    assert connection._cache == (ReadVersion(7, 0), 10)


def test_a_read_version_set_by_hand_reads_the_past() -> None:
    world = small()
    first = put(world, A, 1)
    put(world, A, 2)
    tx = world.tx()
    tx.set_read_version(first)
    assert world.do(tx.get(A)) == 1


def test_a_version_that_no_storage_server_reaches_is_in_the_future() -> None:
    world = small()
    tx = world.tx()
    tx.set_read_version(10**15)
    began_us = world.loop.now_us
    assert world.do(tx.get(A)) is ErrorCode.FUTURE_VERSION
    assert world.loop.now_us - began_us >= 1_000_000


def test_many_read_versions_are_one_question_to_the_sequencer() -> None:
    world = small(clients=5)
    for name in world.clients:
        world.spawn(world.tx(name).read_version(), name)
    world.run(10)
    assert len(world.of(GetReadVersion)) == 5
    assert len(world.of(GetCommitted)) == len(world.of(Confirm)) == 1


# --- the metadata version -------------------------------------------------------------------------


def bump(world: FdbWorld) -> int:
    tx = world.tx()
    tx.bump_metadata_version()
    version: int = world.do(tx.commit())
    return version


def test_the_metadata_version_is_the_commit_version_of_the_last_bump() -> None:
    world = small()
    assert world.do(world.tx().metadata_version()) == 0
    version = bump(world)
    put(world, A, 1)
    assert world.do(world.tx("c2").metadata_version(), "c2") == version


def test_the_metadata_version_comes_with_the_read_version_and_no_other_message() -> None:
    world = small()
    tx = world.tx()
    world.do(tx.read_version())
    world.arrived.clear()
    world.do(tx.metadata_version())
    assert world.arrived == []


def test_a_bump_makes_the_metadata_version_unreadable_in_its_transaction() -> None:
    world = small()
    tx = world.tx()
    tx.bump_metadata_version()
    assert world.do(tx.metadata_version()) is None


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_bump_conflicts_with_reads_of_it_but_for_snapshots(snapshot: bool) -> None:
    world = small()
    tx = world.tx()
    world.do(tx.metadata_version(snapshot=snapshot))
    tx.set(A, 1)
    bump(world)
    result = world.do(tx.commit())
    assert (result is ErrorCode.NOT_COMMITTED) is not snapshot


def test_the_metadata_version_of_a_past_version_is_remembered_or_read() -> None:
    world = small()
    past = world.do(world.tx().read_version())
    first = bump(world)
    between = put(world, A, 1)
    bump(world)
    remembered, unknown = world.tx(), world.tx("c2")
    remembered.set_read_version(past)
    unknown.set_read_version(between)
    assert world.do(remembered.metadata_version()) == 0
    assert world.do(unknown.metadata_version(), "c2") == first


# --- limits ---------------------------------------------------------------------------------------


def test_a_transaction_may_not_be_larger_than_its_limit() -> None:
    world = small(transaction_bytes=1000)
    tx, larger = world.tx(), world.tx()
    tx.set(A, "x" * 900)
    larger.set(A, "x" * 600)
    larger.set(B, "x" * 600)
    assert world.do(tx.commit()) > 0
    assert world.do(larger.commit()) is ErrorCode.TRANSACTION_TOO_LARGE


def test_what_the_commit_version_makes_counts_as_well() -> None:
    world = small(transaction_bytes=1000)
    stamped, keyed = world.tx(), world.tx()
    for key in (A, B):
        stamped.set_versionstamped_value(key, lambda version: (version, "x" * 600))
    keyed.set_versionstamped_key(lambda version: (version, "k" * 600), "x" * 600)
    assert world.do(stamped.commit()) is ErrorCode.TRANSACTION_TOO_LARGE
    assert world.do(keyed.commit()) is ErrorCode.TRANSACTION_TOO_LARGE


def test_keys_and_values_have_limits() -> None:
    tx = small().tx()
    tx.set(("k" * 9_000,), "x" * 100_000)
    with pytest.raises(FdbError, match="2102"):
        tx.set(("k" * 10_000,), 1)
    with pytest.raises(FdbError, match="2103"):
        tx.set(A, "x" * 100_001)


def test_what_the_commit_version_makes_has_the_same_limits() -> None:
    tx = small(key_bytes=100, value_bytes=200).tx()
    tx.set_versionstamped_value(("k" * 90,), lambda _: "x" * 200)
    tx.set_versionstamped_key(lambda version: ("k" * 80, version), "x" * 200)
    with pytest.raises(FdbError, match="2103"):
        tx.set_versionstamped_value(A, lambda _: "x" * 201)
    with pytest.raises(FdbError, match="2103"):
        tx.set_versionstamped_key(lambda version: (version,), "x" * 201)
    with pytest.raises(FdbError, match="2102"):
        tx.set_versionstamped_key(lambda version: ("k" * 100, version), 1)


def test_an_addition_has_the_limits_of_keys_and_values() -> None:
    tx = small(key_bytes=100, value_bytes=7).tx()
    with pytest.raises(FdbError, match="2103"):
        tx.add(A, 1)
    with pytest.raises(FdbError, match="2102"):
        small(key_bytes=100).tx().add(("k" * 100,), 1)


def test_a_transaction_with_a_time_limit_ends_while_nothing_answers() -> None:
    world = small()
    world.crash("storage1")
    tx = world.tx(timeout_us=50_000)
    assert world.do(tx.get(A)) is ErrorCode.TIMED_OUT
    with pytest.raises(FdbError):
        tx._check()


def test_what_cannot_be_tried_again_is_raised_by_on_error() -> None:
    world = small()
    assert world.do(world.tx().on_error(FdbError(ErrorCode.TIMED_OUT))) is ErrorCode.TIMED_OUT


def test_on_error_rests_and_begins_an_empty_transaction() -> None:
    world = small()
    tx = world.tx()
    tx.set(A, 1)
    old = world.do(tx.read_version())
    for _ in range(5):
        world.do(tx.on_error(FdbError(ErrorCode.NOT_COMMITTED)))
    put(world, B, 1)
    assert world.do(tx.get(A)) is None
    assert world.do(tx.read_version()) > old
