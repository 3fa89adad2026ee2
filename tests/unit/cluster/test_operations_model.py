"""The models of operations and coordinators see views that are not judged, and what is kept."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp
from tests.support.kept_worlds import first_part


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


VIEWED: Final = 47  # in its world an operation rests on the version of its view
PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    "looks at tables alone": (Replica, "_checked", tables_alone, "operations"),
    "keeps what has aborted": (TransactionCompletion, "abort", stays_known, "coordinator"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert first_part(monkeypatch, VIEWED) == part
