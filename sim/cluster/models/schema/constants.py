"""The model of constants in statements: what a column can hold, compare with, and convert to.

From `sim/protocol/schema/column_types.py` and `constraints.py`, their heads, with the judges'
reading of types (`checkers/spec/types.py`).
"""

from datetime import date, time
from typing import Final
from uuid import UUID

from ddlsim.checkers.spec.types import domain, read
from ddlsim.model.schema import TEMPORAL_TYPES, ColumnType, Comparison, Condition, Junction, Value

NUMBERS: Final = ("integer", "real", "decimal")
POINTS: Final = (*TEMPORAL_TYPES, "DATE")
FINEST: Final = 9
"""The digits of a fraction of a second that a constant may have."""


def is_held(value: Value, type_: ColumnType, *, constant: bool) -> bool:
    """Whether a column of a type can hold a default.

    What a statement gives has the form of the type; a default that stays may have an earlier form.
    """
    if value is None or type_.name == "VARCHAR":
        return value is None or not _is_unreadable(value, type_)
    kind = domain(type_).kind
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in NUMBERS:
        return not _is_unreadable(value, type_)
    if not isinstance(value, str) or _is_unreadable(value, type_):
        return False
    return not constant or type_.name == "VARBINARY" or _is_written(value, type_)


def kept(value: Value, type_: ColumnType) -> Value:
    """A constant that is held, in the form in which it is kept: so it stays if its type changes."""
    datum = read(value, type_)
    if datum is None or not isinstance(value, int | float | str):
        return value
    if datum.kind == "decimal":
        return str(datum.content)
    return float(value) if datum.kind == "real" else value


def _is_unreadable(value: Value, type_: ColumnType) -> bool:
    datum = read(value, type_)
    return datum is not None and datum.kind == "unreadable"


def _is_written(text: str, type_: ColumnType) -> bool:
    """Whether a UUID, a day or a time is written as one."""
    try:
        if type_.name == "UUID":
            return str(UUID(text)) == text.lower()
        if type_.name == "TIME":
            return _is_time(text)
        if type_.name == "DATE":
            return date.fromisoformat(text).isoformat() == text
        day, rest = text[:10], text[10:].removesuffix("Z")
        is_day = date.fromisoformat(day).isoformat() == day
        return is_day and (not rest or (rest[0] in " T" and _is_time(rest[1:])))
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    seconds, point, fraction = text.partition(".")
    is_fraction = fraction.isdecimal() and len(fraction) <= FINEST if point else not fraction
    return is_fraction and time.fromisoformat(seconds).isoformat() == seconds


def converts(before: ColumnType, after: ColumnType) -> bool:
    """Whether a conversion gives some result for every value of the old type."""
    if after.name in {before.name, "VARCHAR"}:
        return True
    numbers = [domain(one).kind in NUMBERS for one in (before, after)]
    return all(numbers) or (before.name in POINTS and after.name in POINTS)


def same(one: Value, other: Value, type_: ColumnType) -> bool:
    """Whether two defaults mean the same in a column of a type."""
    return read(one, type_) == read(other, type_)


def understood(value: Value, type_: ColumnType) -> str:
    """A default by its meaning."""
    return repr(read(value, type_))


def compares_with(condition: Condition, types: list[ColumnType]) -> bool | None:
    """Whether each column of a CHECK is compared with constants of its kind.

    None where a column is of a type that is compared with nothing: the CHECK is kept as text.
    """
    kinds = [_kind(one) for one in types]
    if None in kinds:
        return None
    return all(_kind_of(one.constant) == kinds[one.place] for one in _comparisons(condition))


def _kind(type_: ColumnType) -> type | None:
    if domain(type_).kind in NUMBERS:
        return float
    return {"VARCHAR": str, "BOOLEAN": bool}.get(type_.name)


def _kind_of(constant: Value) -> type:
    return type(constant) if isinstance(constant, str | bool) else float


def _comparisons(condition: Condition) -> list[Comparison]:
    if isinstance(condition, Junction):
        return [found for part in condition.parts for found in _comparisons(part)]
    return [condition] if isinstance(condition, Comparison) else []
