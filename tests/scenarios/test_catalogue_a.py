"""Family A of the catalogue of designs: every schedule, its verdict, and its control."""

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.events import ReadExecuted, WriteExecuted
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.shipped import shipped
from ddlsim.units import physical_ms
from tests.scenarios.catalogue import FOLDER, statuses
from tests.scenarios.runs import runner_of

MUST_FIND = {
    "A0-T1": {"I1", "I2", "I3", "I8"},
    "A1-T1": {"I1"},
    "A1-T2": {"I1"},
    "A2-T2": {"I12"},
    "A3-T1-crash": {"I9"},
    "A3-T2": {"I1", "I8"},
    "A4-T1-crash": {"I9"},
    "A4-T2": {"I1", "I8"},
    "A5-T1": {"I1"},
    "A5-T2": {"I1"},
    "A5-T3": {"I1"},
    "A5-T4": {"I1"},
    "A5-T5": {"I1"},
    "A7-T1": {"I1"},
    "A7-T2": {"I1"},
    "A7-T3": {"I1", "I4"},
    "A7-T4": {"I1"},
    "A7-T5": {"I1"},
    "A8-T1": {"I4"},
    "A8-T2": {"I4"},
    "A8-acks-crash": {"I9"},
    "A9-T4": {"I1"},
}
"""What the design of a schedule breaks."""
OUT_OF_ASSUMPTION = {"A2-T1": "I1", "A8-T3": "I4"}
"""What is broken only because an assumption of the design is."""
COSTS = ("A3-T1", "A4-T1", "A6-T1", "A9-T1", "A9-T3", "A9-T3-cut")
"""What is right and slow, or right although it looks wrong: the steps say how long each takes."""
ALONE = ("A7-C0", "A7-T5-csmax", "A8-acks", "A8-acks-late", "A9-T2", "A10-T1", "A10-T2")
"""Without a control: a control itself, another remedy, and what nothing is compared with."""


def test_every_schedule_has_its_file() -> None:
    """And every file of the family is one of them."""
    controlled = [*MUST_FIND, *OUT_OF_ASSUMPTION, *COSTS]
    wanted = {*controlled, *(f"{name}-control" for name in controlled), *ALONE}
    found = {name.removeprefix(FOLDER) for name in shipped() if name.startswith(f"{FOLDER}A")}
    assert found == wanted


@pytest.mark.parametrize("name", MUST_FIND)
def test_the_judges_find_the_named_violations_and_none_in_the_control(name: str) -> None:
    found = statuses(name)
    assert {one for one in MUST_FIND[name] if "violation" in found.get(one, ())} == MUST_FIND[name]
    for given in statuses(f"{name}-control").values():
        assert "violation" not in given


@pytest.mark.parametrize("name", OUT_OF_ASSUMPTION)
def test_without_its_assumption_a_claim_is_out_of_assumption(name: str) -> None:
    invariant = OUT_OF_ASSUMPTION[name]
    assert statuses(name)[invariant] == {"out_of_assumption"}
    assert invariant not in statuses(f"{name}-control")


def test_with_an_answer_of_every_node_the_clock_bound_does_not_matter() -> None:
    """The schedule whose claim is out of assumption where the acknowledgement rests on CSmax."""
    assert statuses("A8-acks") == {}


def test_an_answer_that_waits_for_all_nodes_is_not_called_too_late() -> None:
    assert statuses("A8-acks-late") == {"I11": {"accepted"}}


@pytest.mark.parametrize("name", [*COSTS, *(f"{name}-control" for name in COSTS)])
def test_a_slow_schedule_has_no_violation(name: str) -> None:
    assert all("violation" not in given for given in statuses(name).values())


def test_a_physical_clock_takes_the_timestamps_of_its_node_back_with_it() -> None:
    """What n3 resolves at 1100 it does not know any more at 910; on a hybrid clock it does."""
    told: dict[str, list[tuple[str, bool, int]]] = {}
    texts = {}
    for name in ("A2-T2", "A2-T2-control"):
        scenario = load(f"{FOLDER}{name}")
        texts[name] = set(scenario.text.splitlines())
        history = run(plan(scenario, 1))
        told[name] = [
            (event.tx, physical_ms(event.op_ts) >= 1100, event.version)
            for event in history.events
            if isinstance(event, ReadExecuted | WriteExecuted)
        ]
    assert told["A2-T2"] == [("a", True, 2), ("b", False, 1), ("c", False, 1)]
    assert told["A2-T2-control"] == [("a", True, 2), ("b", True, 2), ("c", True, 2)]
    more = texts["A2-T2-control"] - texts["A2-T2"]
    assert {line for line in more if not line.startswith(("#", "title", "expect"))} == {
        'clock = "hybrid_clock"'
    }


def test_waiting_for_csmax_too_hides_a_leader_that_trusts_its_own_clock() -> None:
    """The stamps go back, and no node has answered for what comes late."""
    assert "I1" not in statuses("A7-T5-csmax")


def test_a_leader_farther_behind_than_csmax_is_out_of_the_assumption_of_that_wait() -> None:
    """Its clock is 90 ms behind: A6 is right "provided its clock is at most CSmax behind"."""
    far = load(f"{FOLDER}A7-T5-csmax", {"protocol.max_clock_skew_ms": 5})
    found = {(one.invariant, one.status) for one in runner_of(far).row(0).violations}
    assert found == {("I1", "out_of_assumption"), ("I12", "violation")}


def test_the_control_of_family_a_never_breaks_atomicity() -> None:
    """Whatever the seed draws."""
    runner = runner_of(load(f"{FOLDER}A7-C0"))
    for seed in range(20):
        row = runner.row(seed)
        assert not [one for one in row.violations if one.invariant == "I1"], seed


def test_the_world_of_that_control_breaks_atomicity_where_no_node_waits() -> None:
    row = runner_of(load(f"{FOLDER}A7-C0", {"strategy.name": "a1_unassuming"})).row(0)
    assert "I1" in {one.invariant for one in row.violations if one.status == "violation"}


@pytest.mark.parametrize("name", ["A9-T2", "A10-T1", "A10-T2"])
def test_an_accepted_risk_is_no_violation(name: str) -> None:
    assert all("violation" not in given for given in statuses(name).values())
