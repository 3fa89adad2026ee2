"""The model of constraints on rows: faults planted in the scenarios of these rows are seen."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.world_events import PartDiverged
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.transaction import client, conditional, replica, row_constraints
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.row_constraints import RowConstraints
from ddlsim.scenario.load import load
from tests.support.edits import edited

pytestmark = pytest.mark.slow

UNIQUE, CHECKS, NULLS = "iep110/unique_rows", "iep110/check_rows", "iep110/null_rows"
WRITES, CREATED = "transactions/conditional_writes", "iep110/table_created"


@cache
def planned(scenario: str) -> Plan:
    return plan(load(scenario), 0, models=True)


def parts_of(scenario: str) -> set[str]:
    """The parts that differ from their models in a shipped scenario."""
    return {one.part for one in run(planned(scenario)).of(PartDiverged)}


@pytest.mark.parametrize("scenario", [UNIQUE, CHECKS, NULLS, WRITES])
def test_rows_obey_the_constraints_that_the_model_knows(scenario: str) -> None:
    assert parts_of(scenario) == set()


def nothing(answer: Any) -> Callable[[Any], Callable[..., Any]]:
    return lambda _method: lambda *_given: answer


def refuse(_method: Any) -> Callable[..., Any]:
    def planted(self: Any, _request: Any, _local: Any, op_ts: Any, _table: Any) -> Operated:
        return Operated(self.node.clock.now(), op_ts, Reason.CHECK_VIOLATED)

    return planted


def by_one_more_name(method: Any) -> Callable[..., Any]:
    """What a row enters, each time by another name: a number's text, and the number."""
    turns = iter(range(1_000_000))

    def planted(table: Table, row: Any) -> Any:
        if next(turns) % 2:
            return method(table, row)
        cells = tuple((one, str(value) if value is not None else None) for one, value in row)
        return method(table, cells)

    return planted


def with_a_default(method: Any) -> Callable[..., Any]:
    def planted(request: Any, table: Table, row: Any) -> Any:
        shown = {column.id: column.default for column in table.columns}
        return method(request, table, shown)

    return planted


def ask_no_other(method: Any) -> Callable[..., Any]:
    async def planted(
        self: Any, tx: Any, request: Any, enlistment: Any, _partitions: Any, lookups: Any
    ) -> Any:
        return await method(self, tx, request, enlistment, [], lookups)

    return planted


def always_write(method: Any) -> Callable[..., Any]:
    def planted(*given: Any) -> Any:
        answer = method(*given)
        return (
            Operated(answer.sent_ts, answer.op_ts, None, done=True) if not answer.done else answer
        )

    return planted


PLANTED: dict[str, tuple[str, Any, str, Callable[[Any], Any], str]] = {
    "keeps no CHECK": (CHECKS, row_constraints, "violated_check", nothing(None), "constraints"),
    "keeps no NOT NULL": (NULLS, RowConstraints, "lacks_value", nothing(False), "constraints"),
    "finds no equal row": (UNIQUE, RowConstraints, "_equal_row", nothing(None), "constraints"),
    "refuses what obeys": (CHECKS, RowConstraints, "refusal", refuse, "constraints"),
    "locks no value": (UNIQUE, RowConstraints, "locks_wanted", nothing(()), "constraints"),
    "looks nothing up": (UNIQUE, RowConstraints, "needed_elsewhere", nothing(()), "constraints"),
    "leaves a partition out": (UNIQUE, Coordinator, "_looked_up", ask_no_other, "constraints"),
    "keeps a default": (WRITES, conditional, "updated_row", with_a_default, "constraints"),
    "writes whatever is there": (WRITES, replica, "execute", always_write, "operations"),
    "fills in what does not fit": (CREATED, client, "filled", nothing("no number"), "client"),
    "encodes no value": (WRITES, client, "holds", nothing(False), "client"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert part in parts_of(scenario)


def test_two_names_of_one_value_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = by_one_more_name(row_constraints.index_keys)
    monkeypatch.setattr(row_constraints, "index_keys", fault)
    assert "constraints" in parts_of(UNIQUE)


INTENTS = {
    "a row that an intent replaces": (
        RowConstraints, "blocking_intent", "rows.append((newest.version, newest.row))", "pass",
    ),
    "an intent's own row": (
        RowConstraints, "blocking_intent", "rows = [(intent.version, intent.row)]", "rows = []",
    ),
    "a write in one phase under the version before": (
        row_constraints, "_open_writes", "if write.version != table.version:", "if False:",
    ),
    "a write that is not replicated": (
        row_constraints, "_open_writes", "yield from local.pending.items()", "pass",
    ),
}  # fmt: skip
"""What does not block a write of the same values."""


@pytest.mark.parametrize("name", INTENTS)
def test_what_should_block_a_write_of_its_values_is_missed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, function, before, after = INTENTS[name]
    monkeypatch.setattr(owner, function, edited(owner, function, before, after))
    assert "constraints" in parts_of(UNIQUE)
