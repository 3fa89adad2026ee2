"""Values in what is found: timestamps as everywhere else on a screen, never packed.

A field's type says which of its numbers is a timestamp, so the annotations of a record are read,
once for each class.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ddlsim.protocol.ids import TxId
from ddlsim.units import Timestamp, show


def words(value: object, kind: Any = None) -> str:
    """A value as `repr` has it, but for timestamps, which are shown as `1250+3`.

    `kind` is the value's type where a timestamp stands outside of a record: `Timestamp`,
    `tuple[Timestamp, int]`, `dict[str, Timestamp]`.
    """
    kind = _fitting(value, kind)
    if kind is Timestamp and type(value) is int:
        return show(value)
    if isinstance(value, TxId):
        return value.label
    if fields := _fields(type(value)):  # type: ignore[arg-type]  # a class is hashable
        parts = (f"{name}={words(getattr(value, name), one)}" for name, one in fields)
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, Mapping):
        keys, values = get_args(kind) or (None, None)
        items = (f"{words(key, keys)}: {words(one, values)}" for key, one in value.items())
        return f"{{{', '.join(items)}}}"
    if type(value) is list:
        return f"[{', '.join(_each(value, kind))}]"
    if type(value) is tuple:
        return f"({', '.join(_each(value, kind))}{',' * (len(value) == 1)})"
    return repr(value)


def when(ts: object) -> str:
    """A timestamp, or what stands in its place, as text."""
    return words(ts, Timestamp)


def _fitting(value: object, kind: Any) -> Any:
    """The part of a union that a value is of; a type that is no union as it is."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return next((one for one in get_args(kind) if _is_of(value, one)), None)


def _is_of(value: object, kind: Any) -> bool:
    plain = int if kind is Timestamp else get_origin(kind) or kind
    return isinstance(plain, type) and isinstance(value, plain)


def _each(values: list[object] | tuple[object, ...], kind: Any) -> Iterable[str]:
    given = get_args(kind)
    if len(given) != len(values) or ... in given:  # one type for all
        given = given[:1] * len(values) or (None,) * len(values)
    return map(words, values, given)


@cache
def _fields(record: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a class of records with their types; none of another class."""
    if issubclass(record, type):
        return ()
    by_kind = ("__struct_fields__", "_fields", "__dataclass_fields__")
    names = next((getattr(record, one) for one in by_kind if hasattr(record, one)), ())
    try:
        hints = get_type_hints(record) if names else {}
    except NameError:  # a plug-in's annotation of what is not in its module
        hints = {}
    return tuple((name, hints.get(name)) for name in names)
