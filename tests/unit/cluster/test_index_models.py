"""The models of index builds: they agree with the design, and see faults that are planted in it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.index_build.index_forms import compare_forms
from ddlsim.cluster.models.index_build.index_statements import CASES, compare_statements
from ddlsim.cluster.run import run
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.protocol.design import index_rules
from ddlsim.protocol.index_build import backfill
from ddlsim.protocol.index_build.backfill import Backfill
from ddlsim.protocol.index_build.index_states import IndexStates, Told
from ddlsim.protocol.schema import index_states
from ddlsim.protocol.transaction import index_entries, replica
from ddlsim.protocol.transaction.index_entries import EntryWriter
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.strategies.base import STRATEGIES
from tests.support.edits import plant
from tests.support.kept_worlds import part_of, stop_at_differences

pytestmark = pytest.mark.slow

BUILDS = STRATEGIES.get("ignite_index")
SEEDS = (21, 24)
"""Worlds in which indexes are built in several steps and removed, of tables with replicas."""


def world(seed: int) -> Any:
    source = swarm.Source(None, "", {"strategy.name": "ignite_index"})
    return plan(swarm.scenario(source, seed), seed, models=True)


def beside() -> list[PartDiverged]:
    """What the samples differ in."""
    found: list[PartDiverged] = []
    models = Models(found.append, Loop())
    compare_forms(models.divergence("index questions", "n1"), BUILDS)
    compare_statements(models.divergence("index statements", "n1"), BUILDS)
    return found


def test_the_design_agrees_with_its_models() -> None:
    assert beside() == []
    for seed in SEEDS:
        assert run(world(seed)).of(PartDiverged) == []


def test_statements_meet_an_index_in_every_state() -> None:
    assert {"absent", "registered", "building", "available", "stopping"} <= {
        one.begins for one in CASES
    }
    assert any(one.loses for one in CASES)


# --- faults in samples ----------------------------------------------------------------------------


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_given, **_named: value


async def at_once(*_given: Any) -> None:
    return


def against_its_own(self: EntryWriter, request: Any, local: Any, table: Any) -> Any:
    own = index_entries.own_intent(local, request.tx, request.key)
    newest = own or local.machine.newest(request.key)
    return None if newest is None else self.shown(table, (newest.version, newest.row))


ANSWERS: dict[str, tuple[Any, str, Any]] = {
    "every index was available": (index_rules, "had_state", returning(True)),
    "no index was available": (index_rules, "had_state", returning(False)),
    "a stopping index is removed at once": (index_rules, "_is_stopping", returning(False)),
    "no statement waits for an index": (index_rules, "_has_next", returning(False)),
    "no statement waits for one that stops": (index_rules, "_not_stopping", at_once),
    "the first step is the last": (index_rules, "_is_last", returning(True)),
    "no build is crossed": (index_rules, "_built_behind", returning(None)),
    "no index is gone": (index_entries, "is_gone", returning(False)),
    "every row has the values": (index_entries, "has_values", returning(True)),
    "no index answers": (index_entries, "asked_index", returning(None)),
    "a write is made against no row": (EntryWriter, "_committed", returning(None)),
    "a write is made against one of its own": (EntryWriter, "_committed", against_its_own),
    "own writes are not seen": (index_entries, "own_intent", returning(None)),
    "no index is there": (index_states, "index_of", returning(None)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_wrong_answer_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, function, fault = ANSWERS[name]
    monkeypatch.setattr(owner, function, fault)
    assert beside() != []


ASKED = "now = self.sync.catalog.at(self.node.clock.current())"
BY_WHAT = {
    "its own schema": "now = SimpleNamespace(by_id=lambda _: table)",
    "the newest schema": "now = self.sync.catalog.latest()",
    "the schema at op_ts": "now = self.sync.catalog.at(op_ts)",
}
"""What a query goes by, and a primary's look-up then."""


@pytest.mark.parametrize("name", BY_WHAT)
def test_a_query_that_goes_by_another_schema_than_the_present_one_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "SimpleNamespace", SimpleNamespace, raising=False)
    plant(monkeypatch, replica.Replica, "_execute", ASKED, BY_WHAT[name])
    assert beside() != []


IN_THE_PAST = {
    "no index is erased": (
        "is_erased = wanted.index_id in machine.index.erased",
        "is_erased = False",
    ),
    "the entries of now": (", request.read_ts)\n    others", ")\n    others"),
    "no row with an intent": ("list(machine.intents)", "()"),
}
"""What a reader of the past goes by."""


@pytest.mark.parametrize("name", IN_THE_PAST)
def test_a_reader_that_does_not_find_the_rows_of_then_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, Readers, "_found", *IN_THE_PAST[name])
    assert beside() != []


# --- faults in runs -------------------------------------------------------------------------------


async def goes_on(*_given: Any) -> bool:
    return True


def all_filled(self: IndexStates, _sender: str, _request: Any) -> Told:
    return Told(self.node.clock.now(), yes=True)


async def none_open(self: IndexStates, _sender: str, _request: Any) -> Told:
    return Told(self.node.clock.now(), yes=False)


def one_place(method: Any, self: Backfill, table_id: int) -> Any:
    return method(self, table_id)[:1]


def ends_at_once(_method: Any, *_given: Any) -> Any:
    return at_once()


RUNS: dict[str, tuple[Any, str, Any, str]] = {
    "states go on without a reason": (IndexStates, "_may_end", goes_on, "index states"),
    "every partition is filled": (IndexStates, "_on_is_filled", all_filled, "index states"),
    "no transaction is open": (IndexStates, "_on_are_older_open", none_open, "index states"),
    "no state is ended": (IndexStates, "_next", ends_at_once, "index states"),
    "one partition is filled": (Backfill, "_held", one_place, "backfill"),
    "every node is primary": (Backfill, "_is_primary", returning(True), "backfill"),
    "nothing is erased": (Backfill, "_erase", ends_at_once, "backfill"),
    "steps come without a pause": (backfill, "US_PER_MS", 0, "backfill"),
}
WITH_THE_METHOD = (one_place, ends_at_once)


@pytest.mark.parametrize("name", RUNS)
def test_a_fault_in_a_run_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = RUNS[name]
    if fault in WITH_THE_METHOD:
        fault = partial_of(fault, getattr(owner, method))
    monkeypatch.setattr(owner, method, fault)
    stop_at_differences(monkeypatch)
    assert part in {part_of(world(seed)) for seed in SEEDS}


def partial_of(fault: Any, method: Any) -> Callable[..., Any]:
    return lambda *given: fault(method, *given)
