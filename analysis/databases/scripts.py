"""Scripts of plain SQL for two sessions, each with the answers that a database gives.

A file begins with comments: a sentence, then `database`, `levels` (those at which it does the same;
the text has the first), `shows` (an anomaly, or nothing) and why that is `wrong` or `right`. Then
come statements, each ended by a semicolon at the end of a line, under the session that sends them.
An answer stands behind its statement as comments that begin with `-- >`: the names of columns and
then the rows, or `no rows`; `N changed`; or `error CODE`. So all of it can be pasted.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ddlsim.files import unfit
from ddlsim.record.dialects.base import Connection, Database

ANSWER: Final = "-- > "
SESSION: Final = "-- Session "
MOST: Final = 100_000
"""Bytes of a script."""
NO_ROWS: Final = "no rows"
HEAD: Final = re.compile(r"-- (database|levels|shows|wrong|right): (.*)")


class ScriptError(Exception):
    """A script that cannot be read, or another answer than it has; the message is one line."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement of a session, and the answer that is to come, as lines; none if any will do."""

    session: str
    sql: str
    answer: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Script:
    """A script. `why` tells what is wrong with it, or right where it `shows` nothing."""

    name: str
    text: str
    summary: str
    database: str
    levels: tuple[str, ...]
    shows: str
    why: str
    sent: tuple[Sent, ...]

    def at(self, level: str) -> "Script":
        """The same at another one of its levels."""
        sent = (replace(one, sql=one.sql.replace(self.levels[0], level)) for one in self.sent)
        return replace(self, sent=tuple(sent)) if level in self.levels else self


def read(path: Path) -> Script:
    """The script of a file; raises `ScriptError`."""
    if (why := unfit(path, MOST)) is not None:
        raise ScriptError(f"{path.name}: {why}")
    text = path.read_text("utf-8")
    lines = text.splitlines()
    head: dict[str, str] = {}
    last = ""
    for line in lines[1 : lines.index("") if "" in lines else 0]:
        if found := HEAD.fullmatch(line):
            last = found[1]
            head[last] = found[2]
        elif last:
            head[last] += f" {line.removeprefix('--').strip()}"
    try:
        argument = head["wrong"] if head["shows"] != "nothing" else head["right"]
        return Script(
            path.stem, text, lines[0].removeprefix("--").strip(), head["database"],
            tuple(filter(None, head.get("levels", "").split(", "))), head["shows"], argument,
            tuple(_statements(lines)),
        )  # fmt: skip
    except KeyError as error:
        raise ScriptError(f"{path.name}: has no line `-- {error.args[0]}: ...`") from None


def all_of(folder: Path) -> list[Script]:
    """The scripts of a folder, by their names."""
    return [read(path) for path in sorted(folder.glob("*.sql"))]


def _statements(lines: Sequence[str]) -> Iterator[Sent]:
    session, sql, at = "", "", 0
    answer: list[str] = []
    for number, line in enumerate((*lines, f"{SESSION}end"), 1):
        if line.startswith(ANSWER):
            answer.append(line.removeprefix(ANSWER).strip())
            continue
        if sql.endswith(";"):
            yield Sent(session, sql.removesuffix(";"), tuple(answer), at)
            sql, answer = "", []
        if line.startswith(SESSION):
            session = line.removeprefix(SESSION)
        elif line and not line.startswith("--"):
            at, sql = (at, f"{sql} {line}") if sql else (number, line)


def run(script: Script, database: Database) -> None:
    """Send its statements to a database; `ScriptError` with the first answer that is another one.

    Sessions are connections in the recorder's own schema or file, and know no level but the one
    that the script sets.
    """
    with database.ground():
        sessions: dict[str, Connection] = {}
        try:
            for one in script.sent:
                if one.session not in sessions:
                    sessions[one.session] = database.connect(list(database.levels)[-1])
                got = _answer(database, sessions[one.session], one)
                if got != (one.answer or got):
                    said = "; ".join(got) or "nothing"
                    raise ScriptError(f"{script.name}.sql:{one.line}: {one.sql}: got {said}")
        finally:
            for connection in sessions.values():
                connection.close()


def _answer(database: Database, connection: Connection, one: Sent) -> tuple[str, ...]:
    """What the database says, in the form of the scripts; an error must be expected."""
    try:
        cursor = database.cursor(connection)
        cursor.execute(one.sql)
        if one.answer and one.answer[0].endswith(" changed"):
            return (f"{database.changed(cursor)} changed",)
        columns = [str(column[0]) for column in cursor.description or ()]
        rows = cursor.fetchall() if columns and one.answer else ()
    except Exception as error:
        problem = database.problem(error)
        if problem is None:
            raise
        if not one.answer:
            raise ScriptError(f"{one.sql}: {problem.code}: {problem.text}") from None
        return (f"error {problem.code}",)
    if not one.answer:
        return ()
    return (" | ".join(columns), *([" | ".join(map(_said, row)) for row in rows] or [NO_ROWS]))


def _said(value: Any) -> str:
    return "NULL" if value is None else str(value)
