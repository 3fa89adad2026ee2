"""Scopes have the states that TLC counts in their TLA+ modules; and those name the same things.

The numbers are TLC's (version 2.15, one worker, no check of deadlocks), for the module and the
configuration that `--tla` writes with these settings; invariants were left out, so that it went on.
With the default constants and `clients = 0` they are 534,374 distinct states, 2,424,274 generated.
"""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from ddlsim.spec import tla
from ddlsim.spec.base import SCOPES, Setup, set_up
from ddlsim.spec.exhaust import Exhaustion

Counted = tuple[int, int, int, tuple[str, ...]]
"""States generated, distinct states, depth, and the invariants that are broken in one."""
MOST: Final = 1_000_000
"""States at most: a fault may make a machine endless."""
SMALL_98: Final = {"time": 4, "nodes": 2}
SMALL_110: Final = {"time": 5}

MUTANTS: Final[dict[str, dict[str, Counted]]] = {
    "iep98": {
        "activates_before_message": (34101, 12908, 19, ("I1", "I4")),
        "activates_with_message": (42345, 14724, 19, ("I1", "I4")),
        "message_carries_own_delay": (30509, 10730, 18, ("I1", "I4")),
        "no_completeness_wait": (24421, 8758, 17, ("I1",)),
        "looks_up_in_the_past": (16397, 7166, 17, ("I1",)),
        "open_boundary": (17197, 7294, 17, ("I1",)),
        "ticks_may_tie": (87663, 28992, 21, ("I1", "I4")),
        "safe_time_before_listeners": (46261, 14422, 17, ("I1",)),
        "acknowledges_at_activation": (43057, 14810, 19, ("I4",)),
        "acknowledges_at_once": (69497, 24216, 19, ("I4",)),
    },
    "iep110": {
        "no_operation_check": (60262, 31191, 12, ()),
        "checks_on_arrival_only": (121621, 47503, 16, ("I3",)),
        "no_commit_check": (43326, 19149, 12, ("I8",)),
        "one_phase_trusts_arrival": (43326, 19149, 12, ("I8",)),
        "judges_last_step_only": (102778, 40229, 12, ("I8",)),
        "enlists_at_every_operation": (5202, 2503, 11, ("I5",)),
        "primary_takes_its_own_version": (5157, 2478, 11, ("I5",)),
    },
}
DESIGNS: Final[dict[str, dict[str, Counted]]] = {
    "iep98": {
        "iep": (22545, 8094, 17, ()),
        "iep_literal": (161851, 48608, 21, ("I1", "I4")),
        "a0_on_receipt": (69683, 24836, 19, ("I1", "I4")),
        "a1_naive_future": (24421, 8758, 17, ("I1",)),
        "a5_safetime": (36129, 12574, 19, ()),
        "a6_safetime_csmax": (2836, 1381, 18, ()),
        "a7_dd": (22545, 8094, 17, ()),
        "a7_unmerged": (34071, 11216, 16, ("I1",)),
        "a7_dd_csmax": (27715, 9538, 16, ()),
        "a8_all_acks": (28473, 9886, 19, ()),
    },
    "iep110": {
        "iep": (42804, 18643, 12, ()),
        "iep_literal": (121621, 47503, 16, ("I3",)),
        "b1_opt1": (4822, 2225, 11, ("I5",)),
        "b2_opt2": (60262, 31191, 12, ()),
        "b3_opt3": (42804, 18643, 12, ()),
        "b3_no_commit_check": (43326, 19149, 12, ("I8",)),
    },
}
SETTINGS: Final[list[tuple[str, dict[str, object], Counted]]] = [
    ("iep98", {**SMALL_98, "changes": 1}, (56275, 17564, 17, ())),
    ("iep98", {"nodes": 2, "time": 3, "changes": 2}, (21637, 6466, 14, ())),
    ("iep98", {"time": 3}, (100682, 22182, 20, ())),
    ("iep98", {**SMALL_98, "lookup": "newest_applied"}, (18358, 8627, 18, ("I1",))),
    ("iep98", {**SMALL_98, "wait": "top_less_dd_less_one"}, (23805, 8486, 17, ("I1",))),
    ("iep98", {**SMALL_98, "wait": "top_less_twice_dd"}, (24421, 8758, 17, ("I1",))),
    ("iep98", {**SMALL_98, "skew": 3, "csmax": 1}, (41005, 14050, 18, ("I4",))),
    ("iep98", {"nodes": 2}, (106849, 36926, 21, ())),
    ("iep110", {"time": 4, "transactions": 3, "operations": 1}, (42671, 19749, 10, ())),
    ("iep110", {"nodes": 1, "dd": 0, "time": 7}, (37244, 26662, 9, ())),
    ("iep110", {"nodes": 1, "dd": 0, "time": 6, "keys": 2}, (29287, 22515, 8, ())),
    (
        "iep110",
        {"nodes": 3, "keys": 2, "operations": 2, "transactions": 1, "ddls": 2, "dd": 0, "time": 5},
        (101665, 28983, 16, ()),
    ),
]
REST: Final = {
    "iep98": {"behind_updates", "fresh", "keeps_own_clock"},
    "iep110": {"on_arrival_only", "own_version"},
}
"""Choices that are left where the module asks for the others."""


ALONE: Final[list[tuple[str, str, dict[str, object], str, Counted]]] = [
    ("iep98", "no_completeness_wait", {**SMALL_98}, "I4", (31889, 10806, 17, ())),
    ("iep98", "message_carries_own_delay", {**SMALL_98, "dd": 0}, "", (36129, 12574, 19, ())),
    ("iep110", "enlists_at_every_operation", {"time": 6}, "I3", (13834, 6442, 13, ("I3",))),
    (
        "iep110",
        "primary_takes_its_own_version",
        {"nodes": 1, "dd": 0, "time": 6, "transactions": 2},
        "I3",
        (12685, 11423, 8, ()),
    ),
]
"""Mutants with one invariant judged alone, or (empty) with all."""


def cases() -> Iterator[tuple[str, str, str | None, dict[str, object], Counted]]:
    small: dict[str, dict[str, object]] = {"iep98": {**SMALL_98}, "iep110": {**SMALL_110}}
    for scope in MUTANTS:
        seen = set()  # a machine that has two names is visited once
        for name, counted in {**MUTANTS[scope], **DESIGNS[scope]}.items():
            mutant = name if name in MUTANTS[scope] else None
            design = "iep" if mutant else name
            setup = set_up(SCOPES.get(scope), design, mutant, small[scope])
            machine = (*setup.rules.values(), *setup.constants.values())
            if (machine, counted) not in seen:
                yield scope, design, mutant, small[scope], counted
            seen.add((machine, counted))
    for scope, settings, counted in SETTINGS:
        yield scope, "iep", None, settings, counted


@pytest.mark.parametrize(("scope", "design", "mutant", "settings", "counted"), list(cases()))
def test_the_states_are_those_of_tlc(
    scope: str, design: str, mutant: str | None, settings: dict[str, object], counted: Counted
) -> None:
    assert visited(set_up(SCOPES.get(scope), design, mutant, settings)) == counted


@pytest.mark.parametrize(("scope", "mutant", "settings", "judged", "counted"), ALONE)
def test_so_they_are_where_one_invariant_is_judged_alone(
    scope: str, mutant: str, settings: dict[str, object], judged: str, counted: Counted
) -> None:
    setup = set_up(SCOPES.get(scope), "iep", mutant, settings)
    assert visited(setup, *filter(None, (judged,))) == counted


def visited(setup: Setup, *judged: str) -> Counted:
    """What is counted, of all states that are not behind a broken one."""
    every = len(setup.scope.invariants)
    explored = Exhaustion(setup.machine(judged or None), until_broken=every + 1, states_most=MOST)
    found = explored.run()
    assert found.ended == "exhausted"
    broken = tuple(sorted(one.invariant for one in found.found))
    return found.generated, found.states, found.depth, broken


def test_every_design_and_mutant_was_counted() -> None:
    for name, scope in SCOPES.items():
        assert set(MUTANTS[name]) == set(scope.mutants)
        assert set(DESIGNS[name]) == set(scope.designs)


# --- the modules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(SCOPES))
def test_a_module_has_the_constants_rules_and_invariants_of_its_scope(name: str) -> None:
    scope = SCOPES.get(name)
    text = scope.tla.read_text("utf-8")
    assert re.search(rf"^-+ MODULE {name} -+$", text, re.MULTILINE)
    declared = text[text.index("\nCONSTANTS") : text.index("\nVARIABLES")]
    words = set(re.findall(r"\w+", re.sub(r"\\\*.*", "", declared))) - {"CONSTANTS"}
    assert words == {one.name for one in (*scope.constants, *scope.rules)} | {"judged"}
    for invariant in scope.invariants:
        assert re.search(rf"^{invariant} == ", text, re.MULTILINE), invariant


@pytest.mark.parametrize("name", list(SCOPES))
def test_a_module_names_every_choice_but_those_that_it_has_as_the_rest(name: str) -> None:
    scope = SCOPES.get(name)
    text = scope.tla.read_text("utf-8")
    choices = {choice for rule in scope.rules for choice in rule.choices}
    assert {choice for choice in choices if f'"{choice}"' not in text} == REST[name]


def test_a_configuration_gives_every_constant_and_invariant() -> None:
    setup = set_up(SCOPES.get("iep98"), mutant="no_completeness_wait", settings={"nodes": 2})
    text = tla.configuration(setup)
    assert text.startswith("\\* schema synchronization")
    given = dict(re.findall(r"^    (\w+) = (\S+)$", text, re.MULTILINE))
    assert given == {
        **{name: str(value) for name, value in setup.constants.items()},
        **{name: f'"{choice}"' for name, choice in setup.rules.items()},
    }
    assert (given["nodes"], given["wait"]) == ("2", '"never"')
    assert "\nINVARIANTS I1 I4\n" in text
    assert '\n    judged = {"I1", "I4"}\n' in text
