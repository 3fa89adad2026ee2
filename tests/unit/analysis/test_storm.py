"""Goodput and the rate of changes under a storm: over the load, not over the drain behind it."""

from typing import Any

import pytest

from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.analysis.plot_abort_rate import changes_per_ms
from ddlsim.analysis.plot_ddl_storm import goodput
from ddlsim.analysis.sweep.cells import CellsError
from ddlsim.scenario.load import load
from tests.unit.analysis.test_cells import Cell, a_row


def a_cell() -> Cell:
    done: dict[str, Any] = {"committed": 160, "schema_updates": 4}
    return Cell(
        [a_row(0, simulated_us=2_300_000, **done), a_row(1, simulated_us=2_700_000, **done)]
    )


def test_goodput_is_per_second_of_the_load() -> None:
    loaded = Forms(load("smoke", {"run.load_ms": 2_000}))
    assert goodput(a_cell(), loaded).value == pytest.approx(80)
    assert changes_per_ms(a_cell(), loaded) == pytest.approx(0.002)


def test_a_load_without_an_end_lasts_for_the_whole_run() -> None:
    endless = Forms(load("iep98/own_ddl"))
    assert endless.scenario.table.run.load_ms is None
    assert goodput(a_cell(), endless).value == pytest.approx(64)
    assert changes_per_ms(a_cell(), endless) == pytest.approx(0.0016)


def test_without_the_scenario_nothing_says_how_long_the_load_was() -> None:
    with pytest.raises(CellsError, match="needs the scenario"):
        goodput(a_cell(), None)
