"""The share of runs with too much skew that are broken: its upper end, broken runs or none."""

from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.analysis.tune import document


def most(broken: int, runs: int) -> float:
    figures = SimpleNamespace(
        rows=[None] * runs,
        breaches=lambda invariant: broken if invariant == document.ATOMICITY else 0,
        point=lambda _goal: 0.0,
        broken=dict,
    )
    advice: Any = SimpleNamespace(
        skewed={1.5: figures},
        recommended=SimpleNamespace(cs_max=7),
        request=SimpleNamespace(world=SimpleNamespace(far_apart=("n1", "n2"))),
    )
    found: float = document._skew(advice, 1.5)["atomicity_broken_most"]
    return found


@pytest.mark.parametrize(
    ("broken", "runs", "wanted"), [(0, 10, 0.259), (1, 10, 0.404), (5, 10, 0.763), (10, 10, 1.0)]
)
def test_the_upper_end_is_of_the_share_that_was_seen(broken: int, runs: int, wanted: float) -> None:
    assert most(broken, runs) == pytest.approx(wanted, abs=0.001)
