"""The judges' own upgrade of rows: what a row written under one version means under another.

Columns are matched by their ids, never by name [110.compat.id]. A column that the writer's schema
did not have shows the default that it was added with; a column that the reader's schema does not
have vanishes; a value whose column has changed its type stays the same value, and a VARCHAR shows
it as text.
"""

import re
from collections.abc import Container
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from ddlsim.checkers.case.words import value_words
from ddlsim.checkers.spec.types import precision, read
from ddlsim.history.event import Cells
from ddlsim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    FLOAT_TYPES,
    INTEGER_TYPES,
    TEMPORAL_TYPES,
    Column,
    ColumnType,
    Table,
    Value,
)

INTEGER_BITS: Final = dict(zip(INTEGER_TYPES, (8, 16, 32, 64), strict=True))


def upgraded(row: Cells, source: Table, target: Table) -> Cells:
    """A row of one schema under another, its values as they were given.

    A column that an older target has and the source has lost has no meaning and is left out.
    """
    written = dict(row)
    sources = {column.id for column in source.columns}
    lost = target.version < source.version
    return tuple(
        (column.id, written.get(column.id) if column.id in sources else column.initial_default)
        for column in target.columns
        if column.id in sources or not lost
    )


def differences(
    meant: Cells | None, source: Table, shown: Cells | None, target: Table
) -> list[str]:
    """Where a row that was meant under one schema shows something else under another."""
    if meant is None or shown is None:
        if meant is None and shown is None:
            return []
        return ["it is a deletion, and not shown as one" if meant is None else "no row is shown"]
    found: list[str] = []
    cells = dict(shown)
    names = {column.id: column.name for column in target.columns}
    types = {column.id: column.type for column in (*target.columns, *source.columns)}
    for id_, due in upgraded(meant, source, target):
        if id_ not in cells:
            found.append(f"{names[id_]} is missing")
        elif not is_same_value(due, types[id_], cells[id_]):
            held = value_words(cells[id_])
            found.append(f"{names[id_]} should be {value_words(due)} and is {held}")
    found += no_texts(shown, target)
    return found + [f"column {id_} does not belong to it" for id_ in cells if id_ not in names]


def no_texts(row: Cells, table: Table) -> list[str]:
    """What a row shows in VARCHAR columns that is no text [110.fwd.2]."""
    texts = _texts(table)
    return [
        f"{texts[id_]} is VARCHAR and shows {value!r}"
        for id_, value in row
        if type(value) is not str and value is not None and id_ in texts
    ]


@lru_cache(maxsize=1024)
def _texts(table: Table) -> dict[int, str]:
    """The names of the VARCHAR columns of a table, by id."""
    return {column.id: column.name for column in table.columns if column.type.name == "VARCHAR"}


def is_identical(due: Cells, shown: Cells) -> bool:
    """Whether rows agree cell by cell in order, value and type: what most of them do."""
    if len(due) != len(shown):
        return False
    for (id_, value), (shown_id, shown_value) in zip(due, shown, strict=True):
        if id_ != shown_id or type(value) is not type(shown_value) or value != shown_value:
            return False
    return True


def is_same_value(value: Value, source: ColumnType, shown: Value) -> bool:
    """Whether what is shown, under whatever type, is the value that was given under `source`."""
    if value is None or shown is None:
        return value is None and shown is None
    if isinstance(value, bool) and isinstance(shown, str):
        return shown.lower() == str(value).lower()
    if type(value) is type(shown) and value == shown:
        return True
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _is_same_number(value, shown)
    if isinstance(value, str) and isinstance(shown, str):
        if source.name == "DECIMAL":
            return _decimal(value) is not None and _decimal(value) == _decimal(shown)
        if source.name in TEMPORAL_TYPES:
            return _without_zeros(value) == _without_zeros(shown)
        return source.name == "UUID" and value.lower() == shown.lower()
    return False


def _is_same_number(value: float, shown: Value) -> bool:
    """An integer has one text; a floating-point value is what its text is read back as."""
    if isinstance(shown, bool) or shown is None:
        return False
    if isinstance(value, int) and isinstance(shown, str):
        return shown == str(value)
    if isinstance(shown, str):
        return _decimal(shown) is not None and float(shown) == value
    return shown == value


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _without_zeros(text: str) -> str:
    """A time without the trailing zeros of its fraction, and without the sign of UTC."""
    text = text.removesuffix("Z")
    return text.rstrip("0").removesuffix(".") if "." in text else text


def is_value_of(value: Value, type_: ColumnType) -> bool:
    """Whether a client may give this value for a column of the type."""
    if value is None or isinstance(value, bool):
        return value is None or type_.name == "BOOLEAN"
    if type_.name in INTEGER_BITS:
        bound = 1 << (INTEGER_BITS[type_.name] - 1)
        return isinstance(value, int) and -bound <= value < bound
    if type_.name in FLOAT_TYPES:
        datum = read(value, type_)
        return datum is not None and datum.kind == "real"
    if type_.name == "DECIMAL":
        return _is_decimal(_decimal(str(value)), type_)
    if not isinstance(value, str):
        return False
    form = _FORMS.get(type_.name)
    return _fits_text(value, type_) if form is None else form.fullmatch(value) is not None


_DAY: Final = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_CLOCK: Final = r"([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?"
_FORMS: Final = {
    "DATE": re.compile(_DAY),
    "TIME": re.compile(_CLOCK),
    "TIMESTAMP": re.compile(f"{_DAY}([ T]{_CLOCK})?Z?"),
    "TIMESTAMP WITH LOCAL TIME ZONE": re.compile(f"{_DAY}([ T]{_CLOCK})?Z?"),
    "UUID": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}
"""How values of these types are written; that a month has so many days is not looked at."""


def _is_decimal(number: Decimal | None, type_: ColumnType) -> bool:
    """Whether a number has no more digits before and after its point than a DECIMAL has."""
    if number is None or not number.is_finite():
        return False
    scale = type_.scale or 0
    digits = DEFAULT_DECIMAL_PRECISION if type_.precision is None else type_.precision
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int), exponent
    return -exponent <= scale and (not number or number.adjusted() < digits - scale)


def is_legal(row: Cells, table: Table, excused: Container[int] = ()) -> str | None:
    """Why a row must not exist under a schema: a NULL where none may be; None if it may.

    `excused` are columns that promise nothing of this row.
    """
    cells = dict(row)
    for column in table.columns:
        if not column.nullable and cells.get(column.id) is None and column.id not in excused:
            return f"{column.name} is NOT NULL and has no value"
    return None


def fits(row: Cells | None, source: Table, older: Table) -> bool:
    """Whether a row of a newer schema, downgraded, is one that the older schema could have had.

    Only columns that differ between the two can make it another.
    """
    if row is None:
        return True
    cells = dict(row)
    present = {column.id: column for column in source.columns}
    for column in older.columns:
        newer = present.get(column.id)
        if newer is None:
            return False
        same = (newer.type, newer.nullable) == (column.type, column.nullable)
        if not same and not _fits_column(cells.get(column.id), column):
            return False
    return True


def _fits_column(value: Value, column: Column) -> bool:
    if value is None:
        return column.nullable
    type_ = column.type
    if isinstance(value, bool):
        return type_.name == "BOOLEAN"
    if isinstance(value, int):
        bits = INTEGER_BITS.get(type_.name)
        return bits is not None and -(1 << (bits - 1)) <= value < 1 << (bits - 1)
    if isinstance(value, float):
        return type_.name == "DOUBLE"
    return _fits_text(value, type_)


def _fits_text(value: str, type_: ColumnType) -> bool:
    if type_.name == "VARCHAR":
        return type_.length is None or len(value) <= type_.length
    if type_.name == "VARBINARY":
        return type_.length is None or len(value) <= 2 * type_.length
    if type_.name in TEMPORAL_TYPES:
        fraction = _without_zeros(value).partition(".")[2]
        return len(fraction) <= precision(type_)
    if type_.name == "DECIMAL":
        number = _decimal(value)
        if number is None or type_.precision is None:
            return number is not None
        _, digits, exponent = number.as_tuple()
        return isinstance(exponent, int) and len(digits) <= type_.precision
    return type_.name in {"DATE", "UUID"}
