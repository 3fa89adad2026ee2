"""A commit whose outcome is looked up may come just then: what overlooks it there is seen."""

import pytest

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.layer_moments import Moments
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.layer.process import LayerProcess
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.edits import edited
from tests.support.protocol import settings


def differences() -> list[str]:
    found: list[PartDiverged] = []
    layer = Models(found.append, Loop()).divergence("layer", "")
    Moments(layer, LAYER_DESIGNS.get("c16_safe"), settings(), Draws(0, 6)).compare()
    return [one.what for one in found]


@pytest.mark.parametrize("faulty", [False, True])
def test_an_outcome_that_is_looked_up_without_a_conflict_is_seen(
    faulty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would count as aborted, and have committed."""
    if faulty:
        fault = edited(
            LayerProcess, "_outcome", "again.get(place)", "again.get(place, snapshot=True)"
        )
        monkeypatch.setattr(LayerProcess, "_outcome", fault)
    found = differences()
    assert any("comes while it is looked up" in one for one in found) is faulty
    assert faulty or not found
