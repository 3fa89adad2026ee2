"""The models of operations and coordinators see views that are not judged, and what is kept."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.transaction.operations import ModelledExecutor, ModelledReplica
from ddlsim.cluster.run import run
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.execution import Executor
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp
from tests.support.kept_worlds import differences, first_part, plan_of

pytestmark = pytest.mark.slow


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
    assert ["ran under version 1 of object 2" in one.what for one in found] == [True] * (not knows)


def test_a_copy_of_a_one_phase_write_needs_no_locks_once_its_lease_is_over() -> None:
    """Its intent was replicated under the lease, and the locks ended with that."""
    assert not differences(run(plan_of(ITS_LEASE_IS_OVER)))


@pytest.mark.parametrize(("op_ts", "stays", "found"), [(9, True, 0), (9, False, 1), (11, True, 1)])
def test_a_write_that_another_one_has_overtaken_replaces_nothing(
    op_ts: int, stays: bool, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that a client sends at once: one waits for metadata, and has the earlier op_ts."""
    tx, seen = TxId(Timestamp(1), 0, "T"), list[str]()
    later = Intent(tx, "b", Timestamp(10), 1, None, (1, 0))
    mine = replace(later, op="a", op_ts=Timestamp(9))
    machine = SimpleNamespace(intents={(7,): later})
    local = cast("Any", SimpleNamespace(place=(1, 0), machine=machine, pending={}))

    def left(*_given: Any) -> Operated:
        if not stays:
            machine.intents[7,] = mine
        return Operated(Timestamp(12), Timestamp(op_ts), None, ())

    monkeypatch.setattr(Executor, "leave_intent", left)
    executor = cast("Any", object.__new__(ModelledExecutor))
    executor.divergence, executor._left = SimpleNamespace(found=seen.append), {}
    executor._last, executor._on_its_way = {}, {}
    request = Operate(Timestamp(8), tx, "a", "put", 1, 0, 1, (7,), None)
    executor.leave_intent("n", request, local, Timestamp(op_ts), SimpleNamespace(version=1))
    assert len(seen) == found
