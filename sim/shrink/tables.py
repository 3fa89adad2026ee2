"""The pass that makes the tables of the schema plain: the fewest columns, and keys that are INT."""

import re
from typing import Final, NamedTuple

from ddlsim.shrink.candidates import Candidates
from ddlsim.shrink.data import Data, Table, edited, steps_of, with_schema
from ddlsim.shrink.trial import Failure, Shown
from ddlsim.sql import parse

PLAIN: Final = "id INT PRIMARY KEY, v INT"
KEY: Final = "PRIMARY KEY"
CREATE: Final = re.compile(r"(CREATE TABLE (\S+) )\((.*)\)([^()]*)", re.DOTALL)
"""The head with the table's name, what lies between the parentheses, and a zone."""


class _Create(NamedTuple):
    """A CREATE TABLE, cut into its parts."""

    head: str
    table: str
    columns: tuple[str, ...]
    tail: str

    @property
    def sql(self) -> str:
        return f"{self.head}({', '.join(self.columns)}){self.tail}"


def plain_tables(best: Shown, failure: Failure) -> Candidates:
    """Tables with an INT key and one INT column: all of them, then each; or with fewer columns."""
    del failure
    data = best.data
    lines = [line.sql for line in parse(data.get("schema", {}).get("sql", ""))]
    created = {at: one for at, line in enumerate(lines) if (one := _cut(line)) is not None}
    plain = {at: _plain(one) for at, one in created.items()}
    rich = [at for at, one in created.items() if plain[at] != one]
    if rich and (yield _numbered(_with(data, {at: plain[at] for at in rich}), None)):
        return
    for at in rich:
        candidate = _numbered(_with(data, {at: plain[at]}), created[at].table)
        if (yield candidate):
            data = candidate
            continue
        for gone in reversed([one for one in created[at].columns if KEY not in one]):
            left = tuple(one for one in created[at].columns if one != gone)
            fewer = created[at]._replace(columns=left)
            candidate = _with(data, {at: fewer})
            if (yield candidate):
                data, created[at] = candidate, fewer


def _cut(line: str) -> _Create | None:
    found = CREATE.fullmatch(line)
    return found and _Create(found[1], found[2], split_at_commas(found[3]), found[4])


def _plain(create: _Create) -> _Create:
    return create._replace(columns=split_at_commas(PLAIN))


def split_at_commas(text: str) -> tuple[str, ...]:
    """The parts of a list of columns or actions: `e DECIMAL(5, 2), f INT` has two."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(part.strip() for part in parts)


def _with(data: Data, creates: dict[int, _Create]) -> Data:
    """The scenario with other CREATEs at these places of its schema."""
    lines = [line.sql for line in parse(data["schema"]["sql"])]
    for at, create in creates.items():
        lines[at] = create.sql
    return with_schema(data, lines)


def _numbered(data: Data, table: str | None) -> Data:
    """The scenario with a number for each key that is a text: of one table, or of all for None."""
    keys = [key for step in steps_of(data) if (key := _text_key(step, table)) is not None]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys), 1)}
    return edited(data, lambda copy: _put(copy, numbers, table))


def _text_key(step: Table, table: str | None) -> str | None:
    """The key that a step names in the table, or in any for None, if it is a text."""
    do = step.get("do")
    if not isinstance(do, list) or len(do) < 3 or table not in (None, do[1]):
        return None
    return do[2] if isinstance(do[2], str) else None


def _put(copy: Data, numbers: dict[str, int], table: str | None) -> None:
    for step in steps_of(copy):
        if isinstance(step.get("do"), str):
            for key, number in numbers.items():
                step["do"] = step["do"].replace(f"'{key}'", str(number))
        elif (named := _text_key(step, table)) is not None:
            step["do"][2] = numbers[named]
