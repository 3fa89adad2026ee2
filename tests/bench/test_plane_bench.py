"""What a committed transaction costs on the second plane, as a ratio to the Ignite plane.

The same programs on both, by turns in one process. Clients without pauses go in step, and the
store's batches hold a transaction of each; with pauses of their own few share a batch. The aim is a
ratio of 1 with one replica: an Ignite group of one replicates nothing, while the store always has
its logs, resolvers and sequencer.
"""

import time

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.history.events import TxCommitted
from ddlsim.history.history import History
from ddlsim.model.ops import Get, Put
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.scenario.scenario import read
from ddlsim.units import Micros
from tests.bench.figures import show

pytestmark = pytest.mark.bench

ROUNDS = 6
CLIENTS = 20
TRANSACTIONS = 100
"""Of each client."""
WORLD = """
title = "Three operations of each transaction"
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 3
{plane}
[strategy]
name = "{design}"
[network]
latency_ms = 0.2
[run]
load_ms = 20_000
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
"""
IGNITE = "partitions = 2\nreplicas = {replicas}", "iep"
STORE = 'plane = "fdb"\n[fdb]\nreplicas = {replicas}\nstorages = 3', "c16_safe"


def world(
    texts: tuple[str, str],
    *,
    replicas: int = 1,
    paused: bool = False,
    number: int = TRANSACTIONS,
) -> Plan:
    """Clients in closed loops, none of which touches another's keys; `paused`: no two in step."""
    plane, design = texts
    text = WORLD.format(plane=plane.format(replicas=replicas), design=design)
    programs = []
    for client in range(CLIENTS):
        items = tuple(
            TransactionItem(
                f"n{1 + (client + place) % 3}",
                (
                    Get("t", client * 1000 + place % 50 * 2),
                    Put("t", client * 1000 + place % 50 * 2 + 1),
                    Put("t", client * 1000 + place % 50 * 2),
                ),
                Micros((3_000 + 137 * client + 61 * (place % 7)) * paused),
            )
            for place in range(number)
        )
        programs.append(Program(f"c{client}", items))
    return replace(plan(read(text, "bench")), programs=tuple(programs))


def committed(history: History) -> int:
    """How many transactions have committed."""
    return sum(type(event) is TxCommitted for event in history.events)


def transaction_us(planned: Plan) -> float:
    """CPU of one committed transaction, everything that the run does included."""
    began = time.process_time()
    history = run(planned)
    spent = time.process_time() - began
    assert committed(history) == CLIENTS * TRANSACTIONS
    return spent / (CLIENTS * TRANSACTIONS) * 1e6


@pytest.mark.parametrize(("replicas", "paused"), [(1, False), (1, True), (3, True)])
def test_a_transaction_of_the_store_beside_one_of_ignite(replicas: int, *, paused: bool) -> None:
    """Storage servers, and members of each group, in so many replicas."""
    ignite = world(IGNITE, replicas=replicas, paused=paused)
    store = world(STORE, replicas=replicas, paused=paused)
    took: dict[str, list[float]] = {"ignite": [], "store": []}
    for _ in range(ROUNDS):
        took["ignite"].append(transaction_us(ignite))
        took["store"].append(transaction_us(store))
    what = f"store over Ignite, {replicas} replicas, {'with' if paused else 'without'} pauses"
    show(what, min(took["store"]) / min(took["ignite"]), most=1)
