"""The judges' own reading of column types: which values each type has, and how they are written.

A type is a set of values of one kind. Nothing here compares two types: whether a change of type is
exact [110.column.type] follows from what becomes of the values at the edges of the old type.

A *datum* is a value by its meaning. Integers are numbers, whatever their width; REAL and DOUBLE are
binary numbers; a decimal is its digits, those behind the point included, since a reader sees them
all; a date-time is a point in time, whose fraction has no trailing zeros; a text or binary string
may be given as a piece and a count, since two gigabytes are a legal length. The canonical text of a
datum depends on its type: fractions of a second are padded.
"""

import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import isfinite
from typing import Final, NamedTuple

from ddlsim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    DEFAULT_LENGTH,
    DEFAULT_TIME_PRECISION,
    FLOAT_TYPES,
    INTEGER_TYPES,
    TEMPORAL_TYPES,
    ColumnType,
    Value,
)

BITS: Final = dict(zip(INTEGER_TYPES, (8, 16, 32, 64), strict=True))
LONG_REAL: Final = struct.unpack("<f", struct.pack("<f", -1.18397685e-36))[0]
"""A REAL whose shortest text has a sign, nine digits and an exponent of two: none is longer."""
LONG_DOUBLE: Final = -2.2250738585072014e-308
"""The same of a DOUBLE: seventeen digits and an exponent of three."""
LAST_REAL: Final = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
"""The largest REAL; floating-point values are finite, as they are in SQL."""
EPOCHS: Final = {
    "TIME": ("00:00:00", "23:59:59"),
    "TIMESTAMP": ("0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    "TIMESTAMP WITH LOCAL TIME ZONE": ("0001-01-01 00:00:00", "9999-12-31 23:59:59"),
}
"""The first and the last whole second of the date-time types that have a precision."""


class Repeated(NamedTuple):
    """A long text: a piece, and how often it is repeated."""

    piece: str
    times: int


Text = str | Repeated
Content = int | float | str | Repeated


class Datum(NamedTuple):
    """A value by its meaning; `kind` keeps the number 1, the text '1' and TRUE apart."""

    kind: str
    content: Content


class Domain(NamedTuple):
    """The values of a type: which there are, some at its edges, and how each is written."""

    kind: str
    holds: Callable[[Datum], bool]
    edges: tuple[Datum, ...]
    text: Callable[[Datum], Text]


def size(text: Text) -> int:
    """How many characters a text has."""
    return len(text) if isinstance(text, str) else len(text.piece) * text.times


def holds(type_: ColumnType, datum: Datum) -> bool:
    """Whether a type has a value. An unreadable default counts: the catalog has accepted it."""
    of = domain(type_)
    return datum.kind == "unreadable" or (datum.kind == of.kind and of.holds(datum))


def upgraded_datum(datum: Datum, source: ColumnType, target: ColumnType) -> Datum:
    """A value of one type as another shows it: its text in a VARCHAR, unchanged in any other.

    The document knows no other conversion of a value, and asks for an exact one.
    """
    if target.name != "VARCHAR" or datum.kind in {"text", "unreadable"}:
        return datum
    return Datum("text", domain(source).text(datum))


@lru_cache(maxsize=1024)
def domain(type_: ColumnType) -> Domain:
    """The values of a type; sizes that are not written are the model's defaults."""
    if type_.name in INTEGER_TYPES:
        return _integers(BITS[type_.name])
    if type_.name in FLOAT_TYPES:
        return _reals(single=type_.name == "REAL")
    if type_.name in TEMPORAL_TYPES:
        return _points(type_.name, precision(type_))
    if type_.name == "DECIMAL":
        digits = type_.precision or DEFAULT_DECIMAL_PRECISION
        return _decimals(digits, type_.scale or 0)
    if type_.name in {"VARCHAR", "VARBINARY"}:
        return _strings(type_.name, DEFAULT_LENGTH if type_.length is None else type_.length)
    kind, *edges = _FEW[type_.name]
    return Domain(kind, _always, tuple(Datum(kind, edge) for edge in edges), _as_it_is)


_FEW: Final = {
    "BOOLEAN": ("boolean", "false", "true"),
    "DATE": ("date", "0001-01-01", "9999-12-31"),
    "UUID": (
        "uuid",
        "0" * 8 + "-0000-0000-0000-" + "0" * 12,
        "f" * 8 + "-ffff" * 3 + "-" + "f" * 12,
    ),
}
"""Types without sizes: their kinds, and the first and last of their values."""


def precision(type_: ColumnType) -> int:
    """The digits of a date-time type's fraction of a second."""
    if type_.precision is not None:
        return type_.precision
    return DEFAULT_TIME_PRECISION[type_.name]


def _always(_: Datum) -> bool:
    return True


def _as_it_is(datum: Datum) -> Text:
    assert isinstance(datum.content, str | Repeated), datum
    return datum.content


def _integers(bits: int) -> Domain:
    bound = 1 << (bits - 1)

    def within(datum: Datum) -> bool:
        return isinstance(datum.content, int) and -bound <= datum.content < bound

    edges = tuple(Datum("integer", number) for number in (-bound, 0, bound - 1))
    return Domain("integer", within, edges, lambda datum: str(datum.content))


def _reals(*, single: bool) -> Domain:
    def within(datum: Datum) -> bool:
        return not single or _is_single(datum)

    def text(datum: Datum) -> Text:
        assert isinstance(datum.content, float), datum
        return _shortest(datum.content) if single else repr(datum.content)

    numbers = (LONG_REAL, 0.5) if single else (LONG_DOUBLE, 0.5)
    return Domain("real", within, tuple(Datum("real", one) for one in numbers), text)


def _single(number: float) -> float:
    """The nearest REAL; a number beyond all of them stays as it is, and is none."""
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return number
    return nearest


def _is_single(datum: Datum) -> bool:
    number = datum.content
    return isinstance(number, float) and abs(number) <= LAST_REAL and _single(number) == number


def _shortest(number: float) -> str:
    """The shortest text that is read back as this REAL."""
    for digits in range(1, 9):
        text = f"{number:.{digits}g}"
        if _single(float(text)) == number:
            return text
    return f"{number:.9g}"


def _decimals(digits: int, scale: int) -> Domain:
    def within(datum: Datum) -> bool:
        whole, _, fraction = str(datum.content).lstrip("-").partition(".")
        return len(fraction) == scale and len((whole + fraction).lstrip("0")) <= digits

    def number(sign: str, nines: int) -> Datum:
        every = ("9" * nines).rjust(scale + 1, "0")
        whole, fraction = every[: len(every) - scale], every[len(every) - scale :]
        return Datum("decimal", f"{sign}{whole}.{fraction}" if scale else f"{sign}{whole}")

    edges = (number("-", digits), number("", 0), number("", digits))
    return Domain("decimal", within, edges, _as_it_is)


def _points(name: str, digits: int) -> Domain:
    kind = name.lower()

    def within(datum: Datum) -> bool:
        return len(str(datum.content).partition(".")[2]) <= digits

    def text(datum: Datum) -> Text:
        seconds, _, fraction = str(datum.content).partition(".")
        padded = f"{seconds}.{fraction.ljust(digits, '0')}" if digits else seconds
        return f"{padded}Z" if name.endswith("ZONE") else padded

    first, last = EPOCHS[name]
    finest = f"{last}.{'9' * digits}" if digits else last
    return Domain(kind, within, (Datum(kind, first), Datum(kind, finest)), text)


def _strings(name: str, length: int) -> Domain:
    kind, piece = ("text", "x") if name == "VARCHAR" else ("bytes", "ff")

    def within(datum: Datum) -> bool:
        return size(_as_it_is(datum)) <= length * len(piece)

    edges = (Datum(kind, Repeated(piece, length)), Datum(kind, ""))
    return Domain(kind, within, edges, _as_it_is)


def read(value: Value, type_: ColumnType) -> Datum | None:
    """A cell as a history has it, by its meaning in a column of a type; None is NULL.

    A REAL is the nearest one, and a fraction of a second is cut to what the column holds. What is
    no value of the type cannot be read: a default may be kept in the form of an earlier type.
    """
    if value is None:
        return None
    datum = _meant(value, type_)
    return datum if holds(type_, datum) else Datum("unreadable", _text(value))


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _meant(value: Value, type_: ColumnType) -> Datum:
    """The same, whether or not the type has such a value."""
    kind = domain(type_).kind
    text = _text(value)
    if kind == "real":
        return _real(value, single=type_.name == "REAL")
    if kind == "integer":
        if not isinstance(value, int) or isinstance(value, bool):
            return Datum("unreadable", text)
        return Datum(kind, value)
    if kind == "decimal":
        return _decimal(text, type_.scale or 0)
    if kind == "uuid":
        return Datum(kind, text.lower())
    return Datum(kind, _cut(text, precision(type_)) if type_.name in TEMPORAL_TYPES else text)


def _real(value: Value, *, single: bool) -> Datum:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Datum("unreadable", str(value))
    try:
        number = float(value)
    except OverflowError:
        return Datum("unreadable", str(value))
    if not isfinite(number):
        return Datum("unreadable", str(value))
    return Datum("real", _single(number) if single else number)


def _decimal(text: str, scale: int) -> Datum:
    """A decimal with all digits of its scale, and with those that are too many."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return Datum("unreadable", text)
    if not number.is_finite():
        return Datum("unreadable", text)
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int), text
    return Datum("decimal", f"{number:.{max(scale, -exponent)}f}")


def _cut(text: str, digits: int) -> str:
    """A point in time without the digits that its type does not have, and without zeros."""
    seconds, point, fraction = text.removesuffix("Z").partition(".")
    return (
        f"{seconds}{point}{fraction[:digits]}".rstrip("0").removesuffix(".") if point else seconds
    )
