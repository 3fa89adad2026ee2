"""The scopes: what breaks with which rule, and that the simulator has the same names for it."""

from typing import Final

import pytest

from ddlsim.checkers.base import CHECKERS
from ddlsim.model.clauses import CLAUSES
from ddlsim.mutants.base import MUTANTS
from ddlsim.registry import BadPluginError, UnknownPluginError
from ddlsim.spec.base import SCOPES, Scope, ScopeError, Setup, set_up, unfit_scope
from ddlsim.spec.exhaust import Exhaustion, Explored
from ddlsim.spec.iep98 import IEP98
from ddlsim.spec.iep110 import IEP110
from ddlsim.strategies.base import DESIGNS

QUICK: Final[dict[str, dict[str, object]]] = {"iep98": {"nodes": 2}, "iep110": {"operations": 1}}
"""Constants at which everything breaks that breaks at the default ones."""
MOST: Final = 1_000_000
"""States of a machine at most: a fault may make it endless."""


def broken() -> list[tuple[str, str, tuple[str, ...]]]:
    """What breaks something, each set of choices once: the scope, the name, and what it breaks."""
    found = {
        (scope, *sorted(one.rules.items())): (scope, name, one.breaks)
        for scope, of in SCOPES.items()
        for name, one in (*of.designs.items(), *of.mutants.items())
        if one.breaks
    }
    return list(found.values())


def setup_of(scope: str, name: str, settings: dict[str, object] | None = None) -> Setup:
    of = SCOPES.get(scope)
    is_design = name in of.designs
    return set_up(of, name if is_design else "iep", None if is_design else name, settings)


def explored(setup: Setup, *judged: str) -> Explored:
    return Exhaustion(setup.machine(judged or None), states_most=MOST).run()


@pytest.mark.parametrize(("scope", "name", "breaks"), broken())
def test_a_broken_rule_breaks_what_it_says(scope: str, name: str, breaks: tuple[str, ...]) -> None:
    of = SCOPES.get(scope)
    own = {**of.designs, **of.mutants}[name].constants
    setup = setup_of(scope, name, {**QUICK[scope], **own})
    machine = setup.machine()
    for invariant in breaks:
        alone = explored(setup, invariant)
        [one] = alone.found
        assert one.invariant == invariant
        assert invariant in alone.tested
        before = one.first
        for step in one.steps:
            assert (step.label, step.state) in list(setup.machine((invariant,)).steps(before))
            assert machine.words(step.label, before, step.state)
            before = step.state
        assert machine.why(invariant, before)
        assert list(machine.steps(before)) == []


@pytest.mark.parametrize("skew", [1, 2, 3])
def test_a_client_sees_its_ddl_just_while_the_skew_is_within_csmax(skew: int) -> None:
    """strategies.md, A8: violated if and only if the skew is larger than CSmax."""
    for csmax in (skew - 1, skew):
        settings: dict[str, object] = {"nodes": 2, "time": 5, "skew": skew, "csmax": csmax}
        settings |= {"ddls": 1, "dd": 1}
        found = explored(set_up(IEP98, settings=settings)).found
        assert [one.invariant for one in found] == ["I4"] * (csmax < skew)


def test_a_leader_that_trusts_its_clock_needs_a_wait_for_the_skew() -> None:
    """strategies.md, A6: it is right just while CSmax is not smaller than the skew."""
    for csmax, broken in ((1, ["I1"]), (2, [])):
        settings: dict[str, object] = {"nodes": 2, "csmax": csmax, "clients": 0}
        found = explored(set_up(IEP98, "a7_dd_csmax", settings=settings)).found
        assert [one.invariant for one in found] == broken


def test_an_invariant_is_tested_where_what_it_is_about_can_happen() -> None:
    assert explored(set_up(IEP98, settings={"nodes": 2, "time": 5})).tested == {"I1", "I4"}
    assert explored(set_up(IEP98, settings={"nodes": 2, "time": 4})).tested == {"I1"}  # no answer
    assert explored(set_up(IEP98, settings={"nodes": 2, "time": 4, "dd": 9})).tested == set()
    assert explored(set_up(IEP110, settings={"time": 6, "transactions": 2})).tested == {
        "I2",
        "I3",
        "I5",
        "I8",
    }
    once = explored(set_up(IEP110, settings={"time": 6, "operations": 1}))
    assert once.tested == {"I3", "I8"}
    assert explored(set_up(IEP110, settings={"time": 2})).tested == set()


def test_the_changes_that_are_not_the_last_count_too() -> None:
    """110.compat.steps: the first of two changes is incompatible, the last one is not."""
    [found] = explored(setup_of("iep110", "judges_last_step_only")).found
    assert [one.compatible for one in found.steps[-1].state.log] == [False, True]


def test_a_mutant_is_over_a_design_and_a_setting_over_both() -> None:
    setup = set_up(IEP98, "a5_safetime", "no_completeness_wait")
    assert (setup.rules["activation"], setup.rules["wait"]) == ("with_message", "never")
    setup = set_up(IEP98, "a5_safetime", "no_completeness_wait", {"wait": "top", "nodes": 1})
    assert (setup.rules["wait"], setup.constants["nodes"]) == ("top", 1)


def test_atomicity_needs_no_bound_on_clocks() -> None:
    settings: dict[str, object] = {"nodes": 2, "time": 5, "skew": 5, "csmax": 0, "clients": 0}
    found = explored(set_up(IEP98, settings=settings))
    assert (found.ended, found.found) == ("exhausted", ())


def test_the_shortest_run_without_the_check_after_locks_is_that_of_the_clause() -> None:
    """110.x.1: a read that arrived before the DDL gets its lock after it."""
    setup = set_up(IEP110, mutant="checks_on_arrival_only", settings={"time": 6, "operations": 1})
    machine = setup.machine()
    [found] = explored(setup).found
    before, said = found.first, []
    for step in found.steps:
        said.append(machine.words(step.label, before, step.state))
        before = step.state
    asked = next(i for i, one in enumerate(said) if "T2 asks to read" in one)
    logged = next(i for i, one in enumerate(said) if one.startswith("DDL 1, compatible"))
    read = next(i for i, one in enumerate(said) if "T2 gets its lock and reads" in one)
    assert asked < logged < read
    assert said[read].endswith("written by T1")
    assert machine.why("I3", before) == (
        "these precede each other: D1 before T1, T1 before T2, T2 before D1"
    )


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(SCOPES))
def test_designs_and_mutants_are_those_of_the_simulator(name: str) -> None:
    scope = SCOPES.get(name)
    for design in scope.designs:
        assert design in DESIGNS
    for mutant, one in scope.mutants.items():
        caught_by = MUTANTS.get(mutant).caught_by
        assert CHECKERS.get(caught_by).invariant in one.breaks, mutant


@pytest.mark.parametrize("name", list(SCOPES))
def test_rules_have_clauses_and_variants_have_their_choices(name: str) -> None:
    scope = SCOPES.get(name)
    clauses = {clause.id for clause in CLAUSES}
    rules = {rule.name: rule for rule in scope.rules}
    constants = {one.name for one in scope.constants}
    assert {rule.clause for rule in scope.rules} <= clauses
    for one in (*scope.designs.values(), *scope.mutants.values()):
        assert all(choice in rules[rule].choices for rule, choice in one.rules.items())
        assert set(one.constants) <= constants
        assert set(one.breaks) <= set(scope.invariants)
    assert all(one.least <= one.default <= one.most for one in scope.constants)
    assert unfit_scope(name, scope) is None


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nodes": 0}, "--set nodes=0: expected a whole number from 1 to 6"),
        ({"nodes": 2.5}, "--set nodes=2.5: expected a whole number"),
        ({"clients": True}, "--set clients=True: expected a whole number from 0 to 1"),
        ({"wait": 3}, "--set wait=3: expected one of top_less_dd, top, "),
    ],
)
def test_a_value_that_is_none_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ScopeError) as caught:
        set_up(IEP98, settings=settings)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("design", "mutant", "settings", "said"),
    [
        ("a7", None, {}, "no design of scope iep98 is called 'a7'"),
        ("iep", "no_wait", {}, "no mutant of scope iep98 is called 'no_wait'"),
        ("iep", None, {"node": 2}, "no constant or rule of scope iep98 is called 'node'; did you"),
    ],
)
def test_a_name_that_is_none_is_refused(
    design: str, mutant: str | None, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(UnknownPluginError) as caught:
        set_up(IEP98, design, mutant, settings)
    assert str(caught.value).startswith(said)


def test_an_unfit_scope_is_refused() -> None:
    assert unfit_scope("iep98", object()) == "it is a object, not a Scope"
    renamed: Scope = IEP98._replace(name="mine")
    assert "has the name of its file, mine.tla" in str(unfit_scope("mine", renamed))
    without = IEP98._replace(designs={})
    assert "`designs` lacks 'iep'" in str(unfit_scope("iep98", without))
    lost = IEP98._replace(tla=IEP98.tla.with_name("lost") / "iep98.tla")
    assert "there is no such file" in str(unfit_scope("iep98", lost))
    with pytest.raises(BadPluginError, match="two scope plug-ins are called 'iep98'"):
        SCOPES.add("iep98", IEP98)
