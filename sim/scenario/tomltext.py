"""A scenario's data as TOML text: the way back from what `tomllib` reads."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
MOST_SHORT: Final = 0xFFFF
"""A character up to here has four digits where it is written out, others have eight."""


def toml_text(data: Mapping[str, Any]) -> str:
    """The text of a scenario: single keys first, then its tables in their order."""
    single = {key: value for key, value in data.items() if not _is_table(value)}
    parts = ["".join(_pairs(single))] if single else []
    for key, value in data.items():
        if isinstance(value, dict):
            parts.append(f"[{_key(key)}]\n{''.join(_pairs(value))}")
        elif _is_table(value):
            parts += [f"[[{_key(key)}]]\n{''.join(_pairs(each))}" for each in value]
    return "\n".join(parts)


def _is_table(value: Any) -> bool:
    """A table, or a list of tables."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) for each in value)
    return isinstance(value, dict)


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_long(value)}\n"


def _long(value: Any) -> str:
    """A value that has lines of its own."""
    if (
        isinstance(value, str)
        and "\n" in value
        and '"""' not in value
        and "\\" not in value
        and all(line.isprintable() for line in value.split("\n"))
    ):
        return f'"""\n{value}"""'
    return toml_value(value)


def toml_value(value: Any) -> str:
    """A value as TOML writes it, on one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if value is None:
        raise TypeError("TOML has no null")
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    """A text as a basic string; what is not printable is written out, as TOML allows it."""
    return "".join(
        sign if sign.isprintable() else _written(sign)
        for sign in json.dumps(text, ensure_ascii=False)
    )


def _written(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code <= MOST_SHORT else f"\\U{code:08x}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)
