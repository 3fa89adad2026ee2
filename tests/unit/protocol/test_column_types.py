"""What types hold: the longest texts, the exact conversions, and the constants that fit."""

from calendar import monthrange
from decimal import Decimal
from itertools import product

import pytest

from ddlsim.model.schema import ColumnType, Value
from ddlsim.protocol.schema.column_types import (
    Misfit,
    convertible,
    fit,
    fit_constant,
    fits_as_text,
    longest_text,
    shown_as,
    text_of,
    widens,
)


def varchar(length: int | None = None) -> ColumnType:
    return ColumnType("VARCHAR", length=length)


def decimal(precision: int | None, scale: int | None = None) -> ColumnType:
    return ColumnType("DECIMAL", precision=precision, scale=scale)


LOCAL = "TIMESTAMP WITH LOCAL TIME ZONE"

EXTREMES: list[tuple[ColumnType, list[str]]] = [
    (ColumnType("BOOLEAN"), [text_of(value=False), text_of(value=True)]),
    (ColumnType("TINYINT"), [text_of(-128), text_of(127)]),
    (ColumnType("SMALLINT"), [text_of(-(2**15)), text_of(2**15 - 1)]),
    (ColumnType("INTEGER"), [text_of(-(2**31)), text_of(2**31 - 1)]),
    (ColumnType("BIGINT"), [text_of(-(2**63)), text_of(2**63 - 1)]),
    (ColumnType("DOUBLE"), [text_of(-2.2250738585072014e-308), text_of(-1.7976931348623157e308)]),
    (ColumnType("REAL"), ["-1.17549435e-38", "-3.4028235e+38"]),
    (ColumnType("DATE"), ["9999-12-31"]),
    (ColumnType("UUID"), ["00000000-0000-4000-8000-000000000000"]),
    (varchar(7), ["x" * 7]),
    (ColumnType("VARBINARY", length=3), [b"abc".hex()]),
    (decimal(5), ["-99999"]),
    (decimal(5, 2), ["-999.99"]),
    (decimal(2, 2), ["-0.99"]),
    (decimal(2, 4), ["-0.0099"]),
    (ColumnType("TIME", precision=0), ["23:59:59"]),
    (ColumnType("TIME", precision=3), ["23:59:59.999"]),
    (ColumnType("TIMESTAMP", precision=0), ["9999-12-31 23:59:59"]),
    (ColumnType("TIMESTAMP", precision=6), ["9999-12-31 23:59:59.999999"]),
    (ColumnType(LOCAL, precision=0), ["9999-12-31 23:59:59Z"]),
    (ColumnType(LOCAL, precision=6), ["9999-12-31 23:59:59.999999Z"]),
]


@pytest.mark.parametrize(("column_type", "texts"), EXTREMES, ids=lambda case: str(case)[:30])
def test_the_longest_text_is_reached_and_never_passed(
    column_type: ColumnType, texts: list[str]
) -> None:
    assert longest_text(column_type) == max(map(len, texts))


def test_a_varchar_has_enough_capacity_from_the_longest_text_on() -> None:
    for column_type, _ in EXTREMES:
        longest = longest_text(column_type)
        assert fits_as_text(column_type, varchar(longest))
        assert not fits_as_text(column_type, varchar(longest - 1))
        assert not fits_as_text(column_type, ColumnType("VARBINARY", length=99))


def test_what_is_not_written_is_the_systems_default() -> None:
    assert longest_text(varchar()) == 65536
    assert longest_text(ColumnType("VARBINARY")) == 2 * 65536
    assert longest_text(decimal(None)) == 1 + 32767
    assert longest_text(ColumnType("TIME")) == 8
    assert longest_text(ColumnType("TIMESTAMP")) == 26


WIDER = [
    ("TINYINT", "SMALLINT"),
    ("SMALLINT", "INTEGER"),
    ("INTEGER", "BIGINT"),
    ("TINYINT", "BIGINT"),
    ("REAL", "DOUBLE"),
]


@pytest.mark.parametrize(("narrow", "wide"), WIDER)
def test_integers_and_floats_widen_along_their_ladders(narrow: str, wide: str) -> None:
    assert widens(ColumnType(narrow), ColumnType(wide))
    assert not widens(ColumnType(wide), ColumnType(narrow))


@pytest.mark.parametrize("name", ["TIME", "TIMESTAMP", LOCAL])
def test_date_times_widen_by_precision_and_only_within_their_type(name: str) -> None:
    assert widens(ColumnType(name, precision=3), ColumnType(name, precision=6))
    assert not widens(ColumnType(name, precision=6), ColumnType(name, precision=3))
    other = "TIME" if name != "TIME" else "TIMESTAMP"
    assert not widens(ColumnType(name, precision=3), ColumnType(other, precision=6))


def test_decimals_widen_by_precision_at_equal_scale() -> None:
    assert widens(decimal(5, 2), decimal(7, 2))
    assert not widens(decimal(7, 2), decimal(5, 2))
    assert not widens(decimal(5, 2), decimal(9, 3))
    assert not widens(decimal(5, 2), decimal(9, 1))
    assert widens(decimal(5), decimal(5, 0))


@pytest.mark.parametrize("name", ["VARCHAR", "VARBINARY"])
def test_strings_widen_by_length(name: str) -> None:
    assert widens(ColumnType(name, length=5), ColumnType(name, length=6))
    assert not widens(ColumnType(name, length=6), ColumnType(name, length=5))
    assert widens(ColumnType(name, length=5), ColumnType(name))


@pytest.mark.parametrize(
    ("before", "after"),
    [("INTEGER", "DOUBLE"), ("INTEGER", "DECIMAL"), ("DATE", "TIMESTAMP"), ("BIGINT", "REAL")],
)
def test_no_other_family_is_wider(before: str, after: str) -> None:
    assert not widens(ColumnType(before), ColumnType(after))
    assert convertible(ColumnType(before), ColumnType(after))


@pytest.mark.parametrize(
    ("before", "after"),
    [("VARCHAR", "INTEGER"), ("BOOLEAN", "DATE"), ("UUID", "BIGINT"), ("VARBINARY", "UUID")],
)
def test_some_types_have_no_conversion_at_all(before: str, after: str) -> None:
    assert not convertible(ColumnType(before), ColumnType(after))
    assert convertible(ColumnType(before), varchar(1))
    assert convertible(ColumnType(before), ColumnType(before))


FITTING: list[tuple[Value, ColumnType, Value]] = [
    (None, ColumnType("INTEGER"), None),
    (-128, ColumnType("TINYINT"), -128),
    (127, ColumnType("TINYINT"), 127),
    (5, ColumnType("DOUBLE"), 5.0),
    (True, ColumnType("BOOLEAN"), True),
    ("abc", varchar(3), "abc"),
    (42, varchar(2), "42"),
    (1.5, decimal(3, 2), "1.50"),
    (0, decimal(3, 2), "0.00"),
    (-9, decimal(3, 2), "-9.00"),
    (0, decimal(1, 2), "0.00"),
    (0.09, decimal(1, 2), "0.09"),
    ("12", decimal(2), "12"),
    ("abcdef", ColumnType("VARBINARY", length=3), "abcdef"),
    ("2026-01-01", ColumnType("DATE"), "2026-01-01"),
]


@pytest.mark.parametrize(("value", "column_type", "held"), FITTING)
def test_a_constant_that_fits(value: Value, column_type: ColumnType, held: Value) -> None:
    found = fit(value, column_type)
    assert found == held
    assert type(found) is type(held)


@pytest.mark.parametrize(
    ("value", "column_type"),
    [
        (128, ColumnType("TINYINT")),
        (-129, ColumnType("TINYINT")),
        (1.5, ColumnType("INTEGER")),
        (True, ColumnType("INTEGER")),
        ("1", ColumnType("INTEGER")),
        (1, ColumnType("BOOLEAN")),
        ("abcd", varchar(3)),
        (10, decimal(3, 2)),
        (0.125, decimal(3, 2)),
        (0.1, decimal(1, 2)),
        (True, decimal(3, 2)),
        ("x", decimal(3, 2)),
        ("NaN", decimal(3, 2)),
        ("abcdefab", ColumnType("VARBINARY", length=3)),
        (5, ColumnType("DATE")),
    ],
)
def test_a_constant_that_does_not_fit(value: Value, column_type: ColumnType) -> None:
    assert isinstance(fit(value, column_type), Misfit)


def test_a_decimal_constant_has_all_digits_of_its_scale() -> None:
    held = fit(-0.01, decimal(4, 4))
    assert held == "-0.0100"
    assert Decimal(str(held)) == Decimal("-0.01")


def test_only_text_columns_change_how_a_value_shows() -> None:
    assert shown_as(5, varchar(9)) == "5"
    assert shown_as("5", varchar(9)) == "5"
    assert shown_as(None, varchar(9)) is None
    assert shown_as(5, ColumnType("BIGINT")) == 5
    assert shown_as(value=True, column_type=varchar(9)) == "true"
    assert shown_as(2.5, varchar(9)) == "2.5"


CONSTANTS = [
    ("DATE", "2026-02-28", True),
    ("DATE", "2026-02-30", False),
    ("DATE", "x", False),
    ("DATE", "0000-01-01", False),
    ("DATE", "2026-00-01", False),
    ("DATE", "2026-01-00", False),
    ("DATE", "20260228", False),
    ("TIME", "23:59:59.123456789", True),
    ("TIME", "24:00:00", False),
    ("TIMESTAMP", "2026-01-01 00:00:00", True),
    ("TIMESTAMP", "2026-01-01T00:00:00.5", True),
    ("TIMESTAMP", "2026-13-01 00:00:00", False),
    ("TIMESTAMP", "", False),
    (LOCAL, "2026-01-01 00:00:00.5Z", True),
    (LOCAL, "now", False),
    ("UUID", "01234567-89ab-CDEF-0123-456789abcdef", True),
    ("UUID", "x", False),
]


@pytest.mark.parametrize(("name", "text", "fits"), CONSTANTS)
def test_a_constant_has_to_read_as_its_type(name: str, text: str, *, fits: bool) -> None:
    assert (fit_constant(text, ColumnType(name)) == text) is fits
    assert fit(text, ColumnType(name)) == text
    assert fit_constant(None, ColumnType(name)) is None


@pytest.mark.parametrize("year", [1, 1900, 2000, 2024, 2025, 2100, 9999])
def test_the_days_that_read_are_those_of_the_calendar(year: int) -> None:
    for month, day in product(range(14), range(33)):
        text = f"{year:04}-{month:02}-{day:02}"
        known = 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
        assert (fit_constant(text, ColumnType("DATE")) == text) is known
