"""How many events an idle cluster and a committed transaction take: exact, so that none creeps in.

Events are counted, not time. A change that needs more of them says why, in ARCHITECTURE ("What a
run costs").
"""

from collections import Counter
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.events import TxCommitted
from ddlsim.kernel.channel import Channel
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.network import Network
from tests.bench import test_cluster_bench as idle
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
    found: Counter[str] = Counter()
    transmit = Network.transmit

    def counting(self: Network, channel: Channel, *rest: Any) -> None:
        found[channel.kind] += 1
        transmit(self, channel, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Network, "transmit", counting)
        history = run(transactions.world(recording=True))
    committed = sum(type(event) is TxCommitted for event in history.events)
    assert committed == 4 * number
    return history.executed_events, len(history.events), found


def test_committed_transaction_takes_no_more_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three operations on two partitions: 200 transactions, whatever else runs meanwhile."""
    few = counted(monkeypatch, FEW)
    many = counted(monkeypatch, MANY)
    assert many[0] - few[0] <= 200 * 30
    assert many[1] - few[1] <= 5_120  # in every fifth transaction a get finds nothing
    messages = many[2] - few[2]
    assert {kind: count / 200 for kind, count in messages.items()} == LEAST


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
