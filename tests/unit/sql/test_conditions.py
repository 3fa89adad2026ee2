"""Which CHECK expressions become conditions that are enforced."""

import pytest

from ddlsim.model.ddl import ConstraintSpec, CreateTable
from ddlsim.model.schema import Comparison, IsNull, Junction
from tests.support.schemas import statement


def check(expression: str) -> ConstraintSpec:
    made = statement(f"CREATE TABLE t (id INT PRIMARY KEY, CHECK ({expression}))")
    assert isinstance(made, CreateTable)
    (constraint,) = made.constraints
    return constraint


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("v > 0", Comparison(0, ">", 0)),
        ("0 > v", Comparison(0, "<", 0)),
        ("V <> 'x'", Comparison(0, "<>", "x")),
        ("v >= -2.5", Comparison(0, ">=", -2.5)),
        ("v = TRUE", Comparison(0, "=", True)),
        ("(v IS NULL)", IsNull(0)),
        ("v IS NOT NULL", IsNull(0, negated=True)),
    ],
)
def test_a_comparison_of_one_column(expression: str, condition: object) -> None:
    found = check(expression)
    assert (found.columns, found.condition) == (("v",), condition)


def test_and_binds_closer_than_or_and_columns_are_counted_once() -> None:
    found = check('v > 0 OR w < 1 AND ("W" = 2 OR v IS NULL)')
    assert found.columns == ("v", "w", "W")
    inner = Junction("or", (Comparison(2, "=", 2), IsNull(0)))
    second = Junction("and", (Comparison(1, "<", 1), inner))
    assert found.condition == Junction("or", (Comparison(0, ">", 0), second))


@pytest.mark.parametrize(
    "expression",
    [
        "v + 1 > 0",
        "NOT v > 0",
        "v > w",
        "v BETWEEN 1 AND 2",
        "v = NULL",
        "1 > 0",
        "t.v > 0",
        "v > 1e999",
        "length(v) > 2",
        "v > 0 AND v + 1 > 0",
    ],
)
def test_any_other_expression_stays_text(expression: str) -> None:
    found = check(expression)
    assert (found.columns, found.condition) == ((), None)
    assert found.text == f"CHECK ({expression})"


def test_a_unique_constraint_names_its_columns() -> None:
    made = statement("CREATE TABLE t (id INT PRIMARY KEY, v INT UNIQUE, UNIQUE (id, v))")
    assert isinstance(made, CreateTable)
    assert [one.columns for one in made.constraints] == [("v",), ("id", "v")]
