"""The plane on the simulated kernel: what is committed is read, in any layout of processes."""

import pytest

from ddlsim.fdb.config import FdbConfig, plain_config
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.transaction import Transaction
from tests.support.fdb import FdbWorld

SMALL = plain_config()
LARGE = plain_config(
    grvs=2,
    proxies=3,
    logs=3,
    storages=4,
    replicas=2,
    shard_begins=((), ("b",), ("m", 5)),
    resolver_begins=((), ("c",)),
)


@pytest.fixture(params=[SMALL, LARGE], ids=["small", "large"])
def world(request: pytest.FixtureRequest) -> FdbWorld:
    config: FdbConfig = request.param
    return FdbWorld(config, clients=2)


def writes(tx: Transaction, **values: object) -> Transaction:
    for name, value in values.items():
        tx.set((name,), value)
    return tx


def test_what_is_committed_is_read_by_another_client(world: FdbWorld) -> None:
    version = world.do(writes(world.tx(), a=1, d="x", z=(1, 2)).commit())
    assert version > 0
    other = world.tx("c2")
    assert world.do(other.read_version(), "c2") >= version
    assert [world.do(other.get((name,)), "c2") for name in "adzq"] == [1, "x", (1, 2), None]
    assert world.do(other.get_range((), ("y",)), "c2") == [(("a",), 1), (("d",), "x")]


def test_a_read_that_was_overwritten_conflicts(world: FdbWorld) -> None:
    world.do(writes(world.tx(), a=1, n=1).commit())
    first, second = world.tx("c1"), world.tx("c2")
    assert world.do(first.get(("a",))) == 1
    assert world.do(second.get(("n",)), "c2") == 1
    world.do(writes(first, n=2).commit())
    assert world.do(writes(second, a=2).commit(), "c2") is ErrorCode.NOT_COMMITTED


def test_a_snapshot_read_does_not_conflict(world: FdbWorld) -> None:
    world.do(writes(world.tx(), a=1, n=1).commit())
    first, second = world.tx("c1"), world.tx("c2")
    assert world.do(second.get(("n",), snapshot=True), "c2") == 1
    world.do(writes(first, n=2).commit())
    assert world.do(second.get(("n",), snapshot=True), "c2") == 1
    assert world.do(writes(second, a=2).commit(), "c2") > 0


def test_a_new_key_in_a_range_that_was_read_conflicts(world: FdbWorld) -> None:
    first, second = world.tx("c1"), world.tx("c2")
    assert world.do(second.get_range(("a",), ("z",)), "c2") == []
    world.do(writes(first, n=2).commit())
    assert world.do(writes(second, zz=2).commit(), "c2") is ErrorCode.NOT_COMMITTED


def test_a_cleared_range_conflicts_with_a_read_in_it(world: FdbWorld) -> None:
    world.do(writes(world.tx(), a=1, n=1).commit())
    first, second = world.tx("c1"), world.tx("c2")
    assert world.do(second.get(("n",)), "c2") == 1
    first.clear_range(("a",), ("o",))
    world.do(first.commit())
    assert world.do(writes(second, zz=2).commit(), "c2") is ErrorCode.NOT_COMMITTED
    assert world.do(world.tx().get_range((), ("z",))) == []
