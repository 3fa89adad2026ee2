"""Storage servers: versions, lag, queues; their store compared with a list of all writes."""

from random import Random

import pytest

from ddlsim.fdb.config import plain_config
from ddlsim.fdb.keys import Key
from ddlsim.fdb.messages import ADD, CLEAR, SET, Mutation
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.store import Base, Store
from ddlsim.kernel.rules import Block
from tests.support.fdb import FdbWorld

A: Key = ("a",)


# --- the store ------------------------------------------------------------------------------------


class Writes:
    """Every write by version; values are looked up by going through all of them."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int, tuple[Mutation, ...]]] = []

    def at(self, version: int) -> dict[bytes, object]:
        state: dict[bytes, object] = {}
        for _, written, mutations in self.batches:
            if written <= version:
                for kind, key, value in mutations:
                    if kind == CLEAR:
                        assert isinstance(value, bytes)
                        state = {k: v for k, v in state.items() if not key <= k < value}
                    elif kind == ADD:
                        before = state.get(key)
                        assert isinstance(before, int | None)
                        assert isinstance(value, int)
                        state[key] = (before or 0) + value
                    else:
                        state[key] = value
        return {key: value for key, value in state.items() if value is not None}


def drawn(random: Random) -> Mutation:
    key = bytes([random.randrange(8)])
    kind = random.choice((SET, SET, ADD, CLEAR))
    if kind == CLEAR:
        return kind, key, bytes([key[0] + random.randrange(1, 4)])
    value = random.choice((None, 1, 2)) if kind == SET else random.randrange(1, 5)
    return kind, key, value


@pytest.mark.parametrize("seed", range(15))
def test_a_store_has_at_each_version_what_was_written_up_to_it(seed: int) -> None:
    random = Random(seed)
    base = Base()
    store, writes, committed, last = Store(base), Writes(), 0, 0
    for _ in range(60):
        step = random.random()
        if step < 0.7:
            first, last = last + 1, last + random.randrange(2, 6)
            batch = [(version, tuple(drawn(random) for _ in range(3))) for version in (first, last)]
            store.apply(last, batch)
            store.version = last
            writes.batches += [(last, version, mutations) for version, mutations in batch]
        elif step < 0.8 and last > committed:
            ends = [0, *(end for end, _, _ in writes.batches)]
            last = random.choice([end for end in ends if committed <= end <= last])
            store.roll_back(last)
            writes.batches = [one for one in writes.batches if one[0] <= last]
        elif step < 0.9:
            committed = random.choice([committed, last])
            store.trim(min(committed, last - random.randrange(10)))
        else:  # a restart
            store = Store(base)
            for end, version, mutations in writes.batches:
                if end > base.version:
                    store.apply(end, [(version, mutations)])
            store.version = last
        for version in range(store.oldest, last + 1):
            expected = writes.at(version)
            assert dict(store.scan(b"", b"\xff", version)) == expected
            assert {k: store.read(k, version) for k in expected} == expected


def test_a_rollback_names_the_keys_that_it_took_back() -> None:
    store = Store(Base())
    store.apply(1, [(1, ((SET, b"a", 1),))])
    store.apply(3, [(2, ((SET, b"b", 1),)), (3, ((SET, b"a", 2), (SET, b"c", 1)))])
    assert sorted(store.roll_back(1)) == [b"a", b"b", b"c"]


def test_keys_that_are_gone_leave_the_order() -> None:
    store = Store(Base())
    for number in range(3000):
        key = number.to_bytes(2)
        store.apply(2 * number + 1, [(2 * number + 1, ((SET, key, 1),))])
        store.apply(2 * number + 2, [(2 * number + 2, ((SET, key, None),))])
    store.trim(6000)
    assert len(store._known) < 100
    assert not store.base.values


# --- the server -----------------------------------------------------------------------------------


def rate(clients: int, replicas: int) -> float:
    """Reads of one key in a second, by so many clients without a pause; a read takes 1 ms."""
    settings = FdbSettings(storage_read_us=1000)
    one = FdbWorld(plain_config(settings, storages=replicas, replicas=replicas), clients=clients)
    served = [0]

    async def read(name: str) -> None:
        tx = one.tx(name)
        await tx.read_version()
        while True:
            tx._values.clear()
            await tx.get(A)
            served[0] += 1

    for name in one.clients:
        one.spawn(read(name), name)
    one.run(500)
    assert sum(one.processes[f"storage{1 + i}"].reads for i in range(replicas)) >= served[0]
    return served[0] / 0.5


def test_a_hot_key_saturates_its_server_and_a_larger_team_serves_more() -> None:
    assert rate(2, 1) == pytest.approx(650, rel=0.1)  # 2 ms on the way, 1 ms of service
    assert rate(20, 1) == pytest.approx(1000, rel=0.05)
    assert rate(20, 3) == pytest.approx(3000, rel=0.05)


def test_a_read_waits_for_a_storage_server_that_is_behind() -> None:
    one = FdbWorld(plain_config(), clients=2)
    rule = Block("log1", "storage1")
    one.network.install(rule)
    tx = one.tx()
    tx.set(A, 1)
    one.do(tx.commit())
    reader = one.tx("c2")
    one.do(reader.read_version(), "c2")
    one.loop.call_later(300_000, rule.remove)
    began_us = one.loop.now_us
    assert one.do(reader.get(A), "c2") == 1
    assert one.loop.now_us - began_us >= 300_000
    assert one.probes["store-version-awaited"] == 1
