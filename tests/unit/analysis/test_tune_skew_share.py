"""The share of runs with too much skew that are broken: its upper end, broken runs or none."""

from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.analysis.tune import document
from ddlsim.strategies.base import STRATEGIES


def skewed(broken: int, runs: int, cs_max: int = 7, strategy: str = "iep") -> dict[str, Any]:
    figures = SimpleNamespace(
        rows=[None] * runs,
        breaches=lambda invariant: broken if invariant == document.ATOMICITY else 0,
        point=lambda _goal: 0.0,
        broken=dict,
    )
    advice: Any = SimpleNamespace(
        skewed={1.5: figures},
        recommended=SimpleNamespace(cs_max=cs_max),
        request=SimpleNamespace(
            world=SimpleNamespace(far_apart=("n1", "n2")), design=STRATEGIES.get(strategy)
        ),
    )
    return document._skew(advice, 1.5)


def most(broken: int, runs: int) -> float:
    found: float = skewed(broken, runs)["atomicity_broken_most"]
    return found


@pytest.mark.parametrize(
    ("broken", "runs", "wanted"), [(0, 10, 0.259), (1, 10, 0.404), (5, 10, 0.763), (10, 10, 1.0)]
)
def test_the_upper_end_is_of_the_share_that_was_seen(broken: int, runs: int, wanted: float) -> None:
    assert most(broken, runs) == pytest.approx(wanted, abs=0.001)


@pytest.mark.parametrize(
    ("cs_max", "strategy", "missed"),
    [(7, "iep", True), (2, "iep", False), (3, "iep", True), (7, "a8_all_acks", None)],
)
def test_own_ddl_is_missed_beyond_csmax_and_the_way_where_a_clock_decides(
    cs_max: int, strategy: str, missed: bool | None
) -> None:
    """The way is two messages of a client, 0.5 ms each; half of CSmax more is 3.5, 1 or 1.5 ms."""
    assert skewed(0, 9, cs_max, strategy)["by_formula_missed"] is missed
