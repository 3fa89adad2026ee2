"""Values of rows in words."""

from collections.abc import Iterable


def value_words(value: object) -> str:
    """A value of a row; one that is not there is `null`."""
    return "null" if value is None else repr(value)


def values_words(values: Iterable[object]) -> str:
    """The values of a row or of an entry: `(1, 'x')`, and `(1)` of one."""
    return f"({', '.join(map(value_words, values))})"
