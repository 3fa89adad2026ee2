"""IEP-110's table as the judges read it, one row a test."""

from typing import Any

import pytest

from ddlsim.checkers.spec.spec import (
    NoRuleError,
    forward_compatible,
    harmless_to_older,
    judgeable_by_row,
    judged,
    judged_step,
    rulings,
)
from ddlsim.model import ddl
from ddlsim.model.schema import Column, Constraint, Index
from tests.support.history import BIGINT, INT, add_column, drop_constraint, text

V = Column(1, "v", INT)
CHECK = Constraint(1, "c", "check", "v > 0")


def altered(**changes: Any) -> ddl.ColumnAltered:
    fields = {"nullable": True, "default": None, "type": INT, "name": "v"}
    before = Column(1, **{**fields, **changes.pop("before", {})})
    return ddl.ColumnAltered(before, Column(1, **{**fields, **changes}))


@pytest.mark.parametrize(
    ("change", "compatible", "clause"),
    [
        (ddl.ObjectCreated(), True, "110.table.create"),
        (ddl.ObjectDropped(), False, "110.table.drop"),
        (ddl.ObjectRenamed("a", "b"), False, "110.table.rename"),
        (add_column(2, "w"), True, "110.column.add"),
        (add_column(2, "w", nullable=False, default=1), True, "110.column.add"),
        (add_column(2, "w", nullable=False, default=0), True, "110.column.add"),
        (add_column(2, "w", nullable=False), False, "110.column.add"),
        (ddl.ColumnDropped(V), False, "110.column.drop"),
        (ddl.ColumnRenamed(1, "v", "w"), True, "110.column.rename"),
        (altered(before={"nullable": False}), True, "110.column.nullable"),
        (altered(nullable=False), False, "110.column.nullable"),
        (altered(default=5), False, "110.column.default"),
        (altered(before={"default": 5}), False, "110.column.default"),
        (altered(before={"default": 5}, default=6), False, "110.column.default"),
        (altered(type=BIGINT), True, "110.column.type"),
        (altered(type=text(11)), True, "110.column.type"),
        (altered(type=text(10)), False, "110.column.type"),
        (ddl.ConstraintDropped(CHECK), True, "110.constraint.drop"),
        (ddl.ConstraintAdded(CHECK), False, "110.ours.constraint.add"),
        (ddl.IndexCreated(Index(1, "i", (1,))), True, "110.ours.index.create"),
        (ddl.IndexCreated(Index(1, "i", (1,), unique=True)), False, "110.ours.index.unique"),
        (ddl.IndexDropped(Index(1, "i", (1,))), True, "110.ours.index.drop"),
        (ddl.ZoneAltered(), True, "110.zone"),
    ],
)
def test_each_rule(change: Any, compatible: bool, clause: str) -> None:
    assert forward_compatible(change) is compatible
    assert judged(change).clause == clause


def test_all_rules_that_match_are_applied() -> None:
    """[110.mixed]: INT NOT NULL to BIGINT DEFAULT 42."""
    change = altered(before={"nullable": False}, type=BIGINT, default=42)
    assert [ruling.clause for ruling in rulings(change)] == [
        "110.column.nullable",
        "110.column.default",
        "110.column.type",
    ]
    assert judged(change).clause == "110.column.default"


def test_a_default_told_under_another_type_is_the_same_default() -> None:
    assert forward_compatible(altered(before={"default": 5}, type=text(20), default="5"))
    assert not forward_compatible(altered(before={"default": 5}, type=text(20), default="6"))


def test_one_incompatible_change_decides_a_step() -> None:
    assert judged_step([add_column(2, "w"), ddl.ColumnDropped(V)]).clause == "110.column.drop"
    assert judged_step([add_column(2, "w"), drop_constraint()]).compatible


@pytest.mark.parametrize("change", [altered(), object()])
def test_what_no_rule_judges_is_an_error(change: Any) -> None:
    with pytest.raises(NoRuleError):
        forward_compatible(change)


def test_a_step_of_no_changes_is_an_error() -> None:
    with pytest.raises(NoRuleError):
        judged_step([])


@pytest.mark.parametrize(
    ("change", "by_type", "by_row"),
    [
        (add_column(2, "w"), True, True),
        (ddl.ColumnRenamed(1, "v", "w"), True, True),
        (ddl.IndexDropped(Index(1, "i", (1,))), True, True),
        (ddl.IndexCreated(Index(1, "i", (1,))), True, True),
        (ddl.IndexCreated(Index(1, "i", (1,), unique=True)), False, False),
        (altered(type=BIGINT), False, True),
        (drop_constraint(), False, False),
        (ddl.ColumnDropped(V), False, False),
        (ddl.ObjectRenamed("a", "b"), False, False),
    ],
)
def test_what_a_reader_on_the_older_schema_may_meet(
    change: Any, by_type: bool, by_row: bool
) -> None:
    assert harmless_to_older([change]) is by_type
    assert judgeable_by_row([change]) is by_row
