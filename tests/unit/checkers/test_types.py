"""The judges' types: which values each has, to the last digit and character."""

import pytest

from ddlsim.checkers.spec.spec import forward_compatible
from ddlsim.checkers.spec.types import Datum, Repeated, domain, holds, read, size, upgraded_datum
from ddlsim.model.ddl import ColumnAltered
from ddlsim.model.schema import Column, ColumnType, Value
from tests.support.history import text

Written = tuple[str, *tuple[int, ...]]


def type_(name: str, *sizes: int) -> ColumnType:
    if name in {"VARCHAR", "VARBINARY"}:
        return ColumnType(name, length=sizes[0] if sizes else None)
    return ColumnType(
        name, precision=sizes[0] if sizes else None, scale=sizes[1] if len(sizes) > 1 else None
    )


def exact(before: ColumnType, after: ColumnType) -> bool:
    """Whether the oracle lets a column of one type become one of another."""
    return before == after or forward_compatible(
        ColumnAltered(Column(1, "v", before), Column(1, "v", after))
    )


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        (("INTEGER",), ("BIGINT",), True),
        (("BIGINT",), ("INTEGER",), False),
        (("TINYINT",), ("BIGINT",), True),
        (("REAL",), ("DOUBLE",), True),
        (("DOUBLE",), ("REAL",), False),
        (("INTEGER",), ("DOUBLE",), False),
        (("INTEGER",), ("DECIMAL", 20, 0), False),
        (("VARCHAR", 5), ("VARCHAR", 6), True),
        (("VARCHAR", 5), ("VARCHAR", 4), False),
        (("VARCHAR", 5), ("VARCHAR",), True),
        (("VARCHAR",), ("VARCHAR", 5), False),
        (("VARCHAR", 2**31 - 2), ("VARCHAR", 2**31 - 1), True),
        (("VARCHAR", 2**31 - 1), ("VARCHAR", 2**31 - 2), False),
        (("VARBINARY", 5), ("VARBINARY", 6), True),
        (("VARBINARY", 6), ("VARBINARY", 5), False),
        (("DECIMAL", 5, 2), ("DECIMAL", 6, 2), True),
        (("DECIMAL", 6, 2), ("DECIMAL", 5, 2), False),
        (("DECIMAL", 5, 2), ("DECIMAL", 6, 3), False),
        (("DECIMAL", 5), ("DECIMAL", 5, 0), True),
        (("DECIMAL", 32766), ("DECIMAL",), True),
        (("TIME", 3), ("TIME", 6), True),
        (("TIME",), ("TIME", 0), True),
        (("TIMESTAMP", 3), ("TIMESTAMP",), True),
        (("TIMESTAMP",), ("TIMESTAMP", 3), False),
        (("TIME", 3), ("TIMESTAMP", 3), False),
        (("TIMESTAMP", 3), ("TIMESTAMP WITH LOCAL TIME ZONE", 3), False),
        (("DATE",), ("TIMESTAMP", 0), False),
        (("BOOLEAN",), ("INTEGER",), False),
        (("VARCHAR", 5), ("VARBINARY", 50), False),
    ],
)
def test_a_type_becomes_another_if_its_edges_do(
    before: Written, after: Written, allowed: bool
) -> None:
    assert exact(type_(*before), type_(*after)) is allowed


@pytest.mark.parametrize(
    ("source", "longest"),
    [
        (("TINYINT",), 4),
        (("SMALLINT",), 6),
        (("INTEGER",), 11),
        (("BIGINT",), 20),
        (("REAL",), 15),
        (("DOUBLE",), 24),
        (("BOOLEAN",), 5),
        (("UUID",), 36),
        (("DATE",), 10),
        (("TIME",), 8),
        (("TIME", 3), 12),
        (("TIMESTAMP", 0), 19),
        (("TIMESTAMP",), 26),
        (("TIMESTAMP WITH LOCAL TIME ZONE", 9), 30),
        (("DECIMAL", 5, 2), 7),
        (("DECIMAL", 5, 0), 6),
        (("DECIMAL", 2, 2), 5),
        (("DECIMAL", 1, 7), 10),
        (("DECIMAL",), 32768),
        (("VARBINARY", 3), 6),
    ],
)
def test_anything_goes_to_a_varchar_that_has_room(source: Written, longest: int) -> None:
    before = type_(*source)
    assert max(size(domain(before).text(edge)) for edge in domain(before).edges) == longest
    assert exact(before, text(longest))
    assert not exact(before, text(longest - 1))
    assert exact(before, text())


def test_a_binary_string_of_the_longest_length_has_no_room_as_text() -> None:
    assert not exact(type_("VARBINARY"), text())


@pytest.mark.parametrize(
    ("value", "source", "meant"),
    [
        (None, ("INTEGER",), None),
        (5, ("INTEGER",), Datum("integer", 5)),
        (5, ("DOUBLE",), Datum("real", 5.0)),
        (True, ("BOOLEAN",), Datum("boolean", "true")),
        (True, ("VARCHAR", 9), Datum("text", "true")),
        (5, ("VARCHAR", 9), Datum("text", "5")),
        ("1.5", ("DECIMAL", 5, 2), Datum("decimal", "1.50")),
        ("1.555", ("DECIMAL", 5, 2), Datum("unreadable", "1.555")),
        (1, ("DECIMAL", 1, 1), Datum("unreadable", "1")),
        (300, ("TINYINT",), Datum("unreadable", "300")),
        ("much", ("DECIMAL", 5, 2), Datum("unreadable", "much")),
        ("12:00:00.50", ("TIME", 3), Datum("time", "12:00:00.5")),
        ("12:00:00.0", ("TIME", 3), Datum("time", "12:00:00")),
        ("ABCD", ("UUID",), Datum("uuid", "abcd")),
        (True, ("INTEGER",), Datum("unreadable", "true")),
    ],
)
def test_a_cell_is_read_by_its_meaning(value: Value, source: Written, meant: Datum | None) -> None:
    assert read(value, type_(*source)) == meant


def test_unreadable_defaults_are_accepted_as_the_catalog_does() -> None:
    assert holds(type_("DECIMAL", 5, 2), Datum("unreadable", "much"))


@pytest.mark.parametrize(
    ("datum", "source", "shown"),
    [
        (Datum("time", "12:00:00.5"), ("TIME", 3), "12:00:00.500"),
        (Datum("timestamp with local time zone", "2024-02-29 23:59:59"),
         ("TIMESTAMP WITH LOCAL TIME ZONE", 0), "2024-02-29 23:59:59Z"),
        (Datum("real", 0.10000000149011612), ("REAL",), "0.1"),
        (Datum("real", 0.10000000149011612), ("DOUBLE",), "0.10000000149011612"),
        (Datum("bytes", Repeated("ff", 3)), ("VARBINARY", 3), Repeated("ff", 3)),
    ],
)  # fmt: skip
def test_the_text_of_a_value_is_that_of_its_type(
    datum: Datum, source: Written, shown: str | Repeated
) -> None:
    assert upgraded_datum(datum, type_(*source), text(99)) == Datum("text", shown)


def test_the_largest_real_has_a_text_and_what_is_beyond_is_none() -> None:
    largest = read(3.4028234663852886e38, ColumnType("REAL"))
    assert largest == Datum("real", 3.4028234663852886e38)
    assert upgraded_datum(largest, ColumnType("REAL"), text(99)) == Datum("text", "3.4028235e+38")
    assert read(3.5e38, ColumnType("REAL")) == Datum("unreadable", "3.5e+38")
    assert read(3.5e38, ColumnType("DOUBLE")) == Datum("real", 3.5e38)


def test_a_truth_value_is_written_alike_where_its_text_is_too_long() -> None:
    short = ColumnType("VARCHAR", length=4)
    assert read(False, short) == read("false", short) == Datum("unreadable", "false")
