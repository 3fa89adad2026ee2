"""The transactions of one statement, beside a run: what is lost or forgotten there is seen."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.job_moments import JobMoments
from ddlsim.cluster.store_models.shelf import ShelfTransaction
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.layer import schema_change
from ddlsim.layer.update import Job
from ddlsim.model.ddl import DropIndex
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.protocol import settings


def differences(seed: int) -> list[str]:
    """What differs of the statements of c6_f1."""
    found: list[PartDiverged] = []
    models = Models(found.append, Loop())
    design = LAYER_DESIGNS.get("c6_f1")
    JobMoments(models.divergence("layer", ""), design, settings(), Draws(seed, 6)).compare_jobs()
    return [one.what for one in found]


async def takes_as_erased(self: ShelfTransaction) -> int:
    """An erasure whose outcome is unknown counts as done."""
    try:
        return await commit(self)
    except FdbError as error:
        erases = any(key is None for _, _, key in self.changes)
        if error.code is not ErrorCode.COMMIT_UNKNOWN_RESULT or not erases:
            raise
        return self.shelf.version


def runs_ahead(self: Job, process: str, transaction: Any) -> None:
    """A chunk says that all rows have entries."""
    ahead = self if self.begin is None else self._replace(begin=(*self.begin[:2], 10**9))
    write(ahead, process, transaction)


async def forgets_first(self: Any, job: Job, step: Any, *given: Any) -> Any:
    """A drop is forgotten before its entries are erased."""
    if step.after and isinstance(job.statement, DropIndex):
        await self._forget(job)
    return await entries(self, job, step, *given)


def counts_the_last(*given: Any) -> int | None:
    """A step that takes an index away has ended with its update."""
    last = undone(*given)
    return None if last is None else last + 1


async def goes_on_at_once(self: Any, job: Job, step: Any, *given: Any) -> Any:
    """A step that another incarnation has begun is gone on with without its wait."""
    return await entries(self, job, step._replace(early=step.early or job.resumed), *given)


commit, write = ShelfTransaction.commit, Job.write
entries, undone = schema_change.SchemaChange._entries, schema_change.undone
PLANTS: dict[str, tuple[object, str, Callable[..., Any], int]] = {
    "an erasure of unknown outcome is done": (ShelfTransaction, "commit", takes_as_erased, 0),
    "entries are said to be written": (Job, "write", runs_ahead, 0),
    "a drop is forgotten first": (schema_change.SchemaChange, "_entries", forgets_first, 0),
    "a step is gone on with at once": (schema_change.SchemaChange, "_entries", goes_on_at_once, 0),
    "the last step back has ended": (schema_change, "undone", counts_the_last, 0),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, planted, seed = PLANTS[name]
    monkeypatch.setattr(owner, attribute, planted)
    assert any("entries" in one for one in differences(seed))


def test_nothing_differs_without_a_fault() -> None:
    assert [one for seed in range(2) for one in differences(seed)] == []
