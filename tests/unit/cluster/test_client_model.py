"""The models of clients, commit_ts and the limit that a clock keeps: planted faults are seen."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.model.hlc import LIMIT_STEP, HybridClock
from ddlsim.protocol.transaction import client
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.units import timestamp
from tests.support.kept_worlds import first_part
from tests.unit.cluster.test_models import nothing

pytestmark = pytest.mark.slow


def limit_at_last(_method: Any) -> Callable[..., None]:
    def planted(self: Any, last: int) -> None:
        self._limit = last + LIMIT_STEP
        self._write_limit(last)

    return planted


def first_places(method: Any) -> Callable[..., Any]:
    """The positions that an update set when it was first encoded."""
    kept: dict[str, Any] = {}

    def planted(do: Any, table: Any) -> Any:
        return kept.setdefault(f"{do}", method(do, table))

    return planted


def turned_round(method: Any) -> Callable[..., Any]:
    def planted(op: str, do: Any, table: Any) -> Any:
        row = method(op, do, table)
        return row[::-1] if type(row) is tuple else row

    return planted


def behind_the_last_operation(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, tx: Any) -> Any:
        reason = await method(self, tx)
        tx.commit_ts = tx.last_op_ts + 1
        return reason

    return planted


def from_the_start(method: Any) -> Callable[..., Any]:
    def planted(self: Any, op: str, begin: Any) -> Any:
        found = method(self, op, begin)
        return None if found is None else timestamp(begin.as_of_ms)

    return planted


def without_patience(method: Any) -> Callable[..., Any]:
    async def planted(self: Any, *given: Any) -> Any:
        return await method(self, *given[:-1], 0)

    return planted


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    "writes a limit that is reached": (HybridClock, "_raise_limit", limit_at_last, "clock"),
    "sets the columns of another schema": (client, "set_places", first_places, "client"),
    "turns rows round": (client, "encoded", turned_round, "client"),
    "commits at its last operation": (
        TransactionCompletion,
        "_fix_commit_ts",
        behind_the_last_operation,
        "partition",
    ),
    "keeps no token": (client.Client, "_keep_token", nothing, "client"),
    "reads in another past": (client.Client, "chosen_ts", from_the_start, "client"),
    "waits for no roll-back": (client.Client, "_given_up", without_patience, "client"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert first_part(monkeypatch) == part
