"""What FoundationDB lacked in 2018, each behind its switch: C7, C11, C13."""

from typing import Any

import pytest

from ddlsim.fdb.config import plain_config
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import LOCAL, Key
from ddlsim.fdb.settings import FdbSettings
from tests.support.fdb import FdbWorld

A: Key = ("a",)
S: Key = ("schema",)
LOCAL_S: Key = (LOCAL, "schema")


def world(proxies: int = 1, initial: tuple[tuple[Key, object], ...] = (), **on: Any) -> FdbWorld:
    """One version is 1 ms, as in the catalogue's schedules."""
    settings = FdbSettings(
        **{"versions_per_second": 1000, "recovery_jump": 100_000, "idle_commit_ms": 50} | on
    )
    config = plain_config(
        settings,
        proxies=proxies,
        storages=3,
        shard_begins=((), ("b",), ("s",)),
        initial=initial,
    )
    return FdbWorld(config, clients=2)


def put(world: FdbWorld, key: Key, value: object) -> int:
    tx = world.tx()
    tx.set(key, value)
    version: int = world.do(tx.commit())
    return version


@pytest.mark.parametrize("call", ["since", "at", "local", "require"])
def test_a_switch_that_is_off_is_refused(call: str) -> None:
    one = world()
    tx = one.tx()
    with pytest.raises(ValueError, match="its switch is off"):
        {
            "since": lambda: tx.add_read_conflict_key(S, since=1),
            "at": lambda: tx.add_write_conflict_key(S, at=1),
            "local": lambda: tx.local(LOCAL_S).send(None),
            "require": lambda: tx.require_local(LOCAL_S, 1),
        }[call]()


# --- C13: read conflicts in the past --------------------------------------------------------------


def test_a_change_between_the_cache_and_the_read_version_conflicts() -> None:
    one = world(past_read_conflicts=True)
    cached = one.do(one.tx().read_version())
    put(one, S, 2)
    stale, plain = one.tx(), one.tx()
    for tx in (stale, plain):
        one.do(tx.get(A))
        tx.set(A, 1)
    stale.add_read_conflict_key(S, since=cached)
    plain.add_read_conflict_key(S)
    assert one.do(stale.commit()) is ErrorCode.NOT_COMMITTED
    assert one.do(plain.commit()) > 0  # the known bug of C15


def test_a_cache_older_than_the_window_is_refused_though_nothing_is_remembered() -> None:
    one = world(past_read_conflicts=True)
    put(one, S, 2)
    one.run(6000)
    tx = one.tx()
    tx.add_read_conflict_key(S, since=0)
    tx.set(A, 1)
    assert one.do(tx.commit()) is ErrorCode.TRANSACTION_TOO_OLD


def test_what_is_forgotten_passes_where_the_switch_says_so() -> None:
    """C13-T1; what is remembered conflicts all the same."""
    one = world(past_read_conflicts=True, forgotten_is_clean=True)
    put(one, S, 2)
    one.run(6000)
    put(one, A, 1)  # the resolver forgets what is older than a window
    put(one, A, 2)
    for key, conflicts in ((S, False), (A, True)):
        tx = one.tx()
        tx.add_read_conflict_key(key, since=0)
        tx.set(("c",), 1)
        assert (one.do(tx.commit()) is ErrorCode.NOT_COMMITTED) is conflicts


# --- C11: write conflicts in the future -----------------------------------------------------------


def crossing(one: FdbWorld, ms: int = 1000, *, recovery: bool = False) -> object:
    """What becomes of a transaction that reads a key before its future version and commits after.

    The future version is `ms` behind the present.
    """
    ddl = one.tx()
    now = one.do(ddl.read_version())
    ddl.add_write_conflict_key(S, at=now + ms)
    ddl.set(("d",), 1)
    assert one.do(ddl.commit()) < now + ms
    if recovery:
        one.crash("resolver1")
        one.restart("resolver1")
        one.run(600)
    tx = one.tx()
    before = one.do(tx.read_version())
    assert before < now + ms
    tx.add_read_conflict_key(S)
    tx.set(A, 1)
    one.run(now + ms - one.loop.now_us // 1000 + 200)
    return one.do(tx.commit())


def test_a_transaction_that_crosses_the_future_version_conflicts() -> None:
    assert crossing(world(future_write_conflicts=True)) is ErrorCode.NOT_COMMITTED


def test_one_that_ends_before_it_and_one_that_begins_after_it_do_not() -> None:
    one = world(future_write_conflicts=True)
    ddl = one.tx()
    now = one.do(ddl.read_version())
    ddl.add_write_conflict_key(S, at=now + 500)
    one.do(ddl.commit())
    for _ in range(2):
        tx = one.tx()
        one.do(tx.read_version())
        tx.add_read_conflict_key(S)
        tx.set(A, 1)
        assert one.do(tx.commit()) > 0
        one.run(600)


@pytest.mark.parametrize("keeps", [False, True])
def test_a_recovery_loses_the_future_version_unless_it_is_kept(keeps: bool) -> None:
    """C11-T2: the jump is smaller than the way to the future version."""
    one = world(future_write_conflicts=True, resolver_keeps_future=keeps, recovery_jump=300)
    outcome = crossing(one, 5_000, recovery=True)
    assert one.probes["store-recovery"] >= 1
    assert (outcome is ErrorCode.NOT_COMMITTED) is keeps


# --- C7: keys that all storage servers hold -------------------------------------------------------


def test_every_storage_server_holds_a_local_key_at_every_version() -> None:
    one = world(local_keys=True, initial=((LOCAL_S, 0),))
    versions = [put(one, LOCAL_S, value) for value in (1, 2)]
    for version, value in ((0, 0), (versions[0], 1), (versions[1], 2)):
        for _ in range(3):  # each time another one is asked
            tx = one.tx()
            tx.set_read_version(version)
            assert one.do(tx.local(LOCAL_S)) == value
    assert all(process._store.latest(b"\x02\x00\xfflocal\x00\x02schema\x00") == 2 for process in (
        one.processes[name] for name in ("storage1", "storage2", "storage3")
    ))  # fmt: skip


@pytest.mark.parametrize("as_applied", [False, True])
def test_a_local_key_is_read_as_of_the_read_version_unless_a_switch_says_otherwise(
    as_applied: bool,
) -> None:
    """C7-T2; other keys are read as of the version in any case."""
    one = world(local_keys=True, local_as_applied=as_applied, initial=((LOCAL_S, 0), (A, 0)))
    before = one.do(one.tx().read_version())
    put(one, LOCAL_S, 1)
    put(one, A, 1)
    tx = one.tx()
    tx.set_read_version(before)
    assert one.do(tx.local(LOCAL_S)) == (1 if as_applied else 0)
    assert one.do(tx.get(A)) == 0


@pytest.mark.parametrize("proxies", [1, 3])
def test_a_proxy_compares_a_local_key_at_the_commit_version(proxies: int) -> None:
    one = world(proxies=proxies, local_keys=True)
    put(one, LOCAL_S, 1)
    transactions = [one.tx() for _ in range(6)]
    for number, tx in enumerate(transactions):
        assert one.do(tx.local(LOCAL_S)) == 1
        tx.require_local(LOCAL_S, 1)
        tx.set(("k", number), 1)
    assert [one.do(tx.commit()) > 0 for tx in transactions[:3]] == [True] * 3
    put(one, LOCAL_S, 2)
    late = [one.do(tx.commit()) for tx in transactions[3:]]
    assert late == [ErrorCode.NOT_COMMITTED] * 3


def test_a_blind_write_has_the_proxy_alone_as_its_check() -> None:
    """C7-T3: it reads nothing that a storage server could check."""
    one = world(local_keys=True)
    put(one, LOCAL_S, 1)
    tx = one.tx(causal_write_risky=True)
    tx.require_local(LOCAL_S, 0)
    tx.set(A, 1)
    assert one.do(tx.commit()) is ErrorCode.NOT_COMMITTED


def test_local_keys_survive_a_recovery() -> None:
    one = world(local_keys=True)
    put(one, LOCAL_S, 1)
    one.crash("proxy1")
    one.restart("proxy1")
    one.run(1500)
    tx = one.tx()
    tx.require_local(LOCAL_S, 0)
    tx.set(A, 1)
    assert one.do(tx.commit()) is ErrorCode.NOT_COMMITTED


def test_a_range_of_the_local_space_is_not_cleared() -> None:
    with pytest.raises(ValueError, match="by range"):
        world(local_keys=True).tx().clear_range((), ("a",))
