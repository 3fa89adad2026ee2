"""Values of external histories: in few words, as the file writes them, and as keys.

A value is a number, a truth value, None, a list, a text; in JSON a dictionary too. Of EDN a text
is a keyword if it begins with a colon, some other form (a symbol, a set) if with a backslash, and a
text that would be taken for one of these if it begins with a quotation mark (`as_text`).
"""

import json
from collections.abc import Callable
from typing import Any, Final

Notation = Callable[[Any], str]
"""Writes a value in few words as a file of some format does."""

MARKS: Final = (":", "\\", '"')


DEEPEST: Final = 100
"""Lists and maps within each other of an entry: what is done with a value is done to its parts."""
TOO_DEEP: Final = "it is nested too deeply"


def is_deep(value: Any) -> bool:
    """Whether more lists and maps lie within each other than are read."""
    level = [value]
    for _ in range(DEEPEST):
        nested = [one.values() if isinstance(one, dict) else one for one in level]
        level = [part for one in nested for part in one if isinstance(part, list | dict)]
        if not level:
            return False
    return True


def as_text(text: str) -> str:
    """A text of EDN as a value, which no keyword and no other form can be mistaken for."""
    return f'"{text}' if text.startswith(MARKS) else text


def edn(value: Any) -> str:
    """A value as EDN writes it."""
    if isinstance(value, list):
        return f"[{_inside(value, edn, ' ')}]"
    if value is None:
        return "nil"
    if isinstance(value, str):
        if value.startswith(":"):
            return _few(value)
        if value.startswith("\\"):
            return _few(value[1:])
        return _quoted(value.removeprefix('"'))
    return _plain(value)


def as_json(value: Any) -> str:
    """A value as JSON writes it."""
    if isinstance(value, list):
        return f"[{_inside(value, as_json, ', ')}]"
    if value is None:
        return "null"
    return _quoted(value) if isinstance(value, str) else _plain(value)


def _inside(value: list[Any], write: Notation, between: str) -> str:
    if len(value) > 6:
        return f"...[{len(value) - 2} elements], {write(value[-2])}, {write(value[-1])}"
    return between.join(map(write, value))


def _plain(value: Any) -> str:
    """What both write alike."""
    if isinstance(value, bool):
        return str(value).lower()
    return _few(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value))


def _quoted(text: str) -> str:
    return json.dumps(_few(text), ensure_ascii=False)


def _few(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def hashable(value: Any) -> Any:
    """A value as a key of a dictionary in which 1, 1.0, true and "1" are not the same."""
    if isinstance(value, list):
        return ("list", *map(hashable, value))
    if isinstance(value, dict):
        return ("map", *sorted((key, hashable(one)) for key, one in value.items()))
    return (type(value).__name__, value)
