"""Watches: relative to what their transaction saw, late perhaps; a value that is back is none."""

from itertools import pairwise
from typing import Any

import pytest

from ddlsim.fdb.config import plain_config
from ddlsim.fdb.connection import Connection
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import Key
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.watches import Watch
from ddlsim.kernel.rules import Block
from tests.support.fdb import FdbWorld

A: Key = ("a",)


def small(**settings: Any) -> FdbWorld:
    return FdbWorld(plain_config(FdbSettings(**settings)), clients=2)


def put(world: FdbWorld, value: object) -> None:
    tx = world.tx("c2")
    tx.set(A, value)
    world.do(tx.commit(), "c2")


def armed(world: FdbWorld, *, value: object = None) -> Watch:
    """A watch of a committed transaction, which may have set the key itself."""
    tx = world.tx()
    watch = tx.watch(A)
    if value is not None:
        tx.set(A, value)
    world.do(tx.commit())
    return watch


def test_a_watch_fires_when_its_key_changes_and_not_before() -> None:
    world = small()
    put(world, 1)
    watch = armed(world)
    world.run(2000)
    assert not watch.fired.done
    put(world, 2)
    world.run(10)
    assert watch.fired.done
    assert world.databases["c1"].connection.watches == 0


def test_a_watch_is_relative_to_what_its_transaction_wrote() -> None:
    world = small()
    watch = armed(world, value=1)
    world.run(100)
    assert not watch.fired.done
    put(world, 2)
    world.run(10)
    assert watch.fired.done


def test_a_change_between_the_read_version_and_the_commit_fires_it() -> None:
    world = small()
    tx = world.tx()
    watch = tx.watch(A)
    world.do(tx.read_version())
    put(world, 1)
    world.do(tx.commit())
    world.run(10)
    assert watch.fired.done


def test_a_change_before_its_read_version_does_not_fire_it() -> None:
    """The lost wake-up: what was read in one transaction and watched in a later one."""
    world = small()
    first = world.tx()
    assert world.do(first.get(A)) is None
    put(world, 1)
    watch = armed(world)
    world.run(500)
    assert not watch.fired.done


def test_a_value_that_comes_back_is_not_reported() -> None:
    world = small()
    put(world, 1)
    watch = armed(world)
    rules = [Block("storage1", "log1"), Block("log1", "storage1")]
    for rule in rules:
        world.network.install(rule)
    put(world, 2)
    put(world, 1)
    for rule in rules:
        rule.remove()
    world.run(1500)
    assert not watch.fired.done
    put(world, 3)
    world.run(10)
    assert watch.fired.done


def test_a_client_that_is_cut_off_hears_of_a_change_late() -> None:
    world = small(watch_timeout_ms=500)
    watch = armed(world)
    world.run(10)
    rules = [Block("storage1", "c1"), Block("c1", "storage1")]
    for rule in rules:
        world.network.install(rule)
    put(world, 1)
    world.run(3000)
    assert not watch.fired.done
    for rule in rules:
        rule.remove()
    world.run(2000)
    assert watch.fired.done


def test_a_watch_survives_its_storage_server() -> None:
    world = small(watch_timeout_ms=500)
    watch = armed(world)
    world.run(10)
    world.crash("storage1")
    world.restart("storage1")
    world.run(500)
    put(world, 1)
    world.run(2500)
    assert watch.fired.done


def test_a_watch_that_waits_longer_than_its_storage_server_is_asked_again() -> None:
    world = small(watch_timeout_ms=300, watch_poll_ms=5000)
    watch = armed(world)
    world.run(2000)
    assert not watch.fired.done
    put(world, 1)
    world.run(100)
    assert watch.fired.done


@pytest.mark.parametrize(
    ("code", "rests_ms"), [(ErrorCode.TIMED_OUT, 10), (ErrorCode.FUTURE_VERSION, 1000)]
)
def test_a_watch_rests_longer_where_its_storage_server_lags(
    code: ErrorCode, rests_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_us: list[int] = []

    async def refused(*_: object) -> None:
        asked_us.append(world.loop.now_us)
        raise FdbError(code)

    world = small()
    monkeypatch.setattr(Connection, "changed", refused)
    armed(world)
    world.run(2500)
    gaps = {after - before for before, after in pairwise(asked_us)}
    assert gaps == {rests_ms * 1000}


def test_a_watch_of_a_transaction_that_did_not_commit_never_fires() -> None:
    world = small()
    tx = world.tx()
    watch = tx.watch(A)
    world.do(tx.get(A))
    tx.set(A, 2)
    put(world, 1)
    error = world.do(tx.commit())
    world.do(tx.on_error(FdbError(error)))
    world.run(1000)
    assert not watch.fired.done
    assert world.databases["c1"].connection.watches == 0


def test_the_watches_of_a_failed_commit_and_of_what_is_given_up_do_not_count() -> None:
    world = small(watches_most=1)
    for _ in range(3):
        tx = world.tx()
        tx.watch(A)
        world.do(tx.get(A))
        tx.set(A, 2)
        put(world, 1)
        assert world.do(tx.commit()) is ErrorCode.NOT_COMMITTED
        late = world.tx(timeout_us=1)
        late.watch(A)
        world.run(1)
        assert world.do(late.commit()) is ErrorCode.TIMED_OUT
        given_up = world.tx()
        given_up.watch(A)
        given_up.cancel()
        given_up.cancel()
    assert world.databases["c1"].connection.watches == 0


def test_what_is_armed_is_not_given_up_with_its_transaction() -> None:
    world = small()
    tx = world.tx()
    watch = tx.watch(A)
    world.do(tx.commit())
    tx.cancel()
    put(world, 1)
    world.run(10)
    assert watch.fired.done


def test_a_client_has_so_many_watches_at_most() -> None:
    world = small(watches_most=2)
    tx = world.tx()
    first = tx.watch(A)
    tx.watch(A)
    with pytest.raises(FdbError, match="1032"):
        tx.watch(A)
    first.cancel()
    tx.watch(A)
