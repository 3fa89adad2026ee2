"""What five nodes with the real defaults cost: idle, by cause; and busy, with three replicas."""

import time
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.history.events import TxCommitted
from ddlsim.kernel.channel import Channel
from ddlsim.kernel.engine import Timer
from ddlsim.kernel.network import Network
from ddlsim.model.ops import Get, Put
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.scenario.scenario import read
from ddlsim.units import Micros
from tests.bench.figures import show

pytestmark = pytest.mark.bench

IDLE_S = 60
TRANSACTIONS = 150
"""Of each of the five clients."""


def planned(load_ms: int, replicas: int) -> Plan:
    """Five nodes, two tables of two partitions each, and nobody who asks for anything."""
    text = f"""
title = "Five nodes"
[protocol]
preset = "ignite3_defaults"
[cluster]
nodes = 5
partitions = 2
replicas = {replicas}
[network]
latency_ms = 0.2
[run]
load_ms = {load_ms}
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY, v INT)"
"""
    return plan(read(text, "bench"))


def touched(world: Plan) -> Plan:
    """With one transaction that writes into every partition: groups are born when needed."""
    puts = tuple(Put(table, key) for table in ("t", "u") for key in range(8))
    program = Program("c0", (TransactionItem("n1", puts, Micros(100)),))
    return replace(world, programs=(program,))


def told(payload: Any) -> str:
    """A message by what it is for: that of a partition's group by what is in it."""
    inner = getattr(payload, "message", payload)
    where = "meta" if inner is payload else "partition"
    name = type(inner).__name__
    if getattr(inner, "round", 0):
        name += " (heartbeat)"
    return f"message {where} {name}"


def counted(world: Plan, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every message and every timer of a run, by kind."""
    found: Counter[str] = Counter()
    transmit, fire = Network.transmit, Timer.fire

    def counting(self: Network, channel: Channel, payload: Any, *rest: Any) -> None:
        found[told(payload)] += 1
        transmit(self, channel, payload, *rest)

    def firing(self: Timer) -> None:
        function = self._fn
        owner = getattr(getattr(function, "__self__", None), "name", "")
        part = "partition " if "/" in str(owner) else ""
        found[f"timer {part}{getattr(function, '__qualname__', function)}"] += 1
        fire(self)

    with monkeypatch.context() as patched:
        patched.setattr(Network, "transmit", counting)
        patched.setattr(Timer, "fire", firing)
        run(world)
    return found


@pytest.mark.parametrize("replicas", [1, 3])
def test_what_an_idle_cluster_does(replicas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer of two runs less the shorter one: what a start costs does not count."""
    found = counted(touched(planned((IDLE_S + 5) * 1_000, replicas)), monkeypatch)
    found.subtract(counted(touched(planned(5_000, replicas)), monkeypatch))
    print(f"\n  {replicas} replicas, per second:", end="")
    for what, count in sorted(found.items()):
        if count:
            print(f"\n    {count / IDLE_S:8.2f} {what}", end="")
    show("messages and timers per second", sum(found.values()) / IDLE_S, most=600)


def test_a_busy_cluster() -> None:
    """Each client in a closed loop over keys of its own; every write goes to three replicas."""
    programs = tuple(
        Program(
            f"c{client}",
            tuple(
                TransactionItem(
                    f"n{1 + (client + number) % 5}",
                    (
                        Get("t", client * 1000 + number % 50 * 2),
                        Put("t", client * 1000 + number % 50 * 2 + 1),
                        Put("u", client * 1000 + number % 50 * 2),
                    ),
                    Micros(100),
                )
                for number in range(TRANSACTIONS)
            ),
        )
        for client in range(5)
    )
    world = replace(planned(20_000, 3), programs=programs)
    spent = []
    for _ in range(4):
        began = time.process_time()
        history = run(world)
        spent.append(time.process_time() - began)
    committed = sum(type(event) is TxCommitted for event in history.events)
    print(f"\n  busy, three replicas: {committed / min(spent):.0f} transactions per CPU second")
    assert committed == 5 * TRANSACTIONS
