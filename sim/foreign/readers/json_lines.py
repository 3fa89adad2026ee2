"""Jepsen's histories as JSON: one list of objects, or an object a line."""

import json
import re
from typing import Any, Final

import orjson

from ddlsim.foreign.readers import alike
from ddlsim.foreign.readers.brief import TOO_DEEP
from ddlsim.foreign.readers.entries import NEMESIS, Entries, Table
from ddlsim.foreign.readers.problems import Trouble
from ddlsim.foreign.repeated import Repeated, fields_of, may_repeat, repeated_in

_START: Final = re.compile(rb"\s*+(\[)?\s*+\{\s*+\"")
_HUGE: Final = re.compile(rb"\d{19}")
_TYPE: Final = re.compile(rb'"type"\s*+:\s*+":?(invoke|ok|fail|info)"')


def is_json(head: bytes) -> bool:
    """Whether a file that begins so holds Jepsen's entries as JSON."""
    return _START.match(head) is not None and _TYPE.search(head) is not None


def read(data: bytes) -> Table:
    """All entries of a file, or of what of it can be read."""
    start = _START.match(data)
    if start is not None and start.group(1) is not None:
        return _read_list(data).table()
    entries = Entries(keywords=False)
    entries.alike = found = alike.read(data, FORMAT)
    every = list(enumerate(data.split(b"\n"), 1)) if found is None else found.left
    _read_lines(entries, [(number, line) for number, line in every if line.strip()])
    return entries.table()


def _fields(line: bytes) -> dict[str, Any] | None:
    """An entry of a client; None for anything else."""
    fields, _ = _loaded(line)
    return fields if isinstance(fields, dict) and _repeated(fields) is None else None


FORMAT: Final = alike.Format(before=b" ,[:", after=b" ,]}", comma=True, read=_fields)


def _read_lines(entries: Entries, lines: list[tuple[int, bytes]]) -> None:
    try:
        found = _parsed(b"[%b]" % b",".join(line for _, line in lines))
        if len(found) != len(lines):
            found = None
    except json.JSONDecodeError:
        found = None
    for at, (number, line) in enumerate(lines):
        fields = None if found is None else found[at]
        if isinstance(fields, dict) and not may_repeat(line, len(fields)):
            _add(entries, fields, "", number)
        else:
            _add(entries, *_loaded(line), number)


def _loaded(line: bytes) -> tuple[Any, str]:
    try:
        found = _parsed(line)
        if isinstance(found, dict) and may_repeat(line, len(found)):
            found = _by_json(line, object_pairs_hook=fields_of)
    except json.JSONDecodeError as error:
        return None, f"unreadable entry ({error})"
    return found, ""


def _parsed(text: bytes) -> Any:
    """What a text holds; json keeps the large numbers that orjson would round."""
    found = orjson.loads(text)
    return _by_json(text) if _HUGE.search(text) else found


def _by_json(text: bytes, **hooks: Any) -> Any:
    """The same by json, which can be nested less deeply."""
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None


def _add(entries: Entries, fields: Any, why: str, line: int) -> None:
    if isinstance(fields, dict):
        if (key := _repeated(fields)) is None:
            entries.add_fields(fields, line)
        else:
            why = f"unreadable entry (the key {key!r} stands there twice)"
            entries.troubles.append(Trouble(line, why))
    else:
        entries.troubles.append(Trouble(line, why or "an entry that is no object"))


def _repeated(fields: dict[str, Any]) -> str | None:
    """A key that stands twice in an entry, or in the value of a client's."""
    if isinstance(fields, Repeated):
        return fields.name
    process = fields.get("process")
    if isinstance(process, str) and process in NEMESIS:
        return None
    return repeated_in(fields.get("value"))


def _read_list(data: bytes) -> Entries:
    """A list of entries; one that is cut off is read up to there, if an entry begins each line."""
    entries = Entries(keywords=False)
    try:
        found = _parsed(data)
        if may_repeat(data, sum(len(one) for one in found if isinstance(one, dict))):
            found = _by_json(data, object_pairs_hook=fields_of)
    except json.JSONDecodeError as error:
        lines = data.split(b"\n")
        entries.troubles.append(Trouble(error.lineno, f"the list cannot be read ({error.msg})"))
        for number, line in enumerate(lines, 1):
            part = line.strip().lstrip(b"[").rstrip().removesuffix(b",").removesuffix(b"]")
            for text in (line.strip().removesuffix(b","), part):
                fields, _ = _loaded(text)
                if isinstance(fields, dict):
                    _add(entries, fields, "", number)
                    break
        return entries
    lines_of = _lines(data, len(found))
    for at, fields in enumerate(found):
        _add(entries, fields, "", lines_of[at])
    return entries


def _lines(data: bytes, count: int) -> list[int]:
    """The line of each entry, where there is one a line; else the number of the entry."""
    full = [n for n, line in enumerate(data.split(b"\n"), 1) if b'"type"' in line]
    return full if len(full) == count else list(range(1, count + 1))
