"""Own readers of formats without a digest, as strict as can be: is a file whole?

They share nothing with the product's readers. A file that they take is a history of its own,
whatever damage made it; a file that they refuse must never be "ok".
"""

import json
import re
from typing import Any, Final

TYPES: Final = ("invoke", "ok", "fail", "info")
EVIDENCE: Final = ("type", "f", "value", "process", "index")
"""What a verdict rests on; no other field of an entry is read, so damage to it changes nothing."""
_TOKEN: Final = re.compile(
    r'\s*(?:;[^\n]*\n\s*)*([\[\]{}]|:[\w-]+|-?\d+|nil|"[^"\\]*"|,|[A-Za-z][\w-]*)'
)
RECORDS: Final = frozenset(
    {
        "cluster",
        "schema_activated",
        "schema_applied",
        "schema_resolved",
        "ddl_acknowledged",
        "transaction_committed",
    }
)


class Symbol(str):
    """A word of EDN that is no value of an operation."""

    __slots__ = ()


def jepsen(data: bytes) -> list[dict[str, Any]] | None:
    """The entries of a Jepsen history, EDN or JSON lines; None if anything is amiss."""
    try:
        text = data.decode("utf-8")
        found = _json(text) if '"type"' in text else _edn(text)
        return found if found and _is_whole(found) else None
    except (ValueError, IndexError, KeyError, TypeError, RecursionError):
        return None


def as_json(data: bytes) -> bytes:
    """A Jepsen history of EDN as JSON lines."""
    return "".join(json.dumps(one) + "\n" for one in _edn(data.decode("utf-8"))).encode()


def _json(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not all(isinstance(one, dict) for one in found):
        raise ValueError(text)
    return found


def _edn(text: str) -> list[dict[str, Any]]:
    """Maps of keywords, vectors, whole numbers, nil and plain texts, and nothing else."""
    tokens, at = [], 0
    while text[at:].strip() and not re.fullmatch(r"\s*(?:;[^\n]*\n?\s*)*", text[at:]):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(text[at : at + 20])
        at = found.end()
        if found.group(1) != ",":
            tokens.append(found.group(1))
    entries = []
    while tokens:
        entries.append(_form(tokens))
    if not all(isinstance(one, dict) for one in entries):
        raise ValueError(text)
    return entries


def _form(tokens: list[str]) -> Any:
    token = tokens.pop(0)
    if token == "[":
        made = []
        while tokens[0] != "]":
            made.append(_form(tokens))
        tokens.pop(0)
        return made
    if token == "{":
        table: dict[str, Any] = {}
        while tokens[0] != "}":
            key = tokens.pop(0)
            if not key.startswith(":") or key[1:] in table:
                raise ValueError(key)
            table[key[1:]] = _form(tokens)
        tokens.pop(0)
        return table
    if token in "]}":
        raise ValueError(token)
    if token == "nil":
        return None
    if token.startswith(":"):
        return token[1:]
    if token.startswith('"'):
        return token[1:-1]
    return Symbol(token) if token[0].isalpha() else int(token)


def _is_whole(entries: list[dict[str, Any]]) -> bool:
    """Nothing is missing between the first and the last entry; every answer has its question."""
    entries = _in_order(entries)
    if any(_has_symbol(one.get(name)) for one in entries for name in EVIDENCE):
        return False
    asked: dict[int, Any] = {}
    for one in entries:
        kind, process = one["type"], one["process"]
        if process == "nemesis":
            continue
        if kind not in TYPES or type(process) is not int or one.get("f", "txn") != "txn":
            return False
        if (kind == "invoke") == (process in asked):
            return False
        if kind == "invoke":
            asked[process] = _shape(one["value"])
        else:
            answer = one["value"] if one["value"] is not None else asked[process]
            if one["value"] is not None and _shape(answer) != asked[process]:
                return False
            del asked[process]
    return True


def _in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where entries have indices these are their order, wherever their lines stand."""
    indices = [one.get("index") for one in entries]
    if all(index is None for index in indices):
        return entries
    if any(type(index) is not int for index in indices):
        raise ValueError(indices)
    ordered = sorted(entries, key=lambda one: one["index"])
    if [one["index"] for one in ordered] != list(range(len(ordered))):
        raise ValueError(indices)
    return ordered


def _has_symbol(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_symbol, value))
    return isinstance(value, Symbol)


def _shape(value: Any) -> list[Any]:
    """What a question and its answer share: functions, keys, and what is written."""
    found = []
    for operation in value:
        f, key, what = operation
        if f not in ("r", "append", "w"):
            raise ValueError(f)
        found.append((f, repr(key), None if f == "r" else repr(what)))
    return found


def witness(data: bytes) -> bool:
    """Whether every line of a log is an entry of a known kind."""
    try:
        found = [json.loads(line) for line in data.decode("utf-8").split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return False
    return bool(found) and all(
        isinstance(one, dict) and one.get("record") in RECORDS for one in found
    )
