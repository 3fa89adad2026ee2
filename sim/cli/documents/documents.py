"""Results as the one JSON document of `--output json`."""

import json
from typing import Any, TypeVar, cast

import msgspec

from ddlsim.checkers.outcome import Outcome

S = TypeVar("S")


def text(document: Any) -> str:
    """A document as it is printed: characters that are not printable as JSON's own escapes."""
    found = json.dumps(document, indent=2, ensure_ascii=False)
    return found if _is_plain(found) else "".join(map(_escaped, found))


def _is_plain(found: str) -> bool:
    return all(line.isprintable() for line in found.split("\n"))


def _escaped(sign: str) -> str:
    """A character of a JSON document; those outside of texts are all printable, or line ends."""
    return sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1]


def part(record: Any, shape: type[S], **more: Any) -> S:
    """A record as plain data of a shape (`ddlsim.cli.documents.shapes`).

    The value of a key is that of `more`, else the record's attribute of this name; a key that is
    not required is left out unless `more` has it. An outcome is its word.
    """
    required = shape.__required_keys__  # type: ignore[attr-defined]  # of every TypedDict
    found = {
        key: more[key] if key in more else getattr(record, key)
        for key in shape.__annotations__
        if key in more or key in required
    }
    words = {k: v.word if isinstance(v, Outcome) else v for k, v in found.items()}
    return cast("S", msgspec.to_builtins(words))
