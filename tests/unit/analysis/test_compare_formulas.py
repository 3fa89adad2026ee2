"""Closed forms beside the numbers of the table: which a design has, and what is outside."""

from functools import cache

import numpy as np
import pytest

from ddlsim.analysis.compare import compare as comparing
from ddlsim.analysis.compare import formulas
from ddlsim.analysis.compare.columns import COLUMNS, FORMED
from ddlsim.analysis.compare.compare import World, line_of, worlds
from ddlsim.analysis.compare.records import Formula, Value
from ddlsim.analysis.formula import design_forms
from ddlsim.verify.row import RunRow
from tests.support.compared import Unjudged, a_line

SEEDS = 6
"""The fewest of which intervals are no wider than what seeds differ by."""
OF_THE_STORE = (
    "ddl_p50", "ddl_p99", "dml_added_mean", "reads_per_ddl", "reads_per_transaction",
    "schema_aborts", "schema_hottest_per_s",
)  # fmt: skip


APART = {
    "migration[0].every_ms": 900,
    "run.load_ms": 6_000,
    "workload[0].operations": 300,
    "workload[1].operations": 1,
}
"""On the store: statements that do not wait for each other."""
WITHIN = {"fdb.window_ms": 200, "run.load_ms": 6_000, "workload[0].operations": 300}
"""Statements that wait for a window commit while there is load."""
LATE = {**WITHIN, "fdb.window_ms": 1_500}
"""Most of them commit when it has ended."""
RARE = {
    "migration[0].every_ms": 1_600,
    "run.load_ms": 10_000,
    "workload[0].pause_ms": [800, 1_000],
    "workload[0].transaction_operations": [1, 1],
}
"""Most changes find no transaction open."""
SETTINGS: dict[str, dict[str, object]] = {
    "": {}, "apart": APART, "within": WITHIN, "late": LATE, "rare": RARE,
}  # fmt: skip


@cache
def ran(design: str, settings: str = "") -> tuple[World, tuple[RunRow, ...]]:
    one = worlds([design], None, SETTINGS[settings])[0][0]
    runner = Unjudged(comparing.job_of(one, ()))
    return one, tuple(runner.row(seed) for seed in range(SEEDS))


def beside(design: str, settings: str = "") -> dict[str, Formula]:
    world, rows = ran(design, settings)
    return line_of(world, rows, ()).formulas


@pytest.mark.parametrize("design", ["c16_tables", "c1_schema"])
def test_a_design_of_the_store_is_where_its_closed_forms_are(design: str) -> None:
    found = beside(design)
    assert tuple(found) == OF_THE_STORE
    assert {key for key, one in found.items() if one.agrees is False} == set()
    assert {one.section for one in found.values()} == {"6.2", "6.3", "6.6"}


def test_a_design_of_the_protocol_is_where_its_closed_forms_are() -> None:
    found = beside("iep")
    assert tuple(found) == ("ddl_p50", "ddl_p99", "dml_added_mean", "schema_aborts")
    assert {key for key, one in found.items() if one.agrees is False} == set()


def test_what_conflicts_on_all_tables_is_outside_of_the_form_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert beside("c16_tables")["schema_aborts"].agrees
    monkeypatch.setattr(design_forms, "conflicts_with", lambda _rules: "store")
    assert not beside("c16_tables")["schema_aborts"].agrees
    monkeypatch.setattr(design_forms, "conflicts_with", lambda _rules: None)
    assert "schema_aborts" not in beside("c16_tables")


def test_what_conflicts_since_the_schema_was_read_is_outside_of_the_form_since_the_read_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert beside("c13_past")["schema_aborts"].agrees
    monkeypatch.setattr(design_forms, "conflicts_with", lambda _rules: "store")
    assert not beside("c13_past")["schema_aborts"].agrees


def test_a_process_that_is_idle_at_a_change_fails_by_it_later() -> None:
    form = beside("c13_past", "rare")["schema_aborts"]
    assert form.agrees
    world, rows = ran("c13_past", "rare")
    own = line_of(world, rows, ()).schema_aborts
    took, rules = formulas.measured(rows), formulas.Forms(world.scenario).design.rules
    assert own.value is not None  # the form has measures of the same runs
    often = took._replace(attempts=10_000_000)
    for polled in ("0", rules["poll_ms"]):
        ends = formulas._conflicts({**rules, "poll_ms": polled}, often, 5.0, 10.0, 4)
        assert ends is not None
        assert ends[1] < own.value, "as if some transaction began at once"
    ends = formulas._conflicts({**rules, "poll_ms": "0"}, took, 5.0, 10.0, 4)
    assert ends is not None
    assert ends[1] < own.value, "as if a poll came at once"


def test_changes_in_pessimistic_mode_conflict_as_where_each_transaction_reads_the_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert beside("c14_modes", "within")["schema_aborts"].agrees
    monkeypatch.setattr(design_forms, "conflicts_with", lambda _rules: "nothing")
    assert not beside("c14_modes", "within")["schema_aborts"].agrees


def test_where_some_processes_may_not_be_in_pessimistic_mode_no_form_says_what_conflicts() -> None:
    rules = formulas.Forms(worlds(["c14_hoped"], None, {})[0][0].scenario).design.rules
    assert design_forms.conflicts_with(rules) is None
    unswitched = {**rules, "before_statement": "nothing"}
    assert design_forms.conflicts_with(unswitched) == "nothing"
    switched = {**rules, "before_statement": design_forms.BY_MODE}
    assert design_forms.conflicts_with(switched) == "store"


def test_changes_behind_the_load_abort_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world, rows = ran("c14_modes", "late")
    assert beside("c14_modes", "late")["schema_aborts"].agrees
    took = formulas.measured(rows)
    assert 0 < took.in_load < took.changes
    monkeypatch.setattr(formulas, "measured", lambda _rows: took._replace(in_load=took.changes))
    assert not line_of(world, rows, ()).formulas["schema_aborts"].agrees


def test_a_distance_that_statements_do_not_wait_for_is_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert beside("iep")["ddl_p50"].agrees
    monkeypatch.setattr(formulas.Forms, "ddl_delay", property(lambda _self: 0))
    assert not beside("iep")["ddl_p50"].agrees


@pytest.mark.parametrize("design", ["postgresql", "b16_mdl"])
def test_a_statement_behind_the_users_of_its_table_is_where_its_form_is(design: str) -> None:
    assert beside(design)["ddl_p50"].agrees


@pytest.mark.parametrize("design", ["crdb", "tidb_mdl"])
def test_so_is_one_behind_leases_in_the_store_where_none_waits_for_another(design: str) -> None:
    assert beside(design, "apart")["ddl_p50"].agrees


def test_a_form_that_waits_for_no_user_is_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        formulas, "_waits", lambda _world, _took, size, kinds: [np.zeros(size) for _ in kinds]
    )
    assert not any(beside(design)["ddl_p50"].agrees for design in ("postgresql", "b16_mdl"))


def test_a_form_that_does_not_wait_for_leases_in_the_store_is_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = design_forms.statement_ms
    monkeypatch.setattr(
        design_forms, "statement_ms", lambda rules, of: right({**rules, "settle": "at_once"}, of)
    )
    assert not beside("crdb", "apart")["ddl_p50"].agrees


def test_the_tail_has_a_form_where_every_statement_is_one_step() -> None:
    for design in ("postgresql", "b16_mdl", "iep", "c16_tables"):
        forms = beside(design)
        assert forms["ddl_p99"].low > forms["ddl_p50"].low
        assert forms["ddl_p99"].high > forms["ddl_p50"].high
    assert "ddl_p99" not in beside("crdb")


def test_the_tail_is_compared_with_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    world, rows = ran("iep")
    tail = formulas.by_formula(world.scenario, rows)["ddl_p99"]
    assert tail(Value(None)).agrees is None
    assert tail(Value(150.0, 120.0, 180.0)).agrees
    assert not tail(Value(50.0, 40.0, 60.0)).agrees
    assert tail(Value(50.0, 40.0, None)).agrees is None, "its upper end is not known"
    assert tail(Value(150.0, 120.0, None)).agrees
    assert tail(Value(900.0, 800.0, None)).agrees is False
    monkeypatch.setattr(formulas, "TAIL", 0.5)
    without = formulas.by_formula(world.scenario, rows)["ddl_p99"]
    assert without(Value(None)).low < tail(Value(None)).low


def test_without_a_run_that_ended_there_is_no_form() -> None:
    world, _ = ran("iep")
    assert formulas.by_formula(world.scenario, ()) == {}


def test_the_whole_schema_is_one_read_as_its_version_is_and_none_behind_a_change() -> None:
    """C1 has by its one read what C1b reads besides where the number is another one."""
    whole, version = beside("c1_schema"), beside("c1b_version")
    assert whole["reads_per_transaction"].high < version["reads_per_transaction"].low
    rules = {"read_schema": "whole_schema"}
    assert design_forms.in_each(rules) == design_forms.waits_in_each(rules) == 1


def test_copies_divide_the_reads_among_their_servers() -> None:
    """Two servers hold the copies; each has half of the reads of one version key, and the schema's
    one what is read behind changes too."""
    one, several = beside("c1b_version"), beside("c3b_versions")
    assert several["schema_hottest_per_s"].agrees
    assert one["reads_per_transaction"].low == pytest.approx(
        several["reads_per_transaction"].low, rel=0.05
    )
    assert several["schema_hottest_per_s"].high < 0.8 * one["schema_hottest_per_s"].low


def test_copies_on_one_server_are_outside_of_the_form_for_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(formulas, "schema_servers", lambda _plan: ("storage1",))
    assert not beside("c3b_versions")["schema_hottest_per_s"].agrees


def test_reads_of_copies_are_spread_over_the_servers_that_hold_them() -> None:
    rules = {"read_schema": "one_of_the_version_keys", "copies": "10"}
    assert design_forms.copies_of(rules) == 10
    assert design_forms.copies_of({**rules, "read_schema": "version_key_first"}) == 1


def test_a_form_is_shown_with_both_ends_and_a_mark() -> None:
    columns = {column.key: column for column in COLUMNS}
    assert {one.key for one in FORMED} == {*OF_THE_STORE}
    line = a_line(
        "d",
        formulas={
            "schema_aborts": Formula("6.3", 0.0123, 0.25, agrees=True),
            "ddl_p50": Formula("6.2", 1.24, 130.6, agrees=False),
            "dml_added_mean": Formula("6.1", 0.0, 0.0, agrees=None),
        },
    )
    assert columns["schema_aborts"].by_formula(line) == "1.2-25"
    assert columns["ddl_p50"].by_formula(line) == "1.2-131!"
    assert columns["dml_added_mean"].by_formula(line) == "0"
    assert columns["reads_per_ddl"].by_formula(line) == "-"
