"""The model of marks: a transaction is bound by the first known update that dooms it, no other."""

from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.cluster.models.design.marks import KnownUpdates, compare_marks
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


def differences() -> list[PartDiverged]:
    found: list[PartDiverged] = []
    compare_marks(Models(found.append, Loop()).divergence("marks", "n1"))
    return found


FAULTS = {
    "marks for the next version alone": (
        "enlisted", "change.version > enlistment.version",
        "change.version == enlistment.version + 1",
    ),
    "marks readers": ("mark_incompatible", "tx.read_ts is None and ", ""),
    "keeps the last bound": (
        "mark_incompatible", "bound if tx.bound_ts is None else min(bound, tx.bound_ts)", "bound",
    ),
    "keeps the last update": ("watch", "setdefault(change.object_id, []).append(applied)",
        "__setitem__(change.object_id, [applied])"),
}  # fmt: skip


def test_marks_bound_what_enlists_any_version_as_the_model_does() -> None:
    assert differences() == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_marks_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, before, after = FAULTS[name]
    monkeypatch.setattr(Marks, method, edited(Marks, method, before, after))
    assert differences() != []
