"""The judges' own upgrade of rows, and what they take for the same value."""

from typing import Any

import pytest

from ddlsim.checkers.case.rows import (
    differences,
    fits,
    is_identical,
    is_legal,
    is_same_value,
    upgraded,
)
from ddlsim.model.schema import Column, ColumnType, Table
from tests.support.history import BIGINT, INT, text

KEY = Column(0, "id", INT, nullable=False)


def table(version: int, *columns: Column) -> Table:
    return Table(1, "t", version, (KEY, *columns), (0,), "default")


ONE = table(1, Column(1, "v", INT))
RENAMED = table(2, Column(1, "u", INT))
RETYPED = table(2, Column(1, "v", text(11)))
WIDER = table(2, Column(1, "v", BIGINT))
AGAIN = table(3, Column(2, "v", INT, default=4, initial_default=5))


def test_columns_are_matched_by_their_ids() -> None:
    assert upgraded(((0, 7), (1, 70)), ONE, RENAMED) == ((0, 7), (1, 70))
    assert upgraded(((0, 7), (1, 70)), ONE, AGAIN) == ((0, 7), (2, 5))


def test_upgraded_leaves_out_columns_that_an_older_target_lacks() -> None:
    assert upgraded(((0, 7), (2, 70)), AGAIN, ONE) == ((0, 7),)


def test_a_row_of_a_retyped_column_keeps_its_value() -> None:
    assert differences(((0, 7), (1, 70)), ONE, ((0, 7), (1, "70")), RETYPED) == []
    assert differences(((0, 7), (1, 70)), ONE, ((0, 7), (1, "070")), RETYPED)
    assert differences(((0, 7), (1, 70)), ONE, ((0, 7), (1, "71")), RETYPED)


def test_a_deletion_is_not_a_row() -> None:
    assert differences(None, ONE, None, ONE) == []
    assert differences(None, ONE, ((0, 7), (1, 1)), ONE)
    assert differences(((0, 7), (1, 1)), ONE, None, ONE)


@pytest.mark.parametrize(
    ("value", "type_", "shown", "same"),
    [
        (5, INT, 5, True),
        (5, INT, 5.0, True),
        (5, INT, True, False),
        (1, INT, True, False),
        (5, INT, "5", True),
        (5, INT, "5 ", False),
        (5, INT, "five", False),
        (2**60 + 1, BIGINT, str(2**60 + 1), True),
        (2**60 + 1, BIGINT, str(2**60), False),
        (0.1, ColumnType("DOUBLE"), "0.1", True),
        (0.1, ColumnType("DOUBLE"), "0.10000001", False),
        (True, ColumnType("BOOLEAN"), "TRUE", True),
        (True, ColumnType("BOOLEAN"), "false", False),
        (None, INT, None, True),
        (None, INT, 0, False),
        (0, INT, None, False),
        ("1.50", ColumnType("DECIMAL", precision=5, scale=2), "1.5", True),
        ("1.50", ColumnType("DECIMAL", precision=5, scale=2), "1.51", False),
        ("x", ColumnType("DECIMAL", precision=5, scale=2), "y", False),
        ("12:00:00.1", ColumnType("TIME", precision=1), "12:00:00.100", True),
        ("12:00:00", ColumnType("TIME"), "12:00:01", False),
        ("AB", ColumnType("UUID"), "ab", True),
        ("AB", text(5), "ab", False),
    ],
)
def test_what_is_the_same_value(value: Any, type_: ColumnType, shown: Any, same: bool) -> None:
    assert is_same_value(value, type_, shown) is same


def test_a_row_is_legal_unless_it_lacks_what_it_must_have() -> None:
    assert is_legal(((0, 7), (1, None)), ONE) is None
    assert is_legal(((0, None), (1, 1)), ONE) == "id is NOT NULL and has no value"


@pytest.mark.parametrize(
    ("older", "newer", "value", "fit"),
    [
        (Column(1, "v", INT), Column(1, "v", BIGINT), 2**31 - 1, True),
        (Column(1, "v", INT), Column(1, "v", BIGINT), 2**31, False),
        (Column(1, "v", INT), Column(1, "v", BIGINT), -(2**31), True),
        (Column(1, "v", INT, nullable=False), Column(1, "v", INT), None, False),
        (Column(1, "v", INT, nullable=False), Column(1, "v", INT), 3, True),
        (Column(1, "v", text(3)), Column(1, "v", text(9)), "abc", True),
        (Column(1, "v", text(3)), Column(1, "v", text(9)), "abcd", False),
        (Column(1, "v", INT), Column(1, "v", text(20)), "5", False),
        (Column(2, "v", INT), Column(1, "v", INT), 5, False),
        (Column(1, "v", ColumnType("REAL")), Column(1, "v", ColumnType("DOUBLE")), 0.5, False),
        (
            Column(1, "v", ColumnType("TIME", precision=0)),
            Column(1, "v", ColumnType("TIME", precision=3)),
            "12:00:00.000",
            True,
        ),
        (
            Column(1, "v", ColumnType("DECIMAL", precision=2, scale=0)),
            Column(1, "v", ColumnType("DECIMAL", precision=9, scale=0)),
            "100",
            False,
        ),
        (
            Column(1, "v", ColumnType("VARBINARY", length=1)),
            Column(1, "v", ColumnType("VARBINARY", length=2)),
            "abcd",
            False,
        ),
        (Column(1, "v", ColumnType("BOOLEAN")), Column(1, "v", text(5)), True, True),
        (Column(1, "v", ColumnType("DATE")), Column(1, "v", text(10)), "2024-01-01", True),
    ],
)
def test_a_newer_row_fits_the_older_schema_or_not(
    older: Column, newer: Column, value: Any, fit: bool
) -> None:
    assert fits(((0, 7), (1, value)), table(2, newer), table(1, older)) is fit


def test_a_deletion_fits_any_schema() -> None:
    assert fits(None, WIDER, ONE)


def test_identical_rows_agree_in_type_too() -> None:
    """What differs there only is left to the rules for values."""
    assert is_identical(((0, 1), (1, None)), ((0, 1), (1, None)))
    assert not is_identical(((0, 1),), ((0, True),))
    assert not is_identical(((0, 1),), ((0, 1.0),))
    assert not is_identical(((0, 1),), ((1, 1),))
    assert not is_identical(((0, 1),), ((0, 1), (1, 2)))
