"""What a crashed node has refused is sent again after a rest; a model sees one that is left out.

Reading 21 of PROTOCOL.md: what is repeated is repeated each time after a longer wait.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from tests.support.kept_worlds import differences

REFUSED = "faults/refused_at_once"
BETWEEN_NODES = "network.latency_ms"


class Restless:
    """The ports of a node whose rests end at once."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def sleep(self, _us: int) -> Any:
        return self.node.sleep(0)


def restless(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, *given: Any) -> Any:
        if not isinstance(self.node, Restless):
            self.node = Restless(self.node)
        return await method(self, *given)

    return planted


def differs() -> list[tuple[str, str]]:
    """The parts that differ where a refusal takes half a millisecond each way, and how."""
    scenario = load(REFUSED, overrides={BETWEEN_NODES: 0.5})
    found = differences(run(plan(scenario, models=True)))
    return [(one.part, one.what) for one in found]


def test_the_models_find_that_each_request_rests() -> None:
    assert differs() == []


@pytest.mark.parametrize(
    ("owner", "method", "part"),
    [
        (TransactionCompletion, "_finish", "coordinator"),
        (ReplicaManager, "result_of", "replicas"),
    ],
)
def test_a_request_that_does_not_rest_is_seen(
    owner: Any, method: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, restless(getattr(owner, method)))
    found = differs()
    assert found
    assert {one for one, _ in found} == {part}
    assert all("again without a rest" in what for _, what in found)


PAUSED = """
title = "A pause ends when a rest behind the last request would"
expect = "ok"
[strategy]
name = "iep"
[protocol]
preset = "ignite3_tests"
resend_ms = 100
retry_ms = 7
[cluster]
nodes = 3
voters = 3
[network]
latency_ms = 0
client_latency_ms = 0
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[leader]]
group = "meta"
node = "n1"
[[leader]]
group = "t/0"
node = "n3"
[[faults]]
name = "lost_message"
kind = "KIND"
sender = "n2"
[[faults]]
name = "pause"
node = "n2"
from_ms = 150
for_ms = 57
"""
STATEMENT = """
[[step]]
id = "s"
client = "c"
node = "n2"
at_ms = 100
ddl = "ALTER TABLE t ADD COLUMN w INT"
expect = "ok"
"""
COMMIT = """
[[step]]
id = "w"
client = "c"
node = "n2"
tx = "T1"
at_ms = 90
do = ["put", "t", 1, { v = 5 }]
expect = "ok"
[[step]]
id = "s"
client = "c"
node = "n2"
tx = "T1"
at_ms = 100
do = "commit"
expect = "ok"
"""


@pytest.mark.parametrize(("kind", "step"), [("submit", STATEMENT), ("finish", COMMIT)])
def test_a_pause_as_long_as_a_rest_is_none(kind: str, step: str) -> None:
    """The answer is due at 200 ms, and the node is paused until 207 (ignite_index, world 869)."""
    history = run(plan(read(PAUSED.replace("KIND", kind) + step, "paused"), models=True))
    assert history.probes[f"{kind}-resent"]
    assert differences(history) == []
