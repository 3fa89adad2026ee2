"""Cells: all of them, enough for every pair, or a sample; and equal weather for all."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.sweep import grid
from ddlsim.analysis.sweep.rows import Cell
from ddlsim.analysis.sweep.sweep_file import read_sweep
from ddlsim.plan.plan import plan
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from tests.unit.analysis.test_sweep_file import GOOD

SAMPLED = """\
title = "a sample"
scenarios = ["smoke"]
seeds = 1

[parameters]
dd = { path = "protocol.delay_duration_ms", values = "0..500" }
h = { path = "protocol.safe_time_interval_ms", values = "10..1000 log" }
kind = { path = "workload[0].keys", values = [5, 50] }

[sample]
kind = "KIND"
cells = 16
"""


def cells(text: str) -> list[Cell]:
    return grid.cells(read_sweep(text, "s.toml"))


def test_cells_are_the_combinations_that_meet_the_conditions() -> None:
    found = cells(GOOD)
    assert [each.number for each in found] == list(range(len(found)))
    wanted = [(s, d, h) for s in ("iep", "a5_safetime") for d in (0, 50, 100) for h in (25, 50)]
    points = [(each.strategy, each.parameters["dd"], each.parameters["h"]) for each in found]
    assert points == [point for point in wanted if point[1] >= point[2]]


def test_cells_refuses_conditions_that_no_cell_meets() -> None:
    with pytest.raises(ScenarioError, match="no cell meets every condition"):
        cells(GOOD.replace("dd >= h", "dd > 1000"))
    with pytest.raises(ScenarioError, match=r"s\.toml:5: where\[0\]: .* cannot be decided"):
        cells(GOOD.replace("dd >= h", "dd > strategy"))


def test_cells_names_a_cell_that_cannot_be_run() -> None:
    with pytest.raises(ScenarioError, match=r"at least 0.*in the cell .*delay_duration_ms = -5"):
        cells(GOOD.replace('"0..100 step 50"', "[-5]").replace("dd >= h", "dd < h"))
    with pytest.raises(ScenarioError, match="unknown key"):
        cells(GOOD.replace("protocol.safe_time_interval_ms", "protocol.safe_time_ms"))


def test_a_mutant_of_another_plane_is_refused_before_any_run() -> None:
    """Only the plan knows of it; of a sweep that has run cells are read alone."""
    text = GOOD.replace("scenarios =", 'mutants = ["log_answers_early"]\nscenarios =', 1)
    with pytest.raises(ScenarioError, match=r"breaks a rule of plane 'fdb'.*in the cell "):
        cells(text)
    assert grid.cells(read_sweep(text, "s.toml"), try_plans=False)


def test_designs_of_both_planes_are_cells_of_one_scenario() -> None:
    found = cells(GOOD.replace("a5_safetime", "c16_safe"))
    made = [plan(read(each.text, each.name, overrides=each.overrides), 0) for each in found]
    assert [each.strategy for each in made if each.store is None] == ["iep"] * 4
    assert [each.strategy for each in made if each.store is not None] == ["c16_safe"] * 4


def test_the_mutant_none_removes_the_scenarios_mutant() -> None:
    text = GOOD.replace('["smoke"]', '["negative/no_completeness_wait"]')
    text = text.replace('strategies = ["iep", "a5_safetime"]', 'mutants = ["none", "NAME"]')
    found = cells(text.replace("NAME", "no_commit_check").replace('"run.load_ms" = 2_000\n', ""))
    assert {each.mutant for each in found} == {None, "no_commit_check"}
    assert read(found[0].text, "s", overrides=found[0].overrides).mutant is None


@pytest.mark.parametrize("kind", ["sobol", "latin_hypercube"])
def test_a_sample_covers_the_axes_and_is_deterministic(kind: str) -> None:
    text = SAMPLED.replace("KIND", kind)
    found = [each.parameters for each in cells(text)]
    assert found == [each.parameters for each in cells(text)]
    assert found != [each.parameters for each in cells(text + "seed = 1\n")]
    assert len(found) == 16
    thirds = np.histogram([each["dd"] for each in found], bins=4, range=(0, 500))[0]
    assert thirds.tolist() == [4, 4, 4, 4]
    logs = np.histogram([np.log10(each["h"]) for each in found], bins=2, range=(1, 3))[0]
    assert logs.tolist() == [8, 8]
    assert [each["kind"] for each in found].count(5) == 8


def test_points_of_a_sample_that_come_to_the_same_values_are_one_cell() -> None:
    text = SAMPLED.replace("KIND", "latin_hypercube").replace("0..500", "0..5")
    text = text.replace("10..1000 log", "7..7").replace("[5, 50]", "[5]")
    assert sorted(each.parameters["dd"] for each in cells(text)) == [0, 1, 2, 3, 4, 5]


@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(1, 3))
def test_pairwise_covers_every_pair_with_fewer_points(sizes: list[int], rule: int) -> None:
    everything = [p for p in product(*(range(n) for n in sizes)) if (sum(p) * 7) % (rule + 2) != 1]
    if not everything:
        return
    chosen = grid._pairwise(everything)

    def pairs(points: list[tuple[int, ...]]) -> set[tuple[int, int, int, int]]:
        places = range(len(sizes))
        return {(a, b, p[a], p[b]) for p in points for a, b in combinations(places, 2)}

    assert pairs(chosen) == pairs(everything)
    assert set(chosen) <= set(everything)
    assert chosen == sorted(chosen)


def test_pairwise_is_much_smaller() -> None:
    assert len(grid._pairwise(list(product(range(4), repeat=5)))) < 40


def test_a_changed_parameter_leaves_all_other_draws_alone() -> None:
    """Common random numbers: what is drawn for one cell is drawn for all."""
    one, other = (
        plan(read(c.text, c.name, overrides=c.overrides), 3)
        for c in (cells(GOOD)[0], cells(GOOD)[-1])
    )
    assert one.cluster_settings != other.cluster_settings
    assert one.programs == other.programs
    assert one.links == other.links
    assert one.faults == other.faults
    assert [n.clock_offset_us for n in one.nodes] == [n.clock_offset_us for n in other.nodes]
