"""The form of schema aborts beside runs on the Ignite plane: whose it is, and which is outside."""

from functools import cache

import pytest

from ddlsim.analysis.compare import compare as comparing
from ddlsim.analysis.compare import crossings, formulas
from ddlsim.analysis.compare.compare import World, line_of, worlds
from ddlsim.analysis.compare.measured import Measured, measured
from ddlsim.analysis.compare.records import Formula, Line
from ddlsim.analysis.formula import protocol_forms
from ddlsim.analysis.formula.protocol_forms import Crossing
from ddlsim.analysis.formula.wait_model import Wait
from ddlsim.verify.row import RunRow
from tests.support.compared import Unjudged

SEEDS = 6
"""The fewest of which intervals are no wider than what seeds differ by."""
MANY = 14
"""So many tell designs apart that differ by little."""
COMPATIBLE = {
    "migration[0].sql": ";\n".join(
        f"ALTER TABLE {table} ADD COLUMN n{number} INT" for number in range(10) for table in "ab"
    ),
    "migration[0].every_ms": 90,
    "workload[0].gap_ms": [20, 50],
    "workload[0].keys": 2_000,
    "workload[0].transaction_tables": [2, 2],
    "workload[1].clients": 1,
    "workload[1].keys": 2_000,
    "workload[2].operations": 1,
}
"""Compatible changes alone, and transactions long enough to meet them."""
LATE = {**COMPATIBLE, "migration[0].every_ms": 110}
"""Some changes come when the load has ended."""
AIMED = {
    "workload[0].operations": 10,
    "workload[1].after": [3, 3],
    "workload[1].clients": 8,
    "workload[1].keys": 2_000,
}
"""Most transactions are there when a change comes."""
CROWDED: dict[str, object] = {"workload[0].clients": 20}
"""Half of the attempts end at a lock."""
FAST: dict[str, object] = {
    "migration[0].at_ms": 1_900,
    "workload[2].clients": 2,
    "workload[2].operations": 100,
    "workload[2].pause_ms": [0, 75],
}
"""Most attempts meet a change, at any time of the load."""
SETTINGS: dict[str, dict[str, object]] = {
    "": {}, "compatible": COMPATIBLE, "late": LATE, "aimed": AIMED, "crowded": CROWDED,
    "fast": FAST, "calm": {"faults": [], "protocol.safe_time_interval_ms": 200},
}  # fmt: skip


@cache
def world(design: str, settings: str) -> World:
    return worlds([design], None, SETTINGS[settings])[0][0]


@cache
def runner(design: str, settings: str) -> Unjudged:
    return Unjudged(comparing.job_of(world(design, settings), ()))


@cache
def row(design: str, settings: str, seed: int) -> RunRow:
    return runner(design, settings).row(seed)


@cache
def ran(design: str, settings: str, seeds: int = SEEDS) -> tuple[World, tuple[RunRow, ...], Line]:
    one = world(design, settings)
    rows = tuple(row(design, settings, seed) for seed in range(seeds))
    return one, rows, line_of(one, rows, ())


def beside(design: str, settings: str = "", seeds: int = SEEDS) -> Formula:
    return ran(design, settings, seeds)[2].formulas["schema_aborts"]


def ends(design: str, settings: str, seeds: int = SEEDS) -> tuple[float, float]:
    own = ran(design, settings, seeds)[2].schema_aborts
    assert own.low is not None
    assert own.high is not None
    return own.low, own.high


def under(
    design: str, settings: str, kind: Crossing, seeds: int = SEEDS, **changes: object
) -> tuple[float, float]:
    """What a form gives for the runs of a design, some of whose measures are changed."""
    one, rows, _ = ran(design, settings, seeds)
    took: Measured = measured(rows)._replace(**changes)
    return crossings.schema_aborts(formulas.Forms(one.scenario), took, kind)


def form_of(design: str) -> Crossing:
    rules = formulas.Forms(world(design, "compatible").scenario).design.rules
    found = protocol_forms.crossing(rules)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "design",
    [
        "iep", "b1_opt1", "b2_opt2", "b2_opt2_downgrading", "b11_compat_ops", "b15_exact",
        "b5_begin", "b5_begin_or_create", "ignite3", "iep_closed", "a5_safetime",
    ],
)  # fmt: skip
def test_a_design_is_where_its_form_is(design: str) -> None:
    for settings in ("", "compatible"):
        assert beside(design, settings).agrees, settings


def test_the_bracket_of_the_shipped_scenario_is_no_wider_than_its_figures_differ() -> None:
    """It was 17 points wide between no and every change being incompatible."""
    found = beside("iep")
    assert found.high - found.low < 0.07


@pytest.mark.parametrize("design", ["b1_opt1", "b2_opt2", "b11_compat_ops"])
def test_option_3_is_outside_of_designs_that_go_on(design: str) -> None:
    least, _ = under(design, "compatible", form_of("iep"))
    assert least > ends(design, "compatible")[1]


def test_the_form_of_designs_that_go_on_is_outside_of_option_3() -> None:
    _, most = under("iep", "compatible", form_of("b2_opt2"))
    assert most < ends("iep", "compatible")[0]


def test_an_option_1_that_looks_up_in_no_time_is_outside() -> None:
    """A change between the look-up of an operation and its arrival aborts it [B9]."""
    _, most = under("b1_opt1", "compatible", form_of("b1_opt1")._replace(late=False))
    assert most < ends("b1_opt1", "compatible")[0]


def test_reads_of_newer_rows_are_added_where_operations_go_on() -> None:
    own, attempts = form_of("b2_opt2"), measured(ran("b2_opt2", "compatible")[1]).attempts
    assert under("b2_opt2", "compatible", own, newer=0, missed=0)[1] == 0
    found = under("b2_opt2", "compatible", own, newer=5, missed=2)
    assert found == (pytest.approx(7 / attempts), pytest.approx(7 / attempts))
    other = own._replace(go_on=False)
    assert under("b2_opt2", "compatible", other, newer=5, missed=0)[1] == 0


def test_changes_of_what_was_there_count_while_there_is_load() -> None:
    created = [row.prices.rates for row in ran("iep", "")[1] if row.prices is not None]
    for one in created:
        crossed = sum(each.every for each in one.crossed.values())
        assert crossed < sum(one.changes_of.values()), "some create a table"
        assert 0 < sum(each.incompatible for each in one.crossed.values()) < crossed
    late = [row.prices.rates for row in ran("iep", "late")[1] if row.prices is not None]
    for one in late:
        assert sum(each.every for each in one.crossed.values()) <= one.in_load < one.changes
        assert sum(each.incompatible for each in one.crossed.values()) == 0


@pytest.mark.parametrize("design", ["b5_begin", "b5_begin_or_create"])
def test_lengths_since_the_enlistment_are_outside_of_a_base_at_the_begin(design: str) -> None:
    """`iep` runs the same transactions and has their lengths since the enlistment."""
    assert beside("iep", "compatible", MANY).high < ends(design, "compatible", MANY)[0]
    assert beside(design, "compatible", MANY).low > ends("iep", "compatible", MANY)[1]


def test_as_if_every_operation_found_a_row_is_outside_of_the_shipped_checks() -> None:
    least, _ = under("ignite3", "compatible", form_of("ignite3")._replace(rows=False))
    assert least > ends("ignite3", "compatible")[1]


def test_lengths_of_those_alone_that_committed_are_too_short() -> None:
    _, most = under("iep", "compatible", form_of("iep"), MANY, lost={}, outdates={})
    assert most < ends("iep", "compatible", MANY)[0]


def test_attempts_that_end_at_a_lock_are_there_for_a_change_no_longer() -> None:
    found = beside("a5_safetime", "crowded")
    assert found.agrees
    took = measured(ran("a5_safetime", "crowded")[1])
    assert took.attempts - took.outdated > 2 * took.committed
    alone = {"attempts": took.users + took.outdated, "lost": {}, "missed": 0}
    least, _ = under("a5_safetime", "crowded", form_of("a5_safetime"), **alone)
    assert least > found.low, "as if all committed that no change aborts"


def test_uses_that_outlast_the_load_meet_no_change() -> None:
    """Without DD a transaction takes a third of the load, and goes on when the last change came."""
    assert beside("a5_safetime", "fast").agrees


def test_without_those_that_found_no_table_the_form_is_outside() -> None:
    """They are half of the schema aborts of the shipped scenario."""
    _, most = under("iep", "", form_of("iep"), missed=0)
    assert most < ends("iep", "")[0]


def test_a_workload_that_aims_at_changes_is_outside_of_changes_at_any_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert beside("iep", "aimed").agrees
    monkeypatch.setattr(crossings, "AIMED", "none of this name")
    _, most = under("iep", "aimed", form_of("iep"))
    assert most < ends("iep", "aimed")[0]


def test_an_aimed_transaction_uses_a_table_by_its_operations() -> None:
    assert crossings._used({"before": 1, "after": 0}, 4) == (0.25, 0.0)
    assert crossings._used({"before": 1, "after": 1}, 2) == (0.75, 0.5)
    use, again = crossings._used({"before": [1, 2], "after": 0}, 2)
    assert (use, again) == (0.625, 0.25)


@pytest.mark.parametrize(
    "design", ["a0_on_receipt", "a3_barrier", "a4_on_receipt", "b12_two_step", "b16_mdl"]
)
def test_designs_of_other_rules_have_no_form_of_aborts(design: str) -> None:
    assert "schema_aborts" not in ran(design, "", seeds=1)[2].formulas


@pytest.mark.parametrize("design", ["a5_safetime", "a6_safetime_csmax"])
def test_a_look_up_behind_another_one_waits_longest_where_dd_covers_no_delay(
    design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm, rows, line = ran(design, "calm")
    assert line.formulas["dml_added_mean"].agrees
    monkeypatch.setattr(Wait, "mean_again", lambda *args: 0.0)
    found = formulas.by_formula(calm.scenario, rows)["dml_added_mean"](line.dml_added_mean)
    assert found.agrees is False


@pytest.mark.parametrize(
    ("design", "has"),
    [
        ("iep", True), ("a4_ack_gate", True), ("a1_naive_future", True), ("b16_mdl", True),
        ("a0_on_receipt", False), ("a4_on_receipt", False), ("a3_barrier", False),
    ],
)  # fmt: skip
def test_what_waits_for_no_safe_time_has_no_form_of_that_wait(design: str, has: bool) -> None:
    assert ("dml_added_mean" in ran(design, "", seeds=1)[2].formulas) is has


def test_settings_of_the_store_are_those_of_its_designs_alone() -> None:
    chosen, _ = worlds(["iep", "c16_safe"], None, {"fdb.replicas": 2})
    assert ["fdb.replicas=2" in one.command for one in chosen] == [False, True]
    assert chosen[1].scenario.table.fdb.replicas == 2
