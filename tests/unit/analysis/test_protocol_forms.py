"""Which closed forms a design of the Ignite plane has, by its rules."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ddlsim.analysis import plot_atomicity, plot_delay
from ddlsim.analysis.compare.compare import worlds
from ddlsim.analysis.figures.drawing import canvas
from ddlsim.analysis.formula import protocol_forms
from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.analysis.formula.protocol_forms import Crossing, Deadly, Used

NONE, SOME, EVERY = Deadly.NONE, Deadly.INCOMPATIBLE, Deadly.EVERY
OPTION_3 = Crossing((EVERY, EVERY), (SOME, SOME))


def world(design: str, **keys: object) -> Forms:
    return Forms(worlds([design], None, dict(keys))[0][0].scenario)


@pytest.mark.parametrize(
    ("design", "form"),
    [
        ("iep", OPTION_3),
        ("b7_off", OPTION_3),
        ("b5_begin", OPTION_3),
        ("b5_begin_or_create", OPTION_3),
        ("b15_exact", Crossing((EVERY, EVERY), (EVERY, EVERY))),
        ("iep_closed", Crossing((EVERY, EVERY), (SOME, EVERY))),
        ("b1_opt1", Crossing((SOME, SOME), (SOME, SOME), late=True)),
        ("b2_opt2", Crossing((SOME, SOME), (SOME, SOME), go_on=True)),
        ("b11_compat_ops", Crossing((SOME, SOME), (SOME, SOME), go_on=True)),
        ("ignite3", Crossing((EVERY, EVERY), (NONE, SOME), rows=True, shipped=True)),
        ("a0_on_receipt", None),
        ("a3_barrier", None),
        ("a4_on_receipt", None),
        ("b3_no_commit_check", None),
        ("b9_coordinator_retry", None),
        ("b12_two_step", None),
        ("b13_alias", None),
        ("b16_mdl", None),
        ("ignite_index", None),
    ],
)
def test_the_form_of_aborts(design: str, form: Crossing | None) -> None:
    assert protocol_forms.crossing(world(design).design.rules) == form


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("resolve_schema", "what_is_known"),
        ("install", "install_once_unused"),
        ("enlist", "plug_in.of_its_own"),
        ("base_ts", "plug_in.of_its_own"),
        ("check_operation", "same_table_version"),
        ("check_operation", "plug_in.of_its_own"),
        ("check_commit", "commit_anyway"),
        ("check_exists", "plug_in.of_its_own"),
        ("enlists_again", "coordinator_retry"),
        ("commit_schema", "plug_in.of_its_own"),
        ("rename", "alias"),
        ("drain", "older_have_ended"),
    ],
)
def test_another_rule_has_no_form(field: str, rule: str) -> None:
    rules = world("iep").design.rules
    assert protocol_forms.crossing({**rules, field: rule}) is None


def test_options_that_go_on_as_shipped_have_no_form() -> None:
    rules = world("b1_opt1").design.rules
    shipped = {"check_operation": "same_table_version", "check_commit": "each_step_as_shipped"}
    assert protocol_forms.crossing({**rules, **shipped}) is None
    rules = world("b2_opt2").design.rules
    assert protocol_forms.crossing({**rules, "check_commit": "each_step_as_shipped"}) is None


def test_the_exponent_is_of_each_table() -> None:
    tables = [Used(0.02, 0.01, 100, 50, 0, 270), Used(0.04, 0.0, 10, 1000, 0, 40)]
    shares = protocol_forms.crossed(OPTION_3, tables, 20, 10)
    assert shares == pytest.approx((-math.expm1(-0.29), (5.4 + 0.5 + 1.6) / 20))


def test_what_a_change_ended_was_there_up_to_its_last_operation() -> None:
    tables = [Used(0.02, 0.01, 100, 50, 200, 400)]
    shares = protocol_forms.crossed(OPTION_3, tables, 20, 10)
    assert shares == pytest.approx(((2.0 + 0.5 + 4.0) / 20, (8.0 + 0.5) / 20))
    some = Crossing((SOME, SOME), (SOME, SOME), go_on=True)
    least, most = protocol_forms.crossed(some, tables, 20, 10)
    assert (least, most) == pytest.approx((-math.expm1(-0.15), 4.5 / 20)), "it was before that"
    assert protocol_forms.crossed(OPTION_3, [Used(2.0, 1.0, 1, 0, 0, 9)], 1, 0)[1] == 1.0


def test_what_is_aimed_at_a_change_dies_of_it_if_it_operates_or_commits() -> None:
    assert OPTION_3.dies(0.8, 0.2, 0.5) == pytest.approx(0.2 + 0.5 * 0.6)
    assert Crossing((SOME, SOME), (SOME, SOME)).dies(0.8, 0.2, 0.5) == 0.2
    assert Crossing((EVERY, EVERY), (EVERY, EVERY)).dies(0.8, 0.2, 0.5) == 0.8
    assert Crossing((NONE, NONE), (SOME, SOME)).dies(0.8, 0.2, 0.5) == 0.2


@pytest.mark.parametrize(
    ("design", "slack", "border"),
    [
        ("iep", 60, None),
        ("a4_ack_gate", 60, None),
        ("a0_on_receipt", None, 0),
        ("a4_on_receipt", None, 0),
        ("a1_naive_future", None, 60),
        ("a3_barrier", None, None),
    ],
)
def test_slack_and_border(design: str, slack: int | None, border: int | None) -> None:
    """A barrier is waited for, but not until safe time comes; then nodes never disagree."""
    found = world(design)
    assert (found.slack, found.border) == (slack, border)


@pytest.mark.parametrize(
    ("design", "form", "drawn"),
    [
        ("iep", True, True),
        ("a0_on_receipt", True, True),
        ("b16_mdl", True, False),
        ("a3_barrier", False, False),
        ("a4_ack_gate", False, False),
        ("b12_two_step", False, False),
        ("ignite_index", False, False),
    ],
)
def test_statements_of_one_update_have_a_form(design: str, form: bool, drawn: bool) -> None:
    """The figure shows none of what waits for users; `compare` adds their wait."""
    found = world(design)
    assert (found.ddl_latency() is not None) is form
    assert (plot_delay._statements(found) is not None) is drawn
    assert plot_delay._statements(None) is None


def bordered(design: str) -> tuple[Any, str]:
    """The panel of a design over delays to 80 and skews from -40 to 40, and its sum."""
    panel = canvas(1, 1)[1][0][0]
    panel.set(xlim=(0, 80), ylim=(-40, 40))
    cells: Any = SimpleNamespace(cells=[SimpleNamespace(number=3)])
    told = plot_atomicity._border(panel, cells, {3: world(design)})
    return panel, told


@pytest.mark.parametrize(("design", "total"), [("a0_on_receipt", 0), ("a1_naive_future", 60)])
def test_what_never_waits_has_a_border_across_its_panel(design: str, total: int) -> None:
    panel, told = bordered(design)
    [line] = panel.get_lines()
    assert told == f"{total} ms"
    assert list(np.add(*line.get_data())) == [total, total]
    assert list(line.get_xdata()) == [0, 80]
    assert (panel.get_xlim(), panel.get_ylim()) == ((0, 80), (-40, 40))


def test_a_barrier_has_no_border() -> None:
    panel, told = bordered("a3_barrier")
    assert (len(panel.get_lines()), told) == (0, "")
