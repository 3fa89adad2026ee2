"""Leases around their ends: the protocol agrees with the model, faults of one tick are seen."""

from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.metastorage import lease_edges
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver
from ddlsim.protocol.transaction import execution
from ddlsim.strategies.base import STRATEGIES
from tests.support.edits import edited


def differences(name: str = "iep_closed") -> list[PartDiverged]:
    found: list[PartDiverged] = []
    leases = Models(found.append, Loop()).divergence("lease ends", "n1")
    lease_edges.compare_leases(leases, STRATEGIES.get(name))
    return found


FAULTS: dict[str, tuple[Any, str, str, str]] = {
    "holds it at its end": (
        Leases, "holds", "current() < lease.expiration_ts", "current() <= lease.expiration_ts",
    ),
    "is primary at its end": (
        Leases, "held", "current() < lease.expiration_ts", "current() <= lease.expiration_ts",
    ),
    "is primary by an earlier life": (
        Leases, "held", "lease.start_ts > self.born_ts", "lease.start_ts >= self.born_ts",
    ),
    "is sent to for a tick more": (
        Leases, "valid_at", "lease.expiration_ts > until", "lease.expiration_ts >= until",
    ),
    "is outdated a tick before": (PlacementDriver, "is_outdated", ") < now", ") <= now"),
    "is prolonged at its end": (
        PlacementDriver, "_deserves", "lease.expiration_ts <= now", "lease.expiration_ts < now",
    ),
    "is served at its end": (
        execution, "serves", "op_ts < lease.expiration_ts", "op_ts <= lease.expiration_ts",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ["iep_closed", "ignite3", "ignite_index"])
def test_leases_end_when_their_model_has_them_end(name: str) -> None:
    assert differences(name) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_one_tick_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, before, after = FAULTS[name]
    fault = edited(owner, method, before, after)
    monkeypatch.setattr(owner, method, fault)
    monkeypatch.setattr(lease_edges, method, fault, raising=False)
    assert differences() != []
