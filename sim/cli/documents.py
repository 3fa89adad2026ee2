"""Results as the one JSON document of `--output json`."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from ddlsim.checkers.outcome import Outcome


def text(document: Any) -> str:
    """A document as it is printed: characters that are not printable as JSON's own escapes."""
    found = json.dumps(document, indent=2, ensure_ascii=False)
    return found if _is_plain(found) else "".join(map(_escaped, found))


def _is_plain(found: str) -> bool:
    return all(line.isprintable() for line in found.split("\n"))


def _escaped(sign: str) -> str:
    """A character of a JSON document; those outside of texts are all printable, or line ends."""
    return sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1]


def fields(record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Some fields of a record as plain data, in the order of the names; an outcome is its word."""
    found = {name: getattr(record, name) for name in names}
    told = {k: v.word if isinstance(v, Outcome) else v for k, v in found.items()}
    document: dict[str, Any] = msgspec.to_builtins(told)
    return document
