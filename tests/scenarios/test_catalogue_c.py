"""Family C of the catalogue of designs: every schedule of the thread, its verdict, its control."""

import pytest

from ddlsim.scenario.load import load
from ddlsim.scenario.shipped import shipped
from tests.scenarios.catalogue import FOLDER, statuses
from tests.scenarios.runs import runner_of

CROSSING = {"I1", "I2", "I3", "I7", "I8"}
"""A transaction that commits behind a statement, under the schema before."""
STALE = {*CROSSING, "I4"}
"""A transaction that begins behind a statement, under the schema before."""
MUST_FIND = {
    "C1-T1": CROSSING,
    "C1-T2": {"I1", "I10"},
    "C2-T1": STALE,
    "C2-T2": {"I1", "I3", "I4", "I9"},
    "C2-T3": STALE,
    "C3-T1": {"I1", "I2", "I7", "I8"},
    "C3-T2": STALE,
    "C4-T1": STALE,
    "C4-T2": {"I1", "I4"},
    "C4-T3": {"I1", "I4", "I13"},
    "C5-T1": {"I4", "I6"},
    "C5-T2": {"I6"},
    "C5-T3": {"I4", "I6"},
    "C5-T3-waiter": {"I4", "I6"},
    "C5-T1-index": {"I4", "I6", "I7"},
    "C5-T2-index": {"I6", "I7"},
    "C5-T3-index": {"I6", "I7"},
    "C5-T4": {"I1"},
    "C6-T1": {"I7"},
    "C6-T2": {"I7"},
    "C6-T3": {"I7"},
    "C6-T4": {"I4", "I6", "I7"},
    "C6-T5": {"I7"},
    "C6-T6": {"I7"},
    "C7-T1": CROSSING,
    "C7-T2": {"I1", "I3", "I4"},
    "C7-T3": STALE,
    "C9-T1": CROSSING,
    "C9-T2": {"I1"},
    "C10-T1": {"I7"},
    "C10-T2": {"I7"},
    "C11-T2": {"I1", "I2", "I7", "I8"},
    "C11-T4": {"I11"},
    "C12-T1": CROSSING,
    "C12-T2": STALE,
    "C12-T3": STALE,
    "C12-T4": {"I1", "I2", "I8"},
    "C12-T5": {"I4"},
    "C13-T1": STALE,
    "C13-T2": {"I1", "I3", "I4", "I7", "I10"},
    "C13-T3": {"I1", "I4", "I7", "I10"},
    "C14-T1": STALE,
    "C14-T2": STALE,
    "C14-T3": CROSSING,
    "C15-T1": STALE,
    "C15-T3": {"I1", "I2", "I7", "I8"},
    "C15-T4": {"I1", "I4", "I10"},
    "C15-T4-index": {"I1", "I4", "I10"},
}
"""What is broken, of what the catalogue speaks of; I6 and I11 are other designs' claims."""
CONTROLLED_BY = {
    "C7-T3-proxy": ({"I1", "I4"}, "C7-T3-control"),
    "C8-T1": ({"I1", "I4"}, "C8-C0"),
    "C9-T1-key": ({"I1"}, "C11-T1"),
    "C11-T3": ({"I1", "I2", "I7", "I8"}, "C11-T1"),
    "C15-T5": (STALE, "C16-C0"),
}
"""The same, where the control is a schedule of the catalogue itself."""
UNDER_C16 = ("C1-T1", "C7-T1", "C9-T1", "C12-T1", "C14-T1", "C14-T3", "C15-T1", "C15-T3")
"""Schedules of which the catalogue names C16 as a control."""
ALONE = ("C6-C1", "C8-T1-window", "C9-T1-table", "C9-T3", "C15-T2")
"""What is right."""
ASIDE = ("I6", "I11")
"""Found beside what a schedule is about, where every invariant counts."""


def broken(name: str) -> set[str]:
    """The invariants that a schedule breaks and its design claims, or all, if the file says so."""
    return {one for one, given in statuses(name).items() if "violation" in given}


def test_every_schedule_has_its_file() -> None:
    """And every file of the family is one of them."""
    wanted = {*MUST_FIND, *(f"{name}-control" for name in MUST_FIND), *CONTROLLED_BY, *ALONE}
    wanted |= {control for _, control in CONTROLLED_BY.values()}
    found = {name.removeprefix(FOLDER) for name in shipped() if name.startswith(f"{FOLDER}C")}
    assert found == wanted


@pytest.mark.parametrize("name", MUST_FIND)
def test_the_judges_find_the_named_violations_and_none_in_the_control(name: str) -> None:
    wanted = MUST_FIND[name]
    assert broken(name) - {one for one in ASIDE if one not in wanted} == wanted
    assert broken(f"{name}-control") == set()


@pytest.mark.parametrize("name", UNDER_C16)
def test_the_safe_composition_is_a_control_of_its_schedules(name: str) -> None:
    """Section 11: C16, under which every invariant is asked for; the statement takes effect."""
    overrides = {"strategy": {"name": "c16_safe"}, "all_claims": True}
    row = runner_of(load(f"{FOLDER}{name}-control", overrides)).row(0)
    assert [one.invariant for one in row.violations if one.status == "violation"] == []
    assert row.figures is not None
    assert row.figures.ddl_latency_ms.count == 1


def test_a_switch_counted_from_the_read_version_is_crossed_as_well() -> None:
    """The thread: "you wouldn't need extra write fencing"; the catalogue: that is false."""
    row = runner_of(load(f"{FOLDER}C9-T1", {"strategy": {"name": "c8_future_rv"}})).row(0)
    assert {one.invariant for one in row.violations} >= {"I1", "I3", "I7"}


@pytest.mark.parametrize("name", CONTROLLED_BY)
def test_another_schedule_is_the_control(name: str) -> None:
    wanted, control = CONTROLLED_BY[name]
    assert broken(name) == wanted
    assert broken(control) == set()


@pytest.mark.parametrize("name", ALONE)
def test_a_schedule_that_is_right_has_no_violation(name: str) -> None:
    assert broken(name) == set()


@pytest.mark.parametrize("design", ["c9_future_cv", "c10_two_cutoffs", "c11_future_conflict"])
def test_own_ddl_is_kept_by_answering_once_a_statement_is_in_force(design: str) -> None:
    """Section 7 of the catalogue, whose statements are answered at their commit, says it is not."""

    def own_ddl(settings: dict[str, object]) -> bool:
        one = load("comparison/fdb", {"strategy.name": design, **settings})
        row = runner_of(one).row(1)
        return any(found.invariant == "I4" for found in row.violations)

    assert not own_ddl({})
    assert own_ddl({"strategy.settle": "at_once"})


def test_the_control_of_family_c_never_breaks_anything() -> None:
    """Whatever the seed draws."""
    runner = runner_of(load(f"{FOLDER}C16-C0"))
    for seed in range(4):
        assert not [one for one in runner.row(seed).violations if one.status == "violation"], seed
