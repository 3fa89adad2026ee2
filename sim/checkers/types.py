"""The judges' own reading of column types: exact widening, and how long a value's text can be.

A type changes exactly when each value of the old type is a value of the new one [110.column.type]:
a wider integer, a wider floating-point type, more precision of the same date-time type or of a
DECIMAL of equal scale, a longer VARCHAR or VARBINARY, and anything to a VARCHAR that has room for
the longest canonical text of any value of the old type. A type without such a bound never fits.
"""

from typing import Final

from sim.model.schema import FLOAT_TYPES, INTEGER_TYPES, TEMPORAL_TYPES, ColumnType

DEFAULT_PRECISION: Final = {"TIME": 0, "TIMESTAMP": 6, "TIMESTAMP WITH LOCAL TIME ZONE": 6}
"""What SQL takes where a date-time type names no precision."""
LADDERS: Final = (INTEGER_TYPES, FLOAT_TYPES)
FIXED_TEXT: Final = {
    "TINYINT": len("-128"),
    "SMALLINT": len("-32768"),
    "INTEGER": len("-2147483648"),
    "BIGINT": len("-9223372036854775808"),
    "BOOLEAN": len("false"),
    "DATE": len("2024-02-29"),
    "UUID": 36,
    "REAL": len("-1.17549435E-38"),
    "DOUBLE": len("-2.2250738585072014E-308"),
}
"""The longest canonical text of any value, for types without parameters."""
TEMPORAL_TEXT: Final = {
    "TIME": len("23:59:59"),
    "TIMESTAMP": len("2024-02-29 23:59:59"),
    "TIMESTAMP WITH LOCAL TIME ZONE": len("2024-02-29 23:59:59Z"),
}


def is_exact_widening(before: ColumnType, after: ColumnType) -> bool:
    """Whether each value of the type before is, unchanged, a value of the type after."""
    if before == after:
        return True
    if after.name == "VARCHAR" and before.name != "VARCHAR":
        longest = longest_text(before)
        return longest is not None and _has_room(after.length, longest)
    if before.name != after.name:
        return any(_is_step_up(before.name, after.name, ladder) for ladder in LADDERS)
    if before.name in {"VARCHAR", "VARBINARY"}:
        return _is_longer(before.length, after.length)
    if before.name == "DECIMAL":
        return _scale(before) == _scale(after) and _is_longer(before.precision, after.precision)
    if before.name in TEMPORAL_TYPES:
        return precision(before) <= precision(after)
    return False


def longest_text(type_: ColumnType) -> int | None:
    """The length of the longest canonical text of any value of a type; None without a bound."""
    if type_.name in FIXED_TEXT:
        return FIXED_TEXT[type_.name]
    if type_.name in TEMPORAL_TEXT:
        digits = precision(type_)
        return TEMPORAL_TEXT[type_.name] + (1 + digits if digits else 0)
    if type_.name == "DECIMAL" and type_.precision is not None:
        scale = _scale(type_)
        return len("-") + max(type_.precision, scale + 1) + (1 if scale else 0)
    if type_.name == "VARBINARY" and type_.length is not None:
        return 2 * type_.length
    return type_.length if type_.name == "VARCHAR" else None


def precision(type_: ColumnType) -> int:
    """The digits of a date-time type's fraction of a second."""
    if type_.precision is not None:
        return type_.precision
    return DEFAULT_PRECISION[type_.name]


def _scale(type_: ColumnType) -> int:
    return type_.scale or 0


def _is_step_up(before: str, after: str, ladder: tuple[str, ...]) -> bool:
    if before not in ladder or after not in ladder:
        return False
    return ladder.index(before) < ladder.index(after)


def _has_room(length: int | None, needed: int) -> bool:
    return length is None or length >= needed


def _is_longer(before: int | None, after: int | None) -> bool:
    """More room, or as much; a type without a length has no limit."""
    return after is None or (before is not None and before <= after)
