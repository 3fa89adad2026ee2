"""Worlds of the store that are drawn for a fault: a plant in the layer's code, and its judge.

Each seed is that of a small world which convicts; where draws have changed, it is another.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.versions import versions_in
from ddlsim.layer import schema_change
from ddlsim.layer.design import LayerPart, OwnIndex, Step
from ddlsim.layer.execution import Executor
from ddlsim.layer.rules import fences, leases, plans, publishing, waiting
from ddlsim.layer.schema_change import SchemaChange
from ddlsim.layer.transaction import LayerTx
from ddlsim.layer.update import Attempt
from ddlsim.model.ddl import DropIndex
from ddlsim.model.schema import PUBLIC
from ddlsim.plan.aims import leases as aims
from ddlsim.plan.aims import lives
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, Refused
from ddlsim.units import US_PER_MS, Micros
from tests.support.drawn_worlds import drawn_of, kinds

pytestmark = pytest.mark.slow


def until_it_commits(method: Any, layer: LayerPart, tx: LayerTx) -> int | None:
    """A transaction that is committing needs no lease any more."""
    return None if tx.lease is not None else method(layer, tx)


async def from_its_commit(method: Any, layer: LayerPart, *given: Any, **more: Any) -> None:
    """A process counts its lease from the commit; what others read says from the read."""
    known, since_ms = dict(layer.leases), layer.now_ms()
    await method(layer, *given, **more)
    later = versions_in(layer.now_ms() - since_ms, layer.settings.versions_per_second)
    changed = [one for one, ends in layer.leases.items() if known.get(one) != ends]
    layer.leases |= {one: layer.leases[one] + later for one in changed}


def of_a_step_later(method: Any, number: int) -> Any:
    """The key of the step after the next but one conflicts."""
    return method(number + 1)


def by_no_fast_clock(_method: Any, layer: LayerPart) -> Micros:
    """The wait for leases allows for a slow holder alone."""
    percent = publishing.WHOLE + layer.design.drift_percent
    return Micros(layer.design.lease_ms * US_PER_MS * percent // publishing.WHOLE + 1)


def gone_at_once(method: Any, statement: Any, *given: Any) -> tuple[Step, ...]:
    """A drop of an index goes from write-only to gone."""
    steps: tuple[Step, ...] = method(statement, *given)
    return (steps[0], steps[-1]) if isinstance(statement, DropIndex) else steps


def delete_only_at_once(method: Any, statement: Any, *given: Any) -> tuple[Step, ...]:
    """A drop of an index goes from public to delete-only."""
    steps: tuple[Step, ...] = method(statement, *given)
    if not isinstance(statement, DropIndex):
        return steps

    def building(snapshot: Snapshot, own: OwnIndex | None) -> Any:
        table = snapshot.index_owner(statement.name)
        if own is not None or table is None:
            return plans.setting(plans.DELETE_ONLY, plans.DROPPED)(snapshot, own)
        index = next(one for one in table.indexes if one.name == statement.name)
        built = plans.lowered(statement)(snapshot, own)
        if not isinstance(built, Built):
            return built
        return Built((plans.set_to(table, index, plans.DELETE_ONLY),))

    return (Step(building), steps[-1])


async def once_it_is_public(method: Any, self: Executor, tx: LayerTx, entry: Any, key: Any) -> bool:
    """A unique index demands nothing until it is public."""
    return entry[0].state == PUBLIC and await method(self, tx, entry, key)


async def without_conflict(method: Any, *given: Any) -> int:
    """A chunk of a backfill reads the head, and does not conflict with schema changes."""
    return int(await method(*given, snapshot=True))


async def undrained(
    method: Any, self: SchemaChange, job: Any, step: Step, update: Any
) -> Refused | None:
    """The drain behind a switch is left out where nothing is erased or filled behind it."""
    if step.after:
        refused: Refused | None = await method(self, job, step, update)
        return refused
    await waiting.in_force(self.part, update, step)
    return None


async def void_if_unknown(method: Any, self: Attempt) -> Any:
    """An attempt of a statement whose result is unknown counts as lost."""
    try:
        return await method(self)
    except FdbError as error:
        if error.code is not ErrorCode.COMMIT_UNKNOWN_RESULT:
            raise
        raise FdbError(ErrorCode.NOT_COMMITTED) from None


Plant = tuple[object, str, Callable[..., Any], str, str, object, int, str]
LIVES = "lives of an index, disturbed"
AMID, LEASED = "old lease, amid what", "schema on its way"
A_ROW, A_LEASE = aims.AMID
PLANTS: list[Plant] = [
    (leases, "needed", until_it_commits, "crdb", AMID, A_ROW, 47, "outside-window"),
    (leases, "_acquire", from_its_commit, "tidb_mdl", AMID, A_LEASE, 117, "outside-window"),
    (fences, "step_key", of_a_step_later, "c5_lease", LEASED, "commits late", 1, "outside-window"),
    (plans, "_states", gone_at_once, "c6_f1", LEASED, aims.DROPS, 32, "orphan-entry"),
    (
        publishing,
        "longest_lease_us",
        by_no_fast_clock,
        "c5_lease",
        LEASED,
        aims.APART,
        82,
        "outside-window",
    ),
    (plans, "_states", delete_only_at_once, "c6_f1", LIVES, lives.FINDS, 58, "row-not-found"),
    (
        Executor,
        "is_taken",
        once_it_is_public,
        "c6_f1",
        LIVES,
        lives.UNIQUE,
        48,
        "unique-violated",
    ),
    (
        Attempt,
        "run",
        void_if_unknown,
        "c1_schema",
        "statements in doubt",
        "on",
        33,
        "failed-but-logged",
    ),
    (
        SchemaChange,
        "_entries",
        undrained,
        "c10_two_cutoffs",
        "switches near",
        "on",
        33,
        "orphan-entry",
    ),
    (
        schema_change,
        "head_of",
        without_conflict,
        "record_layer",
        LIVES,
        lives.CHUNK,
        35,
        "orphan-entry",
    ),
]


@pytest.mark.parametrize(
    ("owner", "attribute", "planted", "design", "knob", "value", "seed", "kind"),
    PLANTS,
    ids=[f"{one[3]}-{one[4]}-{one[2].__name__}" for one in PLANTS],
)
def test_a_world_shows_the_fault_that_it_is_drawn_for(
    owner: object,
    attribute: str,
    planted: Callable[..., Any],
    design: str,
    knob: str,
    value: object,
    seed: int,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drawn_of(seed, design).knobs[knob] == value
    assert kinds(design, seed) == set()
    own = getattr(owner, attribute)
    monkeypatch.setattr(owner, attribute, lambda *given, **more: planted(own, *given, **more))
    assert kind in kinds(design, seed)
