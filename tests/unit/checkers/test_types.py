"""Exact widening, to the last character of the longest text."""

import pytest

from sim.checkers.types import is_exact_widening, longest_text
from sim.model.schema import ColumnType
from tests.helpers_history import text


def type_(name: str, *sizes: int) -> ColumnType:
    if name in {"VARCHAR", "VARBINARY"}:
        return ColumnType(name, length=sizes[0] if sizes else None)
    return ColumnType(
        name, precision=sizes[0] if sizes else None, scale=sizes[1] if len(sizes) > 1 else None
    )


@pytest.mark.parametrize(
    ("before", "after", "exact"),
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
        (("VARBINARY", 5), ("VARBINARY", 6), True),
        (("DECIMAL", 5, 2), ("DECIMAL", 6, 2), True),
        (("DECIMAL", 5, 2), ("DECIMAL", 6, 3), False),
        (("DECIMAL", 5), ("DECIMAL", 5, 0), True),
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
def test_exact_widening(before: tuple[str, int], after: tuple[str, int], exact: bool) -> None:
    assert is_exact_widening(type_(*before), type_(*after)) is exact


@pytest.mark.parametrize(
    ("source", "longest"),
    [
        (("TINYINT",), 4),
        (("SMALLINT",), 6),
        (("INTEGER",), 11),
        (("BIGINT",), 20),
        (("BOOLEAN",), 5),
        (("UUID",), 36),
        (("DATE",), 10),
        (("TIME",), 8),
        (("TIME", 3), 12),
        (("TIMESTAMP", 0), 19),
        (("TIMESTAMP",), 26),
        (("DECIMAL", 5, 2), 7),
        (("DECIMAL", 5, 0), 6),
        (("DECIMAL", 2, 2), 5),
        (("VARBINARY", 3), 6),
    ],
)
def test_anything_goes_to_a_varchar_that_has_room(source: tuple[str, int], longest: int) -> None:
    assert longest_text(type_(*source)) == longest
    assert is_exact_widening(type_(*source), text(longest))
    assert not is_exact_widening(type_(*source), text(longest - 1))
    assert is_exact_widening(type_(*source), text())


@pytest.mark.parametrize("source", [("DECIMAL",), ("VARBINARY",)])
def test_a_type_without_a_bound_never_fits(source: tuple[str]) -> None:
    assert longest_text(type_(*source)) is None
    assert not is_exact_widening(type_(*source), text())
