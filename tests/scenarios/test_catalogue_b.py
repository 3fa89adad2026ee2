"""Family B of the catalogue of designs: every schedule, its verdict, and its control.

What IEP-110 postpones is there too: operations after a compatible DDL (B11) [110.later.1], NOT NULL
columns on empty tables (B12) [110.later.2], old names that live on (B13) [110.later.3], and rows of
newer schemas that may be read (B7) [110.later.4].
"""

from tomllib import loads
from typing import Any

import pytest

from ddlsim.checkers.outcome import Outcome
from ddlsim.protocol.design import border_rules
from ddlsim.scenario.load import load
from ddlsim.scenario.shipped import shipped
from tests.scenarios.catalogue import FOLDER, statuses
from tests.scenarios.runs import compared, loaded, runner_of

MUST_FIND = {
    "B0-T1": "I7",
    "B0-T2": "I5",
    "B1-T1": "I5",
    "B1-T1-view": "I5",
    "B2-T1": "I4",
    "B2-T2": "I3",
    "B3-T1": "I3",
    "B3-T2": "I8",
    "B3-T3": "I8",
    "B3-T4": "I8",
    "B4-T1": "I11",
    "B5-T2": "I4",
    "B5-T4": "I5",
    "B6-T1-last": "I8",
    "B6-T2": "I8",
    "B7-T0": "I3",
    "B7-T1": "I3",
    "B7-T1-locks": "I3",
    "B7-T3": "I3",
    "B9-T2": "I3",
    "B10-T1-at-once": "I11",
    "B11-T1-strict": "I3",
    "B11-T2": "I3",
    "B11-T3-current": "I5",
    "B12-T1": "I7",
    "B12-T2": "I7",
    "B13-T1": "I5",
    "B16-T1-for-ever": "I9",
}
"""What the design of a schedule breaks."""
CONTROLLED = ("B4-T2", "B5-T1", "B13-T2", "B15-T1", "B16-T1")
"""What is right, beside a control that differs in its steps."""
ALONE = (
    "B0-T2-sent-back", "B0-T3", "B1-T1-incompatible", "B1-read-only", "B3-C0", "B5-read-only",
    "B5-T2-altered",
    "B6-T1", "B6-T3", "B6-T3-last", "B6-T4", "B6-T4-reversed", "B7-T2", "B7-T4", "B8-T1", "B8-T2",
    "B8-T3", "B9-T1", "B9-T1-coordinator-retry", "B9-retry-after-use", "B10-T1", "B11-T1", "B11-T3",
    "B11-T4", "B12-C0",
)  # fmt: skip
"""What the steps alone decide."""
ENDS = ("B6-T1-ends", "B6-T3-ends")
"""What the rule `endpoints_by_id` lets pass; B6-T1 and B6-T3 are their controls."""
BY_STEPS = ("B4-T2", "B11-T1-strict", "B13-T2")
"""Whose control has the same rules, marks apart: it differs in its steps or its graph."""


def test_every_schedule_has_its_file() -> None:
    """And every file of the family is one of them."""
    controlled = [*MUST_FIND, *CONTROLLED]
    wanted = {*controlled, *(f"{name}-control" for name in controlled), *ALONE, *ENDS}
    found = {name.removeprefix(FOLDER) for name in shipped() if name.startswith(f"{FOLDER}B")}
    assert found == wanted


@pytest.mark.parametrize("name", MUST_FIND)
def test_the_judges_find_the_named_violations_and_none_in_the_control(name: str) -> None:
    assert "violation" in statuses(name)[MUST_FIND[name]]
    assert all("violation" not in given for given in statuses(f"{name}-control").values())


CALM = [*CONTROLLED, *(f"{name}-control" for name in CONTROLLED), *ALONE]


@pytest.mark.parametrize("name", CALM)
def test_a_right_schedule_has_no_violation(name: str) -> None:
    assert all("violation" not in given for given in statuses(name).values())


def other_rules(name: str, of: str) -> dict[str, Any]:
    """The rules of one schedule for another, marks apart: these stay as they are there."""
    theirs, own = (loads(loaded(f"{FOLDER}{one}").text)["strategy"] for one in (of, name))
    return {
        f"strategy.{key}": value
        for key, value in theirs.items()
        if key != "on_activated" and own.get(key) != value
    }


COUNTERPARTS = [
    *((f"{name}-control", name) for name in (*MUST_FIND, *CONTROLLED) if name not in BY_STEPS),
    *((name.removesuffix("-ends"), name) for name in ENDS),
    ("B0-T2-sent-back", "B0-T2"),
    ("B3-C0", "B1-T1"),
]


@pytest.mark.parametrize(("name", "of"), COUNTERPARTS)
def test_a_control_is_right_by_the_rule_that_its_counterpart_lacks(name: str, of: str) -> None:
    """Without it the control is not as expected: nothing else, such as a mark, decides it."""
    scenario = load(f"{FOLDER}{name}", other_rules(name, of))
    found = compared(scenario, [runner_of(scenario).row(1)])
    assert found.outcome is not Outcome.CRASHED
    assert found.unexpected


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("B4-T1", {"marked-too-early": 1}),
        ("B5-T1", {"quirk": 1}),
        ("B5-T1-control", {}),
        ("B9-T1", {"quirk": 2}),
        ("B15-T1", {"compatible-change": 1}),
    ],
)
def test_needless_aborts_are_counted_by_their_cause(name: str, counts: dict[str, int]) -> None:
    """Those of an implicit write that is tried again, too: B9-T1 has both."""
    figures = runner_of(loaded(f"{FOLDER}{name}")).row(0).figures
    assert figures is not None
    assert figures.needless_aborts == counts


@pytest.mark.parametrize("name", ENDS)
def test_what_is_done_and_undone_is_no_difference_of_the_ends(name: str) -> None:
    """It commits, against the letter of [110.compat.steps] only."""
    assert statuses(name) == {"I2": {"violation"}, "I8": {"violation"}}


def test_option_1_is_convicted_where_it_takes_every_change_for_an_incompatible_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same schedule with a column that is added instead."""
    monkeypatch.setattr(border_rules, "is_forward_compatible", lambda _: False)
    changes = {"step[2].ddl": "ALTER TABLE t ADD COLUMN w INT"}
    row = runner_of(load(f"{FOLDER}B1-T1-incompatible", changes)).row(0)
    (found,) = row.violations
    assert (found.invariant, found.kind, found.status) == ("I11", "compatible-change", "violation")


@pytest.mark.parametrize(
    ("name", "more"),
    [("generated/rename_swap", {}), ("generated/ddl_storm", {"workload[1].rename_table": 20})],
)
def test_old_names_that_stay_cause_no_violation_under_load(name: str, more: dict[str, int]) -> None:
    """[B13] under load, with names that end meanwhile."""
    design = {"strategy.name": "b13_alias", "strategy.alias_ms": 60}
    runner = runner_of(load(name, design | more))
    rows = [runner.row(seed) for seed in range(8)]
    assert all(row.crash is None for row in rows)
    assert sum(row.reached.get("alias-ended", 0) for row in rows) >= 8
    found = [one for row in rows for one in row.violations]
    assert not [one for one in found if one.status in ("violation", "stuck")]


def test_the_graph_has_no_cycle_where_option_2_misses_a_ddl() -> None:
    """Option 2: T1 began before the DDL, so the graph has nothing to say [B2-T1]."""
    assert "violation" not in statuses("B2-T1").get("I3", ())


def test_a_harmless_row_is_accepted_by_the_strict_graph_only() -> None:
    """[B7-T2]"""
    assert statuses("B7-T2") == {"I3": {"accepted"}}


LATE_LOOK = f"{FOLDER}B11-T4"


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        ({}, {"accepted"}),
        ({"strategy.commit_schema": "schema_at_commit_ts_exact_if_shown"}, set()),
        (
            {"strategy.name": "iep", "strategy.check_operation": "go_on_if_compatible"},
            {"violation"},
        ),
    ],
)
def test_an_operation_after_shown_columns_breaks_serializability(
    overrides: dict[str, str], found: set[str]
) -> None:
    """b11 does not claim it, a rule would close it, and nothing excuses a design that claims it."""
    row = runner_of(load(LATE_LOOK, overrides)).row(1)
    statuses = {
        one.status for one in row.violations if one.invariant == "I3" and not one.strict_only
    }
    assert statuses == found
