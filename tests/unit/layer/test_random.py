"""Random clients and statements on the simulated store, with processes that crash.

Designs that promise it leave no wrong entry and look no schema up wrongly; of those that do not,
some seed shows it.
"""

from typing import Any

import pytest

from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.layer import DROP, INDEX
from tests.support.layer_world import LayerWorld

STATEMENTS = (
    "ALTER TABLE t ADD COLUMN w INT DEFAULT 3",
    INDEX,
    "ALTER TABLE t DROP COLUMN w",
    DROP,
    INDEX,
    "ALTER TABLE t ADD COLUMN x VARCHAR",
)
EXACT = (
    "c1_schema",
    "c1b_version",
    "c3_copies",
    "c3b_versions",
    "c7_ss_local",
    "c11_future_conflict",
    "c12_grv",
    "c14_modes",
    "c16_safe",
    "c16_states",
    "c16_tables",
)
SLOW = {"c6_f1": 350_000, "c10_two_cutoffs": 300_000, "c11_future_conflict": 200_000}
"""The pause between operations of designs whose statements take long, in microseconds."""
DISTANCES = {"c11_future_conflict": 1500, "c10_two_cutoffs": 300}


def ran(name: str, seed: int, crashes: int = 2) -> LayerWorld:
    """A run to its end."""
    numbers: dict[str, Any] = {"chunk_rows": 2}
    if name in DISTANCES:
        numbers["distance_ms"] = DISTANCES[name]
    w = LayerWorld(LAYER_DESIGNS.get(name).with_rules(numbers), seed=seed, window_ms=1000)
    pace_us = SLOW.get(name, 25_000)
    for machine in ("k1", "k2", "k3"):
        w.loop.spawn(w.client(machine, 50, pace_us))
    w.loop.spawn(w.statements("k4", *STATEMENTS))
    for _ in range(crashes):
        w.run(w.dice.randrange(100, 700) * pace_us // 25_000)
        w.end_process(w.dice.choice(w.clients))
    w.run(150_000)
    return w


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_design_is_never_wrong(name: str) -> None:
    w = ran(name, seed=1)
    assert w.answers["ClientCommit Answer"] > 20
    assert w.wrong_entries() == ([], [])
    assert w.misjudged() == []
    assert not any(process.has_open_work for process in w.layers.values())


@pytest.mark.parametrize("name", ["c6_f1", "c10_two_cutoffs"])
def test_two_versions_in_use_leave_no_wrong_entry(name: str) -> None:
    w = ran(name, seed=2)
    assert w.wrong_entries() == ([], [])
    assert w.misjudged() != []


@pytest.mark.parametrize("name", ["c2b_poll", "c12_at_start", "c15_known_bug"])
def test_a_design_with_a_gap_leaves_wrong_entries_in_some_run(name: str) -> None:
    assert any(ran(name, seed, crashes=0).wrong_entries() != ([], []) for seed in range(1, 13))
