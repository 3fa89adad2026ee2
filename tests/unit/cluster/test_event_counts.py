"""How many events an idle cluster and a committed transaction take: exact, so that none creeps in.

Events are counted, not time. A change that needs more of them says why, in ARCHITECTURE ("What a
run costs").
"""

from collections import Counter
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.kernel.channel import Channel
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.network import Network
from ddlsim.plan.records import Plan
from tests.bench import test_cluster_bench as idle
from tests.bench import test_plane_bench as planes
from tests.bench import test_transaction_bench as transactions

SHORT_S, LONG_S = 5, 17
"""Two runs of an idle cluster: their difference is twelve seconds, four prolongings of leases."""
FEW, MANY = 10, 60
"""Transactions of each of four clients in two runs: their difference is 200."""

LEAST = {
    "client-operation": 3,
    "client-commit": 1,
    "answer": 4,
    "operate": 3,
    "operated": 3,
    "finish": 1,
    "finished": 1,
    "cleanup": 1,
    "cleaned": 1,
}
"""Messages of a transaction: each operation and its commit asked for, done, and answered; the
outcome stored at the one partition, sent to the other one."""


@pytest.mark.parametrize(("replicas", "most"), [(1, 562), (3, 1_202)])
def test_idle_cluster_takes_no_more_events(replicas: int, most: int) -> None:
    """Five nodes with the real defaults, two tables of two partitions each, for twelve seconds."""
    first, last = (
        run(idle.touched(idle.planned(seconds * 1_000, replicas))).executed_events
        for seconds in (SHORT_S, LONG_S)
    )
    assert last - first <= most


def counted(monkeypatch: pytest.MonkeyPatch, number: int) -> tuple[int, int, Counter[str]]:
    """So many transactions by each client: events executed, events recorded, messages by kind."""
    monkeypatch.setattr(transactions, "TRANSACTIONS", number)
    history, found = _with_messages(monkeypatch, transactions.world(recording=True))
    assert planes.committed(history) == 4 * number
    return history.executed_events, len(history.events), found


def _with_messages(monkeypatch: pytest.MonkeyPatch, planned: Plan) -> tuple[History, Counter[str]]:
    """The history of a plan, and how many messages of each kind were sent."""
    found: Counter[str] = Counter()
    transmit = Network.transmit

    def counting(self: Network, channel: Channel, *rest: Any) -> None:
        found[channel.kind] += 1
        transmit(self, channel, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Network, "transmit", counting)
        return run(planned), found


def test_committed_transaction_takes_no_more_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three operations on two partitions: 200 transactions, whatever else runs meanwhile."""
    few = counted(monkeypatch, FEW)
    many = counted(monkeypatch, MANY)
    assert many[0] - few[0] <= 200 * 30
    assert many[1] - few[1] <= 5_120  # in every fifth transaction a get finds nothing
    messages = many[2] - few[2]
    assert {kind: count / 200 for kind, count in messages.items()} == LEAST


STORE_LEAST = {
    "client-operation": 3,
    "client-commit": 1,
    "answer": 4,
    "get-read-version": 1,
    "get": 1,
    "got": 1,
    "commit": 1,
    "committed": 1,
}
"""Messages of a transaction of the store that no batch shares: its three operations and its commit
asked for and answered, a read version, one read, one commit."""
BATCHES = 10
"""So many batches of each kind 200 transactions share: 20 clients go in step."""


def test_transaction_of_the_store_takes_no_more_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three operations by each of 20 clients without pauses: 200 transactions."""
    few, many = (_of_store(monkeypatch, number) for number in (5, 5 + BATCHES))
    assert many[0] - few[0] <= 4_890  # 24.45 each: one more step in a batch is seen
    messages = many[1] - few[1]
    assert {kind: messages.pop(kind) / 200 for kind in STORE_LEAST} == STORE_LEAST
    assert messages.pop("read-version") == 200 + BATCHES  # one for each, and the sequencer's
    assert max(messages.values()) <= 3 * BATCHES, messages  # three storage servers follow the log


def _of_store(monkeypatch: pytest.MonkeyPatch, number: int) -> tuple[int, Counter[str]]:
    """So many transactions by each client: events executed, messages by kind."""
    history, found = _with_messages(monkeypatch, planes.world(planes.STORE, number=number))
    assert planes.committed(history) == planes.CLIENTS * number
    return history.executed_events, found


def test_one_more_timer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that fires once in a second is more than the idle cluster may take."""
    start = Loop.run

    def with_timer(self: Loop, until_us: int | None = None, *bound: int) -> None:
        if self.now_us == 0:
            for second in range(20):
                self.call_at(second * 1_000_000, int)
        start(self, until_us, *bound)

    monkeypatch.setattr(Loop, "run", with_timer)
    with pytest.raises(AssertionError):
        test_idle_cluster_takes_no_more_events(1, 562)
