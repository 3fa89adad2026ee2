"""Failures of processes: recoveries, versions that jump, commits of unknown result."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from ddlsim.fdb.config import FdbConfig, plain_config
from ddlsim.fdb.controller import Controller
from ddlsim.fdb.database import Database
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.grv import Grv
from ddlsim.fdb.keys import Key
from ddlsim.fdb.messages import Push, ReportCommitted
from ddlsim.fdb.processes import CLASSES, Classes
from ddlsim.fdb.settings import FdbSettings
from ddlsim.kernel.rng import Uniform
from ddlsim.kernel.rules import Block
from ddlsim.model.ports import Node
from ddlsim.units import Micros
from tests.support.fdb import FdbWorld

A, B = (("a",), ("b",))


def world(**settings: Any) -> FdbWorld:
    config = plain_config(
        FdbSettings(**{"commit_timeout_ms": 500, "request_ms": 200} | settings),
        grvs=2,
        proxies=2,
        logs=2,
        storages=2,
        replicas=2,
        resolver_begins=((), ("m",)),
    )
    return FdbWorld(config, clients=2, tapped=True)


def put(one: FdbWorld, key: Key, value: object, client: str = "c1") -> object:
    tx = one.tx(client)
    tx.set(key, value)
    return one.do(tx.commit(), client)


def blocked(one: FdbWorld, *pairs: tuple[str, str]) -> list[Block]:
    rules = [Block(*pair) for pair in pairs]
    for rule in rules:
        one.network.install(rule)
    return rules


def test_a_ping_missed_before_a_recovery_does_not_count_behind_it() -> None:
    one = world(ping_timeout_ms=50, confirm_ms=5)
    for at_ms in (240, 530):  # of 250 and 550: a ping that is missed makes the next one late
        one.run(at_ms - one.loop.now_us // 1000)
        rules = blocked(one, ("controller", "proxy1"))
        one.run(70)
        for rule in rules:
            one.network.remove(rule)
        if at_ms == 240:
            one.crash("grv1")
            one.restart("grv1")
    one.run(400)
    assert one.probes["store-recovery"] == 1


@pytest.mark.parametrize("name", ["sequencer", "grv1", "proxy1", "resolver2", "log1"])
def test_a_lost_process_leads_to_a_recovery_and_its_return_to_another_one(name: str) -> None:
    one = world()
    before = put(one, A, 1)
    one.crash(name)
    one.run(1000 if name != "sequencer" else 0)
    if name != "sequencer":  # it alone has no other one beside it
        assert one.probes["store-recovery"] == 1
        between = put(one, B, 2)
        assert isinstance(before, int)
        assert isinstance(between, int)
        assert between >= before + 100_000_000
    one.restart(name)
    one.run(2000)
    assert one.probes["store-recovery"] == (1 if name == "sequencer" else 2)
    assert put(one, ("c",), 3)
    assert one.do(one.tx().get(A)) == 1


@pytest.mark.parametrize("seed", [4, 6, 11, 13])
def test_an_answer_from_before_the_recruitment_leads_to_no_other_recovery(seed: int) -> None:
    """Pings of a recovery overtake the recruitment, and their answers come after its end."""
    config = plain_config(FdbSettings(ping_ms=1, ping_timeout_ms=100, confirm_ms=1), proxies=2)
    one = FdbWorld(config, seed=seed, latency=Uniform(0.1, 40))
    one.crash("proxy1")
    one.run(3000)
    assert one.probes["store-recovery"] == 1


def test_a_second_sequencer_takes_over() -> None:
    config = plain_config()
    config = type(config)(settings=config.settings, sequencers=("sequencer", "sequencer2"))
    one = FdbWorld(config)
    put(one, A, 1)
    one.crash("sequencer")
    one.run(1000)
    assert put(one, B, 2)
    assert one.do(one.tx().get(A)) == 1


def test_a_storage_server_that_dies_leads_to_no_recovery() -> None:
    one = world()
    put(one, A, 1)
    one.crash("storage1")
    put(one, A, 2)
    assert one.do(one.tx().get(A)) == 2
    one.run(3000)
    one.restart("storage1")
    one.run(1000)
    one.crash("storage2")
    assert one.do(one.tx().get(A)) == 2
    assert one.probes["store-recovery"] == 0


def test_a_restarted_storage_server_reads_nothing_older_than_its_disk() -> None:
    one = world(window_ms=1000)
    version = put(one, A, 1)
    one.run(3000)
    put(one, B, 1)
    for name in ("storage1", "storage2"):
        one.crash(name)
        one.restart(name)
    tx = one.tx()
    tx.set_read_version(version)
    assert one.do(tx.get(A)) is ErrorCode.TRANSACTION_TOO_OLD
    assert one.do(one.tx().get(A)) == 1


def test_a_recovery_ends_transactions_under_way() -> None:
    one = world(recovery_jump=1)
    tx = one.tx()
    assert one.do(tx.get(A)) is None
    tx.set(B, 1)
    one.crash("resolver1")
    one.restart("resolver1")
    one.run(1500)
    assert one.do(tx.commit()) is ErrorCode.NOT_COMMITTED


def test_a_jump_over_the_window_makes_them_too_old() -> None:
    one = world()
    tx = one.tx()
    assert one.do(tx.get(A)) is None
    tx.set(B, 1)
    one.crash("resolver1")
    one.restart("resolver1")
    one.run(1500)
    assert one.do(tx.commit()) is ErrorCode.TRANSACTION_TOO_OLD


@pytest.mark.parametrize("risky", [False, True])
def test_a_commit_whose_answer_is_lost_is_unknown_and_done(risky: bool) -> None:
    one = world()
    rules = blocked(one, ("proxy1", "c1"), ("proxy2", "c1"))
    for rule in rules:
        one.loop.call_later(700_000, rule.remove)
    tx = one.tx(causal_write_risky=risky)
    tx.set(A, 1)
    one.do(tx.read_version())
    assert one.do(tx.commit()) is ErrorCode.COMMIT_UNKNOWN_RESULT
    assert one.do(one.tx("c2").get(A), "c2") == 1


def test_an_unknown_commit_cannot_happen_once_its_client_has_the_error() -> None:
    """What the proxy sends late, after the client has tried again, conflicts with that."""
    one = world()
    tx = one.tx()
    tx.add(A, 1)
    one.do(tx.read_version())
    rules = blocked(one, *(("proxy1", log) for log in ("log1", "log2", "resolver1", "resolver2")))
    rules += blocked(one, *(("proxy2", log) for log in ("log1", "log2")))
    for rule in rules:
        one.loop.call_later(1_200_000, rule.remove)
    assert one.do(tx.commit()) is ErrorCode.COMMIT_UNKNOWN_RESULT
    known = one.do(one.tx().get(A))
    one.run(5000)
    assert one.do(one.tx().get(A)) == known


def test_a_commit_is_not_answered_before_all_logs_have_it_and_the_sequencer_knows() -> None:
    one = world()
    put(one, A, 1)
    order = [
        type(message) for message in one.arrived if isinstance(message, Push | ReportCommitted)
    ]
    assert order == [Push, Push, ReportCommitted]
    rules = blocked(one, ("proxy1", "sequencer"), ("proxy2", "sequencer"))
    tx = one.tx()
    tx.set(A, 2)
    one.do(tx.read_version())
    done: list[object] = []

    async def commit() -> None:
        done.append(await tx.commit())

    one.spawn(commit())
    one.run(300)
    assert done == []
    for rule in rules:
        rule.remove()
    one.run(1500)
    assert done


def test_a_risky_read_version_may_be_of_the_past_and_an_ordinary_one_is_not() -> None:
    """The first GRV proxy and the sequencer are cut off from all but one client."""
    one = FdbWorld(
        type(plain_config())(
            settings=FdbSettings(request_ms=200, commit_timeout_ms=500),
            sequencers=("sequencer", "sequencer2"),
            grvs=("grv1", "grv2"),
        ),
        clients=2,
    )
    put(one, A, 1)
    inside = {"grv1", "sequencer", "c1"}
    outside = [name for name in one.hosts if name not in inside and name != "storage1"]
    cut = [(name, other) for name in ("grv1", "sequencer") for other in outside]
    blocked(one, *cut, *((other, name) for name, other in cut), ("c1", "grv2"), ("grv2", "c1"))
    one.run(1500)
    assert one.probes["store-recovery"] == 1
    tx = one.tx("c2", timeout_us=3_000_000)
    tx.set(A, 2)
    version = one.do(tx.commit(), "c2")
    risky = one.tx(causal_read_risky=True)
    assert one.do(risky.read_version()) < version
    assert one.do(one.tx(timeout_us=1_000_000).read_version()) is ErrorCode.TIMED_OUT


class WordsForEver(Grv):
    """The word of the logs, once given, never expires."""

    def _expire(self, asked: int) -> None:
        pass


class DoesNotWait(Controller):
    """Recruits a generation while the word of the last one's logs may still count."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        super().__init__(node, config)
        self._confirm_us = Micros(0)


@pytest.mark.parametrize(
    ("classes", "right"),
    [
        (CLASSES, True),
        (replace(CLASSES, grv=WordsForEver), False),
        (replace(CLASSES, controller=DoesNotWait), False),
    ],
)
def test_no_read_version_is_of_a_generation_that_another_one_has_followed(
    classes: Classes, right: bool
) -> None:
    """A GRV proxy and the sequencer are cut off from the controller alone."""
    one = FdbWorld(
        FdbConfig(
            settings=FdbSettings(request_ms=200, ping_ms=50, ping_timeout_ms=20, confirm_ms=400),
            sequencers=("sequencer", "sequencer2"),
            grvs=("grv1", "grv2"),
        ),
        clients=2,
        classes=classes,
    )
    blocked(
        one,
        *((name, "controller") for name in ("grv1", "sequencer")),
        *(("controller", name) for name in ("grv1", "sequencer")),
    )
    for client, grv in (("c1", "grv1"), ("c2", "grv2")):
        own = structs.replace(one.config, grvs=(grv,))
        one.databases[client] = Database(one.port(client), own)
    committed = [0]
    stale: list[int] = []

    async def read() -> None:
        while True:
            known = committed[-1]
            version = await one.tx("c1").read_version()
            if version < known:
                stale.append(version)

    async def write() -> None:
        while True:
            tx = one.tx("c2")
            tx.set(("k", len(committed)), 1)
            try:
                committed.append(await tx.commit())
            except FdbError as error:
                await tx.on_error(error)

    one.spawn(read(), "c1")
    for _ in range(5):
        one.spawn(write(), "c2")
    one.run(1500)
    assert one.probes["store-recovery"]
    assert committed[-1] > one.config.settings.recovery_jump
    assert (not stale) is right


def test_idle_proxies_move_versions_on() -> None:
    one = world(idle_commit_ms=100)
    before = one.do(one.tx().read_version())
    one.run(1000)
    assert 900_000 <= one.do(one.tx().read_version()) - before <= 1_100_000


def test_a_late_copy_of_a_recruitment_begins_nothing_again() -> None:
    one = world()
    put(one, A, 1)
    resolver = one.processes["resolver1"]
    one.crash("resolver1")
    one.run(1000)
    one.restart("resolver1")
    one.run(1500)
    again = one.processes["resolver1"]
    assert again is not resolver
    number = again.generation.number
    one.crash("resolver1")
    one.restart("resolver1")
    assert one.processes["resolver1"]._known == number


def test_a_client_passes_over_a_proxy_that_did_not_serve() -> None:
    one = world(pings_missed=1000)
    one.crash("proxy1")
    outcomes = [put(one, ("k", number), 1) for number in range(6)]
    assert outcomes.count(ErrorCode.COMMIT_UNKNOWN_RESULT) <= 1


def test_logs_keep_what_a_storage_server_lacks_however_old() -> None:
    one = world(window_ms=300, idle_commit_ms=50, pop_ms=50)
    one.crash("storage2")
    put(one, A, 1)
    one.run(3000)
    one.restart("storage2")
    one.run(1000)
    one.crash("storage1")
    assert one.do(one.tx().get(A)) == 1


def test_what_not_all_logs_have_leaves_the_window_only_in_memory() -> None:
    one = world(window_ms=200, idle_commit_ms=50, pop_ms=50, pings_missed=1000)
    put(one, A, 1)
    one.run(500)
    rules = blocked(one, ("proxy1", "log2"), ("proxy2", "log2"))
    tx = one.tx(timeout_us=400_000)
    tx.set(A, 2)
    one.do(tx.commit())
    one.run(2000)
    one.crash("log1")
    for rule in rules:
        rule.remove()
    one.crash("resolver1")
    one.restart("resolver1")
    one.run(3000)
    assert one.probes["store-rollback"] == 2
    assert one.do(one.tx().get(A)) == 1


def test_no_log_is_more_than_a_window_ahead_of_what_has_committed() -> None:
    """Else a storage server may hold versions of the next generation, and what was taken back."""
    one = world(window_ms=200, idle_commit_ms=50, pings_missed=1000)
    put(one, A, 1)
    rules = blocked(one, ("proxy1", "log2"), ("proxy2", "log2"))
    one.run(3000)
    committed = one.processes["sequencer"]._committed.version
    ahead = one.processes["log1"].last - committed
    assert 0 < ahead <= one.config.settings.window + 1
    for rule in rules:
        rule.remove()
    one.run(1000)
    put(one, B, 2)
    assert one.do(one.tx().get(B)) == 2


def test_a_proxy_catches_up_though_it_rests_longer_than_a_window() -> None:
    """`run --swarm --seed 227 --strategy c9_future_cv`: it fell further behind with each rest."""
    settings = {"window_ms": 20, "retry_ms": 30, "idle_commit_ms": 5, "pings_missed": 1000}
    settings["log_sync_us"] = 2_000
    one = FdbWorld(plain_config(FdbSettings(**settings)), clients=1, tapped=True)
    (rule,) = blocked(one, ("proxy1", "log1"))
    one.run(200)
    rule.remove()
    one.run(2000)
    assert one.probes["store-window-full"] > 0
    now = one.loop.now_us * one.config.settings.versions_per_second // 1_000_000
    assert now - one.processes["sequencer"]._committed.version < one.config.settings.window
    put(one, A, 1)
    assert one.do(one.tx().get(A)) == 1
