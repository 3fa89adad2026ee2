"""Keys that stand twice in a JSON object: of two values, none is sure."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

_KEY: Final = re.compile(rb'"[ \t\r\n]*+:')
"""The end of a key; in a text, which has no bare quotes, it stands behind a backslash only."""


class Repeated(dict[str, Any]):
    """An object in which the key `name` stands twice."""

    name: str = ""


def fields_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its keys and values, for `object_pairs_hook`."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = Repeated(found)
    names = [name for name, _ in pairs]
    marked.name = first_repeated(names) or ""
    return marked


Name = TypeVar("Name", str, bytes)


def first_repeated(names: Sequence[Name]) -> Name | None:
    """The first name that stands in a list twice."""
    if len(set(names)) == len(names):
        return None
    return next(name for name in names if names.count(name) > 1)


def repeated_in(value: Any) -> str | None:
    """A key that stands twice in an object at or below a value that was read by `fields_of`."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Repeated):
            return one.name
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return None


def may_repeat(text: bytes, keys: int) -> bool:
    """Whether an object with so many keys may have one twice: each stands before a colon.

    Most lines have no other colons; of those with times or SQL quotes before colons are counted.
    """
    return text.count(b":") > keys and len(_KEY.findall(text)) > keys


def repeated(line: bytes) -> str | None:
    """A key that stands twice in an object of a line of sound JSON, at any depth."""
    if not may_repeat(line, len(msgspec.json.decode(line))):
        return None
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        one = fields_of(pairs)
        found.extend([one.name] if isinstance(one, Repeated) else [])
        return one

    json.loads(line, object_pairs_hook=look)
    return found[0] if found else None
