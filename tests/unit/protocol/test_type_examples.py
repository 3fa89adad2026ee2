"""A change of type that is not exact is explained by a value, or by the list that lacks it.

The oracle knows values only: it draws numbers of a type and asks whether the other type has them.
"""

import random
import struct
from decimal import Decimal, InvalidOperation, localcontext
from itertools import product
from math import isfinite

import pytest

from ddlsim.model.ddl import ColumnAltered
from ddlsim.model.schema import Column, ColumnType
from ddlsim.protocol.schema.column_types import convertible, fits_as_text, longest_text, widens
from ddlsim.protocol.schema.compatibility import IGNITE3, judge
from ddlsim.protocol.schema.type_examples import longest_value, outside


def decimal(precision: int, scale: int) -> ColumnType:
    return ColumnType("DECIMAL", precision=precision, scale=scale)


BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
DECIMALS = [decimal(*sizes) for sizes in ((1, 0), (3, 0), (5, 2), (7, 0), (8, 0), (9, 3), (10, 0))]
MORE = [decimal(*sizes) for sizes in ((19, 0), (2, 4), (60, 20), (400, 0), (1400, 1074))]
NUMERIC = [*map(ColumnType, (*BITS, "REAL", "DOUBLE")), *DECIMALS, *MORE]
PLACES = 1200
"""So many digits no number here has."""


def has(column_type: ColumnType, number: Decimal) -> bool:
    """Whether a numeric type has a number: integers by bits, floats by packing."""
    name = column_type.name
    if name in BITS:
        whole = number == number.to_integral_value()
        return whole and -(2 ** (BITS[name] - 1)) <= number < 2 ** (BITS[name] - 1)
    if name == "DECIMAL":
        shifted = number.scaleb(column_type.scale or 0)
        return shifted == shifted.to_integral_value() and abs(shifted) < Decimal(10) ** (
            column_type.precision or 0
        )
    try:
        packed = struct.pack("<f" if name == "REAL" else "<d", float(number))
    except OverflowError:
        return False
    return Decimal(struct.unpack("<f" if name == "REAL" else "<d", packed)[0]) == number


def drawn(column_type: ColumnType, dice: random.Random) -> Decimal:
    """A value of a numeric type, its ends and small ones included."""
    name = column_type.name
    if name in BITS:
        last = 2 ** (BITS[name] - 1) - 1
        return Decimal(
            dice.choice((last, -last - 1, dice.randint(-last, last), dice.randint(0, 9)))
        )
    if name == "DECIMAL":
        digits = "9" * (column_type.precision or 0)
        chosen = dice.choice((digits, "1", str(dice.randint(0, 10 ** min(len(digits), 30) - 1))))
        return Decimal(chosen).scaleb(-(column_type.scale or 0))
    form, size = ("<f", 4) if name == "REAL" else ("<d", 8)
    while True:
        number = struct.unpack(form, dice.choice((dice.randbytes(size), struct.pack(form, 0.5))))[0]
        if isfinite(number):
            return Decimal(number)


def read(text: str, column_type: ColumnType) -> Decimal | None:
    """A value as a sentence tells it; a binary one is the nearest to its decimal text."""
    if text.startswith("a number of "):
        digits = int(text.split()[3])
        return (Decimal(10) ** digits - 1).scaleb(-(column_type.scale or 0))
    number = Decimal(text)
    if column_type.name in ("REAL", "DOUBLE"):
        form = "<f" if column_type.name == "REAL" else "<d"
        return Decimal(struct.unpack(form, struct.pack(form, float(number)))[0])
    return number


@pytest.mark.parametrize("before", NUMERIC, ids=str)
def test_a_number_named_lies_outside_and_where_none_is_named_all_fit(before: ColumnType) -> None:
    for after in NUMERIC:
        named = outside(before, after)
        with localcontext() as context:
            context.prec = 4 * PLACES
            if named is not None:
                number = read(named, before)
                assert number is not None
                assert (has(before, number), has(after, number)) == (True, False), (after, named)
                continue
            dice = random.Random(f"{before} {after}")
            for number in (drawn(before, dice) for _ in range(60)):
                assert has(before, number)
                assert has(after, number), (after, number)


def sentence(before: ColumnType, after: ColumnType) -> str:
    change = ColumnAltered(Column(1, "v", before), Column(1, "v", after))
    return judge(change)[0].reason


TEXT5 = ColumnType("VARCHAR", length=5)
SECOND, MILLI = (ColumnType("TIMESTAMP", precision=digits) for digits in (0, 3))
SAID = [
    (ColumnType("SMALLINT"), ColumnType("DOUBLE"), "no rule of IEP-110 makes SMALLINT to DOUBLE"),
    (ColumnType("INTEGER"), decimal(10, 0), "no rule of IEP-110 makes INTEGER to DECIMAL(10, 0)"),
    (decimal(7, 2), decimal(9, 3), "no rule of IEP-110 makes DECIMAL(7, 2) to DECIMAL(9, 3)"),
    (ColumnType("DATE"), MILLI, "no rule of IEP-110 makes DATE to TIMESTAMP(3) compatible"),
    (ColumnType("INTEGER"), ColumnType("SMALLINT"), "32768 is an INTEGER and no SMALLINT"),
    (ColumnType("INTEGER"), ColumnType("REAL"), "16777217 is an INTEGER and no REAL"),
    (ColumnType("DOUBLE"), ColumnType("BIGINT"), "0.5 is a DOUBLE and no BIGINT"),
    (ColumnType("DOUBLE"), ColumnType("REAL"), "0.1 is a DOUBLE and no REAL"),
    (decimal(9, 3), decimal(9, 2), "0.001 is a DECIMAL(9, 3) and no DECIMAL(9, 2)"),
    (decimal(9, 0), decimal(8, 0), "100000000 is a DECIMAL(9, 0) and no DECIMAL(8, 0)"),
    (ColumnType("VARCHAR", length=9), TEXT5, "a value of 6 characters is a VARCHAR(9) and no"),
    (ColumnType("INTEGER"), TEXT5, "-2147483648 is an INTEGER whose text takes 11 characters"),
    (MILLI, SECOND, "2026-12-31 12:34:56.1 is a TIMESTAMP(3) and no TIMESTAMP(0)"),
    (MILLI, ColumnType("DATE"), "2026-12-31 12:34:56 is a TIMESTAMP(3) and no DATE"),
    (ColumnType("TIME", precision=0), ColumnType("DATE"), "12:34:56 is a TIME(0) and no DATE"),
]


@pytest.mark.parametrize(("before", "after", "words"), SAID)
def test_the_sentence_is_true_of_values(before: ColumnType, after: ColumnType, words: str) -> None:
    assert sentence(before, after).startswith(words)


SIZED = [
    *(ColumnType(name, length=length) for name in ("VARCHAR", "VARBINARY") for length in (1, 7)),
    *(ColumnType(name, precision=digits) for name in ("TIME", "TIMESTAMP") for digits in (0, 6)),
    ColumnType("TIMESTAMP WITH LOCAL TIME ZONE", precision=3),
    *map(ColumnType, ("BOOLEAN", "UUID", "DATE")),
]


@pytest.mark.parametrize("column_type", [*NUMERIC, *SIZED], ids=str)
def test_the_value_with_the_longest_text_has_this_length(column_type: ColumnType) -> None:
    value = longest_value(column_type)
    if not value.startswith("a "):
        assert len(value) == longest_text(column_type)
        try:
            assert column_type not in NUMERIC or read(value, column_type) is not None
        except InvalidOperation:
            pytest.fail(value)


def test_a_change_by_a_rule_has_no_value_outside() -> None:
    """And every other change that there is has a sentence, by either rule set."""
    for before, after in product([*NUMERIC, *SIZED], repeat=2):
        if before == after or not convertible(before, after):
            continue
        change = ColumnAltered(Column(1, "v", before), Column(1, "v", after))
        exact = widens(before, after) or fits_as_text(before, after)
        if exact and after.name != "VARCHAR":
            assert outside(before, after) is None
        assert judge(change)[0].compatible is exact
        assert judge(change, rules=IGNITE3)[0].reason
