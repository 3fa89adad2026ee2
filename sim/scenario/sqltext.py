"""SQL in a scenario: parsed by `ddlsim.sql`; a mistake is an error with file and line."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ddlsim import sql as front_end
from ddlsim.model.ddl import CreateTable, CreateView, RenameTable, RenameView, Statement
from ddlsim.model.ops import Get, Scan
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, ScenarioError

ErrorAt = Callable[[int, str], ScenarioError]
"""An error about a line of the SQL text."""


class SqlLine(NamedTuple):
    """One statement, read, with its text, and the line on which it begins."""

    statement: Statement
    sql: str
    line: int = 1


def read_ddl(text: str, origin: Origin, path: Path) -> tuple[SqlLine, ...]:
    """The DDL statements that stand in a key of the scenario file."""
    return _ddl(text, origin.text_line(path), lambda line, what: origin.error_at(line, path, what))


def read_file(text: str, name: str, origin: Origin, path: Path) -> tuple[SqlLine, ...]:
    """The DDL statements of a file that a key of the scenario names."""
    return _ddl(text, 1, lambda line, what: origin.file_error(path, name, line, what))


def read_operation(
    text: str, origin: Origin, path: Path
) -> Scan | front_end.RowRead | front_end.RowWrite:
    """The one SELECT of a step, or the row that it inserts, updates or deletes."""

    def error_at(line: int, what: str) -> ScenarioError:
        return origin.error_at(line, path, what)

    first_line = origin.text_line(path)
    statements = _read(text, first_line, error_at, front_end.parse_operations)
    found = statements[0].statement if len(statements) == 1 else None
    if not isinstance(found, Scan | front_end.RowRead | front_end.RowWrite):
        what = "one SELECT, INSERT, UPDATE or DELETE is expected here"
        raise error_at(first_line, f'{what}; DDL belongs into ddl = "…"')
    return found


def names_made(statement: Statement) -> tuple[str, ...]:
    """The names under which a statement makes a table or view known."""
    match statement:
        case CreateTable(name=name) | CreateView(name=name):
            return (name,)
        case RenameTable(new_name=name) | RenameView(new_name=name):
            return (name,)
        case _:
            return ()


def _ddl(text: str, first_line: int, error_at: ErrorAt) -> tuple[SqlLine, ...]:
    lines = []
    for parsed in _read(text, first_line, error_at):
        if isinstance(parsed.statement, Get | Scan):
            raise error_at(parsed.line, 'a query is not DDL; write do = "SELECT …"')
        lines.append(SqlLine(parsed.statement, parsed.sql, parsed.line))
    if not lines:
        raise error_at(first_line, "no statement")
    return tuple(lines)


def _read(
    text: str,
    first_line: int,
    error_at: ErrorAt,
    parse: Callable[[str, int], list[Any]] = front_end.parse,
) -> list[Any]:
    try:
        return list(parse(text, first_line))
    except front_end.SqlError as error:
        hint = f"; expected {error.expected}" if getattr(error, "expected", None) else ""
        message = getattr(error, "message", None) or str(error)
        raise error_at(error.line, f"{message}{hint}") from None
