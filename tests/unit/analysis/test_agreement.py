"""Closed form and simulation, side by side; and a wrong formula is seen to disagree."""

from functools import partial

import numpy as np
import pytest

from ddlsim.analysis.formula import comparison
from ddlsim.analysis.formula.wait_model import Commit, Ends, Grid
from tests.agreement import aborts, aliases, catalogue, freeze, own_ddl, waits
from tests.agreement.base import Line, measured


def off(lines: list[Line]) -> list[str]:
    return [f"{line.cell} {line.figure}: {line}" for line in lines if not line.agrees]


@pytest.mark.parametrize(
    ("low", "high", "agrees"),
    [(0, 1, False), (0, 2, True), (3, 3.5, True), (4, 9, True), (4.1, 9, False), (0, 9, True)],
)
def test_line_agrees_where_interval_and_bracket_overlap(
    low: float, high: float, agrees: bool
) -> None:
    assert Line({}, "x", 0.0, low, high, Ends(2.0, 4.0)).agrees is agrees


@pytest.mark.slow
def test_experiment_1_waits_and_latency() -> None:
    lines = waits.lines(range(4), quick=True, jobs=1)
    assert not off(lines)
    assert {line.figure for line in lines} == {
        "share that waits",
        "mean wait, ms",
        "p99 wait, ms",
        "mean DDL latency, ms",
    }


def test_a_formula_with_another_gap_or_without_the_logs_round_disagrees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = (100, 100, 50, 0)
    (runs,) = measured([waits.world(*cell, waits.LOOKS)], range(8), waits.looked, jobs=1)
    assert not off(waits.of_looks(*cell, runs))

    true_model = waits.model
    monkeypatch.setattr(waits, "model", lambda g, h, p, s, mu: true_model(g, h / 2, p, s, mu))
    assert len(off(waits.of_looks(*cell, runs))) == 3, "H forgotten in part"
    monkeypatch.setattr(waits, "model", true_model)

    def at_once(grid: Grid, voters: object, commands: object) -> Commit:
        return Commit(np.ones_like(grid.times), np.ones_like(grid.times))

    monkeypatch.setattr(comparison, "commit_of", at_once)
    assert len(off(waits.of_looks(*cell, runs))) >= 2, "PD taken for the delay of one message"


@pytest.mark.slow
def test_experiment_3_aborts() -> None:
    lines = aborts.lines(range(3), quick=True, jobs=1)
    assert not off(lines)
    assert {line.cell["design"] for line in lines} == {"option 3, enlist", "option 3, begin"}


def test_the_options_differ_in_the_formula_as_in_the_text() -> None:
    tables = ((0, 10, 110, 150), (0, 60, 100, 150))
    lam, q = 0.002, 0.25
    found = {name: aborts.expected(name, lam, q, tables) for name in aborts.DESIGNS}
    assert found["option 2"] < found["option 3, enlist"] < found["option 3, begin"]
    assert found["option 3, enlist"] < found["exact match"]


def test_experiment_5_own_ddl_under_two_clocks() -> None:
    lines = own_ddl.lines(range(2), quick=True, jobs=1)
    assert not off(lines)
    share = {line.cell["skew_over_cs_max"]: line.simulated for line in lines[:2]}
    assert share == {0.9: 0.0, 1.1: 1.0}, "a step at CSmax + d"


def test_experiment_6_freeze() -> None:
    lines = freeze.lines(range(5), quick=True, jobs=1)
    assert not off(lines)
    frozen = {line.cell["outage_ms"]: line.simulated for line in lines[::2]}
    assert frozen[250] == pytest.approx(250 + 5 - 50 + 50, abs=60)


def test_b13_transactions_that_outlive_an_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a window that is counted from the message, not from the activation, disagrees."""
    assert not off(aliases.lines(range(4), quick=True, jobs=1))
    (runs,) = measured([partial(aliases.world, 100)], range(6), aliases.crossed, jobs=1)
    assert not off([aliases.line_of(100, runs)])
    assert off([aliases.line_of(100 - aliases.DD_MS, runs)])
    true_form = catalogue.outlives_alias
    monkeypatch.setattr(catalogue, "outlives_alias", lambda a, m: true_form(a, 2 * m))
    assert off([aliases.line_of(100, runs)])
