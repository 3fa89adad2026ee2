"""Column types: what they hold, how long their texts are, and which conversions are exact.

IEP-110 calls a change of type compatible when there is *an exact conversion from the old type to
the new one*, and lists seven kinds [110.column.type]:

    1. wider integers               TINYINT < SMALLINT < INTEGER < BIGINT
    2. wider floating-point types   REAL < DOUBLE
    3. date-time types              higher precision, same type
    4. decimals                     higher precision, same scale
    5. VARCHAR                      longer
    6. VARBINARY                    longer
    7. anything to VARCHAR          with enough capacity

The text does not say what *enough* is. Read here: the longest canonical text of any value of the
type fits. Canonical texts are the shortest that SQL reads back as the same value, fractions of a
second padded to the precision, binary strings as two hexadecimal digits a byte, years from 0001 to
9999, and instants with local time zone as they are in UTC, with a closing `Z`.

A conversion that is not exact may still *exist* (BIGINT to INTEGER): the statement is then allowed
and every transaction in flight is judged incompatible. Where no conversion gives a result for every
value of the old type (VARCHAR to INTEGER, BOOLEAN to DATE) the statement itself is refused.

Values that a conversion does not change are left alone: decimals and date-times travel as text,
integers are unbounded in Python, and what a narrowing would do to a value that does not fit is not
modelled, because the rule that judges the narrowing does not look at values either.
"""

import re
import struct
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Final, NamedTuple

from ddlsim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    DEFAULT_LENGTH,
    DEFAULT_TIME_PRECISION,
    FLOAT_TYPES,
    INTEGER_TYPES,
    TEMPORAL_TYPES,
    Column,
    ColumnType,
    Value,
)

_INTEGER_BITS: Final = dict(zip(INTEGER_TYPES, (8, 16, 32, 64), strict=True))
_NUMERIC: Final = (*INTEGER_TYPES, *FLOAT_TYPES, "DECIMAL")
_DATE_TIMES: Final = (*TEMPORAL_TYPES, "DATE")
_FIXED_TEXTS: Final = {
    "BOOLEAN": 5,  # false
    "TINYINT": 4,  # -128
    "SMALLINT": 6,  # -32768
    "INTEGER": 11,  # -2147483648
    "BIGINT": 20,  # -9223372036854775808
    "REAL": 15,  # -1.17549435e-38: nine digits tell every value from its neighbours
    "DOUBLE": 24,  # -2.2250738585072014e-308: seventeen digits do
    "DATE": 10,  # 9999-12-31
    "UUID": 36,
}


class Misfit(NamedTuple):
    """A constant that a column cannot hold, and why."""

    message: str


def length_of(column_type: ColumnType) -> int:
    """The length of a VARCHAR or VARBINARY, written or not."""
    return DEFAULT_LENGTH if column_type.length is None else column_type.length


def precision_of(column_type: ColumnType) -> int:
    """The precision of a DECIMAL or date-time type, written or not."""
    if column_type.precision is not None:
        return column_type.precision
    if column_type.name == "DECIMAL":
        return DEFAULT_DECIMAL_PRECISION
    return DEFAULT_TIME_PRECISION[column_type.name]


def longest_text(column_type: ColumnType) -> int:
    """The length of the longest canonical text of any value of the type."""
    name = column_type.name
    if name in _FIXED_TEXTS:
        return _FIXED_TEXTS[name]
    if name == "VARCHAR":
        return length_of(column_type)
    if name == "VARBINARY":
        return 2 * length_of(column_type)
    precision = precision_of(column_type)
    if name == "DECIMAL":
        scale = column_type.scale or 0
        return 1 + max(precision - scale, 1) + (1 + scale if scale else 0)
    seconds = {"TIME": 8, "TIMESTAMP": 19, "TIMESTAMP WITH LOCAL TIME ZONE": 20}[name]
    return seconds + (1 + precision if precision else 0)


def widens(before: ColumnType, after: ColumnType) -> bool:
    """Whether every value of `before` is one of `after`, by cases 1 to 6."""
    for ladder in (INTEGER_TYPES, FLOAT_TYPES):
        if before.name in ladder and after.name in ladder:
            return ladder.index(before.name) <= ladder.index(after.name)
    if before.name != after.name:
        return False
    if before.name in ("VARCHAR", "VARBINARY"):
        return length_of(before) <= length_of(after)
    if before.name == "DECIMAL":
        same_scale = (before.scale or 0) == (after.scale or 0)
        return same_scale and precision_of(before) <= precision_of(after)
    return before.name not in TEMPORAL_TYPES or precision_of(before) <= precision_of(after)


def fits_as_text(before: ColumnType, after: ColumnType) -> bool:
    """Whether `after` is a VARCHAR with enough capacity for any value of `before`: case 7."""
    return after.name == "VARCHAR" and longest_text(before) <= length_of(after)


def convertible(before: ColumnType, after: ColumnType) -> bool:
    """Whether a conversion gives some result for every value, exact or not."""
    if after.name in ("VARCHAR", before.name):
        return True
    same_family = (before.name in family and after.name in family for family in _FAMILIES)
    return any(same_family)


_FAMILIES: Final = (_NUMERIC, _DATE_TIMES)


def text_of(value: Value) -> str:
    """The canonical text of a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def shown_as(value: Value, column_type: ColumnType) -> Value:
    """A stored value as a column of this type shows it."""
    if column_type.name != "VARCHAR" or value is None or isinstance(value, str):
        return value
    return text_of(value)


def fit(value: Value, column_type: ColumnType) -> Value | Misfit:
    """A constant as a column of this type holds it, or why it cannot."""
    if value is None:
        return None
    name = column_type.name
    misfit = Misfit(f"{text_of(value)!r} is not a value of {column_type}")
    if name == "VARCHAR":
        return text_of(value) if len(text_of(value)) <= length_of(column_type) else misfit
    if name == "DECIMAL":
        return _decimal(value, column_type) or misfit
    if name == "BOOLEAN":
        return value if isinstance(value, bool) else misfit
    if name in _NUMERIC:
        return _number(value, name, misfit)
    if name == "VARBINARY" and len(str(value)) > 2 * length_of(column_type):
        return misfit
    return value if isinstance(value, str) else misfit


def fit_constant(value: Value, column_type: ColumnType) -> Value | Misfit:
    """`fit` of a constant that a statement gives: a date-time or UUID has to read as one."""
    held = fit(value, column_type)
    form = _FORMS.get(column_type.name)
    if form is None or not isinstance(held, str):
        return held
    found = form.fullmatch(held)
    if found is None or not _exists(**found.groupdict()):
        return Misfit(f"{held!r} is not a value of {column_type}")
    return held


def holds(column_type: ColumnType, value: Value) -> bool:
    """Whether a row may have this value in a column of the type; a number is no text."""
    if value is None:
        return True
    if column_type.name == "VARCHAR" and not isinstance(value, str):
        return False
    return not isinstance(fit_constant(value, column_type), Misfit)


_DAY: Final = r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
_CLOCK: Final = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.\d{1,9})?"
_POINT: Final = re.compile(rf"{_DAY}(?:[ T]{_CLOCK})?Z?")
_FORMS: Final = {
    "DATE": re.compile(_DAY),
    "TIME": re.compile(_CLOCK),
    "TIMESTAMP": _POINT,
    "TIMESTAMP WITH LOCAL TIME ZONE": _POINT,
    "UUID": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}
"""How constants of these types are written."""
_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _exists(**parts: str | None) -> bool:
    """Whether a day is in the calendar, of the years 1 to 9999, and a time on the clock."""
    of = {name: int(part) for name, part in parts.items() if part is not None}
    if "year" in of:
        year, month, day = of["year"], of["month"], of["day"]
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if not (year and 1 <= month <= len(_MONTHS) and 1 <= day <= _MONTHS[month - 1]):
            return False
        if (month, day) == (2, 29) and not leap:
            return False
    return of.get("hour", 0) < 24 and of.get("minute", 0) < 60 and of.get("second", 0) < 60


def same_default(before: Column, after: Column) -> bool:
    """Whether a column's default means what it did: INT DEFAULT 5 and VARCHAR DEFAULT '5' do."""
    if before.default is None or after.default is None:
        return before.default is after.default
    old, new = fit(before.default, after.type), fit(after.default, after.type)
    if isinstance(old, Misfit) or isinstance(new, Misfit):
        return type(before.default) is type(after.default) and before.default == after.default
    return _plain(old, after.type) == _plain(new, after.type)


def meant(value: Value, column_type: ColumnType) -> Value:
    """A value as all have it that mean the same in a column of this type; a misfit as it is shown
    there, but a truth value among numbers, or a number among truth values, as text: TRUE is no 1.
    """
    held = fit(value, column_type)
    if not isinstance(held, Misfit):
        return _plain(held, column_type)
    name = column_type.name
    if name == "BOOLEAN" or (name in _NUMERIC and isinstance(value, bool)):
        return str(value)
    return shown_as(value, column_type)


def _plain(value: Value, column_type: ColumnType) -> Value:
    """A constant without what it may be spelled with or without, or is cut to the precision."""
    if not isinstance(value, str):
        return value
    if column_type.name in TEMPORAL_TYPES:
        seconds, point, fraction = value.removesuffix("Z").partition(".")
        fraction = fraction[: precision_of(column_type)].rstrip("0")
        return f"{seconds}{point}{fraction}" if fraction else seconds
    return value.lower() if column_type.name == "UUID" else value


def _number(value: Value, name: str, misfit: Misfit) -> Value | Misfit:
    """An integer or floating-point constant within the bounds of its type."""
    if isinstance(value, (bool, str)) or value is None:
        return misfit
    if name in FLOAT_TYPES:
        return _float(value, name, misfit)
    bound = 1 << (_INTEGER_BITS[name] - 1)
    return value if isinstance(value, int) and -bound <= value < bound else misfit


def _float(value: float, name: str, misfit: Misfit) -> float | Misfit:
    """A floating-point constant, unless it is beyond the largest number of its type."""
    try:
        number = float(value)
        struct.pack("<f" if name == "REAL" else "<d", number)
    except OverflowError:
        return misfit
    return number if isfinite(number) else misfit


def _decimal(value: Value, column_type: ColumnType) -> str | None:
    """A decimal constant as canonical text, with all digits of its scale; None if none fits."""
    if isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    scale = column_type.scale or 0
    if not number.is_finite():
        return None
    digits, exponent = number.normalize().as_tuple()[1:]
    assert isinstance(exponent, int), exponent
    room = precision_of(column_type) - scale
    if -exponent > scale or (number and len(digits) + exponent > room):
        return None
    return f"{number:.{scale}f}"
