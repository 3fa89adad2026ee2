"""Values that show why a change of type is not exact [110.column.type].

A change is compatible if a rule of the document's list covers it (`column_types`). Where none does,
either some value of the old type is no value of the new one, and `outside` names one; or all values
would fit, and only the list lacks the change: SMALLINT to DOUBLE, INTEGER to DECIMAL(10,0).

A numeric type is a set of numbers here: DECIMAL(7,2) lies within DECIMAL(9,3). Floating-point
values are finite. A date-time type is a set of points in time, of the day or of the calendar; with
local time zone the calendar is that of UTC.
"""

import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from ddlsim.model.schema import FLOAT_TYPES, INTEGER_TYPES, TEMPORAL_TYPES, ColumnType
from ddlsim.protocol.schema.column_types import length_of, longest_text, precision_of

_BITS: Final = dict(zip(INTEGER_TYPES, (8, 16, 32, 64), strict=True))
_MANTISSA_BITS: Final = dict(zip(FLOAT_TYPES, (24, 53), strict=True))
_SMALLEST_EXPONENT: Final = dict(zip(FLOAT_TYPES, (-149, -1074), strict=True))
_LARGEST_EXPONENT: Final = dict(zip(FLOAT_TYPES, (104, 971), strict=True))
_LONGEST: Final = {
    "BOOLEAN": "FALSE",
    "TINYINT": "-128",
    "SMALLINT": "-32768",
    "INTEGER": "-2147483648",
    "BIGINT": "-9223372036854775808",
    "REAL": "-1.18397685E-36",
    "DOUBLE": "-2.2250738585072014E-308",
    "DATE": "2026-12-31",
    "UUID": "00000000-0000-0000-0000-000000000000",
}
"""Of each type of one size a value whose text is the longest."""
_DAY: Final = "2026-12-31"
_CLOCK: Final = "12:34:56"
_SHOWN: Final = 40
"""Longer numbers are described."""


class Number(NamedTuple):
    """A number and its text in a sentence."""

    value: Fraction
    text: str


def outside(before: ColumnType, after: ColumnType) -> str | None:
    """A value of `before` that is no value of `after`, as a sentence has it; None: all fit.

    For two types between which there is a conversion, `after` being no VARCHAR unless both are.
    """
    if before.name in ("VARCHAR", "VARBINARY"):
        unit = "characters" if before.name == "VARCHAR" else "bytes"
        room = length_of(after)
        return None if length_of(before) <= room else f"a value of {room + 1} {unit}"
    if before.name in (*TEMPORAL_TYPES, "DATE"):
        return _outside_in_time(before, after)
    found = (*_powers(after), *_edges(before))
    for number in reversed(found) if before.name in FLOAT_TYPES else found:
        if _holds(before, number.value) and not _holds(after, number.value):
            return number.text
    return None


def longest_value(column_type: ColumnType) -> str:
    """A value with the longest text of its type, as a sentence has it."""
    name = column_type.name
    if name in _LONGEST:
        return _LONGEST[name]
    if name in ("VARCHAR", "VARBINARY"):
        unit = "characters" if name == "VARCHAR" else "bytes"
        return f"a value of {length_of(column_type)} {unit}"
    if name == "DECIMAL":
        if longest_text(column_type) > _SHOWN:
            return f"a negative number of {precision_of(column_type)} digits"
        scale = column_type.scale or 0
        every = ("9" * precision_of(column_type)).rjust(scale + 1, "0")
        return f"-{every[:-scale]}.{every[-scale:]}" if scale else f"-{every}"
    point = "." + "9" * precision_of(column_type) if precision_of(column_type) else ""
    day = "" if name == "TIME" else f"{_DAY} "
    return f"{day}{_CLOCK}{point}{'Z' if name.endswith('ZONE') else ''}"


def _outside_in_time(before: ColumnType, after: ColumnType) -> str | None:
    """A date fits a timestamp, as its midnight; a time of day, or a day without one, nothing."""
    if before.name == "DATE":
        return _DAY if after.name == "TIME" else None
    day = "" if before.name == "TIME" else f"{_DAY} "
    if after.name == "DATE" or (before.name == "TIME") is not (after.name == "TIME"):
        return f"{day}{_CLOCK}"
    room = precision_of(after)
    return None if precision_of(before) <= room else f"{day}{_CLOCK}.{'0' * room}1"


# --- numbers -------------------------------------------------------------------------------------


def _powers(after: ColumnType) -> Iterator[Number]:
    """The first number beyond a type: of all that lie outside the easiest to read."""
    if after.name in _BITS:
        yield _whole(1 << (_BITS[after.name] - 1))
    elif after.name in _MANTISSA_BITS:
        yield _whole((1 << _MANTISSA_BITS[after.name]) + 1)
    else:
        digits = max(precision_of(after) - (after.scale or 0), 0)
        text = str(10**digits) if digits < _SHOWN else f"1E+{digits}"
        yield Number(Fraction(10**digits), text)


def _whole(number: int) -> Number:
    return Number(Fraction(number), str(number))


def _edges(before: ColumnType) -> Iterator[Number]:
    """The finest fraction of a type and its largest number; of a binary type also 0.1 and 0.5."""
    name = before.name
    if name in _BITS:
        yield _whole((1 << (_BITS[name] - 1)) - 1)
        return
    if name == "DECIMAL":
        scale, digits = before.scale or 0, precision_of(before)
        finest = f"0.{'1'.rjust(scale, '0')}" if scale < _SHOWN else f"1E-{scale}"
        yield Number(Fraction(1, 10**scale), finest if scale else "1")
        text = longest_value(before).removeprefix("-").replace("a negative", "a")
        yield Number(Fraction(10**digits - 1, 10**scale), text)
        return
    single = name == "REAL"
    least = Fraction(1, 1 << -_SMALLEST_EXPONENT[name])
    yield Number(least, "1.4E-45" if single else "4.9E-324")
    most = ((1 << _MANTISSA_BITS[name]) - 1) << _LARGEST_EXPONENT[name]
    yield Number(Fraction(most), "3.4028235E+38" if single else "1.7976931348623157E+308")
    yield Number(Fraction(_nearest(0.1, single=single)), "0.1")
    yield Number(Fraction(1, 2), "0.5")


def _holds(column_type: ColumnType, number: Fraction) -> bool:
    """Whether a numeric type has a number."""
    name = column_type.name
    if name in _BITS:
        bound = 1 << (_BITS[name] - 1)
        return number.denominator == 1 and -bound <= number < bound
    if name == "DECIMAL":
        shifted: Fraction = number * 10 ** (column_type.scale or 0)
        return shifted.denominator == 1 and bool(abs(shifted) < 10 ** precision_of(column_type))
    try:
        return Fraction(_nearest(float(number), single=name == "REAL")) == number
    except OverflowError:
        return False


def _nearest(number: float, *, single: bool) -> float:
    """The nearest value of REAL, or of DOUBLE."""
    nearest: float = struct.unpack("<f", struct.pack("<f", number))[0] if single else number
    return nearest
