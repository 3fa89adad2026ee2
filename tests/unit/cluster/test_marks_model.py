"""The model of marks: a transaction is bound by the first known update that dooms it, no other."""

from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.cluster.models.design.marks import KnownUpdates
from ddlsim.cluster.models.divergence import Models
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.model.reasons import Reason
from ddlsim.protocol.transaction.marking import Marks
from ddlsim.units import Timestamp
from tests.support.edits import edited

HARMLESS, FATAL, LATER = (Timestamp(at) for at in (10, 20, 30))
"""The activations of three updates of table 7: the first dooms no transaction."""


def doomed(steps: tuple[int, ...]) -> Reason | None:
    return Reason.SCHEMA_INCOMPATIBLE if any(ts >= FATAL for ts in steps) else None


def coordinated() -> Any:
    """A coordinator with one open transaction, that has enlisted version 1 of table 7."""
    enlistment = SimpleNamespace(object_id=7, version=1)
    tx = SimpleNamespace(
        by_id={7: enlistment}, read_ts=None, bound_ts=None, id=SimpleNamespace(label="T")
    )
    catalog = SimpleNamespace(
        steps=lambda _id, _version, ts: tuple(t for t in (HARMLESS, FATAL, LATER) if t <= ts)
    )
    part = SimpleNamespace(
        sync=SimpleNamespace(catalog=catalog),
        strategy=SimpleNamespace(check_commit=doomed),
        transactions={"T": tx},
        node=SimpleNamespace(name="n1"),
    )
    return part, tx, enlistment


@pytest.mark.parametrize(
    ("known", "bound", "differs"),
    [
        ((HARMLESS,), None, False),
        ((HARMLESS, FATAL, LATER), FATAL, False),
        ((HARMLESS, FATAL), None, True),
        ((FATAL, LATER), LATER, True),
        ((HARMLESS,), HARMLESS, True),
        ((), None, False),
    ],
)
def test_a_bound_other_than_the_first_known_end_is_seen(
    known: tuple[Timestamp, ...], bound: Timestamp | None, differs: bool
) -> None:
    found: list[PartDiverged] = []
    updates = KnownUpdates(Models(found.append, Loop()).divergence("rules", "n1"))
    part, tx, _ = coordinated()
    for activation_ts in known:
        updates.given("n1", activation_ts)
    tx.bound_ts = bound
    updates.given("n2", HARMLESS)  # another node's
    updates.compare(part, tx)
    assert bool(found) is differs


@pytest.mark.parametrize("faulty", [False, True])
def test_an_enlistment_that_is_marked_for_the_next_version_alone_is_seen(faulty: bool) -> None:
    """Versions 2 and 3 are known when the transaction enlists version 1."""
    found: list[PartDiverged] = []
    updates = KnownUpdates(Models(found.append, Loop()).divergence("rules", "n1"))
    part, tx, enlistment = coordinated()
    marks: Any = SimpleNamespace(_coordinator=part, strategy=part.strategy)
    marks._is_broken = lambda *given: Marks._is_broken(marks, *given)
    marks._is_doomed = lambda *given: Marks._is_doomed(marks, *given)
    marks.node = SimpleNamespace(probe=lambda _: None, spawn=lambda _: None)
    marks.strategy.on_activated = lambda _part, one: Marks.mark_incompatible(marks, one)
    marks._updates = {
        7: [
            SimpleNamespace(
                activation_ts=ts,
                update=SimpleNamespace(objects=(SimpleNamespace(object_id=7, version=version),)),
            )
            for version, ts in ((2, HARMLESS), (3, FATAL))
        ]
    }
    enlisted: Any = Marks.enlisted
    if faulty:
        before = "change.version > enlistment.version"
        enlisted = edited(Marks, "enlisted", before, "change.version == enlistment.version + 1")
    for activation_ts in (HARMLESS, FATAL):
        updates.given("n1", activation_ts)
    enlisted(marks, tx, enlistment)
    updates.compare(part, tx)
    assert bool(found) is faulty
