"""The state that a coordinator gives of a transaction: the protocol agrees, faults are seen."""

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.transaction.states import compare_states
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.transaction.commit import TransactionCompletion
from tests.support.edits import edited


def differences() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    compare_states(Models(found.append, Loop()).divergence("states", "n1"))
    return found


FAULTS = {
    "what commits at read_ts is later": ("commit_ts > read_ts", "commit_ts >= read_ts"),
    "what commits later is about to": ("commit_ts > read_ts", "commit_ts > read_ts + 1"),
    "what is pending may commit in the past": ("clock.update(read_ts)", "pass"),
    "a namesake answers for it": ("tx is None or tx.id != request.tx", "tx is None"),
    "what was unlocked is unknown": (" or label in self._unlocked", ""),
}


def test_a_coordinator_gives_the_state_that_its_model_gives() -> None:
    assert differences() == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_state_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = "_on_state_request"
    fault = edited(TransactionCompletion, method, *FAULTS[name])
    monkeypatch.setattr(TransactionCompletion, method, fault)
    assert differences() != []
