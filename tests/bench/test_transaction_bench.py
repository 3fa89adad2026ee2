"""What a simulated transaction costs, in bare SimPy events of the same process.

The aim is 150 bare events for a committed transaction of three operations on two partitions with
recording on. ARCHITECTURE.md has what was measured last, and why it is more.
"""

import time
from collections.abc import Callable

import pytest
import simpy
from msgspec.structs import replace

from ddlsim.cluster.adapters import Recorder
from ddlsim.cluster.cluster import Cluster
from ddlsim.cluster.run import run
from ddlsim.history.events import TxCommitted
from ddlsim.model.ops import Get, Put
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.protocol.server import Parts
from ddlsim.scenario.scenario import read
from ddlsim.strategies.base import STRATEGIES
from ddlsim.units import Micros
from tests.bench.figures import show

pytestmark = pytest.mark.bench

ROUNDS = 8
TRANSACTIONS = 500
"""Of each of the four clients."""
WORLD = """
title = "Three operations on two partitions"
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 3
partitions = 2
[network]
latency_ms = 0.2
[run]
load_ms = 20_000
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
"""


def bare_event_us(events: int = 100_000) -> float:
    """CPU of one SimPy Timeout with a callback that makes the next one."""
    environment = simpy.Environment()

    def again(_: object) -> None:
        simpy.Timeout(environment, 1).callbacks.append(again)

    for _ in range(10):
        again(None)
    began = time.process_time()
    environment.run(until=events // 10)
    return (time.process_time() - began) / events * 1e6


def world(*, recording: bool) -> Plan:
    """Four clients in closed loops, none of whom touches another's keys."""
    programs = []
    for client in range(4):
        items = tuple(
            TransactionItem(
                f"n{1 + (client + number) % 3}",
                (
                    Get("t", client * 1000 + number % 50 * 2),
                    Put("t", client * 1000 + number % 50 * 2 + 1),
                    Put("t", client * 1000 + number % 50 * 2),
                ),
                Micros(100),
            )
            for number in range(TRANSACTIONS)
        )
        programs.append(Program(f"c{client}", items))
    return replace(plan(read(WORLD, "bench")), programs=tuple(programs), recording=recording)


def transaction_us(*, recording: bool) -> float:
    """CPU of one committed transaction, everything that the run does included."""
    planned = world(recording=recording)
    began = time.process_time()
    history = run(planned)
    spent = time.process_time() - began
    if recording:
        committed = sum(type(event) is TxCommitted for event in history.events)
        assert committed == 4 * TRANSACTIONS
    return spent / (4 * TRANSACTIONS) * 1e6


def least(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(ROUNDS))


def test_a_transaction_in_bare_events() -> None:
    """Recording on; off for comparison."""
    bare, on, off = [], [], []
    for _ in range(ROUNDS):
        bare.append(bare_event_us())
        on.append(transaction_us(recording=True))
        off.append(transaction_us(recording=False))
    events, overhead = min(on) / min(bare), min(on) / min(off) - 1
    show("bare events of a transaction", events, most=150)
    show("what recording adds", overhead, most=0.15)


def test_a_cluster_is_built_and_dropped_quickly() -> None:
    """Three nodes, wired, with their schema."""
    planned = world(recording=True)
    chosen = STRATEGIES.get("iep")

    recorder = Recorder(run(replace(planned, programs=(), load_until_us=Micros(1))), recording=True)

    def build() -> float:
        began = time.process_time()
        for _ in range(20):
            Cluster(planned, chosen, Parts(), recorder)
        return (time.process_time() - began) / 20 * 1e3

    milliseconds = least(build)
    show("ms for a three-node cluster", milliseconds, most=10)
