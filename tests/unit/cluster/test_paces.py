"""When an update of the schema may come, beside a run: also one of another process's statement."""

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_moments import Moments
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.layer.update import Attempt
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.edits import plant
from tests.support.protocol import settings

pytestmark = pytest.mark.slow

PACES = {
    "c6_f1": ("leases on that before the last one last", 1),
    "crdb": ("there is a lease on an older one", 0),
    "tidb_mdl": ("there is a lease on an older one", 0),
    "c9_future_cv": ("the last one is in force", 0),
}
"""What a design's updates must not come before or within, and a seed by whose draws they do."""


def differences(name: str, seed: int) -> list[str]:
    """What differs of the statements of a design, by draws of a seed."""
    found: list[PartDiverged] = []
    models = Models(found.append, Loop())
    design = LAYER_DESIGNS.get(name)
    Moments(models.divergence("layer", ""), design, settings(), Draws(seed, 6)).compare()
    return [one.what for one in found]


@pytest.mark.parametrize("name", PACES)
def test_a_further_step_waits_for_what_other_statements_demand(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has waited behind its own last step; another process may have made one meanwhile."""
    what, seed = PACES[name]
    assert differences(name, seed) == []
    pause = "await part.design.pause_before(part, transaction, schema)"
    plant(monkeypatch, Attempt, "run", pause, f"Micros(0) if self._job.step else {pause}")
    assert [one for one in differences(name, seed) if one.endswith(what)]
