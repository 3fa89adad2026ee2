"""Beside a run of the store: no step differs from the models; what is planted does."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models import beside_runs
from ddlsim.cluster.store_models.beside_runs import walk_beside
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_moments import Moments
from ddlsim.cluster.store_models.layer_walk import NUMBERS, LayerWalk
from ddlsim.cluster.store_models.lock_forms import compare_rules
from ddlsim.cluster.store_models.shelf import ShelfTransaction
from ddlsim.cluster.store_models.task_forms import compare_tasks
from ddlsim.fdb import config, keys, watches
from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.connection import Connection
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.local_state import LocalState
from ddlsim.fdb.log import Log
from ddlsim.fdb.membership import Chain, Process
from ddlsim.fdb.messages import Peeked
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.store import Store
from ddlsim.fdb.transaction import Transaction
from ddlsim.fdb.writes import Writes
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop, SimulationCrashed
from ddlsim.layer import backfill, process, schema_change, update
from ddlsim.layer.client import LayerClient
from ddlsim.layer.execution import Executor
from ddlsim.layer.keyspace import INDEXES, JOBS, MODE, entries_of
from ddlsim.layer.rules import fences, leases, locks, plans, reading, waiting
from ddlsim.layer.rules.reading import newest_of
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ops import Begin
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.protocol import settings

pytestmark = pytest.mark.slow

SEEDS = 4


def differences(name: str, seeds: Iterable[int]) -> list[PartDiverged]:
    """What differs beside some runs of a design; a walk that crashes ends there."""
    found: list[PartDiverged] = []
    for seed in seeds:
        models = Models(found.append, Loop())
        try:
            walk_beside(models, LAYER_DESIGNS.get(name), settings(), seed)
        except (SimulationCrashed, AssertionError, KeyError, ValueError):
            found.append(PartDiverged(0, "", "crash", ""))
    return found


@pytest.mark.parametrize("name", list(LAYER_DESIGNS))
def test_nothing_differs_without_a_fault(name: str) -> None:
    assert differences(name, range(2)) == []


def test_a_design_with_other_rules_has_no_walk_of_its_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked: list[str] = []
    for kind in (LayerWalk, Moments):
        made = partial(_Nothing, walked, kind.__name__)
        monkeypatch.setattr(beside_runs, kind.__name__, made)
    own, models = LAYER_DESIGNS.get("c16_safe"), Models(lambda _: None, Loop())
    other = own.with_rules({"fence": LAYER_DESIGNS.get("c1_schema").fence})
    walk_beside(models, other, settings(), 0)
    assert walked == []
    walk_beside(models, own.with_rules({"copies": 7}), settings(), 0)
    assert walked == ["LayerWalk", "Moments"]


class _Nothing:
    def __init__(self, walked: list[str], name: str, *_: object) -> None:
        walked.append(name)

    def take(self) -> None:
        """Nothing is walked."""

    compare = take


def apart() -> Divergence:
    """Differences that nothing records."""
    return Models(lambda _: None, Loop()).divergence("layer", "")


def test_a_walk_makes_and_drops_indexes_and_tables_and_goes_on_with_what_had_begun() -> None:
    own = LAYER_DESIGNS.get("c16_states")
    walks = [LayerWalk(apart(), own, settings(), Draws(seed, 5)) for seed in range(SEEDS)]
    for walk in walks:
        walk.take()
    assert {index for walk in walks for table in walk.tables.values() for index in table.indexes}
    assert any("u" not in walk.tables for walk in walks)
    moments = Moments(apart(), own, settings(), Draws(0, 6))
    moments.compare()
    machine: Any = moments.processes[0].node
    assert machine.probes["statement-resumed"] == 1


def wraps(change: Callable[..., Any]) -> Callable[[Any], Any]:
    """A plant that is given the method and then its arguments."""
    return lambda method: lambda *given, **named: change(method, *given, **named)


def has_one(method: Any, self: config.Parts, begin: bytes, _end: bytes) -> Any:
    return method(self, begin, begin)


async def asks_twice(method: Any, layer: Any, tx: Any, **named: Any) -> Any:
    await reading.head_of(layer, tx.store)
    return await method(layer, tx, **named)


def drops_the_value(method: Any, self: Store, *given: Any) -> Any:
    keys_taken_back = method(self, *given)
    for key in keys_taken_back:
        self._recent.pop(key, None)
    return keys_taken_back


def reads_ranges_alone(method: Any, self: ConflictWindow, reads: Any, since: int) -> Any:
    return method(self, tuple(one for one in reads if not isinstance(one, bytes)), since)


def forgets_the_sum(method: Any, self: Writes, key: bytes, delta: Any) -> None:
    self._values.pop(key, None)
    method(self, key, delta)


def conflicts_with_nothing(method: Any, self: Transaction) -> None:
    """No key of its own."""


def passes_the_time(_method: Any, _self: Transaction) -> None:
    """Its time is never over."""


def wakes_nothing(_method: Any, self: watches.Watch) -> None:
    self.cancel()


def rows_stay(_method: Any, transaction: Any, work: Any) -> None:
    for index_id in work.erased:
        transaction.clear_range(*entries_of(index_id))


async def one_step(method: Any, self: Any, job: Any, steps: Any) -> Any:
    return await method(self, job, steps[:1])


async def waits_for_no_other(_method: Any, self: Any, job: Any) -> Any:
    self.under_way[job.op] = None
    refused = await self._statement(job)
    del self.under_way[job.op]
    return refused


async def never_looks(_method: Any, _self: Any, _tx: Any) -> None:
    """The outcome of a transaction is not looked up."""


async def fills_no_row(_method: Any, *_: Any) -> Any:
    return backfill.Filled(None)


def uses_the_old(_method: Any, tx: Any, schema: Any, _request: Any) -> None:
    tx.used = newest_of(schema.until(3))


def any_lease(_method: Any, layer: Any, _tx: Any) -> int | None:
    return max(layer.leases, default=None)


async def stands_nowhere(_method: Any, *_: Any) -> None:
    """No place in the queue."""


def asks_the_first(_method: Any, _self: Connection, names: tuple[str, ...]) -> str:
    return names[0]


def avoids_none(_method: Any, _self: Connection, _name: str) -> None:
    """Every process is asked in its turn."""


async def answers_at_once(_method: Any, self: Log, *_: Any) -> Peeked:
    return Peeked((), self.last, 0)


async def waits_for_none(_method: Any, *_: Any) -> None:
    """A batch is written whatever is missing before it."""


def only_reads(method: Any, self: LayerClient, *given: Any, **named: Any) -> Any:
    return method(self, *given[:4], Begin(read_only=True), **named)


def lasts_for_ever(_method: Any, layer: Any, number: int | None) -> bool:
    return number is not None and layer.confirmed_ms(number) is not None


def takes_any(_method: Any, self: Log, sender: str, request: Any) -> Any:
    return Process.recruit(self, sender, request)


async def forgets_its_commits(method: Any, self: Connection, *given: Any) -> Any:
    kept = self._cache, dict(self._metadata)
    outcome = await method(self, *given)
    self._cache, self._metadata = kept
    return outcome


def keeps_the_first(method: Any, self: Connection, version: Any, taken_ms: int) -> None:
    if self._cache is None:
        method(self, version, taken_ms)


def takes_one_key(method: Any, self: LocalState, change: Any) -> Any:
    return method(self, replace(change, mutations=change.mutations[:1]))


async def is_never_ahead(_method: Any, *_: Any) -> bool:
    return True


def sends_all_to_each(_method: Any, _self: Proxy, one: Any, *_: Any) -> Any:
    return one


def has_no_states(_method: Any, statement: Any, _states: Any) -> Any:
    return plans.direct(statement)


def writes_nothing(_method: Any, *_: Any) -> None:
    """How far a statement is, is not written."""


async def undoes_without_a_wait(method: Any, self: schema_change.SchemaChange, *given: Any) -> None:
    async def settles_at_once(*_: object) -> None:
        """What is undone counts at once."""

    design = self.part.design
    self.part.design = dataclasses.replace(design, settle=settles_at_once)
    await method(self, *given)
    self.part.design = design


async def takes_one_away(_method: Any, layer: Any, *, needs: bool) -> None:
    """Each attempt adds a name or takes one away, whosever."""
    committed = False
    while not committed:
        transaction = layer.store.transaction()
        number, names = await waiting._mode(transaction)
        transaction.set(MODE, (number + 1, (*names, layer.node.name) if needs else names[1:]))
        try:
            await transaction.commit()
            committed = True
        except FdbError as error:
            await transaction.on_error(error)


def keeps_what_is_not_recorded(method: Any, self: LayerTx, reason: Any) -> None:
    made = self.unrecorded
    method(self, reason)
    self.unrecorded = made


def ends_without_a_word(method: Any, self: LayerTx, reason: Any) -> None:
    if "." not in self.label:
        method(self, reason)


def forgets_what_has_begun(method: Any, *given: Any, **named: Any) -> Any:
    return method(*given, **{**named, "has_begun": False})


async def counts_as_done(
    method: Any, self: schema_change.SchemaChange, job: Any, steps: Any
) -> Any:
    done = await method(self, job, steps)
    made = [one for one in self.part.log.updates if one.op == job.op]
    return made[-1] if made and not isinstance(done, update.Known) else done


def names_no_table(method: Any, self: LayerTx, version: int) -> None:
    if "." not in self.label and "/" in self.label:
        self.tables.clear()
    method(self, version)


def says_nothing(method: Any, self: update.Job, *given: Any) -> None:
    if self.begin is None:
        method(self, *given)


def begins_anew(method: Any, self: schema_change.SchemaChange, job: Any, steps: Any) -> Any:
    return method(self, job._replace(begin=None), steps)


async def goes_on_refused(method: Any, self: process.LayerProcess, tx: Any, request: Any) -> Any:
    admit = self.design.admit

    async def admits(*given: Any) -> None:
        await admit(*given)

    self.design = dataclasses.replace(self.design, admit=admits)
    done = await method(self, tx, request)
    self.design = dataclasses.replace(self.design, admit=admit)
    return done


def took_no_time(method: Any, self: process.LayerProcess, *given: Any) -> None:
    method(self, *given[:-1], 0)


def looks_at_the_first(method: Any, self: Executor, tx: Any, request: Any, table: Any) -> Any:
    first = dict(list(request.values.items())[:1])
    has_index = any(len(one.columns) > 1 for one in table.indexes)
    return method(self, tx, request if has_index else replace(request, values=first), table)


def marks_none(method: Any, self: LayerTx) -> None:
    """No outcome is written for statements."""
    if "/" not in self.label:
        method(self)


async def takes_as_done(method: Any, self: ShelfTransaction) -> Any:
    """A chunk of a backfill without an answer counts as committed."""
    try:
        return await method(self)
    except FdbError as error:
        spaces = {key[0] for _, _, key in self.changes if key is not None}
        if error.code is not ErrorCode.COMMIT_UNKNOWN_RESULT or not spaces >= {INDEXES, JOBS}:
            raise
        return self.shelf.version


def keeps_its_values(method: Any, self: Transaction) -> None:
    """What was read before an error is not read anew."""
    values = getattr(self, "_values", {})
    method(self)
    self._values = values


async def at_snapshot(method: Any, layer: Any, transaction: Any, **_: Any) -> Any:
    return await method(layer, transaction, snapshot=True)


PLANTS: dict[str, tuple[Any, str, Any, str]] = {
    "entries conflict with no update": (schema_change, "head_of", wraps(at_snapshot), "crdb"),
    "a statement amidst its steps is refused": (
        schema_change.SchemaChange, "_update", wraps(forgets_what_has_begun), "c6_f1"
    ),
    "a lost word counts twice": (waiting, "_push", wraps(takes_one_away), "c14_modes"),
    "a transaction begins behind its end": (
        LayerTx, "aborted", wraps(keeps_what_is_not_recorded), "c16_safe"
    ),
    "all work looks at rows": (
        backfill.Work, "needs_rows", lambda _: property(lambda _: True), "c6_f1"
    ),
    "a lost chunk goes on for ever": (LayerTx, "aborted", wraps(ends_without_a_word), "c6_f1"),
    "what is given up counts as done": (
        schema_change.SchemaChange, "_steps", wraps(counts_as_done), "c6_f1"
    ),
    "a statement looks at no table": (
        LayerTx, "committed", wraps(names_no_table), "c12_at_start"
    ),
    "chunks leave no word": (update.Job, "write", wraps(says_nothing), "c6_f1"),
    "entries of equal numbers stay": (backfill, "pack", lambda _: lambda key: key, "c16_safe"),
    "a step begins with its first row again": (
        schema_change.SchemaChange, "_steps", wraps(begins_anew), "c6_f1"
    ),
    "what is undone counts at once": (
        schema_change.SchemaChange, "_undo", wraps(undoes_without_a_wait), "c6_f1"
    ),
    "a refused operation goes on": (
        process.LayerProcess, "_executed", wraps(goes_on_refused), "c16_safe"
    ),
    "what admits takes no time": (
        process.LayerProcess, "_enlist", wraps(took_no_time), "c16_safe"
    ),
    "a query looks at one value": (Executor, "_find", wraps(looks_at_the_first), "c16_safe"),
    "no statement has an outcome": (LayerTx, "mark_outcome", wraps(marks_none), "c12_at_start"),
    "a roll-back takes all of a key": (Store, "roll_back", wraps(drops_the_value), "c16_safe"),
    "keys do not conflict": (ConflictWindow, "_conflicts", wraps(reads_ranges_alone), "c16_safe"),
    "bytes are packed as text": (keys, "_BYTES", lambda _: 0x02, "c16_safe"),
    "a range has one part": (config.Parts, "over", wraps(has_one), "c16_safe"),
    "an addition replaces": (Writes, "add", wraps(forgets_the_sum), "c16_safe"),
    "no self-conflict": (Transaction, "_self_conflict", wraps(conflicts_with_nothing), "c16_safe"),
    "chunks without an answer are done": (
        ShelfTransaction, "commit", wraps(takes_as_done), "c6_f1"
    ),
    "values outlive an error": (Transaction, "_clear", wraps(keeps_its_values), "c16_safe"),
    "no time limit": (Transaction, "_check", wraps(passes_the_time), "c16_safe"),
    "a watch does not fire": (watches.Watch, "_fire", wraps(wakes_nothing), "c16_safe"),
    "rows of a dropped table stay": (update, "erase", wraps(rows_stay), "c16_safe"),
    "a statement has one step": (
        schema_change.SchemaChange, "_steps", wraps(one_step), "c16_states"
    ),
    "statements do not wait": (
        schema_change.SchemaChange, "_in_turn", wraps(waits_for_no_other), "c6_f1"
    ),
    "outcomes are not looked up": (
        process.LayerProcess, "_outcome", wraps(never_looks), "c16_safe"
    ),
    "an operation is tried for ever": (process, "IMPLICIT_ATTEMPTS", lambda _: 15, "c16_safe"),
    "a backfill fills nothing": (schema_change, "fill", wraps(fills_no_row), "c16_states"),
    "a lease lasts for ever": (fences, "_has_lease", wraps(lasts_for_ever), "c5_lease"),
    "a statement stands in no queue": (locks, "_queue", wraps(stands_nowhere), "postgresql"),
    "a lease without its tables": (leases, "needed", wraps(any_lease), "crdb"),
    "one process is asked alone": (Connection, "_next", wraps(asks_the_first), "c16_safe"),
    "a late process is not passed over": (Connection, "_avoid", wraps(avoids_none), "c16_safe"),
    "a log answers what is ahead of it": (Log, "peek", wraps(answers_at_once), "c16_safe"),
    "batches do not wait": (Chain, "reached", wraps(waits_for_none), "c16_safe"),
    "each transaction reads alone": (LayerClient, "operate", wraps(only_reads), "c16_safe"),
    "no index is too new": (locks, "_indexes", lambda _: lambda _: {}, "postgresql"),
    "the head is read besides the log": (reading, "_whole", wraps(asks_twice), "c1_schema"),
    "an old schema goes on": (locks, "_goes_on", wraps(uses_the_old), "postgresql"),
    "a locked log begins an earlier generation": (Log, "recruit", wraps(takes_any), "c1_schema"),
    "a version is kept for good": (Connection, "_remember", wraps(keeps_the_first), "c1_schema"),
    "own commits are not kept": (
        Connection, "commit", wraps(forgets_its_commits), "c1_schema"
    ),
    "of a change one key is taken": (LocalState, "apply", wraps(takes_one_key), "c1_schema"),
    "batches run ahead": (Proxy, "_is_within_window", wraps(is_never_ahead), "c1_schema"),
    "each resolver has all": (Proxy, "_shares", wraps(sends_all_to_each), "c1_schema"),
    "a statement forgets itself": (update.Job, "write", wraps(writes_nothing), "c16_states"),
    "a CHECK is added at once": (plans, "_adds_check", lambda _: lambda _: False, "c6_f1"),
    "an index is public at once": (plans, "_states", wraps(has_no_states), "c6_f1"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number", "value"),
    [("c6_f1", "drift_percent", 40), ("c10_two_cutoffs", "cutoff_percent", 1_000)],
)
def test_a_walk_waits_as_long_as_steps_take(name: str, number: str, value: int) -> None:
    """Leases that allow for much drift, or late ends of writes, make a statement last longer."""
    models = Models((found := list[PartDiverged]()).append, Loop())
    drawn = LAYER_DESIGNS.get(name).with_rules({number: value})
    walk_beside(models, drawn, settings(), 0)
    assert found == []


def test_a_lease_has_the_time_left_that_its_renewal_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NUMBERS, "renew_percent", 90)
    assert differences("crdb", [0]) == []


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, planted, design = PLANTS[name]
    monkeypatch.setattr(owner, attribute, planted(getattr(owner, attribute)))
    assert any(differences(design, [seed]) for seed in range(3 * SEEDS))


def test_a_task_that_does_not_rest_behind_errors_is_a_difference() -> None:
    async def asks_at_once(layer: Any) -> None:
        for _ in range(6):
            transaction = layer.store.transaction()
            transaction.set(("a",), 1)
            with contextlib.suppress(FdbError):
                await transaction.commit()

    asks_at_once.__name__ = "follow_the_mode"
    own, found = LAYER_DESIGNS.get("c14_modes"), list[PartDiverged]()
    planted = dataclasses.replace(own, background=(asks_at_once,))
    rules = Models(found.append, Loop()).divergence("rules", "")
    compare_tasks(rules, planted, settings())
    assert [one.what for one in found] == [
        "how often follow_the_mode rests behind 3 errors is 0 and should be 3"
    ]


def test_a_refusal_behind_the_end_of_a_lease_that_asks_for_none_is_a_difference() -> None:
    async def asks_for_none(layer: Any, tx: Any) -> Any:
        layer.lease_again = lambda: None
        return await leases.under_a_lease(layer, tx)

    asks_for_none.__name__ = "under_a_lease"
    planted = dataclasses.replace(LAYER_DESIGNS.get("crdb"), fence=asks_for_none)
    rules = Models((found := list[PartDiverged]()).append, Loop()).divergence("rules", "")
    compare_rules(rules, planted, settings())
    assert found
    assert all(one.what.endswith("asks for a lease is 0 and should be 1") for one in found)
