"""The models of operations and coordinators see views that are not judged, and what is kept."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.operations import ModelledReplica
from ddlsim.cluster.run import run
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp
from tests.support.kept_worlds import differences, first_part, plan_of


def tables_alone(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, request: Operate, op_ts: Timestamp, purpose: str) -> Any:
        return await method(self, replace(request, views=()), op_ts, purpose)

    return planted


def stays_known(method: Any) -> Callable[..., Any]:
    def planted(self: Any, tx: Any, reason: Any) -> Any:
        found = method(self, tx, reason)
        self._coordinator.transactions[tx.id.label] = tx
        return found

    return planted


VIEWED: Final = 2  # in its world an operation rests on the version of its view
OVERTAKEN: Final = 410152  # in its world a copy of a write is executed before the first message
ITS_LEASE_IS_OVER: Final = 203136  # in its world a copy is answered after the lease of the first
PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    "looks at tables alone": (Replica, "_checked", tables_alone, "operations"),
    "keeps what has aborted": (TransactionCompletion, "abort", stays_known, "coordinator"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert first_part(monkeypatch, VIEWED) == part


@pytest.mark.parametrize("knows", [True, False])
def test_a_one_phase_write_ran_for_the_message_that_was_the_first_to_have_all_it_waited_for(
    knows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier message waits for its schema again, and is answered as the later one was."""
    if not knows:
        monkeypatch.setattr(ModelledReplica, "_was_executed_for_another", lambda *_: False)
    found = differences(run(plan_of(OVERTAKEN, "iep")))
    assert ["ran under version 1 of 2" in one.what for one in found] == [True] * (not knows)


def test_a_copy_of_a_one_phase_write_needs_no_locks_once_its_lease_is_over() -> None:
    """Its intent was replicated under the lease, and the locks ended with that."""
    assert not differences(run(plan_of(ITS_LEASE_IS_OVER)))
