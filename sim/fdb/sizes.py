"""How many bytes a value takes, for limits and loads: an estimate that is the same everywhere."""

from collections.abc import Mapping
from typing import Final

WORD = 8
"""Bytes of a number and of every other value without a length."""


FIXED: Final[dict[type, int]] = {int: WORD, float: WORD, bool: 1, type(None): 1}
"""Bytes of values whose type tells it."""


def size_of(value: object) -> int:
    """Bytes of a value: text and bytes by their length, collections by what they hold.

    Of a record, the sum over its fields.
    """
    kind = type(value)
    if kind in FIXED:
        return FIXED[kind]
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, (tuple, list, frozenset)):
        return WORD + sum(map(size_of, value))
    if isinstance(value, Mapping):
        return WORD + sum(size_of(key) + size_of(one) for key, one in value.items())
    fields = getattr(value, "__struct_fields__", None)
    if fields is not None:
        return WORD + sum(size_of(getattr(value, name)) for name in fields)
    return WORD
