"""Operations that wait for primaries beside a run go where the model has it; faults are seen."""

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.transaction.route_walks import walk_routes
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.transaction.routing import Router
from tests.support.edits import edited


def differences(seeds: int) -> list[PartDiverged]:
    found: list[PartDiverged] = []
    for seed in range(seeds):
        walk_routes(Models(found.append, Loop()), seed)
    return found


def test_operations_go_where_the_model_has_it() -> None:
    assert differences(100) == []


KNOWN = "lease = None if again else tx.participants.get(place)"
FAULTS = {
    "what has waited goes by the present lease": (
        "_ask_later",
        "if again or place not in tx.participants:\n        tx",
        "lease = self.leases.of(place)\n    if True:\n        tx",
    ),
    "what has waited does not look at the transaction": (
        "_ask_later", KNOWN, "lease = None",
    ),
    "an operation goes by the present lease": ("ask_primary", KNOWN, "lease = None"),
    "the last lease counts": (
        "_ask_later", "self.leases.valid_at(place, node.clock.current())", "self.leases.of(place)",
    ),
    "a wait has no end": (
        "_ask_later", "if node.watch.now_us >= until_us:", "if False:",
    ),
    "a wait ends at some look": (
        "_ask_later", "if node.watch.now_us >= until_us:", "if node.watch.now_us % 7:",
    ),
    "an aborted transaction waits on": ("_ask_later", "if tx.state is ABORTED:", "if False:"),
    "the partition itself is the commit partition": (
        "_ask", "tx.commit_place or place", "place",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_routing_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, before, after = FAULTS[name]
    monkeypatch.setattr(Router, method, edited(Router, method, before, after))
    try:
        found = differences(20)
    except AssertionError:  # one of the product, which ends a run as well
        return
    assert found
