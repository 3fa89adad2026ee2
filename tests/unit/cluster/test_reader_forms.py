"""What a reader of the past sees of a row with an intent: the protocol agrees, faults are seen."""

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.partition.reader_forms import compare_seen
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.protocol.transaction.readers import Readers
from tests.support.edits import edited


def differences() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    compare_seen(Models(found.append, Loop()).divergence("readers", "n1"))
    return found


FAULTS = {
    "commits at read_ts are later": ("outcome.commit_ts <= request", "outcome.commit_ts < request"),
    "an intent is always newer": ("newest is None or newest.commit_ts < outcome.commit_ts", "True"),
    "an intent is never seen": ("if intent is not None:", "if False:"),
    "the end by now": ("intent.commit_place, request.read_ts", "intent.commit_place"),
}


def test_the_protocol_sees_what_its_model_sees() -> None:
    assert differences() == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_what_is_seen_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Readers, "_seen", edited(Readers, "_seen", *FAULTS[name]))
    assert differences() != []
