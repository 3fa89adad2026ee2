"""Column types and constants as they are written."""

from collections.abc import Callable
from typing import Final

from sim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    DEFAULT_LENGTH,
    DEFAULT_TIME_PRECISION,
    ColumnType,
    Value,
)
from sim.sql.cursor import Cursor

_MAX_LENGTH: Final = 2**31 - 1
_MAX_SCALE: Final = 16383
_MAX_TIME_PRECISION: Final = 9

_PLAIN: Final = {
    ("TINYINT",): "TINYINT",
    ("SMALLINT",): "SMALLINT",
    ("INT",): "INTEGER",
    ("INTEGER",): "INTEGER",
    ("BIGINT",): "BIGINT",
    ("REAL",): "REAL",
    ("FLOAT",): "REAL",
    ("DOUBLE", "PRECISION"): "DOUBLE",
    ("DOUBLE",): "DOUBLE",
    ("BOOLEAN",): "BOOLEAN",
    ("DATE",): "DATE",
    ("UUID",): "UUID",
}
_STRINGS: Final = {
    ("VARCHAR",): "VARCHAR",
    ("CHAR", "VARYING"): "VARCHAR",
    ("CHARACTER", "VARYING"): "VARCHAR",
    ("VARBINARY",): "VARBINARY",
    ("BINARY", "VARYING"): "VARBINARY",
}


def column_type(cursor: Cursor) -> ColumnType:
    """A type; what it leaves open is filled in, so that equal types are equal records."""
    for words, name in _PLAIN.items():
        if cursor.take(*words):
            return ColumnType(name)
    for words, name in _STRINGS.items():
        if cursor.take(*words):
            length = _in_parentheses(cursor, "a length", 1, _MAX_LENGTH)
            return ColumnType(name, length=DEFAULT_LENGTH if length is None else length)
    if cursor.take_one_of("DECIMAL", "DEC", "NUMERIC"):
        return _decimal(cursor)
    if cursor.take("TIME"):
        precision = _time_precision(cursor)
        cursor.take("WITHOUT", "TIME", "ZONE")
        return _time("TIME", precision)
    if cursor.take("TIMESTAMP"):
        return _timestamp(cursor)
    raise cursor.wrong("a type")


def _in_parentheses(cursor: Cursor, what: str, low: int, high: int) -> int | None:
    """A number in parentheses, if there are any."""
    if not cursor.take("("):
        return None
    number = cursor.whole(what, low, high)
    cursor.expect(")")
    return number


def _decimal(cursor: Cursor) -> ColumnType:
    precision, scale = DEFAULT_DECIMAL_PRECISION, 0
    if cursor.take("("):
        precision = cursor.whole("a precision", 1, DEFAULT_DECIMAL_PRECISION)
        if cursor.take(","):
            scale = cursor.whole("a scale", 0, _MAX_SCALE)
        cursor.expect(")")
    return ColumnType("DECIMAL", precision=precision, scale=scale)


def _time_precision(cursor: Cursor) -> int | None:
    return _in_parentheses(cursor, "a precision", 0, _MAX_TIME_PRECISION)


def _time(name: str, precision: int | None) -> ColumnType:
    written = DEFAULT_TIME_PRECISION[name] if precision is None else precision
    return ColumnType(name, precision=written)


def _timestamp(cursor: Cursor) -> ColumnType:
    """TIMESTAMP; the precision of WITH LOCAL TIME ZONE may stand before or after these words."""
    precision = _time_precision(cursor)
    if not cursor.take("WITH"):
        cursor.take("WITHOUT", "TIME", "ZONE")
        return _time("TIMESTAMP", precision)
    cursor.expect("LOCAL", "TIME", "ZONE")
    if precision is None:
        precision = _time_precision(cursor)
    return _time("TIMESTAMP WITH LOCAL TIME ZONE", precision)


def constant(cursor: Cursor) -> Value:
    """A literal: NULL, TRUE, FALSE, a number, a string, a binary string or a date-time."""
    word = cursor.take_one_of("NULL", "TRUE", "FALSE")
    if word is not None:
        return {"NULL": None, "TRUE": True, "FALSE": False}[word]
    readers: tuple[Callable[[], str | None], ...] = (cursor.string, cursor.hex_string)
    for reader in readers:
        text = reader()
        if text is not None:
            return text
    for name in ("DATE", "TIME", "TIMESTAMP", "UUID"):
        if cursor.take(name):
            text = cursor.string()
            if text is None:
                raise cursor.wrong(f"a string after {name}")
            return text
    return _number(cursor)


def _number(cursor: Cursor) -> int | float:
    sign = -1 if cursor.take_one_of("-", "+") == "-" else 1
    digits = cursor.number()
    if digits is None:
        raise cursor.wrong("a constant")
    return sign * (int(digits) if digits.isdecimal() else float(digits))
