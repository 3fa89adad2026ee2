"""The shortest example of each anomaly: the statements that matter, as they were sent."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

Json = dict[str, Any]
TABLE: Final = re.compile(r"\bt\d+\b")
SENT: Final = re.compile(r"^(T\d+) \(process \d+\) sent:$")
VALUES: Final = re.compile(r"^(.*?)  \((.*?),?\)$")
KEY: Final = re.compile(r":t\d+/\w+")
OPERATIONS: Final = re.compile(r"^(T\d+) = \[(.*)\]( \(process .*)?$")
MANUAL: Final = "PostgreSQL's manual"
FRAME: Final = ("BEGIN", "START TRANSACTION", "COMMIT")
LONGEST: Final = 24
"""Lines of an example."""


def shortest(told: Iterable[tuple[str, Json]]) -> Json:
    """By its type, the anomaly with the fewest lines once it is reduced, and its command."""
    best: Json = {}
    for command, one in told:
        lines = reduced(one["explanation"])[:LONGEST]
        kept = best.get(one["type"])
        if kept is None or len(lines) < len(kept["lines"]):
            best[one["type"]] = {"lines": lines, "command": command}
    return dict(sorted(best.items()))


def reduced(explanation: str) -> list[str]:
    """The lines of an argument without statements on tables that it is not about.

    BEGIN and COMMIT are left out too, and values stand in the place of their marks. Of a
    transaction that stands as its operations those remain on whose keys the argument rests.
    """
    lines = explanation.splitlines()
    keys = set(KEY.findall("".join(line for line in lines if not OPERATIONS.match(line))))
    about = set(TABLE.findall(lines[0])) if lines else set()
    kept: list[str] = []
    sent = keeps = False
    for line in lines:
        if not line.startswith("  "):
            sent, keeps = bool(SENT.match(line)), not line.startswith(MANUAL)
        elif sent and not line.lstrip().startswith("->"):
            keeps = _matters(line.strip(), about)
        if keeps:
            kept.append(_with_values(line) if sent else _with_keys(line, keys))
    return "\n".join(kept).strip().splitlines()


def _with_keys(line: str, keys: set[str]) -> str:
    """The operations of a transaction on some keys alone."""
    found = OPERATIONS.match(line)
    if found is None or not keys:
        return line
    some = [one for one in _parts(found[2]) if keys & set(KEY.findall(one))]
    return f"{found[1]} = [{' '.join(some)}]{found[3]}"


def _parts(text: str) -> Iterator[str]:
    """What stands in brackets side by side."""
    deep = begin = 0
    for at, letter in enumerate(text):
        if letter == "[":
            begin = begin if deep else at
            deep += 1
        elif letter == "]":
            deep -= 1
            if not deep:
                yield text[begin : at + 1]


def _matters(sql: str, about: set[str]) -> bool:
    tables = set(TABLE.findall(sql.replace("_", " ")))
    return (
        sql != "..."
        and not sql.startswith(FRAME)
        and "information_schema" not in sql
        and (not about or not tables or bool(tables & about))
    )


def _with_values(line: str) -> str:
    """A statement with its values in it; `line` itself where it has none."""
    found = VALUES.match(line)
    if found is None or line.lstrip().startswith("->"):
        return line
    sql, marks = found[1], re.compile(r"%s|\?")
    values = re.split(r", (?=(?:[^']*'[^']*')*[^']*$)", found[2])
    if len(marks.findall(sql)) != len(values):
        return line
    each = iter(values)
    return marks.sub(lambda _: next(each), sql)
