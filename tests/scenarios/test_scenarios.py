"""Every shipped scenario comes to what it says, and would not if a rule were missing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster import designs, planes, run
from ddlsim.model.clauses import CLAUSES
from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import MUTANTS
from ddlsim.plan.plan import plan
from ddlsim.protocol.design import failure_rules, flows, time_rules
from ddlsim.protocol.schema import renaming
from ddlsim.protocol.schema.compatibility import IGNITE3, forward_compatible
from ddlsim.protocol.schema.ddl import NoOp, Refused, build
from ddlsim.protocol.strategy import Steps
from ddlsim.protocol.transaction import commit_check
from tests.scenarios.runs import (
    SEEDS,
    loaded,
    names,
    overridden,
    result,
    runner_of,
    summed,
    under_mutant,
)

WRITTEN = names("iep98", "iep110")
OF_THE_STORE = ("strategies/C", "presets/", "faults/storage_behind_at_the_end", "faults/statement_")
"""One for each numbered example, requirement, rule group and risk of the two documents."""


# --- what a scenario says ------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_a_scenario_has_the_outcome_that_it_expects(name: str) -> None:
    """The outcome that `expect` names, no step that ended otherwise, each probe of `reaches` met:
    the comparison of `ddlsim run --expect`, and vacuity even where a breach is what is expected.
    Every hold, pause and fault of a scripted one meets something."""
    found = result(name)
    assert found.unexpected == ()
    assert found.never_reached == ()
    if loaded(name).scripted:
        assert [row.unmatched for row in found.runs] == [()]


@pytest.mark.parametrize("name", names())
def test_a_scenario_has_title_source_and_known_clauses(name: str) -> None:
    """For people: a title, where it comes from, and clauses that exist: the thread has none."""
    scenario = loaded(name)
    assert scenario.title
    assert scenario.source
    assert bool(scenario.clauses) != name.startswith(OF_THE_STORE)
    assert set(scenario.clauses) <= {clause.id for clause in CLAUSES}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_scenario_of_the_documents_is_scripted_and_expects_its_steps(name: str) -> None:
    """A comment on top, a scripted timeline, expectations on it, and no operation left open."""
    scenario = loaded(name)
    assert scenario.text.startswith("# ")
    assert scenario.scripted
    assert sum(step.expect is not None for step in scenario.steps) >= len(scenario.steps) / 2
    (row,) = result(name).runs
    assert not row.stuck
    assert runner_of(scenario).row(SEEDS[-1]).fingerprint == row.fingerprint  # no dice in it


def test_every_clause_that_is_modelled_is_shown() -> None:
    """By a scenario of the two documents; these by those of faults and of the catalogue only."""
    shown = {clause for name in names() for clause in loaded(name).clauses}
    missing = {clause.id for clause in CLAUSES} - shown
    elsewhere = {"98.x.1", "98.x.6", "98.x.7", *(f"110.later.{number}" for number in range(1, 5))}
    assert missing <= elsewhere


# --- breaches that are no violations -------------------------------------------------------------

BREACHES = {
    "iep98/corrected_twice": {("I4", "out_of_assumption"), ("I3", "out_of_assumption")},
    "iep98/using_safe_time": {("I11", "accepted")},  # it waits longer than DD allows for
    "iep98/using_safe_time_csmax": {("I11", "accepted")},
    "iep98/naive_future": {("I1", "out_of_assumption"), ("I11", "out_of_assumption")},
    "iep98/naive_future_skew": {("I1", "out_of_assumption")},
    "iep98/skew_beyond_csmax": {("I4", "out_of_assumption"), ("I3", "accepted")},
    "iep110/null_rows": {("I7", "finding:F-15")},  # what the scenario shows
    "iep110/option_1_switch": {("I2", "violation"), ("I5", "violation"), ("I3", "accepted")},
    "iep110/option_2_keep": {("I4", "violation"), ("I12", "violation")},
}
"""What the judges find in the scenarios of the documents; in all others nothing at all."""


@pytest.mark.parametrize("name", WRITTEN)
def test_a_scenario_of_the_documents_has_only_the_listed_breaches(name: str) -> None:
    """Breaches out of assumption leave the outcome alone, so they are all named here. Delay and
    skew break AP where no operation waits for safe time; skew beyond CSmax breaks the client's view
    of its own DDL and, even then, never AP."""
    (row,) = result(name).runs
    found = {(violation.invariant, violation.status) for violation in row.violations}
    assert found == BREACHES.get(name, set())


# --- planted faults ------------------------------------------------------------------------------

BY_MUTANT = {
    "iep110/unique_rows": "looks_up_at_home_only",
    "iep110/check_rows": "checks_under_first_version",
    "iep98/boundary_commit": "open_boundary",  # [98.def.1]
    "iep98/boundary_operation": "open_boundary",  # [98.def.1]
    "iep98/gap_in_the_log": "appends_past_gaps",  # [98.def.3]
    "iep98/idle_safe_time": "no_completeness_wait",  # [98.safe.3]
    "iep98/largest_dd": "message_carries_own_delay",  # [98.past.2, 98.x.4]
    "iep98/mixed_commit": "no_completeness_wait",  # [98.one]
    "iep98/noop_ddl": "noop_without_wait",  # [98.flow.4]
    "iep98/own_ddl": "acknowledges_at_activation",  # [98.own]
    "iep98/own_ddl_altered": "builds_on_what_it_knows",  # [98.x.8]
    "iep98/own_ddl_dropped": "builds_on_what_it_knows",  # [98.own] [98.x.8]
    "iep98/resent_command": "acknowledges_at_once",  # [98.x.5]
    "iep98/risk_cluster_lags": "no_completeness_wait",  # [98.risk.2]
    "iep98/risk_lagging_primary": "no_completeness_wait",  # [98.risk.2]
    "iep98/risk_not_visible_at_once": "activates_with_message",  # [98.risk.1]
    "iep98/safe_time_in_the_past": "looks_up_in_the_past",  # [98.past.3]
    "iep98/schema_change_flow": "acknowledges_at_activation",  # [98.flow.1-4]
    "iep98/sizing_of_dd": "no_completeness_wait",  # [98.past.1]
    "iep98/slow_catalog": "safe_time_before_listeners",  # [98.x.3]
    "iep98/tick_and_update": "ticks_may_tie",  # [98.x.2]
    "iep110/backward_compatibility": "reads_newer_rows",  # [110.back]
    "iep110/select_columns": "acknowledges_at_once",  # [98.own]
    "iep110/checked_again_after_locks": "checks_on_arrival_only",  # [110.x.1]
    "iep110/client_cache_ahead": "acknowledges_at_activation",  # [110.flow.4]
    "iep110/column_default": "no_commit_check",
    "iep110/column_dropped": "validates_at_enlistment",
    "iep110/column_nullability": "no_commit_check",
    "iep110/column_readded": "compares_columns_by_name",
    "iep110/compound_change": "judges_first_change_only",
    "iep110/dropped_and_recreated": "enlists_at_every_operation",
    "iep110/forward_1_may_exist": "no_commit_check",
    "iep110/forward_2_no_loss": "decodes_with_initial",
    "iep110/forward_3_not_detected": "no_commit_check",
    "iep110/indexes": "no_operation_check",
    "iep110/marked_rollback_only": "no_commit_check",  # [110.valid.3]
    "iep110/marked_though_enlisted_later": "no_commit_check",  # [110.valid.3]
    "iep110/mixed_change": "no_commit_check",
    "iep110/name_keeps_its_meaning": "enlists_at_every_operation",  # [110.simple]
    "iep110/null_rows": "updates_keep_nulls",  # [110.ours.notnull]
    "iep110/option_3_chosen": "primary_takes_its_own_version",  # [110.border]
    "iep110/overall_flow": "accepts_any_client_version",  # [110.flow.1-8]
    "iep110/quirk": "no_operation_check",  # [110.quirk]
    "iep110/renamed_and_back": "no_commit_check",
    "iep110/req_0_no_blocking": "no_commit_check",  # [110.req.0]
    "iep110/req_1_one_schema": "enlists_at_every_operation",  # [110.req.1]
    "iep110/several_steps": "no_commit_check",
    "iep110/table_created": "activates_with_message",
    "iep110/table_dropped_at_commit": "no_commit_check",
    "iep110/table_dropped_at_operation": "acknowledges_at_once",  # [110.table.exists]
    "iep110/table_renamed": "no_commit_check",
    "iep110/type_other": "no_commit_check",
    "iep110/validated_at_commit": "validates_at_enlistment",  # [110.flow.6]
    "iep110/validated_at_operation": "no_operation_check",  # [110.valid.2]
    "iep110/views": "no_commit_check",
}


def any_step_aborts(steps: Steps) -> Reason | None:
    """No change of an enlisted table is compatible."""
    return Reason.SCHEMA_INCOMPATIBLE if steps else None


def as_the_shipped_code(steps: Steps) -> Reason | None:
    """Renamed columns and wider date-time types are incompatible."""
    return None if forward_compatible(steps, IGNITE3) else Reason.SCHEMA_INCOMPATIBLE


def at_begin(now: int, begin_ts: int, created_ts: int) -> int:
    """I is the schema at begin."""
    del now, created_ts
    return begin_ts


async def whole_catalog(coordinator: Any, tx: Any, commit_ts: Any) -> Any:
    """Whatever has changed since the first enlistment, anywhere, dooms the transaction."""
    _, tables = await commit_check.schema_at_commit_ts(coordinator, tx, commit_ts)
    first_ts = min((each.enlist_ts for each in tx.by_id.values()), default=commit_ts)
    catalog = coordinator.sync.catalog
    same = catalog.at(first_ts).version == catalog.at(commit_ts).version
    return None if same else Reason.SCHEMA_INCOMPATIBLE, tables


BY_RULE: dict[str, dict[str, Callable[..., Any]]] = {
    "iep98/naive_future": {"completeness_ts": time_rules.operation_less_delay},
    "iep98/naive_future_skew": {"completeness_ts": time_rules.operation_less_delay},
    "iep98/using_safe_time": {"completeness_ts": time_rules.operation_plus_skew},  # [98.safe.1-3]
    "iep98/using_safe_time_csmax": {"completeness_ts": time_rules.at_operation},
    "iep98/risk_promotes": {"keeps_lease": failure_rules.keep_the_laggard},
    "iep98/risk_times_out": {"resolve_schema": flows.wait_then_look_up},
    "iep110/column_added": {"check_commit": any_step_aborts},
    "iep110/column_renamed": {"check_commit": as_the_shipped_code},
    "iep110/constraint_dropped": {"check_commit": any_step_aborts},
    "iep110/other_objects": {"commit_schema": whole_catalog},
    "iep110/pipelined_operation": {"before_commit_ts": flows.stamp_at_once},  # [110.x.2]
    "iep110/req_2_created_table": {"base_ts": at_begin},  # [110.req.2]
    "iep110/req_3_altered_before_enlisted": {"base_ts": at_begin},  # [110.req.3]
    "iep110/type_widening": {"check_commit": as_the_shipped_code},
    "iep110/zones": {"commit_schema": whole_catalog},
}
OTHERWISE = {
    "iep98/corrected_twice",
    "iep98/skew_beyond_csmax",
    "iep110/ddl_refused",
    "iep110/option_1_switch",
    "iep110/option_2_keep",
}


def test_every_scenario_has_a_planted_fault() -> None:
    """None of them would pass whatever the protocol does."""
    assert set(BY_MUTANT) | set(BY_RULE) | OTHERWISE == set(WRITTEN)
    assert set(BY_MUTANT.values()) <= {name for name, _ in MUTANTS.items()}


@pytest.mark.parametrize(("name", "mutant"), BY_MUTANT.items())
def test_a_scenario_fails_under_the_mutant_of_its_rule(name: str, mutant: str) -> None:
    """The scenario under a mutant: judged a violation, or a step that ends otherwise."""
    found = under_mutant(name, mutant)
    assert found.unexpected
    assert found.outcome is not Outcome.CRASHED


@pytest.mark.parametrize(("name", "fields"), BY_RULE.items())
def test_a_scenario_fails_under_another_rule(
    name: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for rules without a mutant: another function in one field."""
    chosen, parts, _ = designs.design(plan(loaded(name)))
    monkeypatch.setattr(planes, "design", lambda plan: (replace(chosen, **fields), parts, None))
    found = summed(loaded(name))
    assert found.unexpected
    assert found.outcome is not Outcome.CRASHED


def test_within_the_bound_the_client_sees_its_own_ddl() -> None:
    """The clocks of skew_beyond_csmax under a CSmax that they keep."""
    found = overridden("iep98/skew_beyond_csmax", {"protocol.max_clock_skew_ms": 60})
    assert [unexpected.split()[3] for unexpected in found.unexpected] == ["d", "r1", "r2"]
    assert found.runs[0].violations == ()


def test_within_the_bound_over_time_two_corrections_hide_no_ddl() -> None:
    """The clocks of corrected_twice under a CSmax that they keep over time: 14 ms."""
    found = overridden("iep98/corrected_twice", {"protocol.max_clock_skew_ms": 14})
    assert [unexpected.split()[3] for unexpected in found.unexpected] == ["d"]
    assert found.runs[0].violations == ()


@pytest.mark.parametrize("name", ["iep110/option_1_switch", "iep110/option_2_keep"])
def test_option_3_has_no_violation_in_the_schedules_of_options_1_and_2(name: str) -> None:
    """The schedules of the other two options under the chosen one."""
    verdict = judge(run.run(plan(structs.replace(loaded(name), mutant=None))))
    assert verdict.violations == ()


def test_ddl_refused_fails_if_the_builder_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Did the builder take every refusal for a no-op, ddl_refused would tell."""

    def lenient(*arguments: Any) -> Any:
        built = build(*arguments)
        return NoOp(built.message) if isinstance(built, Refused) else built

    monkeypatch.setattr(renaming, "build", lenient)
    found = summed(loaded("iep110/ddl_refused"))
    assert sum("got ok" in unexpected for unexpected in found.unexpected) == 9
