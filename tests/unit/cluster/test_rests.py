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
