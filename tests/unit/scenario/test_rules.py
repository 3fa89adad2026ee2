"""The rules of each field: what a scenario may name, and that no rule is forgotten."""

import inspect
import re

import pytest

from ddlsim.layer.rules import fences, plans, publishing, reading, waiting
from ddlsim.mutants.base import MUTANTS
from ddlsim.protocol.strategy import CheckPoints, Publication
from ddlsim.scenario.findings import described
from ddlsim.scenario.rules import (
    FDB,
    IGNITE,
    MODULES,
    NONE,
    BadRuleError,
    fields_of_designs,
    is_number,
    name_of,
    planes,
    rules_of,
    value_of,
)
from ddlsim.strategies.base import STRATEGIES

NO_RULES = {
    "acknowledged",
    "adds_mandatory_columns",
    "allowed",
    "is_table_version",
    "logged",
    "looked_up",
    "renamed_by_design",
    "validate",
}
"""Functions beside the rules that rules are made of."""


def test_each_function_beside_the_rules_is_a_rule_of_some_field() -> None:
    """A new one that no design has is added to `ALSO` of `ddlsim.scenario.rules`."""
    known = {name for field in fields_of_designs() for name in rules_of(field)}
    written = {
        name
        for module in MODULES
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (
            (inspect.isfunction(value) and value.__module__ == module.__name__)
            or isinstance(value, CheckPoints | Publication)
        )
    }
    assert written - known == NO_RULES
    assert not NO_RULES & known


@pytest.mark.parametrize("field", fields_of_designs())
def test_the_default_stands_first_and_every_rule_gives_itself(field: str) -> None:
    rules = list(rules_of(field).values())
    assert is_number(field) == (not rules)
    assert [rule.default for rule in rules] == [True, *[False] * (len(rules) - 1)][: len(rules)]
    for rule in rules:
        assert value_of(field, rule.name) is rule.value
        assert rule.summary


@pytest.mark.parametrize("plane", [IGNITE, FDB])
def test_a_summary_stands_alone(plane: str) -> None:
    """It leads back to no other one, whose place in the list is another, and is no Python."""
    rules = [one for field in fields_of_designs(plane) for one in rules_of(field, plane).values()]
    told = [rule.summary for rule in rules]
    assert [one for one in told if re.search(r"^The same|=(True|False)|\(\)", one)] == []


def test_the_summary_of_a_record_names_what_it_has_switched_on() -> None:
    points, options = rules_of("check_operation_when"), rules_of("options", FDB)
    assert points["ARRIVAL_ONLY"].summary == "Switched on: on arrival, deleted rows."
    assert options["CAUSAL_WRITE_RISKY"].summary == "Switched on: causal write risky."
    assert options["DEFAULTS"].summary == "Switched on: nothing."


def test_what_a_design_or_a_finding_names_is_a_rule() -> None:
    for name in STRATEGIES:
        for field in fields_of_designs():
            value = getattr(STRATEGIES.get(name), field)
            assert is_number(field) or name_of(value) in rules_of(field), (name, field)
    for finding in described():
        for field, rule in finding.closing.items():
            assert rule in rules_of(field), finding.id


def test_each_rule_of_layers_that_names_a_schedule_may_be_chosen() -> None:
    """`(C6-T2)` in a docstring: a scenario shows what the rule breaks."""
    known = {name for field in fields_of_designs(FDB) for name in rules_of(field, FDB)}
    written = {
        name
        for module in (fences, plans, publishing, reading, waiting)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and re.search(r"\(C\d+\w*-T\d\)", value.__doc__ or "")
    }
    assert len(written) > 10
    assert written <= known


@pytest.mark.parametrize("field", fields_of_designs(FDB))
def test_every_rule_of_layers_gives_itself(field: str) -> None:
    for rule in rules_of(field, FDB).values():
        assert value_of(field, rule.name, FDB) is rule.value
        assert rule.summary


def test_a_rule_can_be_left_out_where_a_design_may_have_none() -> None:
    assert value_of("validate_at_finish", NONE) is None
    with pytest.raises(BadRuleError, match="no rule of it is called 'none'"):
        value_of("check_commit", NONE)


# --- what a rule takes ----------------------------------------------------------------------------


def shape(rule: object) -> tuple[object, ...]:
    """How a rule is called: what comes by place, what by name, and whether it may wait."""
    if not inspect.isfunction(rule):
        return (type(rule),)
    taken = inspect.signature(rule).parameters.values()
    by_name = tuple(one.name for one in taken if one.kind is one.KEYWORD_ONLY)
    return len(taken), by_name, inspect.iscoroutinefunction(rule)


def misfits(field: str, rule: object, plane: str = "ignite") -> bool:
    """Whether a rule is called in another way than the first one of its field."""
    known = [one.value for one in rules_of(field, plane).values() if one.value is not None]
    return rule is not None and bool(known) and shape(rule) != shape(known[0])


def test_rules_of_a_field_are_all_called_alike() -> None:
    """Those of mutants too, which are put into the record by the name of the field."""
    held = [
        (field, rule.value, plane)
        for plane in planes()
        for field in fields_of_designs(plane)
        for rule in rules_of(field, plane).values()
    ]
    mutants = [MUTANTS.get(name) for name in MUTANTS]
    held += [(field, rule, one.plane) for one in mutants for field, rule in one.fields.items()]
    assert [each for each in held if misfits(*each)] == []


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("check_commit", lambda steps, catalog: None),
        ("judges_commit", lambda wrote, queried: True),
        ("resolve_schema", lambda sync, op_ts: sync.catalog.at(op_ts)),
        ("check_operation_when", lambda: None),
        ("check_tuple", CheckPoints(on_arrival=True, after_locks=True)),
    ],
)
def test_a_rule_that_is_called_otherwise_is_found(field: str, rule: object) -> None:
    assert misfits(field, rule)
