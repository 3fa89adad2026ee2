"""What tasks and fences keep, beside a run: a plant in one of them is seen at once."""

import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.store_models.lock_forms import compare_rules
from ddlsim.cluster.store_models.task_forms import compare_kept
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.layer.part import Part
from ddlsim.layer.rules import leases, locks, publishing, reading, waiting
from ddlsim.layer.schema import Schema
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.edits import edited
from tests.support.protocol import settings

MANY_US = 5_000
"""Longer than the report of a mode takes."""


def wraps(change: Callable[..., Any]) -> Callable[[Any], Any]:
    """A plant that is given the method and then its arguments."""
    return lambda method: lambda *given, **named: change(method, *given, **named)


def differences(name: str) -> list[str]:
    """What differs of the rules of a design, and of what its tasks keep."""
    found: list[PartDiverged] = []
    for compare in (compare_rules, compare_kept):
        rules = Models(found.append, Loop()).divergence("rules", "")
        compare(rules, LAYER_DESIGNS.get(name), settings())
    return [one.what for one in found]


def of_the_last(method: Any, self: Schema, number: int, tables: Any) -> int:
    """Of the tables that are used, the last one counts."""
    last: int = method(self, number, list(tables)[-1:])
    return last


async def renews_all(method: Any, layer: Any, transaction: Any, **how: Any) -> None:
    """A lease is renewed, whether it is still there or not."""
    get, name = transaction.get, layer.node.name
    kept = {leases.lease_key(name, one): ends for one, ends in layer.leases.items()}

    async def had(key: Any, **where: Any) -> Any:
        return kept.get(key) or await get(key, **where)

    transaction.get = had
    await method(layer, transaction, **how)


async def sent_blindly(method: Any, layer: Any, transaction: Any, **how: Any) -> None:
    """A lease does not conflict with a later one."""
    transaction.add_read_conflict_key = lambda _: None
    await method(layer, transaction, **how)


async def stays_armed(method: Any, self: Any, watch: Any) -> None:
    """A watch that has fired counts as armed for ever."""
    await method(self, watch)
    self.is_armed = True


async def leaves_its_own(
    method: Any, layer: Any, transaction: Any, *, older: bool, **_: Any
) -> Any:
    """What an earlier incarnation has leased is left until it ends."""
    return await method(layer, transaction, older=older, in_doubt=False)


async def doubts_once(method: Any, layer: Any, transaction: Any, *, older: bool, **_: Any) -> Any:
    """What is leased without an answer is left until it ends."""
    return await method(layer, transaction, older=older, in_doubt=not layer.leases)


async def counts_errors(method: Any, layer: Any) -> Any:
    """A failed read counts as one of the schema that the process has."""
    if layer.cache is not None:
        layer.confirm(layer.cache.schema.number, layer.now_ms())
    return await method(layer)


def of_the_open(method: Any, layer: Any, tx: Any) -> Any:
    """What has its lease for its commit needs none."""
    return None if tx.lease is not None else method(layer, tx)


class Reporter:
    """A part whose mode is another one only once its report is answered."""

    def __init__(self, part: Any) -> None:
        object.__setattr__(self, "part", part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name != "mode" or value != reading.PESSIMISTIC or self.part.mode:
            setattr(self.part, name, value)
        else:
            self.part.node.call_later(MANY_US, setattr, self.part, name, value)


async def reports_first(method: Any, layer: Any, *, fresh: bool) -> None:
    """A mode is switched to behind the answer to its report."""
    await method(Reporter(layer), fresh=fresh)


PLANTS: dict[str, tuple[object, str, Callable[..., Any], str]] = {
    "the last table is compared": (Schema, "same_until", of_the_last, "tidb_lease"),
    "a lease is renewed that was taken": (leases, "_acquire", renews_all, "tidb_mdl"),
    "a lease that is late shortens": (leases, "_acquire", sent_blindly, "crdb"),
    "a watch fires once": (leases.Bell, "_fires", stays_armed, "crdb"),
    "leases of a dead process stay": (leases, "_acquire", leaves_its_own, "tidb_mdl"),
    "leases without an answer stay": (leases, "_acquire", doubts_once, "crdb"),
    "a commit needs no lease": (leases, "needed", of_the_open, "crdb"),
    "an error renews a lease": (waiting, "refreshed_apart", counts_errors, "c6_f1"),
    "a mode is reported first": (waiting, "_follow", reports_first, "c14_modes"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, planted, design = PLANTS[name]
    monkeypatch.setattr(owner, attribute, wraps(planted)(getattr(owner, attribute)))
    assert differences(design)


@pytest.mark.parametrize("name", [*dict.fromkeys(plant[-1] for plant in PLANTS.values())])
def test_nothing_differs_without_a_fault(name: str) -> None:
    assert differences(name) == []


ONCE = """transaction = layer.store.transaction()
    try:
        await cleared(transaction)
        await transaction.commit()
    except FdbError:
        return"""
LOCKS: dict[str, tuple[str, str, str]] = {
    "a lock that is there waits behind what waits for it": (
        "_lock", "(object_id not in tx.locks or await transaction.get(key) is None)", "True",
    ),
    "a lock that is lost overtakes": ("_lock", " or await transaction.get(key) is None", ""),
    "a lock without an answer is none": (
        "_lock", "tx.locks.add(object_id)\n    await transaction.commit()",
        "await transaction.commit()\n    tx.locks.add(object_id)",
    ),
    "a lock comes behind its end": (
        "_lock", "await _release(layer, tx.label, (object_id,))", "pass",
    ),
    "a lock without an answer comes behind its end": (
        "_locked", "release(layer, tx, tx.reason)", "pass",
    ),
    "an end without an answer is one": ("_release", "await run(layer.store, cleared)", ONCE),
    "what is refused stays in the queue": (
        "out_of_the_queue", "layer.node.spawn(_leave(layer, queued))", "pass",
    ),
    "what is refused leaves for another one": ("_leave", "and found[0] == command", "and True"),
    "what is refused tries once": ("_leave", "await run(layer.store, cleared)", ONCE),
    "a place is not known again": (
        "_excluded", "layer.queued = dict.fromkeys(objects, command)", "pass",
    ),
    "an index is too new until another table is used": (
        "_goes_on", "tx.too_new |= {", "tx.too_new = {",
    ),
    "a place is not noted": ("_queue", "layer.queued[object_id] = command", "pass"),
    "what is made leaves once more": (
        "out_of_the_queue", "not any(one.command in queued.values() for one in layer.log.updates)",
        "True",
    ),
}  # fmt: skip
"""Faults in the rules of locks: a function, a text of it and what replaces that."""


@pytest.mark.parametrize("name", LOCKS)
def test_a_fault_in_locks_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, before, after = LOCKS[name]
    monkeypatch.setattr(locks, function, edited(locks, function, before, after))
    planted = dataclasses.replace(
        LAYER_DESIGNS.get("postgresql"), after_statement=locks.out_of_the_queue
    )
    found: list[PartDiverged] = []
    compare_rules(Models(found.append, Loop()).divergence("rules", ""), planted, settings())
    assert found


def test_a_schema_of_the_log_and_not_of_the_read_version_is_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another transaction of the process may have read an update behind the read version."""
    before, after = "layer.schema(min(number, layer.log.number))", "layer.log"
    monkeypatch.setattr(reading, "numbered", edited(reading, "numbered", before, after))
    assert any("before an update" in one for one in differences("c16_safe"))


def test_nothing_differs_of_locks_without_a_fault() -> None:
    assert differences("postgresql") == []


def test_an_open_transaction_that_does_not_commit_yet_keeps_its_lease() -> None:
    """The task has names of its own: it never ends, so a patch of the module would outlive it."""
    names = {**vars(leases), "needed": lambda _, tx: tx.lease}
    of_the_committing = FunctionType(
        leases.give_back_the_older.__code__, names, "give_back_the_older"
    )
    planted = dataclasses.replace(LAYER_DESIGNS.get("crdb"), background=(of_the_committing,))
    found: list[PartDiverged] = []
    compare_kept(Models(found.append, Loop()).divergence("rules", ""), planted, settings())
    (told,) = found
    assert told.what.startswith("the leases with an open one is ")


def test_a_pause_begins_with_the_newest_update_and_not_with_the_last_look_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def since_ms(layer: Part, number: int) -> int:
        looked_ms = layer.confirmed_ms(number - 1)
        return Part.known_since_ms(layer, number) if looked_ms is None else looked_ms

    async def too_early(layer: Any, transaction: Any, schema: Schema) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(layer, "known_since_ms", lambda number: since_ms(layer, number))
            return await publishing.once_leases_have_ended(layer, transaction, schema)

    too_early.__name__ = "once_leases_have_ended"
    planted = dataclasses.replace(LAYER_DESIGNS.get("c6_f1"), pause_before=too_early)
    found: list[PartDiverged] = []
    compare_rules(Models(found.append, Loop()).divergence("rules", ""), planted, settings())
    (told,) = found
    assert told.what.startswith("the pause 0 ms behind an update is ")
