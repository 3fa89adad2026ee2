"""Values of rows in words."""

from collections.abc import Iterable
from typing import Final

LONGEST_KEY: Final = 60


def value_words(value: object) -> str:
    """A value of a row; one that is not there is `null`."""
    return "null" if value is None else repr(value)


def values_words(values: Iterable[object]) -> str:
    """The values of a row or of an entry: `(1, 'x')`, and `(1)` of one."""
    return f"({', '.join(map(value_words, values))})"


def cut(text: str, most: int) -> str:
    """A text of at most so many characters; one that is longer ends in `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def key_words(key: object) -> str:
    """A key as it stands in brackets: `1`, `'x'`, of several columns `'x', 2`; cut if long."""
    parts = key if isinstance(key, list | tuple) else [key]
    return cut(", ".join(map(value_words, parts)), LONGEST_KEY)
