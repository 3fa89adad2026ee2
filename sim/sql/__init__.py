"""SQL statements in, schema changes out.

`parse` reads a text of statements with `;` between them:

    CREATE TABLE, ALTER TABLE (any number of actions), DROP TABLE
    CREATE [UNIQUE] INDEX, DROP INDEX
    CREATE VIEW, ALTER VIEW … RENAME TO, DROP VIEW
    CREATE ZONE, ALTER ZONE … SET, SET DEFAULT or RENAME TO, DROP ZONE
    SELECT * FROM t, SELECT a, b FROM t, either with WHERE key = constant

and nothing else; `parse_operations` reads writes of rows too (dml). A word that is not understood
is an error, with its line and column and what was expected instead. IF [NOT] EXISTS is accepted
wherever it has a meaning. Names fold to lower case unless they are quoted, so `T`, `t` and `"t"`
are one name and `"T"` is another. `parse_script` reads a migration: it passes over what changes no
schema, reports every error, and finds the comments that ask to ignore a verdict.

Constraints are read; enforced on rows are UNIQUE, and CHECK with a condition of `conditions.py`.

What only concerns the storage of the real system is read and has no effect: USING SORTED or HASH,
directions of index columns, COLOCATE BY, storage profiles, options of zones but for PARTITIONS
and REPLICAS, and of tables but for ZONE.

sqlglot parses, with the dialect `Ignite` (dialect.py); Ignite's grammar is built on its parser in
four classes, each of which extends the one before: Reader, Columns, Tables, Grammar.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

from ddlsim.sql.comments import Request, requests
from ddlsim.sql.dialect import Ignite, tokenize
from ddlsim.sql.dml import Operations, RowRead, RowWrite
from ddlsim.sql.errors import SqlError, Unread
from ddlsim.sql.grammar import Grammar, Parsed, PassedOver

__all__ = [
    "Parsed",
    "PassedOver",
    "Request",
    "RowRead",
    "RowWrite",
    "Script",
    "SqlError",
    "parse",
    "parse_operations",
    "parse_script",
]

_TEXTS_REMEMBERED: Final = 4096
_TOO_DEEP: Final = "parentheses nested too deeply to be read"


def parse(text: str, first_line: int = 1) -> list[Parsed]:
    """Every statement of a text whose first line has the given number; raises `SqlError`."""
    return _read(Grammar, text, first_line)


def parse_operations(text: str, first_line: int = 1) -> list[Any]:
    """As `parse`, with rows by their keys: a statement may be a `RowRead` or a `RowWrite`."""
    return _read(Operations, text, first_line)


class Script(NamedTuple):
    """The statements of a file, in order, and all of its errors.

    `requests` are the comments that address the linter.
    """

    statements: list[Parsed]
    passed_over: list[PassedOver]
    errors: list[SqlError]
    requests: list[Request]


def parse_script(text: str) -> Script:
    """Parse a file with DDL: every statement and every error, not only the first."""
    script = Script([], [], [], [])
    try:
        tokens = tokenize(text)
        found = Grammar(dialect=Ignite).script(tokens, text)
    except Unread as error:
        script.errors.append(_placed(error, text, 1))
        return script
    except RecursionError:
        script.errors.append(SqlError(_TOO_DEEP, 1, 1, "a flatter expression"))
        return script
    for one in found:
        if isinstance(one, Unread):
            script.errors.append(_placed(one, text, 1))
        elif isinstance(one, PassedOver):
            script.passed_over.append(one._replace(line=one.line + 1))
        else:
            script.statements.append(_from_line(one, 1))
    script.requests.extend(requests(tokens, text))
    return script


def _placed(error: Unread, text: str, first_line: int) -> SqlError:
    line = text.count("\n", 0, error.offset) + first_line
    column = error.offset - text.rfind("\n", 0, error.offset)
    return SqlError(error.message, line, column, error.expected)


def _read(grammar: type[Grammar], text: str, first_line: int) -> list[Parsed]:
    try:
        found = _statements(grammar, text)  # type: ignore[arg-type]  # classes have a hash
    except Unread as error:
        raise _placed(error, text, first_line) from None
    except RecursionError:
        raise SqlError(_TOO_DEEP, first_line, 1, "a flatter expression") from None
    return [_from_line(one, first_line) for one in found]


@lru_cache(_TEXTS_REMEMBERED)
def _statements(grammar: type[Grammar], text: str) -> tuple[Parsed, ...]:
    """The statements of a text; the same DDL is run again and again."""
    return tuple(grammar(dialect=Ignite).statements(tokenize(text), text))


def _from_line(one: Parsed, first: int) -> Parsed:
    """A statement whose lines count from here on, with a mapping of its own."""
    line, end_line = one.line + first, one.end_line + first
    return one._replace(line=line, end_line=end_line, written=dict(one.written))
